"""The decisions: each is in the index and has the form of the others."""

import re
from pathlib import Path

import pytest
from tests.docs.fences import ROOT

FOLDER = ROOT / "docs" / "decisions"
DECISIONS = sorted(FOLDER.glob("[0-9]*.md"))


def test_the_index_lists_every_decision_by_its_title() -> None:
    titles = [page.read_text(encoding="utf-8").splitlines()[0] for page in DECISIONS]
    lines = [
        re.sub(r"^# (\d+)\. (.*)$", rf"| \1 | [\2]({page.name}) |", title)
        for title, page in zip(titles, DECISIONS, strict=True)
    ]
    index = (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in index if re.match(r"\| \d", line)] == lines


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.name[:4])
def test_a_decision_has_a_context_a_decision_and_consequences(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"^(?:## |\*\*)(Context|Decision|Consequences)\b", text, re.MULTILINE)
    assert found == ["Context", "Decision", "Consequences"]


def test_a_number_means_one_decision() -> None:
    numbers = [page.name[:4] for page in DECISIONS]
    assert len(set(numbers)) == len(numbers)
