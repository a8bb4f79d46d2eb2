"""Recordings: every message of a connection as one JSON object per line, with secrets removed.

The first line is a header: `{"acp_recording": 1, "agent": …}`, plus the home folders of the machine, and the
wire to a remote agent. Every other line is `{"t": seconds, "dir": "c2a" | "a2c" | "did" | "note", "msg": …}`.
"did" is a client action that no message contains: the folders of a session, who answered a question, the
output of a command, the files that a turn changed (perhaps written long after the turn), interruptions of the
network, a history that was read again. A line from the agent that is not JSON is kept as `"line"`. The reader
also accepts files without a header or without client actions. This module does not interpret methods.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec

from ...core.agent_url import is_address
from ...core.redaction import Redactor
from ...errors import RecordingError
from ...log import WARNING, logger, suppressed
from ...wire import jsonrpc, tolerant_json
from ..files.unfinished import Unfinished, open_draft
from ..tap import AsideTap, ChangedFiles
from ..threads import on_a_thread
from ..transport import LOCAL, Ending, Reach
from . import client_actions
from .aside_recorder import AsideRecorder
from .client_actions import ActionTap
from .file_changes import FileChangesWriter
from .split_secrets import SplitSecrets

_log = logger(__name__)

FORMAT = 1

Direction = Literal["c2a", "a2c", "did", "note"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A message of a recording, or a client action ("did"). `message` is None for a line that is not JSON."""

    direction: Direction
    message: Any
    at: float = 0.0
    line: str | None = None
    number: int = field(default=0, compare=False)
    """The line number in the file."""


@dataclass(frozen=True, slots=True)
class Recording:
    """The content of a recording: the agent, the home folders, and the entries in order."""

    name: str
    entries: tuple[Entry, ...]
    agent: str | None = None
    home: str | None = None
    tmp: str | None = None
    agent_home: str | None = None
    """The agent's home folder, if it differs from the user's."""
    wire: str | None = None
    """What the connection to a remote agent spoke; None for an agent of the recording machine."""

    @property
    def reach(self) -> Reach:
        """The recorded kind of transport. The folders of a replay are on this machine in any case."""
        return LOCAL if self.wire is None else Reach(is_ours=False, wire=self.wire)


class Recorder(ActionTap):
    """Records the messages of a connection and the client's actions to a file (a `Tap`)."""

    keeps_files = True

    def __init__(
        self,
        path: str | Path,
        *,
        agent: str,
        redactor: Redactor,
        wire: str | None = None,
        becomes: Path | None = None,
        places: Mapping[str, str] | None = None,
        finish: Callable[[Path], None] = lambda path: None,
    ) -> None:
        """Open the file. Raises RecordingError.

        `wire`: what the connection to a remote agent speaks. `becomes`: the path that a complete recording
        with a session is moved to. `places`: home folders and similar paths, by name. `finish`: called with
        the complete file before it is moved.
        """
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
                self._file = opening.enter_context(self._open())
                named = {"agent": agent} | ({} if wire is None else {"wire": wire})
                head = {"acp_recording": FORMAT, **named, **(places or {})}
                self._put({name: redactor.plain(it) for name, it in head.items()})
            except BlockingIOError:
                raise RecordingError(f"cannot record to {path}: another session is recording there") from None
            except OSError as error:
                raise RecordingError(f"cannot record to {path}: {error.strerror}") from None
            opening.pop_all()  # the file stays open as long as the connection

    def _open(self) -> BinaryIO:
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

    def aside(self, session: str) -> AsideTap:
        return AsideRecorder(session, self._redactor, self.record_action)

    def ended(self, ending: Ending | None, untaken: Sequence[int]) -> None:
        """Finish a partial line, so that it does not become the beginning of the next agent's output."""
        self._line_ended()
        self._write_held()
        self.record_action(client_actions.ended(ending, untaken))

    async def turn_changed(
        self, session: str, turn: int, changed: ChangedFiles, spelled: Callable[[str], str]
    ) -> None:
        writer = FileChangesWriter(self._redactor, spelled)
        self.record_action(await on_a_thread(lambda: writer.entry(session, turn, changed)))

    def _line_ended(self) -> None:
        self._message("a2c", b"".join(self._half))
        self._half, self._half_size = [], 0

    def close(self) -> None:
        self._write_held()
        if not self._file.closed:
            self._file.close()
            self._finish(self.path)
        if self._becomes is not None:
            with suppressed(_log, OSError, level=WARNING):  # on failure, the file stays where it is
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
            entry["msg"] = self._redactor.clean(tolerant_json.loads(line))
        except tolerant_json.Unreadable:
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
        """Write the entry. A full disk ends the recording with a warning, not the session."""
        if self._file.closed:
            return
        try:
            self._put(entry)
        except OSError as error:
            self._file.close()
            warnings.warn(
                f"recording to {self._file.name} stopped: {error.strerror}; what was recorded before is kept",
                stacklevel=2,
            )

    def _put(self, entry: dict[str, Any]) -> None:
        left = memoryview(msgspec.json.encode(entry) + b"\n")
        while left:  # an unbuffered file may write only a part
            left = left[self._file.write(left) :]


def load(path: str | Path) -> list[Entry]:
    """The messages of a recording, without the client actions."""
    return [entry for entry in read(path).entries if entry.direction != "did"]


def read(path: str | Path) -> Recording:
    """Read a recording. Raises RecordingError, which names the invalid line."""
    try:
        # Not splitlines: U+2028 and similar characters do not end a line in JSON.
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise RecordingError(f"cannot read the recording {path}: {error}") from None
    header: dict[str, Any] = {}
    entries = tuple(_entries(lines, str(path), header))
    values = (header.get(name) for name in ("agent", "home", "tmp", "agent_home", "wire"))
    agent, home, tmp, agent_home, wire = (it if isinstance(it, str) else None for it in values)
    if wire is None and agent is not None and is_address(agent):  # written before the header had the wire
        wire = "WebSocket" if agent.startswith("ws") else "HTTP"
    return Recording(str(path), entries, agent, home, tmp, agent_home, wire)


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
    """The entry of a line, or None for notes and stderr, which are only for human readers."""
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
