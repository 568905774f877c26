"""The page on errors, from the error tree."""

from docs_tools.tables import WRITTEN_BY, table
from headway.domain import errors
from headway.domain.errors import HeadwayError
from headway.http.problems import InternalError, RequestTimeout
from headway.http.routes import MethodNotAllowed

ELSEWHERE: list[type[HeadwayError]] = [MethodNotAllowed, RequestTimeout, InternalError]

PAGE = """\
# Errors

{written_by}

Every error has a stable code. It is the same over HTTP, on the command line and in Python. Rely on
the code; the message beside it is for people and may change.

Over HTTP an error is `application/problem+json` (RFC 9457): `type`, `title`, `status`, `code`,
`detail`, for a 422 `errors`, with a message for each field, and for some `facts`, the attributes
of the class. `headway --json` prints `code`, `detail` and `errors` on standard error. Python raises
the class, with a server or without one.

To change something only if nobody else has changed it since you read it, send the `ETag` from `GET`
back as `If-Match` with `PATCH` or `DELETE`. This works for jobs, templates and schedules. If it has
changed, nothing happens and the answer is `stale_version`.

{errors}
"""


def page() -> str:
    """The whole page."""
    return PAGE.format(written_by=WRITTEN_BY, errors=_errors())


def _errors() -> str:
    # A test's or a program's own kinds of error may be in the tree too, and are none of ours.
    ours = [kind for kind in errors.all_errors() if kind.__module__.startswith(errors.__name__)]
    return table(
        ("Code", "HTTP", "Exit", "Class", "Meaning"),
        [_row(kind) for kind in [*ours, *ELSEWHERE] if kind is not HeadwayError],
    )


def _row(kind: type[HeadwayError]) -> tuple[object, ...]:
    status = "-" if kind in (errors.JobFailed, errors.InvalidResult) else kind.http_status
    return f"`{kind.code}`", status, kind.exit_code, f"`{kind.__name__}`", kind.__doc__
