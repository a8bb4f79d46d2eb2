"""Cassette: a recording to play back, and how; it can also make itself.

Knows no connection: `connect` asks it which recording to play, where, or where to write one.
"""

from __future__ import annotations

import math
import os
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Literal, get_args

from ..agent import temporary_folders
from ..agent.files.unfinished import DRAFT
from ..agent.recordings.recording import Recording, read
from ..agent.recordings.replay import Replay
from ..agent.recordings.replay_difference import Match
from ..errors import RecordingError, UsageError

Mode = Literal["none", "once", "all"]
Files = Literal["scratch", "write"]


@dataclass(frozen=True)
class Cassette:
    """A recording, for `acp.connect(cassette=…)`: the agent as it was, without the agent.

    `match` says when a prompt is the one that was recorded: "exact"; "text", whatever images and data come
    along; or a function of the recorded text and this one. `speed` None plays as fast as it goes, 1 in the
    recorded time, 10 ten times as fast. What the agent wrote, also by itself and by commands, is written into
    a fresh folder (`session.cwd`), which is gone when Python ends; if `connect` is given a `cwd`, there; what
    was too large to be recorded is named in `turn.changes`. `files="write"` means the current
    directory, `files="scratch"` a fresh folder in any case.

    `record` says when the agent itself is started and recorded: "none", never; "once", if there is no
    recording yet; "all", each time. A recording takes the place of the old one when the agent is closed.
    """

    path: str | Path
    _: KW_ONLY
    match: Match = "exact"
    speed: float | None = None
    files: Files | None = None
    record: Mode = "none"

    def __post_init__(self) -> None:
        if not callable(self.match) and self.match not in ("exact", "text"):
            raise UsageError(f'match is {self.match!r}; it can be "exact", "text" or a function of two texts')
        if self.speed is not None and not (isinstance(self.speed, int | float) and 0 < self.speed < math.inf):
            raise UsageError(f"speed is {self.speed!r}; it can be None or a number above 0")
        if self.files not in (None, *get_args(Files)):
            raise UsageError(f'files is {self.files!r}; it can be "scratch" or "write"')
        if self.record not in get_args(Mode):
            raise UsageError(f'record is {self.record!r}; it can be "none", "once" or "all"')

    @property
    def file(self) -> Path:
        return Path(self.path)

    @property
    def records(self) -> bool:
        """Whether the agent is started and recorded now."""
        return self.record == "all" or (self.record == "once" and not self.file.exists())

    @property
    def draft(self) -> Path:
        """Where a recording is written until it is whole."""
        return self.file.with_name(f"{self.file.name}{DRAFT}")

    def opened(self) -> Recording:
        """The recording; raises RecordingError."""
        if not self.file.exists():
            raise RecordingError(
                f"there is no recording {self.file}. Make one with record={str(self.file)!r} (in tests: "
                "pytest --acp-record=once), with the agent installed"
            )
        return read(self.file)

    def replay(
        self, recording: Recording, cwd: str | Path | None, home: str | None = None
    ) -> tuple[Replay, str, list[str]]:
        """The replay, and the folders that stand for those that were recorded; `home`: the agent's own."""
        if self.files == "write" or (self.files is None and cwd is not None):
            replay = Replay(recording, match=self.match, speed=self.speed, home=home)
            return replay, os.fspath(cwd if cwd is not None else os.getcwd()), []
        if cwd is not None:
            raise UsageError('files="scratch" plays in a fresh folder: leave out cwd=')
        base = scratch_folder()
        replay = Replay(recording, match=self.match, speed=self.speed, scratch=base, home=home)
        there, roots = replay.script.first_folders()
        folders = [_inside(base, it, number) for number, it in enumerate((there, *roots))]
        return replay, folders[0], folders[1:]


def scratch_folder() -> str:
    """A fresh folder that is gone when Python ends."""
    folder = temporary_folders.make("acp-cassette-") / "folders"
    folder.mkdir()
    return os.fspath(folder)


def _inside(base: str, there: str, number: int) -> str:
    """A folder by the name of the recorded one."""
    name = os.path.basename(there.rstrip("/")) or "root"
    folder = os.path.join(base, name if number == 0 else f"{number}-{name}")
    os.makedirs(folder, exist_ok=True)
    return folder
