"""Which paths of a folder may have changed since the last look: kept by what the system tells of its folders.

Bookkeeping of events; the system calls are `inotify`'s, git's rules somebody else's. What it cannot tell is a
`Doubt`: then everything is looked at, and the watch is begun anew. It errs on one side only: a path that it
names may be as it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from . import inotify
from .inotify import Event

MOST_FOLDERS = 20_000
"""That are watched for one session: each takes a kilobyte or two of the system's memory."""

SHARE = 4
"""… and at most this part of what the user may watch: editors want some, too."""

MOST_NOTED = 2_000
"""Paths that are noted one by one; beyond that a look at everything is as good."""

TELLING = frozenset({".git", ".gitignore"})
"""Names that change what counts."""

_CAME_OR_WENT = inotify.CREATE | inotify.DELETE | inotify.MOVED_FROM | inotify.MOVED_TO
_OF_ITSELF = inotify.DELETE_SELF | inotify.MOVE_SELF


class Doubt(Exception):
    """Something may have changed that was not told."""


class Kernel(Protocol):
    """What is asked of the system."""

    def add(self, folder: str) -> int: ...

    def remove(self, watch: int) -> None: ...

    def drain(self) -> Iterable[Event]: ...

    def close(self) -> None: ...


@dataclass
class Noted:
    """Paths, below the top."""

    files: set[str] = field(default_factory=set)
    """Names that may be another file by now, or none."""
    trees: set[str] = field(default_factory=set)
    """Folders that came or went: all in them is to be looked at."""
    folders: set[str] = field(default_factory=set)
    """Folders in which something came or went."""

    def __bool__(self) -> bool:
        return bool(self.files or self.trees or self.folders)

    def has(self, path: str) -> bool:
        return path in self.files or any(path == it or path.startswith(f"{it}/") for it in self.trees)

    def outermost(self) -> list[str]:
        """The trees that lie in none of the others."""
        return [it for it in sorted(self.trees) if not any(above in self.trees for above in _above(it))]


class Watch:
    """On the folders below `root`, a path below `top` ("": top itself)."""

    def __init__(self, top: str, root: str, kernel: Kernel, most: int = MOST_FOLDERS) -> None:
        self.noted = Noted()
        """Until somebody has looked, and clears it."""
        self._top = top
        self._root = root
        self._kernel = kernel
        self._most = most
        self._folders: dict[int, str] = {}
        self._watches: dict[str, int] = {}
        self._below: dict[str, set[str]] = {}
        self._closed_off: set[str] = set()

    def __contains__(self, folder: str) -> bool:
        return folder in self._watches and folder not in self._closed_off

    def __iter__(self) -> Iterator[str]:
        return iter(self._watches)

    def enter(self, folder: str, *, closed_off: bool = False) -> bool:
        """Watch it; False: it is gone again. Whoever lists it afterwards misses nothing.

        `closed_off`: a repository of its own, of which only that counts.
        """
        try:
            watch = self._kernel.add(os.path.join(self._top, folder))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise Doubt(f"{folder} cannot be watched: {error}") from None
        if (was := self._folders.get(watch, folder)) != folder:
            self._unlist(was)  # it was moved here, and its leaving is still to be read
        self._folders[watch], self._watches[folder] = folder, watch
        if folder != self._root:
            self._below.setdefault(os.path.dirname(folder), set()).add(folder)
        if closed_off:
            self._closed_off.add(folder)
        if len(self._watches) > self._most:
            raise Doubt("there are too many folders to watch")
        return True

    def read(self) -> None:
        """Note what was told since; raises Doubt."""
        for event in self._kernel.drain():
            self._take(event)
        if len(self.noted.files) + len(self.noted.trees) > MOST_NOTED:
            raise Doubt("too much has changed to be noted")

    def _take(self, event: Event) -> None:
        if event.mask & (inotify.OVERFLOW | inotify.UNMOUNT):
            raise Doubt("the system lost count")
        folder = self._folders.get(event.watch)
        if folder is None:
            return  # it was given up, and so was what it says
        if event.mask & (inotify.IGNORED | _OF_ITSELF):
            self._left(folder, over=bool(event.mask & inotify.IGNORED))
        elif event.name in TELLING:
            raise Doubt(f"{event.name} has changed")
        elif event.name and folder not in self._closed_off:
            self._noticed(os.path.join(folder, event.name), folder, event.mask)

    def _left(self, folder: str, *, over: bool) -> None:
        """Of others than the root, the folder above tells."""
        if folder == self._root:
            raise Doubt("the folder itself is gone, or elsewhere")
        if over:
            self._forget(folder)
            self.noted.trees.add(folder)

    def _noticed(self, path: str, folder: str, mask: int) -> None:
        if mask & _CAME_OR_WENT:
            self.noted.folders.add(folder)
        if not mask & inotify.IS_FOLDER:
            self.noted.files.add(path)
        elif mask & _CAME_OR_WENT:
            self._forget(path)
            self.noted.trees.add(path)
        else:
            self.noted.folders.add(path)  # its rights: it may be closed by now

    def _forget(self, folder: str) -> None:
        """With all below: what they still tell is of another place."""
        waiting = [folder]
        while waiting:
            one = waiting.pop()
            waiting += self._below.pop(one, ())
            if one in self._closed_off:
                raise Doubt("a repository within the folder came or went")
            if (watch := self._watches.get(one)) is not None:
                self._unlist(one)
                self._folders.pop(watch, None)
                self._kernel.remove(watch)

    def _unlist(self, folder: str) -> None:
        self._watches.pop(folder, None)
        if (beside := self._below.get(os.path.dirname(folder))) is not None:
            beside.discard(folder)

    def close(self) -> None:
        self._kernel.close()


def most_folders() -> int:
    return min(MOST_FOLDERS, inotify.most_watches() // SHARE)


def _above(path: str) -> Iterator[str]:
    while path := os.path.dirname(path):
        yield path
