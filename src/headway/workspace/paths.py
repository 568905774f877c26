"""Paths never leave the workspace."""

import os
from pathlib import Path


def inside(root: Path, path: str) -> Path | None:
    """The real place of `path`, or None when it is outside `root` or no path at all."""
    try:
        place = Path(os.path.realpath(root / path))
    except ValueError:
        return None
    return place if place.is_relative_to(root) else None
