"""Everything that can go wrong, as one tree.

HeadwayError
├── Invalid            what was asked makes no sense            422, exit 2
│   ├── InvalidRequest  InvalidParams  InvalidCron  InvalidTimezone  InvalidDuration
│   ├── InvalidArtifact  OutsideWorkspace  NeverFires  UnknownReference
│   └── DependencyCycle  UnknownLimit  UnknownTemplate  TemplateArchived
├── Malformed          what was sent cannot be read             400, exit 2
├── NotFound           there is no such thing                   404, exit 3
│   └── NotFinished
├── Conflict           it cannot be done in this state          409, exit 4
│   ├── NotActive  AlreadyClaimed  IdempotencyMismatch  NameTaken  SlotReserved  StaleVersion
│   ├── LeaseEnded  RunNotFailed  RewindRefused  IllegalMove  NotWaiting  OtherBand
│   └── NotAwaitingApproval  LogGap
├── Unauthorized       who are you?                             401, exit 1
├── Forbidden          you may not                              403, exit 1
│   └── ForeignLease  ForeignWorker
├── TooLarge           more than the limit                      413, exit 2
├── WaitedTooLong      a direct request found no slot in time   504, exit 1
├── HandlerFailed      a direct request's handler raised        500, exit 1
├── JobFailed          the awaited job did not succeed          (SDK only)
└── Unavailable        the scheduler cannot answer now          503, exit 1
    └── Stopping  UntrustedServer  NeedsServer

Each class has a stable `code` that HTTP, the command line and the SDK share.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar


class HeadwayError(Exception):
    """The root: `code` is stable, `detail` is a sentence a person can act on."""

    code: ClassVar[str] = "error"
    http_status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1

    def __init__(self, detail: str, fields: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.fields = dict(fields or {})


class Invalid(HeadwayError):
    """What was asked makes no sense."""

    code = "invalid_request"
    http_status = 422
    exit_code = 2


class InvalidRequest(Invalid):
    """A field is missing, unknown or of the wrong kind."""

    def __init__(self, field: str, problem: str) -> None:
        where = f"{field}: " if field else ""
        super().__init__(f"{where}{problem}", {field: problem} if field else None)


class InvalidParams(Invalid):
    """The params do not fit the handler that would get them."""

    code = "invalid_params"

    def __init__(self, job_type: str, field: str, problem: str) -> None:
        super().__init__(
            f"params do not fit job type {job_type!r}: {field}: {problem}",
            {f"params.{field}": problem},
        )


class InvalidCron(Invalid):
    """The cron expression cannot be read, or never fires."""

    code = "invalid_cron"

    def __init__(self, expression: str, problem: str) -> None:
        super().__init__(f"cron {expression!r}: {problem}", {"cron": problem})


class InvalidTimezone(Invalid):
    """There is no such IANA timezone."""

    code = "invalid_timezone"

    def __init__(self, name: str) -> None:
        problem = f"unknown timezone {name!r}; use an IANA name such as Europe/Berlin"
        super().__init__(problem, {"timezone": problem})


class InvalidDuration(Invalid):
    """A time span that cannot be read."""

    code = "invalid_duration"

    def __init__(self, text: str) -> None:
        super().__init__(
            f"cannot read {text!r} as a time span; write seconds, or 10s, 15m, 1h30m, 7d"
        )


class InvalidArtifact(Invalid):
    """An artifact's name cannot be read."""

    code = "invalid_artifact"

    def __init__(self, text: str, problem: str) -> None:
        super().__init__(f"artifact {text!r}: {problem}")


class OutsideWorkspace(Invalid):
    """A path would leave the workspace."""

    code = "outside_workspace"

    def __init__(self, path: str) -> None:
        super().__init__(f"path {path!r} is outside the workspace")


class NeverFires(Invalid):
    """A schedule whose time is never to come."""

    code = "never_fires"

    def __init__(self, problem: str) -> None:
        super().__init__(problem)


class UnknownReference(Invalid):
    """A request names something that does not exist."""

    code = "unknown_reference"

    def __init__(self, field: str, kind: str, name: object) -> None:
        problem = f"there is no {kind} {name}"
        super().__init__(f"{field}: {problem}", {field: problem})


class DependencyCycle(Invalid):
    """The jobs of a batch wait for each other."""

    code = "dependency_cycle"

    def __init__(self, path: Sequence[str]) -> None:
        super().__init__(f"dependency cycle: {' -> '.join(path)}", {"after": " -> ".join(path)})


class UnknownLimit(Invalid):
    """A job names a limit that nobody has defined."""

    code = "unknown_limit"

    def __init__(self, name: str) -> None:
        problem = f"limit {name!r} is not defined; set it with: headway limits set {name} SIZE"
        super().__init__(problem, {"limits": problem})


class UnknownTemplate(Invalid):
    """A request names a template that does not exist."""

    code = "unknown_template"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"there is no template {name!r}", {"template": f"there is no template {name!r}"}
        )


class TemplateArchived(Invalid):
    """An archived template makes no jobs."""

    code = "template_archived"

    def __init__(self, name: str) -> None:
        problem = f"template {name!r} is archived and makes no jobs"
        super().__init__(problem, {"template": problem})


class Malformed(HeadwayError):
    """The body is not JSON."""

    code = "malformed"
    http_status = 400
    exit_code = 2


class NotFound(HeadwayError):
    """There is no such thing."""

    code = "not_found"
    http_status = 404
    exit_code = 3

    def __init__(self, kind: str, name: object) -> None:
        super().__init__(f"there is no {kind} {name}")


class NotFinished(NotFound):
    """The job has no result yet."""

    code = "not_finished"

    def __init__(self, job: object, status: str) -> None:
        HeadwayError.__init__(self, f"job {job} has not finished, it is {status}")


class Conflict(HeadwayError):
    """It cannot be done in this state."""

    code = "conflict"
    http_status = 409
    exit_code = 4


class NotActive(Conflict):
    """The job has already ended."""

    code = "not_active"

    def __init__(self, job: object) -> None:
        super().__init__(f"job {job} is not active")


class AlreadyClaimed(Conflict):
    """Only a job that no worker has taken can be changed."""

    code = "already_claimed"

    def __init__(self, job: object, status: str) -> None:
        super().__init__(f"job {job} is {status} and can no longer be changed")


class IllegalMove(Conflict):
    """The table of legal moves has no such move."""

    code = "illegal_move"

    def __init__(self, job: object, status: str, target: str) -> None:
        super().__init__(f"job {job} is {status} and cannot become {target}")


class OtherBand(Conflict):
    """A move stays inside one priority."""

    code = "other_priority"

    def __init__(self, job: object, other: object) -> None:
        super().__init__(
            f"job {job} and job {other} have different priorities; change the priority first"
        )


class IdempotencyMismatch(Conflict):
    """The key was used for something else."""

    code = "idempotency_mismatch"

    def __init__(self, key: str) -> None:
        super().__init__(f"idempotency key {key!r} was used before with a different request")


class NameTaken(Conflict):
    """The name is in use."""

    code = "name_taken"

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"there is already a {kind} named {name!r}")


class SlotReserved(Conflict):
    """Somebody holds the next slot."""

    code = "slot_reserved"

    def __init__(self, holder: str) -> None:
        super().__init__(f"the next slot is reserved by {holder}")


class StaleVersion(Conflict):
    """The thing changed since it was read."""

    code = "stale_version"
    http_status = 412

    def __init__(self, kind: str, name: object) -> None:
        super().__init__(f"{kind} {name} changed since you read it; read it again")


class LeaseEnded(Conflict):
    """The lease is no longer active: the fence holds."""

    code = "lease_ended"

    def __init__(self, lease_id: str, state: str) -> None:
        super().__init__(f"lease {lease_id} is {state}, nothing was changed")


class RunNotFailed(Conflict):
    """Only a failed run can be tried again."""

    code = "run_not_failed"

    def __init__(self, run_id: str, status: str) -> None:
        super().__init__(f"run {run_id} is {status}; only a FAILED run can be retried")


class RewindRefused(Conflict):
    """The retry set cannot be rewound as it is."""

    code = "rewind_refused"


class NotAwaitingApproval(Conflict):
    """Nobody has to approve this job, or somebody already did."""

    code = "not_awaiting_approval"

    def __init__(self, job: object, status: str) -> None:
        super().__init__(f"job {job} is not awaiting approval, it is {status}")


class LogGap(Conflict):
    """A piece of output does not follow what is there."""

    code = "log_gap"

    def __init__(self, offset: int, size: int) -> None:
        super().__init__(
            f"a piece at {offset} would leave a gap: send again from {size}, where the log ends"
        )
        self.size = size


class Unauthorized(HeadwayError):
    """No token, or one nobody knows."""

    code = "unauthorized"
    http_status = 401


class Forbidden(HeadwayError):
    """The token's role does not allow this."""

    code = "forbidden"
    http_status = 403


class ForeignLease(Forbidden):
    """The lease belongs to another worker."""

    code = "foreign_lease"

    def __init__(self, lease_id: str) -> None:
        super().__init__(f"lease {lease_id} belongs to another worker")


class ForeignWorker(Forbidden):
    """The worker_id belongs to another token."""

    code = "foreign_worker"

    def __init__(self, worker_id: str) -> None:
        super().__init__(
            f"worker_id {worker_id!r} was first used with another token; "
            "use that token, or choose a worker_id of your own"
        )


class TooLarge(HeadwayError):
    """More than the limit allows."""

    code = "too_large"
    http_status = 413
    exit_code = 2

    def __init__(self, what: str, size: int, limit: int) -> None:
        super().__init__(f"{what} has {size} bytes, the limit is {limit}")


class WaitedTooLong(HeadwayError):
    """A direct request found no slot in time."""

    code = "waited_too_long"
    http_status = 504

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no slot became free within {seconds:g} s; the request was not executed")


class HandlerFailed(HeadwayError):
    """The handler of a direct request raised."""

    code = "handler_failed"


class Unavailable(HeadwayError):
    """The scheduler cannot answer now; trying again later may work."""

    code = "unavailable"
    http_status = 503


class Stopping(Unavailable):
    """The server is on its way out."""

    code = "stopping"

    def __init__(self) -> None:
        super().__init__("the server is stopping")


class UntrustedServer(Unavailable):
    """The server's certificate could not be checked."""

    code = "untrusted_server"


class NeedsServer(Unavailable):
    """Only a running server can do this, and there is none."""

    code = "needs_server"

    def __init__(self) -> None:
        super().__init__(
            "a direct request runs in a server's next slot, and no server was found here; "
            "start one with headway serve --app MODULE:APP, or name one with --url or HEADWAY_URL"
        )


class JobFailed(HeadwayError):
    """The job whose result was asked for did not succeed."""

    code = "job_failed"

    def __init__(self, job: object, status: str, error: str | None) -> None:
        super().__init__(f"job {job} ended {status}" + (f": {error}" if error else ""))
        self.status = status
        self.error = error


def all_errors() -> list[type[HeadwayError]]:
    """Every kind of error, the tree read from the top."""
    found: list[type[HeadwayError]] = []
    waiting: list[type[HeadwayError]] = [HeadwayError]
    while waiting:
        kind = waiting.pop(0)
        found.append(kind)
        waiting = [*kind.__subclasses__(), *waiting]
    return found


def revive(
    code: str, detail: str, http_status: int, fields: Mapping[str, str] | None = None
) -> HeadwayError:
    """An error that was described by a server, as the class it had there."""
    for kind in all_errors():
        if kind.code == code:
            error = kind.__new__(kind)
            HeadwayError.__init__(error, detail, fields)
            return error
    error = HeadwayError(detail, fields)
    error.code = code  # type: ignore[misc]
    error.http_status = http_status  # type: ignore[misc]
    return error
