"""The types of jobs that can be submitted, and what a form for their params needs to know."""

import dataclasses
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from tests.helpers import ask
from tests.scheduler.asking import register

from headway.domain.answers import JobType
from headway.domain.handlers import Handler
from headway.operations.work import workers
from headway.scheduler.scheduler import Scheduler


@dataclass
class Params:
    """A param that has the name of what handlers call their own."""

    x: int


def draw(
    ctx: Any,
    scene: str,
    frames: int = 40,
    quality: Literal["draft", "final"] = "draft",
    budget: Decimal = Decimal("1.5"),
    folder: Path = Path("/tmp"),
    more: Params | None = None,
) -> None:
    """Draw a scene.

    What follows the first paragraph is not shown.
    """


def known(scheduler: Scheduler) -> dict[str, JobType]:
    """What is answered, by name."""
    return {one.job_type: one for one in ask(workers.list_job_types, scheduler).items}


def test_a_type_that_the_server_knows_has_a_form_with_the_defaults_of_the_function(
    scheduler: Scheduler,
) -> None:
    scheduler = dataclasses.replace(scheduler, handlers={"draw": Handler.of(draw)})
    found = known(scheduler)["draw"]
    assert found.description == "Draw a scene."
    assert found.form is not None
    assert found.form["required"] == ["scene"]
    properties = found.form["properties"]
    assert properties["scene"] == {"type": "string"}
    assert properties["frames"] == {"type": "integer", "default": 40}
    assert properties["quality"] == {"enum": ["draft", "final"], "default": "draft"}
    assert properties["budget"]["default"] == "1.5"
    assert properties["folder"]["default"] == "/tmp"
    named = properties["more"]["anyOf"][0]["$ref"].rpartition("/")[2]
    assert found.form["$defs"][named]["required"] == ["x"]


def test_a_type_that_only_a_worker_knows_has_no_form(scheduler: Scheduler) -> None:
    register(scheduler, job_types=("command", "paint"))
    found = known(scheduler)
    assert found["paint"].form is None
    assert found["paint"].workers == 1
    command = found["command"].form
    assert command is not None
    assert command["properties"]["argv"]["anyOf"][0]["type"] == "array"


def test_a_type_without_a_live_worker_says_so(scheduler: Scheduler) -> None:
    scheduler = dataclasses.replace(scheduler, handlers={"draw": Handler.of(draw)})
    assert known(scheduler)["draw"].workers == 0
