"""What a checkpoint leaves out, looked at all the same: ignored files and repositories within the folder.

Nothing of it is kept, so it cannot be undone; that something changed there is told, within a budget.
Knows dates of files only. Blocks, so it belongs on a thread.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from ..files.writing import LEFTOVER
from .covers import Found
from .git import OURS_S, Git, names

MOST_ENTRIES = 50_000
"""That are looked at after a turn: some 0.3 s. A folder of data may have millions."""

MOST_S = 0.5
"""… and never longer than this."""

CACHES = frozenset(
    {
        "__pycache__",
        ".git",
        ".ipynb_checkpoints",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".hypothesis",
    }
)
"""Written by every run of a program, and of no worth: not looked at."""

IGNORED = "ignored by git's rules, so it is not covered"
NESTED = "a repository of its own, so it is not covered"


@dataclass
class _Count:
    changed: int = 0
    complete: bool = True


class Outside:
    """Of one folder."""

    def __init__(self, top: str, pathspec: tuple[str, ...]) -> None:
        self.nested: list[str] = []
        self.notes: tuple[str, ...] = ()
        """What was left out at the last look."""
        self._top = top
        self._pathspec = pathspec
        self._known: set[str] | None = None

    def changed(self, git: Git, since: int, ignored_now: frozenset[str] | None = None) -> Iterator[Found]:
        """Places in which something changed since then. `ignored_now`: those that are known to be ignored."""
        ignored = [it for it in self._ignored(git, ignored_now) if _told(it)]
        end = time.monotonic() + MOST_S
        left = MOST_ENTRIES
        skipped: list[str] = []
        places = [*((f"{it}/", NESTED) for it in self.nested), *((it, IGNORED) for it in ignored)]
        places.sort(key=lambda it: it[0].endswith("/"))  # a file is one look
        for number, (path, why) in enumerate(places):
            # A fair share for each: a folder of data must not hide what happened in the next one.
            share, now = len(places) - number, time.monotonic()
            found, used = self._look(path, since, left // share, now + (end - now) / share)
            left -= used
            if found.changed:
                yield Found(
                    os.path.join(self._top, path), why_not=_words(why, path, found), count=found.changed
                )
            elif not found.complete:
                skipped.append(path)
        for path in sorted((self._known or set()) - set(ignored)):
            if not os.path.lexists(os.path.join(self._top, path)):
                yield Found(os.path.join(self._top, path), why_not=IGNORED, action="deleted")
        self._known = set(ignored)
        self.notes = _notes(ignored, skipped)

    def _ignored(self, git: Git, known: frozenset[str] | None) -> list[str]:
        if known is not None:
            return [it for it in sorted(known) if os.path.lexists(os.path.join(self._top, it.rstrip("/")))]
        return ignored_places(git, self._pathspec)

    def _look(self, path: str, since: int, most: int, end: float) -> tuple[_Count, int]:
        """What changed there; and how many entries were looked at."""
        count = _Count()
        whole = os.path.join(self._top, path)
        if not path.endswith("/"):
            count.changed = int(_changed(whole, since))
            return count, 1
        folders = used = 0
        for place, below, files in os.walk(whole):
            below[:] = [it for it in below if it not in CACHES]
            if used + len(files) + 1 > most or time.monotonic() > end:
                count.complete = False
                break
            used += len(files) + 1
            folders += _changed(place, since)
            count.changed += sum(_changed(os.path.join(place, it), since) for it in files)
        count.changed = count.changed or folders  # something was taken away
        return count, used


def ignored_places(git: Git, pathspec: tuple[str, ...]) -> list[str]:
    """What the rules ignore: folders as a whole, which end with "/"; raises GitTrouble."""
    words = ("ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z", *pathspec)
    return names(git.run(*words, limit=OURS_S))


def _changed(path: str, since: int) -> bool:
    try:
        return os.lstat(path).st_ctime_ns >= since
    except OSError:
        return False


def _told(path: str) -> bool:
    name = os.path.basename(path.rstrip("/"))
    return name not in CACHES and not name.endswith((".pyc", ".pyo")) and not LEFTOVER.fullmatch(name)


def _words(why: str, path: str, count: _Count) -> str:
    if not path.endswith("/"):
        return why
    least = "" if count.complete else "at least "
    return f"{why}: {least}{count.changed:,} change{'s' * (count.changed != 1)} in it"


def _notes(ignored: list[str], skipped: list[str]) -> tuple[str, ...]:
    notes: list[str] = []
    if ignored:
        notes.append(f"ignored files are not covered: {listed(ignored)}")
    if skipped:
        notes.append(f"too much in it to look for changes: {listed(skipped)}")
    return tuple(notes)


def listed(paths: list[str], most: int = 5) -> str:
    return ", ".join(paths[:most]) + (f" and {len(paths) - most} more" if len(paths) > most else "")
