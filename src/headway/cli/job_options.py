"""The options that say how a job is to run, as `submit` and `run` share them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import typer

from headway.cli import completion
from headway.domain import errors
from headway.domain.jobs import Policy

Priority = Annotated[
    str | None,
    typer.Option(
        "--priority", "-p", metavar="N|NAME", help="-1000 to 1000, or low, normal, high, urgent."
    ),
]
Name = Annotated[str | None, typer.Option("--name", help="What to call it.")]
Queue = Annotated[str | None, typer.Option("--queue", "-q", help="Queue to put it in.")]
After = Annotated[
    list[str] | None,
    typer.Option(
        "--after",
        metavar="JOB[:POLICY]",
        help="Start after this job, or group:NAME; POLICY is success, finished or failure.",
        autocompletion=completion.jobs,
    ),
]
Needs = Annotated[
    list[str] | None,
    typer.Option(
        "--needs", metavar="ARTIFACT", help="Artifact to wait for: file:PATH, git_branch:NAME, …"
    ),
]
Produces = Annotated[
    list[str] | None,
    typer.Option("--produces", metavar="ARTIFACT", help="Artifact that it produces."),
]
PinnedHead = Annotated[
    str | None,
    typer.Option(
        "--pinned-head", metavar="BRANCH@COMMIT", help="Wait until the branch is at this commit."
    ),
]
MissingProducer = Annotated[
    str | None,
    typer.Option(
        "--missing-producer", metavar="block|wait", help="If no job produces what it needs [block]."
    ),
]
Locks = Annotated[
    list[str] | None,
    typer.Option(
        "--lock",
        metavar="KEY[:shared]",
        help="Lock to hold while it runs, exclusive unless :shared.",
    ),
]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="Tag to find it by.")]
Timeout = Annotated[
    str | None,
    typer.Option("--timeout", metavar="SPAN", help="Stop it after this long, e.g. 90s, 10m, 2h."),
]
StartWithin = Annotated[
    str | None,
    typer.Option(
        "--start-within", metavar="SPAN", help="Cancel it unless it starts this soon, e.g. 10m."
    ),
]
Requires = Annotated[
    list[str] | None, typer.Option("--requires", help="Run only on workers with this capability.")
]
Cost = Annotated[
    int | None, typer.Option("--cost", help="Units of the limit `capacity` that it uses.")
]
Limits = Annotated[
    list[str] | None,
    typer.Option(
        "--limit", metavar="LIMIT[=N]", help="Limit that it uses, and how many units [1]."
    ),
]

Delay = Annotated[
    str | None,
    typer.Option(
        "--delay", metavar="SPAN", help="Start no sooner than this from now, e.g. 90s, 10m, 2h."
    ),
]
At = Annotated[
    str | None,
    typer.Option("--at", metavar="TIME", help="Start no sooner than this, e.g. 2030-01-31T18:30."),
]
UniqueKey = Annotated[
    str | None, typer.Option("--unique-key", help="Allow only one active job with this key.")
]
IdempotencyKey = Annotated[
    str | None,
    typer.Option("--idempotency-key", help="Submitting twice with this key creates one job."),
]
Retries = Annotated[int | None, typer.Option("--retries", help="How many times to retry it [3].")]
RetryDelay = Annotated[
    str | None,
    typer.Option(
        "--retry-delay", metavar="SPAN", help="Wait before the first retry, doubled for each [10s]."
    ),
]
MaxRetryDelay = Annotated[
    str | None,
    typer.Option("--max-retry-delay", metavar="SPAN", help="Longest wait before a retry [1h]."),
]
Jitter = Annotated[
    bool,
    typer.Option("--jitter", help="Shorten each wait before a retry at random, by up to half."),
]
Backoff = Annotated[
    str | None,
    typer.Option(
        "--backoff", metavar="exponential|fixed", help="How the wait before a retry grows."
    ),
]
MaxCrashes = Annotated[
    int | None,
    typer.Option("--max-crashes", help="How often it may take its worker down [3]."),
]
DedupKey = Annotated[
    str | None,
    typer.Option(
        "--dedup-key", help="Skip it if a job with this key succeeded within --dedup-window."
    ),
]
DedupWindow = Annotated[
    str | None,
    typer.Option("--dedup-window", metavar="SPAN", help="How long a success counts, e.g. 12h."),
]
Approval = Annotated[bool, typer.Option("--approval", help="Wait until a person approves it.")]
WebhookUrl = Annotated[
    str | None, typer.Option("--webhook-url", metavar="URL", help="URL to notify when it ends.")
]


GROUP = "group:"
"""Begins the name of a group, where jobs are named."""

NAMES = {
    **{"at": "scheduled_for", "cost": "cost_units"},
    **{"lock": "locks", "tag": "tags", "limit": "limits"},
}
"""Options that the SDK calls otherwise."""


def chosen(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a job among a command's parameters, by the names of the SDK."""
    from headway.client.options import SubmitOptions

    named = {NAMES.get(name, name): value for name, value in parameters.items()}
    found = {
        name: value
        for name, value in named.items()
        if name in SubmitOptions.__annotations__
        and not (value is None or value is False or value == [])
    }
    readers = {"after": _after, "locks": _lock}
    for name, read in readers.items():
        if name in found:
            found[name] = [read(text) for text in found[name]]
    if "limits" in found:
        found["limits"] = dict(_limit(text) for text in found["limits"])
    positive("--timeout", found.get("timeout"))
    positive("--start-within", found.get("start_within"))
    if ("dedup_key" in found) != ("dedup_window" in found):
        raise errors.InvalidRequest("--dedup-key", "goes together with --dedup-window")
    if "pinned_head" in found:
        branch, _, commit = found["pinned_head"].rpartition("@")
        if not branch or not commit:
            raise errors.InvalidRequest("--pinned-head", "write it as BRANCH@COMMIT")
        found["pinned_head"] = {"branch": branch, "commit": commit}
    if "scheduled_for" in found:
        found["scheduled_for"] = moment(found["scheduled_for"])
    return found


def positive(option: str, span: str | None) -> str | None:
    """A time span as it was typed, which may be anything but nothing."""
    if span is not None and not span.strip("0.dhms "):
        raise errors.InvalidRequest(option, "must be more than 0")
    return span


def moment(text: str, field: str = "at") -> datetime:
    """A moment such as `2030-01-31T18:30` here, or with `Z` or `+01:00` somewhere else."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        problem = f"cannot read {text!r}; write it like 2030-01-31T18:30 or 2030-01-31T18:30Z"
        raise errors.InvalidRequest(field, problem) from None


def _after(text: str) -> dict[str, str]:
    job, colon, policy = text.rpartition(":")
    if job == GROUP.rstrip(":") or (text.startswith(GROUP) and policy.lower() not in set(Policy)):
        job, colon, policy = text, "", ""
    if colon and policy.lower() not in set(Policy):
        known = ", ".join(Policy)
        raise errors.InvalidRequest("--after", f"{policy!r} in {text!r} is not one of {known}")
    named = job if colon else text
    said = {"policy": policy.lower()} if colon else {}
    return {_kind_of(named): named.removeprefix(GROUP), **said}


def _kind_of(named: str) -> str:
    return "group" if named.startswith(GROUP) else "job"


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
