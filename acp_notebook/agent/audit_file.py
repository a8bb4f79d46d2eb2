"""Writes an audit to a file: one JSON object per line, append only.

A disk error must not end a turn: it is reported once, and each further entry is attempted again.
"""

from __future__ import annotations

import json
import os
import stat
import warnings
from collections.abc import Callable
from pathlib import Path

from ..core.audit import Entry, entry_to_plain
from ..errors import UsageError


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=3)


class AuditFile:
    """Appends audit entries to a file. Raises UsageError if the file cannot be opened."""

    def __init__(self, path: str | os.PathLike[str], *, warn: Callable[[str], None] = _warn) -> None:
        self.path = Path(path).expanduser().absolute()
        self._warn = warn
        self._warned = False
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            self._handle: int | None = os.open(self.path, flags, 0o600)
        except OSError as error:
            raise UsageError(f"cannot write the audit to {self.path}: {error.strerror}") from None
        if not stat.S_ISREG(os.fstat(self._handle).st_mode):
            self.close()
            raise UsageError(f"cannot write the audit to {self.path}: it is not a regular file")
        self._torn = self._ends_torn(self._handle)

    def append(self, entry: Entry) -> None:
        """Write the entry as one line."""
        if self._handle is None:
            return
        line = json.dumps(entry_to_plain(entry), default=repr).encode() + b"\n"
        try:
            self._write(self._handle, b"\n" + line if self._torn else line)
        except OSError as error:
            self._fail(f"cannot write audit entries to {self.path}: {error.strerror}")

    def close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def _write(self, handle: int, data: bytes) -> None:
        left = memoryview(data)
        while left:  # one write, so that lines of two kernels do not mix; a full disk may write only a part
            written = os.write(handle, left)
            left = left[written:]
            self._torn = bool(left)

    def _fail(self, text: str) -> None:
        if not self._warned:
            self._warned = True
            self._warn(text)

    @staticmethod
    def _ends_torn(handle: int) -> bool:
        """Whether the file ends with a partial line, left by a crash."""
        size = os.fstat(handle).st_size
        return size > 0 and os.pread(handle, 1, size - 1) != b"\n"
