"""The graph as text."""

from headway.domain import graph_text
from headway.domain.answers import AfterEdge, Edge, Graph, Node
from headway.domain.jobs import Policy

AFTER = AfterEdge(policy=Policy.SUCCESS)


def node(number: int, status: str = "queued", **more: object) -> Node:
    fields = {"id": f"id-{number}", "number": number, "status": status, "command": "work", **more}
    return Node(**fields)  # type: ignore[arg-type]


def after(source: int, to: int) -> Edge:
    return Edge(source=f"id-{source}", to=f"id-{to}", after=AFTER)


def test_nothing_to_show_says_so() -> None:
    assert graph_text.render(Graph()) == "Outcome: No scheduled jobs"


def test_a_job_stands_above_what_it_waits_for() -> None:
    graph = Graph(
        nodes=(
            node(1, "running"),
            node(2, "waiting_on_locks", locks=("gpu (exclusive)",)),
            node(3),
        ),
        edges=(
            after(3, 2),
            Edge(source="id-3", to="id-1", artifact="custom:model:big"),
            Edge(source="id-2", to="artifact:file:a", artifact="file:a", state="present"),
            Edge(source="id-2", to="artifact:file:b", artifact="file:b", state="missing"),
        ),
    )
    assert graph_text.render(graph).splitlines() == [
        "Schedule (DAG)",
        "3 queued [work]",
        "|-- after:success -> 2 waiting_on_locks [work] [locks: gpu (exclusive)]",
        "|   |-- file:a [present]",
        "|   `-- file:b [missing]",
        "`-- custom:model:big -> 1 running [work]",
    ]


def test_a_shared_dependency_is_unfolded_once() -> None:
    graph = Graph(
        nodes=(node(1), node(2), node(3), node(4)),
        edges=(after(4, 2), after(4, 3), after(2, 1), after(3, 2)),
    )
    assert graph_text.render(graph).splitlines()[1:] == [
        "4 queued [work]",
        "|-- after:success -> 2 queued [work]",
        "|   `-- after:success -> 1 queued [work]",
        "`-- after:success -> 3 queued [work]",
        "    `-- after:success -> 2 queued [work]",
    ]


def test_the_depth_is_limited_and_nothing_is_lost() -> None:
    graph = Graph(nodes=(node(1), node(2), node(3)), edges=(after(3, 2), after(2, 1)))
    assert graph_text.render(graph, max_depth=1).splitlines()[1:] == [
        "3 queued [work]",
        "`-- after:success -> 2 queued [work]",
        "1 queued [work]",
    ]


def test_a_circle_comes_to_an_end() -> None:
    graph = Graph(nodes=(node(1), node(2)), edges=(after(1, 2), after(2, 1)))
    assert graph_text.render(graph).splitlines()[1:] == [
        "1 queued [work]",
        "`-- after:success -> 2 queued [work]",
        "    `-- after:success -> 1 queued [work]",
    ]


def test_waits_name_jobs_by_number() -> None:
    job_id = "019cae6b-6600-7d8e-91b7-584a2265b1f5"
    graph = Graph(
        nodes=(node(7, id=job_id), node(8, "waiting_on_deps", wait=f"waiting on job {job_id}"))
    )
    assert "8 waiting_on_deps [work] [wait: waiting on job 7]" in graph_text.render(graph)


def test_only_plain_ascii_is_written() -> None:
    graph = Graph(nodes=(node(1, command="träum\x1b[31m", pinned="main@abc"),))
    text = graph_text.render(graph)
    assert text.isascii()
    assert "\x1b" not in text
    assert text.endswith("[pinned: main@abc]")
