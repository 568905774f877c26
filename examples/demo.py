"""A small app to watch: `script/server` runs it."""

import sys
import time
from typing import Literal

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


@app.job(timeout="10m", tags=["film"])
def render(
    ctx: headway.JobContext,
    scene: str,
    frames: int = 40,
    quality: Literal["draft", "final"] = "draft",
) -> dict[str, object]:
    """Render a scene, frame by frame, with colours in its output."""
    for frame in range(frames):
        print(f"\033[36m{scene}\033[0m frame {frame + 1:3} \033[32mdone\033[0m", flush=True)
        ctx.progress((frame + 1) / frames, f"frame {frame + 1} of {frames}")
        time.sleep(0.5)
    print("no colour profile: assuming sRGB", file=sys.stderr)
    return {"scene": scene, "frames": frames, "quality": quality}


@app.job(queue="payments", retries=0, tags=["shop"])
def charge(order: int, amount: float, currency: Literal["EUR", "USD"] = "EUR") -> str:
    """Charge a customer's card; every fifth card is declined."""
    time.sleep(0.05 * (order % 4))
    if order % 5 == 3:
        raise RuntimeError("the card was declined")
    return f"charged {amount:.2f} {currency}"


@app.job(queue="mail", tags=["shop"])
def receipt(order: int) -> str:
    """Write the receipt of an order."""
    return f"receipt-{order}.pdf"


@app.job(queue="payments", tags=["shop"])
def refund(ctx: headway.JobContext, order: int, amount: float) -> str:
    """Refund an order: a program that waits for a person's signal between its steps."""
    receipt_file = ctx.step(find_receipt, order)
    said = ctx.wait_for("checked", timeout="7d")
    reference = ctx.step(pay_back, order, amount)
    by = "nobody" if said is None else said.get("by", "somebody")
    return f"{receipt_file}: {reference}, checked by {by}"


def find_receipt(order: int) -> str:
    """A step: its result is kept before the program goes on."""
    return f"receipt-{order}.pdf"


def pay_back(order: int, amount: float) -> str:
    """A step that must not happen twice."""
    return f"paid back {amount:.2f} for order {order}"
