"""The request is invalid, cannot be read, or is too large."""

from collections.abc import Sequence

from headway.domain.errors import validation
from headway.domain.errors.root import HeadwayError


class Invalid(HeadwayError):
    """The request is invalid."""

    code = "invalid"
    http_status = 422
    exit_code = 2


class InvalidRequest(Invalid):
    """A field is missing, unknown or of the wrong type."""

    code = "invalid_request"

    def __init__(self, field: str, problem: str) -> None:
        where = f"{field}: " if field else ""
        super().__init__(f"{where}{problem}", {field: problem} if field else None)


class InvalidParams(Invalid):
    """The params do not fit the handler."""

    code = "invalid_params"
    facts = ("expects",)

    def __init__(
        self, job_type: str, field: str, problem: str, *, expects: str | None = None
    ) -> None:
        super().__init__(
            f"params do not fit job type {job_type!r}: {field}: {problem}",
            {f"params.{field}": problem},
        )
        self.expects = expects


class InvalidCron(Invalid):
    """The cron expression is invalid, or would never fire."""

    code = "invalid_cron"

    def __init__(self, expression: str, problem: str) -> None:
        super().__init__(f"cron {expression!r}: {problem}", {"cron": problem})


class InvalidTimezone(Invalid):
    """The timezone is not a known IANA name."""

    code = "invalid_timezone"

    def __init__(self, name: str) -> None:
        problem = f"unknown timezone {name!r}; use an IANA name such as Europe/Berlin"
        super().__init__(problem, {"timezone": problem})


class InvalidDuration(Invalid):
    """The time span cannot be read."""

    code = "invalid_duration"

    def __init__(self, text: str) -> None:
        super().__init__(
            f"cannot read {text!r} as a time span; write seconds, or 10s, 15m, 1h30m, 7d"
        )


class InvalidArtifact(Invalid):
    """The artifact name is invalid."""

    code = "invalid_artifact"

    def __init__(self, text: str, problem: str) -> None:
        super().__init__(f"artifact {text!r}: {problem}")


class OutsideWorkspace(Invalid):
    """A path leads out of the workspace."""

    code = "outside_workspace"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"path {path!r} is outside the workspace: the folder that the server was started"
            " in, or its setting `workspace`"
        )


class NeverFires(Invalid):
    """The schedule would never fire."""

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
    """Jobs depend on each other in a cycle."""

    code = "dependency_cycle"

    def __init__(self, path: Sequence[str]) -> None:
        super().__init__(f"dependency cycle: {' -> '.join(path)}", {"after": " -> ".join(path)})


class UnknownLimit(Invalid):
    """A job names a limit that is not defined."""

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
    """An archived template creates no jobs."""

    code = "template_archived"

    def __init__(self, name: str) -> None:
        problem = f"template {name!r} is archived and creates no jobs"
        super().__init__(problem, {"template": problem})


class Malformed(HeadwayError):
    """The request is not valid HTTP, or its body is not valid JSON."""

    code = "malformed"
    http_status = 400
    exit_code = 2


class TooLarge(HeadwayError):
    """It is larger than the limit allows."""

    code = "too_large"
    http_status = 413
    exit_code = 2

    def __init__(self, what: str, size: int, limit: int) -> None:
        super().__init__(f"{what} has {size} bytes; the limit is {limit}")


def from_validation(error: Exception, within: str = "") -> InvalidRequest:
    """A msgspec ValidationError of a value that was at this path of a request."""
    problem = validation.read(error, within)
    return InvalidRequest(problem.path or problem.named, problem.text)
