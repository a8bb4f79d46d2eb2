"""Removes paths of the recording machine from a complete recording.

The session's folders, the user's home, the agent's home and the temporary folder get neutral names, which a
replay maps to its own folders. Knows the format of a recording, but no messages.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ...core.path_mapping import PathMapping
from ...log import WARNING, logger, suppressed
from ..files.unfinished import new_name, writes
from .recording import Entry, entry_of
from .replay_script import openings, relocated

_log = logger(__name__)

NEUTRAL_ROOT = "/recorded"
"""The parent of all neutral names."""

COMMON = ("/tmp", "/var/tmp")
"""Paths that exist everywhere and that people write in prompts. They are not replaced."""

MOST_BYTES = 128 * 2**20
"""A larger recording stays as it is: rewriting it would take too long while an agent closes."""


def known(env: Mapping[str, str]) -> dict[str, str]:
    """The home and temporary folders by name. `env`: the agent's environment."""
    home, tmp = os.path.expanduser("~"), tempfile.gettempdir()
    found = {"home": home, "tmp": env.get("TMPDIR") or tmp, "agent_home": env.get("HOME") or home}
    if found["agent_home"] == home:
        del found["agent_home"]
    return {name: it for name, it in found.items() if os.path.isabs(it) and it not in COMMON}


def hide(path: Path) -> None:
    """Rewrite a recording with neutral paths. If it cannot be read or written, it stays as it is."""
    with suppressed(_log, OSError, ValueError, RecursionError, msgspec.MsgspecError, level=WARNING):
        path = Path(os.path.realpath(path))
        status = path.stat()
        if stat.S_ISREG(status.st_mode) and status.st_size <= MOST_BYTES:
            lines = [json.loads(it) for it in path.read_text(encoding="utf-8").split("\n") if it.strip()]
            made = _hidden(lines)
            if made != lines:
                _replace(path, made, stat.S_IMODE(status.st_mode))


def _hidden(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    head, *others = lines
    entries = [entry_of(it) or Entry("note", it) for it in others]
    relocation = PathMapping(_names(head, entries))
    moved = relocated(entries, relocation)
    return [
        relocation.value(head),
        *(_line_of(line, entry) for line, entry in zip(others, moved, strict=True)),
    ]


def _line_of(line: dict[str, Any], entry: Entry) -> dict[str, Any]:
    if entry.direction == "note":
        note: dict[str, Any] = entry.message
        return note
    return {**line, **({"msg": entry.message} if entry.line is None else {"line": entry.line})}


def _names(head: Mapping[str, Any], entries: Iterable[Entry]) -> dict[str, str]:
    """Paths mapped to their neutral names. The folder of a session keeps its last component."""
    found = {
        str(head[kind]): f"{NEUTRAL_ROOT}/{name}"
        for kind, name in (("agent_home", "agent-home"), ("tmp", "tmp"), ("home", "home"))
        if kind in head
    }
    folders = dict.fromkeys(it for cwd, roots in openings(tuple(entries)) for it in (cwd, *roots))
    for number, folder in enumerate(folders):
        which = f"folder-{number + 1}" if number else "folder"
        name = f"{NEUTRAL_ROOT}/{which}/{os.path.basename(folder.rstrip('/')) or 'root'}"
        found |= {os.path.realpath(folder): name, folder: name}
    return found


def _replace(path: Path, lines: Iterable[dict[str, Any]], mode: int) -> None:
    made = path.with_name(new_name())
    with writes.noting(str(made)):
        try:
            with made.open("wb") as file:
                os.fchmod(file.fileno(), mode)
                for line in lines:
                    file.write(msgspec.json.encode(line) + b"\n")
            os.replace(made, path)
        finally:
            made.unlink(missing_ok=True)
