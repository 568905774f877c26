"""The artifact kind `filled:<path>`: a file of the workspace that has something in it.

Beside Headway, `pip install ./examples/artifact_kind`; then a job may wait for such a file:
`headway submit report --needs filled:out/data.csv`. The built-in kind `file` takes empty files.
"""

from pathlib import Path


def is_filled(workspace: Path, key: str) -> bool:
    """Whether the file is there and not empty; a path that leads out counts as missing."""
    root = workspace.resolve()
    path = (root / key).resolve()
    return path.is_relative_to(root) and path.is_file() and path.stat().st_size > 0
