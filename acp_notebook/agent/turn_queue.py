"""The queue of waiting prompts of one session, and the turns that they become.

Prompts keep their order, even if a turn fails or the agent dies, until they are sent or removed. The queue
knows neither the agent nor the transcript: `ready` waits until a turn can begin, `begin` begins it. Runs on
the loop thread; `waiting` can be read from any thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple

from ..core.limits import Limits
from ..core.prompt import reworded
from ..core.records import AskedBy, Content, Cost, Json
from ..errors import SessionClosed, UsageError
from ..log import logger

if TYPE_CHECKING:
    from .session_state import SessionState

_log = logger(__name__)

GONE = "this prompt is no longer waiting: it was sent or removed"


class Asker(NamedTuple):
    """The turn of another session that asked for a turn."""

    state: SessionState
    run: TurnRun

    @property
    def chain(self) -> Iterator[Asker]:
        """This turn, the one that asked for it, and so on."""
        asker: Asker | None = self
        while asker is not None:
            yield asker
            asker = asker.run.asked_by


class TurnRun:
    """A waiting or running turn. `key`: its item in the transcript. `done`: resolved at its end, with the
    error if it failed."""

    def __init__(self, content: tuple[Content, ...], id: str) -> None:
        self.content = content
        self.id = id
        """The client's id, assigned before the turn starts: "t1", "t2", …"""
        self.key: str | None = None
        self.cancelling = False
        self.done: Future[Exception | None] = Future()
        self.done.set_running_or_notify_cancel()  # cancelling a wait for it must not cancel the future
        self.cell: str | None = None
        """The id of the notebook cell that sent the prompt."""
        self.page: str | None = None
        """The page that it came from: its view, or the client that ran the cell."""
        self.person: str | None = None
        """Which of several users sent it from the panel, as the page claims."""
        self.meta: Mapping[str, Json] | None = None
        """What the user adds to the prompt (`_meta`)."""
        self.limits = Limits()
        self.limit: str | None = None
        """The limit that the turn exceeded."""
        self.attempts = 0
        """How often the prompt was sent again because of a rate limit."""
        self.pause: asyncio.Task[None] | None = None
        """Set while the agent does not have the prompt: the turn waits for a sign-in, a rate limit or a
        restart, and then sends it again."""
        self.begun = False
        """Whether the agent has sent or requested something in this turn, so it may have acted."""
        self.restarted = False
        """Whether the agent was restarted for this prompt."""
        self.has_gap = False
        """Whether messages of the agent may be lost, because the connection was interrupted."""
        self.has_doubt = False
        """Whether nothing came for so long that messages may be lost; the agent may as well have thought."""
        self.sign_ins = 0
        self.asked_by: Asker | None = None
        """Who asked for the turn, if not the user."""
        self.asked: AskedBy | None = None
        """The same, as the transcript has it."""
        self.charged: dict[str, float] = {}
        """What the turns have cost that this one asked for, by currency."""
        self.on_charge: Callable[[], None] = lambda: None

    def charge(self, cost: Cost) -> None:
        """Add what a turn has cost that this one asked for."""
        self.charged[cost.currency] = self.charged.get(cost.currency, 0.0) + cost.amount
        self.on_charge()

    def finish(self, error: Exception | None = None) -> None:
        if not self.done.done():
            self.done.set_result(error)


class TurnQueue:
    """Runs the turns of one session one after the other."""

    def __init__(self, ready: Callable[[], Awaitable[None]], begin: Callable[[TurnRun], None]) -> None:
        self._ready = ready
        self._begin = begin
        self.waiting: tuple[TurnRun, ...] = ()
        """The waiting prompts, the next one first."""
        self.changed: Callable[[], None] = lambda: None
        """Called when the waiting prompts or their order change."""
        self._pump: asyncio.Task[None] | None = None

    def add(self, run: TurnRun) -> None:
        self._set(*self.waiting, run)
        self._start()

    def _start(self) -> None:
        if self._pump is None and self.waiting:
            self._pump = asyncio.get_running_loop().create_task(self._run())
            self._pump.add_done_callback(self._on_pump_done)

    def find(self, id: str) -> TurnRun:
        """The waiting prompt with this id. Raises UsageError if it is no longer waiting."""
        found = next((run for run in self.waiting if run.id == id), None)
        if found is None:
            raise UsageError(GONE)
        return found

    def edit(self, run: TurnRun, text: str) -> None:
        """Replace the text of a prompt and keep its other content."""
        self._check(run)
        if not text.strip():
            raise UsageError("the prompt is empty; use remove() to take it out of the queue")
        run.content = reworded(run.content, text)
        self.changed()

    def move(self, run: TurnRun, place: int) -> None:
        """Move a prompt to another position in the queue; 0 is next."""
        self._check(run)
        others = [it for it in self.waiting if it is not run]
        others.insert(max(0, place), run)
        self._set(*others)

    def remove(self, run: TurnRun, error: Exception | None = None) -> None:
        """Remove a waiting prompt and finish its turn. Does nothing if it is no longer waiting."""
        if run in self.waiting:
            self._set(*(it for it in self.waiting if it is not run))
            run.finish(error)

    def close(self, error: Exception) -> None:
        """Remove all prompts and begin no further turns."""
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
                if self.waiting[:1] == (first,):  # otherwise the error concerns another prompt
                    self.remove(first, error)
                continue
            if self.waiting:
                await self._run_turn(self.waiting[0])

    async def _run_turn(self, run: TurnRun) -> None:
        self._set(*self.waiting[1:])
        try:
            self._begin(run)
            await asyncio.wait({asyncio.wrap_future(run.done)})
        except Exception as error:  # even a bug in the client must reach the caller
            _log.warning("a turn could not be started", exc_info=True)
            run.finish(error)

    def _on_pump_done(self, pump: asyncio.Task[None]) -> None:
        """Clean up after the task. A task that is cancelled before its first step could not do it itself."""
        self._pump = None
        if pump.cancelled():
            for run in self.waiting:
                self.remove(run, SessionClosed("the session was closed"))
        self._start()  # a prompt may have been added since the task last checked
