"""Every page shows what there is, to everybody who can see, hear or only use keys."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.dashboard.conftest import Open, quiet
from tests.servers import Server, Stage

PAGES = {
    "/": "Overview",
    "/jobs": "Jobs",
    "/jobs?order=queue": "Jobs",
    "/graph": "Graph",
    "/timeline": "Timeline",
    "/schedules": "Schedules",
    "/groups": "Groups",
    "/workers": "Workers",
    "/limits": "Limits and locks",
    "/webhooks": "Webhooks",
    "/tokens": "Tokens",
    "/audit": "Audit log",
}
AXE = Path(__file__).parents[2] / "dashboard" / "node_modules" / "axe-core" / "axe.min.js"
DIALOGS = {"/groups": "n", "/workers": "Control+k", "/limits": "?"}
GO = "to => { history.pushState(null, '', to); dispatchEvent(new PopStateEvent('popstate')) }"
SHAPES = {
    "light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 860}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1280, "height": 860}},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
}


@pytest.fixture(scope="module")
def full(shared: Stage) -> Server:
    """A server with some of everything."""
    server = shared.serve(slots=1)
    server.wait(server.submit("fail", name="bad"), "FAILED")
    server.wait(server.submit("say", params={"lines": 3}), "SUCCEEDED")
    running = server.submit("step", name="held", locks=[{"key": "printer", "mode": "exclusive"}])
    server.wait(running, "RUNNING")
    server.submit("note", name="first", after=[running["job_id"]])
    server.submit("note", name="asks", approval=True)
    server.submit("note", name="locked", locks=[{"key": "printer", "mode": "exclusive"}])
    server.post("/api/job-templates", name="nightly", job_type="note", params={"name": "n"})
    server.post("/api/schedules", template="nightly", name="every night", cron="0 3 * * *")
    server.post(
        "/api/job-groups", name="album", jobs=[{"job_type": "note", "params": {"name": "g"}}]
    )
    server.post("/api/queue/pause", queue="batch")
    assert server.http.put("/api/limits/gpu", json={"size": 1}).status_code in (200, 201)
    return server


@pytest.mark.parametrize("path", PAGES)
def test_a_page_of_an_empty_store_says_so(path: str, server: Server, open_page: Open) -> None:
    page = open_page(server, path)
    expect(page.get_by_role("heading", level=1)).to_have_text(PAGES[path])
    quiet(page)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_page_is_accessible(shape: str, full: Server, open_page: Open) -> None:
    page = open_page(full, "/", **SHAPES[shape], bypass_csp=True)
    page.evaluate(AXE.read_text())
    failing = full.get("/api/jobs", status="failed")["items"][0]["number"]
    waiting = full.get("/api/jobs", status="waiting_on_deps")["items"][0]["number"]
    jobs = (failing, waiting)
    parts = ("", "?tab=output", "?tab=runs", "?tab=graph", "?tab=events")
    paths = [*PAGES, *(f"/jobs/{number}{part}" for number in jobs for part in parts)]
    found = []
    for path in paths:
        page.evaluate(GO, path)
        quiet(page)
        if path in DIALOGS:
            page.keyboard.press(DIALOGS[path])
            expect(page.get_by_role("dialog")).to_be_visible()
        answer = page.evaluate("axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']})")
        found += [
            f"{path}: {one['id']}: {node['html'][:200]}"
            for one in answer["violations"]
            for node in one["nodes"]
        ]
        wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
        assert not wide, f"{path} is wider than the screen"
        page.keyboard.press("Escape")
    assert not found, "\n".join(found)


def test_the_first_load_is_small(full: Server) -> None:
    parts = [full.http.get(path) for path in ("/", "/dashboard/page.js", "/dashboard/style.css")]
    assert parts[1].headers["content-encoding"] == "gzip"
    assert sum(part.num_bytes_downloaded for part in parts) < 200_000


def test_the_overview_says_what_runs_what_waits_and_why(full: Server, open_page: Open) -> None:
    page = open_page(full)
    card = page.locator("section.card")
    expect(card.filter(has_text="Running")).to_contain_text("step")
    waiting = card.filter(has_text="Why jobs wait")
    for words in ("The end of job", "A person's approval", "The lock printer"):
        expect(waiting).to_contain_text(words)
    expect(card.filter(has_text="What fails most")).to_contain_text("bad does not work")
    expect(card.filter(has_text="Next fires")).to_contain_text("every night")
    expect(page.get_by_role("status").filter(has_text="Paused")).to_contain_text("queue batch")


def test_why_names_the_job_that_is_waited_for_as_a_link(full: Server, open_page: Open) -> None:
    waiting = full.get("/api/jobs", status="waiting_on_deps")["items"][0]
    running = full.get("/api/jobs", status="running")["items"][0]
    page = open_page(full, f"/jobs/{waiting['number']}")
    gate = page.locator(".gates li.closed").first
    expect(gate).to_contain_text("after")
    gate.get_by_role("link", name=str(running["number"])).first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"Job {running['number']}")


def test_a_graph_of_a_thousand_jobs_can_be_used(stage: Stage, open_page: Open) -> None:
    server = stage.serve(slots=1)
    server.post("/api/queue/pause")
    jobs = [{"ref": "root", "job_type": "note", "params": {"name": "root"}}]
    for n in range(999):
        after = ["ref:root"] if n < 30 else [f"ref:n{n - 30}"]
        one = {"ref": f"n{n}", "job_type": "note", "params": {"name": "x"}, "after": after}
        jobs.append(one)
    server.post("/api/jobs/batch", jobs=jobs)
    page = open_page(server, "/graph")
    expect(page.locator("svg .node")).to_have_count(1000)
    page.get_by_label("Zoom in").click()
    page.get_by_role("button", name="Fit").click()
    page.locator("svg .node").nth(500).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Job")
