"""The groups that the jobs of a submit come after."""

from collections.abc import Mapping

from headway.domain import errors
from headway.domain.jobs import AfterGroup
from headway.domain.requests import after_requests
from headway.scheduler.submit.batch_errors import Turns
from headway.scheduler.submit.references import Plan
from headway.storage import jobs
from headway.storage.engine.transaction import Transaction
from headway.storage.manage import groups
from headway.storage.manage.groups import GroupRecord

AfterGroups = Mapping[int, tuple[AfterGroup, ...]]
"""The groups that jobs come after, by the numbers of those jobs."""


def resolve(tx: Transaction, plans: Mapping[int, Plan], turns: Turns) -> AfterGroups:
    """The groups that are named, each with a number among the dependencies."""
    known: dict[str, GroupRecord] = {}
    numbers: dict[str, int] = {}
    found: dict[int, tuple[AfterGroup, ...]] = {}
    for plan in turns.each(plans.items()):
        named: dict[tuple[str, str], AfterGroup] = {}
        for name, policy in after_requests.groups(plan.request):
            group = known.get(name) or groups.named(tx, name)
            if group is None:
                raise errors.UnknownReference("after", "group", name)
            known[name] = group
            if group.group_id not in numbers:
                numbers[group.group_id] = group.chain or _new_chain(tx, group)
            named[group.group_id, policy] = AfterGroup(
                group=group.group_id, number=numbers[group.group_id], policy=policy
            )
        if named:
            found[plan.number] = tuple(named.values())
    return found


def _new_chain(tx: Transaction, group: GroupRecord) -> int:
    """A number of its own, below zero, where no chain of jobs has one."""
    chain = -jobs.allocate(tx, payloads=1).payload_id
    groups.set_chain(tx, group.group_id, chain)
    return chain
