"""Decides which run is started next, and enters what came of each: budgets, retries, rate limits, cancels.

Runs on the loop thread. An engine carries out the runs, wherever that is.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import msgspec

from ...agent.threads import on_a_thread
from ...core.fan_out.budget import NO_TOTALS, Backoff, Totals
from ...core.fan_out.choose import duration
from ...core.fan_out.rows import FINAL
from ...core.fan_out.task import Result, Task
from ...log import WARNING, logger, suppressed
from .board import Board
from .stop import Stop

_log = logger(__name__)

RETRIES = {"unsent": 1, "folder": 1, "rate_limit": 5}
"""How often a run is done again, by the reason. Never if it may have sent its prompt, but for a rate limit
that refused it before the agent did anything."""


class Lost(Exception):
    """The worker of a run died, or its engine did."""


class Engine(Protocol):
    """Carries out runs somewhere."""

    def prepare(self) -> None:
        """Called on a work thread before the first run. Raises Error if no run can succeed."""
        ...

    def submit(self, index: int, task: Task, stop: Stop) -> Future[Result]:
        """Start a run, or queue it there. Called on a work thread. The future may raise Lost."""
        ...

    def close(self) -> None:
        """Called on a work thread when every run has ended."""
        ...


@dataclass(frozen=True)
class Plan:
    """What the user wants of all runs together."""

    at_once: int
    totals: Totals = NO_TOTALS
    stop_when: Callable[[], bool] | None = None
    on_result: Callable[[int, Result], None] | None = None
    """Called on a work thread with each final result."""


class Dispatcher:
    """Starts the runs of one fan-out, at most `at_once` at a time."""

    def __init__(self, board: Board, tasks: Sequence[Task], engine: Engine, plan: Plan) -> None:
        self._board = board
        self._tasks = tasks
        self._engine = engine
        self._plan = plan
        self._waiting = deque(at for at, it in enumerate(board.entries) if it.result is None)
        self._running: dict[asyncio.Task[None], int] = {}
        self._news = asyncio.Event()
        self._backoff = Backoff()
        self._starts: Counter[int] = Counter()
        self._retried: Counter[tuple[int, str]] = Counter()
        self._tool_calls = 0
        self._time_is_up = False
        self._begun = time.monotonic()

    async def run(self) -> None:
        """Start runs until all have ended."""
        loop = asyncio.get_running_loop()
        for index in tuple(self._waiting):
            told = partial(loop.call_soon_threadsafe, self._cancelled, index)
            self._board.entries[index].stop.notify(told)
        try:
            await self._prepare()
            await self._run_all()
        except Exception as error:  # of the engine: no run can be started
            _log.debug("the engine failed", exc_info=True)
            self._fail_all(error)
        finally:
            try:
                with suppressed(_log, Exception, level=WARNING):  # whoever waits must not wait forever
                    await on_a_thread(self._engine.close)
            finally:
                self._board.close()

    async def _prepare(self) -> None:
        """Prepare the engine, but not longer than a run waits for it: workers may take long to answer."""
        prepared = asyncio.ensure_future(on_a_thread(self._engine.prepare))
        while not prepared.done() and any(self._board.entries[it].state not in FINAL for it in self._waiting):
            self._news.clear()
            news = asyncio.ensure_future(self._news.wait())
            await asyncio.wait([prepared, news], return_when=asyncio.FIRST_COMPLETED)
            news.cancel()
        if prepared.done():
            prepared.result()
        else:
            prepared.add_done_callback(lambda it: it.exception())  # nobody needs it any more

    async def _run_all(self) -> None:
        while self._waiting or self._running:
            self._news.clear()
            self._check_totals()
            self._start_next()
            if self._waiting or self._running:
                await self._wait_for_news()

    async def _wait_for_news(self) -> None:
        try:
            await asyncio.wait_for(self._news.wait(), self._pause())
        except TimeoutError:
            return

    def _pause(self) -> float | None:
        """The seconds until something happens by itself: a rate limit is over, or the time is up."""
        is_free = self._waiting and len(self._running) < self._plan.at_once
        waits = [self._backoff.soonest(time.monotonic())] if is_free else []
        if self._plan.totals.seconds is not None and not self._time_is_up:
            waits.append(max(0.0, self._plan.totals.seconds - (time.monotonic() - self._begun)))
        return min(waits, default=None)

    def _hold(self, index: int) -> float:
        return self._backoff.wait(self._agent(index), time.monotonic())

    def _agent(self, index: int) -> str:
        return str(self._tasks[index].agent.agent)

    # ---- stopping -----------------------------------------------------------------------------------

    def _cancelled(self, index: int) -> None:
        """A run that waits ends at once, and is passed over later; one that runs hears of it itself."""
        if index not in self._running.values():
            self._board.end(index, "cancelled", error=self._board.stopped or "cancelled")
        self._news.set()

    def _check_totals(self) -> None:
        seconds = time.monotonic() - self._begun
        why = self._plan.totals.reached(self._board.costs, self._tool_calls, seconds)
        if why is not None:
            self._skip_rest(why)
            if self._plan.totals.seconds is not None and seconds >= self._plan.totals.seconds:
                self._time_is_up = True
                self._stop_running()

    def _skip_rest(self, why: str) -> None:
        self._board.stop_starting(why)
        while self._waiting:
            self._board.end(self._waiting.popleft(), "skipped", error=why)

    def _stop_running(self) -> None:
        for index in self._running.values():
            self._board.entries[index].stop.set()

    def _fail_all(self, error: Exception) -> None:
        for index in range(len(self._tasks)):
            self._board.end(index, "failed", error=f"{error}")

    # ---- one run ------------------------------------------------------------------------------------

    def _start_next(self) -> None:
        held: list[int] = []
        while self._waiting and len(self._running) < self._plan.at_once:
            index = self._waiting.popleft()
            if self._board.entries[index].state in FINAL:
                continue
            if self._hold(index) > 0:
                held.append(index)
                continue
            task = asyncio.get_running_loop().create_task(self._one(index))
            self._running[task] = index
            task.add_done_callback(self._ended)
        self._waiting.extendleft(reversed(held))

    def _ended(self, task: asyncio.Task[None]) -> None:
        index = self._running.pop(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("a run ended with an unexpected error", exc_info=error)
            self._board.end(index, "failed", error=f"{type(error).__name__}: {error}")
        self._news.set()

    async def _one(self, index: int) -> None:
        entry, task = self._board.entries[index], self._tasks[index]
        self._starts[index] += 1  # a worker refuses to begin the same id twice
        task = msgspec.structs.replace(task, id=f"{task.id}-{self._starts[index]}")
        try:
            future = await on_a_thread(lambda: self._engine.submit(index, task, entry.stop))
            result = await asyncio.wrap_future(future)
        except (Lost, CancelledError, asyncio.CancelledError) as error:
            if entry.stop.is_set:
                self._board.end(index, "cancelled", error=self._board.stopped or "cancelled")
            else:
                self._board.end(index, "lost", error=f"the worker is gone: {error or type(error).__name__}")
            return
        if not self._again(index, result):
            await self._enter(index, result)

    def _again(self, index: int, result: Result) -> bool:
        """Whether the run is put back into the queue."""
        reason = result.retry
        is_hopeless = result.rate_limited and not self._back_off(index, result)
        if reason is None or is_hopeless or self._board.entries[index].stop.is_set or self._board.stopped:
            return False
        self._retried[index, reason] += 1
        if self._retried[index, reason] > RETRIES[reason]:
            return False
        self._tool_calls += result.tool_calls
        self._board.charge(result)
        self._board.requeue(index)
        self._waiting.appendleft(index)
        return True

    def _back_off(self, index: int, result: Result) -> bool:
        """Let all runs of an agent wait that met a rate limit. False: it is no use."""
        wait = self._backoff.limited(self._agent(index), result.retry_after, time.monotonic())
        if wait is None:
            return False
        label = self._tasks[index].agent.label
        self._board.give_notice(f"{label} met a rate limit: its next run starts in {duration(wait)}")
        return True

    async def _enter(self, index: int, result: Result) -> None:
        if not result.rate_limited:
            self._backoff.succeeded(self._agent(index))
        self._tool_calls += result.tool_calls
        if (on_result := self._plan.on_result) is not None:
            try:
                await on_a_thread(lambda: on_result(index, result))
            except Exception as error:  # the result itself must not be lost
                _log.warning("a result was not recorded", exc_info=True)
                self._board.give_notice(f"the result of run {index} was not recorded: {error}")
        why = self._board.stopped if result.state == "cancelled" else None
        if not self._board.end(index, result.state, result, why or _cancelled(result)):
            return
        if self._plan.stop_when is not None and await self._is_enough(self._plan.stop_when):
            self._skip_rest("stop_when was true")
            self._stop_running()

    async def _is_enough(self, stop_when: Callable[[], bool]) -> bool:
        try:
            return await on_a_thread(lambda: bool(stop_when()))
        except Exception as error:  # of the user's function
            self._board.give_notice(f"stop_when raised {type(error).__name__}: {error}")
            return False


def _cancelled(result: Result) -> str | None:
    return "cancelled" if result.state == "cancelled" else None
