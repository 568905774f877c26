"""Questions to a git repository; one that cannot be read has nothing to show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import pygit2

Answer = TypeVar("Answer")


def is_repository(root: Path) -> bool:
    """Is `root` itself, not a folder above it, a repository or a linked worktree?"""
    return _ask(root, lambda _: True) is not None


def head(root: Path, branch: str) -> str | None:
    """The id of the newest commit on a local branch."""
    return _ask(root, lambda repository: str(_commit(repository, branch).id))


def has_branch(root: Path, branch: str) -> bool:
    """Is there such a local branch?"""
    return head(root, branch) is not None


def has_file(root: Path, branch: str, path: str) -> bool:
    """Does the newest commit on the branch have this path?"""
    return _ask(root, lambda repository: path in _commit(repository, branch).tree) or False


def merge_in_progress(root: Path) -> bool:
    """Is a merge, a cherry-pick or a revert under way?"""
    return _ask(root, _is_merging) or False


def _is_merging(repository: pygit2.Repository) -> bool:
    from pygit2.enums import RepositoryState

    return repository.state() in (
        RepositoryState.MERGE,
        RepositoryState.CHERRYPICK,
        RepositoryState.CHERRYPICK_SEQUENCE,
        RepositoryState.REVERT,
        RepositoryState.REVERT_SEQUENCE,
    )


def _commit(repository: pygit2.Repository, branch: str) -> pygit2.Commit:
    import pygit2

    return repository.references[f"refs/heads/{branch}"].peel(pygit2.Commit)


def _ask(root: Path, question: Callable[[pygit2.Repository], Answer]) -> Answer | None:
    """Open, ask, close: a repository object must not be shared between threads."""
    # Imported here because it is slow and most commands never ask.
    import pygit2
    from pygit2.enums import RepositoryOpenFlag

    try:
        return question(pygit2.Repository(str(root), RepositoryOpenFlag.NO_SEARCH))
    except (pygit2.GitError, KeyError, ValueError, OSError):
        return None
