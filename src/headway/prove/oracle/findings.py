"""What can be found wrong, by kind."""

import msgspec

LOST = "lost"
DOUBLED = "doubled"
ORDER = "order"
FIRES = "fires"
RETRIES = "retries"
GRAPHS = "graphs"
GROUPS = "groups"
GATES = "gates"
STUCK = "stuck"
DAMAGE = "damage"
PROCESSES = "processes"

KINDS = (LOST, DOUBLED, ORDER, FIRES, RETRIES, GRAPHS, GROUPS, GATES, STUCK, DAMAGE, PROCESSES)


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong."""

    kind: str
    detail: str
