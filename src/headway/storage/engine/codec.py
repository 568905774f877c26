"""How values become JSON text in a column, and come back."""

from typing import Any

import msgspec

from headway.domain.jobs import Terms

NO_TERMS = Terms()

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()
_terms = msgspec.json.Decoder(Terms)


def dump(value: Any) -> str:
    """JSON text."""
    return _encoder.encode(value).decode()


def load(text: str) -> Any:
    """Whatever the JSON text says."""
    return _decoder.decode(text)


def dump_terms(terms: Terms) -> str:
    """The terms of a job; most jobs have none."""
    return "{}" if terms == NO_TERMS else dump(terms)


def load_terms(text: str) -> Terms:
    """The terms of a job; those of most jobs are the same value."""
    return NO_TERMS if text == "{}" else _terms.decode(text)
