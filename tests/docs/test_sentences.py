"""Sentences are for people: code decides by the class, code and facts of an error or reason."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "headway"
READS_MSGSPEC = SOURCE / "domain" / "errors" / "validation.py"

SENTENCES = {"detail", "wait_detail", "problem", "sentence"}
PARSERS = {
    *("startswith", "endswith", "partition", "rpartition", "split", "find", "index", "count"),
    *("replace", "removeprefix", "removesuffix"),
}


def test_no_code_parses_a_sentence_or_looks_for_words_in_one() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}: {ast.unparse(node)}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path != READS_MSGSPEC
        for node in _readings(ast.parse(path.read_text()))
    ]
    assert found == []


def test_the_check_finds_what_it_is_for() -> None:
    bad = (
        'if "certificate" in str(error).lower(): pass\n'
        'error.detail.replace("give", "use")\n'
        '(row.detail or "").partition("; ")\n'
        'if job.wait_reason.detail == "awaiting human approval": pass\n'
    )
    assert len([*_readings(ast.parse(bad))]) == 4


def _readings(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(map(_is_sentence, sides)) and any(map(_is_text, sides)):
                yield node
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in PARSERS
            and node.args  # without any, `split` only looks for blanks
            and _is_sentence(node.func.value)
        ):
            yield node


def _is_sentence(node: ast.expr) -> bool:
    """`error.detail`, `str(error)`, and what only lowers or guards them."""
    if isinstance(node, ast.Attribute):
        return node.attr in SENTENCES
    if isinstance(node, ast.BoolOp):
        return any(map(_is_sentence, node.values))
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            return node.func.attr in ("lower", "strip") and _is_sentence(node.func.value)
        return (
            isinstance(node.func, ast.Name)
            and node.func.id == "str"
            and any(isinstance(one, ast.Name) and "error" in one.id for one in node.args)
        )
    return False


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
