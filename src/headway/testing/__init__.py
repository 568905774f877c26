"""For tests: a temporary store, a clock you move by hand, and jobs that run when you say so.

>>> with headway.testing.Harness(app) as harness:
...     job = story.submit(genre="horror")
...     harness.run_until_idle()
...     assert job.result() == "…"
...     harness.advance("10s")  # retries and schedules come due
"""

from headway.testing.clock import MovableClock
from headway.testing.harness import Harness

__all__ = ["Harness", "MovableClock"]
