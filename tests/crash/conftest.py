"""Tests here run against real servers."""

from tests.servers import server, shared, stage

__all__ = ["server", "shared", "stage"]
