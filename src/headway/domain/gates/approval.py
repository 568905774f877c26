"""Gate 5: has a person agreed?"""

from headway.domain import states
from headway.domain.gates.verdict import Blocker, Closed
from headway.domain.jobs import Approval


def check(approval: Approval | None) -> Closed | None:
    """Closed until the job is approved. A rejection ends it at once."""
    if approval is not Approval.PENDING:
        return None
    return Closed(
        status=states.WAITING_ON_APPROVAL, kind="approval", detail="awaiting human approval"
    )


def check_signal(name: str) -> Closed:
    """Closed until the signal comes for which the program of the job waits."""
    return Closed(
        status=states.SUSPENDED,
        kind="signal",
        detail=f"awaiting signal {name}",
        blockers=(Blocker(kind="signal", id=name),),
    )
