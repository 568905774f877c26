"""The graph as text: what is waiting on what, in plain ASCII."""

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import msgspec

from headway.domain.answers import Edge, Graph, Node

HEADER = "Schedule (DAG)"
EMPTY = "Outcome: No scheduled jobs"
LONGEST_COMMAND = 60
NARROWEST = 20

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_BRANCH = re.compile(r"(?:\|   |    )*(?:\|-- |`-- )?")

Number: TypeAlias = Callable[[str], str]
"""From a job's id to its number, or to the id if that is not known."""


def render(graph: Graph, max_depth: int = 3, number: Number = str) -> str:
    """A tree for each job that no other waits for, with what it waits for underneath.

    Jobs that are named in the texts and are not in the picture are looked up by `number`.
    """
    if not graph.nodes:
        return EMPTY
    return "\n".join([HEADER, *_Drawing(graph, max_depth, number).lines()])


def fitted(drawing: str, width: int | None) -> str:
    """The drawing with lines that are too long for the screen continued below, in their branch."""
    if width is None:
        return drawing
    return "\n".join(part for line in drawing.split("\n") for part in _wrapped(line, width))


def _wrapped(line: str, width: int) -> list[str]:
    branch = _BRANCH.match(line)
    indent = branch[0] if branch else ""
    below = indent.replace("|--", "|  ").replace("`--", "   ") + "    "
    room = max(width, len(below) + NARROWEST)
    return textwrap.wrap(
        line[len(indent) :], room, initial_indent=indent, subsequent_indent=below
    ) or [line]


class _Drawing:
    """Each job is unfolded where it is first met."""

    def __init__(self, graph: Graph, max_depth: int, number: Number) -> None:
        self._nodes = {node.id: node for node in graph.nodes}
        self._edges: dict[str, list[Edge]] = {}
        for edge in graph.edges:
            self._edges.setdefault(edge.source, []).append(edge)
        self._targets = {edge.to for edge in graph.edges}
        self._max_depth = max_depth
        self._number = number
        self._unfolded: set[str] = set()
        self._shown: set[str] = set()

    def lines(self) -> Iterator[str]:
        """All trees. Jobs in a cycle have no root, so they come at the end."""
        order = sorted(self._nodes.values(), key=lambda node: node.number)
        tops = [node for node in order if node.id not in self._targets]
        for node in [*tops, *order]:
            if node.id not in self._shown:
                self._shown.add(node.id)
                yield _ascii(self._node(node))
                yield from self._below(node.id, "", 1)

    def _below(self, job: str, indent: str, depth: int) -> Iterator[str]:
        edges = self._edges.get(job, [])
        if job in self._unfolded or depth > self._max_depth:
            return
        self._unfolded.add(job)
        for place, edge in enumerate(edges):
            last = place == len(edges) - 1
            yield _ascii(f"{indent}{'`-- ' if last else '|-- '}{self._edge(edge)}")
            self._shown.add(edge.to)
            yield from self._below(edge.to, indent + ("    " if last else "|   "), depth + 1)

    def _edge(self, edge: Edge) -> str:
        name = edge.artifact
        if edge.child:
            name = "child"
        elif isinstance(name, msgspec.UnsetType):
            name = f"after:{edge.after.policy}" if edge.after else "after"
            name += f" group {edge.group}" if edge.group else ""
        node = self._nodes.get(edge.to)
        if node is None:
            return f"{name} [{edge.state or 'missing'}]"
        return f"{name} -> {self._node(node, edge.status or None)}"

    def _node(self, node: Node, status: str | None = None) -> str:
        return " ".join([str(node.number), status or node.status, *self._brackets(node)])

    def _brackets(self, node: Node) -> Sequence[str]:
        command = node.command
        if len(command) > LONGEST_COMMAND:
            command = command[: LONGEST_COMMAND - 3] + "..."
        found = [f"[{node.name}: {command}]" if node.name else f"[{command}]"]
        if node.wait:
            found.append(f"[wait: {_UUID.sub(self._named, node.wait)}]")
        if node.locks:
            found.append(f"[locks: {', '.join(node.locks)}]")
        if node.pinned:
            found.append(f"[pinned: {node.pinned}]")
        return found

    def _named(self, id_: re.Match[str]) -> str:
        """People know jobs by their numbers."""
        node = self._nodes.get(id_[0])
        return str(node.number) if node else self._number(id_[0])


def _ascii(text: str) -> str:
    """No letters beyond ASCII, and nothing that could move the cursor."""
    plain = "".join(letter if letter.isprintable() else "?" for letter in text)
    return plain.encode("ascii", "backslashreplace").decode()
