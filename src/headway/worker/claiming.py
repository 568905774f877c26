"""Claims, and the reports that go along with them.

A claim that takes reports along saves a transaction, or a request. So what ended goes with the next
claim if one comes soon, and otherwise by itself, through the reporter.
"""

from collections.abc import Collection

from headway.domain import errors
from headway.protocol.work_values import Report
from headway.worker.lease_keeper import LeaseKeeper
from headway.worker.log_shipper import LogShipper
from headway.worker.reporter import Reporter
from headway.worker.transport import Taken, Transport


class Claiming:
    """One claim after the other, from one thread."""

    def __init__(
        self,
        transport: Transport,
        reporter: Reporter,
        keeper: LeaseKeeper,
        shipper: LogShipper | None,
    ) -> None:
        self._transport = transport
        self._reporter = reporter
        self._keeper = keeper
        self._shipper = shipper
        self._takes_reports = transport.takes_reports
        self._is_next = False
        self._lost_answer = False

    def announce(self) -> None:
        """A claim comes next: what ends from now on goes along with it."""
        self._is_next = self._takes_reports

    def is_behind(self, slots: int) -> bool:
        """Whether as many ends as there are slots wait to be reported: each holds a lease."""
        return not self._takes_reports and self._reporter.unreported >= slots

    def claim(self, count: int, *, lease: bool, claimed: Collection[str]) -> Taken:
        """Claim jobs and report what has ended; `claimed` are jobs that have no lease yet."""
        self._is_next = False
        self._keeper.catch_up()
        reports = self._to_take_along()
        # After an answer that never came: what was leased to us may be more than we know of.
        holds = [*claimed, *self._keeper.known()] if self._lost_answer else None
        self._lost_answer = True
        try:
            taken = self._transport.claim(count, lease=lease, reports=reports, holds=holds)
        except Exception as error:
            self._reporter.put_back(reports)
            if not reports or isinstance(error, errors.Unavailable):
                raise
            self._takes_reports = False  # one of them is bad: the reporter finds out which
            return Taken(jobs=[], since=0.0)
        self._lost_answer = False
        if taken.reported is not None:
            self._reporter.taken_along(reports, taken.reported)
        else:
            self._reporter.put_back(reports)
        return taken

    def report(self, *, may_claim: bool) -> None:
        """Something has ended: report it with the next claim if there is one, or at once."""
        way = self._transport
        goes_along = way.takes_reports and (self._is_next or not way.claims_wait)
        if goes_along and may_claim:
            way.poke()
        else:
            self._reporter.poke()

    def _to_take_along(self) -> list[Report]:
        """Claims do not wait for output to be sent: runs that have some are reported apart."""
        reports = self._reporter.take() if self._takes_reports else []
        self._takes_reports = self._transport.takes_reports
        if self._shipper is None:
            return reports
        loud = [one for one in reports if self._shipper.has_output(one.lease_id)]
        self._reporter.put_back(loud)
        return [one for one in reports if one not in loud] if loud else reports
