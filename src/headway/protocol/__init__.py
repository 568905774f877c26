"""What can be asked: each operation once, as a value. Pure."""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.protocol import (
        artifacts,
        direct,
        events,
        groups,
        jobs,
        limits,
        queue,
        reservations,
        runs,
        schedules,
        templates,
        tokens,
        webhooks,
        work,
    )

__all__ = [
    "artifacts",
    "direct",
    "events",
    "groups",
    "jobs",
    "limits",
    "queue",
    "reservations",
    "runs",
    "schedules",
    "templates",
    "tokens",
    "webhooks",
    "work",
]


def __getattr__(name: str) -> ModuleType:
    """An area is loaded when it is used, so that commands can name it and still start quickly."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
