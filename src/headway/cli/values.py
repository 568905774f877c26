"""Values as people type them: `key=value` pairs and JSON."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from headway.domain import errors
from headway.domain.values import durations


def read_params(words: Sequence[str], text: str | None) -> dict[str, Any]:
    """Params from a JSON object, then from pairs; a value that is JSON is read as such."""
    found = _read_object(text) if text is not None else {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name:
            raise errors.InvalidRequest("params", f"{word!r} is not KEY=VALUE")
        found[name] = _value(value)
    return found


def _read_object(text: str) -> dict[str, Any]:
    """A JSON object."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise errors.InvalidRequest("params", f"not a JSON object: {error}") from None


def read_json(field: str, text: str) -> Any:
    """A value that was typed as JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise errors.InvalidRequest(field, f"not JSON: {error}") from None


def moment_or_ago(text: str | None, option: str) -> datetime | None:
    """A moment as it was typed, or how long ago it was: `2h`."""
    from headway.cli import job_options

    if text is None:
        return None
    try:
        return datetime.now(UTC) - timedelta(seconds=durations.parse(text))
    except errors.InvalidDuration:
        return job_options.moment(text, option)


def written(value: Any) -> str:
    """A result for people: text as it is, everything else as JSON."""
    if isinstance(value, str):
        return value
    return msgspec.json.format(msgspec.json.encode(value)).decode()


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text
