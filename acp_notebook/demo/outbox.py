"""Write bytes to a descriptor from a thread of its own, so that a slow reader never stops the loop.

It knows nothing of messages or lines: whole pieces go out in the order in which they were put.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable

HIGH_WATER = 1 << 18
"""Bytes that may wait before a scene is asked to wait too: a few pipe buffers, so that nothing starves."""


class Outbox:
    """One descriptor's queue and its writer thread."""

    def __init__(
        self, fd: int, loop: asyncio.AbstractEventLoop, on_broken: Callable[[], None] = lambda: None
    ) -> None:
        self._fd = fd
        self._loop = loop
        self._on_broken = on_broken
        self._pieces: list[bytes] = []
        self._waiting = 0  # bytes that were put and not yet written
        self._broken = False
        self._changed = threading.Condition()
        self._drained: set[asyncio.Future[None]] = set()
        threading.Thread(target=self._write_all, daemon=True).start()

    def put(self, piece: bytes) -> None:
        """Queue a piece; never blocks."""
        with self._changed:
            if not self._broken:
                self._pieces.append(piece)
                self._waiting += len(piece)
                self._changed.notify_all()

    async def room(self, limit: int = HIGH_WATER) -> None:
        """Wait until at most ``limit`` bytes are still to be written."""
        while self._waiting > limit:
            drained: asyncio.Future[None] = self._loop.create_future()
            with self._changed:
                if self._waiting <= limit:
                    return
                self._drained.add(drained)
            await drained

    def flush(self, timeout: float) -> bool:
        """Block until everything is written, for so long at most; whether it was."""
        with self._changed:
            return self._changed.wait_for(lambda: self._waiting == 0, timeout)

    def _write_all(self) -> None:
        while not self._broken:
            with self._changed:
                self._changed.wait_for(lambda: self._pieces)
                data = b"".join(self._pieces)
                self._pieces.clear()
            self._broken = not self._write(data)
            with self._changed:
                self._waiting = 0 if self._broken else self._waiting - len(data)
                self._changed.notify_all()
                woken, self._drained = self._drained, set()
            for drained in woken:
                self._wake(drained)
        self._on_broken()

    def _write(self, data: bytes) -> bool:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError:
            return False
        return True

    def _wake(self, drained: asyncio.Future[None]) -> None:
        def settle() -> None:
            if not drained.done():
                drained.set_result(None)

        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(settle)
