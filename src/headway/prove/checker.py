"""`headway verify` for many databases in one process, which is much faster than one for each."""

import contextlib
import io
import json
import sys
from importlib import import_module


def main() -> None:
    """Verify the data directory that each line names; the answer is a line of JSON."""
    for line in sys.stdin:
        print(json.dumps(_verify(line.strip())), flush=True)


def _verify(data: str) -> list[str]:
    """What `headway verify` finds wrong in a data directory."""
    cli = import_module("headway.cli.main")
    said, complained = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
        try:
            code = cli.app(["verify", "--json", "--data", data], standalone_mode=False)
        except SystemExit as end:
            code = end.code
    if code in (0, None):
        return []
    try:
        return [str(one) for one in json.loads(said.getvalue())["problems"]]
    except (ValueError, KeyError):
        return [f"headway verify failed: {said.getvalue()}{complained.getvalue()}".strip()]
