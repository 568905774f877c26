"""Some tests here run against real servers."""

from tests.servers import stage

__all__ = ["stage"]
