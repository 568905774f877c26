"""Reading the names of artifacts."""

import msgspec
import pytest

from headway.domain import artifacts, errors
from headway.domain.artifacts import (
    BranchExists,
    FileExists,
    FileOnBranch,
    JobSucceeded,
    Marker,
    Plugin,
)


@pytest.mark.parametrize(
    ("text", "probe"),
    [
        ("file:out/a.txt", FileExists(path="out/a.txt")),
        ("file:a:b.txt", FileExists(path="a:b.txt")),
        ("file:..hidden/x", FileExists(path="..hidden/x")),
        ("git_branch:main", BranchExists(name="main")),
        ("git_branch:feature/x", BranchExists(name="feature/x")),
        ("git_file:main:docs/x.md", FileOnBranch(branch="main", path="docs/x.md")),
        ("git_file:main:a:b", FileOnBranch(branch="main", path="a:b")),
        ("job:17", JobSucceeded(job="17")),
        ("custom:dataset:daily", Marker(type="dataset", key="daily")),
        ("custom:dataset:a:b", Marker(type="dataset", key="a:b")),
    ],
)
def test_a_generic_kind_is_one_probe_and_keeps_its_name(
    text: str, probe: artifacts.BasicProbe
) -> None:
    assert artifacts.parse(text) == artifacts.Artifact(name=text, probe=(probe,))


@pytest.mark.parametrize(
    ("text", "probe"),
    [
        ("plan_branch:tidy", (BranchExists(name="draft/tidy"),)),
        ("plan_commits:tidy", (BranchExists(name="draft/tidy"),)),
        (
            "plan_doc:tidy",
            (FileOnBranch(branch="draft/tidy", path=".headway/plans/tidy.md"),),
        ),
        ("target_branch:release/2", (BranchExists(name="release/2"),)),
        ("merge_sentinel:tidy", (FileExists(path=".headway/merge-conflicts/tidy.json"),)),
        (
            "ask_save_patch:17",
            (FileExists(path=".headway/patches/17.patch"), JobSucceeded(job="17")),
        ),
    ],
)
def test_a_named_kind_is_expressed_through_the_generic_ones(
    text: str, probe: artifacts.Probe
) -> None:
    assert artifacts.parse(text) == artifacts.Artifact(name=text, probe=probe)


def test_the_folders_of_the_named_kinds_can_be_changed() -> None:
    named = {**artifacts.NAMED, "plan_doc": ("git_file:plan/<key>:docs/plans/<key>.md",)}
    artifact = artifacts.parse("plan_doc:tidy", artifacts.kinds(named=named))
    assert artifact.probe == (FileOnBranch(branch="plan/tidy", path="docs/plans/tidy.md"),)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("file:./out//a.txt", "file:out/a.txt"),
        ("file:out/../a.txt", "file:a.txt"),
        ("file:out/", "file:out"),
        ("git_file:main:./docs/x.md", "git_file:main:docs/x.md"),
    ],
)
def test_two_spellings_of_a_path_have_one_name(text: str, name: str) -> None:
    assert artifacts.parse(text) == artifacts.parse(name)
    assert artifacts.parse(text).name == name


def test_a_plugged_in_kind_is_asked_with_its_key() -> None:
    known = artifacts.kinds({"s3": object()})
    artifact = artifacts.parse("s3:bucket/a:b", known)
    assert artifact.name == "s3:bucket/a:b"
    assert artifact.probe == (Plugin(kind="s3", key="bucket/a:b"),)


@pytest.mark.parametrize("kind", ["file", "plan_doc"])
def test_a_built_in_kind_cannot_be_plugged_in(kind: str) -> None:
    with pytest.raises(ValueError, match=f"'{kind}' is built in"):
        artifacts.kinds({kind})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "write it as <kind>:<key>"),
        ("main", "write it as <kind>:<key>"),
        (":x", "the kind is empty"),
        ("file:", "the key is empty"),
        ("file: ", "the key is empty"),
        ("s3:bucket", "unknown kind 's3'"),
        ("FILE:x", "unknown kind 'FILE'"),
        ("git_file:main", "write it as <branch>:<path>"),
        ("git_file::x", "the branch is empty"),
        ("git_file:main:", "the path is empty"),
        ("custom:x", "write it as <type>:<key>"),
        ("custom::x", "the type is empty"),
        ("custom:x:", "the key is empty"),
        ("file:a\0b", "control characters are not allowed"),
        ("custom:x:\x1b[31m", "control characters are not allowed"),
        ("file:\ud800", "control characters are not allowed"),
        ("file:/etc/passwd", "the path must be relative"),
        ("git_file:main:/x", "the path must be relative"),
        ("file:..", "the path leaves the workspace"),
        ("file:a/../../b", "the path leaves the workspace"),
        ("git_file:main:../x", "the path leaves the workspace"),
        ("file:.", "the path is the workspace itself"),
        ("file:a/..", "the path is the workspace itself"),
        ("plan_doc:a:b", "the key must not contain a colon"),
        ("merge_sentinel:../../src/config", "the key must not contain"),
        ("plan_branch:/x", "the key must not contain"),
    ],
)
def test_a_name_that_makes_no_sense_is_refused_with_the_reason(text: str, problem: str) -> None:
    with pytest.raises(errors.InvalidArtifact) as refusal:
        artifacts.parse(text)
    assert problem in refusal.value.detail


def test_an_unknown_kind_is_answered_with_the_known_ones() -> None:
    with pytest.raises(errors.InvalidArtifact, match=r"the kinds are ask_save_patch.*, s3, "):
        artifacts.parse("nothing:x", artifacts.kinds({"s3"}))


def test_a_probe_survives_being_written_as_json() -> None:
    artifact = artifacts.parse("ask_save_patch:17")
    assert msgspec.json.decode(msgspec.json.encode(artifact), type=artifacts.Artifact) == artifact
