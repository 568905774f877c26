"""The options that say how a job is to run, as `submit` and `run` share them."""

from datetime import datetime
from typing import Annotated, Any

import typer

from headway.domain import errors

Priority = Annotated[
    str | None,
    typer.Option("--priority", "-p", metavar="N|NAME", help="-1000 to 1000, or low to urgent."),
]
Queue = Annotated[str | None, typer.Option("--queue", "-q", help="The queue it goes to.")]
After = Annotated[
    list[str] | None,
    typer.Option(
        "--after", metavar="JOB[:POLICY]", help="Wait for a job; success, finished or failure."
    ),
]
Needs = Annotated[
    list[str] | None,
    typer.Option("--needs", metavar="ARTIFACT", help="Wait for file:PATH, git_branch:NAME, …"),
]
Produces = Annotated[
    list[str] | None, typer.Option("--produces", metavar="ARTIFACT", help="What it makes.")
]
PinnedHead = Annotated[
    str | None,
    typer.Option(
        "--pinned-head", metavar="BRANCH@COMMIT", help="Wait while the branch is elsewhere."
    ),
]
MissingProducer = Annotated[
    str | None,
    typer.Option(
        "--missing-producer", metavar="block|wait", help="When nobody makes what it needs [block]."
    ),
]
Locks = Annotated[
    list[str] | None,
    typer.Option(
        "--lock", metavar="KEY[:shared]", help="Held while it runs, exclusively or shared."
    ),
]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A word to find it by.")]
Timeout = Annotated[
    str | None, typer.Option("--timeout", metavar="SPAN", help="Stop it after 90s, 10m, 2h.")
]
Requires = Annotated[
    list[str] | None, typer.Option("--requires", help="Only workers that can do this take it.")
]
Cost = Annotated[int | None, typer.Option("--cost", help="Units of the limit `capacity`.")]
Limits = Annotated[
    list[str] | None, typer.Option("--limit", metavar="LIMIT[=N]", help="Units of a limit it uses.")
]

Delay = Annotated[
    str | None, typer.Option("--delay", metavar="SPAN", help="Not before 90s, 10m, 2h from now.")
]
At = Annotated[
    str | None, typer.Option("--at", metavar="TIME", help="Not before 2030-01-31T18:30.")
]
UniqueKey = Annotated[
    str | None, typer.Option("--unique-key", help="At most one active job has it.")
]
IdempotencyKey = Annotated[
    str | None, typer.Option("--idempotency-key", help="The same submit twice makes one job.")
]
Retries = Annotated[int | None, typer.Option("--retries", help="How often it is tried again [3].")]
Approval = Annotated[bool, typer.Option("--approval", help="A person must approve.")]
WebhookUrl = Annotated[
    str | None, typer.Option("--webhook-url", metavar="URL", help="Who is told of its end.")
]


def chosen(**given: Any) -> dict[str, Any]:
    """The options that were given, in the words of the SDK."""
    found = {name: value for name, value in given.items() if value is not None and value != []}
    readers = {"after": _after, "locks": _lock}
    for name, read in readers.items():
        if name in found:
            found[name] = [read(text) for text in found[name]]
    if "limits" in found:
        found["limits"] = dict(_limit(text) for text in found["limits"])
    if "pinned_head" in found:
        branch, _, commit = found["pinned_head"].rpartition("@")
        found["pinned_head"] = {"branch": branch, "commit": commit}
    if "scheduled_for" in found:
        found["scheduled_for"] = moment(found["scheduled_for"])
    return found


def moment(text: str, field: str = "at") -> datetime:
    """A moment such as `2030-01-31T18:30` here, or with `Z` or `+01:00` somewhere else."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        problem = f"cannot read {text!r}; write for example 2030-01-31T18:30 or 2030-01-31T18:30Z"
        raise errors.InvalidRequest(field, problem) from None


def _after(text: str) -> dict[str, str]:
    job, colon, policy = text.rpartition(":")
    return {"job": job, "policy": policy.lower()} if colon else {"job": text}


def _lock(text: str) -> dict[str, str]:
    key, _, mode = text.rpartition(":")
    if mode in ("shared", "exclusive") and key:
        return {"key": key, "mode": mode}
    return {"key": text}


def _limit(text: str) -> tuple[str, int]:
    name, sign, amount = text.rpartition("=")
    if not sign:
        return text, 1
    if not amount.isascii() or not amount.isdecimal():
        raise errors.InvalidRequest("limit", f"{text!r}: {amount!r} is not a number")
    return name, int(amount)
