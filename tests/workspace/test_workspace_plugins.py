"""Artifact kinds that other packages bring along."""

import sys
from pathlib import Path

import pytest

from headway.domain import artifacts, errors
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
    loaded = plugins.load().checks
    probe = artifacts.parse("bucket:a.txt", artifacts.kinds(loaded)).probe
    workspace = Workspace(tmp_path, loaded)
    assert not workspace.has(probe)
    (tmp_path / "bucket").mkdir()
    (tmp_path / "bucket" / "a.txt").write_text("x")
    assert workspace.has(probe)


@pytest.mark.parametrize(
    ("code", "entry", "problem"),
    [
        ("import nobody_has_it", "bucket = bucket_kind:check", "loaded: ModuleNotFoundError: No "),
        ("", "bucket = bucket_kind:check", "loaded: AttributeError: "),
        ("raise SystemExit('no')", "bucket = bucket_kind:check", "loaded: SystemExit: no"),
        ("check = 1", "bucket = bucket_kind:check", "loaded: it is not callable"),
        ("check = print", "file = bucket_kind:check", "is not used: this kind is built in"),
        ("check = print", "plan_doc = bucket_kind:check", "is not used: this kind is built in"),
    ],
)
def test_a_kind_that_cannot_be_used_is_left_out_and_says_why(
    packages: Path, code: str, entry: str, problem: str
) -> None:
    install(packages, code, entry)
    loaded = plugins.load()
    assert loaded.checks == {}
    (told,) = loaded.problems.values()
    assert told.startswith("the plug-in bucket_kind:check ")
    assert problem in told


def test_of_two_plug_ins_for_one_kind_the_first_is_used(packages: Path) -> None:
    install(packages, "check = print", "bucket = bucket_kind:check")
    other = packages / "other-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text("[headway.artifacts]\nbucket = builtins:repr\n")
    loaded = plugins.load()
    assert list(loaded.checks) == ["bucket"]
    assert "another one brings this kind too" in loaded.problems["bucket"]


def test_a_need_of_a_kind_that_could_not_be_loaded_is_refused_with_the_reason(
    packages: Path,
) -> None:
    install(packages, "import nobody_has_it", "bucket = bucket_kind:check")
    loaded = plugins.load()
    known = artifacts.kinds(loaded.checks, broken=loaded.problems)
    with pytest.raises(errors.InvalidArtifact) as refusal:
        artifacts.parse("bucket:a.txt", known)
    assert refusal.value.detail == (
        "artifact 'bucket:a.txt': the plug-in bucket_kind:check could not be loaded: "
        "ModuleNotFoundError: No module named 'nobody_has_it'"
    )


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
