"""Runs on Dask: workers are probed one by one, running tasks are stopped by events, states are reported.

Dask starts a task again, silently, whose worker died. The task refuses that (`tokens`), and the run is lost.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from ... import timeouts
from ...agent.copies.copy import Snapshot
from ...core.fan_out.rows import ACTIVE, RunState
from ...core.fan_out.task import AgentSpec, IncompatibleVersion, Result, Task
from ...log import logger, suppressed
from .board import Board
from .dispatcher import Lost
from .remote import RemoteEngine, _later, _settle
from .remote_work import Probe, probe, read_probe
from .scoring import Scorer
from .stop import Stop

_log = logger(__name__)

LOOK_PAUSE_S = 0.5
"""Between two looks whether the scheduler is still there."""

WORKERS_EVERY = 10
"""Every so many looks, the scheduler is asked for its workers."""

CLEARED_AT_ONCE = 100


async def _probe(agents: bytes, folder: bytes) -> bytes:
    """On a thread of the worker: starting agents takes seconds, in which its event loop has to go on."""
    return await asyncio.to_thread(probe, agents, folder)


def is_dask(executor: object) -> bool:
    return type(executor).__module__.startswith("distributed.") and hasattr(executor, "_client")


def width(executor: Any) -> int | None:
    """The number of the workers' threads."""
    found = sum(executor._client.nthreads().values())
    return found or None


class DaskEngine(RemoteEngine):
    """Carries out runs on the workers of a Dask cluster."""

    _first_state: RunState = "queued"

    def __init__(
        self,
        executor: Any,
        board: Board,
        snapshot: Snapshot,
        function: Scorer | None,
        agents: Sequence[AgentSpec],
        id: str,
    ) -> None:
        super().__init__(executor, board, snapshot, function, agents)
        self._client = executor._client
        self._options = {**executor._kwargs, "pure": False}
        self._executor = self._client.get_executor(**self._options)
        self._topic = f"acp-runs-{id}"
        self._open: dict[str, Future[Result]] = {}
        self._begun: list[str] = []
        self._cancelled: list[str] = []
        self._closed = threading.Event()
        self._only: frozenset[str] | None = None
        """The addresses of the workers that may get runs; None: all, also those that join later."""

    # ---- before the first run -----------------------------------------------------------------------

    def prepare(self) -> None:
        self._client.subscribe_topic(self._topic, self._reported)
        super().prepare()
        threading.Thread(target=self._watch, name="acp-dask", daemon=True).start()

    def _probe_all(self) -> dict[str, Probe | Exception]:
        found: dict[str, Probe | Exception] = {}
        asked: Future[dict[str, Any]] = Future()

        def ask() -> None:
            try:
                asked.set_result(self._client.run(_probe, *self._probe_arguments(), on_error="return"))
            except Exception as error:
                asked.set_exception(error)

        threading.Thread(target=ask, name="acp-probe", daemon=True).start()
        try:
            answers = asked.result(timeouts.get().run_probe)
        except Exception as error:  # of Dask or the network
            return {"the workers": error}
        for name, answer in answers.items():
            try:
                found[name] = answer if isinstance(answer, Exception) else read_probe(answer)
            except IncompatibleVersion as error:
                found[name] = error
        return found

    def _use(self, workers: list[str]) -> None:
        if not self._options.get("workers"):
            self._executor = self._client.get_executor(**self._options, workers=workers)
            self._only = frozenset(workers)

    def _reference(self, data: bytes) -> Any:
        return self._client.scatter(data, hash=False)

    # ---- runs ---------------------------------------------------------------------------------------

    def _token(self, index: int, task: Task) -> dict[str, str]:
        return {"kind": "dask", "name": task.id, "topic": self._topic, "index": str(index)}

    def submit(self, index: int, task: Task, stop: Stop) -> Future[Result]:
        done = super().submit(index, task, stop)
        self._begun.append(task.id)
        self._open[task.id] = done
        done.add_done_callback(lambda _: self._open.pop(task.id, None))
        return done

    def _reported(self, event: tuple[Any, Any]) -> None:
        """A worker reports the state of a run."""
        match event:
            case (_, {"index": str(index), "state": str(state)}) if state in ACTIVE and index.isdigit():
                if int(index) < len(self._board.entries):
                    self._board.advance(int(index), state)  # type: ignore[arg-type]

    def _cancel(self, task: Task, future: Future[bytes], done: Future[Result]) -> None:
        """A running task hears of it by its event: cancelling its future would leave it running, unheard."""
        from distributed import Event

        if done.done():
            return
        self._cancelled.append(task.id)
        event: Any = Event(f"{task.id}-cancel", client=self._client)

        async def tell() -> None:
            with suppressed(_log, Exception):  # of the network: the timer below is the answer
                await event.set()

        self._client.loop.add_callback(tell)

        def give_up() -> None:
            future.cancel()
            _settle(done, error=Lost("it did not stop when it was cancelled"))

        _later(timeouts.get().run_stop, give_up)

    def _watch(self) -> None:
        """Give up all runs when nobody can carry them out: their futures would wait forever."""
        missed = looks = 0
        while not self._closed.wait(LOOK_PAUSE_S):
            looks += 1
            missed = 0 if self._client.status == "running" else missed + 1
            if missed * LOOK_PAUSE_S >= timeouts.get().scheduler_gone:
                self._lose_all(f"the connection to Dask's scheduler is {self._client.status}")
            elif self._only is not None and not looks % WORKERS_EVERY and not self._any_left(self._only):
                self._lose_all("no worker is left of those that can run the agents")

    def _any_left(self, workers: frozenset[str]) -> bool:
        """A worker that its nanny starts again has another address, and was not probed."""
        try:
            return not workers.isdisjoint(self._client.nthreads())
        except Exception:  # of Dask or the network: the status of the connection will tell
            _log.debug("the scheduler does not list its workers", exc_info=True)
            return True

    def _lose_all(self, why: str) -> None:
        for done in tuple(self._open.values()):
            _settle(done, error=Lost(why))

    def close(self) -> None:
        self._closed.set()
        if self._client.status == "running":
            with suppressed(_log, Exception):  # of Dask or the network: what is left is a few bytes
                self._client.unsubscribe_topic(self._topic)
                self._client.sync(self._clear)
        super().close()

    async def _clear(self) -> None:
        """Remove the marks of this fan-out from the scheduler."""
        cancelled = [f"{it}-cancel" for it in self._cancelled]
        names = [*(f"{it}-begun" for it in self._begun), *cancelled]
        for start in range(0, len(names), CLEARED_AT_ONCE):
            some = names[start : start + CLEARED_AT_ONCE]
            await asyncio.gather(*(self._client.scheduler.event_clear(name=it) for it in some))
