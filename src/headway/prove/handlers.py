"""The handlers that are executed while processes are killed."""

import os
import time
from pathlib import Path

import headway
from headway.prove import ledger
from headway.prove.ledger import Ledger

app = headway.App()
_ledgers: dict[int, Ledger] = {}


@app.job
def work(ctx: headway.JobContext, key: str, ms: int = 0, fails: int = 0) -> str:
    """Be executed in a thread; the first attempts fail if that is asked for."""
    return _execute(ctx, key, ms, fails)


@app.job(isolation="process")
def apart(ctx: headway.JobContext, key: str, ms: int = 0, fails: int = 0) -> str:
    """The same in a process of its own."""
    return _execute(ctx, key, ms, fails)


def _execute(ctx: headway.JobContext, key: str, ms: int, fails: int) -> str:
    book = _ledger()
    book.note(ledger.BEGIN, key=key, job_id=ctx.job_id, run_id=ctx.run_id)
    time.sleep(ms / 1000)
    book.note(ledger.END, key=key, job_id=ctx.job_id, run_id=ctx.run_id)
    if ctx.attempt < fails:
        raise RuntimeError(f"attempt {ctx.attempt} of {key} fails on purpose")
    return key


def _ledger() -> Ledger:
    """The ledger of this very process, also after a fork."""
    pid = os.getpid()
    if pid not in _ledgers:
        _ledgers[pid] = Ledger(Path(ledger.FOLDER), "handlers")
    return _ledgers[pid]
