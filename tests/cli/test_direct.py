"""`headway direct`, and the same from Python."""

import asyncio
import json

import pytest
from tests.cli.conftest import Cli

import headway
from headway.domain import errors


def test_a_direct_request_is_answered_with_the_result(served: Cli) -> None:
    assert served.text("direct", "story", "genre=horror") == "horror\n"
    answer = served.json("direct", "story", "--params", '{"genre": "crime", "length": 1}')
    assert answer["result"] == "crime"
    assert set(answer) == {"result", "waited_ms", "duration_ms"}
    assert served.json("jobs", "list", "--all")["items"] == []


def test_what_cannot_be_done_directly_is_said_at_once(served: Cli) -> None:
    assert "there is no handler for job type nobody" in served.error("direct", "nobody", code=3)
    assert "genre" in served.error("direct", "story", code=2)
    wrong = served.error("direct", "story", "genre=horror", "--timeout", "soon", code=2)
    assert "soon" in wrong


def test_from_python_a_function_is_called_in_the_next_slot(served: Cli) -> None:
    app = headway.App()

    @app.job
    def story(genre: str, length: int = 100) -> str:
        raise AssertionError("it runs in the server")

    assert story.direct(genre="horror") == "horror"
    assert asyncio.run(story.direct_async("crime", length=3)) == "crime"
    assert app.direct("story", {"genre": "war"}, wait_timeout=5) == "war"
    assert asyncio.run(app.direct_async("story", {"genre": "sea"})) == "sea"
    with pytest.raises(errors.NotFound, match="nobody"):
        app.direct("nobody")
    app.close()


def test_a_handler_that_fails_is_told_in_one_line(served: Cli) -> None:
    assert served.error("direct", "strain", code=1) == "error: ValueError: too heavy\n"
    problem = json.loads(served.call("--json", "direct", "strain", code=1).stderr)
    assert (problem["code"], problem["detail"]) == ("handler_failed", "ValueError: too heavy")
    app = headway.App()
    with pytest.raises(errors.HandlerFailed, match=r"^ValueError: too heavy$"):
        app.direct("strain")
    app.close()


def test_without_a_server_it_says_what_to_do(cli: Cli) -> None:
    said = cli.error("direct", "story", "genre=horror", code=1)
    assert "no server was found" in said
    assert "headway serve" in said
    problem = json.loads(cli.call("--json", "direct", "story", code=1).stderr)
    assert problem["code"] == "needs_server"
    assert not (cli.folder / ".headway").exists()
