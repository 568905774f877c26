"""The database cannot be used: each error says what to do about it."""

from collections.abc import Sequence

from headway.domain.errors.refused import Unavailable


class ConnectionLost(Unavailable):
    """The database cannot be reached, or the connection was lost."""

    code = "connection_lost"

    def __init__(self, reason: str) -> None:
        super().__init__(f"the database cannot be reached: {reason}")


class DatabaseMoved(Unavailable):
    """The database file was deleted, moved or replaced while it was in use."""

    code = "database_moved"

    def __init__(self, database: str, file: str, *, replaced: bool) -> None:
        happened = "replaced by another file" if replaced else "moved or deleted"
        if file != database:
            otherwise = "stop Headway with SIGTERM, which saves what it has, and start it again"
        elif replaced:
            otherwise = (
                f"to use the file that is there now, stop Headway, remove {database}-wal and"
                f" {database}-shm, and start it again"
            )
        else:
            otherwise = "stop Headway, restore a backup and start it again"
        super().__init__(
            f"{file} was {happened} while it was in use, and what is written now would be lost;"
            f" put the same file back and Headway goes on by itself, or {otherwise}"
        )


class OrphanedLog(Unavailable):
    """The database file is missing or empty, but its write-ahead log is there."""

    code = "orphaned_log"

    def __init__(self, database: str, log: str, *, is_empty: bool = False) -> None:
        state = "empty" if is_empty else "missing"
        super().__init__(
            f"{database} is {state}, but {log} is there and holds its last changes;"
            f" put {database} back, or remove {log} to begin with an empty database"
        )


class DatabaseDamaged(Unavailable):
    """The database file is damaged."""

    code = "database_damaged"

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(f"{file} is damaged ({problem}); {self.advice(file)}")

    @staticmethod
    def advice(file: str) -> str:
        """What to do with a damaged file."""
        return (
            f"stop Headway, put {file} and {file}-wal aside, and restore a backup; without one,"
            " `headway repair --salvage saved.db` saves what can still be read"
            " (docs/operations.md)"
        )


class NetworkFileSystem(Unavailable):
    """The database file is on a network file system."""

    code = "network_file_system"

    def __init__(self, folder: str, kind: str) -> None:
        super().__init__(
            f"{folder} is on a network file system ({kind}), on which SQLite loses and damages"
            " data; keep the data on a local disk (--data DIR), or use PostgreSQL"
            " (--db postgresql://…)"
        )


class OpenedBeforeFork(Unavailable):
    """The store was opened before this process was forked."""

    code = "opened_before_fork"

    def __init__(self) -> None:
        super().__init__(
            "this store was opened before the process was forked, and belongs to the parent;"
            " open one in each process, after the fork: in the child, call app.close(), and the"
            " app opens its own"
        )


class OutdatedSchema(Unavailable):
    """The database was made by an older version of Headway."""

    code = "outdated_schema"

    def __init__(self, pending: Sequence[str]) -> None:
        what = "1 migration is" if len(pending) == 1 else f"{len(pending)} migrations are"
        super().__init__(
            f"the database is older than this version of Headway: {what} pending"
            f" ({', '.join(pending)}); make a backup, then run `headway migrate`, or start"
            " `headway serve`, which migrates first"
        )
