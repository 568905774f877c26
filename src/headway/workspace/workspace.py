"""The folder that jobs work in."""

import logging
import os
import string
from collections.abc import Mapping
from pathlib import Path

from headway.domain import artifacts, errors
from headway.workspace import paths, repository
from headway.workspace.plugins import Check

SHORTEST_COMMIT = 7

log = logging.getLogger(__name__)


class Workspace:
    """Says what is there now; whatever cannot be read is not there."""

    def __init__(self, root: Path, plugins: Mapping[str, Check] | None = None) -> None:
        self.root = Path(os.path.realpath(root))
        self._plugins = dict(plugins or {})

    def has(self, probe: artifacts.Probe) -> bool:
        """Is one of them there? Jobs and markers are the database's to answer: not here."""
        return any(self._has(basic) for basic in probe)

    def resolve(self, path: str) -> Path:
        """The real place of a path that must be inside the workspace."""
        place = paths.inside(self.root, path)
        if place is None:
            raise errors.OutsideWorkspace(path)
        return place

    def is_repository(self) -> bool:
        """Is the workspace a git repository?"""
        return repository.is_repository(self.root)

    def head(self, branch: str) -> str | None:
        """The id of the newest commit on a local branch."""
        return repository.head(self.root, branch)

    def head_matches(self, branch: str, commit: str) -> bool:
        """Is this commit, in full or its first 7 or more digits, the newest on the branch?"""
        if len(commit) < SHORTEST_COMMIT or not set(commit) <= set(string.hexdigits):
            return False
        head = self.head(branch)
        return head is not None and head.startswith(commit.lower())

    def merge_in_progress(self) -> bool:
        """Is a merge, a cherry-pick or a revert under way?"""
        return repository.merge_in_progress(self.root)

    def _has(self, basic: artifacts.BasicProbe) -> bool:
        match basic:
            case artifacts.FileExists(path=path):
                return self._has_file(path)
            case artifacts.BranchExists(name=name):
                return repository.has_branch(self.root, name)
            case artifacts.FileOnBranch(branch=branch, path=path):
                return repository.has_file(self.root, branch, path)
            case artifacts.Plugin(kind=kind, key=key):
                return self._has_plugged_in(kind, key)
            case artifacts.JobSucceeded() | artifacts.Marker():
                return False

    def _has_file(self, path: str) -> bool:
        place = paths.inside(self.root, path)
        return place is not None and os.path.exists(place)

    def _has_plugged_in(self, kind: str, key: str) -> bool:
        check = self._plugins.get(kind)
        if check is None:
            return False
        try:
            return bool(check(self.root, key))
        except Exception:
            # Other people's code must not stop the loop that asks.
            log.warning("artifact %s:%s could not be checked", kind, key, exc_info=True)
            return False
