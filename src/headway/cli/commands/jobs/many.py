"""The same change of all jobs that some options name: a preview, a question, a bar."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
import typer

from headway import protocol
from headway.cli import completion

if TYPE_CHECKING:
    from headway.cli.session import Session
    from headway.domain import errors
    from headway.protocol.jobs import ActionBody, ActionReport, JobSelection

Status = Annotated[
    str | None,
    typer.Option(
        "--status",
        help="All in these comma-separated statuses; also active, ended.",
        autocompletion=completion.statuses,
    ),
]
Queue = Annotated[str | None, typer.Option("--queue", "-q", help="All in this queue.")]
Type = Annotated[
    str | None,
    typer.Option("--type", "-t", help="All of this type.", autocompletion=completion.job_types),
]
Tag = Annotated[str | None, typer.Option("--tag", help="All with this tag.")]
Group = Annotated[
    str | None,
    typer.Option(
        "--group", help="All of this group, by name or id.", autocompletion=completion.groups
    ),
]
Name = Annotated[str | None, typer.Option("--name", help="All with this name.")]
Search = Annotated[
    str | None,
    typer.Option("--search", metavar="WORDS", help="All with these, as in jobs list."),
]
Since = Annotated[
    str | None,
    typer.Option("--since", metavar="TIME|SPAN", help="All submitted since then, or 2h ago: 2h."),
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="TIME|SPAN", help="All submitted before then.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask first.")]
Preview = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]
Priority = Annotated[
    str | None, typer.Option("--priority", "-p", metavar="N|NAME", help="New priority.")
]

DONE = {
    "cancel": "cancelled or asked to stop",
    "retry": "retried",
    "approve": "approved",
    "reprioritise": "moved to the new priority",
}
MOST_CODES = 5


def selection(options: Mapping[str, Any]) -> "JobSelection | None":
    """The filter that these options of a command say, if any of them says something."""
    from headway.cli import values
    from headway.protocol.jobs import JobSelection

    said = {
        field: options[option]
        for option, field in _FIELDS.items()
        if options.get(option) is not None
    }
    for field in ("since", "until"):
        if field in said:
            said[field] = values.moment_or_ago(said[field], f"--{field}")
    return JobSelection(**said) if said else None


_FIELDS = {
    **{name: name for name in ("status", "queue", "tag", "name", "search", "since", "until")},
    **{"job_type": "job_type", "group": "group_id"},
}


def one_of(jobs: list[str] | None, chosen: "JobSelection | None") -> None:
    """Jobs are named one by one, or by options, and not in both ways."""
    if bool(jobs) == (chosen is not None):
        raise misplaced(
            "", "name jobs by their numbers, or all of a kind by options such as --status or --tag"
        )


def misplaced(option: str, problem: str) -> "errors.InvalidRequest":
    """Options that do not go together."""
    from headway.domain import errors

    return errors.InvalidRequest(option, problem)


class Sure(NamedTuple):
    """Whether to ask first, and whether to do it at all."""

    yes: bool
    dry_run: bool


def body(
    action: str,
    jobs: list[str] | None,
    chosen: "JobSelection | None",
    *,
    priority: str | None = None,
    reason: str | None = None,
) -> "ActionBody":
    """What is to be done to these jobs, or to all that are like that."""
    from headway.domain.requests.action_requests import Action
    from headway.protocol.jobs import ActionBody

    return ActionBody(
        action=Action(action),
        filter=chosen,
        ids=tuple(jobs) if jobs else None,
        priority=priority,
        reason=reason,
    )


def act(session: "Session", body: "ActionBody", sure: Sure) -> None:
    """Do it to all that are meant, once it is clear that this is wanted."""
    asks = not sure.yes and not sure.dry_run
    if asks and (session.screen.json or not sys.stdin.isatty()):
        raise misplaced("--yes", "look at what would be done with --dry-run, then give --yes")
    would = _all(session, msgspec.structs.replace(body, dry_run=True), total=None)
    if asks or sure.dry_run or not would.changed:
        session.show(would, lambda: _preview(session, body, would))
    if sure.dry_run or not would.changed:
        return
    if asks:
        typer.confirm(f"{body.action.capitalize()} {_jobs(would.changed)}?", abort=True)
    done = _all(session, body, total=would.matched)
    session.show(done, lambda: _say(session, body, done))


def _all(session: "Session", body: "ActionBody", *, total: int | None) -> "ActionReport":
    """Request after request, until none is left."""
    from headway.cli.text.bar import Bar
    from headway.protocol.jobs import ActionReport

    whole = ActionReport(matched=0, changed=0, refused=[], refused_count=0)
    with Bar(body.action if total is not None else "look") as bar:
        while True:
            bar.count(whole.matched, max(total, whole.matched) if total else None, "jobs")
            report = session.send(protocol.jobs.act_on_jobs, body=body)
            whole = _sum(whole, report)
            if report.next_cursor is None:
                return whole
            body = msgspec.structs.replace(body, cursor=report.next_cursor)


def _sum(one: "ActionReport", other: "ActionReport") -> "ActionReport":
    return msgspec.structs.replace(
        one,
        matched=one.matched + other.matched,
        changed=one.changed + other.changed,
        refused=[*one.refused, *other.refused],
        refused_count=one.refused_count + other.refused_count,
    )


def _preview(session: "Session", body: "ActionBody", would: "ActionReport") -> None:
    if not would.matched and not would.refused_count:
        session.screen.line("No job is like that")
        return
    session.screen.line(f"Would {body.action} {_jobs(would.changed)}{_refusals(would)}")


def _say(session: "Session", body: "ActionBody", done: "ActionReport") -> None:
    session.screen.line(f"{_jobs(done.changed).capitalize()} {DONE[body.action]}{_refusals(done)}")


def _refusals(report: "ActionReport") -> str:
    """How many are left as they are, and by which codes."""
    from collections import Counter

    if not report.refused_count:
        return ""
    codes = Counter(one.code for one in report.refused).most_common(MOST_CODES)
    told = ", ".join(f"{count} {code}" for code, count in codes)
    return f"; {report.refused_count} left as they are ({told})"


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count} jobs"
