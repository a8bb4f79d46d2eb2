"""What a turn changed in files, as a recording keeps it: written for a recorder, and read back for a replay.

Knows neither the disk nor where a recording stands. Texts are kept as texts, other bytes as base64; what is
too large, or holds a secret that cannot be taken out of it, is named with the reason.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import Raw

from ...core.changes import Version, action_of, is_binary
from ...core.redaction import Redactor
from ..files.roots import visible
from ..undo.backend import PathChange

MOST_STATE = 1_000_000
"""Bytes of a file, before or after: a recording is read by people, and kept in repositories."""

MOST_TURN = 8_000_000
"""… and of all that one turn changed."""

MOST_FOLDERS = 1_000

TOO_LARGE = "too large to be kept in a recording"
SECRET = "there is a secret in it, so it was not kept in the recording"
NO_NAME = "its name is no text, so it was not kept in the recording"
BROKEN = "what the recording holds of it cannot be read"
CUT_OFF = (
    "the recording ends before it was found what this turn changed: only what was written through us is here"
)

_PLAIN = 0o644
_SENT = 0o777
"""The permission bits that are told: no recording makes a file run as somebody else."""


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A find, and what is to be at its path after the turn; `known`: whether the recording tells that."""

    found: PathChange
    after: Version | None = None
    known: bool = False


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """What a recording tells of a turn: its finds, and what was said of them."""

    files: tuple[RecordedFile, ...] = ()
    notes: tuple[str, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)
    """Folders without a checkpoint, and why."""
    emptied: frozenset[str] = frozenset()
    """Folders that were empty after the turn, and not before."""
    filled: frozenset[str] = frozenset()
    """… before it, and not after."""


class FileChangesWriter:
    """Writes the entry of a turn. `spell`: how the session calls a path."""

    def __init__(self, redactor: Redactor, spell: Callable[[str], str]) -> None:
        self._redactor = redactor
        self._spell = spell
        self._left = MOST_TURN

    def entry(
        self,
        session: str,
        turn: int,
        finds: Iterable[PathChange],
        notes: Sequence[str] = (),
        missing: dict[str, str] | None = None,
        empty: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset()),
    ) -> dict[str, Any]:
        """`empty`: the folders with nothing in them, before and after."""
        before, after = empty
        found = {
            "files": [self._file(it) for it in finds],
            "notes": list(notes),
            "missing": [{"path": self._spell(path), "why": why} for path, why in (missing or {}).items()],
            "emptied": self._folders(after - before),
            "filled": self._folders(before - after),
        }
        return {"what": "changed", "session": session, "turn": turn} | {k: v for k, v in found.items() if v}

    def _folders(self, paths: frozenset[str]) -> list[str]:
        return [self._spell(it) for it in sorted(paths) if _is_text(it)][:MOST_FOLDERS]

    def _file(self, found: PathChange) -> dict[str, Any]:
        path = self._spell(found.path)
        if not _is_text(path):
            return {"path": visible(path), "action": _action(found), "why_not": NO_NAME}
        during = {"during": found.during or None}
        if found.why_not is not None:
            return {"path": path, "action": found.action, "why_not": found.why_not} | during
        return {
            "path": path,
            "action": _action(found),
            "before": self._state(found.before),
            "after": self._state(found.after),
        } | during

    def _state(self, version: Version | None) -> dict[str, Any] | None:
        if version is None:
            return None
        size = len(version.data)
        if size > min(MOST_STATE, self._left):
            return {"not_kept": f"{TOO_LARGE} ({size / 1e6:.1f} MB)"}
        self._left -= size
        mode = version.mode & _SENT
        rights = {"mode": f"{mode:o}"} if mode != _PLAIN and not version.link else {}
        text = _text(version.data)
        if text is not None:
            return {"link" if version.link else "text": text} | rights
        if version.link or self._redactor.finds_in(version.data):
            return {"not_kept": NO_NAME if version.link else SECRET}
        # Neither a secret nor a path is looked for in this: it would be found by chance, and the bytes lost.
        encoded = base64.urlsafe_b64encode(version.data)
        return {"base64": Raw(b'"%s"' % encoded)} | rights


def read(action: dict[str, Any], real: Callable[[str], str]) -> RecordedTurn:
    """`real`: where a path of the session's is. What makes no sense is left out, or said to be unreadable."""
    files = (_read_file(it, real) for it in _dicts(action.get("files")))
    missing = {
        real(it["path"]): str(it.get("why"))
        for it in _dicts(action.get("missing"))
        if isinstance(it.get("path"), str)
    }
    return RecordedTurn(
        tuple(it for it in files if it is not None),
        tuple(_texts(action.get("notes"))),
        missing,
        frozenset(map(real, _texts(action.get("emptied")))),
        frozenset(map(real, _texts(action.get("filled")))),
    )


def _read_file(told: dict[str, Any], real: Callable[[str], str]) -> RecordedFile | None:
    path, why_not = told.get("path"), told.get("why_not")
    during = str(told["during"] or "") if "during" in told else None
    if not isinstance(path, str) or not os.path.isabs(path) or "\0" in path:
        return None
    action = str(told.get("action", "modified"))
    if isinstance(why_not, str):
        return RecordedFile(PathChange(real(path), why_not=why_not, action=action, during=during))
    before, lacks_before = _read_state(told.get("before"))
    after, lacks_after = _read_state(told.get("after"))
    if why := lacks_after or lacks_before:
        found = PathChange(real(path), why_not=why, action=action, during=during)
        return RecordedFile(found, after, not lacks_after)
    return RecordedFile(PathChange(real(path), before, after, during=during), after, True)


def _read_state(told: Any) -> tuple[Version | None, str | None]:
    """A state of a file; or why it is not known."""
    try:
        match told:
            case None:
                return None, None
            case {"not_kept": str(why)}:
                return None, why
            case {"link": str(target)} if "\0" not in target:
                return Version(target.encode(), 0o777, link=True), None
            case {"text": str(text)}:
                return Version(text.encode(), _mode(told)), None
            case {"base64": str(data)}:
                return Version(base64.b64decode(data, b"-_", validate=True), _mode(told)), None
    except (ValueError, binascii.Error):
        pass
    return None, BROKEN


def _mode(told: dict[str, Any]) -> int:
    mode = told.get("mode")
    return int(mode, 8) & _SENT if isinstance(mode, str) else _PLAIN


def _action(found: PathChange) -> str:
    return found.action if found.why_not is not None else action_of(found.before, found.after)


def _text(data: bytes) -> str | None:
    try:
        return None if is_binary(data) else data.decode()
    except UnicodeDecodeError:
        return None


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [it for it in value if isinstance(it, dict)] if isinstance(value, list) else []


def _texts(value: Any) -> list[str]:
    return [it for it in value if isinstance(it, str)] if isinstance(value, list) else []
