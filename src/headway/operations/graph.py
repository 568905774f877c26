"""The operation that shows the graph."""

from headway.domain import errors
from headway.domain.answers import Graph
from headway.operations.bound import Call, serves
from headway.protocol import queue as protocol
from headway.protocol.operation import Nothing
from headway.protocol.queue import GraphQuery
from headway.scheduler.explain import graph_view
from headway.storage.engine.transaction import Transaction

DEEPEST = 100


@serves(protocol.get_graph)
def get_graph(call: Call[Nothing, GraphQuery], tx: Transaction) -> Graph:
    """What is waiting on what: active and blocked jobs, all jobs, or the neighbourhood of one."""
    query = call.query
    if not 0 <= query.max_depth <= DEEPEST:
        raise errors.InvalidRequest(
            "max_depth", f"{query.max_depth} is not between 0 and {DEEPEST}"
        )
    return graph_view.graph(
        call.scheduler, tx, everything=query.all, job=query.job, max_depth=query.max_depth
    )
