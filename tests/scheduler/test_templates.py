"""Templates: defaults for jobs that are made later."""

import dataclasses
from typing import Any

import pytest
from tests.helpers import ask, job, submit

from headway.domain import errors
from headway.domain.handlers import Handler
from headway.domain.jobs import Approval, Lock, RetryPolicy
from headway.domain.manage.templates import Template, TemplateStatus
from headway.domain.manage.tokens import Role
from headway.domain.requests.job_requests import JobRequest
from headway.domain.requests.template_requests import TemplatePatch, TemplateRequest
from headway.operations import filters
from headway.operations import jobs as job_operations
from headway.operations.manage import templates as operations
from headway.protocol.templates import TemplateQuery
from headway.scheduler.manage import templates
from headway.scheduler.scheduler import Scheduler
from headway.storage.manage import templates as kept


def make(scheduler: Scheduler, name: str = "story", **fields: Any) -> Template:
    request = TemplateRequest(name=name, **{"job_type": "write", **fields})
    return scheduler.store.write(
        lambda tx: templates.create(scheduler, tx, request, by_admin=False)
    )


def change(scheduler: Scheduler, which: str, **fields: Any) -> Template:
    patch = TemplatePatch(**fields)
    return scheduler.store.write(
        lambda tx: templates.change(scheduler, tx, which, patch, by_admin=False)
    )


def test_a_template_is_found_by_its_id_and_by_its_name(scheduler: Scheduler) -> None:
    made = make(scheduler, priority="HIGH", locks=("gpu",))
    assert made.priority == 10
    assert made.locks == (Lock(key="gpu"),)
    for name in (made.template_id, "story"):
        assert ask(operations.get_template, scheduler, Role.READ, id=name) == made


def test_a_job_gets_the_templates_terms_and_keeps_its_own_params(scheduler: Scheduler) -> None:
    make(scheduler, params={"genre": "horror", "length": 5}, queue="gpu", cost_units=7, tags=("a",))
    made = submit(scheduler, None, template="story", params={"length": 9})
    assert made.params == {"genre": "horror", "length": 9}
    assert (made.queue, made.cost_units, made.tags) == ("gpu", 7, ("a",))


def test_where_a_template_says_nothing_the_options_of_the_handler_hold(
    scheduler: Scheduler,
) -> None:
    make(scheduler, timeout_s=5.0)
    once = RetryPolicy(max_attempts=1)
    options = {"locks": ("gpu",), "retry_policy": once, "timeout_s": 60.0, "approval": True}
    scheduler = dataclasses.replace(scheduler, defaults={"write": options})
    made = submit(scheduler, None, template="story")
    assert (made.locks, made.retry_policy) == ((Lock(key="gpu"),), once)
    assert (made.timeout_s, made.approval) == (5.0, Approval.PENDING)
    assert submit(scheduler, None, template="story", locks=[]).locks == ()


def test_the_same_request_is_known_again_although_template_and_handler_have_changed(
    scheduler: Scheduler,
) -> None:
    make(scheduler)
    bodies: list[dict[str, Any]] = [
        {"job_type": None, "template": "story", "idempotency_key": "from a template"},
        {"job_type": "write", "idempotency_key": "by its type"},
    ]
    made = [submit(scheduler, **body).job_id for body in bodies]
    scheduler = dataclasses.replace(scheduler, defaults={"write": {"timeout_s": 60.0}})
    change(scheduler, "story", cost_units=2)
    scheduler.store.write(lambda tx: templates.archive(tx, "story"))
    assert [submit(scheduler, **body).job_id for body in bodies] == made


def test_a_change_touches_future_jobs_only(scheduler: Scheduler) -> None:
    make(scheduler, params={"genre": "horror"})
    before = submit(scheduler, None, template="story")
    change(scheduler, "story", params={"genre": "comedy"})
    assert job(scheduler, before.number).params == {"genre": "horror"}
    assert submit(scheduler, None, template="story").params == {"genre": "comedy"}


def test_a_change_leaves_what_it_does_not_name_and_can_clear_what_it_names(
    scheduler: Scheduler,
) -> None:
    make(scheduler, description="long", timeout_s=5.0, priority=3)
    changed = change(scheduler, "story", timeout_s=None, name="tale")
    assert (changed.description, changed.timeout_s, changed.priority) == ("long", None, 3)
    assert changed.name == "tale"


def test_a_change_of_nothing_is_refused(scheduler: Scheduler) -> None:
    make(scheduler)
    with pytest.raises(errors.InvalidRequest, match="nothing to change"):
        change(scheduler, "story")


def test_a_name_is_used_once(scheduler: Scheduler) -> None:
    first = make(scheduler)
    make(scheduler, "other")
    with pytest.raises(errors.NameTaken):
        make(scheduler)
    with pytest.raises(errors.NameTaken):
        change(scheduler, "other", name="story")
    with pytest.raises(errors.NameTaken):
        make(scheduler, first.template_id)
    assert change(scheduler, "other", name="other").name == "other"


def test_an_archived_template_stays_readable_and_makes_no_jobs(scheduler: Scheduler) -> None:
    make(scheduler)
    archived = scheduler.store.write(lambda tx: templates.archive(tx, "story"))
    assert archived.status is TemplateStatus.ARCHIVED
    assert scheduler.store.write(lambda tx: templates.archive(tx, "story")) == archived
    with pytest.raises(errors.TemplateArchived):
        submit(scheduler, None, template="story")


@pytest.mark.parametrize(
    "fields",
    [
        {"name": " "},
        {"job_type": ""},
        {"priority": 5000},
        {"cost_units": -1},
        {"timeout_s": 0.0},
        {"webhook_url": "ftp://x"},
        {"limits": {"nobody-defined-it": 1}},
        {"params": {"x": float("nan")}},
        {"job_type": "command", "params": {"argv": "ls"}},
    ],
)
def test_what_could_make_no_job_is_refused_and_nothing_is_stored(
    scheduler: Scheduler, fields: dict[str, Any]
) -> None:
    with pytest.raises(errors.Invalid):
        make(scheduler, **fields)
    found = scheduler.store.read(lambda tx: kept.page(tx, status=None, before=None, count=9)).items
    assert found == []


def test_a_template_may_leave_out_params_that_its_handler_needs(scheduler: Scheduler) -> None:
    def write(genre: str) -> None: ...

    scheduler = dataclasses.replace(scheduler, handlers={"write": Handler.of(write)})
    make(scheduler)
    with pytest.raises(errors.InvalidParams):
        submit(scheduler, None, template="story")
    assert submit(scheduler, None, template="story", params={"genre": "x"}).params == {"genre": "x"}


def test_the_list_goes_page_by_page_newest_first(scheduler: Scheduler) -> None:
    for name in ("a", "b", "c"):
        make(scheduler, name)
    scheduler.store.write(lambda tx: templates.archive(tx, "b"))
    query = TemplateQuery(limit=2)
    first = ask(operations.list_templates, scheduler, query=query)
    rest = TemplateQuery(limit=2, cursor=first.next_cursor)
    second = ask(operations.list_templates, scheduler, query=rest)
    names = [one.name for one in (*first.items, *second.items)]
    assert sorted(names) == ["a", "b", "c"]
    assert second.next_cursor is None
    ids = [one.template_id for one in (*first.items, *second.items)]
    assert ids == sorted(ids, reverse=True)
    active = ask(operations.list_templates, scheduler, query=TemplateQuery(status="active"))
    assert {one.name for one in active.items} == {"a", "c"}


def test_an_unknown_status_word_is_refused() -> None:
    with pytest.raises(errors.InvalidRequest, match="ACTIVE, ARCHIVED"):
        filters.read_word("status", "old", TemplateStatus)


def test_only_an_admin_writes_templates_of_commands(scheduler: Scheduler) -> None:
    request = TemplateRequest(name="list", job_type="command", params={"argv": ["ls"]})
    with pytest.raises(errors.Forbidden):
        ask(operations.create_template, scheduler, Role.SUBMIT, body=request)
    assert ask(operations.create_template, scheduler, body=request).by_admin
    patch = TemplatePatch(params={"argv": ["rm"]})
    for operation, body in (
        (operations.change_template, patch),
        (operations.archive_template, None),
    ):
        with pytest.raises(errors.Forbidden):
            ask(operation, scheduler, Role.SUBMIT, body=body, id="list")
    make(scheduler, "harmless")
    patch = TemplatePatch(job_type="command")
    with pytest.raises(errors.Forbidden):
        ask(operations.change_template, scheduler, Role.SUBMIT, body=patch, id="harmless")


def test_an_admins_command_template_is_submitted_by_others_as_it_is(scheduler: Scheduler) -> None:
    request = TemplateRequest(name="list", job_type="command", params={"argv": ["ls"]})
    ask(operations.create_template, scheduler, body=request)
    plain = JobRequest(template="list")
    answered = ask(job_operations.create_job, scheduler, Role.SUBMIT, body=plain)
    assert answered.value.params == {"argv": ["ls"]}
    other = JobRequest(template="list", params={"argv": ["rm"]})
    with pytest.raises(errors.Forbidden):
        ask(job_operations.create_job, scheduler, Role.SUBMIT, body=other)
