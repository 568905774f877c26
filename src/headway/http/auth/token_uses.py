"""When tokens were last used: noted about once a minute, however often they are."""

import contextlib
import time
from concurrent.futures import Future

from headway.domain.manage.tokens import Principal
from headway.scheduler.scheduler import Scheduler
from headway.storage.manage import tokens

EVERY_S = 60.0
MOST_REMEMBERED = 10_000


class TokenUses:
    """Which uses were noted lately."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._store = scheduler.store
        self._note_again_at: dict[str, float] = {}

    def note(self, principal: Principal) -> None:
        """A token was used; nothing waits for the note, and one that fails is made later."""
        token_id, now = principal.token_id, time.monotonic()
        if token_id is None or now < self._note_again_at.get(token_id, 0.0):
            return
        if len(self._note_again_at) > MOST_REMEMBERED:
            self._note_again_at.clear()
        self._note_again_at[token_id] = now + EVERY_S
        with contextlib.suppress(Exception):
            done = self._store.write_beside_later(lambda tx: tokens.note_use(tx, token_id))
            done.add_done_callback(_read)


def _read(done: "Future[None]") -> None:
    with contextlib.suppress(BaseException):
        done.result()
