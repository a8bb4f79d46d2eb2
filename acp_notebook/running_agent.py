"""Agent: the running agent behind one or more sessions, as the user sees it.

Reads facts and opens sessions; the work is done on the loop thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .agent.conversation import Conversation
from .agent.host import AgentHost
from .core.facts import AuthMethod, Capabilities, SessionInfo
from .core.policy import Policy, checked
from .errors import UsageError
from .session import Session

if TYPE_CHECKING:
    from .notebook.static import Redact


class Agent:
    """A running agent. `new_session()` opens another conversation with it."""

    def __init__(self, host: AgentHost, *, cwd: str, policy: Policy, redact: Redact | None = None) -> None:
        self._host = host
        self._redact = redact
        self._cwd = cwd
        self._policy = policy

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

    def new_session(
        self,
        *,
        cwd: str | Path | None = None,
        permissions: Policy | None = None,
        mcp_servers: Iterable[Mapping[str, Any]] = (),
        roots: Iterable[str | Path] = (),
    ) -> Session:
        """Another conversation on this agent; by default in the same folder, by the same policy."""
        return self._host.home.call(self._open("new", None, cwd, permissions, mcp_servers, roots))

    def load(
        self,
        id: str,
        *,
        cwd: str | Path | None = None,
        permissions: Policy | None = None,
        mcp_servers: Iterable[Mapping[str, Any]] = (),
        roots: Iterable[str | Path] = (),
    ) -> Session:
        """A session that the agent keeps, with its history told anew."""
        return self._host.home.call(self._open("load", id, cwd, permissions, mcp_servers, roots))

    def resume(
        self,
        id: str,
        *,
        cwd: str | Path | None = None,
        permissions: Policy | None = None,
        mcp_servers: Iterable[Mapping[str, Any]] = (),
        roots: Iterable[str | Path] = (),
    ) -> Session:
        """A session that the agent keeps, without its history."""
        return self._host.home.call(self._open("resume", id, cwd, permissions, mcp_servers, roots))

    def sessions(self, *, cwd: str | Path | None = None) -> list[SessionInfo]:
        """The sessions that the agent keeps; with `cwd`, those of that folder."""
        return self._host.home.call(self._host.list_sessions(None if cwd is None else folder(cwd)))

    def close(self) -> None:
        """End the agent, its sessions, and all that it started; in a forked copy it does nothing."""
        if self._host.home.reachable:
            self._host.home.call(self._host.close())

    async def _open(
        self,
        how: str,
        id: str | None,
        cwd: str | Path | None,
        permissions: Policy | None,
        mcp_servers: Iterable[Mapping[str, Any]],
        roots: Iterable[str | Path],
    ) -> Session:
        conversation = Conversation(
            self._host,
            cwd=self._cwd if cwd is None else folder(cwd),
            policy=self._policy if permissions is None else policy_of(permissions),
            mcp_servers=mcp_servers,
            directories=[folder(root) for root in roots],
        )
        await self._host.recovery.revive()
        if how == "new":
            await self._host.new_session(conversation)
        elif how == "load":
            await self._host.load(conversation, str(id))
        else:
            await self._host.resume(conversation, str(id))
        session = Session(conversation, self)
        session.redact = self._redact  # every session of this agent: one that forgets it would leak
        return session

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
