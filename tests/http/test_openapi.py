"""The description of the API holds what it says."""

import json
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.servers import Server

from headway.http import openapi
from headway.operations.dispatch import FUNCTIONS

EXAMPLES = 60
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
NOT_HERE = ("/api/direct/{job_type}", "/api/claims", "/api/queue/pause")
"""These wait for something, or make others wait."""


def document() -> Any:
    """The whole document."""
    return json.loads(openapi.document())


def test_every_operation_is_described_and_every_reference_leads_somewhere() -> None:
    described = document()
    for operation, bound in FUNCTIONS.items():
        entry = described["paths"][operation.path][operation.method.lower()]
        assert entry["operationId"] == bound.name
        assert entry["summary"]
    names = [
        entry["operationId"] for path in described["paths"].values() for entry in path.values()
    ]
    assert len(names) == len(set(names))
    schemas = described["components"]["schemas"]
    for reference in _references(described):
        assert reference.removeprefix("#/components/schemas/") in schemas


def test_what_is_no_operation_is_described_and_listed_too(server: Server) -> None:
    paths = document()["paths"]
    events = paths["/api/events"]["get"]
    assert "text/event-stream" in events["responses"]["200"]["content"]
    assert "Last-Event-ID" in [one["name"] for one in events["parameters"]]
    with server.client() as nobody:
        for path in ("/healthz", "/readyz"):
            described = paths[path]["get"]
            assert described["security"] == []
            assert str(nobody.get(path).status_code) in described["responses"]
        assert str(nobody.get("/metrics").status_code) in paths["/metrics"]["get"]["responses"]
        page = nobody.get("/docs").text
    for path, methods in paths.items():
        for method, described in methods.items():
            row = f"<code>{method.upper()}</code></td><td><code>{path}</code>"
            assert row in page
            assert described["summary"] in page


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [one for inner in value.values() for one in _references(inner)]
    if isinstance(value, list):
        return [one for inner in value for one in _references(inner)]
    return []


def test_every_shape_has_a_name_of_its_own_that_a_program_can_use() -> None:
    schemas = document()["components"]["schemas"]
    assert [name for name in schemas if not name.isidentifier()] == []
    titles = [shape.get("title", name) for name, shape in schemas.items()]
    assert len(titles) == len(set(titles))


def test_the_document_is_valid_openapi() -> None:
    schemathesis.openapi.from_dict(document()).validate()


@pytest.mark.timeout(300)
def test_generated_requests_get_the_answers_that_are_described(server: Server) -> None:
    described = document()
    for path in NOT_HERE:
        del described["paths"][path]
    schema = schemathesis.openapi.from_dict(described)
    operations: list[Any] = [
        one.ok()  # type: ignore[union-attr]
        for one in schema.get_all_operations()
    ]
    cases = st.sampled_from(operations).flatmap(lambda operation: operation.as_strategy())
    headers = {"authorization": f"Bearer {server.token}"}

    @seed(1)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases)
    def ask(case: Any) -> None:
        case.call_and_validate(base_url=server.url, headers=headers, checks=CHECKS)

    ask()
    assert server.http.get("/readyz").status_code == 200
