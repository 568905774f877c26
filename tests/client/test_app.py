"""The SDK: functions become jobs, with a server or without one."""

import asyncio
import contextlib
import inspect
import sqlite3
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headway
from headway import local_wiring, settings, testing, wiring
from headway.domain import errors, states
from headway.domain.jobs import RetryPolicy
from headway.files import log_files
from headway.protocol.work_shapes import ClaimBody, LogBody


@pytest.fixture
def app(tmp_path: Path) -> Iterator[headway.App]:
    made = headway.App(settings=settings.Settings(data=str(tmp_path / "data")))
    yield made
    made.close()


def test_without_a_server_a_submit_goes_straight_to_the_database(app: headway.App) -> None:
    @app.job(retries=5, retry_delay="1m", timeout="10m", locks=["gpu"], tags=["night"])
    def story(genre: str) -> str:
        return genre

    shown = story.submit(genre="horror").fetch()
    assert shown.status is states.QUEUED
    assert shown.params == {"genre": "horror"}
    assert shown.retry_policy == RetryPolicy(max_attempts=5, base_delay_s=60)
    assert shown.timeout_s == 600
    assert [lock.key for lock in shown.locks] == ["gpu"]
    assert shown.tags == ("night",)


def test_a_function_that_is_called_just_runs(app: headway.App) -> None:
    @app.job
    def add(a: int, b: int) -> int:
        return a + b

    assert add(1, 2) == 3
    assert app.send(headway.protocol.jobs.list_jobs).items == []


def test_options_hold_for_one_submit(app: headway.App) -> None:
    @app.job(priority="LOW")
    def work() -> None: ...

    assert work.options(priority="URGENT", delay="1h").submit().fetch().priority == 20
    assert work.submit().fetch().priority == -10


def test_words_in_an_option_mean_what_they_mean_over_http(app: headway.App) -> None:
    @app.job(locks=[{"key": "gpu", "mode": "shared"}])
    def work() -> None: ...

    first = work.submit()
    second = work.options(after={"job": first, "policy": "finished"}, locks=["gpu"]).submit()
    assert [str(lock.mode) for lock in first.fetch().locks] == ["shared"]
    assert [str(one.policy) for one in second.fetch().after] == ["finished"]


def test_a_word_that_means_nothing_is_named_with_its_option(app: headway.App) -> None:
    @app.job
    def work() -> None: ...

    with pytest.raises(errors.InvalidRequest, match="locks: mode: Invalid enum value 'own'"):
        work.options(locks=[{"key": "gpu", "mode": "own"}]).submit()
    with pytest.raises(errors.InvalidRequest, match="pinned_head: commit: Object missing"):
        work.options(pinned_head={"branch": "main"}).submit()


def test_one_name_where_a_list_is_meant_is_a_list_of_one(app: headway.App) -> None:
    @app.job(locks="gpu", tags="nightly")
    def train() -> None: ...

    made = train.options(
        requires="cuda", needs="custom:model:big", missing_producer="wait"
    ).submit()
    job = made.fetch()
    assert [lock.key for lock in job.locks] == ["gpu"]
    assert (job.tags, job.requires) == (("nightly",), ("cuda",))
    assert job.needs == ("custom:model:big",)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"retries": -1}, {"timeout": 0}, {"priority": "meh"}, {"isolation": "proces"}),
        *({"jitter": 0.5}, {"jiter": True}),
    ],
)
def test_an_option_that_no_submit_could_have_is_refused_when_the_job_is_defined(
    app: headway.App, wrong: dict[str, Any]
) -> None:
    with pytest.raises((headway.InvalidRequest, TypeError)):
        app.job(**wrong)(lambda: None)


def test_a_pipeline_is_submitted_once(app: headway.App) -> None:
    @app.job
    def step() -> None: ...

    with app.pipeline() as flow:
        flow.add(step)
        flow.submit()
        with pytest.raises(RuntimeError, match="submitted already"):
            flow.submit()
        with pytest.raises(RuntimeError, match="submitted already"):
            flow.add(step)
    assert [handle.number for handle in flow.handles] == [1]


def test_two_jobs_of_one_name_are_refused(app: headway.App) -> None:
    @app.job(name="work")
    def first() -> None: ...

    with pytest.raises(ValueError, match="two jobs named 'work'"):

        @app.job(name="work")
        def second() -> None: ...


def test_async_callers_share_the_names(app: headway.App) -> None:
    @app.job
    def add(a: int, b: int) -> int:
        return a + b

    async def main() -> None:
        job = await add.submit_async(1, b=2)
        assert (await job.fetch_async()).status is states.QUEUED
        assert (await job.cancel_async(reason="enough")).status is states.CANCELLED
        with pytest.raises(headway.JobFailed, match="CANCELLED"):
            await job.result_async(timeout=5)

    asyncio.run(main())


def test_many_async_submits_at_once_all_arrive(app: headway.App) -> None:
    @app.job
    def work(n: int) -> None: ...

    async def main() -> set[int]:
        handles = await asyncio.gather(*(work.submit_async(n) for n in range(200)))
        return {handle.number for handle in handles}

    assert asyncio.run(main()) == set(range(1, 201))


def test_one_bad_submit_among_many_is_refused_alone(app: headway.App) -> None:
    async def main() -> list[object]:
        requests = [headway.JobRequest(job_type="x") for _ in range(20)]
        requests[7] = headway.JobRequest(job_type="x", after=(99,))
        calls = [
            app.send_async(headway.protocol.jobs.create_job, body=request) for request in requests
        ]
        return list(await asyncio.gather(*calls, return_exceptions=True))

    answers = asyncio.run(main())
    refused = [one for one in answers if isinstance(one, Exception)]
    assert [type(one) for one in refused] == [errors.UnknownReference]
    assert len(app.send(headway.protocol.jobs.list_jobs).items) == 19


def test_a_job_submitted_on_ones_own_connection_exists_exactly_if_one_commits(
    app: headway.App,
) -> None:
    @app.job
    def mail(to: str) -> None: ...

    app.client.send(headway.protocol.jobs.list_jobs)  # the schema is there
    path = app.settings.data_dir / "headway.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    connection.commit()
    connection.execute("INSERT INTO orders VALUES (1)")
    mail.submit_on(connection, to="a@example.org")
    connection.rollback()
    assert app.send(headway.protocol.jobs.list_jobs).items == []
    connection.execute("INSERT INTO orders VALUES (1)")
    kept = mail.submit_on(connection, to="a@example.org")
    connection.commit()
    connection.close()
    assert kept.status is states.QUEUED
    noted = app.send(headway.protocol.tokens.list_audit).items
    assert [(one.action, one.target) for one in noted] == [("create_job", f"job {kept.number}")]


def test_settings_come_from_options_then_the_environment_then_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "headway.toml").write_text('slots = 2\nport = 1\ndata = "from-file"\n')
    monkeypatch.setenv("HEADWAY_PORT", "2")
    monkeypatch.setenv("HEADWAY_SLOTS", "3")
    found = settings.load({"slots": 4, "url": None}, folder=tmp_path)
    assert (found.slots, found.port, found.data) == (4, 2, "from-file")


def test_every_setting_can_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_LIMITS", "gpu=1, type:story=2")
    monkeypatch.setenv("HEADWAY_QUEUES", "fast, slow")
    found = settings.load(folder=tmp_path)
    assert found.limits == {"gpu": 1, "type:story": 2}
    assert found.queues == ("fast", "slow")
    for text in ("gpu", "gpu=", "=1", "gpu=-1", "gpu=1,"):
        monkeypatch.setenv("HEADWAY_LIMITS", text)
        with pytest.raises(errors.InvalidRequest, match="NAME=SIZE"):
            settings.load(folder=tmp_path)


def test_a_setting_of_the_wrong_kind_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_PORT", "http")
    with pytest.raises(errors.Invalid, match="HEADWAY_PORT: Expected `int`"):
        settings.load(folder=tmp_path)


def test_a_setting_that_makes_no_sense_is_named_with_the_place_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "headway.toml").write_text("slots = -3\n")
    with pytest.raises(errors.Invalid, match=r"headway\.toml: slots: -3 is not between 1 and"):
        settings.load(folder=tmp_path)
    monkeypatch.setenv("HEADWAY_SLOTS", "0")
    with pytest.raises(errors.Invalid, match="HEADWAY_SLOTS: 0 is not between 1 and"):
        settings.load(folder=tmp_path)
    with pytest.raises(errors.Invalid, match="--port: 99999 is not between 0 and 65535"):
        settings.load({"port": 99999, "slots": 1}, folder=tmp_path)


def test_an_unknown_setting_is_named(tmp_path: Path) -> None:
    (tmp_path / "headway.toml").write_text("slotz = 2\n")
    with pytest.raises(errors.Invalid, match="slotz"):
        settings.load(folder=tmp_path)


def test_an_app_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(errors.InvalidRequest, match="there is no module 'nowhere'"):
        wiring.load_app("nowhere:app")


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("nowhere:Mine", "there is no module 'nowhere'"),
        ("policies:Yours", "module 'policies' has no 'Yours'"),
        ("policies", "'policies' is not MODULE:NAME"),
        (":Mine", "':Mine' is not MODULE:NAME"),
        ("policies:Mine", "policies:Mine has no method 'uses'|no method 'on_member_failed'"),
    ],
)
@pytest.mark.parametrize("setting", ["concurrency_policy", "group_failure_policy"])
def test_a_policy_that_cannot_be_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, reference: str, said: str
) -> None:
    (tmp_path / "policies.py").write_text("class Mine: ...\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "policies", raising=False)
    chosen = settings.load({"data": str(tmp_path / "data"), setting: reference})
    with (
        contextlib.closing(local_wiring.open_store(chosen)) as store,
        pytest.raises(errors.InvalidRequest, match=f"^{setting}: .*({said})"),
    ):
        local_wiring.build_scheduler(chosen, store)


def test_what_waits_for_files_keeps_no_event_loop_waiting(
    app: headway.App, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def refuse(*_: object) -> int:
        threads.append(threading.current_thread())
        raise errors.LogGap(4, 0)

    app.send(headway.protocol.jobs.create_job, body=headway.JobRequest(job_type="any"))
    taken = app.send(headway.protocol.work.claim, body=ClaimBody(worker_id="w", lease=True))
    assert taken is not None
    body = LogBody(worker_id="w", data=b"one")
    monkeypatch.setattr(log_files, "write_at", refuse)
    with pytest.raises(errors.LogGap):
        asyncio.run(
            app.client.send_async(
                headway.protocol.work.send_log, id=str(taken.jobs[0].run_id), body=body
            )
        )
    assert threads != [threading.main_thread()]


def test_the_public_names_are_all_there() -> None:
    for name in headway.__all__:
        assert getattr(headway, name) is not None, name


def test_a_connection_takes_what_an_app_takes(tmp_path: Path) -> None:
    app = headway.App(data=str(tmp_path), db=f"sqlite:///{tmp_path / 'own.db'}")
    job = app.submit("work")
    app.close()
    for client in (
        headway.connect(data=str(tmp_path), db=f"sqlite:///{tmp_path / 'own.db'}"),
        headway.connect(settings=app.settings),
    ):
        assert client.send(headway.protocol.jobs.get_job, id=job.number).job_id == job.job_id
        client.close()
    taken = set(inspect.signature(headway.App).parameters)
    assert set(inspect.signature(headway.connect).parameters) == taken


def test_groups_templates_and_schedules_are_made_with_public_names(app: headway.App) -> None:
    app.send(
        headway.protocol.templates.create_template,
        body=headway.TemplateRequest(name="t", job_type="work"),
    )
    made = app.send(
        headway.protocol.schedules.create_schedule,
        body=headway.ScheduleRequest(template="t", cron="0 3 * * *"),
    )
    jobs = [headway.BatchJobRequest(template="t"), headway.BatchJobRequest(job_type="work")]
    group = headway.GroupRequest(jobs=jobs, mode=headway.GroupMode.PARALLEL)
    assert len(app.send(headway.protocol.groups.create_group, body=group).members) == 2
    app.send(
        headway.protocol.schedules.change_schedule,
        id=made.schedule_id,
        body=headway.SchedulePatch(timezone="Asia/Tokyo"),
    )
    with pytest.raises(headway.NotFound):
        app.send(headway.protocol.templates.get_template, id="nightly")
    with pytest.raises(headway.errors.NameTaken):
        app.send(
            headway.protocol.templates.create_template,
            body=headway.TemplateRequest(name="t", job_type="x"),
        )


def test_a_harness_gives_the_app_its_client_back(app: headway.App) -> None:
    before = app.client
    with testing.Harness(app):
        assert app.client is not before
    assert app.client is before


def test_jitter_is_an_option_of_retries(app: headway.App) -> None:
    @app.job(jitter=True)
    def work() -> None: ...

    assert work.submit().fetch().retry_policy == RetryPolicy(jitter=True)
    assert work.options(retries=1).submit().fetch().retry_policy.jitter


def test_an_unknown_option_is_named_with_the_known_ones(app: headway.App) -> None:
    with pytest.raises(TypeError, match=r"no option 'jiter'; the options are .*jitter.*retries"):
        app.job(jiter=True)(lambda: None)  # type: ignore[call-overload]


def test_a_submit_tells_that_its_unique_key_found_a_job_and_whether_params_differ(
    app: headway.App,
) -> None:
    @app.job
    def story(genre: str) -> str:
        return genre

    only = story.options(unique_key="tonight", name="Tonight")
    first, same, other = (only.submit(genre=genre) for genre in ("horror", "horror", "crime"))
    assert first.job_id == same.job_id == other.job_id
    assert first.fetch().name == "Tonight"
    told = [(one.deduplicated, one.params_differ) for one in (first, same, other)]
    assert told == [(False, False), (True, False), (True, True)]


def test_a_job_comes_after_a_group_by_its_name_or_itself(app: headway.App) -> None:
    @app.job
    def work() -> None: ...

    request = headway.GroupRequest(name="release", jobs=[work.request()])
    group = app.send(headway.protocol.groups.create_group, body=request)
    by_name = work.options(after={"group": "release", "policy": "finished"}).submit()
    itself = work.options(after=group).submit()
    for handle, policy in ((by_name, "finished"), (itself, "success")):
        (after,) = handle.fetch().after_groups
        assert (after.group, after.policy) == (group.group_id, policy)
