"""A small page to watch the queue in a browser, opened with a one-time code."""

import secrets
import time
from datetime import timedelta
from functools import cache
from importlib import resources

import msgspec

from headway.domain import errors
from headway.domain.answers import DashboardCode
from headway.domain.manage.tokens import Principal, Role, Token
from headway.http.auth.refused_logins import RefusedLogins
from headway.http.exchange import Exchange
from headway.scheduler.manage import audit, tokens
from headway.scheduler.scheduler import Scheduler
from headway.storage.engine.awaiting import awaiting
from headway.storage.engine.transaction import Transaction

CODE_LASTS_S = 600.0
TOKEN_LASTS = timedelta(hours=12)
HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        b"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-cache"),
)
INDEX = ("index.html", b"text/html; charset=utf-8")
PAGES = (
    "jobs",
    "graph",
    "timeline",
    "schedules",
    "groups",
    "workers",
    "limits",
    "webhooks",
    "tokens",
    "audit",
)
"""The first steps of addresses that the page itself resolves."""
FILES = {
    "/": INDEX,
    "/dashboard/page.js": ("page.js", b"text/javascript; charset=utf-8"),
    "/dashboard/style.css": ("style.css", b"text/css; charset=utf-8"),
}


class CodeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A one-time code."""

    code: str


class Codes:
    """Codes that are good once, for a while, and buy the page a token that lasts for hours."""

    def __init__(self, scheduler: Scheduler | None = None) -> None:
        self._scheduler = scheduler
        self._codes: dict[str, float] = {}

    def issue(self) -> str:
        """A new code."""
        now = time.monotonic()
        self._codes = {code: until for code, until in self._codes.items() if until > now}
        code = secrets.token_urlsafe(16)
        self._codes[code] = now + CODE_LASTS_S
        return code

    async def hand_out(self, exchange: Exchange, principal: Principal) -> None:
        """A new code for an admin."""
        await exchange.body(1000)
        if self._scheduler is not None:
            await self._note(self._scheduler, principal)
        made = DashboardCode(
            code=self.issue(),
            expires_in_s=CODE_LASTS_S,
            session_lasts_s=TOKEN_LASTS.total_seconds(),
        )
        await exchange.answer(201, msgspec.json.encode(made))

    async def _note(self, scheduler: Scheduler, principal: Principal) -> None:
        action = "create_dashboard_code"
        await awaiting(
            scheduler.store.write_later(
                lambda tx: audit.note(scheduler, tx, principal, action, "dashboard")
            )
        )

    async def exchange(self, exchange: Exchange, refused: RefusedLogins) -> None:
        """A token for a code."""
        try:
            body = msgspec.json.decode(await exchange.body(1000), type=CodeBody)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise errors.Malformed("send a code") from None
        expires = self._codes.pop(body.code, 0.0)
        if expires < time.monotonic() or self._scheduler is None:
            refused.note(exchange.address)
            raise errors.Unauthorized(
                "this code is used up or too old; for a new link: headway dashboard"
            )
        scheduler = self._scheduler

        def work(tx: Transaction) -> Token:
            token = tokens.create(scheduler, tx, "dashboard", Role.ADMIN, TOKEN_LASTS)
            by = Principal(name="dashboard link", role=Role.ADMIN)
            audit.note(scheduler, tx, by, "create_token", f"token {token.token_id}")
            return token

        made = await awaiting(scheduler.store.write_later(work))
        await exchange.answer(200, msgspec.json.encode({"token": made.token}))


def has_page(path: str) -> bool:
    """Whether an address is one of the page's own."""
    return path in FILES or path.split("/")[1] in PAGES


async def show(exchange: Exchange) -> None:
    """The page, or a file that belongs to it."""
    name, content_type = FILES.get(exchange.path, INDEX)
    await exchange.answer(200, _read(name), content_type, HEADERS)


@cache
def _read(name: str) -> bytes:
    return resources.files("headway.http").joinpath("dashboard_page", name).read_bytes()
