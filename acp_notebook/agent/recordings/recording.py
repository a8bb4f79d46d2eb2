"""Recordings: every message of a connection, one JSON object a line, with the secrets taken out.

Knows no method's meaning. The first line says what the file is: `{"acp_recording": 1, "agent": …}`, and
where homes were; every other is `{"t": seconds, "dir": "c2a" | "a2c" | "did" | "note", "msg": …}`. "did"
is what the client did itself, and no message tells: which folders a session had, who answered a question,
what a command wrote, what a turn changed in files (perhaps long after the turn). A line of the agent's that
is no JSON is kept as `"line"`. A file without the first line, or without what the client did, is read too.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec

from ...core.redaction import Redactor
from ...errors import RecordingError
from ...wire import jsonrpc, tolerant
from ..files.unfinished import Unfinished, open_draft
from .split_secrets import SplitSecrets

FORMAT = 1

Direction = Literal["c2a", "a2c", "did", "note"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A message of a recording, or (did) what the client did; `message` is None for a line that was none."""

    direction: Direction
    message: Any
    at: float = 0.0
    line: str | None = None
    number: int = field(default=0, compare=False)
    """Its line in the file."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording as it was read: who spoke, where homes were, and everything in its order."""

    name: str
    entries: tuple[Entry, ...]
    agent: str | None = None
    home: str | None = None
    tmp: str | None = None
    agent_home: str | None = None
    """Where it had another one than the user."""


class Recorder:
    """Sees the bytes of a connection and writes them down, message by message (a `connection.Tap`)."""

    def __init__(
        self,
        path: str | Path,
        *,
        agent: str,
        redactor: Redactor,
        becomes: Path | None = None,
        places: Mapping[str, str] | None = None,
        finish: Callable[[Path], None] = lambda path: None,
    ) -> None:
        """`becomes`: where the file goes when it is whole, and there was a session in it. `places`: homes and
        the like, by name; `finish`: what is done with the whole file, before that."""
        self.path = Path(path)
        self._redactor = redactor
        self._split = SplitSecrets(redactor)
        self._becomes = becomes
        self._unfinished = Unfinished()
        self._finish = finish
        self._had_session = False
        self._began = time.monotonic()
        self._half: list[bytes] = []
        self._half_size = 0
        with contextlib.ExitStack() as opening:
            try:
                self._file = opening.enter_context(self._opened())
                head = {"acp_recording": FORMAT, "agent": agent, **(places or {})}
                self._put({name: redactor.plain(it) for name, it in head.items()})
            except BlockingIOError:
                raise RecordingError(f"cannot record to {path}: another session is recording there") from None
            except OSError as error:
                raise RecordingError(f"cannot record to {path}: {error.strerror}") from None
            opening.pop_all()  # it stays open as long as the connection

    def _opened(self) -> BinaryIO:
        if self._becomes is None:
            return self.path.open("wb", buffering=0)
        file = open_draft(self.path)
        self._unfinished.note(os.path.realpath(self.path))
        return file

    def sent(self, data: bytes) -> None:
        self._message("c2a", data)

    def received(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._half.append(line)
            self._line_ended()
        if rest:
            self._half.append(rest)
            self._half_size += len(rest)
            if self._half_size > jsonrpc.MAX_LINE:
                self._line_ended()

    def record_action(self, action: dict[str, Any]) -> None:
        self._had_session = self._had_session or action.get("what") == "folders"
        self._keep({"t": self._now(), "dir": "did", "msg": self._redactor.clean(action)})

    def ended(self) -> None:
        """What the agent left unfinished is a line of its own, not the beginning of the next agent's."""
        self._line_ended()
        self._write_held()

    def _line_ended(self) -> None:
        self._message("a2c", b"".join(self._half))
        self._half, self._half_size = [], 0

    def close(self) -> None:
        self._write_held()
        if not self._file.closed:
            self._file.close()
            self._finish(self.path)
        if self._becomes is not None:
            with contextlib.suppress(OSError):  # then it stays where it is
                if self._had_session:
                    os.replace(self.path, self._becomes)
                else:
                    self.path.unlink(missing_ok=True)
            self._becomes = None
            self._unfinished.close()

    def _message(self, direction: Direction, line: bytes) -> None:
        if not line.strip():
            return
        entry: dict[str, Any] = {"t": self._now(), "dir": direction}
        try:
            entry["msg"] = self._redactor.clean(tolerant.loads(line))
        except tolerant.Unreadable:
            entry["line"] = self._redactor.text(line.decode("utf-8", "replace").rstrip())
        self._keep(entry)

    def _keep(self, entry: dict[str, Any]) -> None:
        for ready in self._split.put(entry):
            self._write(ready)

    def _write_held(self) -> None:
        for held in self._split.rest():
            self._write(held)

    def _now(self) -> float:
        return round(time.monotonic() - self._began, 3)

    def _write(self, entry: dict[str, Any]) -> None:
        """A full disk ends the recording, not the conversation."""
        if self._file.closed:
            return
        try:
            self._put(entry)
        except OSError as error:
            self._file.close()
            warnings.warn(f"the recording {self._file.name} ends here: {error.strerror}", stacklevel=2)

    def _put(self, entry: dict[str, Any]) -> None:
        left = memoryview(msgspec.json.encode(entry) + b"\n")
        while left:  # an unbuffered file may take a part only
            left = left[self._file.write(left) :]


def load(path: str | Path) -> list[Entry]:
    """The messages of a recording, without what the client did beside them."""
    return [entry for entry in read(path).entries if entry.direction != "did"]


def read(path: str | Path) -> Recording:
    """A whole recording; raises RecordingError that says which line is wrong."""
    try:
        # Not splitlines: U+2028 and its like are no line ends in JSON.
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise RecordingError(f"cannot read the recording {path}: {error}") from None
    header: dict[str, Any] = {}
    entries = tuple(_entries(lines, str(path), header))
    told = (header.get(name) for name in ("agent", "home", "tmp", "agent_home"))
    agent, home, tmp, agent_home = (it if isinstance(it, str) else None for it in told)
    return Recording(str(path), entries, agent, home, tmp, agent_home)


def _entries(lines: Iterable[str], name: str, header: dict[str, Any]) -> Iterable[Entry]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            raise RecordingError(f"{name}, line {number}: not JSON") from None
        match entry:
            case {"acp_recording": int(version)}:
                if version != FORMAT:
                    raise RecordingError(
                        f"{name} is a recording of format {version}; this reads format {FORMAT}"
                    )
                header.update(entry)
            case {"dir": str()}:
                if (found := entry_of(entry, number)) is not None:
                    yield found
            case _:
                raise RecordingError(f"{name}, line {number}: not a line of a recording")


def entry_of(line: dict[str, Any], number: int = 0) -> Entry | None:
    """None: a note, stderr: for people."""
    match line:
        case {"dir": "c2a" | "a2c" as direction, "msg": message}:
            return Entry(direction, message, _seconds(line), number=number)
        case {"dir": "did", "msg": {"what": str()} as action}:
            return Entry("did", action, _seconds(line), number=number)
        case {"dir": "a2c", "line": str(text)}:
            return Entry("a2c", None, _seconds(line), text, number)
    return None


def _seconds(entry: dict[str, Any]) -> float:
    at = entry.get("t")
    return float(at) if isinstance(at, int | float) else 0.0
