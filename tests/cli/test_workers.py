"""`headway workers`."""

import json

from tests.cli.conftest import Cli
from tests.cli.test_completion import words_at


def test_a_worker_is_drained_by_name_and_takes_jobs_again(served: Cli) -> None:
    (worker,) = json.loads(served.text("workers", "list", "--json"))["items"]
    name = worker["worker_id"]
    assert words_at(served, "headway workers drain ") == [name]
    assert served.text("workers", "drain", name).strip() == (
        f"{name} takes no more jobs. It holds none."
    )
    assert "draining" in served.text("workers", "list")
    served.call("submit", "story", "genre=horror")
    why = served.text("why", "1")
    assert f"worker {name} draining  takes no more jobs" in why
    assert f"headway workers drain {name} --undo" in why
    served.call("workers", "drain", name, "--undo")
    served.call("jobs", "attach", "1")


def test_a_worker_that_is_not_known_is_not_found(served: Cli) -> None:
    served.call("workers", "drain", "unknown", code=3)
