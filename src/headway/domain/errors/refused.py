"""Not found, not allowed, not now, or failed in transit."""

from typing import ClassVar

from headway.domain.errors.root import HeadwayError


class NotFound(HeadwayError):
    """It does not exist."""

    code = "not_found"
    http_status = 404
    exit_code = 3

    def __init__(self, kind: str, name: object) -> None:
        super().__init__(f"there is no {kind} {name}")


class NotFinished(NotFound):
    """The job has no result yet."""

    code = "not_finished"

    def __init__(self, job: object, status: str, retry: tuple[object, str] | None = None) -> None:
        if retry is None:
            HeadwayError.__init__(self, f"job {job} has not finished; it is {status}")
        else:
            again, standing = retry
            HeadwayError.__init__(self, f"job {job} {status}; its retry {again} is {standing}")


class NotClaimed(NotFound):
    """The worker has no claim on such a job; whether there is one is not said."""

    code = "not_claimed"

    def __init__(self, worker_id: str, job: object) -> None:
        HeadwayError.__init__(self, f"worker {worker_id} has no claim on a job {job}")


class NoStore(NotFound):
    """There is no store in this folder yet."""

    code = "no_store"

    def __init__(self, folder: str) -> None:
        HeadwayError.__init__(
            self,
            f"there is no store in {folder}; `headway serve` makes one,"
            " and --data DIR names one that is elsewhere",
        )


class Unauthorized(HeadwayError):
    """The token is missing or unknown."""

    code = "unauthorized"
    http_status = 401


class TokenRefused(Unauthorized):
    """The token is unknown, was revoked, or has expired."""

    code = "token_refused"

    def __init__(self) -> None:
        super().__init__("this token is unknown, was revoked, or has expired")


class Forbidden(HeadwayError):
    """The token's role does not allow this."""

    code = "forbidden"
    http_status = 403


class CommandsOff(Forbidden):
    """Commands are turned off on this server."""

    code = "commands_off"

    def __init__(self) -> None:
        super().__init__("this server runs no commands: its setting allow_commands is false")


class ForeignLease(Forbidden):
    """The lease belongs to another worker."""

    code = "foreign_lease"

    def __init__(self, lease_id: str) -> None:
        super().__init__(f"lease {lease_id} belongs to another worker")


class UnsafeFile(HeadwayError):
    """A file or folder with secrets is not for its owner alone."""

    code = "unsafe_file"
    facts = ("problem", "mend")
    exit_code = 2

    def __init__(self, path: object, problem: str, mend: str) -> None:
        super().__init__(f"{path} {problem}; {mend}")
        self.problem = problem
        self.mend = mend


class WaitedTooLong(HeadwayError):
    """A direct request found no slot in time."""

    code = "waited_too_long"
    http_status = 504

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no slot became free within {seconds:g} s; the request was not executed")


class HandlerFailed(HeadwayError):
    """The handler of a direct request raised an exception."""

    code = "handler_failed"


class Unavailable(HeadwayError):
    """The scheduler cannot answer now; try again later."""

    code = "unavailable"
    http_status = 503


class Busy(Unavailable):
    """The server has as many requests of this kind as it takes; try again in a few seconds."""

    code = "busy"
    retry_after_s: ClassVar[int] = 5

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}; try again in {self.retry_after_s} s")


class TokensUnreadable(Unavailable):
    """The database cannot be read, so that no token can be checked."""

    code = "tokens_unreadable"

    def __init__(self) -> None:
        super().__init__(
            "tokens cannot be checked, because the database cannot be read; the log says why"
        )


class Stopping(Unavailable):
    """The server is shutting down."""

    code = "stopping"

    def __init__(self) -> None:
        super().__init__("the server is stopping")


class OutputElsewhere(Unavailable):
    """The output of the run is in the data directory of another server."""

    code = "output_elsewhere"

    def __init__(self, run_id: str, place: str, why: str) -> None:
        super().__init__(f"the output of run {run_id} is on {place}: {why}")


class UntrustedServer(Unavailable):
    """The server's certificate could not be verified."""

    code = "untrusted_server"


class JobFailed(HeadwayError):
    """The job whose result was requested did not succeed."""

    code = "job_failed"
    facts = ("status", "error")

    def __init__(self, job: object, status: str, error: str | None) -> None:
        super().__init__(f"job {job} ended {status}" + (f": {error}" if error else ""))
        self.status = status
        self.error = error


class SignalTimeout(HeadwayError):
    """The signal that a handler waited for did not come in time."""

    code = "signal_timeout"

    def __init__(self, name: str) -> None:
        super().__init__(f"signal {name!r} did not come in time")


class InvalidResult(HeadwayError):
    """The job succeeded, but its result is not of the type that its handler declares."""

    code = "invalid_result"

    def __init__(self, job_type: str, problem: str) -> None:
        super().__init__(f"the result does not fit what handler {job_type!r} returns: {problem}")


class ForeignWorker(Forbidden):
    """The worker_id belongs to another token."""

    code = "foreign_worker"

    def __init__(self, worker_id: str) -> None:
        super().__init__(
            f"worker_id {worker_id!r} was first used with another token; "
            "use that token, or choose another worker_id"
        )


class TooManyWorkers(Forbidden):
    """The token has as many workers as one token may have."""

    code = "too_many_workers"

    def __init__(self, most: int) -> None:
        super().__init__(
            f"this token has {most} workers, the most that one token may have;"
            " sign off those that are gone, or use another token"
        )


class NeedsServer(Unavailable):
    """This needs a running server, and none was found."""

    code = "needs_server"

    def __init__(self, what: str = "a direct request runs in a server's next slot") -> None:
        super().__init__(
            f"{what}, and no server was found here; "
            "start one with headway serve, or name one with --url or HEADWAY_URL"
        )
