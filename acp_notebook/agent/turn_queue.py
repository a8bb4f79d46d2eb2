"""The prompts of one session that wait for their turn, and the turn that each of them becomes.

Knows neither the agent nor the transcript: `ready` tells when a turn can begin, `begin` begins it. What
waits stays in its order, across a turn that fails and an agent that dies, until it is sent or taken out.
Lives on the loop thread; `waiting` can be read from any.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future

from ..core.limits import Limits
from ..core.prompt import reworded
from ..core.records import Content
from ..errors import SessionClosed, UsageError

GONE = "this prompt does not wait any more: it was sent, or taken out"


class TurnRun:
    """A turn on its way. `key` is its item in the transcript; `done` is resolved when it is over, with
    the error that it failed with, if any."""

    def __init__(self, content: tuple[Content, ...], id: str) -> None:
        self.content = content
        self.id = id
        """What we call it, from before it starts: "t1", "t2", …"""
        self.key: str | None = None
        self.cancelling = False
        self.done: Future[Exception | None] = Future()
        self.done.set_running_or_notify_cancel()  # whoever waits for it may give up, and not end it
        self.cell: str | None = None
        """The id of the notebook's cell that asked."""
        self.limits = Limits()
        self.limit: str | None = None
        """The one that it went beyond."""
        self.attempts = 0
        """How often it was sent again because of a rate limit."""
        self.pause: asyncio.Task[None] | None = None
        """It is not with the agent: it waits for a sign-in, for a rate limit to pass, or for the agent to be
        started again, and is sent again after that."""
        self.begun = False
        """The agent has said or asked something in it: it may have done something, too."""
        self.restarted = False
        """It was sent again to an agent that was started again for it."""
        self.sign_ins = 0

    def finish(self, error: Exception | None = None) -> None:
        if not self.done.done():
            self.done.set_result(error)


class TurnQueue:
    """One session's. Turns go one after the other."""

    def __init__(self, ready: Callable[[], Awaitable[None]], begin: Callable[[TurnRun], None]) -> None:
        self._ready = ready
        self._begin = begin
        self.waiting: tuple[TurnRun, ...] = ()
        """Those that are not sent yet, the next one first."""
        self.changed: Callable[[], None] = lambda: None
        """Called when what waits, or its order, has changed."""
        self._pump: asyncio.Task[None] | None = None

    def add(self, run: TurnRun) -> None:
        self._set(*self.waiting, run)
        self._start()

    def _start(self) -> None:
        if self._pump is None and self.waiting:
            self._pump = asyncio.get_running_loop().create_task(self._run())
            self._pump.add_done_callback(self._pumped)

    def find(self, id: str) -> TurnRun:
        """The prompt of this id; raises UsageError if it waits no longer."""
        found = next((run for run in self.waiting if run.id == id), None)
        if found is None:
            raise UsageError(GONE)
        return found

    def edit(self, run: TurnRun, text: str) -> None:
        """Other words for the same prompt; what else belongs to it stays."""
        self._check(run)
        if not text.strip():
            raise UsageError("the prompt is empty; to take it out, remove it")
        run.content = reworded(run.content, text)
        self.changed()

    def move(self, run: TurnRun, place: int) -> None:
        """To another place among those that wait; 0 is the next."""
        self._check(run)
        others = [it for it in self.waiting if it is not run]
        others.insert(max(0, place), run)
        self._set(*others)

    def remove(self, run: TurnRun, error: Exception | None = None) -> None:
        """It is over without having begun; does nothing if it waits no longer."""
        if run in self.waiting:
            self._set(*(it for it in self.waiting if it is not run))
            run.finish(error)

    def close(self, error: Exception) -> None:
        """Nothing begins any more."""
        for run in self.waiting:
            self.remove(run, error)
        if self._pump is not None:
            self._pump.cancel()

    def _check(self, run: TurnRun) -> None:
        if run not in self.waiting:
            raise UsageError(GONE)

    def _set(self, *runs: TurnRun) -> None:
        if runs != self.waiting:
            self.waiting = runs
            self.changed()

    async def _run(self) -> None:
        while self.waiting:
            first = self.waiting[0]
            try:
                await self._ready()
            except Exception as error:
                if self.waiting[:1] == (first,):  # else it was not asked for the one that is first now
                    self.remove(first, error)
                continue
            if self.waiting:
                await self._take(self.waiting[0])

    async def _take(self, run: TurnRun) -> None:
        self._set(*self.waiting[1:])
        try:
            self._begin(run)
            await asyncio.wait({asyncio.wrap_future(run.done)})
        except Exception as error:  # also a fault of ours: whoever waits must see it
            run.finish(error)

    def _pumped(self, pump: asyncio.Task[None]) -> None:
        """Not in the task itself: of one that is cancelled before its first step, nothing ever runs."""
        self._pump = None
        if pump.cancelled():
            for run in self.waiting:
                self.remove(run, SessionClosed("the session was closed"))
        self._start()  # for what was added after its last look, and before this call
