"""Cassette: a recording to replay, with options; it can also record.

Knows no connection: `connect` asks it what to replay and in which folder, or where to record.
"""

from __future__ import annotations

import math
import os
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from ..agent import temporary_folders
from ..agent.files.unfinished import DRAFT
from ..errors import RecordingError, UsageError

if TYPE_CHECKING:
    from ..agent.recordings.recording import Recording
    from ..agent.recordings.replay import Replay
    from ..agent.recordings.replay_difference import Match

Mode = Literal["none", "once", "all"]
Files = Literal["scratch", "write"]


@dataclass(frozen=True)
class Cassette:
    """A recording for `acp.connect(cassette=…)`, which replays the agent without starting it.

    `match` decides whether a prompt matches the recorded one: "exact"; "text" ignores images and data; or a
    function of the recorded and the actual text. `speed` None replays at full speed, 1 in recorded time, 10
    ten times as fast. Files that the agent wrote, also with its own tools and commands, are written to a
    temporary folder (`session.cwd`), which is deleted when Python exits, or to the `cwd` that `connect` is
    given. `files="write"` uses the current directory, `files="scratch"` always a temporary folder. Files that
    were too large to record are listed in `turn.changes`.

    `record` decides when to start and record the agent: "none" never, "once" if there is no recording yet,
    "all" always. A new recording replaces the old one when the agent is closed.
    """

    path: str | Path
    _: KW_ONLY
    match: Match = "exact"
    speed: float | None = None
    files: Files | None = None
    record: Mode = "none"

    def __post_init__(self) -> None:
        if not callable(self.match) and self.match not in ("exact", "text"):
            raise UsageError(f'match is {self.match!r}; use "exact", "text" or a function of two texts')
        if self.speed is not None and not (isinstance(self.speed, int | float) and 0 < self.speed < math.inf):
            raise UsageError(f"speed is {self.speed!r}; use None or a number above 0")
        if self.files not in (None, *get_args(Files)):
            raise UsageError(f'files is {self.files!r}; use "scratch" or "write"')
        if self.record not in get_args(Mode):
            raise UsageError(f'record is {self.record!r}; use "none", "once" or "all"')

    @property
    def file(self) -> Path:
        return Path(self.path)

    @property
    def records(self) -> bool:
        """Whether the agent is started and recorded now."""
        return self.record == "all" or (self.record == "once" and not self.file.exists())

    @property
    def draft(self) -> Path:
        """Where a recording is written until it is complete."""
        return self.file.with_name(f"{self.file.name}{DRAFT}")

    def opened(self) -> Recording:
        """Read the recording. Raises RecordingError."""
        if not self.file.exists():
            raise RecordingError(
                f"there is no recording {self.file}. Install the agent and record one with "
                f"record={str(self.file)!r} (in tests: pytest --acp-record=once)"
            )
        from ..agent.recordings.recording import read  # import it only if needed

        return read(self.file)

    def replay(
        self, recording: Recording, cwd: str | Path | None, home: str | None = None
    ) -> tuple[Replay, str, list[str]]:
        """The replay, its folder and its roots. `home`: the agent's home folder."""
        from ..agent.recordings.replay import Replay  # import it only if needed

        if self.files == "write" or (self.files is None and cwd is not None):
            replay = Replay(recording, match=self.match, speed=self.speed, home=home)
            return replay, os.fspath(cwd if cwd is not None else os.getcwd()), []
        if cwd is not None:
            raise UsageError('files="scratch" replays in a temporary folder: omit cwd=')
        base = scratch_folder()
        replay = Replay(recording, match=self.match, speed=self.speed, scratch=base, home=home)
        there, roots = replay.script.first_folders()
        folders = [_inside(base, it, number) for number, it in enumerate((there, *roots))]
        return replay, folders[0], folders[1:]


def scratch_folder() -> str:
    """A temporary folder that is deleted when Python exits."""
    folder = temporary_folders.make("acp-cassette-") / "folders"
    folder.mkdir()
    return os.fspath(folder)


def _inside(base: str, there: str, number: int) -> str:
    """Create a folder with the name of the recorded one."""
    name = os.path.basename(there.rstrip("/")) or "root"
    folder = os.path.join(base, name if number == 0 else f"{number}-{name}")
    os.makedirs(folder, exist_ok=True)
    return folder
