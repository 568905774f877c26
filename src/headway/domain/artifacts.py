"""What a job needs and produces: an artifact's name, and how to see whether it is there."""

import posixpath
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping
from typing import TypeAlias

import msgspec

from headway.domain import errors
from headway.domain.jobs import LONGEST_KEY


class _Basic(msgspec.Struct, frozen=True, tag_field="probe"):
    """One thing to look for."""


class FileExists(_Basic, frozen=True, kw_only=True, tag="file"):
    """There is something at this path in the workspace."""

    path: str


class BranchExists(_Basic, frozen=True, kw_only=True, tag="git_branch"):
    """The workspace's repository has this local branch."""

    name: str


class FileOnBranch(_Basic, frozen=True, kw_only=True, tag="git_file"):
    """The newest commit of the branch has this path."""

    branch: str
    path: str


class JobSucceeded(_Basic, frozen=True, kw_only=True, tag="job"):
    """The job, named by id or number, SUCCEEDED."""

    job: str


class Marker(_Basic, frozen=True, kw_only=True, tag="custom"):
    """The marker was written."""

    type: str
    key: str


class Plugin(_Basic, frozen=True, kw_only=True, tag="plugin"):
    """The plug-in of this kind says that the key is there."""

    kind: str
    key: str


BasicProbe: TypeAlias = FileExists | BranchExists | FileOnBranch | JobSucceeded | Marker | Plugin

# One of them is enough.
Probe: TypeAlias = tuple[BasicProbe, ...]


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """One artifact; two spellings of the same path have the same name."""

    name: str
    probe: Probe


class Kinds(msgspec.Struct, frozen=True, kw_only=True):
    """The kinds beside the generic ones: named, with their generic forms, and plugged in.

    Of those whose plug-in cannot be used, `broken` says why.
    """

    named: Mapping[str, tuple[str, ...]]
    plugged_in: frozenset[str]
    broken: Mapping[str, str]


NAMED: Mapping[str, tuple[str, ...]] = {
    "plan_branch": ("git_branch:draft/<key>",),
    "plan_commits": ("git_branch:draft/<key>",),
    "plan_doc": ("git_file:draft/<key>:.headway/plans/<key>.md",),
    "target_branch": ("git_branch:<key>",),
    "merge_sentinel": ("file:.headway/merge-conflicts/<key>.json",),
    "ask_save_patch": ("file:.headway/patches/<key>.patch", "job:<key>"),
}
"""The named kinds in generic words, with their folders; of several forms one is enough."""


def kinds(
    extra: Collection[str] = (),
    named: Mapping[str, tuple[str, ...]] = NAMED,
    broken: Mapping[str, str] | None = None,
) -> Kinds:
    """The kinds that can be parsed; `extra` names the plugged-in ones."""
    for kind in extra:
        if is_built_in(kind):
            raise ValueError(f"artifact kind {kind!r} is built in and cannot be plugged in")
    return Kinds(named=named, plugged_in=frozenset(extra), broken=broken or {})


def is_built_in(kind: str) -> bool:
    """Whether a kind is there without any plug-in."""
    return kind in GENERIC or kind in NAMED


def parse(text: str, known: Kinds | None = None) -> Artifact:
    """Read `kind:key`, for example `file:out/report.txt` or `git_file:main:docs/plan.md`."""
    try:
        return _parse(text, known or BUILT_IN)
    except _Unreadable as problem:
        raise errors.InvalidArtifact(text[:200], str(problem)) from None


class _Unreadable(Exception):
    """What is wrong with the text."""


def _parse(text: str, known: Kinds) -> Artifact:
    text = _without_control_characters(text)
    if (size := len(text.encode())) > LONGEST_KEY:
        raise _Unreadable(f"it has {size} bytes, more than {LONGEST_KEY}")
    kind, key = _split(text, "kind", "key")
    if kind in GENERIC:
        basic = GENERIC[kind](key)
        return Artifact(name=":".join((kind, *msgspec.structs.astuple(basic))), probe=(basic,))
    if kind in known.named:
        if kind in NAMING_JOBS:
            key = _reference(key)
        forms = (form.replace("<key>", _plain(key)) for form in known.named[kind])
        return Artifact(name=f"{kind}:{key}", probe=tuple(_generic(form) for form in forms))
    if kind in known.plugged_in:
        return Artifact(name=text, probe=(Plugin(kind=kind, key=key),))
    if kind in known.broken:
        raise _Unreadable(known.broken[kind])
    every = sorted([*GENERIC, *known.named, *known.plugged_in])
    raise _Unreadable(f"unknown kind {kind!r}; the kinds are {', '.join(every)}")


def _generic(text: str) -> BasicProbe:
    kind, key = _split(text, "kind", "key")
    return GENERIC[kind](key)


def _file(key: str) -> FileExists:
    return FileExists(path=_path(key))


def _git_branch(key: str) -> BranchExists:
    return BranchExists(name=key)


def _git_file(key: str) -> FileOnBranch:
    branch, path = _split(key, "branch", "path")
    return FileOnBranch(branch=branch, path=_path(path))


def _job(key: str) -> JobSucceeded:
    return JobSucceeded(job=_reference(key))


def _reference(key: str) -> str:
    """A job's number or id in its one spelling: what names the same job is the same artifact."""
    plain = key.strip()
    if _NUMBER.fullmatch(plain):
        return str(int(plain))
    return plain.lower() if _UUID.fullmatch(plain) else key


_NUMBER = re.compile(r"[0-9]{1,18}")
_UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def _custom(key: str) -> Marker:
    marker_type, marker_key = _split(key, "type", "key")
    return Marker(type=marker_type, key=marker_key)


GENERIC: Mapping[str, Callable[[str], BasicProbe]] = {
    "file": _file,
    "git_branch": _git_branch,
    "git_file": _git_file,
    "job": _job,
    "custom": _custom,
}

BUILT_IN = kinds()

NAMING_JOBS = (
    "job",
    *(kind for kind, forms in BUILT_IN.named.items() if "job:<key>" in forms),
)
"""The kinds whose artifact a job's success is."""


def names_of_job(job_id: str, number: int, kinds: Collection[str] = NAMING_JOBS) -> list[str]:
    """The artifacts of some kinds that a job's success is."""
    return [f"{kind}:{key}" for kind in kinds for key in (job_id, number)]


def _without_control_characters(text: str) -> str:
    # Names are printed in terminals and stored as UTF-8: no escapes, no NUL, no lone surrogates.
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        raise _Unreadable("control characters are not allowed")
    return text


def _split(text: str, first: str, second: str) -> tuple[str, str]:
    before, colon, after = text.partition(":")
    if not colon:
        raise _Unreadable(f"write it as <{first}>:<{second}>")
    for name, part in ((first, before), (second, after)):
        if not part.strip():
            raise _Unreadable(f"the {name} is empty")
    return before, after


def _path(text: str) -> str:
    """The path in its shortest spelling, which is relative and inside the workspace."""
    if text.startswith("/"):
        raise _Unreadable("the path must be relative to the workspace")
    path = posixpath.normpath(text)
    if path.split("/")[0] == "..":
        raise _Unreadable("the path leaves the workspace")
    if path == ".":
        raise _Unreadable("the path is the workspace itself")
    return path


def _plain(key: str) -> str:
    """A key that becomes part of a path or a branch must not lead out of its folder."""
    if ":" in key:
        raise _Unreadable("the key must not contain a colon")
    if any(part in ("", ".", "..") for part in key.split("/")):
        raise _Unreadable("the key must not contain empty parts, . or ..")
    return key
