"""Which folder's store is meant: this one's, or that of the nearest folder above, as git does."""

import os
from collections.abc import Iterator
from pathlib import Path

STORE = ".headway"
SETTINGS = "headway.toml"


def above() -> Path | None:
    """The nearest folder above that has a store; None where this folder has one, or settings."""
    try:
        here = Path.cwd()
        if (here / STORE).exists() or (here / SETTINGS).exists():
            return None
        return next((one for one in _parents(here) if _has_own_store(one)), None)
    except OSError:
        return None


def _parents(here: Path) -> Iterator[Path]:
    """The folders above, up to the home directory and on the same file system."""
    home = Path(os.path.realpath(os.path.expanduser("~")))
    device = here.stat().st_dev
    for inner, outer in zip((here, *here.parents), here.parents, strict=False):
        if inner == home or outer.stat().st_dev != device:
            return
        yield outer


def _has_own_store(folder: Path) -> bool:
    """Whether there is a store, and nothing that another user could have put in its place."""
    store, settings = folder / STORE, folder / SETTINGS
    return store.is_dir() and _is_ours(store) and (not settings.exists() or _is_ours(settings))


def _is_ours(path: Path) -> bool:
    return {path.stat().st_uid, path.lstat().st_uid} == {os.geteuid()}
