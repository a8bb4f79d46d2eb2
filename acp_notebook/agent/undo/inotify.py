"""The system's word on what changes in folders: Linux's inotify, by ctypes, and where it can be trusted.

Knows system calls only; what an event means is `watch`'s business. An event is queued before the call that
wrote returns, so whoever drains the queue afterwards has it.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

MODIFY, ATTRIB, CLOSE_WRITE = 0x2, 0x4, 0x8
MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x40, 0x80, 0x100, 0x200
DELETE_SELF, MOVE_SELF = 0x400, 0x800
UNMOUNT, OVERFLOW, IGNORED = 0x2000, 0x4000, 0x8000
IS_FOLDER = 0x40000000
_ONLY_FOLDERS, _NO_LINKS = 0x01000000, 0x02000000

_MASK = (
    MODIFY | ATTRIB | CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE | DELETE_SELF | MOVE_SELF
) | (_ONLY_FOLDERS | _NO_LINKS)
"""CLOSE_WRITE, too: what was written through a mapping is told when the file is let go, and not before."""

_HEAD = struct.Struct("iIII")
_BUFFER = 1 << 16

LOCAL = frozenset(
    {
        0xEF53,  # ext2, ext3, ext4
        0x58465342,  # xfs
        0x9123683E,  # btrfs
        0xF2F52010,  # f2fs
        0x2FC12FC1,  # zfs
        0xCA451A4E,  # bcachefs
        0x794C7630,  # overlayfs: containers
        0x01021994,  # tmpfs
        0x858458F6,  # ramfs
    }
)
"""File systems on which all changes go through this kernel. Network disks, FUSE, 9p: others change them, and
nobody tells."""

_LIMIT = Path("/proc/sys/fs/inotify/max_user_watches")
_MOUNTS = Path("/proc/self/mountinfo")


class Event(NamedTuple):
    watch: int
    mask: int
    name: str


class Inotify:
    """One queue; raises OSError where there is none to be had."""

    def __init__(self) -> None:
        init = getattr(_libc(), "inotify_init1", None)
        if init is None:
            raise OSError("this system does not tell of changes")
        self._fd = _checked(init(os.O_CLOEXEC | os.O_NONBLOCK))

    def add(self, folder: str) -> int:
        """The number of the watch on it; the same folder has the same."""
        return _checked(_libc().inotify_add_watch(self._fd, os.fsencode(folder), _MASK))

    def remove(self, watch: int) -> None:
        _libc().inotify_rm_watch(self._fd, watch)  # it may be gone by itself

    def drain(self) -> Iterator[Event]:
        """All that is queued."""
        while self._fd >= 0:
            try:
                data = os.read(self._fd, _BUFFER)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                watch, mask, _, length = _HEAD.unpack_from(data, at)
                at += _HEAD.size
                yield Event(watch, mask, os.fsdecode(data[at : at + length].rstrip(b"\0")))
                at += length

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        if hasattr(self, "_fd"):
            self.close()


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def is_local(folder: str) -> bool:
    """Whether every change in it goes through this kernel."""
    statfs = getattr(_libc(), "statfs", None)
    buffer = ctypes.create_string_buffer(512)  # it begins with the type, whatever else is in it
    if statfs is None or statfs(os.fsencode(folder), buffer) != 0:
        return False
    kind = int.from_bytes(buffer.raw[: ctypes.sizeof(ctypes.c_long)], "little") & 0xFFFFFFFF
    return kind in LOCAL


def most_watches() -> int:
    """That the user may have, in all programs together."""
    try:
        return int(_LIMIT.read_text())
    except (OSError, ValueError):
        return 0


def mounts_below(folder: str) -> tuple[str, ...]:
    """Other disks within it: what is mounted over a folder hides it without a word."""
    try:
        lines = _MOUNTS.read_bytes().splitlines()
    except OSError:
        return ()
    start = os.fsencode(folder).rstrip(b"/") + b"/"
    places = (line.split(b" ", 5)[4] for line in lines)
    plain = (it.decode("unicode_escape").encode("latin-1") if b"\\" in it else it for it in places)
    return tuple(sorted(os.fsdecode(it) for it in plain if (it + b"/").startswith(start)))
