"""`headway submit`: one job, or a whole graph from a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway import protocol
from headway.cli import completion
from headway.cli import job_options as given
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.domain.jobs import Job
    from headway.protocol.jobs import Batch

app = commands()

KNOWN = " (already submitted)"
COMMAND_PARAMS = ("argv=", "cwd=", "env=", "secret_env=", "stdin=")


Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TYPE KEY=VALUE...",
        help="Job type and params; a value that is valid JSON is read as JSON.",
        autocompletion=completion.first_word,
    ),
]
Params = Annotated[
    str | None, typer.Option("--params", metavar="JSON", help="All params as one object.")
]
File = Annotated[
    str | None,
    typer.Option(
        "--file",
        "-f",
        metavar="FILE",
        help="Submit many jobs, all or nothing; - reads JSON from stdin.",
    ),
]


@command(
    app,
    "submit",
    "headway submit story genre=horror length=1200",
    'headway submit story --params \'{"genre": "horror"}\' --delay 10m',
    "headway submit command -- make deploy",
    "headway submit story genre=horror --retries 5 --retry-delay 30s --jitter",
    "headway submit --template nightly",
    "headway submit --file flow.toml",
    "",
    "flow.toml, where jobs name each other by ref:",
    "  [[jobs]]",
    '  ref = "build"',
    '  job_type = "command"',
    '  params = {argv = ["make"]}',
    "  [[jobs]]",
    '  job_type = "command"',
    '  params = {argv = ["make", "deploy"]}',
    '  after = ["ref:build"]',
    "  approval = true",
)
def submit(
    session: "Session",
    words: Words = None,
    params: Params = None,
    file: File = None,
    template: Annotated[
        str | None,
        typer.Option(
            "--template", help="Template name or id.", autocompletion=completion.templates
        ),
    ] = None,
    name: given.Name = None,
    priority: given.Priority = None,
    queue: given.Queue = None,
    delay: given.Delay = None,
    at: given.At = None,
    after: given.After = None,
    needs: given.Needs = None,
    produces: given.Produces = None,
    missing_producer: given.MissingProducer = None,
    pinned_head: given.PinnedHead = None,
    lock: given.Locks = None,
    tag: given.Tags = None,
    unique_key: given.UniqueKey = None,
    idempotency_key: given.IdempotencyKey = None,
    dedup_key: given.DedupKey = None,
    dedup_window: given.DedupWindow = None,
    timeout: given.Timeout = None,
    retries: given.Retries = None,
    retry_delay: given.RetryDelay = None,
    max_retry_delay: given.MaxRetryDelay = None,
    jitter: given.Jitter = False,
    start_within: given.StartWithin = None,
    backoff: given.Backoff = None,
    max_crashes: given.MaxCrashes = None,
    requires: given.Requires = None,
    cost: given.Cost = None,
    limit: given.Limits = None,
    approval: given.Approval = False,
    webhook_url: given.WebhookUrl = None,
) -> None:
    """Submit a job, or a whole graph of jobs from a file."""
    chosen = given.chosen(locals())
    if file is not None:
        _submit_file(session, file, alone=not (words or params or chosen))
    else:
        _submit_one(session, *_read_words(list(words or []), template, params), chosen)


def _submit_one(
    session: "Session", job_type: str | None, params: dict[str, Any], chosen: dict[str, Any]
) -> None:
    import msgspec

    from headway.client import options
    from headway.domain import errors
    from headway.domain.requests.job_requests import JobRequest

    try:
        request = options.request(job_type, params, chosen)  # type: ignore[arg-type]
        # The words of options were not checked against the types yet.
        request = msgspec.convert(msgspec.to_builtins(request), type(request))
    except msgspec.ValidationError as error:
        raise errors.InvalidRequest("", str(error)) from None
    assert isinstance(request, JobRequest)
    try:
        job = session.send(protocol.jobs.create_job, body=request)
    except errors.InvalidParams as error:
        if error.expects == "str":
            error.detail += _hint(params, error.fields)
        raise
    session.show(job, lambda: _say(session, job))


def _hint(params: dict[str, Any], fields: dict[str, str]) -> str:
    """How to type a value that is text and looks like a number."""
    for field in fields:
        name = field.removeprefix("params.")
        if name in params:
            typed = f"{name}='\"{params[name]}\"'"
            return f"; if it is text, put quotes within quotes: {typed}"
    return ""


def _say(session: "Session", job: "Job") -> None:
    from headway.cli.text import words
    from headway.domain import states

    known = ""
    if job.deduplicated:
        known = " (already submitted, with other params)" if job.params_differ is True else KNOWN
    reason = f": {session.text(job.wait_reason.detail)}" if job.wait_reason else ""
    session.screen.line(f"Job {job.number} ", words.status(job.status), f"{reason}{known}")
    if job.status in states.ACTIVE:
        _say_if_stuck(session, job)


def _say_if_stuck(session: "Session", job: "Job") -> None:
    """A job that nothing could start; without a server, a missing worker is what is expected."""
    from headway.domain.answers import GateState
    from headway.domain.gates import Gate

    why = session.send(protocol.jobs.why, id=job.number)
    closed = {row.gate for row in why.gates if row.state is GateState.CLOSED}
    if why.startable or not closed:
        return
    if session.is_local and Gate.WORKER in closed and Gate.LIMITS not in closed:
        session.screen.note("it starts when a server or a worker runs")
    else:
        session.screen.note(
            f"as things are now, nothing could ever start it; headway why {job.number} tells more"
        )


def _read_words(
    given_words: list[str], template: str | None, params: str | None
) -> tuple[str | None, dict[str, Any]]:
    """The job type and the params that were typed."""
    from headway.cli import values
    from headway.domain import errors

    job_type = None
    if template is None:
        if not given_words or "=" in given_words[0]:
            raise errors.InvalidRequest("", "give a job type: headway submit TYPE key=value…")
        job_type = given_words.pop(0)
    if job_type == "command" and given_words and not given_words[0].startswith(COMMAND_PARAMS):
        return job_type, {**values.read_params([], params), "argv": given_words}
    return job_type, values.read_params(given_words, params)


def _submit_file(session: "Session", file: str, *, alone: bool) -> None:
    from headway.cli.text.bar import Bar
    from headway.domain import errors

    if not alone:
        raise errors.InvalidRequest(
            "file", "takes no other options: write each job's options in the file"
        )
    with Bar("submit") as bar:
        bar.draw(0.0, f"reading {file}")
        batch = read_file(file)
        bar.draw(0.5, f"{len(batch.jobs)} jobs, all or nothing")
        answer = session.send(protocol.jobs.create_jobs, body=protocol.jobs.Batch(jobs=batch.jobs))
        bar.draw(1.0)

    def render() -> None:
        for made in answer.jobs if len(answer.jobs) <= 20 else answer.jobs[:20]:
            session.screen.line(f"Job {made.number}" + (f"  {made.ref}" if made.ref else ""))
        jobs = "1 job" if len(answer.jobs) == 1 else f"{len(answer.jobs)} jobs"
        session.screen.line(f"Submitted {jobs}; see: headway jobs schedule")

    session.show(answer, render)


def read_file(file: str) -> "Batch":
    """The jobs of a TOML or JSON file; one without a name is called by its ref."""
    import msgspec

    from headway.cli import files
    from headway.protocol import bodies
    from headway.protocol.jobs import Batch

    batch: Batch = bodies.decode(files.as_json(Path(file)), Batch)
    return Batch(
        jobs=[
            one if one.name is not None else msgspec.structs.replace(one, name=one.ref)
            for one in batch.jobs
        ]
    )
