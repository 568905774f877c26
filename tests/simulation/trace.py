"""What happened in a play, one line a step."""

from datetime import datetime


class Trace:
    """Lines that a person can read."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._parts: list[str] = []

    def say(self, text: str) -> None:
        """Add to what happens in this step."""
        self._parts.append(text)

    def end_step(self, step: int | str, moment: datetime) -> None:
        """The step is over; a step in which nothing happened has no line."""
        if self._parts:
            told = "; ".join(self._parts)
            self.lines.append(f"{step:>4}  {moment:%H:%M:%S}  {told}")
            self._parts = []

    def text(self) -> str:
        """The whole play."""
        return "\n".join(self.lines)
