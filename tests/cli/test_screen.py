"""Tables that fit, colours only where they belong."""

import io

import pytest

from headway.cli.text.screen import Column, Screen, Styled
from headway.cli.text.words import span

COLUMNS = [Column("JOB"), Column("WORK", elastic=True), Column("DETAIL", elastic=True)]


class Terminal(io.TextIOWrapper):
    """A terminal of 40 columns."""

    def isatty(self) -> bool:
        return True


def _screen(monkeypatch: pytest.MonkeyPatch, encoding: str = "utf-8", **environment: str) -> Screen:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"COLUMNS": "40", "LINES": "24", **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout", Terminal(io.BytesIO(), encoding=encoding))
    return Screen()


def test_a_table_is_cut_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = _screen(monkeypatch, NO_COLOR="1")
    lines = screen.table_lines(COLUMNS, [["1", "w" * 60, "detail"], ["2", "語" * 30, "d" * 60]])
    assert lines[1].startswith("1    www")
    assert all(len(line) <= 40 for line in lines)
    assert "…" in lines[1]
    plain = _screen(monkeypatch, "ascii", NO_COLOR="1")
    assert "..." in plain.table_lines(COLUMNS, [["1", "w" * 60, "detail"]])[1]


def test_a_pipe_gets_everything(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().table(COLUMNS, [["1", "w" * 200, Styled("good", "green")]])
    assert "w" * 200 in capsys.readouterr().out


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[32m" in _screen(monkeypatch).paint(Styled("good", "green"))
    assert _screen(monkeypatch, NO_COLOR="1").paint(Styled("good", "green")) == "good"
    assert _screen(monkeypatch, TERM="dumb").paint(Styled("good", "green")) == "good"
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO()))
    assert Screen().paint(Styled("good", "green")) == "good"


def test_nothing_that_a_job_says_can_move_the_cursor() -> None:
    (_, line) = Screen().table_lines([Column("A")], [["one\x1b[2Jtwo\nthree"]])
    assert line == "one?[2Jtwo three"


def test_time_spans_are_short() -> None:
    spans = [0.02, 1, 61, 3600, 90061]
    assert [span(seconds) for seconds in spans] == ["20ms", "1s", "1m 1s", "1h", "1d 1h"]
