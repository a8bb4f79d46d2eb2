"""How a worker learns that its run is cancelled, and that the run was started before, on any engine.

A token is plain data in the task. With Dask, it names events of the scheduler; elsewhere, files on a disk
that the worker shares; without either, a run cannot be stopped from outside and ends by its own limits.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from ... import timeouts
from ...log import logger, suppressed
from .stop import Stop

_log = logger(__name__)

TOKENS = "tokens"
FILE_PAUSE_S = 0.2

EVENT_WAIT_S = 5.0
"""How long one request to the scheduler waits for a cancel: it answers at once when there is one."""

FAILURE_PAUSE_S = 0.5

Report = Callable[[str], None]
"""Tells the client the state of the run, if the engine can."""


class WorkerToken(Protocol):
    """A token as a worker uses it."""

    def claim(self) -> bool:
        """Whether the run may begin: not if it was begun before, on a worker that died."""
        ...

    def is_cancelled(self, closed: threading.Event) -> bool:
        """Wait a moment for a cancel."""
        ...

    def report(self, state: str) -> None: ...


class NoToken:
    def claim(self) -> bool:
        return True

    def is_cancelled(self, closed: threading.Event) -> bool:
        closed.wait()
        return False

    def report(self, state: str) -> None:
        pass


class FileToken(NoToken):
    """Files on a disk that the client and the worker share."""

    def __init__(self, folder: str, id: str) -> None:
        self._begun = Path(folder, f"{id}.begun")
        self._cancel = Path(folder, f"{id}.cancel")

    def claim(self) -> bool:
        try:
            os.close(os.open(self._begun, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return False
        except OSError:  # the client is gone, and its folder with it
            return False
        return True

    def is_cancelled(self, closed: threading.Event) -> bool:
        closed.wait(FILE_PAUSE_S)
        return self._cancel.exists() or not self._cancel.parent.exists()


class DaskToken(NoToken):
    """Events of Dask's scheduler. Created on the thread of the task, which knows its worker."""

    def __init__(self, name: str, topic: str, index: str) -> None:
        from distributed import Event, get_client, get_worker

        client = get_client()
        self._worker = get_worker()
        self._topic = topic
        self._index = index
        self._begun: Any = Event(f"{name}-begun", client=client)
        self._cancel: Any = Event(f"{name}-cancel", client=client)
        self._silent_since: float | None = None

    def claim(self) -> bool:
        if self._begun.is_set():
            return False
        self._begun.set()
        return True

    def is_cancelled(self, closed: threading.Event) -> bool:
        try:
            found = bool(self._cancel.wait(timeout=EVENT_WAIT_S))
            self._silent_since = None
            return found
        except Exception:  # of the network, in any of Dask's ways
            _log.debug("the scheduler does not answer", exc_info=True)
            since = self._silent_since = self._silent_since or time.monotonic()
            closed.wait(FAILURE_PAUSE_S)
            # It is gone, and with it whoever wants the result. The client decides that later, so that agents
            # have ended when their runs count as lost.
            return time.monotonic() - since >= timeouts.get().scheduler_gone / 2

    def report(self, state: str) -> None:
        with suppressed(_log, Exception):  # of the network: only the display of a state is at stake
            self._worker.log_event(self._topic, {"index": self._index, "state": state})


def worker_token(token: Mapping[str, str]) -> WorkerToken:
    match token.get("kind"):
        case "dask":
            return DaskToken(token["name"], token["topic"], token["index"])
        case "files":
            return FileToken(token["folder"], token["name"])
    return NoToken()


@contextmanager
def watched(token: WorkerToken, stop: Stop) -> Iterator[None]:
    """Set `stop` when the run is cancelled during this block."""
    closed = threading.Event()

    def watch() -> None:
        while not closed.is_set():
            if token.is_cancelled(closed) and not closed.is_set():
                stop.set()
                return

    if type(token) is not NoToken:
        threading.Thread(target=watch, name="acp-cancel", daemon=True).start()
    try:
        yield
    finally:
        closed.set()
