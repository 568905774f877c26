"""One run from its beginning to its report."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from headway.domain import errors
from headway.prove import ledger, requests
from headway.prove.asking import NoAnswer, Server, Servers, Stopped
from headway.prove.chaos import Chaos, Plan
from headway.prove.fleet import Fleet, wait_until
from headway.prove.hook import Hook
from headway.prove.ledger import FOLDER, Ledgers
from headway.prove.oracle import findings, history, judge, outcome, report
from headway.prove.oracle.findings import Finding
from headway.prove.oracle.outcome import Outcome
from headway.prove.oracle.report import Report
from headway.prove.places import Place, environment

STARTS_WITHIN_S = 60.0
ENDS_WITHIN_S = 90.0
READ_WITHIN_S = 120.0
EVERY_S = 1.0

Tell = Callable[[float, str], None]


def prove(place: Place, plan: Plan, tell: Tell) -> Report:
    """Run it; Ctrl-C ends it early, and the report says what was seen until then."""
    began = time.monotonic()
    fleet = Fleet(place, plan.seed)
    chaos = Chaos(fleet, plan, tell)
    hook = Hook(fleet.book)
    try:
        interrupted = False
        schedule = _set_up(fleet, hook)
        try:
            chaos.run()
            tell(1.0, "waiting until every job has ended")
        except KeyboardInterrupt:
            interrupted = True
        chaos.restore()
        kept, found = _settle(fleet, schedule, interrupted=interrupted)
        found = [*chaos.found, *chaos.images.found, *found, *_verified(place)]
        told = history.read(Ledgers(place.folder / FOLDER).look())
        found += judge.judge(told, kept, all_ended=not interrupted)
    finally:
        fleet.close()
        chaos.images.close()
        hook.close()
    run = report.Run(
        interrupted=interrupted,
        store=place.name,
        seed=plan.seed,
        control=plan.control,
        duration_s=round(time.monotonic() - began, 1),
        kills=chaos.kills,
        restarts=sum(max(0, one.starts - 1) for one in fleet.members),
        images=chaos.images.made,
        kept=place.where if found and plan.control is None else None,
    )
    return report.build(run, told, kept, found)


def _set_up(fleet: Fleet, hook: Hook) -> dict[str, Any]:
    """Start everything, and a schedule that fires each second; returns the schedule."""
    first = fleet.servers[0]
    first.start()
    server = Server(fleet.urls[0], fleet.token)
    if not wait_until(lambda: fleet.token.exists() and _is_ready(server), STARTS_WITHIN_S):
        raise errors.Unavailable(f"the server did not start: {first.last_words()}")
    template = {
        "name": requests.FIRE,
        "job_type": "work",
        "params": {"key": requests.FIRE},
        "retry_policy": requests.RETRIED,
    }
    _made(server.ask("POST", "/api/job-templates", template))
    body = {"template": requests.FIRE, "name": requests.FIRE, "every": EVERY_S, "catchup": "all"}
    schedule = _made(server.ask("POST", "/api/schedules", body))
    limit = {"size": requests.MOST_AT_ONCE}
    _made(server.ask("PUT", f"/api/limits/{requests.LIMIT}", limit))
    events = ["job.run.completed", "job.run.failed"]
    _made(server.ask("POST", "/api/webhooks", {"url": hook.url, "events": events}))
    server.close()
    for member in fleet.members[1:]:
        member.start()
    return schedule


def _is_ready(server: Server) -> bool:
    try:
        return server.ask("GET", "/readyz")[0] == 200
    except NoAnswer:
        return False


def _made(answer: tuple[int, Any]) -> dict[str, Any]:
    status, content = answer
    if status not in (200, 201):
        raise errors.Unavailable(f"the run could not be prepared: {status} {content}")
    return dict(content)


def _settle(
    fleet: Fleet, schedule: dict[str, Any], *, interrupted: bool
) -> tuple[Outcome, list[Finding]]:
    """Submit nothing more, let everything end, read the store and stop all processes."""
    failed = [*fleet.stop(fleet.clients), *_not_back(fleet)]
    until = time.monotonic() + ENDS_WITHIN_S + READ_WITHIN_S
    servers = Servers(fleet.urls, fleet.token, lambda: time.monotonic() < until)
    try:
        path = f"/api/schedules/{schedule['schedule_id']}"
        if interrupted:
            failed += fleet.stop(fleet.workers)
        else:
            _let_end(fleet, servers, path)
        kept = outcome.read(servers, servers.get(path))
    except Stopped:
        raise errors.Unavailable(
            f"no server answers any more: {fleet.servers[0].last_words()}"
        ) from None
    failed += fleet.stop([*fleet.workers, *fleet.servers])
    return kept, [Finding(findings.PROCESSES, one) for one in failed]


def _not_back(fleet: Fleet) -> list[str]:
    """Servers that are not ready again in time after their last start."""
    return [
        f"{member.name} was not ready within {STARTS_WITHIN_S:g} s: {member.last_words()}"
        for member, url in zip(fleet.servers, fleet.urls, strict=True)
        if not wait_until(partial(_is_ready, Server(url, fleet.token)), STARTS_WITHIN_S)
    ]


def _let_end(fleet: Fleet, servers: Servers, schedule: str) -> None:
    """Wait until the schedule is up to date, end it, and wait until no job is active."""
    _approve_the_rest(fleet, servers)
    reached = servers.get(schedule)["next_trigger_at"]
    wait_until(lambda: servers.get(schedule)["next_trigger_at"] > reached, ENDS_WITHIN_S)
    servers.ask("PATCH", schedule, {"enabled": False})
    wait_until(lambda: not servers.get("/api/jobs?status=active&limit=1")["items"], ENDS_WITHIN_S)


def _approve_the_rest(fleet: Fleet, servers: Servers) -> None:
    """Jobs whose clients were killed before they approved them."""
    for job in list(servers.pages("/api/jobs?status=WAITING_ON_APPROVAL")):
        fleet.book.note(ledger.APPROVES, key=job["params"]["key"])
        servers.ask("POST", f"/api/jobs/{job['job_id']}/approve", {})


def _verified(place: Place) -> list[Finding]:
    """What `headway verify` finds wrong in the end."""
    done = subprocess.run(
        [sys.executable, "-m", "headway.prove.child", "checker"],
        cwd=place.folder,
        env=environment(place),
        input="data\n",
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [Finding(findings.DAMAGE, one) for one in json.loads(done.stdout)]
