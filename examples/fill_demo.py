"""Gives a running `script/server` something to show: `python -m examples.fill_demo`.

A release that waits for a person, orders of which some cannot be charged, films and stories that
show how far they are, a printer for one at a time, schedules, a group, jobs that cannot start yet.
"""

from contextlib import suppress
from pathlib import Path

import msgspec
from examples.demo import add, app, charge, flaky, receipt, refund, render, story

from headway import protocol
from headway.domain.errors import NameTaken
from headway.domain.requests.group_requests import GroupRequest
from headway.domain.requests.schedule_requests import ScheduleRequest
from headway.domain.requests.template_requests import TemplateRequest

FLOW = Path(__file__).parent / "flow.toml"
PRINTER = "printer"


def main() -> None:
    """Submit everything once more; what has a name and is there already stays as it is."""
    schedules()
    release()
    orders(range(1, 25))
    films()
    stories()
    cannot_start()
    app.close()


def schedules() -> None:
    """Two templates, and the schedules that make jobs of them."""
    for name, length in (("chapter", 4), ("report", 12)):
        params = {"genre": name, "length": length}
        body = TemplateRequest(name=name, job_type="story", params=params)
        with suppress(NameTaken):
            app.send(protocol.templates.create_template, body=body)
    for request in (
        ScheduleRequest(template="chapter", name="every 20 seconds", every="20s"),
        ScheduleRequest(template="report", name="nightly", cron="0 3 * * *", timezone="Asia/Tokyo"),
        ScheduleRequest(template="report", name="weekday mornings", cron="30 8 * * 1-5"),
    ):
        with suppress(NameTaken):
            app.send(protocol.schedules.create_schedule, body=request)


def release() -> None:
    """The graph of `flow.toml`: a person approves its first step."""
    batch = msgspec.toml.decode(FLOW.read_bytes(), type=protocol.jobs.Batch)
    app.send(protocol.jobs.create_jobs, body=batch)


def orders(numbers: range) -> None:
    """Orders, each with a receipt that comes after its payment, and one to refund."""
    with app.pipeline() as flow:
        for number in numbers:
            paid = flow.add(charge, order=number, amount=9.5 + number)
            flow.add(receipt.options(after=[paid]), order=number)
    refund.submit(order=7, amount=16.5)


def films() -> None:
    """Two scenes, and the cut that comes after both."""
    with app.pipeline() as flow:
        scenes = [flow.add(render, scene=name, frames=240) for name in ("harbour", "storm")]
        flow.add(render.options(after=scenes), scene="the cut", quality="final")


def stories() -> None:
    """Stories that share a printer, and a group of them."""
    app.send(protocol.limits.put_limit, name=PRINTER, body=protocol.limits.LimitBody(size=1))
    story.options(limits={PRINTER: 1}, tags=["books"]).submit(genre="crime", length=240)
    for genre in ("romance", "poetry"):
        story.options(limits={PRINTER: 1}, tags=["books"]).submit(genre=genre, length=30)
    jobs = [story.request(genre=genre, length=2) for genre in ("sea", "war", "love")]
    app.send(protocol.groups.create_group, body=GroupRequest(name="anthology", jobs=jobs))


def cannot_start() -> None:
    """Jobs that fail, and jobs that wait for a time or for a worker that there is not."""
    flaky.submit()
    failing = ("sh", "-c", "echo the disk is full >&2; exit 3")
    app.command(*failing, retries=1, retry_delay="1h")
    add.options(delay="1h").submit(a=1, b=2)
    add.options(requires=["gpu"]).submit(a=3, b=4)


if __name__ == "__main__":
    main()
