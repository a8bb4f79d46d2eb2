"""Agent: the running agent of one or more sessions.

Provides facts about it and opens sessions; the work runs on the loop thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
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
    from ..notebook.static_bundle import Redact

FORKED = "This session continues another one: the agent knows that conversation, but it is not shown here."

GivenServers = Mapping[str, Mapping[str, Any]] | Iterable[Mapping[str, Any] | str | McpServer] | None
"""MCP servers as `connect` accepts them."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The options of a session that replace those of `connect`."""

    cwd: str | Path | None = None
    permissions: Policy | None = None
    mcp_servers: GivenServers = ()
    roots: Iterable[str | Path] = ()


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
        """The options are the defaults of its sessions."""
        self._host = host
        self._mcp_servers = mcp_servers
        self._roots = tuple(roots)
        self._redact = redact
        self._cwd = cwd
        self._policy = policy
        self._sessions: list[Session] = []

    @property
    def name(self) -> str:
        return self._host.agent.name

    @property
    def title(self) -> str | None:
        return self._host.agent.facts.title

    @property
    def version(self) -> str | None:
        return self._host.agent.facts.version

    @property
    def capabilities(self) -> Capabilities:
        return self._host.agent.facts.capabilities

    @property
    def auth_methods(self) -> tuple[AuthMethod, ...]:
        return self._host.agent.facts.auth_methods

    @property
    def pid(self) -> int | None:
        """The process id; None if there is no process, as in a replay."""
        return self._host.agent.pid

    @property
    def stderr(self) -> str:
        """The newest part of what the agent wrote to stderr."""
        return self._host.agent.stderr_text()

    @property
    def stray(self) -> tuple[str, ...]:
        """The newest lines on the agent's stdout that are not protocol messages."""
        return tuple(self._host.agent.stray)

    @property
    def open_sessions(self) -> tuple[Session, ...]:
        """The open sessions, oldest first, including those opened in a panel."""
        return tuple(it for it in self._sessions if not it._conversation.state.closed)

    def new_session(
        self,
        *,
        cwd: str | Path | None = None,
        permissions: Policy | None = None,
        mcp_servers: GivenServers = (),
        roots: Iterable[str | Path] = (),
    ) -> Session:
        """Open another session on this agent.

        The folder, its `roots`, the policy and the MCP servers default to those of `connect`.
        """
        return self._open_and_wait("new", None, Wanted(cwd, permissions, mcp_servers, roots))

    def load(
        self,
        id: str,
        *,
        cwd: str | Path | None = None,
        permissions: Policy | None = None,
        mcp_servers: GivenServers = (),
        roots: Iterable[str | Path] = (),
    ) -> Session:
        """Open a session that the agent has stored, with its history."""
        return self._open_and_wait("load", id, Wanted(cwd, permissions, mcp_servers, roots))

    def resume(
        self,
        id: str,
        *,
        cwd: str | Path | None = None,
        permissions: Policy | None = None,
        mcp_servers: GivenServers = (),
        roots: Iterable[str | Path] = (),
    ) -> Session:
        """Open a session that the agent has stored, without its history."""
        return self._open_and_wait("resume", id, Wanted(cwd, permissions, mcp_servers, roots))

    def fork(
        self,
        id: str,
        *,
        cwd: str | Path | None = None,
        permissions: Policy | None = None,
        mcp_servers: GivenServers = (),
        roots: Iterable[str | Path] = (),
    ) -> Session:
        """Open a new session that continues a stored one, with an empty transcript. That one is unchanged."""
        return self._open_and_wait("fork", id, Wanted(cwd, permissions, mcp_servers, roots))

    def sessions(self, *, cwd: str | Path | None = None) -> SessionTable:
        """A table of the sessions that the agent has stored; with `cwd`, only those of that folder."""
        where = None if cwd is None else folder(cwd)
        found, complete = self._host.agent.loop.call(self._host.store.all(where))
        return SessionTable(found, complete=complete, open=[it.id for it in self.open_sessions])

    def delete(self, id: str) -> None:
        """Delete a stored session on the agent, and close it if it is open."""
        self._host.agent.loop.call(self._host.store.delete(id))

    def authenticate(self, method: str) -> None:
        """Sign in with one of `auth_methods`. Raises `acp.Error` if the agent rejects it."""
        self._host.agent.loop.call(self._host.signing.authenticate(method))

    def logout(self) -> None:
        """Sign out, if the agent supports it. The agent then requires another sign-in."""
        self._host.agent.loop.call(self._host.signing.logout())

    def close(self) -> None:
        """End the agent, its sessions and every process it started. Does nothing in a forked process."""
        if self._host.agent.loop.reachable:
            self._host.agent.loop.call(self._host.close())

    def _open_and_wait(self, how: str, id: str | None, wanted: Wanted) -> Session:
        shows = sign_in_shown()
        given = wanted.mcp_servers is None or wanted.mcp_servers
        servers = wanted.mcp_servers if given else self._mcp_servers
        roots = tuple(wanted.roots) or (self._roots if wanted.cwd is None else ())
        opening = self._open(how, id, replace(wanted, mcp_servers=servers, roots=roots), shows=shows)
        return self._host.agent.loop.call(opening)

    async def _open(self, how: str, id: str | None, wanted: Wanted, *, shows: Show | None = None) -> Session:
        """Open a session. `shows` displays a required sign-in; None if it cannot be displayed."""
        conversation = self._host.conversation(
            self._cwd if wanted.cwd is None else folder(wanted.cwd),
            self._policy if wanted.permissions is None else policy_of(wanted.permissions),
            wanted.mcp_servers,
            [folder(root) for root in wanted.roots],
        )
        session = Session(conversation, self._host, self)
        session.redact = self._redact  # for every session of this agent, or secrets would leak
        state = conversation.state
        if shows is not None:
            state.audience.can_sign_in = True
            stop = state.on(ev.SignInChanged, lambda event: shows(session, event))
        await self._host.signing.through(lambda: self._enter(how, id, conversation), state)
        if shows is not None:
            stop()
        self._sessions = [*self.open_sessions, session]
        return session

    def _panel_of(self, id: str) -> str | None:
        """The model id of the panel of an open session, or None if it is not open."""
        found = (it for it in self.open_sessions if it.id == id)
        return next((it._live_panel().model_id for it in found), None)

    async def _open_like(self, before: Conversation, how: str, id: str | None, cwd: str) -> tuple[str, str]:
        """Open a session with the policy and servers of another; return its panel's model id and its id."""
        # Use only the roots that the user chose for this folder, never those that an agent lists.
        roots = before.state.directories if cwd == before.state.cwd else ()
        policy = before.permissions.questions.policy
        session = await self._open(how, id, Wanted(cwd, policy, before.mcp_servers or None, roots))
        return session._live_panel().model_id, session.id

    async def _enter(self, how: str, id: str | None, conversation: Conversation) -> None:
        await self._host.revive()
        opener = self._host.opener
        if how == "new":
            await opener.new(conversation)
        elif how == "load":
            await opener.load(conversation, str(id))
        elif how == "resume":
            await opener.resume(conversation, str(id))
        else:
            await opener.fork(conversation, str(id))
            conversation.state.apply(ev.NoticeGiven("info", FORKED, source="client"))

    def __repr__(self) -> str:
        state = "closed" if self._host.agent.closed else f"{len(self._host.sessions.open)} open"
        return f"<Agent {' '.join(filter(None, [self.name, self.version]))} · pid {self.pid} · {state}>"


def folder(path: str | Path) -> str:
    """The absolute path of a folder. Raises UsageError if it does not exist."""
    absolute = os.path.abspath(os.path.expanduser(path))
    if not os.path.isdir(absolute):
        raise UsageError(f"{absolute} is not a folder")
    return absolute


def policy_of(permissions: Any) -> Policy:
    try:
        return checked(permissions)
    except ValueError as error:
        raise UsageError(str(error)) from None
