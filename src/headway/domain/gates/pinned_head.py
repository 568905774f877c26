"""Gate 4: is the branch still at the commit the job is pinned to?"""

from headway.domain import states
from headway.domain.gates.verdict import Blocker, Closed
from headway.domain.jobs import PinnedHead


def check(pin: PinnedHead | None, head: str | None, matches: bool) -> Closed | None:
    """Closed while they differ; it opens again when they match again."""
    if pin is None or matches:
        return None
    found = f"{pin.branch} is at {head[:12]}" if head else f"there is no branch {pin.branch}"
    return Closed(
        status=states.WAITING_ON_DEPS,
        kind="pinned_head",
        detail=f"pinned head mismatch on {pin.branch}",
        blockers=(
            Blocker(kind="branch", id=pin.branch, detail=f"{found}, pinned to {pin.commit[:12]}"),
        ),
    )
