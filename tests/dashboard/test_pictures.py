"""The pictures in the documentation show the pages as they are."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.dashboard import pictures
from tests.servers import Stage

MOST_BYTES = 1_500_000
PAGES = (pictures.ROOT / "README.md", pictures.ROOT / "docs" / "dashboard.md")


def test_each_picture_shows_the_page_as_it_is_now(stage: Stage, browser: Browser) -> None:
    recorded = json.loads(pictures.STRUCTURE.read_text())
    server = pictures.demo(stage)
    found = {}
    with pictures.signed_in(browser, server, "light") as page:
        for name, path in pictures.paths(server).items():
            pictures.show(page, server, name, path)
            found[name] = pictures.structure(page)
    assert found == recorded, "a page has changed: script/screenshots takes the pictures anew"


def test_the_pictures_are_small_and_each_is_used() -> None:
    files = list(pictures.FOLDER.glob("*.png"))
    assert sum(file.stat().st_size for file in files) < MOST_BYTES
    text = "".join(page.read_text() for page in PAGES)
    assert [file.name for file in files if file.name not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_picture_that_a_page_names_is_there(page: Path) -> None:
    names = {part.split('"')[0] for part in page.read_text().split("pictures/")[1:]}
    assert names
    assert [name for name in names if not (pictures.FOLDER / name).exists()] == []
