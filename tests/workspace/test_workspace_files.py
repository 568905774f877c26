"""Files of the workspace, and paths that try to leave it."""

from pathlib import Path

import pytest

from headway.domain import artifacts, errors
from headway.workspace import Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace folder with a neighbour that is none of its business."""
    (tmp_path / "secret.txt").write_text("x")
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def has_file(root: Path, path: str) -> bool:
    return Workspace(root).has((artifacts.FileExists(path=path),))


def test_a_file_is_there_once_it_is_written(root: Path) -> None:
    assert not has_file(root, "out/a.txt")
    (root / "out").mkdir()
    (root / "out" / "a.txt").write_text("done")
    assert has_file(root, "out/a.txt")


def test_a_symlink_inside_the_workspace_is_followed(root: Path) -> None:
    (root / "a.txt").write_text("x")
    (root / "link").symlink_to("a.txt")
    assert has_file(root, "link")


def test_a_symlink_that_leads_out_counts_as_missing(root: Path) -> None:
    (root / "file").symlink_to("../secret.txt")
    (root / "folder").symlink_to(root.parent)
    assert not has_file(root, "file")
    assert not has_file(root, "folder/secret.txt")


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "x" * 5000, "loop/x", "plain.txt/x"])
def test_a_path_that_cannot_be_read_counts_as_missing(root: Path, path: str) -> None:
    (root / "loop").symlink_to("loop")
    (root / "plain.txt").write_text("x")
    assert not has_file(root, path)


def test_a_workspace_that_is_a_symlink_knows_its_real_place(root: Path) -> None:
    (root / "a.txt").write_text("x")
    link = root.parent / "link"
    link.symlink_to(root)
    assert Workspace(link).root == root.resolve()
    assert has_file(link, "a.txt")


def test_one_of_several_probes_is_enough(root: Path) -> None:
    (root / ".headway" / "patches").mkdir(parents=True)
    probe = artifacts.parse("ask_save_patch:17").probe
    assert not Workspace(root).has(probe)
    (root / ".headway" / "patches" / "17.patch").write_text("x")
    assert Workspace(root).has(probe)


def test_jobs_and_markers_are_not_looked_for_here(root: Path) -> None:
    workspace = Workspace(root)
    assert not workspace.has(artifacts.parse("job:17").probe)
    assert not workspace.has(artifacts.parse("custom:dataset:daily").probe)


@pytest.mark.parametrize("path", ["", ".", "sub", "sub/../sub", "not/yet/there"])
def test_a_path_inside_the_workspace_is_resolved(root: Path, path: str) -> None:
    (root / "sub").mkdir()
    assert Workspace(root).resolve(path) == (root / path).resolve()


@pytest.mark.parametrize("path", ["..", "/", "sub/../../x", "../workspace2", "link", "a\0b"])
def test_a_path_outside_the_workspace_is_refused(root: Path, path: str) -> None:
    (root / "link").symlink_to("..")
    with pytest.raises(errors.OutsideWorkspace):
        Workspace(root).resolve(path)
