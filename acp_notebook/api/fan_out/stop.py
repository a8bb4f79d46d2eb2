"""A request to stop a run, which several parts of it can hear."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stop:
    """Is set once, from any thread. Whoever can stop something registers for it while it runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._callbacks: list[Callable[[], object]] = []

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        with self._lock:
            if self._event.is_set():
                return
            self._event.set()
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback()

    def notify(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call the function when it is set, or at once if it is set already. Returns how to unregister it."""
        with self._lock:
            at_once = self._event.is_set()
            self._callbacks.append(callback)
        if at_once:
            callback()

        def forget() -> None:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)

        return forget

    @contextmanager
    def calling(self, callback: Callable[[], object]) -> Iterator[None]:
        """Call the function when it is set during this block, or at once if it is set already."""
        forget = self.notify(callback)
        try:
            yield
        finally:
            forget()
