"""A turn that goes beyond its limits is cancelled with that reason; one that met a rate limit is sent again.

Watches one session's events. Knows no protocol: cancelling and sending are the conversation's. Lives on the
loop thread.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..core import events as ev
from ..core.limits import Meter, rate_limit, wait_before
from ..errors import AgentError

if TYPE_CHECKING:
    from .conversation import Conversation
    from .turn_queue import TurnRun

UNWATCHED = "max_cost cannot be watched"
NO_COST = "the agent does not tell what its turns cost"


class TurnLimiter:
    """Cancels turns of one session that exceed their limits; retries after rate limits."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._run: TurnRun | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._calls: set[str] = set()
        self._meter = Meter(None, fresh=False)
        self._noticed = False
        self._limited = False
        """The agent said in the middle of this turn that it met a rate limit."""
        conversation.listen(lambda event, _: self._see(event))

    def _see(self, event: ev.Event) -> None:
        if type(event) is ev.MessageChunk and not self._limited:  # nearly all events are chunks
            return
        match event:
            case ev.TurnStarted():
                self._begin()
            case ev.TurnEnded():
                self._end()
            case ev.ToolChanged(id=id) if self._run is not None:
                self._calls.add(id)
                self._soon(self._check)
            case ev.UsageChanged(usage) if self._run is not None and usage.cost is not None:
                self._meter.see(usage.cost)
                self._soon(self._check)
            case ev.NoticeGiven(source="agent") if self._run is not None:
                self._noticed_limit(event)
        if self._limited and isinstance(event, ev.MessageChunk | ev.ToolChanged):
            self._limited = False
            self._soon(self._conversation.apply, ev.RateLimitOver())

    @staticmethod
    def _soon(function: Callable[..., None], *args: object) -> None:
        """Not within the event: those who listen after us must hear of that first."""
        asyncio.get_running_loop().call_soon(function, *args)

    def _begin(self) -> None:
        self._run = run = self._conversation.running
        self._calls.clear()
        self._limited = False
        snapshot = self._conversation.read(lambda transcript: transcript.snapshot())
        before = snapshot.usage.cost if snapshot.usage is not None else None
        fresh = self._conversation.fresh
        self._meter = Meter(before, fresh=fresh)
        if run is not None and (seconds := run.limits.seconds) is not None:
            reason = f"more than {seconds:g} s"
            self._timer = asyncio.get_running_loop().call_later(seconds, self._reached, run, reason)

    def _end(self) -> None:
        run, self._run = self._run, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if run is not None and run.limits.max_cost is not None and not self._meter.told:
            self._unwatched()

    def _unwatched(self) -> None:
        """Said once: a limit that does nothing must not look like one that holds."""
        if not self._noticed:
            self._noticed = True
            self._soon(self._conversation.apply, ev.NoticeGiven("warning", UNWATCHED, NO_COST, "client"))

    def _check(self) -> None:
        run = self._run
        if run is None:
            return
        reason = run.limits.reached(calls=len(self._calls), spent=self._meter.spent)
        if reason is not None:
            self._reached(run, reason)

    def _reached(self, run: TurnRun, reason: str) -> None:
        if self._conversation.running is not run or run.cancelling:
            return
        run.limit = reason
        self._conversation.apply(ev.TurnLimited(reason))
        self._conversation.auditor.note("act", "limit", reason, by="client", outcome="cancelled")
        self._conversation.cancel(run)

    # ---- rate limits ------------------------------------------------------------------------

    def _noticed_limit(self, notice: ev.NoticeGiven) -> None:
        text = f"{notice.title}\n{notice.description or ''}"
        met, wait = rate_limit(text)
        if met:
            self._limited = True
            self._soon(self._conversation.apply, ev.RateLimited(notice.title, wait, _until(wait)))

    def met(self, run: TurnRun, error: Exception | None) -> float | None:
        """The answer says that a rate limit was met: told; how long to wait, if it is to be sent again."""
        if not isinstance(error, AgentError) or run.cancelling:
            return None
        met, told = rate_limit(str(error), error.code, error.data)
        if not met:
            return None
        retries = run.limits.retries
        wait = wait_before(run.attempts + 1, told) if run.attempts < retries else None
        if wait is None:
            self._conversation.apply(ev.RateLimited(str(error), told, _until(told)))
            return None
        run.attempts += 1
        self._conversation.apply(ev.RateLimited(str(error), wait, _until(wait), run.attempts, retries))
        return wait


def _until(wait: float | None) -> float | None:
    return None if wait is None else round(time.time() + wait, 3)
