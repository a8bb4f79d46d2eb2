"""Agent: the running agent behind one or more sessions, as the user sees it.

Reads facts and opens sessions; the work is done on the loop thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..agent.conversation import Conversation
from ..agent.host import AgentHost
from ..core import events as ev
from ..core.mcp import McpServer
from ..core.policy import Policy, checked
from ..core.requests import AuthMethod, Capabilities
from ..core.session_table import SessionTable
from ..errors import UsageError
from ..frontend.display import Show, sign_in_shown
from .session import Session

if TYPE_CHECKING:
    from ..notebook.static import Redact

FORKED = (
    "This session goes on from another one: the agent knows what was said there, and it is not shown here."
)

GivenServers = Mapping[str, Mapping[str, Any]] | Iterable[Mapping[str, Any] | str | McpServer] | None
"""MCP servers as `connect` takes them."""


class Agent:
    """A running agent. `new_session()` opens another conversation with it."""

    def __init__(
        self,
        host: AgentHost,
        *,
        cwd: str,
        policy: Policy,
        redact: Redact | None = None,
        mcp_servers: GivenServers = (),
        roots: Iterable[str | Path] = (),
    ) -> None:
        """What the sessions on it have, unless they are given others."""
        self._host = host
        self._mcp_servers = mcp_servers
        self._roots = tuple(roots)
        self._redact = redact
        self._cwd = cwd
        self._policy = policy
        self._sessions: list[Session] = []

    @property
    def name(self) -> str:
        return self._host.name

    @property
    def title(self) -> str | None:
        return self._host.facts.title

    @property
    def version(self) -> str | None:
        return self._host.facts.version

    @property
    def capabilities(self) -> Capabilities:
        return self._host.facts.capabilities

    @property
    def auth_methods(self) -> tuple[AuthMethod, ...]:
        return self._host.facts.auth_methods

    @property
    def pid(self) -> int | None:
        """The process; None for an agent that is none, such as a recording."""
        return self._host.pid

    @property
    def stderr(self) -> str:
        """What the agent wrote to stderr: the newest part."""
        return self._host.stderr_text()

    @property
    def stray(self) -> tuple[str, ...]:
        """Lines on the agent's stdout that were no messages, the newest."""
        return tuple(self._host.stray)

    @property
    def open_sessions(self) -> tuple[Session, ...]:
        """The sessions that are open on it, oldest first; those that were opened in a panel are here, too."""
        return tuple(it for it in self._sessions if not it._conversation.closed)

    def new_session(
        self,
        *,
        cwd: str | Path | None = None,
        permissions: Policy | None = None,
        mcp_servers: GivenServers = (),
        roots: Iterable[str | Path] = (),
    ) -> Session:
        """Another conversation on this agent.

        What is not given is as `connect` was given it: the folder and its `roots`, the policy, MCP servers.
        """
        return self._opened("new", None, cwd, permissions, mcp_servers, roots)

    def load(
        self,
        id: str,
        *,
        cwd: str | Path | None = None,
        permissions: Policy | None = None,
        mcp_servers: GivenServers = (),
        roots: Iterable[str | Path] = (),
    ) -> Session:
        """A session that the agent keeps, with its history told anew."""
        return self._opened("load", id, cwd, permissions, mcp_servers, roots)

    def resume(
        self,
        id: str,
        *,
        cwd: str | Path | None = None,
        permissions: Policy | None = None,
        mcp_servers: GivenServers = (),
        roots: Iterable[str | Path] = (),
    ) -> Session:
        """A session that the agent keeps, without its history."""
        return self._opened("resume", id, cwd, permissions, mcp_servers, roots)

    def fork(
        self,
        id: str,
        *,
        cwd: str | Path | None = None,
        permissions: Policy | None = None,
        mcp_servers: GivenServers = (),
        roots: Iterable[str | Path] = (),
    ) -> Session:
        """A new session that goes on from one that the agent keeps, without its history; that one stays."""
        return self._opened("fork", id, cwd, permissions, mcp_servers, roots)

    def sessions(self, *, cwd: str | Path | None = None) -> SessionTable:
        """The sessions that the agent keeps, as a table; with `cwd`, those of that folder."""
        where = None if cwd is None else folder(cwd)
        found, complete = self._host.loop.call(self._host.store.all(where))
        return SessionTable(found, complete=complete, open=[it.id for it in self.open_sessions])

    def delete(self, id: str) -> None:
        """Have the agent forget a session; one that is open here is closed."""
        self._host.loop.call(self._host.store.delete(id))

    def authenticate(self, method: str) -> None:
        """Sign in by a method of `auth_methods`; raises what the agent says against it."""
        self._host.loop.call(self._host.signing.authenticate(method))

    def logout(self) -> None:
        """Sign out, where the agent offers that; it wants another sign-in before it goes on."""
        self._host.loop.call(self._host.signing.logout())

    def close(self) -> None:
        """End the agent, its sessions, and all that it started; in a forked copy it does nothing."""
        if self._host.loop.reachable:
            self._host.loop.call(self._host.close())

    def _opened(
        self,
        how: str,
        id: str | None,
        cwd: str | Path | None,
        permissions: Policy | None,
        mcp_servers: GivenServers,
        roots: Iterable[str | Path],
    ) -> Session:
        shows = sign_in_shown()
        servers = self._mcp_servers if mcp_servers is not None and not mcp_servers else mcp_servers
        folders = tuple(roots) or (self._roots if cwd is None else ())
        opening = self._open(how, id, cwd, permissions, servers, folders, shows=shows)
        return self._host.loop.call(opening)

    async def _open(
        self,
        how: str,
        id: str | None,
        cwd: str | Path | None,
        permissions: Policy | None,
        mcp_servers: GivenServers,
        roots: Iterable[str | Path],
        *,
        shows: Show | None = None,
    ) -> Session:
        """`shows`: how a sign-in is shown to whoever waits here; None: it cannot be."""
        conversation = Conversation(
            self._host,
            cwd=self._cwd if cwd is None else folder(cwd),
            policy=self._policy if permissions is None else policy_of(permissions),
            mcp_servers=mcp_servers,
            directories=[folder(root) for root in roots],
        )
        session = Session(conversation, self)
        session.redact = self._redact  # every session of this agent: one that forgets it would leak
        if shows is not None:
            conversation.shows_sign_in = True
            stop = conversation.listen(lambda event, _: shows(session, event))
        await self._host.signing.through(lambda: self._enter(how, id, conversation), conversation)
        if shows is not None:
            stop()
        self._sessions = [it for it in self._sessions if not it._conversation.closed] + [session]
        return session

    async def _enter(self, how: str, id: str | None, conversation: Conversation) -> None:
        await self._host.recovery.revive()
        if how == "new":
            await self._host.new_session(conversation)
        elif how == "load":
            await self._host.load(conversation, str(id))
        elif how == "resume":
            await self._host.resume(conversation, str(id))
        else:
            await self._host.fork(conversation, str(id))
            conversation.apply(ev.NoticeGiven("info", FORKED, source="client"))

    def __repr__(self) -> str:
        state = "closed" if self._host.closed else f"{len(self._host.conversations)} open"
        return f"<Agent {' '.join(filter(None, [self.name, self.version]))} · pid {self.pid} · {state}>"


def folder(path: str | Path) -> str:
    """An absolute folder; raises UsageError if there is none."""
    absolute = os.path.abspath(os.path.expanduser(path))
    if not os.path.isdir(absolute):
        raise UsageError(f"{absolute} is not a folder")
    return absolute


def policy_of(permissions: Any) -> Policy:
    try:
        return checked(permissions)
    except ValueError as error:
        raise UsageError(str(error)) from None
