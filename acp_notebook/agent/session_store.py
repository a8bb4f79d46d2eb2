"""The sessions that an agent keeps: listed page by page, deleted.

Knows neither the open ones' content nor who lists them. Lives on the loop thread.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..core.facts import SessionInfo
from ..errors import AgentError, ProtocolError, UsageError
from ..wire import v1
from ..wire.jsonrpc import NOT_FOUND

if TYPE_CHECKING:
    from .conversation import Conversation
    from .host import AgentHost

MOST_SESSIONS = 50_000
"""Of a whole list: an agent whose cursors never end is not followed for ever."""

MOST_OLD_PAGES = 20
"""Pages in a row that bring nothing new: a filter may leave one empty, a circle leaves them all."""


class SessionStore:
    """One agent's."""

    def __init__(self, host: AgentHost) -> None:
        self._host = host

    async def page(
        self, cwd: str | None, cursor: str | None, asker: Conversation | None = None
    ) -> tuple[tuple[SessionInfo, ...], str | None]:
        """Some sessions, and where the next ones begin; None: there are no more."""
        await self._host.recovery.revive()
        self.check("list", self._host.facts.capabilities.list)
        answer = await self._host.signing.through(
            lambda: self._host.request(v1.list_sessions(cwd, cursor)), asker
        )
        try:
            found, following = v1.read_sessions(answer)
            return tuple(self._cleaned(it) for it in found), following
        except v1.Malformed as error:
            raise ProtocolError(f"session/list: the agent's answer cannot be used ({error})") from None

    def _cleaned(self, info: SessionInfo) -> SessionInfo:
        """Titles are often the first words of a prompt. A folder is what the session is opened in."""
        return replace(info, title=info.title and self._host.launch.redactor.text(info.title))

    async def all(self, cwd: str | None) -> tuple[list[SessionInfo], bool]:
        """Every session, once, and whether that is all of them."""
        found: dict[str, SessionInfo] = {}
        cursor: str | None = None
        old = 0
        while len(found) < MOST_SESSIONS and old < MOST_OLD_PAGES:
            page, cursor = await self.page(cwd, cursor)
            before = len(found)
            found |= {it.id: it for it in page if it.id not in found}
            if cursor is None:
                return list(found.values()), True
            old = old + 1 if len(found) == before else 0
        return list(found.values()), False

    async def delete(self, id: str) -> None:
        """Have the agent forget it; one that is open here is closed. Gone already counts as deleted."""
        await self._host.recovery.revive()
        self.check("delete", self._host.facts.capabilities.delete)
        opened = self._host.sessions.get(id)
        if opened is not None:
            opened.cancel()
        try:
            await self._host.signing.through(lambda: self._host.request(v1.delete_session(id)), opened)
        except AgentError as error:
            if error.code != NOT_FOUND:
                raise
        if opened is not None:
            await opened.close()

    def check(self, what: str, is_offered: bool) -> None:
        if not is_offered:
            raise UsageError(f"{self._host.name} does not offer to {what} sessions")
