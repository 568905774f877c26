"""The page on statuses, drawn from the table of legal moves."""

from collections.abc import Iterator

from docs_tools.tables import WRITTEN_BY, table
from headway.domain import states
from headway.domain.states import JobStatus

FAMILIES = {
    "any waiting status": states.WAITING,
    "any claimed status": states.CLAIMS,
    "any ended status": states.TERMINAL,
}

PAGE = """\
# The life of a job

{written_by}

A job has one status. Every change of status is checked against one table, in
`src/headway/domain/states.py`; a move that is not in the table cannot happen. The worker built into
`headway serve` takes a job from QUEUED to RUNNING in one step. A worker that has to set something
up first takes the steps in between.

RUNNING never goes back to QUEUED: a retry is a new job. Only a rewind (`headway jobs retry`)
reopens an ended job, as a new generation.

```mermaid
{diagram}
```

The boxes named "any …" stand for every status of that kind: waiting are QUEUED and WAITING_ON_…,
claimed are CLAIMED, PREPARING and LEASE_PENDING. Moves between waiting statuses are not drawn.

## Statuses

{statuses}

## Moves

{moves}
"""


def page() -> str:
    """The whole page."""
    return PAGE.format(
        written_by=WRITTEN_BY, diagram=_diagram(), statuses=_statuses(), moves=_moves()
    )


def _statuses() -> str:
    return table(
        ("Status", "Kind", "Meaning"),
        [
            (status, "active" if status in states.ACTIVE else "ended", states.MEANING[status])
            for status in JobStatus
        ],
    )


def _moves() -> str:
    return table(
        ("From", "To"),
        [
            (status, ", ".join(target for target in JobStatus if states.allows(status, target)))
            for status in JobStatus
        ],
    )


def _diagram() -> str:
    lines = ["stateDiagram-v2"]
    lines += [f'    state "{family}" as {_short(family)}' for family in FAMILIES]
    lines.append("    [*] --> QUEUED")
    lines += [f"    {source} --> {target}" for source, target in _arrows()]
    return "\n".join(lines)


def _short(family: str) -> str:
    return family.replace(" ", "_")


def _arrows() -> Iterator[tuple[str, JobStatus]]:
    """What a whole family may do is one arrow; moves between waiting statuses are none."""
    for target in JobStatus:
        together = {
            family: members
            for family, members in FAMILIES.items()
            if target not in members and all(states.allows(one, target) for one in members)
        }
        yield from ((_short(family), target) for family in together)
        for source in JobStatus:
            if {source, target} <= states.WAITING or any(
                source in one for one in together.values()
            ):
                continue
            if states.allows(source, target):
                yield source, target
