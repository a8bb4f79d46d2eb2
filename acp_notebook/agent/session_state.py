"""The state that the parts of a session share: its identity, transcript, audit, running turn and audience.

Only this module changes the transcript, on the loop thread; any thread can read it. Knows no connection.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from ..core import events as ev
from ..core.event_redaction import EventRedactor
from ..core.patches import Patch
from ..core.raw_calls import RawCalls
from ..core.transcript import Transcript
from .agent_state import AgentState
from .audience import Audience
from .audit_file import AuditFile
from .auditor import Auditor
from .event_bus import EventBus
from .spool import Spool
from .turn_queue import TurnRun

T = TypeVar("T")

_mutex = threading.RLock()
"""One lock for all transcripts, which change on one thread anyway. A fork takes it, so that the copies are
consistent."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_mutex.acquire, after_in_parent=_mutex.release, after_in_child=_mutex.release)


class SessionState(EventBus):
    """Holds the state of one session and passes its events to subscribers."""

    def __init__(
        self,
        agent: AgentState,
        cwd: str,
        directories: tuple[str, ...] = (),
        audience: Audience | None = None,
        audit: AuditFile | None = None,
    ) -> None:
        super().__init__()
        self.agent = agent
        self.id = ""
        self.cwd = cwd
        self.directories = directories
        self.closed = False
        self.fresh = False
        """Whether the session started empty on this agent, so that its whole cost arose here."""
        self.running: TurnRun | None = None
        self.audience = audience or Audience()
        self.auditor = Auditor(self._where, audit, agent.redactor)
        self.calls = RawCalls()
        """This turn's tool calls as the agent sent them, unredacted. Never shown."""
        self.rewrite: Callable[[ev.ToolChanged], ev.ToolChanged] = lambda event: event
        """Changes what a tool call shows."""
        self.spool = Spool()
        """Older content of the session, out of memory."""
        self._transcript = Transcript(self.spool)
        self._redactor = agent.redactor
        self._event_redactor = EventRedactor(agent.redactor)

    # ---- the transcript -----------------------------------------------------------------------

    def apply(self, *events: ev.Event) -> None:
        """Apply events to the transcript and pass them to subscribers. Chunks are not mixed with others."""
        if len(events) == 1:
            self._apply(events[0])
            return
        if (
            type(events[0]) is ev.MessageChunk
            and ev.MessageChunk not in self._handlers
            and self._redactor.idle
        ):
            self._apply_chunks(events)
            return
        failures: list[Exception] = []
        for event in events:
            try:
                self._apply(event)
            except Exception as error:  # a subscriber that fails must not lose the other events
                failures.append(error)
        if failures:
            raise failures[0]

    def _apply_chunks(self, chunks: Sequence[ev.Event]) -> None:
        """Like `_apply` for each, but listeners are called when all of them are in the transcript."""
        applied: list[tuple[ev.Event, list[Patch]]] = []
        failures: list[Exception] = []
        with _mutex:
            for chunk in chunks:
                try:
                    applied.append((chunk, self._transcript.apply(chunk)))
                except Exception as error:  # listeners must hear of the others, which are in the transcript
                    failures.append(error)
        for chunk, patches in applied:
            try:
                for listener in self.listeners:
                    listener(chunk, patches)
            except Exception as error:  # a listener that fails must not lose the other chunks
                failures.append(error)
        if failures:
            raise failures[0]

    def _apply(self, event: ev.Event) -> None:
        if type(event) is ev.ToolChanged:
            only_content = event.only_replaces_content
            if not (only_content and self.calls.replaced_content(event)):
                self.calls.changed(event)
            shown = self.rewrite(event)
            if only_content and shown is event and self._redactor.idle:
                self._replace_content(event)
                return
            event = shown
        elif type(event) is ev.Recovered and type(event.found) is ev.ToolChanged:
            event = replace(event, found=self.rewrite(event.found))
        elif event.concerns_calls:
            self._note_turn(event)
        if not self._redactor.idle:
            self._apply_redacted(self._event_redactor.see(event))
            return
        with _mutex:
            patches = self._transcript.apply(event)
        self.emit(event, patches)

    def _replace_content(self, event: ev.ToolChanged) -> None:
        """The rest of `_apply`, faster: there may be such an event for each line of output."""
        with _mutex:
            patches = self._transcript.replace_content(event)
        for handler in self._handlers.get(ev.ToolChanged, ()):
            handler(event)
        for listener in self.listeners:
            listener(event, patches)

    def redacted(self, history: Iterable[ev.Event]) -> list[ev.Event]:
        """The events of an agent's history without secrets, as the transcript would have them."""
        redactor = EventRedactor(self._redactor)
        return [*(it for event in history for it in redactor.see(event)), *redactor.rest()]

    def end_history(self) -> None:
        """The agent has sent the whole history: its last message does not go on."""
        self._apply_redacted(self._event_redactor.rest())

    def _apply_redacted(self, events: Iterable[ev.Event]) -> None:
        for event in events:
            with _mutex:
                patches = self._transcript.apply(event)
            self.emit(event, patches)

    def _note_turn(self, event: ev.Event) -> None:
        if isinstance(event, ev.TurnStarted):
            self.calls.turn_started()
        else:
            self.calls.turn_ended()

    def read(self, reader: Callable[[Transcript], T]) -> T:
        """Call `reader` with the transcript, under its lock. Safe from any thread."""
        with _mutex:
            return reader(self._transcript)

    def introduce(self) -> None:
        """Show the agent's name, version and capabilities."""
        facts = self.agent.facts
        offers = facts.capabilities.offers
        self.apply(ev.AgentKnown(self.agent.name, facts.title, facts.version, self.cwd, offers))

    # ---- the running turn ---------------------------------------------------------------------

    def _where(self) -> tuple[str, str | None]:
        return self.id, None if self.running is None else self.running.id

    @property
    def accepts_actions(self) -> bool:
        """Whether a turn is running and not being cancelled."""
        return self.running is not None and not self.running.cancelling
