"""One agent: started, introduced, its sessions held, started again when it is gone or stuck.

Knows no user's thread and no transcript's content. Lives on the loop thread.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from msgspec import Raw

from .._version import __version__
from ..core import events as ev
from ..core.facts import AgentFacts, SessionFacts, SessionInfo
from ..errors import (
    AgentError,
    AgentNotFound,
    AuthenticationRequired,
    Error,
    ProtocolError,
    SessionClosed,
    Timeout,
    UsageError,
)
from ..wire import v1
from ..wire.jsonrpc import AUTH_REQUIRED
from . import loop
from .client import Client
from .connection import Connection, Tap
from .conversation import Conversation
from .transport import Transport

EARLY_KEPT = 10_000
"""Updates kept for sessions not heard of yet: they may come before the answer that names the session."""

STRAY_KEPT = 200
"""Lines on stdout that are no messages, kept for people to read."""

DEFER_S = 30.0
"""A restart for a stuck session waits this long for other sessions' turns on the same agent."""

CLOSE_S = 2.0
"""How long the agent may take to say goodbye to a session."""

CAPABILITIES: dict[str, Any] = {
    "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
}
"""What this client tells the agent that it can do: only what works."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How to reach an agent: the name it goes by, and how a transport to it is made."""

    name: str
    transport: Callable[[], Transport]
    tap: Tap | None = None
    start_timeout: float = 60.0


class AgentHost:
    def __init__(self, launch: Launch) -> None:
        self.name = launch.name
        self.facts = AgentFacts(v1.VERSION)
        self.sessions: dict[str, Conversation] = {}
        self.stray: deque[str] = deque(maxlen=STRAY_KEPT)
        self.closed = False
        self._launch = launch
        self._transport: Transport | None = None
        self._connection: Connection | None = None
        self._starting = asyncio.Lock()
        self._early: dict[str, list[ev.Event]] = {}
        self._early_count = 0
        self._background: set[asyncio.Task[None]] = set()

    @property
    def pid(self) -> int | None:
        return getattr(self._transport, "pid", None)

    def stderr_text(self) -> str:
        return self._transport.stderr_text() if self._transport is not None else ""

    # ---- start and restart ------------------------------------------------------------------

    async def start(self) -> None:
        loop.at_exit(self, self.end_now, self.kill)
        async with self._starting:
            try:
                await self._connect()
            except BaseException:
                self._close_tap()
                loop.forget(self)
                raise

    async def _connect(self) -> None:
        transport = self._transport = self._launch.transport()
        connection = self._connection = Connection(transport, Client(self), self._launch.tap)
        try:
            connection.start()
        except OSError as error:
            raise AgentNotFound(f"{self.name} cannot be started: {error}") from None
        try:
            call = v1.initialize(CAPABILITIES, name="acp_notebook", title="acp_notebook", version=__version__)
            self.facts = v1.read_initialize(await self.request(call))
            if self.facts.protocol_version != v1.VERSION:
                raise ProtocolError(
                    f"{self.name} speaks version {self.facts.protocol_version} of the protocol, this client "
                    f"version {v1.VERSION}; another version of the agent, or of acp_notebook, may match"
                )
        except v1.Malformed as error:
            await connection.close()
            raise ProtocolError(f"{self.name}'s introduction cannot be read: {error}") from None
        except BaseException:
            await connection.close()
            raise

    async def revive(self) -> None:
        """Start the agent again if it is gone.

        A turn that is cancelled while it waits for this does not stop it half-way: every session needs it.
        """
        if self.connection.error is not None:
            await asyncio.shield(self.background(self.restart("it had ended")))

    async def restart(self, why: str, stuck: Conversation | None = None) -> None:
        """End the agent and start it again, once; every session on it is taken along.

        Without `stuck`, only if it is gone: whoever comes second finds it alive again.
        """
        if stuck is not None:
            await self._others_done(stuck)
        async with self._starting:
            if self.closed or (stuck is None and self.connection.error is None):
                return
            await self.connection.close()
            for conversation in self.sessions.values():
                conversation.apply(ev.StatusChanged("restarting"))
            await self._connect()
            for conversation in list(self.sessions.values()):
                await self._rejoin(conversation, why)

    async def _others_done(self, stuck: Conversation) -> None:
        runs = [other.running for other in self.sessions.values() if other is not stuck]
        waits = {asyncio.wrap_future(run.done) for run in runs if run is not None}
        if waits:
            await asyncio.wait(waits, timeout=DEFER_S)

    async def _rejoin(self, conversation: Conversation, why: str) -> None:
        """Resume the session on the fresh agent, else load it, else begin a new one."""
        conversation.retell(True)
        try:
            facts, memory = await self._reopen(conversation)
        finally:
            conversation.retell(False)
        conversation.rejoined(f"{self.name} was started again, because {why}. {memory}", facts)

    async def _reopen(self, conversation: Conversation) -> tuple[SessionFacts, str]:
        can, id = self.facts.capabilities, conversation.id
        if can.resume:
            try:
                facts = await self._open(v1.resume_session, v1.read_session, conversation, id)
                return facts, "The session was resumed."
            except (AgentError, ProtocolError):
                pass  # it does not know the session any more; the next way may do
        if can.load:
            try:
                facts = await self._open(v1.load_session, v1.read_session, conversation, id)
                await conversation.told()
                return facts, "The session was loaded."
            except (AgentError, ProtocolError):
                pass
        facts = await self._open(v1.new_session, v1.read_new_session, conversation)
        del self.sessions[id]
        self._adopt(conversation, facts.id or "")
        return facts, "It does not remember this conversation."

    # ---- sessions ---------------------------------------------------------------------------

    async def new_session(self, conversation: Conversation) -> None:
        facts = await self._open(v1.new_session, v1.read_new_session, conversation)
        conversation.opened(facts)
        self._adopt(conversation, facts.id or "")

    async def load(self, conversation: Conversation, id: str) -> None:
        """The history is told by the agent, before its answer or after it."""
        self._offered("load", self.facts.capabilities.load)
        self._adopt(conversation, id)
        try:
            facts = await self._open(v1.load_session, v1.read_session, conversation, id)
        except BaseException:
            self.sessions.pop(id, None)
            raise
        await conversation.told()
        conversation.opened(facts)

    async def resume(self, conversation: Conversation, id: str) -> None:
        self._offered("resume", self.facts.capabilities.resume)
        facts = await self._open(v1.resume_session, v1.read_session, conversation, id)
        conversation.opened(facts)
        self._adopt(conversation, id)

    async def list_sessions(self, cwd: str | None) -> list[SessionInfo]:
        self._offered("list", self.facts.capabilities.list)
        found: list[SessionInfo] = []
        cursor: str | None = None
        seen: set[str | None] = set()
        while cursor not in seen:
            seen.add(cursor)
            page, cursor = v1.read_sessions(await self.request(v1.list_sessions(cwd, cursor)))
            found += page
            if cursor is None:
                break
        return found

    async def _open(
        self,
        call: Callable[..., v1.Call],
        read: Callable[[Raw], SessionFacts],
        conversation: Conversation,
        *id: str,
    ) -> SessionFacts:
        directories = conversation.directories if self.facts.capabilities.additional_directories else ()
        asked = call(*id, conversation.cwd, conversation.mcp_servers, directories)
        try:
            return read(await self.request(asked))
        except AgentError as error:
            raise self._explained(error) from None
        except v1.Malformed as error:
            raise ProtocolError(f"{asked[0]}: the agent's answer cannot be used ({error})") from None

    def _explained(self, error: AgentError) -> AgentError:
        if error.code != AUTH_REQUIRED:
            return error
        methods = self.facts.auth_methods
        ways = [f"  {it.name}" + (f": {it.description}" if it.description else "") for it in methods]
        text = f"{self.name} wants you to sign in first." + "".join(f"\n{way}" for way in ways)
        return AuthenticationRequired(text, code=error.code, data=error.data, methods=methods)

    def _offered(self, what: str, is_offered: bool) -> None:
        if not is_offered:
            raise UsageError(f"{self.name} does not offer to {what} sessions")

    def _adopt(self, conversation: Conversation, id: str) -> None:
        """From now on updates for this id go to this session; those that came before it, too."""
        if id in self.sessions:
            raise UsageError(f"session {id!r} is open already")
        conversation.id = id
        self.sessions[id] = conversation
        early = self._early.pop(id, [])
        self._early_count -= len(early)
        for event in early:
            conversation.receive(event)

    def update(self, session_id: str | None, event: ev.Event) -> None:
        """An update of the agent's, for a session, or (None) for nobody in particular."""
        conversation = self.sessions.get(session_id) if session_id is not None else None
        if conversation is not None:
            conversation.receive(event)
        elif session_id is None:
            for each in self.sessions.values():
                each.receive(event)
        elif self._early_count < EARLY_KEPT:
            self._early.setdefault(session_id, []).append(event)
            self._early_count += 1

    async def left(self, conversation: Conversation) -> None:
        """The session was closed; the last one takes the agent along."""
        if self.sessions.pop(conversation.id, None) is None:
            return
        if self.facts.capabilities.close and not self.closed:
            with contextlib.suppress(Error, TimeoutError):  # for us it is gone either way
                await self.connection.request(v1.close_session(conversation.id), CLOSE_S)
        if not self.sessions:
            await self.close()

    # ---- talk -------------------------------------------------------------------------------

    @property
    def connection(self) -> Connection:
        if self.closed or self._connection is None:
            raise SessionClosed("the agent was closed; acp.connect(...) starts another")
        return self._connection

    async def request(self, call: v1.Call) -> Raw:
        """Ask, for at most the start timeout: for what an agent answers without thinking."""
        limit = self._launch.start_timeout
        try:
            return await self.connection.request(call, limit)
        except TimeoutError:
            raise Timeout(
                f"{self.name} did not answer {call[0]} within {limit:g} s; start_timeout= allows it more"
            ) from None

    def notify(self, call: v1.Call) -> None:
        if self._connection is not None:
            self._connection.notify(call)

    def background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    # ---- end --------------------------------------------------------------------------------

    def ended(self, error: Exception) -> None:
        for conversation in list(self.sessions.values()):
            conversation.agent_ended(error)

    async def close(self) -> None:
        """End every session and the agent; nothing is left running."""
        self.closed = True
        for conversation in list(self.sessions.values()):
            await conversation.close()
        for task in list(self._background):
            task.cancel()
        if self._connection is not None:
            await self._connection.close()
        self._close_tap()
        loop.forget(self)

    async def end_now(self) -> None:
        """The interpreter ends: no goodbyes."""
        self.closed = True
        if self._connection is not None:
            await self._connection.close()
        self._close_tap()

    def _close_tap(self) -> None:
        if self._launch.tap is not None:
            self._launch.tap.close()

    def kill(self) -> None:
        """The last resort, from any thread."""
        kill_now = getattr(self._transport, "kill_now", None)
        if kill_now is not None:
            kill_now()
