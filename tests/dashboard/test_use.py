"""What people do with the dashboard: sign in, find, understand, change."""

import re
import time

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.dashboard.conftest import Open
from tests.servers import Server, Stage, wait_for

PROGRAM = """
import headway

app = headway.App()


def pack(name):
    return name


@app.job
def order(ctx: headway.JobContext, name: str) -> str:
    packed = ctx.step(pack, name)
    said = ctx.wait_for("paid")
    return f"{packed} {said['by']}"
"""


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
    for name in ("Approve…", "Change…", "Cancel…", "Submit…"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    expect(page.get_by_role("link", name="Tokens")).to_have_count(0)
    page.get_by_role("link", name="Schedules").click()
    expect(page.get_by_role("heading", name="Templates")).to_be_visible()
    for name in ("New schedule…", "New template…"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    page.keyboard.press("n")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_job_that_is_not_there_is_said_to_be_gone(
    server: Server, open_page: Open, errors: list[str]
) -> None:
    page = open_page(server, "/jobs/999999999")
    expect(page.get_by_text("It may have been removed by gc")).to_be_visible()
    page.close()
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
def test_what_happens_shows_without_a_reload(
    path: str, server: Server, shared: Stage, open_page: Open
) -> None:
    page = open_page(server, path)
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    job = server.submit("hold", name=f"shown{len(path)}")
    expect(page.get_by_role("link", name=str(job["number"]), exact=True).first).to_be_visible()
    shared.let_go(f"shown{len(path)}")


def test_a_form_has_the_fields_of_the_handler(server: Server, open_page: Open) -> None:
    page = open_page(server)
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("combobox").select_option("say")
    dialog.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("Give lines a value.")).to_be_visible()
    dialog.get_by_label("lines").fill("2")
    dialog.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("succeeded")
    expect(page.get_by_role("log")).to_contain_text("line 1")


def test_a_palette_finds_pages_with_arrow_keys_and_pauses_everything(
    stage: Stage, open_page: Open
) -> None:
    server = stage.serve()
    page = open_page(server, "/workers")
    box = page.get_by_label("Command or job")
    expect(page.get_by_role("heading", level=1)).to_have_text("Workers")
    page.keyboard.press("Control+k")
    expect(box).to_be_focused()
    page.keyboard.type("pause")
    page.keyboard.press("Enter")
    banner = page.get_by_role("status").filter(has_text="Paused")
    expect(banner).to_contain_text("everything")
    page.keyboard.press("Control+k")
    expect(box).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("option", selected=True)).to_have_text("Go to jobs")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")
    banner.get_by_role("button", name="Resume").click()
    expect(banner).to_have_count(0)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()


def test_a_schedule_is_made_fired_paused_and_removed(server: Server, open_page: Open) -> None:
    page = open_page(server, "/schedules")
    page.get_by_role("button", name="New template…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Its name").fill("made here")
    dialog.get_by_role("combobox", name="Type").select_option("note")
    dialog.get_by_label("name string").fill("s")
    dialog.get_by_role("button", name="Make").click()
    page.get_by_role("button", name="New schedule…").click()
    dialog.get_by_label("Name").fill("weekly")
    dialog.get_by_role("combobox", name="template").select_option(label="made here")
    dialog.get_by_label("Minute, hour").fill("0 4 * * 1")
    dialog.get_by_role("button", name="Save").click()
    card = page.locator("li.card").filter(has_text="weekly")
    card.get_by_role("button", name="Fire now").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Job")
    page.go_back()
    expect(card.get_by_role("link", name=re.compile("job .* succeeded"))).to_be_visible()
    card.get_by_role("button", name="Pause").click()
    expect(card).to_contain_text("paused")
    card.get_by_role("button", name="Edit…").click()
    dialog.get_by_role("button", name="Remove").click()
    expect(card).to_have_count(0)


def test_an_error_stays_until_it_is_dismissed(
    server: Server, open_page: Open, errors: list[str]
) -> None:
    job = server.submit("note", name="asks", approval=True)
    page = open_page(server, f"/jobs/{job['number']}")
    page.get_by_role("button", name="Change…").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Params").fill('{"name": 7}')
    dialog.get_by_role("button", name="Save").click()
    said = page.locator(".messages p.bad")
    expect(said).to_contain_text("note")
    page.get_by_role("dialog").get_by_role("button", name="Leave it").click()
    page.get_by_role("button", name="Events").click()
    expect(said).to_be_visible()
    said.get_by_label("Dismiss").click()
    expect(said).to_have_count(0)
    errors.clear()  # the browser itself logs the 422


def test_a_job_that_is_removed_while_it_is_open_is_said_to_be_gone(
    server: Server, open_page: Open, errors: list[str]
) -> None:
    job = server.wait(server.submit("note", name="old"), "SUCCEEDED")
    page = open_page(server, f"/jobs/{job['number']}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("succeeded")
    path = re.compile(rf"/api/jobs/{job['number']}(/|$)")
    gone = '{"code": "not_found", "detail": "there is no such job"}'
    page.route(path, lambda route: route.fulfill(status=404, body=gone))
    server.submit("note", name="something happens")
    expect(page.get_by_text("It may have been removed by gc")).to_be_visible()
    page.close()
    errors.clear()  # the browser itself logs the 404s


def test_the_clock_of_the_server_counts(server: Server, open_page: Open) -> None:
    page = open_page(server, token=None)
    page.clock.install(time=time.time() + 3600)
    job = server.wait(server.submit("note", name="now"), "SUCCEEDED")
    page.evaluate(f"localStorage.setItem('headway-token', '{server.token}')")
    page.goto(f"{server.url}/jobs?since_s=3600")
    expect(row(page, job["number"])).to_contain_text(re.compile(r"\d+ s ago"))


def test_a_page_in_a_second_tab_signs_out_with_the_first(server: Server, open_page: Open) -> None:
    first = open_page(server, "/jobs", token=None)
    first.get_by_label("Token").fill(server.token)
    first.get_by_role("button", name="Sign in").click()
    expect(first.get_by_role("heading", level=1)).to_have_text("Jobs")
    second = first.context.new_page()
    second.goto(server.url + "/graph")
    expect(second.get_by_role("heading", level=1)).to_have_text("Graph")
    first.get_by_role("button", name="Sign out").click()
    expect(second.get_by_label("Token")).to_be_visible()


def test_what_turns_or_hides_text_is_written_out(server: Server, open_page: Open) -> None:
    job = server.wait(server.submit("note", name="a\u202eb\x07"), "SUCCEEDED")
    page = open_page(server, "/jobs")
    expect(row(page, job["number"])).to_contain_text(r"name=a\u202eb\u0007")


def test_the_page_asks_a_few_times_a_second_however_much_happens(
    stage: Stage, open_page: Open
) -> None:
    server = stage.serve()
    page = open_page(server)
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    began = time.monotonic()
    while time.monotonic() - began < 3:
        jobs = [{"job_type": "note", "params": {"name": "rush"}} for _ in range(50)]
        server.post("/api/jobs/batch", jobs=jobs)
    page.wait_for_timeout(500)
    assert len(asked) / (time.monotonic() - began) < 10


def test_a_long_list_grows_as_it_is_scrolled(stage: Stage, open_page: Open) -> None:
    server = stage.serve(slots=1)
    running = server.submit("hold", name="held")
    server.wait(running, "RUNNING")
    jobs = [{"job_type": "note", "params": {"name": str(n)}} for n in range(250)]
    server.post("/api/jobs/batch", jobs=jobs)
    page = open_page(server, "/jobs")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(100)
    for count in (200, 251):
        page.mouse.wheel(0, 100_000)
        expect(rows).to_have_count(count)
    page.get_by_role("button", name="Running first").click()
    expect(rows.first).to_contain_text("held")
    stage.let_go("held")


def test_a_program_gets_its_signal_and_shows_its_steps(stage: Stage, open_page: Open) -> None:
    (stage.folder / "programs.py").write_text(PROGRAM)
    server = stage.serve(app="programs:app")
    job = server.submit("order", name="book")
    server.wait(job, "SUSPENDED")
    page = open_page(server)
    cause = page.locator(".causes li").filter(has_text="The signal paid")
    cause.get_by_role("link", name=str(job["number"])).click()
    steps = page.locator("section.card").filter(has_text="Steps")
    expect(steps).to_contain_text("pack")
    steps.get_by_role("button", name="Send the signal paid…").click()
    page.get_by_label("What it says").fill('{"by": "ann"}')
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("succeeded")
    steps.get_by_text("paid").click()
    expect(steps).to_contain_text('"by": "ann"')
    expect(page.locator(".stretches")).to_contain_text("waited in the middle")


def test_a_large_result_is_shown_whole(server: Server, open_page: Open) -> None:
    job = server.wait(server.submit("swell", params={"size": 200_000}), "SUCCEEDED")
    page = open_page(server, f"/jobs/{job['number']}")
    card = page.locator("section.card").filter(has=page.get_by_role("heading", name="Result"))
    expect(card.locator("pre")).to_contain_text("x" * 100_000)
