"""Gathers the evidence of a turn: when its tool calls ran, and which files they name."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from ...core import events as ev
from ...core.attribution import TICK_NS, Call, Span, calls_of
from ..event_bus import EventBus

ENDED = ("completed", "failed", "cancelled")


class CallClock:
    """Measures when the tool calls and terminals of a turn ran, with the clock that dates files."""

    def __init__(self) -> None:
        self._follows_every_event = False
        self.spans: dict[str, Span] = {}
        self._questions: dict[str, str] = {}
        """The tool call of each open question."""
        self._answered: set[str] = set()
        self.began = self._quiet_since = time.time_ns()
        """When the last event arrived: a call first reported at its end began after that."""

    def turn_began(self) -> None:
        self._quiet_since = time.time_ns()
        self.began = self._quiet_since - TICK_NS
        self.spans, self._questions, self._answered = {}, {}, set()

    def follow(self, events: EventBus, *, every_event: bool) -> None:
        """Subscribe to the events. `every_event`: note the time of every event, whatever its type."""
        events.on(ev.ToolChanged, self._on_tool)
        events.on(ev.TerminalChanged, lambda it: self._see(it.id, over=it.status in ("exited", "killed")))
        events.on(ev.QuestionAsked, self._on_asked)
        events.on(ev.QuestionSettled, self._on_settled)
        if every_event:
            self.follow_every_event(events)

    def follow_every_event(self, events: EventBus) -> None:
        """Note the time of every event, as checkpoints need it."""
        if not self._follows_every_event:
            self._follows_every_event = True
            events.listen(self._note_event)

    def _note_event(self, _: ev.Event, __: object) -> None:
        self._quiet_since = time.time_ns()

    def _on_tool(self, event: ev.ToolChanged) -> None:
        over = event.status in ENDED
        if over or event.id not in self.spans:  # there may be an update for each line of output
            self._see(event.id, over=over)

    def _on_asked(self, event: ev.QuestionAsked) -> None:
        self._questions[event.id] = event.tool_id

    def _on_settled(self, event: ev.QuestionSettled) -> None:
        tool = self._questions.pop(event.id, None)
        if tool is not None and tool not in self._answered:  # the call did not run before the answer
            self._answered.add(tool)
            self.spans[tool] = (time.time_ns(), None)

    def _see(self, id: str, *, over: bool) -> None:
        if not over and id in self.spans:
            return
        now = time.time_ns()
        began, ended = self.spans.get(id, (self._quiet_since if over else now, None))
        self.spans[id] = (began, now if over and ended is None else ended)


class Evidence(Struct, frozen=True):
    """What is known about a turn besides its files. `items`: the turn's items in the transcript."""

    items: Sequence[object]
    spans: Mapping[str, Span]
    cwd: str
    own_state: Collection[str] = ()
    """Folders in `cwd` where the agent stores its own sessions."""
    saved: frozenset[str] = frozenset()
    """Open notebooks that their page saved last."""
    empty: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    """Empty folders before and after the turn."""
    new_links: frozenset[str] = frozenset()
    """Symbolic links that this turn created or changed."""
    dated: bool = True
    """Whether file times are evidence. They are not in a replay."""

    def calls(self) -> list[Call]:
        return calls_of(self.items, self._resolved, self.spans, os.path.realpath(self.cwd))

    def _resolved(self, path: str) -> str:
        try:
            return self._real(os.path.join(self.cwd, path))
        except (OSError, ValueError):
            return path

    def _real(self, path: str) -> str:
        """The real path; a link that this turn put there is not followed: the agent named what was there."""
        if not self.new_links:
            return os.path.realpath(path)
        real, parts = "/", path.split("/")
        for number, name in enumerate(parts):
            place = os.path.join(real, name)
            if place in self.new_links:
                return os.path.join(place, *parts[number + 1 :])
            real = os.path.realpath(place)
        return real

    @property
    def own_folders(self) -> list[str]:
        return [os.path.join(os.path.realpath(self.cwd), it.rstrip("/")) for it in self.own_state]
