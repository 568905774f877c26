"""The report: what was done, and what was found."""

from collections import Counter

import msgspec

from headway.prove import requests
from headway.prove.oracle import executions, findings
from headway.prove.oracle.findings import Finding
from headway.prove.oracle.history import History
from headway.prove.oracle.outcome import Outcome

NOT_SHOWN = (
    "A killed process is not a power cut: the operating system keeps what was written. A disk that"
    " reports data as written too early is found only by cutting the power of the real machine."
)
MOST_SHOWN = 20


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """One run of `headway prove`."""

    passed: bool
    interrupted: bool
    store: str
    seed: int
    control: str | None
    duration_s: float
    kills: dict[str, int]
    restarts: int
    jobs: int
    acknowledged: int
    executions: int
    repeated: int
    graphs: int
    groups: int
    retries: int
    fires: int
    images: int
    found: dict[str, int]
    findings: list[Finding]
    not_shown: str = NOT_SHOWN
    kept: str | None = None


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """How a run went, apart from what the ledgers and the store say."""

    interrupted: bool
    store: str
    seed: int
    control: str | None
    duration_s: float
    kills: dict[str, int]
    restarts: int
    images: int
    kept: str | None


def build(run: Run, history: History, outcome: Outcome, found: list[Finding]) -> Report:
    """The report of a run."""
    counts = Counter(one.kind for one in found)
    graphs = [key for key in history.jobs if requests.kind_of(key) == requests.GRAPH]
    return Report(
        passed=not found,
        **msgspec.structs.asdict(run),
        jobs=len(outcome.jobs),
        acknowledged=len(history.jobs) + len(history.finished) + len(history.seen),
        executions=len(history.executions),
        repeated=executions.repeated(history, outcome),
        graphs=len(graphs) // 4,
        groups=len(history.groups),
        retries=sum(job.retry_of is not None for job in outcome.jobs),
        fires=len({job.fire_time for job in outcome.jobs if job.fire_time}),
        found={kind: counts[kind] for kind in findings.KINDS},
        findings=found,
    )


def lines(report: Report) -> list[str]:
    """The report as a table that a person can show."""
    kills = ", ".join(f"{count} {kind}s" for kind, count in report.kills.items())
    rows = {
        "store": report.store,
        "seed": str(report.seed),
        "duration": f"{report.duration_s:.0f} s",
        "SIGKILLs": f"{sum(report.kills.values())} ({kills})",
        "restarts": str(report.restarts),
        "jobs": f"{report.jobs:,} ({report.retries:,} retries, {report.graphs} graphs,"
        f" {report.groups} groups)",
        "acknowledged": f"{report.acknowledged:,} submits, finishes and ends",
        "executions": f"{report.executions:,} ({report.repeated} repeated after a kill)",
        "schedule fires": f"{report.fires} exactly once"
        if not report.found[findings.FIRES]
        else f"{report.fires}, {report.found[findings.FIRES]} wrong",
        "power-cut images": str(report.images),
        **{_LABELS[kind]: str(report.found[kind]) for kind in _LABELS},
    }
    width = max(map(len, rows))
    table = [f"{name:<{width}}  {value}" for name, value in rows.items()]
    shown = [f"{one.kind}: {one.detail}" for one in report.findings[:MOST_SHOWN]]
    more = len(report.findings) - len(shown)
    return [
        *table,
        "",
        *shown,
        *([f"and {more} more"] if more else []),
        _verdict(report),
        *([f"Everything is kept in {report.kept}"] if report.kept else []),
        report.not_shown,
    ]


_LABELS = {
    findings.LOST: "lost",
    findings.DOUBLED: "doubled",
    findings.ORDER: "out of order",
    findings.RETRIES: "wrong retries",
    findings.GRAPHS: "wrong graphs",
    findings.GROUPS: "wrong groups",
    findings.GATES: "gates passed",
    findings.STUCK: "stuck",
    findings.DAMAGE: "found by verify",
    findings.PROCESSES: "processes failed",
}


def _verdict(report: Report) -> str:
    if report.control is not None:
        noticed = "was NOT noticed" if report.passed else "was noticed"
        return f"The planted fault ({report.control}) {noticed}."
    begun = "Interrupted. Up to here: " if report.interrupted else ""
    return begun + ("nothing was wrong." if report.passed else "something is wrong.")
