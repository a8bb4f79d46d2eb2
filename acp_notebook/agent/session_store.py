"""Lists and deletes the sessions that an agent stores. Runs on the loop thread."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from .. import timeouts
from ..core import events as ev
from ..core.requests import SessionInfo
from ..errors import AgentError, ProtocolError, UsageError
from ..wire import v1
from ..wire.jsonrpc import NOT_FOUND
from .agent_link import AgentLink
from .session_state import SessionState
from .sessions import Sessions
from .sign_in import SignInFlow

MOST_SESSIONS = 50_000
"""Limit of a whole list: the cursors of a faulty agent may never end."""

MOST_PAGES = 2_000
"""Limit of pages, for an agent that sends one session per page."""

MOST_OLD_PAGES = 20
"""Limit of consecutive pages without a new session: a filter may empty some, a cycle repeats forever."""


class SessionStore:
    """Lists and deletes the sessions that one agent stores."""

    def __init__(
        self,
        agent: AgentLink,
        sessions: Sessions,
        signing: SignInFlow,
        revive: Callable[[], Awaitable[None]],
    ) -> None:
        self._agent = agent
        self._sessions = sessions
        self._signing = signing
        self._revive = revive
        self._titles: dict[str, str] = {}
        """Titles of the listed sessions: not every agent sends the title again after a load."""

    async def page(
        self, cwd: str | None, cursor: str | None, asker: SessionState | None = None
    ) -> tuple[tuple[SessionInfo, ...], str | None]:
        """One page of sessions, and the cursor of the next page or None."""
        await self._revive()
        self.check("list", self._agent.facts.capabilities.list)
        answer = await self._signing.through(
            lambda: self._agent.request(v1.list_sessions(cwd, cursor)), asker
        )
        try:
            found, following = v1.read_sessions(answer)
            listed = tuple(self._cleaned(it) for it in found[:MOST_SESSIONS])
        except v1.Malformed as error:
            raise ProtocolError(f"session/list: the agent's answer cannot be used ({error})") from None
        if len(self._titles) < MOST_SESSIONS:
            self._titles |= {it.id: it.title for it in listed if it.title}
        return listed, following or None  # some agents send "" at the end

    def restore_title(self, state: SessionState) -> None:
        """Set the title from the list if the agent sent none when it opened the session."""
        title = self._titles.get(state.id)
        if title and not state.read(lambda transcript: transcript.header()).title:
            state.apply(ev.InfoChanged(title))

    def _cleaned(self, info: SessionInfo) -> SessionInfo:
        """Redact the title, which often begins like a prompt. The folder is needed to open the session."""
        redactor = self._agent.redactor
        return replace(info, title=info.title and redactor.text(info.title), meta=redactor.plain(info.meta))

    async def all(self, cwd: str | None) -> tuple[list[SessionInfo], bool]:
        """All sessions without duplicates, and whether the list is complete."""
        found: dict[str, SessionInfo] = {}
        cursor: str | None = None
        old = pages = 0
        time = asyncio.get_running_loop().time
        until = time() + timeouts.get().session_list
        while len(found) < MOST_SESSIONS and old < MOST_OLD_PAGES and pages < MOST_PAGES and time() < until:
            page, cursor = await self.page(cwd, cursor)
            pages, before = pages + 1, len(found)
            found |= {it.id: it for it in page if it.id not in found}
            if cursor is None:
                return list(found.values())[:MOST_SESSIONS], len(page) < MOST_SESSIONS
            old = old + 1 if len(found) == before else 0
        return list(found.values())[:MOST_SESSIONS], False

    async def delete(self, id: str) -> None:
        """Delete a session on the agent, and close it if it is open. Succeeds if it no longer exists."""
        await self._revive()
        self.check("delete", self._agent.facts.capabilities.delete)
        opened = self._sessions.known.get(id)
        if opened is not None:
            opened.cancel()
        try:
            asker = None if opened is None else opened.state
            await self._signing.through(lambda: self._agent.request(v1.delete_session(id)), asker)
        except AgentError as error:
            if error.code != NOT_FOUND:
                raise
        if opened is not None:
            await opened.close()

    def check(self, what: str, is_offered: bool) -> None:
        if not is_offered:
            raise UsageError(f"{self._agent.name} does not offer to {what} sessions")
