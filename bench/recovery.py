"""Recovery: what a crash with many running jobs and a long queue costs at the next start."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from bench.bed import bed
from bench.drain import BATCH, fill
from bench.handlers import app
from headway import local_wiring, worker_wiring
from headway.domain.workers import Abilities
from headway.scheduler.claim import dispatch
from headway.scheduler.claim.dispatch import ClaimRequest
from headway.scheduler.scheduler import Scheduler
from headway.scheduler.upkeep import recovery
from headway.settings import Settings
from headway.storage.manage import workers

DEAD = "gone"


def recover(running: int, queued: int, db: str | None = None) -> tuple[float, float, int]:
    """Seconds and peak megabytes of the pass in a fresh process, and how many jobs it mended."""
    with bed(db) as scheduler:
        fill(scheduler, running + queued)
        _start(scheduler, running)
        command = [sys.executable, "-m", "bench.recovery", str(scheduler.data), db or ""]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, peak_mb, mended = done.stdout.split()
    return float(seconds), float(peak_mb), int(mended)


def _start(scheduler: Scheduler, count: int) -> None:
    """Jobs that a built-in worker runs whose process is not there any more."""
    scheduler.store.write(
        lambda tx: workers.see(
            tx,
            worker_id=DEAD,
            host=os.uname().nodename,
            pid=1,
            process_started="another boot/0",
            built_in=True,
            abilities=Abilities(),
            slots=count,
        )
    )
    for begun in range(0, count, BATCH // 5):
        _claim(scheduler, min(BATCH // 5, count - begun))


def _claim(scheduler: Scheduler, count: int) -> None:
    request = ClaimRequest(worker_id=DEAD, abilities=Abilities(), max_jobs=count)
    scheduler.store.write(lambda tx: dispatch.claim(scheduler, tx, request))


def main(data: str, db: str) -> None:
    """One pass, as a server does it at its start."""
    settings = Settings(data=data, db=db or None, workspace=data)
    store = local_wiring.open_store(settings)
    scheduler = local_wiring.build_scheduler(settings, store, app)
    began = time.perf_counter()
    report = recovery.recover(
        scheduler, local_wiring.is_alive, lambda runs: worker_wiring.end_orphans(Path(data), runs)
    )
    seconds = time.perf_counter() - began
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(seconds, peak_mb, report.running_jobs_recovered)
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
