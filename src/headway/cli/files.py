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
            return _checked(path, raw)
        return msgspec.json.encode(tomllib.loads(raw.decode()))
    except OSError as error:
        raise errors.InvalidRequest("file", f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeError) as error:
        raise errors.InvalidRequest("file", f"{path} is not TOML: {error}") from None


def _checked(path: Path, raw: bytes) -> bytes:
    try:
        msgspec.json.decode(raw, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise errors.InvalidRequest(
            "file",
            f"{path} is not JSON, and a file of TOML has a name that ends in .toml ({error})",
        ) from None
    return raw
