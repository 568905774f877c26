"""Branches, files on branches and heads of real git repositories."""

import subprocess
import sys
from pathlib import Path

import pygit2
import pytest

from headway.domain import artifacts
from headway.workspace import Workspace

AUTHOR = pygit2.Signature("Ada", "ada@example.com", 1_700_000_000, 0)


def commit(repository: pygit2.Repository, branch: str, files: dict[str, str]) -> str:
    """Put a commit with exactly these files on top of the branch."""
    index = pygit2.Index()
    for path, text in files.items():
        blob = repository.create_blob(text.encode())
        index.add(pygit2.IndexEntry(path, blob, pygit2.enums.FileMode.BLOB))
    tree = index.write_tree(repository)
    reference = f"refs/heads/{branch}"
    known = repository.references.get(reference)
    parents = [known.target] if known else []
    return str(repository.create_commit(reference, AUTHOR, AUTHOR, "a step", tree, parents))


@pytest.fixture
def repository(tmp_path: Path) -> pygit2.Repository:
    """A repository with one commit on main."""
    made = pygit2.init_repository(tmp_path / "workspace", initial_head="main")
    commit(made, "main", {"docs/x.md": "x", "README": "read me"})
    return made


@pytest.fixture
def workspace(repository: pygit2.Repository) -> Workspace:
    return Workspace(Path(repository.workdir))


def has(workspace: Workspace, text: str) -> bool:
    return workspace.has(artifacts.parse(text).probe)


def test_a_branch_is_there_once_it_is_made(
    repository: pygit2.Repository, workspace: Workspace
) -> None:
    assert has(workspace, "git_branch:main")
    assert not has(workspace, "plan_branch:tidy")
    commit(repository, "draft/tidy", {"a": "a"})
    assert has(workspace, "plan_branch:tidy")


@pytest.mark.parametrize("name", ["v1", "origin/main", "HEAD", "refs/heads/main", "main~0"])
def test_only_local_branches_count_as_branches(
    repository: pygit2.Repository, workspace: Workspace, name: str
) -> None:
    newest = repository.references["refs/heads/main"].target
    repository.references.create("refs/tags/v1", newest)
    repository.references.create("refs/remotes/origin/main", newest)
    assert not has(workspace, f"git_branch:{name}")


@pytest.mark.parametrize("name", ["a..b", "-x", "/x", "x.lock", "../tags/v1", "x\\y", "@{-1}"])
def test_a_name_that_git_refuses_counts_as_missing(workspace: Workspace, name: str) -> None:
    assert not has(workspace, f"git_branch:{name}")
    assert not has(workspace, f"git_file:{name}:README")
    assert workspace.head(name) is None


def test_a_file_on_a_branch_is_seen_without_a_checkout(
    repository: pygit2.Repository, workspace: Workspace
) -> None:
    assert has(workspace, "git_file:main:docs/x.md")
    assert not has(workspace, "git_file:main:docs/y.md")
    assert not has(workspace, "git_file:main:README/x")
    assert not has(workspace, "git_file:other:docs/x.md")
    commit(repository, "main", {"docs/y.md": "y"})
    assert has(workspace, "git_file:main:docs/y.md")
    assert not has(workspace, "git_file:main:docs/x.md")


def test_a_head_moves_with_its_branch(repository: pygit2.Repository, workspace: Workspace) -> None:
    first = workspace.head("main")
    second = commit(repository, "main", {"a": "a"})
    assert first is not None
    assert first != second
    assert workspace.head("main") == second
    assert workspace.head("other") is None


def test_a_pinned_head_matches_in_full_and_abbreviated(
    repository: pygit2.Repository, workspace: Workspace
) -> None:
    newest = commit(repository, "main", {"a": "a"})
    assert workspace.head_matches("main", newest)
    assert workspace.head_matches("main", newest[:7])
    assert workspace.head_matches("main", newest[:12].upper())
    commit(repository, "main", {"b": "b"})
    assert not workspace.head_matches("main", newest)


def test_a_pinned_head_that_is_too_short_or_no_commit_never_matches(workspace: Workspace) -> None:
    newest = workspace.head("main")
    assert newest is not None
    for text in ("", newest[:6], newest + "0", "main", "HEAD~00", f" {newest}"):
        assert not workspace.head_matches("main", text)
    assert not workspace.head_matches("other", newest)


@pytest.mark.parametrize("name", ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"])
def test_a_merge_cherry_pick_or_revert_under_way_is_seen(
    repository: pygit2.Repository, workspace: Workspace, name: str
) -> None:
    assert not workspace.merge_in_progress()
    state = Path(repository.path) / name
    state.write_text(f"{workspace.head('main')}\n")
    assert workspace.merge_in_progress()
    state.unlink()
    assert not workspace.merge_in_progress()


def assert_shows_nothing(workspace: Workspace) -> None:
    assert not workspace.is_repository()
    assert not has(workspace, "git_branch:main")
    assert not has(workspace, "git_file:main:README")
    assert workspace.head("main") is None
    assert not workspace.head_matches("main", "0" * 40)
    assert not workspace.merge_in_progress()


def test_a_folder_without_a_repository_has_no_branches(tmp_path: Path) -> None:
    assert_shows_nothing(Workspace(tmp_path))
    assert_shows_nothing(Workspace(tmp_path / "not-there"))


def test_a_repository_above_the_workspace_is_not_its_own(repository: pygit2.Repository) -> None:
    folder = Path(repository.workdir) / "sub"
    folder.mkdir()
    assert_shows_nothing(Workspace(folder))


def test_a_broken_repository_has_no_branches(
    repository: pygit2.Repository, workspace: Workspace
) -> None:
    (Path(repository.path) / "refs" / "heads" / "main").write_text("rubbish")
    assert workspace.is_repository()
    assert not has(workspace, "git_branch:main")
    (Path(repository.path) / "HEAD").unlink()
    assert_shows_nothing(workspace)


def test_an_empty_repository_has_no_branches_yet(tmp_path: Path) -> None:
    pygit2.init_repository(tmp_path, initial_head="main")
    workspace = Workspace(tmp_path)
    assert workspace.is_repository()
    assert workspace.head("main") is None


def test_a_linked_worktree_is_a_repository(repository: pygit2.Repository, tmp_path: Path) -> None:
    repository.add_worktree("other", str(tmp_path / "other"))
    workspace = Workspace(tmp_path / "other")
    assert workspace.is_repository()
    assert has(workspace, "git_branch:main")


def test_importing_the_workspace_does_not_import_git() -> None:
    program = "import sys, headway.workspace; sys.exit('pygit2' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)
