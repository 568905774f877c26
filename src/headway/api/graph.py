"""The operation that shows the graph."""

import msgspec

from headway.api.operation import Call, Nothing, operation
from headway.domain import errors
from headway.domain.answers import Graph
from headway.domain.tokens import Role
from headway.scheduler.explain import graph_view

DEEPEST = 100


class GraphQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of the graph; `all` needs no value."""

    all: bool = False
    job: str | int | None = None
    max_depth: int = graph_view.DEFAULT_DEPTH


@operation("GET", "/api/graph", Role.READ, query=GraphQuery, answer=Graph)
def get_graph(call: Call[Nothing, GraphQuery]) -> Graph:
    """What is waiting on what: active and blocked jobs, all jobs, or the neighbourhood of one."""
    query = call.query
    if not 0 <= query.max_depth <= DEEPEST:
        raise errors.InvalidRequest(
            "max_depth", f"{query.max_depth} is not between 0 and {DEEPEST}"
        )
    return call.scheduler.store.read(
        lambda tx: graph_view.graph(
            call.scheduler, tx, everything=query.all, job=query.job, max_depth=query.max_depth
        )
    )
