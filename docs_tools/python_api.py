"""The reference of the Python package, from its signatures and docstrings."""

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

import headway
from docs_tools.tables import WRITTEN_BY, table
from headway.testing import Harness

PAGE = """\
# Python

{written_by}

Everything here is `import headway`, with types for mypy and pyright. [Write jobs](write-jobs.md) is
the guide; this page has each name. A method that waits for the scheduler has a twin whose name ends
with `_async`, which does the same without blocking an event loop.

{parts}
"""

PARTS: dict[str, tuple[str, ...]] = {
    "Jobs": ("App", "JobFunction", "JobHandle", "Pipeline", "Step", "Steps"),
    "Inside a handler": ("JobContext", "AsyncJobContext"),
    "Clients": ("connect", "Client"),
    "Options": ("JobOptions", "SubmitOptions"),
    "Policies of your own": ("ConcurrencyPolicy", "StandardPolicy", "GroupFailurePolicy"),
}
"""What is described with all its methods; of the rest, each kind has a table."""

BETWEEN_US = {
    *("work_for", "as_child", "record_step_on", "handlers_of", "program", "suspended_for"),
    *("take_progress", "put_back", "remark", "when_cancelled", "awaited", "logs"),
}
"""What other parts of the package call, and no program."""


def page() -> str:
    """The whole page."""
    parts = [_part(title, names) for title, names in PARTS.items()]
    parts += ["## Testing", *_described("testing.Harness", Harness)]
    parts += ["## Exceptions", _table(_exceptions()), "## Values", _table(_values())]
    return PAGE.format(written_by=WRITTEN_BY, parts="\n\n".join(parts))


def _part(title: str, names: tuple[str, ...]) -> str:
    described = (line for name in names for line in _described(name, getattr(headway, name)))
    return "\n\n".join([f"## {title}", *described])


def _described(name: str, thing: Any) -> Iterator[str]:
    if inspect.isfunction(thing):
        yield f"### `{name}{_signature(thing)}`"
        yield _doc(thing)
        return
    yield f"### `{name}`"
    yield _doc(thing)
    if hasattr(thing, "__total__"):
        yield _table(_fields(thing), "Type")
        return
    rows = []
    for member, value in _members(thing):
        call = "" if isinstance(value, property) else _signature(value)
        about = _doc(value.fget if isinstance(value, property) else value)
        rows.append(f"- **`{member}{call}`**: {about}")
    if rows:
        yield "\n".join(rows)


def _members(thing: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that have something to say, in the order of the code."""
    seen: set[str] = set()
    for owner in thing.__mro__:
        for name, value in vars(owner).items():
            wrapped = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            is_one = inspect.isfunction(wrapped) or isinstance(wrapped, property)
            if is_one and name not in seen and not _is_left_out(thing, name):
                seen.add(name)
                yield name, wrapped


def _is_left_out(thing: type, name: str) -> bool:
    is_ours = name in BETWEEN_US or (thing is headway.JobContext and name == "cancel")
    return is_ours or name.startswith("_") or name.endswith("_async")


def _exceptions() -> Iterator[tuple[str, str]]:
    for name in headway.__all__:
        thing = getattr(headway, name)
        if inspect.isclass(thing) and issubclass(thing, BaseException):
            yield name, _doc(thing)


def _values() -> Iterator[tuple[str, str]]:
    told = {name for names in PARTS.values() for name in names}
    for name in headway.__all__:
        thing = getattr(headway, name)
        if not inspect.isclass(thing) or name in told or issubclass(thing, BaseException):
            continue
        fields = ""
        if issubclass(thing, msgspec.Struct):
            fields = ", ".join(f"`{field}`" for field in thing.__struct_fields__)
        elif hasattr(thing, "__members__"):
            fields = ", ".join(f"`{member}`" for member in thing.__members__)
        yield name, f"{_doc(thing)} {fields}".strip()


def _table(rows: Iterable[tuple[str, str]], about: str = "Meaning") -> str:
    shown = ((f"`{name}`", text.replace("|", "\\|")) for name, text in rows)
    return table(("Name", about), shown)


def _signature(function: Any) -> str:
    """As it is written: what is made of it at run time is not the same in every Python."""
    written = _written(function)
    assert isinstance(written, ast.FunctionDef | ast.AsyncFunctionDef)
    arguments = written.args
    for own in (arguments.posonlyargs, arguments.args):
        own[:] = [one for one in own if one.arg not in ("self", "cls")]
    returns = f" -> {ast.unparse(written.returns)}" if written.returns else ""
    return f"({ast.unparse(arguments)}){returns}"


def _fields(thing: Any) -> Iterator[tuple[str, str]]:
    """The fields that a class has itself, with their types as they are written."""
    written = _written(thing)
    assert isinstance(written, ast.ClassDef)
    for line in written.body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            yield line.target.id, f"`{ast.unparse(line.annotation)}`"


def _written(thing: Any) -> ast.stmt:
    return ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]


def _doc(thing: Any) -> str:
    """The first paragraph of a docstring, on one line."""
    text = inspect.getdoc(thing) or ""
    return " ".join(text.partition("\n\n")[0].split())
