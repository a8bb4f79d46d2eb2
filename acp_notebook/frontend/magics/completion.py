"""Tab completion of the magics: agents, options, sessions, slash commands, @-names.

Decides by the text of the cell and the place of the cursor; knows no completer. `completions` of a prompt
is for any place where one is written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...core.ipynb.errors import first_line
from ...core.records import Command
from .mentions import CELL, ERROR, LAST

OPTIONS = ("--as", "--cwd", "--mode", "--config", "--permissions", "--resume", "--load", "--install", "--")
POLICIES = ("ask", "allow", "reject")

ENTRIES = 200
"""Of a folder, and of an object's attributes."""

LISTED_CELLS = 20
"""Of those that ran, the newest."""

_TOKEN = re.compile(r'(?<!\S)(?:@"[^"\n]*|\S*)$')


class Completions(NamedTuple):
    fragment: str
    """What stands before the cursor and would be replaced."""
    texts: list[str]


NOTHING = Completions("", [])


class Known(NamedTuple):
    """What there is to choose from, now."""

    agents: Iterable[str]
    sessions: Iterable[str]
    commands: Iterable[Command]
    variables: Mapping[str, Any]
    """Those of the user's, without the shell's own."""
    cells: Mapping[int, str]
    """What ran, by its number."""
    cwd: Path


class CursorContext(NamedTuple):
    """Where the cursor is: behind `text`, in a magic's line or in the body of a cell."""

    magic: str
    """"acp_agent", "acp" (a prompt), "%%acp" (its first line)."""
    text: str


def place_of(cell: str, line: int, column: int) -> CursorContext | None:
    """Which magic the cursor is in, and what of it stands before the cursor."""
    lines = cell.split("\n")
    before = lines[line][:column] if line < len(lines) else ""
    head = next((at for at, it in enumerate(lines) if it.strip()), 0)
    if re.match(r"%%acp(\s|$)", lines[head]):
        if line > head:
            return CursorContext("acp", "\n".join([*lines[head + 1 : line], before]))
        return CursorContext("%%acp", before.removeprefix("%%acp")) if before.startswith("%%acp ") else None
    found = re.match(r"\s*%(acp_agent|acp)\s(.*)", before)
    return CursorContext(found[1], found[2]) if found else None


def complete(place: CursorContext, known: Known) -> Completions:
    token = _TOKEN.search(place.text)
    fragment = token[0] if token else ""
    match place.magic:
        case "acp_agent":
            return _matching(fragment, _words_of_agent(place.text, known, fragment))
        case "%%acp":
            return _matching(fragment, known.sessions)
    return prompt_completions(place.text, known)


def prompt_completions(text: str, known: Known) -> Completions:
    """Within a prompt: a slash command where it begins, @-names anywhere."""
    token = _TOKEN.search(text)
    fragment = token[0] if token else ""
    if fragment.startswith("/") and text.strip() == fragment:
        return _matching(fragment, (f"/{it.name}" for it in known.commands))
    if fragment.startswith("@"):
        return _matching(fragment, _mentionable(fragment.removeprefix("@"), known))
    return NOTHING


def about(text: str, known: Known) -> str:
    """What an offered @-name stands for, in a few words; no code of the user's runs for it."""
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


def _words_of_agent(text: str, known: Known, fragment: str) -> Iterable[str]:
    words = text.removesuffix(fragment).split()
    if "--" in words:
        return ()
    if words and words[-1] in OPTIONS and words[-1] != "--install":  # which takes no value
        return POLICIES if words[-1] == "--permissions" else ()
    if fragment.startswith("-"):
        return OPTIONS
    return known.agents if not words else OPTIONS if not fragment else ()


def _mentionable(start: str, known: Known) -> Iterable[str]:
    if not start.startswith('"'):
        newest = sorted(known.cells, reverse=True)[:LISTED_CELLS]
        yield from (f"@{name}" for name in sorted(known.variables) if not name.startswith("_"))
        yield from (f"@{name}" for name in _attributes(start, known.variables))
        yield from (f"@{name}" for name in (ERROR, f"{CELL}{LAST}", *(f"{CELL}{it}" for it in newest)))
    yield from map(_quoted, sorted(_files(start.removeprefix('"'), known.cwd)))


def _attributes(start: str, variables: Mapping[str, Any]) -> Iterable[str]:
    """Of a plain variable or module; nothing is called to find more."""
    first, dot, rest = start.partition(".")
    if not dot or "." in rest or first not in variables:
        return ()
    try:
        names = dir(variables[first])
    except Exception:  # the object's own code
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
                    range(ENTRIES), (it for it in entries if _offered(it.name, name)), strict=False
                )
            ]
    except (OSError, ValueError, RuntimeError):
        return []


def _offered(entry: str, start: str) -> bool:
    return entry.startswith(start) and (start.startswith(".") or not entry.startswith("."))


def _quoted(path: str) -> str:
    return f'@"{path}"' if re.search(r"""[\s"'`()\[\]{}<>,;!?@|]""", path) else f"@{path}"
