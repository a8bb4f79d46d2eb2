"""Runs on an executor of the user's: any `concurrent.futures.Executor`, and Dask with what it can do more.

Only `submit`, `add_done_callback` and `cancel` of the executor and its futures are used. What an engine
cannot do (stop a running task, notice a second start) is done by tokens, in the task itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import msgspec

from ... import timeouts
from ...agent.copies.copy import CopyFailed, Snapshot
from ...core.fan_out.rows import RunState
from ...core.fan_out.task import AgentSpec, Result, Task, encoded, result_from, to_bytes
from ...errors import Error
from ...log import logger, suppressed
from .board import Board
from .dispatcher import Lost
from .remote_work import Probe, probe, read_probe, run_task
from .scoring import Scorer
from .stop import Stop
from .tokens import TOKENS

_log = logger(__name__)

MOST_TROUBLES = 5
"""How many workers a notice lists."""

LEAST_FREE_BYTES = 500 * 2**20
"""A worker with less space in its temporary folder is mentioned."""


class RemoteEngine:
    """Carries out runs on an executor."""

    def __init__(
        self,
        executor: Executor,
        board: Board,
        snapshot: Snapshot,
        function: Scorer | None,
        agents: Sequence[AgentSpec],
    ) -> None:
        self._executor = executor
        self._board = board
        self._snapshot = snapshot
        self._function = function
        self._agents = list({it.label: it for it in agents}.values())
        self._packed: Any = None
        """The folder, in the form in which the executor takes it: bytes, or a reference to them."""
        self._pack = threading.Lock()
        self._tokens: Path | None = None

    @staticmethod
    def width(executor: Executor) -> int | None:
        """How many runs the executor can carry out at once, if it says so."""
        from . import dask

        if dask.is_dask(executor):
            return dask.width(executor)
        view = getattr(executor, "view", None)  # ipyparallel
        found = len(view) if view is not None else getattr(executor, "_max_workers", None)
        return found if isinstance(found, int) and found > 0 else None

    # ---- before the first run -----------------------------------------------------------------------

    def prepare(self) -> None:
        probes = self._probe_all()
        usable = self._examine(probes)
        if not usable:
            raise Error(f"no worker can run the agents: {self._troubles(probes)}")
        if all(it.has_folder for it in usable.values() if isinstance(it, Probe)):
            self._tokens = Path(self._snapshot.spec.source, TOKENS)
            self._tokens.mkdir(exist_ok=True)
        else:
            self._send_folder()
        if len(usable) < len(probes):
            self._use(list(usable))

    def _probe_all(self) -> dict[str, Probe | Exception]:
        """What each worker has, by its name. Any executor: one worker answers for all."""
        try:
            data = self._executor.submit(probe, *self._probe_arguments()).result(timeouts.get().run_probe)
            return {"a worker": read_probe(data)}
        except Exception as error:  # the engine's own, whatever it raises
            return {"a worker": error}

    def _probe_arguments(self) -> tuple[bytes, bytes]:
        return encoded(self._agents), encoded(self._snapshot.spec)

    def _examine(self, probes: dict[str, Probe | Exception]) -> dict[str, Probe]:
        """The workers that can run all agents; a notice says what the others lack, once."""
        usable = {
            name: it
            for name, it in probes.items()
            if isinstance(it, Probe) and len(it.troubles) < len(self._agents)
        }
        if any(not isinstance(it, Probe) or it.troubles for it in probes.values()):
            self._board.give_notice(f"workers: {self._troubles(probes)}")
        full = [it.host for it in usable.values() if it.free_bytes < LEAST_FREE_BYTES]
        if full:
            self._board.give_notice(
                f"little space in the temporary folder of {', '.join(full[:MOST_TROUBLES])}"
            )
        complete = {name: it for name, it in usable.items() if not it.troubles}
        return complete or usable

    def _troubles(self, probes: dict[str, Probe | Exception]) -> str:
        said: list[str] = []
        for name, it in probes.items():
            if isinstance(it, Probe):
                said += [f"{name} ({it.host}): {agent}: {why}" for agent, why in it.troubles.items()]
            else:
                said.append(f"{name}: {type(it).__name__}: {it}")
        more = len(said) - MOST_TROUBLES
        return "; ".join([*said[:MOST_TROUBLES], *([f"and {more} more"] if more > 0 else [])])

    def _use(self, workers: list[str]) -> None:
        """Send runs to these workers only, if the engine can."""

    def _send_folder(self) -> None:
        """Send the folder with every run from now on."""
        with self._pack:
            if self._packed is None:
                try:
                    self._packed = self._reference(self._snapshot.pack())
                except CopyFailed as error:
                    raise Error(str(error)) from None

    def _reference(self, data: bytes) -> Any:
        return data

    # ---- runs ---------------------------------------------------------------------------------------

    def submit(self, index: int, task: Task, stop: Stop) -> Future[Result]:
        done: Future[Result] = Future()
        sent = msgspec.structs.replace(task, token=self._token(index, task))
        data = to_bytes(sent)
        try:
            future = self._executor.submit(self._work, data, self._function, self._packed)
        except Exception as error:  # the engine's own: a broken pool, a closed client
            raise Lost(f"{type(error).__name__}: {error}") from None
        self._board.advance(index, self._first_state)
        future.add_done_callback(lambda it: self._received(index, it, done))
        forget = stop.notify(lambda: self._cancel(sent, future, done))
        # Dask keeps a result, here and on its worker, as long as something refers to its future.
        done.add_done_callback(lambda _: forget())
        return done

    _work = staticmethod(run_task)

    _first_state: RunState = "running"
    """Of a run that was given to the executor: most do not say when they begin it."""

    def _token(self, index: int, task: Task) -> dict[str, str]:
        if self._tokens is None:
            return {}
        return {"kind": "files", "folder": str(self._tokens), "name": task.id}

    def _received(self, index: int, future: Future[bytes], done: Future[Result]) -> None:
        try:
            result = result_from(future.result())
        except BaseException as error:  # cancelled, a dead worker, a broken pool: each engine has its own
            said = str(error).splitlines()[0] if str(error) else ""
            _settle(done, error=Lost(f"{type(error).__name__}: {said}"))
            return
        if result.retry == "folder":
            try:
                self._send_folder()
            except Error as error:
                _log.debug("the folder cannot be sent: %s", error)
        _settle(done, result)

    def _cancel(self, task: Task, future: Future[bytes], done: Future[Result]) -> None:
        """Ask the worker to stop; give it up if it does not, or if it was not begun."""
        if future.cancel():
            return  # it had not begun; the callback enters that
        if self._tokens is not None:
            with suppressed(_log, OSError):
                (self._tokens / f"{task.id}.cancel").touch()
        _later(
            timeouts.get().run_stop,
            lambda: _settle(done, error=Lost("it did not stop when it was cancelled")),
        )

    def close(self) -> None:
        self._snapshot.close()


def _settle(done: Future[Result], result: Result | None = None, error: BaseException | None = None) -> None:
    """Complete the future, unless it is."""
    with suppressed(_log, Exception):  # InvalidStateError: another thread was faster
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        elif result is not None:
            done.set_result(result)


def _later(seconds: float, function: Callable[[], None]) -> None:
    timer = threading.Timer(seconds, function)
    timer.daemon = True
    timer.start()
