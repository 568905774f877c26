"""Artifact kinds that other packages bring along."""

import sys
from pathlib import Path

import pytest

from headway.domain import artifacts
from headway.workspace import Workspace, plugins


def install(folder: Path, code: str, entry: str) -> None:
    """Lay a package out in `folder` as an installer would."""
    (folder / "bucket_kind.py").write_text(code)
    info = folder / "bucket_kind-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bucket-kind\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[headway.artifacts]\n{entry}\n")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "bucket_kind", raising=False)
    return folder


def test_an_installed_kind_is_parsed_and_asked(packages: Path, tmp_path: Path) -> None:
    install(
        packages,
        "def check(workspace, key):\n    return (workspace / 'bucket' / key).exists()\n",
        "bucket = bucket_kind:check",
    )
    loaded = plugins.load()
    probe = artifacts.parse("bucket:a.txt", artifacts.kinds(loaded)).probe
    workspace = Workspace(tmp_path, loaded)
    assert not workspace.has(probe)
    (tmp_path / "bucket").mkdir()
    (tmp_path / "bucket" / "a.txt").write_text("x")
    assert workspace.has(probe)


def test_a_kind_that_cannot_be_imported_says_which_it_is(packages: Path) -> None:
    install(packages, "import a_module_nobody_has\n", "bucket = bucket_kind:check")
    with pytest.raises(ImportError) as failure:
        plugins.load()
    assert failure.value.__notes__ == [
        "while loading the artifact kind 'bucket' (bucket_kind:check)"
    ]


def test_a_kind_that_is_no_function_is_refused(packages: Path) -> None:
    install(packages, "check = 1\n", "bucket = bucket_kind:check")
    with pytest.raises(TypeError, match="bucket_kind:check is not callable"):
        plugins.load()


@pytest.mark.parametrize("error", [OSError("disk"), RuntimeError("bug")])
def test_a_check_that_raises_counts_as_missing_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    def check(workspace: Path, key: str) -> bool:
        raise error

    assert not Workspace(tmp_path, {"bucket": check}).has(
        (artifacts.Plugin(kind="bucket", key="a"),)
    )
    assert "artifact bucket:a could not be checked" in caplog.text


def test_a_kind_that_is_no_longer_installed_counts_as_missing(tmp_path: Path) -> None:
    assert not Workspace(tmp_path).has((artifacts.Plugin(kind="bucket", key="a"),))
