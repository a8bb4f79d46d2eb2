"""Cancels turns that exceed their limits, and decides when to retry after a rate limit.

Watches the events of one session; the conversation cancels and sends. Runs on the loop thread.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from ..core import events as ev
from ..core.limits import Meter, rate_limit, wait_before
from ..errors import AgentError
from .session_state import SessionState
from .turn_queue import TurnRun

UNWATCHED = "max_cost has no effect"
NO_COST = "the agent does not report the cost of its turns"


class TurnLimiter:
    """Enforces the limits of the turns of one session.

    Subscribes only to the events that a turn's limits need, and only while the turn runs.
    """

    def __init__(self, state: SessionState, cancel: Callable[[TurnRun], None]) -> None:
        self._state = state
        self._cancel = cancel
        self._run: TurnRun | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._calls: set[str] = set()
        self._meter = Meter(None, fresh=False)
        self._noticed = False
        self._stops: list[Callable[[], None]] = []
        """Unsubscribe from the events of the running turn."""
        self._goes_on: list[Callable[[], None]] = []
        """Unsubscribe from the events that end a rate limit during a turn."""
        state.on(ev.TurnStarted, self._begin)
        state.on(ev.TurnEnded, self._end)
        state.on(ev.NoticeGiven, self._notice)

    def _tool_changed(self, event: ev.ToolChanged) -> None:
        self._calls.add(event.id)
        self._soon(self._check)

    def _usage_changed(self, event: ev.UsageChanged) -> None:
        if event.usage.cost is not None:
            self._meter.see(event.usage.cost)
            self._soon(self._check)

    def _on_work(self, _: ev.MessageChunk | ev.ToolChanged) -> None:
        """The agent continues after a rate limit."""
        _stop(self._goes_on)
        self._soon(self._state.apply, ev.RateLimitOver())

    @staticmethod
    def _soon(function: Callable[..., None], *args: object) -> None:
        """Call the function after the current event, which later listeners must receive first."""
        asyncio.get_running_loop().call_soon(function, *args)

    def _begin(self, _: ev.TurnStarted) -> None:
        self._run = run = self._state.running
        self._calls.clear()
        _stop(self._stops)
        _stop(self._goes_on)
        if run is None:
            return
        if run.limits.max_tool_calls is not None:
            self._stops.append(self._state.on(ev.ToolChanged, self._tool_changed))
        if run.limits.max_cost is not None:
            usage = self._state.read(lambda transcript: transcript.usage)
            before = usage.cost if usage is not None else None
            self._meter = Meter(before, fresh=self._state.fresh)
            self._stops.append(self._state.on(ev.UsageChanged, self._usage_changed))
            run.on_charge = lambda: self._soon(self._check)
        if (seconds := run.limits.seconds) is not None:
            reason = f"more than {seconds:g} s"
            self._timer = asyncio.get_running_loop().call_later(seconds, self._stop_turn, run, reason)

    def _end(self, _: ev.TurnEnded) -> None:
        run, self._run = self._run, None
        _stop(self._stops)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if run is not None and run.limits.max_cost is not None and not (self._meter.has_cost or run.charged):
            self._warn_no_cost()

    def _warn_no_cost(self) -> None:
        """Warn once that the limit has no effect."""
        if not self._noticed:
            self._noticed = True
            self._soon(self._state.apply, ev.NoticeGiven("warning", UNWATCHED, NO_COST, "client"))

    def _check(self) -> None:
        run = self._run
        if run is None:
            return
        reason = run.limits.reached(calls=len(self._calls), spent=self._spent(run))
        if reason is not None:
            self._stop_turn(run, reason)

    def _spent(self, run: TurnRun) -> float:
        """What the turn has cost, with the turns that it asked other sessions for, in the same currency."""
        own = self._meter.cost
        if own is not None:
            return own.amount + run.charged.get(own.currency, 0.0)
        return max(run.charged.values(), default=0.0)

    def _stop_turn(self, run: TurnRun, reason: str) -> None:
        if self._state.running is not run or run.cancelling:
            return
        run.limit = reason
        self._state.apply(ev.TurnLimited(reason))
        self._state.auditor.note("act", "limit", reason, by="client", outcome="cancelled")
        self._cancel(run)

    # ---- rate limits ------------------------------------------------------------------------

    def _notice(self, notice: ev.NoticeGiven) -> None:
        if self._run is None or notice.source != "agent":
            return
        met, wait = rate_limit(f"{notice.title}\n{notice.description or ''}")
        if met:
            self._soon(self._state.apply, ev.RateLimited(notice.title, wait, _until(wait)))
            if not self._goes_on:
                self._goes_on.append(self._state.on(ev.MessageChunk, self._on_work))
                self._goes_on.append(self._state.on(ev.ToolChanged, self._on_work))

    def retry_after(self, run: TurnRun, error: Exception | None) -> float | None:
        """If the error is a rate limit, show it; return how long to wait before a retry, or None."""
        if not isinstance(error, AgentError) or run.cancelling:
            return None
        met, stated = rate_limit(str(error), error.code, error.data)
        if not met:
            return None
        retries = run.limits.retries
        wait = wait_before(run.attempts + 1, stated) if run.attempts < retries else None
        if wait is None:
            self._state.apply(ev.RateLimited(str(error), stated, _until(stated)))
            return None
        run.attempts += 1
        self._state.apply(ev.RateLimited(str(error), wait, _until(wait), run.attempts, retries))
        return wait


def _stop(subscriptions: list[Callable[[], None]]) -> None:
    for stop in subscriptions:
        stop()
    subscriptions.clear()


def _until(wait: float | None) -> float | None:
    return None if wait is None else round(time.time() + wait, 3)
