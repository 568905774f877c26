"""A planted fault: which promise it breaks, where, and what must catch it."""

from dataclasses import dataclass
from pathlib import Path

SOURCE = Path("src/headway")
"""Where faults are planted, below the top of the repository."""


class MisplacedError(Exception):
    """The text that a fault replaces is not there exactly once: the code has moved."""


@dataclass(frozen=True)
class NamedTest:
    """A test, or all cases of one; those on PostgreSQL are left out unless asked for."""

    node: str
    postgres: bool = False

    @property
    def file(self) -> str:
        """The file of the test."""
        return self.node.partition("::")[0]

    @property
    def function(self) -> str:
        """The name of the test, without its case."""
        return self.node.partition("::")[2].partition("[")[0]

    def __str__(self) -> str:
        return f"`{self.file.removeprefix('tests/')}` {self.function.removeprefix('test_')}"


@dataclass(frozen=True)
class Simulation:
    """The first plays of the simulation, up to the one that fails."""

    seeds: int = 300

    def __str__(self) -> str:
        return "simulation"


Catcher = NamedTest | Simulation


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault: `text`, which stands once in `file`, is replaced by `instead`."""

    name: str
    section: int
    promise: str
    planted: str
    file: str
    text: str
    instead: str
    caught_by: Catcher

    @property
    def path(self) -> Path:
        """The file, below the top of the repository."""
        return SOURCE / self.file

    def plant(self, source: str) -> str:
        """The text of the file with the fault in it."""
        if (count := source.count(self.text)) != 1:
            raise MisplacedError(f"{self.name}: {self.text!r} stands {count} times in {self.path}")
        return source.replace(self.text, self.instead)
