"""What a command works with: the settings, a client, the screen."""

import re
import sqlite3
from collections.abc import Callable, Iterable
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from headway import protocol
from headway import settings as settings_module
from headway.cli.text.screen import Screen
from headway.client.client import Client, after
from headway.domain import errors
from headway.domain.jobs import Job
from headway.protocol.operation import MOST_ON_A_PAGE, JobRef, Operation, Page
from headway.server_file import ServerFile
from headway.settings import Settings

if TYPE_CHECKING:
    from headway.scheduler.scheduler import Scheduler
    from headway.storage.engine.store import Database

Body = TypeVar("Body")
Query = TypeVar("Query")
Answer = TypeVar("Answer")
Item = TypeVar("Item")

UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
MOST_LOOKED_UP = 20
MAKERS = (
    *(protocol.jobs.create_job, protocol.jobs.create_jobs, protocol.groups.create_group),
    *(protocol.templates.create_template, protocol.schedules.create_schedule),
    *(protocol.webhooks.create_webhook, protocol.tokens.create_token),
    *(protocol.queue.pause_queue, protocol.reservations.create_reservation),
)
"""Operations that begin something, in a new store if need be."""


class Session:
    """One command's connection to the scheduler. Leaving it prints what went wrong."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._given = {name: value for name, value in given.items() if name != "json"}
        self.screen = Screen(json=bool(given.get("json")))
        self._numbers: dict[str, int | None] = {}
        self._makes_store = False
        self._borrowed: str | None = None

    def __enter__(self) -> "Session":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if isinstance(error, errors.HeadwayError):
                self.complain(error)
                raise typer.Exit(error.exit_code)
            if isinstance(error, BrokenPipeError):
                return
            if isinstance(error, sqlite3.Error | OSError):
                self.screen.error(errors.Unavailable(_sentence(error)))
                raise typer.Exit(1)
        finally:
            self._close()

    def complain(self, error: errors.HeadwayError) -> None:
        """Say what went wrong; to a person with the numbers of jobs."""
        if not self.screen.json and not isinstance(error, errors.Unavailable):
            error.detail = self.text(error.detail)
        self.screen.error(error)

    def _close(self) -> None:
        if "client" in self.__dict__:
            self.client.close()
            del self.client
        if self._borrowed is not None:
            from shutil import rmtree

            rmtree(self._borrowed, ignore_errors=True)
            self._borrowed = None

    @cached_property
    def settings(self) -> Settings:
        """The settings in force."""
        return settings_module.load(self._given)

    def settings_here(self, **more: Any) -> Settings:
        """The settings of this very folder for a command that runs jobs, with its own options."""
        return settings_module.load({**self._given, **more}, search=False, code=True)

    @cached_property
    def client(self) -> Client:
        """The way to the scheduler, opened when it is first needed."""
        from headway import wiring

        missing = None if self._makes_store else self.missing_store()
        if missing is not None:
            return self._stand_in(missing)
        app = None if self.settings.url else wiring.load_app(self.settings.app)
        client = wiring.connect(self.settings, app)
        if self._makes_store and app is None and client.transport.is_local:
            self._note_unused_app()
        return client

    def _note_unused_app(self) -> None:
        """Without a server, what an app in the settings file declares does not count here."""
        named = settings_module.code_in_file().get("app")
        if named is not None:
            self.screen.note(
                f"the defaults of {named} are not used: only serve and worker import the app that"
                f" {settings_module.FILE} names; set HEADWAY_APP to use it here"
            )

    def missing_store(self) -> errors.NoStore | None:
        """That there is neither a server nor a database yet, if so."""
        from headway import wiring

        if wiring.server_url(self.settings) is not None:
            return None
        file = wiring.missing_file(self.settings.database_url)
        return None if file is None else errors.NoStore(str(file.parent.absolute()))

    def _stand_in(self, missing: errors.NoStore) -> Client:
        """A temporary empty store for a command that only reads."""
        from tempfile import mkdtemp

        from headway import local_wiring

        self.screen.note(missing.detail)
        self._borrowed = mkdtemp(prefix="headway-")
        return local_wiring.local_client(Settings(data=self._borrowed))

    @property
    def is_local(self) -> bool:
        """Whether there is no server between us and the database."""
        return self.client.transport.is_local

    def open_scheduler(self) -> "Scheduler":
        """The scheduler on the database itself, for what no server does for others."""
        from headway import local_wiring

        self._refuse_without_database()
        self.client = local_wiring.local_client(self.settings)
        return local_wiring.scheduler_of(self.client)

    def open_database(self) -> "Database":
        """The database itself, even if its schema is older; the caller closes it."""
        from headway import local_wiring
        from headway.clock import SystemClock

        self._refuse_without_database()
        return local_wiring.open_database(self.settings.database_url, SystemClock())

    def _refuse_without_database(self) -> None:
        if self.settings.url:
            raise errors.InvalidRequest(
                "url",
                "this works on the database itself; run it where the data is, without --url",
            )
        if (missing := self.missing_store()) is not None:
            raise missing
        running = None if self.settings.db else ServerFile(self.settings.data_dir).running()
        if running is not None and running.elsewhere:
            raise errors.InvalidRequest(
                "db", f"the server of {self.settings.data_dir} has its database elsewhere; name it"
            )

    def send(
        self,
        operation: Operation[Body, Query, Answer],
        *,
        body: Body | None = None,
        query: Query | None = None,
        **path: JobRef,
    ) -> Answer:
        """Ask, and wait for the answer."""
        if operation.method == "PUT" or operation in MAKERS:
            self._makes_store = True
            if self._borrowed is not None:
                self._close()
        return self.client.send(operation, body=body, query=query, **path)

    def some(
        self,
        operation: Operation[Any, Query, Page[Item]],
        most: int,
        *,
        query: Query | None = None,
        **path: JobRef,
    ) -> Page[Item]:
        """Up to so many items of a list, read page by page."""
        found: list[Item] = []
        cursor: str | None = None
        while len(found) < most:
            count = min(MOST_ON_A_PAGE, most - len(found))
            following = after(operation, query, cursor, limit=count)
            page = self.send(operation, query=following, **path)
            found += page.items
            cursor = page.next_cursor
            if cursor is None:
                break
        return Page(items=found, next_cursor=cursor)

    def learn(self, jobs: Iterable[Job]) -> None:
        """Remember the numbers of jobs that were read anyway."""
        self._numbers.update({job.job_id: job.number for job in jobs})

    def number(self, job_id: str) -> str:
        """A job's number, or its id if it is not known."""
        if job_id not in self._numbers and len(self._numbers) < MOST_LOOKED_UP * 10:
            try:
                self._numbers[job_id] = self.send(protocol.jobs.get_job, id=job_id).number
            except errors.HeadwayError:
                self._numbers[job_id] = None
        return str(self._numbers.get(job_id) or job_id)

    def template(self, template_id: str | None) -> str | None:
        """A template's name."""
        return (
            self.send(protocol.templates.get_template, id=template_id).name if template_id else None
        )

    def schedule(self, schedule_id: str | None) -> str | None:
        """A schedule's name, or its id if it has none or is gone."""
        if schedule_id is None:
            return None
        try:
            return self.send(protocol.schedules.get_schedule, id=schedule_id).name or schedule_id
        except errors.NotFound:
            return schedule_id

    def text(self, detail: str) -> str:
        """A sentence in which jobs are named by their numbers."""
        return UUID.sub(lambda match: self.number(match[0]), detail)

    def show(self, value: Any, render: Callable[[], None]) -> None:
        """The value in JSON if that was asked for, otherwise as text."""
        if self.screen.json:
            self.screen.value(value)
        else:
            render()


def _sentence(error: sqlite3.Error | OSError) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return f"{error}; try headway doctor"
