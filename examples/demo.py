"""A small app to watch: `script/server` runs it."""

import time

import headway

app = headway.App()


@app.job(retries=2, retry_delay="30s", timeout="10m")
def story(ctx: headway.JobContext, genre: str, length: int = 5) -> str:
    """Write a story, slowly enough to be watched."""
    for page in range(length):
        print(f"page {page + 1} of a {genre} story")
        ctx.progress((page + 1) / length, f"page {page + 1}")
        time.sleep(1)
    return f"a {genre} story of {length} pages"


@app.job
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@app.job(retries=3, retry_delay="2s")
def flaky(ctx: headway.JobContext) -> str:
    """Fail twice, then work."""
    if ctx.attempt < 2:
        raise RuntimeError(f"attempt {ctx.attempt} did not work")
    return f"worked at attempt {ctx.attempt}"


def charge_card(number: int) -> str:
    """A step of `order`: it runs once, whatever happens afterwards."""
    return f"charge-{number}"


@app.job(retries=5)
def order(ctx: headway.JobContext, number: int) -> str:
    """Charge, let a person decide, add up the parcels: a program that may live for weeks."""
    charge = ctx.step(charge_card, number)
    answer = ctx.wait_for("approved", timeout="7d")
    parcels = ctx.map(add, [{"a": number, "b": parcel} for parcel in range(3)])
    return f"{charge} approved by {answer['by']}, parcels {parcels}"
