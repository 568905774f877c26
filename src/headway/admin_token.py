"""`admin.token`: the admin token of a data directory, for its user's commands on this machine."""

import contextlib
import os
import secrets
import stat
from pathlib import Path

from headway.domain import errors
from headway.domain.tokens import PREFIX, Principal, Role, Token, digest, has_our_form
from headway.scheduler.manage import audit, tokens
from headway.scheduler.scheduler import Scheduler
from headway.storage import tokens as stored
from headway.storage.transaction import Transaction

NAME = "admin.token"


def read(data: Path) -> str | None:
    """The token in the file, for those who use it; None if there is none that can be read."""
    try:
        return (data / NAME).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeError):
        return None


def read_own(data: Path) -> str | None:
    """The token, if this user's server wrote it or may adopt it; None if there is no file."""
    path = data / NAME
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            facts, text = os.fstat(file.fileno()), file.read(1000).strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    wrong = _problem(facts, text)
    if wrong is not None:
        raise errors.UnsafeFile(path, *wrong)
    return text


def _problem(facts: os.stat_result, text: str) -> tuple[str, str] | None:
    """What speaks against a file, and what to do about it."""
    mode = stat.S_IMODE(facts.st_mode)
    if facts.st_uid != os.geteuid():
        return "belongs to another user", "remove it; the next start makes a new one"
    if mode & 0o077:
        return (
            f"can be read by other users (mode {mode:04o})",
            "remove it, then the next start makes a new one, or chmod 600 it if it is still secret",
        )
    if not has_our_form(text):
        return "does not hold a token of Headway", "remove it; the next start makes a new one"
    return None


def ensure(data: Path, scheduler: Scheduler) -> None:
    """Put the data directory's token in force; one that is new, revoked or expired is made anew."""

    def work(tx: Transaction) -> None:
        text = read_own(data) or _make(data)
        known = stored.by_digest_in_any_state(tx, digest(text))
        if known is not None and not known.is_good(tx.now):
            text, known = _replace(data), None
        if known is None:
            made = tokens.adopt(scheduler, tx, NAME, Role.ADMIN, text)
            by = Principal(name="headway serve", role=Role.ADMIN)
            audit.note(scheduler, tx, by, "adopt_token", f"token {made.token_id}")

    scheduler.store.write(work)


def rotate(data: Path, scheduler: Scheduler, by: Principal) -> Token:
    """Make the data directory a new token and revoke the one that it had."""

    def work(tx: Transaction) -> Token:
        old = read(data)
        known = None if old is None else stored.by_digest_in_any_state(tx, digest(old))
        if known is not None:
            tokens.revoke(tx, known.token_id)
        made = tokens.adopt(scheduler, tx, NAME, Role.ADMIN, _replace(data))
        audit.note(scheduler, tx, by, "rotate_token", f"token {made.token_id}")
        return made

    return scheduler.store.write(work)


def _make(data: Path) -> str:
    """A new token in a file of its own; of servers that start at once, one makes it for all."""
    draft = _draft(data)
    try:
        with contextlib.suppress(FileExistsError):
            os.link(draft, data / NAME)
    finally:
        draft.unlink()
    return (data / NAME).read_text(encoding="utf-8").strip()


def _replace(data: Path) -> str:
    """A new token in place of the one that is in the file."""
    draft = _draft(data)
    text = draft.read_text(encoding="utf-8").strip()
    draft.replace(data / NAME)
    return text


def _draft(data: Path) -> Path:
    draft = data / f"{NAME}.{os.getpid()}"
    draft.unlink(missing_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"{PREFIX}{secrets.token_urlsafe(tokens.RANDOM_BYTES)}\n")
    return draft
