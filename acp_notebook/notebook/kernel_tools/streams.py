"""Captures stdout and stderr of a run without touching file descriptors.

All text of the process passes through ipykernel's stream objects: prints, logging handlers that hold a
stream, and text that child processes or C code write to the file descriptor, which a thread of ipykernel
reads. So a run replaces their `write`. The user's threads keep writing to their cell.
"""

from __future__ import annotations

import io
import os
import select
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from ... import timeouts
from .outputs import Outputs, StreamName
from .restore import AttributeRestorer
from .type_checks import loaded

_getpid, _get_ident, _current_thread = os.getpid, threading.get_ident, threading.current_thread
"""The originals, before an agent's code could replace them."""

SETTLE_S = 0.001
"""How long ipykernel's thread may take to pass on what it has read."""


class Streams:
    """Sends the text of the code to `outputs` until `end`."""

    def __init__(self, outputs: Outputs, restorer: AttributeRestorer) -> None:
        self._outputs = outputs
        self._pid = os.getpid()
        self._others = weakref.WeakSet(threading.enumerate())
        self._others.discard(threading.main_thread())
        self._watched: list[Any] = []
        self._is_over = False
        for name in ("stdout", "stderr"):
            self._take(name, restorer)

    def _take(self, name: Any, restorer: AttributeRestorer) -> None:
        stream = getattr(sys, name)
        out_stream = loaded("ipykernel.iostream", "OutStream")
        if out_stream is None or not isinstance(stream, out_stream):
            restorer.set(sys, name, ReplacedStream(lambda text: self._outputs.write(name, text)))
            return
        restorer.keep(sys, name)  # the code may replace it
        if (thread := getattr(stream, "watch_fd_thread", None)) is not None:
            self._others.discard(thread)
            self._watched.append(stream)
        restorer.set(stream, "close", lambda: None)  # the kernel could no longer publish
        restorer.set(stream, "write", self._writer(name, stream))

    def _writer(self, name: StreamName, stream: Any) -> Callable[[str], int]:
        write, add, pid = stream.write, self._outputs.write, self._pid
        others, main = self._others, threading.main_thread().ident
        fd = getattr(stream, "_original_stdstream_fd", None)

        def written(text: str) -> int:
            if self._is_over or not isinstance(text, str):
                return int(write(text) or 0)
            if _getpid() != pid:  # a forked process: the kernel reads it at the other end
                if fd is not None:
                    os.write(fd, text.encode(errors="replace"))
                return len(text)
            if _get_ident() != main and _current_thread() in others:
                return int(write(text) or 0)
            add(name, text)
            return len(text)

        return written

    def drain(self) -> bool:
        """Wait for text in transit; False if more keeps coming."""
        deadline = time.monotonic() + timeouts.get().run_drain
        is_coming = bool(self._watched)
        while is_coming:
            if time.monotonic() > deadline:
                return False
            is_coming = any(map(_is_readable, self._watched))
            time.sleep(SETTLE_S)  # also after the last check, so that what was just read is passed on
        return True

    def end(self) -> None:
        """End the capture: code that kept a stream writes to the user's from now on."""
        self._is_over = True


def _is_readable(stream: Any) -> bool:
    try:
        return bool(select.select([stream._fid], [], [], 0)[0])
    except (AttributeError, OSError, TypeError, ValueError):  # another ipykernel, or over 1,024 files
        return False


class ReplacedStream(io.TextIOBase):
    """Captures text if the user has replaced ipykernel's stream."""

    encoding = "utf-8"

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def write(self, text: str) -> int:
        self._write(text)
        return len(text)

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        pass
