"""The session picker of a panel: lists, opens and deletes the sessions that the agent stores.

Answers the page's requests by their id; knows neither how the page renders nor the protocol. Runs on the loop
thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct

from ...agent.conversation import Conversation
from ...agent.host import AgentHost
from ...core import intents
from ...core.page_messages import PickerAnswer, StoredSession
from ...core.requests import SessionInfo
from ...errors import Error
from ..agent_choices import Start

MOST_ROWS = 5_000
"""The most rows of one page of the agent's list to send to the browser."""

SHOWN_CHARS = 300
"""The length of a title or path; a row is one line."""

Send = Callable[[PickerAnswer], None]


class PanelOpener(Struct, frozen=True):
    """Opens other sessions of the agent, and other agents, in the panel's place."""

    panel_of: Callable[[str], str | None]
    """The panel model of an open session, by session id; None if it is not open."""
    open: Callable[[str, str | None, str], Awaitable[tuple[str, str]]]
    """Opens a session (how, id, folder). Returns the model of its panel, and its id."""
    start: Start
    """Starts another agent."""


class Picker:
    """Lists, opens and deletes sessions for one panel."""

    def __init__(self, conversation: Conversation, host: AgentHost, opener: PanelOpener, send: Send) -> None:
        self._conversation = conversation
        self._host = host
        self._opener = opener
        self._send = send
        self._folders: dict[str, str] = {}
        """The folders of the listed sessions, by session id."""

    async def handle(self, intent: intents.Listed) -> None:
        """Carry out a request and send the result, or the agent's error, to the page."""
        work: Awaitable[PickerAnswer]
        match intent:
            case intents.Sessions():
                work = self._page(intent)
            case intents.Open():
                work = self._open(intent)
            case intents.Delete():
                work = self._delete(intent)
        try:
            self._send(await work)
        except Error as error:
            self._send(PickerAnswer(intent.rid, error=str(error)))

    async def _page(self, intent: intents.Sessions) -> PickerAnswer:
        found, following = await self._host.store.page(None, intent.cursor, self._conversation.state)
        self._folders |= {it.id: it.cwd for it in found}
        rows = tuple(self._row(it) for it in found[:MOST_ROWS])
        return PickerAnswer(intent.rid, rows, following, len(found) - len(rows))

    def _row(self, info: SessionInfo) -> StoredSession:
        clean = self._conversation.agent.redactor.text
        return StoredSession(
            info.id,
            clean(info.cwd)[:SHOWN_CHARS],
            info.title and info.title[:SHOWN_CHARS],
            info.updated_at and info.updated_at[:SHOWN_CHARS],
            open=info.id in self._host.sessions.known,
            here=info.id == self._conversation.state.id,
        )

    async def _open(self, intent: intents.Open) -> PickerAnswer:
        """Open a session, unless it is open already, and answer with the model of its panel."""
        if intent.how in ("load", "resume") and (known := self._opener.panel_of(intent.id or "")):
            return PickerAnswer(intent.rid, model=known)
        cwd = self._folders.get(intent.id or "", self._conversation.state.cwd)
        model, id = await self._opener.open(intent.how, intent.id, cwd)
        return PickerAnswer(intent.rid, model=model, id=id)

    async def _delete(self, intent: intents.Delete) -> PickerAnswer:
        await self._host.store.delete(intent.id)
        return PickerAnswer(intent.rid, deleted=intent.id)
