"""What tests of executors share."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.worker.executor_helpers import Start

from headway.domain.handlers import Handler
from headway.worker.executors.threads import ThreadExecutor


@pytest.fixture
def executor_for() -> Iterator[Start]:
    """Makes executors for functions of a test."""
    made: list[ThreadExecutor] = []

    def make(*functions: Callable[..., Any], slots: int = 1, **options: Any) -> ThreadExecutor:
        handlers = {function.__name__: Handler.of(function) for function in functions}
        made.append(ThreadExecutor(handlers, slots, **options))
        return made[-1]

    yield make
    for executor in made:
        executor.close()
