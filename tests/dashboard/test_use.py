"""What people do with the dashboard: sign in, find, understand, change."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.dashboard.conftest import Open
from tests.servers import Server, Stage, wait_for


def row(page: Page, number: int) -> Locator:
    """The row of a job in the list."""
    return page.locator("tbody tr").filter(
        has=page.get_by_role("link", name=str(number), exact=True)
    )


def test_a_fresh_link_signs_in_once_and_stays_for_reloads_and_tabs(
    server: Server, open_page: Open
) -> None:
    code = server.post("/dashboard/codes")["code"]
    page = open_page(server, f"/jobs#code={code}", token=None)
    expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")
    assert "code" not in page.url
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")
    second = page.context.new_page()
    second.goto(server.url + "/workers")
    expect(second.get_by_role("heading", level=1)).to_have_text("Workers")


def test_a_wrong_token_is_refused_in_a_sentence(
    server: Server, open_page: Open, errors: list[str]
) -> None:
    page = open_page(server, token=None)
    page.get_by_label("Token").fill("nonsense")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("does not know this token")
    page.get_by_label("Token").fill(server.token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    errors.clear()  # the browser itself logs the 401


def test_a_revoked_token_signs_out(server: Server, open_page: Open, errors: list[str]) -> None:
    made = server.post("/api/tokens", name="viewer", role="read")
    page = open_page(server, "/jobs", token=made["token"])
    expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")
    assert server.http.delete(f"/api/tokens/{made['token_id']}").status_code == 200
    expect(page.get_by_role("alert")).to_contain_text("your token was revoked or has ended")
    expect(page.get_by_label("Token")).to_be_visible()
    errors.clear()


def test_filters_are_in_the_address_and_the_back_button_works(
    server: Server, open_page: Open
) -> None:
    good = server.wait(server.submit("note", name="a"), "SUCCEEDED")
    bad = server.wait(server.submit("fail", name="b"), "FAILED")
    page = open_page(server, "/jobs")
    page.get_by_role("button", name="Failed").click()
    expect(row(page, bad["number"])).to_be_visible()
    expect(row(page, good["number"])).to_have_count(0)
    assert "status=failed" in page.url
    page.reload()
    expect(row(page, bad["number"])).to_contain_text("b does not work")
    expect(row(page, good["number"])).to_have_count(0)
    page.get_by_role("link", name=str(bad["number"]), exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"Job {bad['number']}")
    page.go_back()
    expect(row(page, bad["number"])).to_be_visible()
    page.get_by_label("Type").fill("note")
    expect(page.get_by_text("No job matches.")).to_be_visible()


def test_a_job_is_found_by_its_number_with_keys_alone(server: Server, open_page: Open) -> None:
    job = server.wait(server.submit("note", name="k"), "SUCCEEDED")
    page = open_page(server)
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    page.keyboard.press("/")
    expect(page.get_by_label("Find jobs")).to_be_focused()
    page.keyboard.type(str(job["number"]))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"Job {job['number']}")
    page.keyboard.press("Control+k")
    expect(page.get_by_label("Command or job")).to_be_focused()
    page.keyboard.type("workers")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Workers")
    page.goto(server.url + "/jobs")
    expect(page.locator("tbody tr").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(page.locator("tbody tr").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Job ")


def test_a_job_is_approved_with_a_reason(server: Server, open_page: Open) -> None:
    job = server.submit("note", name="asks", approval=True)
    page = open_page(server, f"/jobs/{job['number']}")
    page.get_by_role("button", name="Approve…").click()
    page.get_by_label("Reason").fill("looks right")
    page.get_by_role("dialog").get_by_role("button", name="Approve").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("succeeded")
    said = server.get(f"/api/jobs/{job['number']}/events")["items"]
    assert "looks right" in str(said)


def test_a_failed_job_is_tried_again_and_the_retry_is_shown(
    server: Server, open_page: Open
) -> None:
    job = server.wait(server.submit("fail", name="f"), "FAILED")
    page = open_page(server, f"/jobs/{job['number']}")
    expect(page.locator("pre.error")).to_contain_text("f does not work")
    page.get_by_role("button", name="Retry", exact=True).click()
    expect(page).not_to_have_url(re.compile(f"/jobs/{job['number']}$"))
    attempts = page.locator("section.card").filter(has_text="Attempts")
    expect(attempts.get_by_role("link", name=f"job {job['number']}")).to_be_visible()


def test_a_rewind_shows_first_what_it_resets(server: Server, open_page: Open) -> None:
    job = server.wait(server.submit("fail", name="r"), "FAILED")
    behind = server.submit("note", name="behind", after=[job["job_id"]])
    server.wait(behind, "BLOCKED_BY_DEPENDENCY")
    page = open_page(server, f"/jobs/{job['number']}")
    page.get_by_role("button", name="Rewind…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("2 jobs begin again")
    expect(dialog.get_by_role("link", name=str(behind["number"]))).to_be_visible()
    dialog.get_by_role("button", name="Rewind").click()
    expect(dialog).to_have_count(0)
    server.wait(behind, "BLOCKED_BY_DEPENDENCY")
    assert server.job(behind)["generation"] == 2


def test_many_jobs_are_cancelled_after_a_preview(stage: Stage, open_page: Open) -> None:
    server = stage.serve(slots=1)
    server.post("/api/queue/pause")
    jobs = [server.submit("note", name=f"n{n}") for n in range(5)]
    page = open_page(server, "/jobs")
    for job in jobs[:3]:
        page.get_by_label(f"Select job {job['number']}").check()
    page.get_by_role("button", name="Cancel 3").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("li")).to_have_count(3)
    dialog.get_by_role("button", name="cancel 3").click()
    expect(page.get_by_text("3 done, 0 refused")).to_be_visible()
    for job in jobs[:3]:
        assert server.job(job)["status"] == "CANCELLED"
    assert server.job(jobs[4])["status"] == "QUEUED"


def test_output_streams_as_it_is_printed(server: Server, shared: Stage, open_page: Open) -> None:
    job = server.submit("talk", name="loud")
    server.wait(job, "RUNNING")
    page = open_page(server, f"/jobs/{job['number']}?tab=output")
    log = page.get_by_role("log")
    expect(log).to_contain_text("hello loud")
    expect(log).not_to_contain_text("bye loud")
    shared.let_go("loud")
    expect(log).to_contain_text("bye loud")
    page.get_by_label("Search in the output").fill("bye")
    expect(log).not_to_contain_text("hello loud")


def test_hostile_names_are_shown_as_text(server: Server, open_page: Open) -> None:
    name = '<img src=x onerror="document.title=1"> \u202egnp.exe \x1b[31m'
    job = server.wait(server.submit("note", name=name, tags=["<b>bold</b>"]), "SUCCEEDED")
    page = open_page(server, f"/jobs/{job['number']}")
    expect(page.locator("pre.json").first).to_contain_text("<img src=x")
    assert page.locator("main img, main b").count() == 0
    assert page.title() != "1"


def test_a_reader_sees_no_button_that_would_be_refused(server: Server, open_page: Open) -> None:
    made = server.post("/api/tokens", name="reader", role="read")
    job = server.submit("note", name="asks", approval=True)
    page = open_page(server, f"/jobs/{job['number']}", token=made["token"])
    expect(page.get_by_role("heading", level=1)).to_contain_text("waiting on approval")
    for name in ("Approve…", "Cancel…", "Submit…"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    expect(page.get_by_role("link", name="Tokens")).to_have_count(0)


def test_a_job_that_is_not_there_is_said_to_be_gone(
    server: Server, open_page: Open, errors: list[str]
) -> None:
    page = open_page(server, "/jobs/999999999")
    expect(page.get_by_text("It may have been removed by gc")).to_be_visible()
    errors.clear()  # the browser itself logs the 404s


def test_the_page_goes_on_after_a_restart_of_the_server(
    stage: Stage, open_page: Open, errors: list[str]
) -> None:
    server = stage.serve()
    port = int(server.url.rpartition(":")[2])
    page = open_page(server, "/jobs")
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    server.kill()
    expect(page.get_by_role("alert")).to_contain_text("The server does not respond")
    again = wait_for(lambda: stage.serve(port=port), "the server's second start")
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    job = again.submit("note", name="after")
    expect(row(page, job["number"])).to_be_visible()
    errors.clear()  # the browser itself logs the lost connections


@pytest.mark.parametrize("path", ["/", "/jobs"])
def test_what_happens_shows_without_a_reload(path: str, server: Server, open_page: Open) -> None:
    page = open_page(server, path)
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    job = server.submit("hold", name=f"shown{len(path)}")
    expect(page.get_by_role("link", name=str(job["number"]), exact=True).first).to_be_visible()
    server.post(f"/api/jobs/{job['number']}/cancel")
