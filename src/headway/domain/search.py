"""A search among jobs: each term of it must be found in what a job is known by."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from headway.domain import errors

LONGEST = 200
MOST_TERMS = 8
MOST_WORDS = 16
"""A term may be several words, such as `send_email`."""

_LAST = "\U0010ffff"
_WORD = re.compile(r"[^\W_]+")
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{0,4}){0,3}(-[0-9a-f]{0,12})?")
_LENGTH_OF_ID = 36
_LONGEST_NUMBER = 18
"""Digits of the largest number that every database takes."""


class Ids(NamedTuple):
    """The ids that begin in the same way: the first and the last there could be."""

    first: str
    last: str


class Word(NamedTuple):
    """A word to look for: a number as a whole, any other by how it begins."""

    text: str
    whole: bool = False

    @property
    def last(self) -> str:
        """What comes behind the last word that fits; no letter and no digit comes before 0."""
        return self.text + ("0" if self.whole else _LAST)

    def fits(self, word: str) -> bool:
        """Whether this is such a word."""
        return word == self.text if self.whole else word.startswith(self.text)


class Term(NamedTuple):
    """A job has it as its number, at the start of its id, or in the words that it is known by."""

    words: tuple[Word, ...]
    number: int | None = None
    ids: Ids | None = None

    @property
    def longest(self) -> Word:
        """The word that likely fits the fewest."""
        return max(self.words, key=lambda word: len(word.text))


def words(texts: Iterable[str]) -> tuple[str, ...]:
    """The words in some texts, each once, whatever the case and what is between them."""
    return tuple(dict.fromkeys(word for text in texts for word in _WORD.findall(text.casefold())))


def read(text: str) -> tuple[Term, ...]:
    """The terms of a search; signs alone are none."""
    if len(text) > LONGEST:
        raise errors.InvalidRequest("search", f"has {len(text)} characters, more than {LONGEST}")
    terms = tuple(term for one in text.split() if (term := _term(one)).words)
    if not terms:
        raise errors.InvalidRequest("search", "has no letters or digits to look for")
    if len(terms) > MOST_TERMS or sum(len(term.words) for term in terms) > MOST_WORDS:
        raise errors.InvalidRequest(
            "search", f"looks for more than {MOST_TERMS} terms or {MOST_WORDS} words"
        )
    return terms


def _term(text: str) -> Term:
    is_number = text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER
    found = tuple(Word(word, is_number) for word in words((text,)))
    return Term(found, int(text) if is_number else None, _ids(text.lower()))


def _ids(text: str) -> Ids | None:
    """An id in full, or at least the first eight digits of it."""
    if not _ID.fullmatch(text):
        return None
    form = "00000000-0000-0000-0000-000000000000"
    if len(text) > _LENGTH_OF_ID or any(
        (letter == "-") != (form[place] == "-") for place, letter in enumerate(text)
    ):
        return None
    return Ids(text + form[len(text) :], text + form[len(text) :].replace("0", "f"))
