"""Places of the machine on which a recording is made: they are not in it when it is whole.

What a session calls its folders, the user's home, the agent's and the folder of temporary files get names
that are nobody's; a replay puts those of here in their place. Knows the form of a recording, and no message.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ...core.path_mapping import PathMapping
from ..files.unfinished import new_name, writes
from .recording import Entry, entry_of
from .replay_script import openings, relocated

NOBODYS = "/recorded"
"""Where all of them are, in a recording."""

EVERYBODYS = ("/tmp", "/var/tmp")
"""Places that are the same everywhere, and that people write into their prompts."""

MOST_BYTES = 128 * 2**20
"""A larger recording is left as it is: nobody waits that long for an agent to be closed."""


def known(env: Mapping[str, str]) -> dict[str, str]:
    """Where homes and temporary files are; `env`: the agent's."""
    home, tmp = os.path.expanduser("~"), tempfile.gettempdir()
    found = {"home": home, "tmp": env.get("TMPDIR") or tmp, "agent_home": env.get("HOME") or home}
    if found["agent_home"] == home:
        del found["agent_home"]
    return {name: it for name, it in found.items() if os.path.isabs(it) and it not in EVERYBODYS}


def hide(path: Path) -> None:
    """Write a recording anew, without the places; what cannot be read or written stays as it is."""
    with contextlib.suppress(OSError, ValueError, RecursionError, msgspec.MsgspecError):
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
        *(_told(line, entry) for line, entry in zip(others, moved, strict=True)),
    ]


def _told(line: dict[str, Any], entry: Entry) -> dict[str, Any]:
    if entry.direction == "note":
        told: dict[str, Any] = entry.message
        return told
    return {**line, **({"msg": entry.message} if entry.line is None else {"line": entry.line})}


def _names(head: Mapping[str, Any], entries: Iterable[Entry]) -> dict[str, str]:
    """From places to what they are called; a session's folder goes by its own name."""
    found = {
        str(head[kind]): f"{NOBODYS}/{name}"
        for kind, name in (("agent_home", "agent-home"), ("tmp", "tmp"), ("home", "home"))
        if kind in head
    }
    folders = dict.fromkeys(it for cwd, roots in openings(tuple(entries)) for it in (cwd, *roots))
    for number, folder in enumerate(folders):
        which = f"folder-{number + 1}" if number else "folder"
        name = f"{NOBODYS}/{which}/{os.path.basename(folder.rstrip('/')) or 'root'}"
        found |= {os.path.realpath(folder): name, folder: name}
    return found


def _replace(path: Path, lines: Iterable[dict[str, Any]], mode: int) -> None:
    made = path.with_name(new_name())
    with writes.noted(str(made)):
        try:
            with made.open("wb") as file:
                os.fchmod(file.fileno(), mode)
                for line in lines:
                    file.write(msgspec.json.encode(line) + b"\n")
            os.replace(made, path)
        finally:
            made.unlink(missing_ok=True)
