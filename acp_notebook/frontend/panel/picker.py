"""The picker in a session's panel: the sessions that the agent keeps, listed, opened and deleted by click.

Answers a page's requests, each by its own id; knows neither how they are drawn nor the protocol. Lives on
the loop thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from ...agent.conversation import Conversation
from ...core import intents
from ...core.requests import SessionInfo
from ...errors import Error

if TYPE_CHECKING:
    from ...api.agent import Agent

MOST_ROWS = 5_000
"""Of one page of the agent's: what a browser takes in at once."""

SHOWN_CHARS = 300
"""Of a title or a path: a row is one line."""

Tell = Callable[[dict[str, Any]], None]


class Picker:
    """Lists, opens and deletes sessions for one panel."""

    def __init__(self, conversation: Conversation, agent: Agent, tell: Tell) -> None:
        self._conversation = conversation
        self._agent = agent
        self._tell = tell
        self._folders: dict[str, str] = {}
        """Of the sessions that were listed."""

    async def take(self, intent: intents.Picked) -> None:
        """Do it, and tell the page that asked; what the agent says against it is told there, too."""
        work: Awaitable[dict[str, Any]]
        match intent:
            case intents.Sessions(cursor=cursor):
                work = self._page(cursor)
            case intents.Open():
                work = self._open(intent)
            case intents.Delete(id=id):
                work = self._delete(id)
        try:
            self._tell({"t": "picked", "rid": intent.rid, **await work})
        except Error as error:
            self._tell({"t": "picked", "rid": intent.rid, "error": str(error)})

    async def _page(self, cursor: str | None) -> dict[str, Any]:
        found, following = await self._conversation.host.store.page(None, cursor, self._conversation)
        self._folders |= {it.id: it.cwd for it in found}
        rows = [self._row(it) for it in found[:MOST_ROWS]]
        return {"sessions": rows, "cursor": following, "left_out": len(found) - len(rows)}

    def _row(self, info: SessionInfo) -> dict[str, Any]:
        clean = self._conversation.host.launch.redactor.text
        return {
            "id": info.id,
            "cwd": clean(info.cwd)[:SHOWN_CHARS],
            "title": info.title and info.title[:SHOWN_CHARS],
            "updated_at": info.updated_at and info.updated_at[:SHOWN_CHARS],
            "open": info.id in self._conversation.host.sessions,
            "here": info.id == self._conversation.id,
        }

    async def _open(self, intent: intents.Open) -> dict[str, Any]:
        """The model of the panel that shows it: of one that is open already, or of a new one."""
        for session in self._agent.open_sessions:
            if intent.how in ("load", "resume") and session.id == intent.id:
                return {"model": session._live_panel().model_id}
        before = self._conversation
        cwd = self._folders.get(intent.id or "", before.cwd)
        session = await self._agent._open(
            intent.how,
            intent.id,
            cwd,
            before.permissions.questions.policy,
            before.mcp_servers or None,
            # What the user allowed for this folder; an agent's own list of folders allows nothing.
            before.directories if cwd == before.cwd else (),
        )
        return {"model": session._live_panel().model_id, "id": session.id}

    async def _delete(self, id: str) -> dict[str, Any]:
        await self._conversation.host.store.delete(id)
        return {"deleted": id}
