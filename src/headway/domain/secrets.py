"""What is secret, by its name: variables of the environment, and params."""

import fnmatch
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from headway.domain import errors

_OURS = re.compile(r"HEADWAY_.*(TOKEN|SECRET|PASSWORD|KEY)")
_POSTGRES = frozenset({"PGPASSWORD", "PGPASSFILE"})


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment for a job's program: without our secrets and those of the database."""
    return {
        name: value for name, value in environment.items() if not _is_secret_variable(name, value)
    }


def _is_secret_variable(name: str, value: str) -> bool:
    if name == "HEADWAY_DB":
        return not value.startswith("sqlite:")  # any other URL may hold a password
    return name in _POSTGRES or _OURS.fullmatch(name) is not None


MASK = "***"
"""What is shown in place of a secret."""

SECRET_PARAMS = ("*password*", "*token*", "*secret*", "*api_key*")
"""Names of params whose values are secret, as the shell writes patterns."""


SECRET_ENV = "secret_env"
"""The param of a command with variables that are secret whatever the patterns say."""


@cache
def names(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Patterns for names as one expression, for which upper and lower case are the same."""
    one_of = "|".join(fnmatch.translate(one) for one in (SECRET_ENV, *patterns))
    return re.compile(one_of, re.IGNORECASE)


def masked(params: Mapping[str, Any], secret: re.Pattern[str]) -> Mapping[str, Any]:
    """Params with a mask for each secret, however deep it is; the same object if there is none."""
    shown: Mapping[str, Any] = _masked(params, secret)
    return shown


def _masked(value: Any, secret: re.Pattern[str]) -> Any:
    if isinstance(value, Mapping):
        items = {
            name: MASK if secret.match(name) else _masked(inner, secret)
            for name, inner in value.items()
        }
        is_same = all(items[name] is inner for name, inner in value.items())
        return value if is_same else items
    if isinstance(value, list):
        inner = [_masked(one, secret) if isinstance(one, dict | list) else one for one in value]
        is_same = all(new is old for new, old in zip(inner, value, strict=True))
        return value if is_same else inner
    return value


def check_not_masked(params: Mapping[str, Any], secret: re.Pattern[str]) -> None:
    """Refuse a mask that was read and is sent back: a job would run with it as its secret."""
    for name, value in params.items():
        if value == MASK and secret.match(name):
            raise errors.InvalidRequest(
                f"params.{name}",
                f"{MASK} only stands for a secret that is not shown; send the secret itself",
            )


SHORTEST_HIDDEN = 4
"""Shorter values are not looked for in a text: they would be found in ordinary words."""


def hidden(text: str, params: Mapping[str, Any], secret: re.Pattern[str]) -> str:
    """A text, such as an error, with a mask for each value of a secret param that it quotes."""
    values = set(_secret_values(params, secret))
    written = {form for value in values for form in (value, _in_python(value), _in_json(value))}
    for value in sorted(written, key=len, reverse=True):
        text = text.replace(value, MASK)
    return text


def _in_python(value: str) -> str:
    """As most errors quote it."""
    return repr(value)[1:-1]


def _in_json(value: str) -> str:
    return json.dumps(value)[1:-1]


def _secret_values(value: Any, secret: re.Pattern[str]) -> Iterator[str]:
    """Texts under secret names, however deep.

    Of the variables in `secret_env` only those with secret names count: `headway run` puts a whole
    environment there, with words that stand in many texts.
    """
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if secret.match(name) and name.lower() != SECRET_ENV:
                yield from _texts(inner)
            else:
                yield from _secret_values(inner, secret)
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, dict | list):
                yield from _secret_values(inner, secret)


def _texts(value: Any) -> Iterator[str]:
    """Every text in a value that is long enough to be looked for."""
    if isinstance(value, str):
        if len(value) >= SHORTEST_HIDDEN:
            yield value
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner)
