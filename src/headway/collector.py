"""Python's garbage collector, set for a process that runs for long."""

import gc


def calm() -> None:
    """Leave what was imported alone, and look at the rest less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
