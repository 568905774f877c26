"""`headway run -- CMD…`: a command as a job, from start to end."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway import protocol
from headway.cli import job_options as given
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.domain.jobs import Job

app = commands()

GRACE_S = 15.0


@command(
    app,
    "run",
    "headway run -- make test",
    "headway run --lock gpu --timeout 2h -- python train.py",
    "sort names.txt | headway run -- ./greet   # gets what is piped",
    "headway run --needs file:data.csv --produces file:report.pdf -- ./report",
    allow_interspersed_args=False,
)
def run(
    session: "Session",
    argv: Annotated[list[str], typer.Argument(metavar="CMD...", help="Program and its arguments.")],
    name: given.Name = None,
    priority: given.Priority = None,
    queue: given.Queue = None,
    after: given.After = None,
    needs: given.Needs = None,
    produces: given.Produces = None,
    lock: given.Locks = None,
    tag: given.Tags = None,
    timeout: given.Timeout = None,
    env: Annotated[
        bool,
        typer.Option(
            "--env/--no-env",
            help="Hand this environment on and keep it with the job; not with --url.",
        ),
    ] = True,
) -> None:
    """Run a command as a job, show its output and exit with its code."""
    chosen = given.chosen(locals())
    job = _submit(session, argv, chosen, hand_on=env)
    session.screen.note(f"job {job.number}")
    with _worker(session, job.number), _signals():
        ended = _follow(session, job)
    _end(session, ended)


def _submit(session: "Session", argv: list[str], chosen: dict[str, Any], *, hand_on: bool) -> "Job":
    from headway.cli import piped
    from headway.client import options
    from headway.domain.secrets import SECRET_ENV

    params: dict[str, Any] = {"argv": argv}
    if (text := piped.read(session.screen, session.settings.largest_body)) is not None:
        params["stdin"] = text
    if session.settings.url is None:
        # The workspace is on this machine, so the command runs where and as it was typed.
        params["cwd"] = os.getcwd()
        if hand_on:
            params[SECRET_ENV] = _environment(session)
    request = options.request("command", params, {**chosen, "retries": 0})  # type: ignore[typeddict-item]
    return session.send(protocol.jobs.create_job, body=request)


def _environment(session: "Session") -> dict[str, str]:
    """The variables of this process but for our own settings, as far as they are text."""
    from headway.settings import PREFIX

    handed_on = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    for name, value in tuple(handed_on.items()):
        try:
            f"{name}{value}".encode()
        except UnicodeEncodeError:
            del handed_on[name]
            session.screen.note(f"{name!a} is not handed on, it is not text in UTF-8")
    return handed_on


@contextmanager
def _worker(session: "Session", number: int) -> Iterator[None]:
    """Without a server, a worker of our own that takes only this job."""
    if not session.is_local:
        yield
        return
    import dataclasses

    from headway import local_wiring, worker_wiring
    from headway.operations.local import LocalTransport as ClientTransport
    from headway.scheduler.upkeep import recovery
    from headway.scheduler.upkeep.timekeeper import Timekeeper
    from headway.worker.local import LocalTransport
    from headway.worker.loop import Worker

    transport = session.client.transport
    assert isinstance(transport, ClientTransport)
    home = worker_wiring.home(session.settings.data_dir)
    me = worker_wiring.registration(session.settings, [], prefix="run", every_queue=True, home=home)
    scheduler = dataclasses.replace(transport.scheduler, data_id=home.data_id)
    executors = worker_wiring.executors(
        {}, 1, scheduler.workspace, scheduler.rules.largest_result, scheduler.output
    )
    worker = Worker(
        LocalTransport(scheduler, me, only_job=number),
        executors,
        slots=1,
        data=scheduler.data,
        bound=scheduler.output,
    )
    # A server that crashed may have left a reservation that nothing else would end.
    recovery.recover(
        scheduler,
        local_wiring.is_alive,
        lambda run_ids: worker_wiring.end_orphans(scheduler.data, run_ids),
    )
    timekeeper = Timekeeper(scheduler)
    timekeeper.start()
    worker.start()
    try:
        yield
    finally:
        worker.stop(GRACE_S)
        timekeeper.stop()


@contextmanager
def _signals() -> Iterator[None]:
    """Being terminated ends the job too."""

    def terminate(*_: Any) -> None:
        raise typer.Exit(143)

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _follow(session: "Session", job: "Job") -> "Job":
    from headway.cli.follow import Follower
    from headway.domain import errors

    follower = Follower(session)
    try:
        return follower.follow(job.number)
    except (KeyboardInterrupt, typer.Exit):
        session.screen.note(f"cancelling job {job.number}")
        with suppress(errors.Conflict):
            session.send(
                protocol.jobs.cancel_job,
                id=job.number,
                body=protocol.jobs.CancelBody(reason="interrupted", force=True),
            )
        follower.follow(job.number)
        raise


def _end(session: "Session", job: "Job") -> None:
    from headway.cli import follow
    from headway.cli.text import job_text, words
    from headway.domain import states

    if session.screen.json:
        session.screen.value(job_text.without_environment(job))
    elif job.status not in states.SUCCESS:
        session.screen.note(follow.ending(session, job))
    raise typer.Exit(words.ending(job))
