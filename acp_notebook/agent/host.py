"""Keeps one agent and its sessions: starts it, restarts it when it is gone or stuck, ends it.

Connects the link, the sessions, recovery and sign-in. Runs on the loop thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .. import timeouts
from ..core import events as ev
from ..core.policy import Policy
from ..core.records import Json
from ..errors import Error
from ..log import logger, suppressed
from ..wire import v1
from . import loop, temporary_folders
from .agent_link import AgentLink
from .backends import Backends
from .client import Client
from .conversation import Conversation
from .extensions import Extensions
from .files.unfinished import remove_unfinished
from .interruptions import Interruptions
from .known_agents import start_hints
from .launch import Launch, SessionOptions
from .recovery import Recovery
from .session_opener import SessionOpener
from .session_store import SessionStore
from .sessions import Sessions
from .sign_in import SignInFlow
from .threads import on_a_thread

_log = logger(__name__)


class AgentHost:
    """Keeps one agent and its sessions (a `conversation.Keeper`)."""

    def __init__(self, launch: Launch, options: SessionOptions, backends: Backends) -> None:
        self.options = options
        self.agent = agent = AgentLink(launch, options, backends)
        self.sessions = Sessions(agent)
        self.signing = SignInFlow(agent, self.sessions.states, self.revive, self._restart)
        self.store = SessionStore(agent, self.sessions, self.signing, self.revive)
        self.opener = SessionOpener(agent, self.sessions, self.store)
        self.recovery = Recovery(agent, self.sessions, self.opener, self.signing, lambda: self.connect())
        self.interruptions = Interruptions(agent, self.sessions, self.recovery)
        self.extensions = Extensions(agent, self.sessions, options.handlers, backends.answers, self.revive)
        self._backends = backends
        backends.controlled_by(self.sessions.cancel)

    # ---- start --------------------------------------------------------------------------------

    async def start(self) -> None:
        loop.at_exit(self, self.end_now, self.kill)
        self.agent.background(on_a_thread(_sweep))
        async with self.agent.starting:
            try:
                await self.connect()
                start_hints.last.pop(self.agent.name, None)
            except Error as error:
                start_hints.last[self.agent.name] = str(error)
                if not self.agent.launch.reach.is_ours:
                    start_hints.elsewhere.add(self.agent.name)
                self._close_files()
                loop.forget(self)
                raise
            except BaseException:
                self._close_files()
                loop.forget(self)
                raise

    async def connect(self) -> None:
        ended = self.interruptions.ended
        await self.agent.connect(Client(self.agent, self.sessions, self.options, self.extensions, ended))

    async def revive(self) -> None:
        """Restart the agent if it is gone."""
        await self.recovery.revive()

    async def _restart(self, why: str) -> None:
        await self.recovery.restart(why, alive=True)

    # ---- sessions -----------------------------------------------------------------------------

    def conversation(
        self,
        cwd: str,
        policy: Policy = "ask",
        mcp_servers: Any = (),
        directories: Iterable[str] = (),
        meta: Mapping[str, Json] | None = None,
    ) -> Conversation:
        """Create a session, without opening it on the agent."""
        servers = self.options.servers.chosen(mcp_servers)
        given = cwd, tuple(directories)
        return Conversation(self, self.agent, self.options, self._backends, *given, policy, servers, meta)

    async def ready(self, conversation: Conversation) -> None:
        await self.signing.through(lambda: self.recovery.revive(conversation), conversation.state)

    async def reopen(self, conversation: Conversation, *, new: bool) -> None:
        await self.signing.through(lambda: self.recovery.reopen(conversation, new=new), conversation.state)

    async def take_up(self, conversation: Conversation, id: str) -> None:
        await self.signing.through(lambda: self.recovery.take_up(conversation, id), conversation.state)

    async def reread(self, conversation: Conversation) -> Sequence[ev.Event]:
        return await self.recovery.reread(conversation)

    async def renew(self, conversation: Conversation) -> None:
        await self.recovery.renew(conversation)

    async def restart(self, why: str, stuck: Conversation) -> None:
        await self.recovery.restart(why, stuck)

    async def on_closed(self, conversation: Conversation) -> None:
        """Close the session on the agent; close the agent with its last session."""
        if conversation not in self.sessions.open:
            return
        known = self.sessions.remove(conversation)
        if known and self.agent.facts.capabilities.close and not self.agent.closed:
            with suppressed(_log, Error, TimeoutError):  # the session is closed here in any case
                closing = v1.close_session(conversation.state.id)
                await self.agent.connection.request(closing, timeouts.get().session_close)
        if known:
            self.agent.forget(conversation.state.id)
        if not self.sessions.open:
            await self.close()

    # ---- end ----------------------------------------------------------------------------------

    async def close(self) -> None:
        """Close every session and end the agent with everything it started."""
        self.agent.closed = True
        for conversation in tuple(self.sessions.open):
            await conversation.close()
        self.agent.cancel_background()
        await self.agent.disconnect()
        self._close_files()
        loop.forget(self)

    async def end_now(self) -> None:
        """End the agent at interpreter exit, without closing sessions on the agent first."""
        self.agent.closed = True
        for conversation in self.sessions.open:
            conversation.state.closed = True
            conversation.close_tools()
            conversation.undoing.kill()
        await asyncio.gather(*(it.services.terminals.close() for it in self.sessions.open))
        self.agent.cancel_background()
        await self.agent.disconnect()
        self.sessions.apply(ev.StatusChanged("closed"))
        self._close_files()

    def _close_files(self) -> None:
        if self.agent.tap is not None:
            self.agent.tap.close()
        if self.options.audit is not None:
            self.options.audit.close()
        self.signing.close()

    def kill(self) -> None:
        """Kill all processes at once, as the last resort. Safe from any thread."""
        for conversation in tuple(self.sessions.open):
            conversation.services.terminals.kill_now()
            conversation.undoing.kill()
        self.agent.kill_now()


def _sweep() -> None:
    """Remove the leftovers of killed kernels."""
    temporary_folders.sweep()
    remove_unfinished()
