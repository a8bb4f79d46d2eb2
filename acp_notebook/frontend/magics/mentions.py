"""@-mentions in a prompt: `@df`, `@etl.py`, `@cell:3`, `@error` -> the objects that go along with the text.

Finds them in the text and looks them up in the places it is given; knows no shell and no session. What
stands in code (between backticks), in an address (`a@b.c`) or as a decorator is text; so is what only looks
like code, unless something has that name.
"""

from __future__ import annotations

import builtins
import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core.prompt import SENDABLE
from ...core.records import Resource
from ...errors import UsageError
from ...notebook.content import Named

ERROR = "error"
CELL = "cell:"
LAST = "last"

_MENTION = re.compile(
    r"""
    (?<![\w.@/\\+%-])@                  # not within an address, a path or an escape
    (?:
        "(?P<quoted>[^"\n]+)"
        | (?P<plain>[\w~./][^\s"'`()\[\]{}<>,;!?@|\u2026\u201c\u201d\u2018\u2019\u00ab\u00bb]*)
    )
    """,
    re.VERBOSE,
)
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})(.*)")
_TICKS = re.compile(r"`+|\n[ \t]*\n")
_DECORATOR = re.compile(r"[ \t]*@[\w.]+[ \t]*(?:\(.*\))?[ \t]*(?:\#.*)?$")
_DEFINITION = re.compile(r"[ \t]*(?:def|class|async[ \t]+def)\b")

_QUOTES = ("'", '"')

CLOSE_MATCHES = 3


@dataclass(frozen=True)
class MentionSources:
    """Where the things that a prompt mentions are looked up."""

    variables: Mapping[str, Any]
    cells: Callable[[str], str | None]
    """From "3" or "last" to a cell's text; None if there is none."""
    error: Callable[[], BaseException | None]
    """The last one."""
    cwd: Path


def parts_of(text: str, places: MentionSources) -> list[Any]:
    """The prompt's text as it stands, then what it mentions, each once; raises UsageError."""
    return [text, *(looked_up(name, places) for name in mentioned(text, places))]


def mentioned(text: str, places: MentionSources) -> list[str]:
    """The names to look up, each once. What looks like code is one only where something has that name."""
    surely: dict[str, bool] = {}
    for name, code in _found(text):
        surely[name] = surely.get(name, False) or not code
    return [name for name, sure in surely.items() if sure or _is_there(name, places)]


def found(text: str) -> Iterator[str]:
    """The names that may be mentioned, in order."""
    return (name for name, _ in _found(text))


def _found(text: str) -> Iterator[tuple[str, bool]]:
    """With each, whether it looks like code: `@property`, `@app.route(…)`, `'@scope/package'`."""
    text = _without_decorators(_without_inline(_without_fences(text)))
    for mention in _MENTION.finditer(text):
        name = mention["quoted"] or mention["plain"].rstrip(".:*")  # the end of a sentence, of emphasis
        if name:
            start, end = mention.span()
            called, literal = text[end : end + 1] == "(", text[max(start - 1, 0) : start] in _QUOTES
            yield name, called or literal or hasattr(builtins, name)


def _without_fences(text: str) -> str:
    """The lines outside of fenced code; a fence that is never closed reaches to the end."""
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        opened = _FENCE.match(line)
        if fence:
            fence = "" if opened and opened[1].startswith(fence) and not opened[2].strip() else fence
        elif opened:
            fence = opened[1]
        else:
            kept.append(line)
    return "\n".join(kept)


def _without_inline(text: str) -> str:
    """What is not between backticks: as many at the end as at the beginning, within a paragraph."""
    marks = list(_TICKS.finditer(text))
    next_of: dict[str, int] = {}
    closing = [0] * len(marks)
    for at in range(len(marks) - 1, -1, -1):
        mark = marks[at][0]
        if mark[0] == "`":
            closing[at], next_of[mark] = next_of.get(mark, 0), at
        else:
            next_of.clear()
    kept, done, at = [], 0, 0
    while at < len(marks):
        if closing[at]:
            kept.append(text[done : marks[at].start()])
            at = closing[at]
            done = marks[at].end()
        at += 1
    return "`".join([*kept, text[done:]])


def _without_decorators(text: str) -> str:
    """The lines but those right above a definition: code that was pasted without a fence."""
    kept: list[str] = []
    decorates = False
    for line in reversed(text.split("\n")):
        decorates = bool(_DEFINITION.match(line) or (decorates and _DECORATOR.match(line)))
        if not decorates or _DEFINITION.match(line):
            kept.append(line)
    return "\n".join(reversed(kept))


def looked_up(name: str, places: MentionSources) -> Any:
    """What a name stands for, as a part of a prompt; raises UsageError with what is near."""
    if name == ERROR:
        return _error(places)
    if name.startswith(CELL):
        return _cell(name, places)
    try:
        value = _variable(name, places.variables)
    except LookupError:
        return _file(name, places)
    # A path and ready-made content go as they would if they were passed themselves.
    return value if isinstance(value, (Path, *SENDABLE)) else Named(name, value)


def _error(places: MentionSources) -> Named:
    error = places.error()
    if error is None:
        raise UsageError("@error: there has been no error yet")
    return Named(ERROR, error)


def cell_of(name: str) -> str | None:
    """Which cell a name means, "3" or "last"; None if it means none."""
    which = name.removeprefix(CELL)
    return which if name.startswith(CELL) and (which == LAST or which.isdecimal()) else None


def is_object(name: str, places: MentionSources) -> bool:
    """Whether it stands for an object of the user's, whose own code may run when it is described."""
    return name == ERROR or name.partition(".")[0] in places.variables


def _cell(name: str, places: MentionSources) -> Resource:
    which = cell_of(name)
    source = None if which is None else places.cells(which)
    if source is None:
        raise UsageError(f"@{name}: no such cell; @cell:3 is the one that ran as [3], @cell:last the last")
    return Resource(f"python:{name}", text=source, mime_type="text/x-python")


def _variable(name: str, variables: Mapping[str, Any]) -> Any:
    """By dotted name; raises LookupError. What an attribute itself raises is said, not hidden."""
    first, *rest = name.split(".")
    value = variables[first]
    for attribute in rest:
        try:
            value = getattr(value, attribute)
        except AttributeError:
            raise LookupError(name) from None
        except Exception as error:  # a property of the user's
            raise UsageError(f"@{name}: {type(error).__name__}: {error}") from None
    return value


def _file(name: str, places: MentionSources) -> Path:
    path = _path(name, places)
    if path is None:
        raise UsageError(_unknown(name, places))
    return path


def _path(name: str, places: MentionSources) -> Path | None:
    """None: there is no such file."""
    try:
        path = places.cwd / Path(name).expanduser()
        return path if path.exists() else None
    except (OSError, ValueError, RuntimeError):
        return None


def _is_there(name: str, places: MentionSources) -> bool:
    return is_object(name, places) or cell_of(name) is not None or _path(name, places) is not None


def _unknown(name: str, places: MentionSources) -> str:
    known = [*(it for it in places.variables if not it.startswith("_")), ERROR, f"{CELL}{LAST}"]
    close = difflib.get_close_matches(name, known, n=CLOSE_MATCHES)
    hint = f"; did you mean {' or '.join(f'@{it}' for it in close)}?" if close else ""
    return f"@{name}: no such variable or file{hint} (in backticks, `@{name}` is sent as text)"
