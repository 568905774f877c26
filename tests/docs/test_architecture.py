"""The page on the architecture names what exists, and newcomers are led to it."""

import re
from collections import Counter

import pytest
from tests.docs.fences import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "headway"
MOST_FILES = 20


def test_every_file_and_folder_that_the_page_names_exists() -> None:
    named = re.findall(r"`([\w/]+(?:\.py|/))`", PAGE)
    assert len(named) > 30
    assert [path for path in named if not (SOURCE / path).exists()] == []


def test_the_page_names_every_folder() -> None:
    folders = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert folders <= set(re.findall(r"^\| `(\w+)/` \|", PAGE, re.MULTILINE))


def test_no_folder_has_more_files_than_can_be_seen_at_once() -> None:
    counts = Counter(str(path.parent.relative_to(SOURCE)) for path in SOURCE.rglob("*.py"))
    assert {folder: count for folder, count in counts.items() if count > MOST_FILES} == {}


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_newcomers_are_led_to_it(page: str) -> None:
    assert "docs/architecture.md" in (ROOT / page).read_text(encoding="utf-8")


def test_the_places_that_contributing_counts_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    places = re.findall(r"`(\w+)`[^`]*? in `([\w/]+\.py)`", text)
    assert len(places) >= 5
    for name, path in places:
        assert re.search(rf"^(class|def) {name}\b", (SOURCE / path).read_text(), re.MULTILINE), name
