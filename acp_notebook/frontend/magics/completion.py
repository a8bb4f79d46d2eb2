"""Tab completion for the magics: agents, options, sessions, slash commands, @-names.

Works on the text of the cell and the position of the cursor; knows no completer. `prompt_completions` also
serves the panel's field.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...core.ipynb.errors import first_line
from ...core.records import Command
from ...log import logger
from ...notebook.content import kinds
from . import fan_out_line
from .mentions import CELL, ERROR, LAST

_log = logger(__name__)

OPTIONS = ("--as", "--cwd", "--mode", "--config", "--permissions", "--resume", "--load", "--install", "--")
CELL_OPTIONS = ("--cached", fan_out_line.FLAG)
POLICIES = ("ask", "allow", "reject")

ENTRIES = 200
"""The most entries of a folder, or attributes of an object, to offer."""

LISTED_CELLS = 20
"""The most recently run cells to offer."""

PACKAGE = __name__.partition(".")[0]

FRAME, FIGURE, DATA, CODE, MODULE, OURS = range(6)
"""The ranks of variables: what is sent often is offered first."""

_TOKEN = re.compile(r'(?<!\S)(?:@"[^"\n]*|\S*)$')


class Completions(NamedTuple):
    """The completions of the text before the cursor."""

    fragment: str
    """The text before the cursor that a completion replaces."""
    texts: list[str]


NOTHING = Completions("", [])


class CompletionSources(NamedTuple):
    """Everything that can be completed at this moment."""

    agents: Iterable[str]
    sessions: Iterable[str]
    commands: Iterable[Command]
    variables: Mapping[str, Any]
    """The user's variables, without those of the shell."""
    cells: Mapping[int, str]
    """The cells that ran, by their number."""
    cwd: Path


class CursorContext(NamedTuple):
    """The magic that the cursor is in, and the text before the cursor."""

    magic: str
    """"acp_agent", "acp" (a prompt), "%%acp" (its first line)."""
    text: str


def cursor_context(cell: str, line: int, column: int) -> CursorContext | None:
    """Find the magic that the cursor is in; None if it is in none."""
    lines = cell.split("\n")
    before = lines[line][:column] if line < len(lines) else ""
    head = next((at for at, it in enumerate(lines) if it.strip()), 0)
    if re.match(r"%%acp(\s|$)", lines[head]):
        if line > head:
            return CursorContext("acp", "\n".join([*lines[head + 1 : line], before]))
        return CursorContext("%%acp", before.removeprefix("%%acp")) if before.startswith("%%acp ") else None
    found = re.match(r"\s*%(acp_agent|acp)\s(.*)", before)
    return CursorContext(found[1], found[2]) if found else None


def complete(cursor: CursorContext, known: CompletionSources) -> Completions:
    token = _TOKEN.search(cursor.text)
    fragment = token[0] if token else ""
    match cursor.magic:
        case "acp_agent":
            return _matching(fragment, _agent_line_words(cursor.text, known, fragment))
        case "%%acp":
            return _cell_line(cursor.text, known, fragment)
    return prompt_completions(cursor.text, known)


def prompt_completions(text: str, known: CompletionSources) -> Completions:
    """Completions in a prompt: slash commands at its beginning, @-names anywhere."""
    token = _TOKEN.search(text)
    fragment = token[0] if token else ""
    if fragment.startswith("/") and text.strip() == fragment:
        return _matching(fragment, (f"/{it.name}" for it in known.commands))
    if fragment.startswith("@"):
        return _matching(fragment, _mention_candidates(fragment.removeprefix("@"), known))
    return NOTHING


def describe(text: str, known: CompletionSources) -> str:
    """A few words on an offered @-name. Runs no code of the object."""
    name = text.removeprefix("@").strip('"')
    if name == ERROR:
        return "the last error"
    if name.startswith(CELL):
        which = name.removeprefix(CELL)
        number = max(known.cells, default=0) if which == LAST else int(which)
        return first_line(known.cells.get(number, ""))
    variable, dot, _ = name.partition(".")
    if variable in known.variables:
        kind = type(known.variables[variable])
        called = "class" if issubclass(kind, type) else kind.__name__
        return f"of {called}" if dot and name not in known.variables else called
    return "folder" if name.endswith("/") else "file"


def _matching(fragment: str, texts: Iterable[str]) -> Completions:
    return Completions(fragment, list(dict.fromkeys(it for it in texts if it.startswith(fragment))))


def _agent_line_words(text: str, known: CompletionSources, fragment: str) -> Iterable[str]:
    words = text.removesuffix(fragment).split()
    if "--" in words:
        return ()
    if words and words[-1] in OPTIONS and words[-1] != "--install":  # takes no value
        return POLICIES if words[-1] == "--permissions" else ()
    if fragment.startswith("-"):
        return OPTIONS
    return known.agents if not words else OPTIONS if not fragment else ()


def _cell_line(text: str, known: CompletionSources, fragment: str) -> Completions:
    """The first line of a %%acp cell: a session, or the agents of a fan-out, separated by commas."""
    words = text.removesuffix(fragment).split()
    if words and words[-1] == fan_out_line.FLAG:
        last = fragment.rpartition(",")[2]
        return _matching(last, (it for it in known.agents if it not in fragment.split(",")[:-1]))
    if fragment.startswith("-"):
        more = fan_out_line.OPTIONS[1:] if fan_out_line.FLAG in words else CELL_OPTIONS
        return _matching(fragment, more)
    return _matching(fragment, () if fan_out_line.is_fan_out(text) else known.sessions)


def _mention_candidates(start: str, known: CompletionSources) -> Iterable[str]:
    if not start.startswith('"'):
        newest = sorted(known.cells, reverse=True)[:LISTED_CELLS]
        useful, rest = _ranked(known.variables)
        yield from (f"@{name}" for name in useful)
        yield from (f"@{name}" for name in _attributes(start, known.variables))
        yield from (f"@{name}" for name in (ERROR, f"{CELL}{LAST}", *(f"{CELL}{it}" for it in newest)))
    yield from map(_quoted, sorted(_files(start.removeprefix('"'), known.cwd)))
    if not start.startswith('"'):
        yield from (f"@{name}" for name in rest)


def _ranked(variables: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The names to offer first (frames, figures, other data, code), and last (modules, our own objects)."""
    ranks = {name: _rank(value) for name, value in variables.items() if not name.startswith("_")}
    names = sorted(ranks, key=lambda name: (ranks[name], name.lower(), name))
    return [it for it in names if ranks[it] < MODULE], [it for it in names if ranks[it] >= MODULE]


def _rank(value: Any) -> int:
    if kinds.is_module(value):
        return OURS if value.__name__ == PACKAGE else MODULE
    if kinds.library_of(value) == PACKAGE:
        return OURS
    if kinds.is_code(value):
        return CODE
    return FRAME if kinds.is_frame(value) else FIGURE if kinds.is_figure(value) else DATA


def _attributes(start: str, variables: Mapping[str, Any]) -> Iterable[str]:
    """The attributes of a variable, one level deep, without evaluating any of them."""
    first, dot, rest = start.partition(".")
    if not dot or "." in rest or first not in variables:
        return ()
    try:
        names = dir(variables[first])
    except Exception:  # raised by the object's own __dir__
        _log.debug("the attributes of an object cannot be listed", exc_info=True)
        return ()
    return [f"{first}.{it}" for it in names if it.startswith(rest or "") and not it.startswith("_")][:ENTRIES]


def _files(start: str, cwd: Path) -> list[str]:
    folder, _, name = start.rpartition("/")
    shown = start[: len(start) - len(name)]
    try:
        where = cwd / Path(shown).expanduser() if folder or shown else cwd
        with os.scandir(where) as entries:
            return [
                f"{shown}{it.name}{'/' if it.is_dir() else ''}"
                for _, it in zip(
                    range(ENTRIES), (it for it in entries if _is_offered(it.name, name)), strict=False
                )
            ]
    except (OSError, ValueError, RuntimeError):
        return []


def file_mentions(cwd: Path) -> list[str]:
    """The files and folders of a folder, as they are mentioned."""
    return [*map(_quoted, sorted(_files("", cwd)))]


def _is_offered(entry: str, start: str) -> bool:
    return entry.startswith(start) and (start.startswith(".") or not entry.startswith("."))


def _quoted(path: str) -> str:
    return f'@"{path}"' if re.search(r"""[\s"'`()\[\]{}<>,;!?@|]""", path) else f"@{path}"
