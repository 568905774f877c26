"""Errors on the wire: RFC 9457 problem details with a stable code."""

from http import HTTPStatus
from typing import Any

import msgspec

from headway.domain.errors import HeadwayError

CONTENT_TYPE = b"application/problem+json"


def describe(error: HeadwayError) -> dict[str, Any]:
    """An error as problem details."""
    problem: dict[str, Any] = {
        "type": f"urn:headway:error:{error.code}",
        "title": error.code.replace("_", " "),
        "status": error.http_status,
        "code": error.code,
        "detail": error.detail,
    }
    if error.fields:
        problem["errors"] = error.fields
    if error.facts:
        problem["facts"] = {name: getattr(error, name) for name in error.facts}
    return problem


def encode(error: HeadwayError) -> bytes:
    """The body of an error's answer."""
    return msgspec.json.encode(describe(error))


def last_words(error: HeadwayError) -> bytes:
    """An error as a whole response, after which the connection is closed."""
    status, body = HTTPStatus(error.http_status), encode(error)
    return (
        b"HTTP/1.1 %d %s\r\ncontent-type: %s\r\ncontent-length: %d\r\n"
        b"connection: close\r\n\r\n%s"
        % (status, status.phrase.encode(), CONTENT_TYPE, len(body), body)
    )


class InternalError(HeadwayError):
    """Something went wrong in the server; its log has the details."""

    code = "internal_error"
    http_status = 500

    def __init__(self) -> None:
        super().__init__("something went wrong in the server; its log has the details")


class RequestTimeout(HeadwayError):
    """The request did not come in time."""

    code = "request_timeout"
    http_status = 408


class HeadersTooLarge(HeadwayError):
    """The headers of the request are too long."""

    code = "headers_too_large"
    http_status = 431

    def __init__(self, limit: int) -> None:
        super().__init__(f"a request may have {limit} bytes before its body")
