"""Docstrings and comments use the words of the trade: a function returns, a job is waiting."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.fences import ROOT

SOURCE = ROOT / "src" / "headway"
PEOPLE = "whoever|nobody|somebody|anybody|everybody"
AS_A_VERB = r"(?:[;.] |^\"\"\"|\b(?:it|which|that|then|function) )answers"
IMAGES = "in (?:one|the same) breath|in the light of|where (?:it|they) stands?|as it stood"
IN_TEXT = re.compile(rf"\b(?:{PEOPLE}|{IMAGES})\b|{AS_A_VERB}\b", re.IGNORECASE)
IN_NAMES = re.compile(rf"({PEOPLE})", re.IGNORECASE)
FILES = sorted(SOURCE.rglob("*.py"))
QUERIES = sorted(SOURCE.rglob("queries/*.sql"))
COMMENT = re.compile(r"--.*")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_docstrings_comments_and_names_have_no_people_where_a_term_exists(path: Path) -> None:
    assert [*_found(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_comments_of_queries_have_none_either(path: Path) -> None:
    comments = COMMENT.findall(path.read_text(encoding="utf-8"))
    assert [one for one in comments if IN_TEXT.search(one)] == []


def test_titles_of_tests_have_none_either() -> None:
    titles = [
        title
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for title in re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8"))
    ]
    assert [title for title in titles if IN_NAMES.search(title)] == []


def test_the_check_finds_what_it_is_for() -> None:
    bad = '"""Answers whoever asks."""\nsomebody_ended = 1  # nobody knows\n'
    assert len([*_found(bad)]) == 4


def _found(source: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        is_docstring = token.type == tokenize.STRING and token.string.startswith('"""')
        if is_docstring or token.type == tokenize.COMMENT:
            yield from (f"{token.start[0]}: {match[0]}" for match in IN_TEXT.finditer(token.string))
        elif token.type == tokenize.NAME and IN_NAMES.search(token.string):
            yield f"{token.start[0]}: {token.string}"
