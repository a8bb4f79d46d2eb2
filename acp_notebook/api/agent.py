"""Agent: the running agent of one or more sessions.

Provides facts about it and opens sessions; the work runs on the loop thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from .. import timeouts
from ..agent.conversation import Conversation
from ..agent.handler_threads import Handler
from ..agent.host import AgentHost
from ..core import events as ev
from ..core.agent_url import is_absolute
from ..core.mcp import McpServer
from ..core.policy import Policy, checked
from ..core.records import Json, Meta
from ..core.requests import AuthMethod, Capabilities
from ..core.session_table import SessionTable
from ..errors import UsageError
from ..frontend.display import Show, sign_in_shown
from .extensions import Handlers, checked_meta, checked_method, checked_object
from .session import Session

if TYPE_CHECKING:
    from ..notebook.static_bundle import Redact

FORKED = "This session continues another one: the agent knows that conversation, but it is not shown here."

H = TypeVar("H", bound=Handler)

GivenServers = Mapping[str, Mapping[str, Any]] | Iterable[Mapping[str, Any] | str | McpServer] | None
"""MCP servers as `connect` accepts them."""


StartAnother = Callable[[str, str, str | bool], Session]
"""Starts an agent (folder, name, `install` of `connect`) for a click in a panel."""


class Wanted(Struct, frozen=True):
    """The options of a session that replace those of `connect`."""

    cwd: str | Path | None = None
    permissions: Policy | None = None
    mcp_servers: GivenServers = ()
    roots: Iterable[str | Path] = ()
    meta: Meta | None = None


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
        meta: Meta | None = None,
        start_another: StartAnother,
    ) -> None:
        """The options are the defaults of its sessions; `start_another` starts agents for its panels."""
        self._start_another = start_another
        self._meta = meta
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
    def meta(self) -> Meta | None:
        """What the agent added to its introduction (`_meta`); see also `capabilities.meta`."""
        return self._host.agent.facts.meta

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
        meta: Meta | None = None,
    ) -> Session:
        """Open another session on this agent.

        The folder, its `roots`, the policy, the MCP servers and `meta` default to those of `connect`.
        """
        return self._open_and_wait("new", None, Wanted(cwd, permissions, mcp_servers, roots, meta))

    def load(
        self,
        id: str,
        *,
        cwd: str | Path | None = None,
        permissions: Policy | None = None,
        mcp_servers: GivenServers = (),
        roots: Iterable[str | Path] = (),
        meta: Meta | None = None,
    ) -> Session:
        """Open a session that the agent has stored, with its history."""
        return self._open_and_wait("load", id, Wanted(cwd, permissions, mcp_servers, roots, meta))

    def resume(
        self,
        id: str,
        *,
        cwd: str | Path | None = None,
        permissions: Policy | None = None,
        mcp_servers: GivenServers = (),
        roots: Iterable[str | Path] = (),
        meta: Meta | None = None,
    ) -> Session:
        """Open a session that the agent has stored, without its history."""
        return self._open_and_wait("resume", id, Wanted(cwd, permissions, mcp_servers, roots, meta))

    def fork(
        self,
        id: str,
        *,
        cwd: str | Path | None = None,
        permissions: Policy | None = None,
        mcp_servers: GivenServers = (),
        roots: Iterable[str | Path] = (),
        meta: Meta | None = None,
    ) -> Session:
        """Open a new session that continues a stored one, with an empty transcript. That one is unchanged."""
        return self._open_and_wait("fork", id, Wanted(cwd, permissions, mcp_servers, roots, meta))

    def sessions(self, *, cwd: str | Path | None = None) -> SessionTable:
        """A table of the sessions that the agent has stored; with `cwd`, only those of that folder."""
        where = None if cwd is None else self._folder(cwd)
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

    def request(
        self, method: str, params: Mapping[str, Json] | None = None, /, *, timeout: float | None = None
    ) -> Json:
        """Send a request beyond the protocol, such as "_example.com/status"; return its result, plain JSON.

        Raises `acp.AgentError` if the agent answers with an error (its `code` is -32601 if the agent does not
        know the method), `acp.Timeout` after `timeout` seconds, by default 60, and `acp.AgentDied`. An agent
        that has ended is restarted first.
        """
        call = checked_method(method), checked_object({} if params is None else params, "params")
        limit = timeouts.get().extension_request if timeout is None else _seconds(timeout)
        return self._host.agent.loop.call(self._host.extensions.request(*call, limit))

    def notify(self, method: str, params: Mapping[str, Json] | None = None, /) -> None:
        """Send a notification beyond the protocol. There is no answer, not even if the agent ignores it."""
        call = checked_method(method), checked_object({} if params is None else params, "params")
        self._host.agent.loop.call(self._host.extensions.notify(*call))

    def on(self, method: str) -> Callable[[H], H]:
        """Answer the agent's own requests with this name, and receive its notifications: a decorator.

            @session.agent.on("_example.com/choose")
            def choose(params):
                return {"index": 0}

        The function, which may be `async`, gets the parameters as plain JSON and returns plain JSON. It runs
        on a thread of its own and has 60 s. If it raises an error, the agent gets that error, with the code
        of an `acp.ExtensionError`. A second function for a name replaces the first. The parameters come from
        the agent: check them before you use them.
        """
        name = checked_method(method)

        def register(handler: H) -> H:
            self.handlers[name] = handler
            return handler

        return register

    @property
    def handlers(self) -> Handlers:
        """The handlers by method, to read, set and delete: `del agent.handlers["_example.com/choose"]`."""
        return Handlers(self._host.extensions.handlers)

    def close(self) -> None:
        """End the agent, its sessions and every process it started. Does nothing in a forked process."""
        if self._host.agent.loop.reachable:
            self._host.agent.loop.call(self._host.close())

    def _open_and_wait(self, how: str, id: str | None, wanted: Wanted) -> Session:
        shows = sign_in_shown()
        given = wanted.mcp_servers is None or wanted.mcp_servers
        servers = wanted.mcp_servers if given else self._mcp_servers
        roots = tuple(wanted.roots) or (self._roots if wanted.cwd is None else ())
        meta = self._meta if wanted.meta is None else checked_meta(wanted.meta)
        chosen = replace(wanted, mcp_servers=servers, roots=roots, meta=meta)
        opening = self._open(how, id, chosen, shows=shows)
        return self._host.agent.loop.call(opening)

    async def _open(self, how: str, id: str | None, wanted: Wanted, *, shows: Show | None = None) -> Session:
        """Open a session. `shows` displays a required sign-in; None if it cannot be displayed."""
        conversation = self._host.conversation(
            self._cwd if wanted.cwd is None else self._folder(wanted.cwd),
            self._policy if wanted.permissions is None else policy_of(wanted.permissions),
            wanted.mcp_servers,
            [self._folder(root) for root in wanted.roots],
            wanted.meta,
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

    def _folder(self, path: str | Path) -> str:
        """A folder of the agent's machine. Raises UsageError."""
        if self._host.agent.launch.reach.is_local:
            return folder(path)
        return remote_folder(path)

    def _panel_of(self, id: str) -> str | None:
        """The model id of the panel of an open session, or None if it is not open."""
        found = (it for it in self.open_sessions if it.id == id)
        return next((it._live_panel().model_id for it in found), None)

    async def _open_like(self, before: Conversation, how: str, id: str | None, cwd: str) -> tuple[str, str]:
        """Open a session with the policy and servers of another; return its panel's model id and its id."""
        # Use only the roots that the user chose for this folder, never those that an agent lists.
        roots = before.state.directories if cwd == before.state.cwd else ()
        policy = before.permissions.questions.policy
        wanted = Wanted(cwd, policy, before.mcp_servers or None, roots, before.meta)
        session = await self._open(how, id, wanted)
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
        elif how == "stored":
            await opener.stored(conversation, str(id))
        else:
            await opener.fork(conversation, str(id))
            conversation.state.apply(ev.NoticeGiven("info", FORKED, source="client"))

    def __repr__(self) -> str:
        state = "closed" if self._host.agent.closed else f"{len(self._host.sessions.open)} open"
        reach = self._host.agent.launch.reach
        where = f"pid {self.pid}" if reach.is_ours else reach.wire
        return f"<Agent {' '.join(filter(None, [self.name, self.version]))} · {where} · {state}>"


def folder(path: str | Path) -> str:
    """The absolute path of a folder. Raises UsageError if it does not exist."""
    absolute = os.path.abspath(os.path.expanduser(path))
    if not os.path.isdir(absolute):
        raise UsageError(f"{absolute} is not a folder")
    return absolute


def remote_folder(path: str | Path) -> str:
    """A folder of another machine: it is passed on as it is, and never looked up here."""
    if not is_absolute(str(path)):
        raise UsageError(f"{str(path)!r} is not absolute, as cwd= and roots= on the agent's machine must be")
    return str(path)


def _seconds(timeout: float) -> float:
    if not timeout > 0:
        raise UsageError(f"timeout is {timeout!r}; it must be more than 0 seconds")
    return timeout


def policy_of(permissions: Any) -> Policy:
    try:
        return checked(permissions)
    except ValueError as error:
        raise UsageError(str(error)) from None
