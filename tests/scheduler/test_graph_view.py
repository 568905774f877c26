"""The graph: what is waiting on what."""

import msgspec
import pytest
from tests.helpers import claim, finish, run_next, submit
from tests.scheduler.asking import graph, register, rewound, submit_all

from headway.domain import graph_text
from headway.domain.answers import Graph
from headway.domain.runs import RunStatus
from headway.scheduler.explain import graph_view
from headway.scheduler.scheduler import Scheduler


def numbers(found: Graph) -> list[int]:
    return [node.number for node in found.nodes]


def test_an_empty_graph_has_neither_nodes_nor_edges(scheduler: Scheduler) -> None:
    assert msgspec.json.encode(graph(scheduler)) == b'{"nodes":[],"edges":[]}'


def test_edges_go_from_the_dependent_to_what_it_depends_on(scheduler: Scheduler) -> None:
    register(scheduler)
    first = submit(scheduler, produces=["custom:a:b"])
    second = submit(scheduler, after=[first.number], needs=["custom:a:b", "file:x"])
    found = msgspec.json.decode(msgspec.json.encode(graph(scheduler)))
    assert found["nodes"] == [
        {
            "id": first.job_id,
            "number": 1,
            "status": "queued",
            "command": "work",
            "wait": None,
        },
        {
            "id": second.job_id,
            "number": 2,
            "status": "waiting_on_deps",
            "command": "work",
            "wait": f"waiting on job {first.job_id}",
        },
    ]
    assert found["edges"] == [
        {"from": second.job_id, "to": first.job_id, "after": {"policy": "success"}},
        {"from": second.job_id, "to": first.job_id, "artifact": "custom:a:b"},
        {
            "from": second.job_id,
            "to": "artifact:file:x",
            "artifact": "file:x",
            "state": "missing",
        },
    ]


def test_an_artifact_that_is_there_is_a_present_leaf(scheduler: Scheduler) -> None:
    (scheduler.workspace.root / "x").touch()
    submit(scheduler, needs=["file:x"])
    (edge,) = graph(scheduler).edges
    assert (edge.to, edge.state) == ("artifact:file:x", "present")


def test_jobs_that_succeeded_are_hidden_unless_all_are_wanted(scheduler: Scheduler) -> None:
    submit_all(scheduler, {}, {"retry_policy": {"max_attempts": 0}})
    finish(scheduler, claim(scheduler))
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    submit(scheduler)
    submit(scheduler, needs=["file:x"])
    assert numbers(graph(scheduler)) == [3, 4]
    assert numbers(graph(scheduler, everything=True)) == [1, 2, 3, 4]


def test_a_hidden_job_that_is_depended_on_is_added(scheduler: Scheduler) -> None:
    first, second = submit(scheduler), submit(scheduler)
    finish(scheduler, claim(scheduler))
    submit(scheduler, after=[first.number, second.number])
    found = graph(scheduler)
    assert numbers(found) == [1, 2, 3]
    assert found.nodes[0].status == "succeeded"


def test_the_neighbourhood_of_a_job_reaches_both_ways(scheduler: Scheduler) -> None:
    #  1 -> 2 -> 3 -> 4 -> 5
    submit_all(
        scheduler,
        {"ref": "a"},
        {"ref": "b", "after": ["ref:a"]},
        {"ref": "c", "after": ["ref:b"]},
        {"ref": "d", "after": ["ref:c"]},
        {"ref": "e", "after": ["ref:d"]},
        {},
    )
    assert numbers(graph(scheduler, job=3, max_depth=1)) == [2, 3, 4]
    assert numbers(graph(scheduler, job=3)) == [1, 2, 3, 4, 5]
    assert len(graph(scheduler, job=3, max_depth=1).edges) == 2


def test_a_retry_shows_in_the_status_of_the_edge(scheduler: Scheduler) -> None:
    first = submit(scheduler)
    submit(scheduler, after=[first.number])
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    found = graph(scheduler)
    assert [(edge.to, edge.status) for edge in found.edges] == [(first.job_id, "queued")]
    assert "after:success -> 1 queued" in graph_text.render(found)


def arrows(found: Graph) -> list[tuple[int, int]]:
    """The edges between jobs, by their numbers."""
    known = {node.id: node.number for node in found.nodes}
    return [(known[edge.source], known[edge.to]) for edge in found.edges if not edge.state]


def test_around_a_producer_the_retry_that_is_waited_for_is_shown(scheduler: Scheduler) -> None:
    submit(scheduler, produces=["file:a"])
    submit(scheduler, needs=["file:a"])
    run_next(scheduler, RunStatus.FAILED)
    for asked in (1, 2, 3):
        found = graph(scheduler, job=asked, max_depth=1)
        assert (numbers(found), arrows(found)) == ([1, 2, 3], [(2, 3)])


def test_around_a_retry_is_what_is_around_its_first_job(scheduler: Scheduler) -> None:
    submit(scheduler)
    submit(scheduler, after=[1])
    submit(scheduler, after=[2])
    run_next(scheduler, RunStatus.FAILED)
    for asked in (1, 4):
        found = graph(scheduler, job=asked, max_depth=1)
        assert (numbers(found), arrows(found)) == ([1, 2, 4], [(2, 1)])
        assert [edge.status for edge in found.edges] == ["queued"]
    assert arrows(graph(scheduler, job=3, max_depth=2)) == [(2, 1), (3, 2)]


def test_a_retry_that_a_rewind_made_history_is_shown_if_it_is_asked_for(
    scheduler: Scheduler,
) -> None:
    submit(scheduler)
    submit(scheduler, after=[1])
    run_next(scheduler, RunStatus.FAILED)
    rewound(scheduler, 1)
    assert numbers(graph(scheduler, job=1)) == [1, 2]
    found = graph(scheduler, job=3)
    assert (numbers(found), arrows(found)) == ([1, 2, 3], [(2, 1)])


def test_of_a_large_neighbourhood_the_nearest_jobs_are_shown(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    #  1 -> 2 -> 3 -> 4 -> 5 -> 6
    for number in range(6):
        submit(scheduler, after=[number] if number else [])
    monkeypatch.setattr(graph_view, "MOST_JOBS", 3)
    assert numbers(graph(scheduler, job=3, max_depth=5)) == [2, 3, 4]
    assert numbers(graph(scheduler, job=6, max_depth=5)) == [4, 5, 6]
    assert numbers(graph(scheduler, job=1, max_depth=5)) == [1, 2, 3]


def test_a_command_is_shown_as_it_would_be_typed(scheduler: Scheduler) -> None:
    submit(scheduler, "command", params={"argv": ["echo", "two words"]})
    assert [node.command for node in graph(scheduler).nodes] == ["echo 'two words'"]


def test_of_jobs_that_name_very_much_fewer_are_shown(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_view, "MOST_BYTES", 10_000)
    submit_all(scheduler, *({"tags": [f"tag {n}" for n in range(400)]} for _ in range(4)))
    assert numbers(graph(scheduler)) == numbers(graph(scheduler, everything=True)) == [3, 4]
