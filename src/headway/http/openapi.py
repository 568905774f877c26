"""The OpenAPI document, drawn from the table of operations."""

from functools import cache
from typing import Any, NamedTuple

import msgspec

from headway import __version__
from headway.domain.answers import DirectAnswer
from headway.domain.manage.tokens import Role
from headway.domain.requests.job_requests import DirectBody, JobRequest
from headway.http.health import Readiness
from headway.operations.bound import Bound
from headway.operations.dispatch import FUNCTIONS
from headway.protocol.operation import Nothing, Operation

REF = "#/components/schemas/{name}"

PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string"},
        "detail": {"type": "string"},
        "errors": {"type": "object", "additionalProperties": {"type": "string"}},
        "facts": {"type": "object"},
    },
}

REFUSALS = {
    "400": "malformed request",
    "401": "token missing or unknown",
    "403": "not allowed for the token's role",
    "404": "not found",
    "409": "conflict",
    "413": "too large",
    "422": "validation failed",
    "503": "temporarily unavailable",
}


class Route(NamedTuple):
    """One route of the server; without a role it needs no token."""

    method: str
    path: str
    role: Role | None
    entry: dict[str, Any]
    for_workers: bool = False


@cache
def document() -> bytes:
    """The whole document as JSON."""
    routes, components = _routes()
    paths: dict[str, dict[str, Any]] = {}
    for one in routes:
        needs = f"Needs the role `{one.role}`." if one.role else "Needs no token."
        if one.for_workers:
            needs += " With `work`, for jobs that its workers run and for their children."
        entry = {**one.entry, "description": needs, **({} if one.role else {"security": []})}
        paths.setdefault(one.path, {})[one.method.lower()] = entry
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "Headway",
                "version": __version__,
                "license": {"name": "MIT", "identifier": "MIT"},
            },
            "paths": paths,
            "components": {
                "schemas": {**components, "Problem": PROBLEM},
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            },
            "security": [{"token": []}],
        }
    )


def _routes() -> tuple[list[Route], dict[str, Any]]:
    """Everything that is answered, and the shapes that are used."""
    types: list[Any] = [DirectBody, DirectAnswer, Readiness]
    for operation in FUNCTIONS:
        types += [operation.body, operation.answer]
    unique = list({repr(one): one for one in types if one is not Nothing}.values())
    schemas, components = msgspec.json.schema_components(unique, ref_template=REF)
    by_type = {repr(one): schema for one, schema in zip(unique, schemas, strict=True)}
    operations = [
        Route(one.method, one.path, one.role, _entry(bound, by_type), one.for_workers)
        for one, bound in FUNCTIONS.items()
    ]
    return operations + _special(by_type), components


IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "The ETag from your last read; nothing is changed if it no longer matches.",
}
IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "The same as `idempotency_key` in the body.",
}
LAST_EVENT_ID = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "Where a stream goes on; without it, it begins now.",
}
EVENTS = "/api/events"
TEXT = {"schema": {"type": "string"}}
ETAG = {"headers": {"ETag": {"schema": {"type": "string"}}}}


def _entry(bound: Bound, by_type: dict[str, Any]) -> dict[str, Any]:
    operation = bound.operation
    entry: dict[str, Any] = {
        "operationId": bound.name,
        "summary": bound.summary,
        "parameters": [
            *(_in_path(step) for step in operation.parameters),
            *_query(operation.query),
            *([IF_MATCH] if operation.takes_version else []),
            *([IDEMPOTENCY_KEY] if operation.body is JobRequest else []),
            *([LAST_EVENT_ID] if operation.path == EVENTS else []),
        ],
        "responses": _responses(operation, by_type[repr(operation.answer)]),
    }
    if operation.body is not Nothing:
        entry["requestBody"] = _content(by_type[repr(operation.body)])
    return entry


def _in_path(name: str, **schema: Any) -> dict[str, Any]:
    kind = {"type": "string", **(schema or {"minLength": 1})}
    return {"name": name, "in": "path", "required": True, "schema": kind}


def _query(kind: Any) -> list[dict[str, Any]]:
    if kind is Nothing:
        return []
    _, components = msgspec.json.schema_components([kind], ref_template=REF)
    fields = components[kind.__name__]["properties"]
    return [
        {"name": name, "in": "query", "required": False, "schema": _without_null(schema)}
        for name, schema in fields.items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A query parameter that may be left out is not null when it is there."""
    variants = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    rest = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    return {**rest, **variants[0]} if len(variants) == 1 else schema


def _responses(operation: Operation[Any, Any, Any], schema: Any) -> dict[str, Any]:
    tagged = ETAG if operation.shows_version else {}
    content = _content(schema)
    if operation.path == EVENTS:
        content["content"]["text/event-stream"] = TEXT
    good = {
        str(status): {"description": "success", **tagged, **({} if status == 204 else content)}
        for status in (operation.status, *operation.also)
    }
    stale = {"412": "changed since you read it"} if operation.takes_version else {}
    return {**good, **_refusals({**REFUSALS, **stale})}


def _refusals(texts: dict[str, str]) -> dict[str, Any]:
    problem = {"schema": {"$ref": REF.format(name="Problem")}}
    return {
        status: {"description": text, "content": {"application/problem+json": problem}}
        for status, text in texts.items()
    }


def _content(schema: Any) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def _special(by_type: dict[str, Any]) -> list[Route]:
    """What no function is bound to."""
    of_run = _logs("read_log", "Read a run's output")
    of_job = _logs("read_job_log", "Read the output of a job's last run")
    return [
        Route("POST", "/api/direct/{job_type}", Role.SUBMIT, _direct(by_type)),
        Route("GET", "/api/job-runs/{id}/logs/{stream}", Role.READ, of_run),
        Route("GET", "/api/jobs/{id}/logs/{stream}", Role.READ, of_job),
        Route("GET", "/metrics", Role.READ, _metrics()),
        Route("GET", "/healthz", None, _health()),
        Route("GET", "/readyz", None, _ready(by_type)),
    ]


def _metrics() -> dict[str, Any]:
    refused = {status: REFUSALS[status] for status in ("401", "403", "503")}
    return {
        "operationId": "get_metrics",
        "summary": "Get metrics for Prometheus.",
        "responses": {
            "200": {"description": "success", "content": {"text/plain": TEXT}},
            **_refusals(refused),
        },
    }


def _health() -> dict[str, Any]:
    word = {"type": "object", "properties": {"status": {"const": "ok"}}}
    return {
        "operationId": "get_health",
        "summary": "Check that the process answers.",
        "responses": {"200": {"description": "it answers", **_content(word)}},
    }


def _ready(by_type: dict[str, Any]) -> dict[str, Any]:
    report = _content(by_type[repr(Readiness)])
    return {
        "operationId": "get_readiness",
        "summary": "Check that the server is ready for work, and if not, why.",
        "responses": {
            "200": {"description": "ready", **report},
            "503": {"description": "not ready", **report},
        },
    }


def _direct(by_type: dict[str, Any]) -> dict[str, Any]:
    more = {"500": "the handler failed", "504": "no slot became free in time"}
    return {
        "operationId": "run_direct",
        "summary": "Run a handler of the built-in worker in the next slot and return its result.",
        "parameters": [_in_path("job_type")],
        "requestBody": _content(by_type[repr(DirectBody)]),
        "responses": {
            "200": {"description": "success", **_content(by_type[repr(DirectAnswer)])},
            **_refusals({**REFUSALS, **more}),
        },
    }


def _logs(name: str, what: str) -> dict[str, Any]:
    lines = {"type": "integer", "minimum": 0, "maximum": 100000}
    text = {"content": {"text/plain": TEXT}}
    return {
        "operationId": name,
        "summary": f"{what}: all of it, its last lines, or live.",
        "parameters": [
            _in_path("id"),
            _in_path("stream", enum=["stdout", "stderr"]),
            {"name": "follow", "in": "query", "required": False, "schema": {"type": "boolean"}},
            {"name": "tail", "in": "query", "required": False, "schema": lines},
        ],
        "responses": {"200": {"description": "text", **text}, **_refusals(REFUSALS)},
    }


@cache
def page() -> bytes:
    """A plain page that lists everything that is answered."""
    rows = "".join(
        f"<tr><td><code>{one.method}</code></td><td><code>{one.path}</code></td>"
        f"<td>{one.role or '-'}</td><td>{one.entry['summary']}</td></tr>"
        for one in sorted(_routes()[0], key=lambda one: (one.path, one.method))
    )
    return (
        "<!doctype html><meta charset=utf-8><title>Headway API</title>"
        "<style>body{font:15px/1.5 system-ui;max-width:70rem;margin:2rem auto;padding:0 1rem}"
        "td{padding:.2rem .8rem .2rem 0;vertical-align:top}</style>"
        f"<h1>Headway API {__version__}</h1>"
        "<p>The full description is <a href=/openapi.json>openapi.json</a>. "
        "Send <code>Authorization: Bearer &lt;token&gt;</code> with every call. To change "
        "something only if nobody else has changed it since you read it, send its "
        "<code>ETag</code> as <code>If-Match</code>.</p>"
        f"<table>{rows}</table>"
    ).encode()
