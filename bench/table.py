"""How figures are printed: one line each, the CPU beside every rate."""

from bench.cost import Cost


def say(what: str, figure: str, ratio: str = "") -> None:
    """One line."""
    print(f"  {what:<46}{figure:>34}  {ratio}".rstrip(), flush=True)


def say_cost(what: str, cost: Cost, ratio: str = "") -> None:
    """The rate and the CPU of one job."""
    say(what, f"{cost.rate:>10,.0f}/s {cost.cpu_us:>8,.1f} us CPU each", ratio)


def against(ours: Cost, other: Cost, name: str) -> str:
    """How many times the rate and the CPU of another."""
    rate, cpu = ours.rate / other.rate, ours.cpu_us / other.cpu_us
    return f"{rate:.2f}x the rate, {cpu:.1f}x the CPU of {name}"
