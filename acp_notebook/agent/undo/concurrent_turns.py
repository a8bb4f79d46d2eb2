"""Turns of other processes in the same folders: each writes a file while it runs, and reads the others'.

Knows times and folders only, and nothing of what a turn changes. Blocks for a moment.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..user_dirs import lock, state_folder

FOLDER = "turns"

JUST_S = 5.0
"""A turn that began so lately may have written its word, and not locked it yet."""


@dataclass(frozen=True, slots=True)
class _Other:
    file: Path
    owner: str
    folders: list[str]
    began: float
    ended: float | None
    lives: bool
    """Its process does, and is in it."""

    def beside(self, began: float, ended: float) -> bool:
        """One whose process was killed in it counts if it began in ours."""
        theirs = self.ended or (ended if self.lives else self.began)
        return self.began <= ended and theirs > began


class TurnLease:
    """The file of one turn, which begins now; its lock lasts as long as the process."""

    def __init__(self, owner: str, folders: Sequence[str], base: Path | None = None) -> None:
        """If the file cannot be written, other processes do not see this turn. `owner`: the session."""
        self._owner = owner
        self._folders = list(folders)
        self._place = (base or state_folder()) / FOLDER
        self._name = f"{secrets.token_hex(8)}.json"
        self._fd = -1
        self._began = time.time()
        with contextlib.suppress(OSError):
            self._leave()

    def _leave(self) -> None:
        self._place.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._fd = os.open(self._place / self._name, flags, 0o600)
        self._write(None)
        lock(self._fd, exclusive=True)

    def _write(self, ended: float | None) -> None:
        """A time is longer than none: nothing is left of what stood there."""
        told = {"owner": self._owner, "folders": self._folders, "began": self._began, "ended": ended}
        os.pwrite(self._fd, json.dumps(told).encode(), 0)

    def end(self) -> bool:
        """It is over; whether another one ran in one of its folders meanwhile."""
        ended = time.time()
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                self._write(ended)
            self.close()
        others = self._others()
        if not any(it.lives for it in others):
            self._forget(others)  # whoever begins from here on begins after all of them
        theirs = (it for it in others if it.owner != self._owner and share(self._folders, it.folders))
        return any(it.beside(self._began, ended) for it in theirs)

    def _others(self) -> list[_Other]:
        found: list[_Other] = []
        with contextlib.suppress(OSError):
            for file in self._place.iterdir():
                if file.name != self._name and (other := _read(file)) is not None:
                    found.append(other)
        return found

    def _forget(self, others: Sequence[_Other]) -> None:
        for file in (self._place / self._name, *(it.file for it in others)):
            with contextlib.suppress(OSError):
                file.unlink()

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        self.close()


def share(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    return any(f"{a}/".startswith(f"{b}/") or f"{b}/".startswith(f"{a}/") for a in mine for b in theirs)


def _read(file: Path) -> _Other | None:
    try:
        with open(file, "rb") as opened:
            told = json.loads(opened.read())
            owner, folders = str(told["owner"]), [*map(str, told["folders"])]
            began, ended = float(told["began"]), told["ended"]
            if ended is not None:
                return _Other(file, owner, folders, began, float(ended), False)
            try:
                lock(opened.fileno(), exclusive=True)
            except OSError:
                return _Other(file, owner, folders, began, None, True)
            return _Other(file, owner, folders, began, None, began > time.time() - JUST_S)
    except (OSError, ValueError, KeyError, TypeError):
        return None
