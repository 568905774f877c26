"""Files that people write by hand: TOML or JSON."""

import sys
import tomllib
from pathlib import Path

import msgspec

from headway.domain import errors


def as_json(path: Path) -> bytes:
    """A file's content as JSON; `-` is standard input, and JSON."""
    if str(path) == "-":
        return sys.stdin.buffer.read()
    try:
        raw = path.read_bytes()
        if path.suffix != ".toml":
            return raw
        return msgspec.json.encode(tomllib.loads(raw.decode()))
    except OSError as error:
        raise errors.InvalidRequest("file", f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeError) as error:
        raise errors.InvalidRequest("file", f"{path}: {error}") from None
