"""The files that a turn changed, in the format of a recording: writes and reads them.

Text is kept as text, other bytes as base64. A file that is too large, or contains a secret that cannot be
removed, is listed with the reason. Knows neither the disk nor the position of a replay.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable
from typing import Any

from msgspec import Raw, Struct, field

from ...core.changes import PathChange, Version, action_of, is_binary
from ...core.redaction import Redactor
from ..files.roots import visible
from ..tap import ChangedFiles

MOST_STATE = 1_000_000
"""Bytes of one file state: people read recordings and commit them to repositories."""

MOST_TURN = 8_000_000
"""Bytes of all file states of one turn."""

MOST_FOLDERS = 1_000

TOO_LARGE = "too large to be kept in a recording"
SECRET = "it contains a secret, so it was not kept in the recording"
NO_NAME = "its name is not valid text, so it was not kept in the recording"
BROKEN = "its entry in the recording cannot be read"
CUT_OFF = (
    "the recording ends before the changes of this turn were determined: only files that the agent wrote "
    "through this client are listed"
)

_PLAIN = 0o644
_SENT = 0o777
"""The recorded permission bits. Without setuid and setgid, a replay cannot create a privileged program."""


class RecordedFile(Struct, frozen=True):
    """A recorded change and the state of its path after the turn. `known`: whether that state is recorded."""

    found: PathChange
    after: Version | None = None
    known: bool = False


class RecordedTurn(Struct, frozen=True):
    """The recorded changes and notes of a turn."""

    files: tuple[RecordedFile, ...] = ()
    notes: tuple[str, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)
    """Folders without a checkpoint, each with the reason."""
    emptied: frozenset[str] = frozenset()
    """Folders that were empty after the turn and not before."""
    filled: frozenset[str] = frozenset()
    """Folders that were empty before the turn and not after."""


class FileChangesWriter:
    """Creates the recording entry of one turn. `spell` formats a path as the session writes it."""

    def __init__(self, redactor: Redactor, spell: Callable[[str], str]) -> None:
        self._redactor = redactor
        self._spell = spell
        self._left = MOST_TURN

    def entry(
        self,
        session: str,
        turn: int,
        changed: ChangedFiles,
    ) -> dict[str, Any]:
        before, after = changed.empty
        found = {
            "files": [self._file(it) for it in changed.files],
            "notes": list(changed.notes),
            "missing": [{"path": self._spell(path), "why": why} for path, why in changed.missing.items()],
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
        who = {"during": found.during or None} | ({} if found.by is None else {"by": found.by})
        if found.why_not is not None:
            return {"path": path, "action": found.action, "why_not": found.why_not} | who
        return {
            "path": path,
            "action": _action(found),
            "before": self._state(found.before),
            "after": self._state(found.after),
        } | who

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
        # Raw exempts the data from redaction and path mapping: a chance match would corrupt the bytes.
        encoded = base64.urlsafe_b64encode(version.data)
        return {"base64": Raw(b'"%s"' % encoded)} | rights


def read(action: dict[str, Any], real: Callable[[str], str]) -> RecordedTurn:
    """Read the entry of a turn. `real` resolves a path of the session.

    Leaves out invalid parts or marks them as unreadable.
    """
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


def _read_file(entry: dict[str, Any], real: Callable[[str], str]) -> RecordedFile | None:
    path, why_not = entry.get("path"), entry.get("why_not")
    during = str(entry["during"] or "") if "during" in entry else None
    by = it if isinstance(it := entry.get("by"), str) else None
    if not isinstance(path, str) or not os.path.isabs(path) or "\0" in path:
        return None
    action = str(entry.get("action", "modified"))
    if isinstance(why_not, str):
        return RecordedFile(PathChange(real(path), why_not=why_not, action=action, during=during, by=by))
    before, lacks_before = _read_state(entry.get("before"))
    after, lacks_after = _read_state(entry.get("after"))
    if why := lacks_after or lacks_before:
        found = PathChange(real(path), why_not=why, action=action, during=during, by=by)
        return RecordedFile(found, after, not lacks_after)
    return RecordedFile(PathChange(real(path), before, after, during=during, by=by), after, True)


def _read_state(state: Any) -> tuple[Version | None, str | None]:
    """The state of a file, or why it is unknown."""
    try:
        match state:
            case None:
                return None, None
            case {"not_kept": str(why)}:
                return None, why
            case {"link": str(target)} if "\0" not in target:
                return Version(target.encode(), 0o777, link=True), None
            case {"text": str(text)}:
                return Version(text.encode(), _mode(state)), None
            case {"base64": str(data)}:
                return Version(base64.b64decode(data, b"-_", validate=True), _mode(state)), None
    except (ValueError, binascii.Error):
        pass
    return None, BROKEN


def _mode(state: dict[str, Any]) -> int:
    mode = state.get("mode")
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
