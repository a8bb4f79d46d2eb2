"""@-mentions in a prompt: `@df`, `@etl.py`, `@cell:3`, `@error` -> the objects to attach to the prompt.

Finds mentions in the text and looks them up in the given sources; knows no shell and no session. An @ in code
(between backticks), in an address (`a@b.c`) or before a decorator is plain text. So is one that only looks
like code, unless an object of that name exists.
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
    (?<![\w.@/\\+%-])@                  # not inside an address, a path or an escape
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
    """Where mentions are looked up."""

    variables: Mapping[str, Any]
    cells: Callable[[str], str | None]
    """Maps "3" or "last" to the text of a cell; None if there is no such cell."""
    error: Callable[[], BaseException | None]
    """Returns the last error."""
    cwd: Path


def prompt_parts(text: str, sources: MentionSources) -> list[Any]:
    """The text of the prompt, unchanged, and everything it mentions, each once. Raises UsageError."""
    return [text, *(look_up(name, sources) for name in mentioned_names(text, sources))]


def mentioned_names(text: str, sources: MentionSources) -> list[str]:
    """The names to look up, each once. One that looks like code counts only if it exists."""
    certain: dict[str, bool] = {}
    for name, code in _find_candidates(text):
        certain[name] = certain.get(name, False) or not code
    return [name for name, is_certain in certain.items() if is_certain or _exists(name, sources)]


def candidate_names(text: str) -> Iterator[str]:
    """The names that the text may mention, in order."""
    return (name for name, _ in _find_candidates(text))


def _find_candidates(text: str) -> Iterator[tuple[str, bool]]:
    """Each name, and whether it looks like code: `@property`, `@app.route(…)`, `'@scope/package'`."""
    text = _without_decorators(_without_inline(_without_fences(text)))
    for mention in _MENTION.finditer(text):
        name = mention["quoted"] or mention["plain"].rstrip(".:*")  # punctuation after the name, or emphasis
        if name:
            start, end = mention.span()
            called, literal = text[end : end + 1] == "(", text[max(start - 1, 0) : start] in _QUOTES
            yield name, called or literal or hasattr(builtins, name)


def _without_fences(text: str) -> str:
    """The lines outside fenced code. An unclosed fence extends to the end."""
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) and not mark[2].strip() else fence
        elif mark:
            fence = mark[1]
        else:
            kept.append(line)
    return "\n".join(kept)


def _without_inline(text: str) -> str:
    """The text outside inline code: an equal number of backticks on both sides, within a paragraph."""
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
    """The lines except decorators directly above a definition: code pasted without a fence."""
    kept: list[str] = []
    decorates = False
    for line in reversed(text.split("\n")):
        decorates = bool(_DEFINITION.match(line) or (decorates and _DECORATOR.match(line)))
        if not decorates or _DEFINITION.match(line):
            kept.append(line)
    return "\n".join(reversed(kept))


def look_up(name: str, sources: MentionSources) -> Any:
    """The object with this name, as a part of a prompt. Raises UsageError with similar names."""
    if name == ERROR:
        return _error(sources)
    if name.startswith(CELL):
        return _cell(name, sources)
    try:
        value = _variable(name, sources.variables)
    except LookupError:
        return _file(name, sources)
    # Paths and content objects are sent as if they had been passed to prompt() directly.
    return value if isinstance(value, (Path, *SENDABLE)) else Named(name, value)


def _error(sources: MentionSources) -> Named:
    error = sources.error()
    if error is None:
        raise UsageError("@error: no cell has raised an error yet")
    return Named(ERROR, error)


def cell_of(name: str) -> str | None:
    """The cell that a name refers to, "3" or "last"; None if it is not the name of a cell."""
    which = name.removeprefix(CELL)
    return which if name.startswith(CELL) and (which == LAST or which.isdecimal()) else None


def is_object(name: str, sources: MentionSources) -> bool:
    """Whether the name refers to a user's object, whose own code may run when it is described."""
    return name == ERROR or name.partition(".")[0] in sources.variables


def _cell(name: str, sources: MentionSources) -> Resource:
    which = cell_of(name)
    source = None if which is None else sources.cells(which)
    if source is None:
        raise UsageError(
            f"@{name}: no such cell; @cell:3 is the cell numbered [3], @cell:last the last one that ran"
        )
    return Resource(f"python:{name}", text=source, mime_type="text/x-python")


def _variable(name: str, variables: Mapping[str, Any]) -> Any:
    """Look up a dotted name. Raises LookupError, or UsageError with the error that an attribute raised."""
    first, *rest = name.split(".")
    value = variables[first]
    for attribute in rest:
        try:
            value = getattr(value, attribute)
        except AttributeError:
            raise LookupError(name) from None
        except Exception as error:  # raised by a property
            raise UsageError(f"@{name}: {type(error).__name__}: {error}") from None
    return value


def _file(name: str, sources: MentionSources) -> Path:
    path = file_of(name, sources)
    if path is None:
        raise UsageError(_unknown(name, sources))
    return path


def file_of(name: str, sources: MentionSources) -> Path | None:
    """The path of the file; None if it does not exist."""
    try:
        path = sources.cwd / Path(name).expanduser()
        return path if path.exists() else None
    except (OSError, ValueError, RuntimeError):
        return None


def _exists(name: str, sources: MentionSources) -> bool:
    return is_object(name, sources) or cell_of(name) is not None or file_of(name, sources) is not None


def _unknown(name: str, sources: MentionSources) -> str:
    known = [*(it for it in sources.variables if not it.startswith("_")), ERROR, f"{CELL}{LAST}"]
    close = difflib.get_close_matches(name, known, n=CLOSE_MATCHES)
    hint = f"; did you mean {' or '.join(f'@{it}' for it in close)}?" if close else ""
    return f"@{name}: no such variable or file{hint} (write `@{name}` in backticks to send it as text)"
