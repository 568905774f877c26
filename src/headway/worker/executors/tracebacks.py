"""What a handler raised, as text: the error first, then the traceback with its causes.

The text is bounded, because a chain of causes, a recursion or a message can be of any length. What
is left out comes from the middle: the first cause and the last error stay.
"""

import traceback
from collections.abc import Iterator
from pathlib import Path

LONGEST = 64 * 1024
HEADLINE_LIMIT = 16 * 1024
MESSAGE_LIMIT = 4 * 1024
MOST_LINKS = 20
MOST_PARTS = 15
DEEPEST_GROUP = 5
BEGIN = "\n\nTraceback (most recent call last):\n"
DIRECT = "The above exception was the direct cause of the following exception:"
DURING = "During handling of the above exception, another exception occurred:"

# Frames of ours and of the import system tell the author of a handler nothing.
_NOT_THEIRS = (str(Path(__file__).parents[2]), "<frozen importlib")


def describe(error: BaseException) -> str:
    """Type and message first, then everything that led to it, as Python shows it."""
    headline = _cut(_headline(error), HEADLINE_LIMIT)
    if not _frames(error) and not _has_more(error):
        return headline
    return f"{headline}\n\n{_bounded(_story(error))}"


def reason(error: BaseException) -> str:
    """The words of a failure that a handler chose itself, and what made it fail, if anything."""
    words = str(error)
    return f"{words}\n\n{_bounded(_story(error))}" if _has_more(error) else words


def _has_more(error: BaseException) -> bool:
    return _before(error) is not None or isinstance(error, BaseExceptionGroup)


def _story(error: BaseException, depth: int = 0) -> str:
    """The chain of errors, the first cause at the top."""
    links = list(reversed(list(_links(error))))
    told = [_one(link, depth) + (f"\n\n{joint}" if joint else "") for link, joint in links]
    if len(told) > MOST_LINKS:
        half = MOST_LINKS // 2
        left_out = f"[{len(told) - 2 * half} exceptions left out]"
        told = [*told[:half], left_out, *told[-half:]]
    return "\n\n".join(told)


def _links(error: BaseException) -> Iterator[tuple[BaseException, str]]:
    """The error and what came before it, each with the words that lead on from it."""
    seen: set[int] = set()
    joint = ""
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current, joint
        joint = DURING if current.__cause__ is None else DIRECT
        current = _before(current)


def _before(error: BaseException) -> BaseException | None:
    """What Python would show above this error."""
    if error.__cause__ is not None:
        return error.__cause__
    return None if error.__suppress_context__ else error.__context__


def _one(error: BaseException, depth: int) -> str:
    """One error with its frames; the parts of a group follow, indented."""
    frames = "".join(_frames(error).format()).rstrip("\n")
    begin = f"{BEGIN.strip()}\n{frames}\n" if frames else ""
    text = begin + _cut(_headline(error), MESSAGE_LIMIT)
    if not isinstance(error, BaseExceptionGroup) or depth == DEEPEST_GROUP:
        return text
    parts = [_indented(_story(one, depth + 1)) for one in error.exceptions[:MOST_PARTS]]
    if len(error.exceptions) > MOST_PARTS:
        parts.append(f"  | [{len(error.exceptions) - MOST_PARTS} exceptions left out]")
    return "\n".join([text, *parts])


def _frames(error: BaseException) -> traceback.StackSummary:
    return traceback.StackSummary.from_list(
        [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if not frame.filename.startswith(_NOT_THEIRS)
        ]
    )


def _headline(error: BaseException) -> str:
    """Type, message and notes; of a group without its parts, which are told apart."""
    return "".join(traceback.format_exception_only(error)).strip()


def _indented(text: str) -> str:
    return "\n".join(f"  | {line}".rstrip() for line in f"{text}\n".split("\n"))


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]} ..."


def _bounded(text: str) -> str:
    """At most so many characters, without those in the middle."""
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    head, tail = text[:half].rpartition("\n")[0], text[-half:].partition("\n")[2]
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n[{left_out} characters left out]\n{tail}"
