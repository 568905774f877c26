"""What a handler raises to end its job in a certain way."""


class Skip(Exception):
    """There was nothing to do: the job ends SKIPPED, with the reason as the run's error."""


class Fail(Exception):
    """The job failed for a known reason; `retry=False` also stops the automatic retries."""

    def __init__(self, reason: str, *, retry: bool = True) -> None:
        super().__init__(reason)
        self.retry = retry
