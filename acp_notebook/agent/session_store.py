"""The sessions that an agent keeps: listed page by page, deleted.

Knows neither the open ones' content nor who lists them. Lives on the loop thread.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from ..core import events as ev
from ..core.requests import SessionInfo
from ..errors import AgentError, ProtocolError, UsageError
from ..wire import v1
from ..wire.jsonrpc import NOT_FOUND

if TYPE_CHECKING:
    from .conversation import Conversation
    from .host import AgentHost

MOST_SESSIONS = 50_000
"""Of a whole list: an agent whose cursors never end is not followed for ever."""

MOST_PAGES = 2_000
"""… also one that tells a single session a page."""

LIST_S = 60.0
"""For all pages together; each of them may take as long as any request."""

MOST_OLD_PAGES = 20
"""Pages in a row that bring nothing new: a filter may leave one empty, a circle leaves them all."""


class SessionStore:
    """Lists and deletes the sessions that one agent keeps."""

    def __init__(self, host: AgentHost) -> None:
        self._host = host
        self._titles: dict[str, str] = {}
        """Of the sessions that were listed: not every agent tells it again when one is loaded."""

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
            listed = tuple(self._cleaned(it) for it in found[:MOST_SESSIONS])
        except v1.Malformed as error:
            raise ProtocolError(f"session/list: the agent's answer cannot be used ({error})") from None
        if len(self._titles) < MOST_SESSIONS:
            self._titles |= {it.id: it.title for it in listed if it.title}
        return listed, following or None  # some agents say "" for the end

    def entitle(self, conversation: Conversation) -> None:
        """A session that was opened without a word about its title has the one that the list told."""
        title = self._titles.get(conversation.id)
        if title and not conversation.read(lambda transcript: transcript.snapshot()).title:
            conversation.apply(ev.InfoChanged(title))

    def _cleaned(self, info: SessionInfo) -> SessionInfo:
        """Titles are often the first words of a prompt. A folder is what the session is opened in."""
        return replace(info, title=info.title and self._host.launch.redactor.text(info.title))

    async def all(self, cwd: str | None) -> tuple[list[SessionInfo], bool]:
        """Every session, once, and whether that is all of them."""
        found: dict[str, SessionInfo] = {}
        cursor: str | None = None
        old = pages = 0
        time = asyncio.get_running_loop().time
        until = time() + LIST_S
        while len(found) < MOST_SESSIONS and old < MOST_OLD_PAGES and pages < MOST_PAGES and time() < until:
            page, cursor = await self.page(cwd, cursor)
            pages, before = pages + 1, len(found)
            found |= {it.id: it for it in page if it.id not in found}
            if cursor is None:
                return list(found.values())[:MOST_SESSIONS], len(page) < MOST_SESSIONS
            old = old + 1 if len(found) == before else 0
        return list(found.values())[:MOST_SESSIONS], False

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
