"""The open sessions of one agent: finds them by id and routes the agent's messages to them.

`session_opener` opens them. Knows no connection. Runs on the loop thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from ..core import events as ev
from ..errors import ProtocolError, UsageError
from .agent_state import AgentState
from .conversation import Conversation
from .session_state import SessionState

EARLY_KEPT = 10_000
"""Updates kept while a session opens: they may arrive before the response that contains its id."""


class Sessions:
    """Keeps the open sessions of one agent and routes updates to them."""

    def __init__(self, agent: AgentState) -> None:
        self.open: list[Conversation] = []
        self.known: dict[str, Conversation] = {}
        """The sessions that the agent knows, by id. After a restart, they are reopened one by one."""
        self._agent = agent
        self._opening: list[Conversation] = []
        self._early: deque[tuple[str, ev.Event]] = deque(maxlen=EARLY_KEPT)
        self._early_gaps: set[str] = set()
        """The sessions that are being opened, and of which messages may be lost already."""

    def states(self) -> list[SessionState]:
        return [it.state for it in self.open]

    def apply(self, event: ev.Event) -> None:
        """Apply an event to every session."""
        for conversation in self.open:
            conversation.state.apply(event)

    def cancel(self, id: str) -> None:
        """Cancel the running turn of a session, if there is one."""
        if id in self.known:
            self.known[id].cancel()

    # ---- opening and closing ------------------------------------------------------------------

    def check_not_open(self, id: str) -> None:
        if any(conversation.state.id == id for conversation in self.open):
            raise UsageError(f"session {id!r} is open already")

    @contextmanager
    def opening(self, conversation: Conversation) -> Iterator[None]:
        """Keep updates for unknown ids while the agent opens the session."""
        if not self._opening:
            self._early.clear()
            self._early_gaps.clear()
        self._opening.append(conversation)
        try:
            yield
        finally:
            self._opening.remove(conversation)

    def adopt(self, conversation: Conversation, id: str) -> None:
        """Route updates for this id to the session, including those that arrived early."""
        if conversation.state.closed:  # while it was being opened
            return
        if id in self.known:
            name = self._agent.name
            raise ProtocolError(f"{name} opened {id!r} a second time: each session needs its own id")
        conversation.state.id = id
        self.known[id] = conversation
        if conversation not in self.open:
            self.open.append(conversation)
            conversation.on_adopted()
        for event in [event for early, event in self._early if early == id]:
            conversation.receive(event)
        if id in self._early_gaps:
            conversation.gaps.note()

    def remove(self, conversation: Conversation) -> bool:
        """Remove a closed session; return whether the agent knows it."""
        self.open.remove(conversation)
        return self.known.pop(conversation.state.id, None) is not None

    # ---- messages of the agent ----------------------------------------------------------------

    def update(self, session_id: str | None, *events: ev.Event) -> None:
        """Pass updates to their session, or to all sessions if `session_id` is None."""
        conversation = self.known.get(session_id) if session_id is not None else None
        if conversation is not None:
            conversation.receive(*events)
        elif session_id is None:
            for each in self.known.values():
                each.receive(*events)
        elif self._opening:
            self._early.extend((session_id, event) for event in events)

    def messages_lost(self, id: str, *, earlier: bool) -> None:
        """Messages of this session may be lost; `earlier`: also of its last turn."""
        found = [it for it in self.open if it.state.id == id]
        for conversation in found:
            conversation.gaps.note(earlier=earlier)
        if not found and self._opening:
            self._early_gaps.add(id)

    def silent(self, id: str) -> None:
        """Nothing has come for this session for long, and nobody knows why."""
        for conversation in self.open:
            if conversation.state.id == id:
                conversation.gaps.doubt()

    def for_question(self, session_id: str | None) -> Conversation | None:
        """The session that shows a question. Without an id, one that is opening or visible is preferred."""
        if session_id in self.known:
            return self.known[session_id]
        if session_id is not None:
            return next(iter(self._opening), None)  # the id may arrive before the response with it
        visible = [it for it in self.open if it.state.audience.has_page]
        return next(iter([*self._opening, *visible, *self.open]), None)

    def elicitation_completed(self, id: str) -> None:
        for conversation in self.open:
            conversation.elicitations.completed(id)

    def ended(self, error: Exception) -> None:
        """Tell every session that the connection ended."""
        for conversation in tuple(self.open):
            conversation.on_agent_ended(error)
