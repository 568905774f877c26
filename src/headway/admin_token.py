"""The admin token of a data directory, put in force and replaced."""

from pathlib import Path

from headway.domain.manage.tokens import Principal, Role, Token, digest
from headway.files import token_file
from headway.scheduler.manage import audit, tokens
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import tokens as stored


def ensure(data: Path, scheduler: Scheduler) -> None:
    """Put the data directory's token in force; one that is new, revoked or expired is made anew."""

    def work(tx: Transaction) -> None:
        text = token_file.read_own(data) or token_file.make(data)
        known = stored.by_digest_in_any_state(tx, digest(text))
        if known is not None and not known.is_good(tx.now):
            text, known = token_file.replace(data), None
        if known is None:
            made = tokens.adopt(scheduler, tx, token_file.NAME, Role.ADMIN, text)
            by = Principal(name="headway serve", role=Role.ADMIN)
            audit.note(scheduler, tx, by, "adopt_token", f"token {made.token_id}")

    scheduler.store.write(work)


def rotate(data: Path, scheduler: Scheduler, by: Principal) -> Token:
    """Make the data directory a new token and revoke the one that it had."""

    def work(tx: Transaction) -> Token:
        old = token_file.read(data)
        known = None if old is None else stored.by_digest_in_any_state(tx, digest(old))
        if known is not None:
            tokens.revoke(tx, known.token_id)
        made = tokens.adopt(scheduler, tx, token_file.NAME, Role.ADMIN, token_file.replace(data))
        audit.note(scheduler, tx, by, "rotate_token", f"token {made.token_id}")
        return made

    return scheduler.store.write(work)
