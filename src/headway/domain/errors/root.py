"""What every error has."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self


class HeadwayError(Exception):
    """The root: `code` is stable, `detail` is a sentence a person can act on."""

    code: ClassVar[str] = "error"
    http_status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1
    facts: ClassVar[tuple[str, ...]] = ()
    """Names of attributes that are sent along over HTTP."""

    def __init__(self, detail: str, fields: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.fields = dict(fields or {})

    def at(self, field: str) -> Self:
        """The same error, for the field that was found wrong."""
        self.fields = {field: self.detail}
        return self

    def of_job(self, place: int, ref: str | None) -> None:
        """From here on the error says which job of a batch it is about."""
        job = f"jobs[{place}]"
        found = {f"{job}.{field}": problem for field, problem in self.fields.items()}
        self.fields = found or {job: self.detail}
        self.detail = f"{job}{f' (ref {ref!r})' if ref else ''}: {self.detail}"
        self.args = (self.detail,)


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
    code: str,
    detail: str,
    http_status: int,
    fields: Mapping[str, str] | None = None,
    facts: Mapping[str, Any] | None = None,
) -> HeadwayError:
    """An error that was described by a server, as the class it had there."""
    for kind in all_errors():
        if kind.code == code:
            error = kind.__new__(kind)
            HeadwayError.__init__(error, detail, fields)
            vars(error).update({name: (facts or {}).get(name) for name in kind.facts})
            return error
    error = HeadwayError(detail, fields)
    error.code = code  # type: ignore[misc]
    error.http_status = http_status  # type: ignore[misc]
    return error
