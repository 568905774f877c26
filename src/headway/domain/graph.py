"""Cycles: the graph of jobs as plain numbers."""

from collections.abc import Collection, Mapping, Sequence

DEFAULT_DEPTH = 3
"""How far from one job its neighbourhood is shown."""


def find_cycle(edges: Mapping[int, Sequence[int]]) -> list[int] | None:
    """A way around, first node repeated at the end, or None. Walks without recursion."""
    done: set[int] = set()
    for start in edges:
        if start in done:
            continue
        path: list[int] = []
        on_path: set[int] = set()
        stack: list[tuple[int, int]] = [(start, 0)]
        while stack:
            node, step = stack.pop()
            if step == 0:
                path.append(node)
                on_path.add(node)
            targets = edges.get(node, ())
            if step < len(targets):
                stack.append((node, step + 1))
                target = targets[step]
                if target in on_path:
                    return [*path[path.index(target) :], target]
                if target not in done:
                    stack.append((target, 0))
            else:
                path.pop()
                on_path.discard(node)
                done.add(node)
    return None


def stuck(waits: Mapping[int, Sequence[Collection[int]]]) -> set[int]:
    """The jobs that can never start, if each waits for one of each of its sets.

    A job that waits for nothing, or is not known to wait, goes on, as does each that this frees.
    """
    behind: dict[int, list[tuple[int, int]]] = {}
    for node, sets in waits.items():
        for place, members in enumerate(sets):
            for one in members:
                behind.setdefault(one, []).append((node, place))
    unmet = {node: set(range(len(sets))) for node, sets in waits.items()}
    going = [node for node in {*waits, *behind} if not unmet.get(node)]
    while going:
        for node, place in behind.get(going.pop(), ()):
            if place in unmet[node]:
                unmet[node].remove(place)
                if not unmet[node]:
                    going.append(node)
    return {node for node, places in unmet.items() if places}
