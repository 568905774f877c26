"""What people type to find a job: words, numbers and ids."""

import pytest

from headway.domain import errors, search
from headway.domain.search import Ids, Word


def test_words_are_what_is_between_spaces_and_signs_in_any_case() -> None:
    assert search.words(("Nightly_Report", "env:Straße/nightly")) == (
        *("nightly", "report"),
        *("env", "strasse"),
    )


def test_a_term_is_a_number_an_id_or_words() -> None:
    number, text, id_ = search.read("12 send_em 0190ABCD-1")
    assert (number.words, number.number) == ((Word("12", whole=True),), 12)
    assert (text.words, text.number, text.ids) == ((Word("send"), Word("em")), None, None)
    assert id_.ids == Ids(
        "0190abcd-1000-0000-0000-000000000000", "0190abcd-1fff-ffff-ffff-ffffffffffff"
    )


def test_a_number_fits_as_a_whole_and_a_word_by_how_it_begins() -> None:
    known = ["12", "120", "123", "reply", "report", "req"]
    for word, fitting in ((Word("12", whole=True), ["12"]), (Word("rep"), ["reply", "report"])):
        assert [one for one in known if word.fits(one)] == fitting
        assert [one for one in known if word.text <= one < word.last] == fitting


@pytest.mark.parametrize(
    "text", ["--- ::", "x" * 201, " ".join("abcdefghi"), "_".join("abcdefghijklmnopq")]
)
def test_a_search_has_words_and_not_too_many(text: str) -> None:
    with pytest.raises(errors.InvalidRequest):
        search.read(text)
