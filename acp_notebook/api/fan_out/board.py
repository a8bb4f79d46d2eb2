"""The state of all runs of a fan-out, which any thread may read and change, and who wants to hear of it.

A run has exactly one final state: what comes after it is ignored.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...agent import loop
from ...core.changes import FileChange
from ...core.fan_out.changed import all_shown
from ...core.fan_out.plan import PlannedRun
from ...core.fan_out.rows import ACTIVE, FINAL, STATES, Progress, Row, RunState, estimate
from ...core.fan_out.task import Result
from ...log import logger, suppressed
from .stop import Stop

if TYPE_CHECKING:
    from ..session import Session

_log = logger(__name__)

OnChange = Callable[[frozenset[int]], None]
"""Called on the loop thread with the indexes of the rows that changed; an empty set: the progress did."""

CANCELLED = "cancelled"

TEXT_CHARS = 200
"""How much of an answer a row shows."""


@dataclass
class Entry:
    """One run."""

    run: PlannedRun
    state: RunState = "queued"
    since: float | None = None
    doing: str | None = None
    error: str | None = None
    result: Result | None = None
    files: tuple[FileChange, ...] = ()
    session: Session | None = None
    """While it runs in this kernel."""
    stop: Stop = field(default_factory=Stop)
    applied: bool = False
    recorded: bool = False
    """Its result was read from the folder of an earlier call."""


class Board:
    """Holds the runs, and tells subscribers about changes."""

    def __init__(self, runs: Sequence[PlannedRun], at_once: int = 1, host: str = "") -> None:
        self.entries = [Entry(it) for it in runs]
        self.over: Future[None] = Future()
        """Done when every run has its final state, and nothing is left of them."""
        self.stopped: str | None = None
        self.at_once = at_once
        self.host = host
        self._notices: list[str] = []
        self._lock = threading.RLock()
        self._begun = time.time()
        self._ended: float | None = None
        self._open = len(self.entries)
        self._taken: list[float] = []
        """The seconds of the runs that were not cancelled."""
        self._costs: dict[str, float] = {}
        self._unpriced = 0
        self._subscribers: list[OnChange] = []
        self._changed: set[int] = set()
        self._posted = False

    # ---- changes ------------------------------------------------------------------------------------

    def advance(self, index: int, state: RunState) -> bool:
        """Enter that a run has reached a state. False: it has ended already."""
        with self._lock:
            entry = self.entries[index]
            if entry.state in FINAL:
                return False
            if state in ACTIVE and entry.since is None:
                entry.since = time.time()
            entry.state, entry.doing = state, None
            self._note(index)
            return True

    def requeue(self, index: int) -> None:
        """Let the run wait again: it was refused before it did anything."""
        with self._lock:
            entry = self.entries[index]
            if entry.state not in FINAL:
                entry.state, entry.since, entry.doing, entry.session = "queued", None, None, None
                self._note(index)

    def show_work(self, index: int, session: Session | None, doing: str | None) -> None:
        with self._lock:
            entry = self.entries[index]
            if entry.state not in FINAL and (entry.session, entry.doing) != (session, doing):
                entry.session, entry.doing = session, doing
                self._note(index)

    def end(
        self, index: int, state: RunState, result: Result | None = None, error: str | None = None
    ) -> bool:
        """Enter the final state of a run. False: it has one already."""
        files = all_shown(result.files) if result is not None else ()
        with self._lock:
            entry = self.entries[index]
            if entry.state in FINAL:
                return False
            entry.state, entry.result, entry.files, entry.session, entry.doing = (
                state,
                result,
                files,
                None,
                None,
            )
            entry.error = error or (str(result.error) if result is not None and result.error else None)
            self._open -= 1
            if result is not None:
                self._count(result)
            if not self._open:
                self._ended = time.time()
            self._note(index)
        return True

    def _count(self, result: Result) -> None:
        if result.state in ("done", "failed"):
            self._taken.append(result.seconds)
            self._unpriced += result.cost is None
        self.charge(result)

    def charge(self, result: Result) -> None:
        """Add what it cost to the costs of all runs."""
        costs = dict(result.more_costs)
        if result.cost is not None:
            currency = result.currency or ""
            costs[currency] = costs.get(currency, 0.0) + result.cost
        with self._lock:
            for currency, amount in costs.items():
                self._costs[currency] = self._costs.get(currency, 0.0) + amount

    def enter_recorded(self, index: int, result: Result) -> None:
        """Enter the result of an earlier call. It costs nothing now."""
        with self._lock:
            entry = self.entries[index]
            entry.result, entry.files, entry.state = result, all_shown(result.files), result.state
            entry.recorded = True
            self._open -= 1
            self._note(index)

    def cancel(self, why: str = CANCELLED) -> None:
        """Stop all runs that have not ended, and start no more."""
        self.stop_starting(why)
        for entry in self.entries:
            entry.stop.set()

    def close(self) -> None:
        """Every run has its final state, and what the runs needed is removed."""
        self.over.set_result(None)
        with self._lock:
            self._note()

    @property
    def costs(self) -> dict[str, float]:
        """What the runs have cost so far, by currency."""
        with self._lock:
            return dict(self._costs)

    def set_applied(self, index: int, applied: bool = True) -> None:
        with self._lock:
            self.entries[index].applied = applied
            self._note(index)

    def stop_starting(self, why: str) -> None:
        """Enter why no more runs are started; the first reason counts."""
        with self._lock:
            self.stopped = self.stopped or why
            self._note()

    def give_notice(self, text: str) -> None:
        with self._lock:
            if text not in self._notices:
                self._notices.append(text)
                self._note()

    # ---- reading ------------------------------------------------------------------------------------

    def row(self, index: int) -> Row:
        with self._lock:
            entry = self.entries[index]
            run, result = entry.run, entry.result
            known: dict[str, Any] = {}
            if result is not None:
                known = {
                    "cost": result.cost,
                    "currency": result.currency,
                    "tool_calls": result.tool_calls,
                    "files": len(result.files),
                    "added": sum(it.added for it in entry.files),
                    "removed": sum(it.removed for it in entry.files),
                    "score": result.score,
                    "score_text": result.score_text or result.score_error,
                    "text": result.text[:TEXT_CHARS],
                    "host": result.host if result.host not in ("", self.host) else None,
                }
            return Row(
                index=index,
                prompt=run.prompt.label,
                agent=run.agent.label,
                attempt=run.attempt,
                state=entry.state,
                fields=run.prompt.fields,
                since=entry.since,
                seconds=_seconds(entry),
                doing=entry.doing,
                error=entry.error,
                applied=entry.applied,
                **known,
            )

    def rows(self, indexes: Iterable[int] | None = None) -> tuple[Row, ...]:
        return tuple(map(self.row, range(len(self.entries)) if indexes is None else sorted(indexes)))

    def progress(self) -> Progress:
        with self._lock:
            states = Counter(it.state for it in self.entries)
            running = [_seconds(it) or 0.0 for it in self.entries if it.state in ACTIVE]
            return Progress(
                total=len(self.entries),
                counts={state: states[state] for state in STATES if states[state]},
                seconds=(self._ended or time.time()) - self._begun,
                left=estimate(self._taken, running, states["queued"], self.at_once),
                costs=dict(self._costs),
                unpriced=self._unpriced,
                stopped=self.stopped,
                notices=tuple(self._notices),
            )

    # ---- subscribers --------------------------------------------------------------------------------

    def on_change(self, callback: OnChange) -> Callable[[], None]:
        with self._lock:
            self._subscribers.append(callback)

        def unsubscribe() -> None:
            with self._lock:
                if callback in self._subscribers:
                    self._subscribers.remove(callback)

        return unsubscribe

    def _note(self, index: int | None = None) -> None:
        """Tell the subscribers, once for all changes until the loop thread comes to it."""
        if index is not None:
            self._changed.add(index)
        if self._subscribers and not self._posted:
            self._posted = True
            loop.get().call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        with self._lock:
            changed, self._changed, self._posted = frozenset(self._changed), set(), False
            subscribers = list(self._subscribers)
        for subscriber in subscribers:
            with suppressed(_log, Exception):  # of a subscriber: the others still have to hear of it
                subscriber(changed)


def _seconds(entry: Entry) -> float | None:
    if entry.result is not None:
        return entry.result.seconds
    return None if entry.since is None or entry.state in FINAL else time.time() - entry.since
