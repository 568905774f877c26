"""The dashboard in a real browser, beside real servers."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright
from tests.servers import Server, server, shared, stage

__all__ = ["server", "shared", "stage"]

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# A machine without a network: the browser must not try to reach its maker.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
KEY = "headway-token"

Open = Callable[..., Page]


def find_chromium() -> str | None:
    """The browser of this machine, if there is one."""
    return next(filter(None, map(shutil.which, CHROMIUMS)), None)


def quiet(page: Page) -> None:
    """Wait until the page has what it asked for."""
    expect(page.locator("main h1").first).to_be_visible()
    expect(page.get_by_text("Loading…")).to_have_count(0)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One after the other in one process: an event loop runs there while the browser does."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, if there is one."""
    found = find_chromium()
    if found is None:
        pytest.skip("there is no Chromium here; on Debian: apt install chromium")
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield made
        made.close()


@pytest.fixture
def errors() -> list[str]:
    """What the browser complained about; a test that expects a complaint removes it."""
    return []


@pytest.fixture
def open_page(browser: Browser, errors: list[str]) -> Iterator[Open]:
    """Opens a page of a server, signed in with a token; complaints fail the test at its end."""
    contexts = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(f"{message.text} {message.location.get('url')}")

    def start(server: Server, path: str = "/", token: str | None = "", **options: Any) -> Page:
        context = browser.new_context(**options)
        context.set_default_timeout(20_000)
        contexts.append(context)
        given = server.token if token == "" else token
        if given is not None:
            context.add_init_script(
                f"localStorage.getItem('{KEY}') ?? localStorage.setItem('{KEY}', '{given}')"
            )
        page = context.new_page()
        page.on("console", note)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(server.url + path)
        return page

    yield start
    for context in contexts:
        context.close()
    assert errors == []
