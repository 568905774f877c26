"""A job may have a name: it is shown wherever the job is, and found by words of it."""

from tests.helpers import MovableClock, claim, finish, job, submit
from tests.scheduler.asking import graph, show, why

from headway.domain import search
from headway.domain.runs import RunStatus
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import retention
from headway.storage.lists import job_lists
from headway.storage.lists.job_lists import JobFilter

DAY = 86400.0


def _found(scheduler: Scheduler, text: str) -> list[int]:
    wanted = JobFilter(terms=search.read(text))
    return [one.key for one in scheduler.store.read(lambda tx: job_lists.find(tx, wanted, 50)).jobs]


def test_a_name_is_shown_with_the_job_in_why_and_in_the_graph(scheduler: Scheduler) -> None:
    made = submit(scheduler, name="Nightly report", approval=True)
    assert made.name == show(scheduler, made.number).name == "Nightly report"
    assert why(scheduler, made.number).name == "Nightly report"
    assert graph(scheduler).nodes[0].name == "Nightly report"


def test_a_retry_has_the_name_of_the_job_that_it_tries_again(scheduler: Scheduler) -> None:
    made = submit(scheduler, name="Nightly report", retry_policy={"base_delay_s": 0})
    finish(scheduler, claim(scheduler), RunStatus.FAILED)
    assert job(scheduler, made.number + 1).name == "Nightly report"
    assert _found(scheduler, "nightly") == [made.number + 1, made.number]


def test_a_search_finds_jobs_by_name_type_tag_number_and_id(scheduler: Scheduler) -> None:
    named = submit(scheduler, "render", name="Straße 7")
    tagged = submit(scheduler, "render", tags=["env:prod"])
    other = submit(scheduler, "send_mail")
    assert _found(scheduler, "strass") == _found(scheduler, "STRASSE 7") == [named.number]
    assert _found(scheduler, "rend") == [tagged.number, named.number]
    assert _found(scheduler, "render prod") == [tagged.number]
    assert _found(scheduler, "send_ma") == _found(scheduler, other.job_id) == [other.number]
    assert _found(scheduler, str(other.number)) == [other.number]
    assert _found(scheduler, "ender") == []


def test_a_job_that_goes_takes_its_words_along(scheduler: Scheduler, clock: MovableClock) -> None:
    submit(scheduler, name="Nightly report", tags=["old"])
    finish(scheduler, claim(scheduler))
    clock.move(2 * DAY)
    retention.collect(scheduler, DAY)
    left = scheduler.store.read(
        lambda tx: [
            tx.select(f"SELECT count(*) AS n FROM {table}", {})[0]["n"]
            for table in ("job_names", "job_words")
        ]
    )
    assert left == [0, 0]
