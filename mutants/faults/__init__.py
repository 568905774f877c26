"""The faults, one file for each section of the contract."""

from mutants.fault import Fault
from mutants.faults import (
    direct,
    gates,
    groups,
    leases,
    order,
    programs,
    recovery,
    results,
    retries,
    schedules,
    state_machine,
    submitting,
    telling,
    upkeep,
    work,
)

ALL: tuple[Fault, ...] = (
    *state_machine.FAULTS,
    *submitting.FAULTS,
    *gates.FAULTS,
    *order.FAULTS,
    *leases.FAULTS,
    *work.FAULTS,
    *retries.FAULTS,
    *groups.FAULTS,
    *schedules.FAULTS,
    *direct.FAULTS,
    *telling.FAULTS,
    *recovery.FAULTS,
    *programs.FAULTS,
    *results.FAULTS,
    *upkeep.FAULTS,
)
"""Every fault, in the order of the contract."""
