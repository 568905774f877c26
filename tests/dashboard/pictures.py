"""The pictures in the documentation, taken of a server with the demo: `script/screenshots`.

Beside them, `structure.json` keeps what each page is made of: its headings, labels and columns. A
test compares that with the page as it is: a picture cannot stay behind a page that has changed.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright
from tests.dashboard.conftest import ARGUMENTS, KEY, find_chromium, quiet
from tests.servers import Server, Stage, wait_for

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pictures"
STRUCTURE = FOLDER / "structure.json"
SIZE = ViewportSize(width=1200, height=760)
Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")
LOOKS_LIVED_IN_S = 50
MADE_OF = (
    "nav a",
    *(f"main {part}" for part in ("h1", "h2", "th", "dt", ".tabs button", ".actions button")),
    *(f"dialog {part}" for part in ("h2", "label > span", "summary")),
)
LABELS = "parts => [...document.querySelectorAll(parts)].map(one => one.textContent.trim())"


def demo(stage: Stage) -> Server:
    """A server with the demo, once its first jobs have ended."""
    (stage.folder / "examples").symlink_to(ROOT / "examples")
    server = stage.serve(app="examples.demo:app", slots=4, grace_s=0)
    found = {"HEADWAY_URL": server.url, "HEADWAY_TOKEN": server.token}
    command = (sys.executable, "-m", "examples.fill_demo")
    subprocess.run(command, cwd=ROOT, env={**os.environ, **found}, check=True)

    wait_for(
        lambda: server.get("/api/jobs", job_type="flaky", status="succeeded")["items"],
        "the job that works at its third attempt",
    )
    return server


def paths(server: Server) -> dict[str, str]:
    """The page of each picture."""
    running = server.get("/api/jobs", job_type="render", status="running")["items"][0]["number"]
    waiting = server.get("/api/jobs", job_type="render", status="waiting_on_deps")["items"][0]
    return {
        "overview": "/",
        "jobs": "/jobs?status=failed,timeout,blocked_by_dependency,blocked_by_approval",
        "job": f"/jobs/{running}",
        "why": f"/jobs/{waiting['number']}",
        "graph": "/graph",
        "schedules": "/schedules",
        "timeline": "/timeline?span=1 min",
        "submit": "/",
    }


def show(page: Page, server: Server, name: str, path: str) -> None:
    """Open the page of a picture, with its dialog."""
    page.goto(server.url + path)
    quiet(page)
    if name == "submit":
        page.keyboard.press("n")
        page.get_by_role("dialog").get_by_role("combobox").first.select_option("render")


def structure(page: Page) -> list[str]:
    """What the page is made of, each label once, without numbers and the names of workers."""
    labels = page.evaluate(LABELS, ", ".join(MADE_OF))
    return sorted({re.sub(r"\bserver-\S+|\d+", "#", label) for label in labels})


@contextmanager
def signed_in(browser: Browser, server: Server, theme: Theme) -> Iterator[Page]:
    """A page of an admin."""
    context = browser.new_context(viewport=SIZE, color_scheme=theme, timezone_id="UTC")
    context.add_init_script(f"localStorage.setItem('{KEY}', '{server.token}')")
    yield context.new_page()
    context.close()


def main() -> None:
    """Take every picture anew."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        stage = Stage(Path(folder))
        try:
            server = demo(stage)
            time.sleep(LOOKS_LIVED_IN_S)
            found = find_chromium()
            browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
            made = {theme: take(browser, server, theme) for theme in THEMES}
        finally:
            stage.close()
    STRUCTURE.write_text(json.dumps(made["light"], indent=1) + "\n")


def take(browser: Browser, server: Server, theme: Theme) -> dict[str, list[str]]:
    """The pictures of one theme; answers what they show."""
    found = {}
    with signed_in(browser, server, theme) as page:
        for name, path in paths(server).items():
            show(page, server, name, path)
            page.wait_for_timeout(1500)  # charts and pictures have been drawn by then
            shown = page.get_by_role("dialog") if name == "submit" else page
            shown.screenshot(path=FOLDER / f"{name}-{theme}.png")
            found[name] = structure(page)
    return found


if __name__ == "__main__":
    main()
