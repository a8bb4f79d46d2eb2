"""One agent: started, introduced, its sessions held, started again when it is gone or stuck.

Knows no user's thread and no transcript's content. Lives on the loop thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from msgspec import Raw

from .._version import __version__
from ..core import events as ev
from ..core.elicitation import ElicitationPolicy
from ..core.limits import Limits
from ..core.redaction import Redactor
from ..core.requests import AgentFacts, SessionFacts
from ..core.rules import NO_JUDGE, Judge
from ..errors import (
    AgentDied,
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
from . import loop, temporary_folders
from .audit_file import AuditFile
from .client import Client
from .connection import Connection, Tap
from .conversation import Conversation
from .files.unfinished import remove_unfinished
from .known_agents import quirks, start_hints
from .mcp_servers import Servers, check_taken
from .recordings import client_actions
from .recordings.replay import Replay
from .recovery import Recovery
from .session_store import SessionStore
from .sign_in import SignInFlow
from .threads import on_a_thread
from .transport import Transport

T = TypeVar("T")

EARLY_KEPT = 10_000
"""Updates kept while a session is being opened: they may come before the answer that names the session."""

STRAY_KEPT = 200
"""Lines on stdout that are no messages, kept for people to read."""

STRAY_TOLD = 20
"""Of these, how many an error tells."""

CLOSE_S = 2.0
"""How long the agent may take to say goodbye to a session."""

CAPABILITIES: dict[str, Any] = {
    "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
}
"""What this client tells the agent that it can do, beside files and terminals: only what works."""


@dataclass(frozen=True, slots=True)
class Launch:
    """How to reach an agent: the name it goes by, and how a transport to it is made."""

    name: str
    transport: Callable[[], Transport]
    identity: str = ""
    """What it is for grants: the whole command. Any program can have the name of another."""
    tap: Tap | None = None
    start_timeout: float = 60.0
    fs: bool = True
    """Whether we serve files to it, … """
    terminal: bool = True
    """… and commands; otherwise it does these things itself."""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Of the commands that are run for it."""
    audit: AuditFile | None = None
    question_timeout: float | None = None
    limits: Limits = field(default_factory=Limits)
    """Of each turn, unless it has its own."""
    elicitation: ElicitationPolicy = "ask"
    """Who answers what the agent asks of the user …"""
    elicits: bool = False
    """… and whether it is told that it may ask: only where somebody can answer."""
    raw_notebooks: bool = False
    """Notebooks are read as they are, outputs and all."""
    keep_outputs: bool = False
    """A cell that the agent changes keeps its outputs."""
    replay: Replay | None = None
    """It is no agent, but a recording: that also answers questions, and has run the commands."""
    argv: tuple[str, ...] = ()
    """The command itself."""
    cwd: str = ""
    redactor: Redactor = field(default_factory=Redactor)
    """Takes secrets out of all that is shown or kept."""
    auth: str | None = None
    """The method by which to sign in, where the agent wants that."""
    undo: bool = True
    """The session's folders are marked before and after each turn."""
    servers: Servers = field(default_factory=Servers)
    """The MCP servers that its sessions can have."""
    judge: Judge = NO_JUDGE
    """The rules of the user's file, and of the project's."""

    @property
    def capabilities(self) -> dict[str, Any]:
        files = {"readTextFile": self.fs, "writeTextFile": self.fs}
        extra = {"_meta": dict(announced)} if (announced := self.quirks().announced) else {}
        auth = {"auth": {"terminal": True}} if self.argv else {}
        asking: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}} if self.elicits else {}
        return {**CAPABILITIES, "fs": files, "terminal": self.terminal, **auth, **extra, **asking}

    def quirks(self, facts: AgentFacts | None = None) -> quirks.Quirks:
        """What this agent needs, as far as is known of it."""
        words = (self.name, *self.argv)
        return quirks.of(words, facts.name, facts.version) if facts else quirks.before_start(words)


class AgentHost:
    def __init__(self, launch: Launch) -> None:
        self.name = launch.name
        self.facts = AgentFacts(v1.VERSION)
        self.loop = loop.LoopHandle()
        self.conversations: list[Conversation] = []
        """The open ones."""
        self.sessions: dict[str, Conversation] = {}
        """Those that the agent knows, by its id for them; after a restart, not all at once."""
        self.stray: deque[str] = deque(maxlen=STRAY_KEPT)
        self.closed = False
        self.launch = launch
        self.quirks = launch.quirks()
        self._transport: Transport | None = None
        self._connection: Connection | None = None
        self.starting = asyncio.Lock()
        """Held while the agent is started, and its sessions are opened on it."""
        self.recovery = Recovery(self)
        self.signing = SignInFlow(self, launch.auth)
        self.store = SessionStore(self)
        self._opening: list[Conversation] = []
        self._early: deque[tuple[str, ev.Event]] = deque(maxlen=EARLY_KEPT)
        self._background: set[asyncio.Task[Any]] = set()
        if launch.replay is not None:
            launch.replay.stop = self._stop

    def _stop(self, session_id: str) -> None:
        if session_id in self.sessions:
            self.sessions[session_id].cancel()

    @property
    def pid(self) -> int | None:
        return getattr(self._transport, "pid", None)

    def stderr_text(self) -> str:
        text = self._transport.stderr_text() if self._transport is not None else ""
        return self.launch.redactor.text(text)

    # ---- start and restart ------------------------------------------------------------------

    async def start(self) -> None:
        loop.at_exit(self, self.end_now, self.kill)
        self.background(on_a_thread(_sweep))
        async with self.starting:
            try:
                await self.connect()
                start_hints.last.pop(self.name, None)
            except Error as error:
                start_hints.last[self.name] = str(error)
                self._close_tap()
                loop.forget(self)
                raise
            except BaseException:
                self._close_tap()
                loop.forget(self)
                raise

    async def connect(self) -> None:
        transport = self.launch.transport()
        connection = Connection(transport, Client(self), self.launch.tap, self.launch.redactor)
        try:
            connection.start()
        except OSError as error:
            raise AgentNotFound(f"{self.name} cannot be started: {error}") from None
        self._transport, self._connection = transport, connection
        try:
            call = v1.initialize(
                self.launch.capabilities, name="acp_notebook", title="acp_notebook", version=__version__
            )
            facts = v1.read_initialize(await self.request(call))
            self.quirks = self.launch.quirks(facts)
            self.launch.redactor.learn(it for way in facts.auth_methods for it in way.env.values())
            self.facts = facts.cleaned(self.launch.redactor.text)
            if self.facts.protocol_version != v1.VERSION:
                raise ProtocolError(
                    f"{self.name} speaks version {self.facts.protocol_version} of the protocol, this client "
                    f"version {v1.VERSION}; another version of the agent, or of acp_notebook, may match"
                )
        except v1.Malformed as error:
            await connection.close()
            raise ProtocolError(f"{self.name}'s introduction cannot be read: {error}") from None
        except AgentDied as died:
            await connection.close()
            raise self._died_at_start(died) from None
        except Timeout as late:
            told = self._late_at_start(late)
            await connection.close()
            raise told from None
        except BaseException:
            await connection.close()
            raise

    def _died_at_start(self, died: AgentDied) -> AgentDied:
        """It is perhaps no agent, or wants other arguments: what it printed says that best."""
        hint = "it ended before it introduced itself: is it an ACP agent, and are these its arguments?"
        known = start_hints.hint(f"{died}\n{died.stderr}")
        text = "\n".join([str(died), *self._printed(), f"hint: {known}" if known else hint])
        return AgentDied(
            self.launch.redactor.text(text),
            exit_code=died.exit_code,
            stderr=self.launch.redactor.text(died.stderr),
        )

    def _late_at_start(self, late: Timeout) -> Timeout:
        """It is perhaps no agent, and waits for a person."""
        told = start_hints.explanation(self.stderr_text())
        lines = filter(None, [str(late), *self._printed(), told])
        return Timeout(self.launch.redactor.text("\n".join(lines)))

    def _printed(self) -> list[str]:
        said = [re.sub(r" \(not JSON: .*\)$", "", line) for line in self.stray][-STRAY_TOLD:]
        return ["on stdout it printed:", *(f"  {it}" for it in said)] if said else []

    # ---- sessions ---------------------------------------------------------------------------

    async def new_session(self, conversation: Conversation) -> None:
        facts = await self.open(v1.new_session, v1.read_new_session, conversation)
        conversation.fresh = True
        conversation.opened(facts)
        self.adopt(conversation, facts.id or "")

    async def load(self, conversation: Conversation, id: str) -> None:
        """The history is told by the agent, before its answer or after it."""
        self.store.check("load", self.facts.capabilities.load)
        self._not_open(id)
        conversation.opened(await self.load_history(conversation, id))
        conversation.unproven = True
        self.store.entitle(conversation)

    async def load_history(self, conversation: Conversation, id: str) -> SessionFacts:
        known = conversation in self.conversations
        self.adopt(conversation, id)
        try:
            facts = await self.open(v1.load_session, v1.read_session, conversation, id)
            await conversation.told()
            return facts
        except BaseException:
            self.sessions.pop(id, None)
            if not known:
                self.conversations.remove(conversation)
            raise

    async def resume(self, conversation: Conversation, id: str) -> None:
        self.store.check("resume", self.facts.capabilities.resume)
        self._not_open(id)
        facts = await self.open(v1.resume_session, v1.read_session, conversation, id)
        conversation.opened(facts)
        conversation.unproven = True
        self.adopt(conversation, id)
        self.store.entitle(conversation)

    async def fork(self, conversation: Conversation, id: str) -> None:
        """A session that goes on from another one, which stays as it is."""
        self.store.check("fork", self.facts.capabilities.fork)
        facts = await self.open(v1.fork_session, v1.read_new_session, conversation, id)
        conversation.opened(facts)
        self.adopt(conversation, facts.id or "")

    async def open(
        self,
        call: Callable[..., v1.Call],
        read: Callable[[Raw], SessionFacts],
        conversation: Conversation,
        *id: str,
    ) -> SessionFacts:
        directories = conversation.directories if self.facts.capabilities.additional_directories else ()
        check_taken(conversation.mcp_servers, self.facts.capabilities, self.name)
        asked = call(*id, conversation.cwd, v1.mcp_servers(conversation.mcp_servers), directories)
        covered = conversation.undoing.covers
        self.record_action(
            client_actions.folders(conversation.cwd, conversation.directories, covered=covered)
        )
        if not self._opening:
            self._early.clear()
        self._opening.append(conversation)
        try:
            facts = read(await self.request(asked))
            start_hints.last.pop(self.name, None)
            return facts
        except AuthenticationRequired:
            raise
        except AgentError as error:
            raise self._failed_to_open(error) from None
        except v1.Malformed as error:
            raise ProtocolError(f"{asked[0]}: the agent's answer cannot be used ({error})") from None
        finally:
            self._opening.remove(conversation)

    def _failed_to_open(self, error: AgentError) -> AgentError:
        """Many agents start what they are made of only now, and tell the reason on stderr alone."""
        told = start_hints.explanation(self.launch.redactor.text(self.stderr_text()))
        text = "\n".join(filter(None, [str(error), told]))
        start_hints.last[self.name] = text
        return AgentError(text, code=error.code, data=error.data)

    def _not_open(self, id: str) -> None:
        if any(conversation.id == id for conversation in self.conversations):
            raise UsageError(f"session {id!r} is open already")

    def adopt(self, conversation: Conversation, id: str) -> None:
        """From now on updates for this id go to this session; those that came before it, too."""
        if conversation.closed:  # meanwhile
            return
        if id in self.sessions:
            raise ProtocolError(f"{self.name} opened {id!r} a second time: each session needs its own id")
        conversation.id = id
        self.sessions[id] = conversation
        if conversation not in self.conversations:
            self.conversations.append(conversation)
            made = conversation.services.terminals.made
            conversation.listen(
                lambda event, _: self.record_action(client_actions.of(event, conversation.id, made))
            )
        for event in [event for early, event in self._early if early == id]:
            conversation.receive(event)

    def update(self, session_id: str | None, event: ev.Event) -> None:
        """An update of the agent's, for a session, or (None) for nobody in particular."""
        conversation = self.sessions.get(session_id) if session_id is not None else None
        if conversation is not None:
            conversation.receive(event)
        elif session_id is None:
            for each in self.sessions.values():
                each.receive(event)
        elif self._opening:
            self._early.append((session_id, event))

    def asked_in(self, session_id: str | None) -> Conversation | None:
        """Where a question is shown: in its session; one about a request of ours, where it can be seen."""
        if session_id in self.sessions:
            return self.sessions[session_id]
        if session_id is not None:
            return next(iter(self._opening), None)  # it may be named before the answer that names it
        seen = [it for it in self.conversations if it.has_page]
        return next(iter([*self._opening, *seen, *self.conversations]), None)

    def elicitation_completed(self, id: str) -> None:
        for conversation in self.conversations:
            conversation.elicitations.completed(id)

    async def left(self, conversation: Conversation) -> None:
        """The session was closed; the last one takes the agent along."""
        if conversation not in self.conversations:
            return
        self.conversations.remove(conversation)
        known = self.sessions.pop(conversation.id, None) is not None
        if known and self.facts.capabilities.close and not self.closed:
            with contextlib.suppress(Error, TimeoutError):  # for us it is gone either way
                await self.connection.request(v1.close_session(conversation.id), CLOSE_S)
        if not self.conversations:
            await self.close()

    def record_action(self, action: dict[str, Any] | None) -> None:
        """For a recording: what we do ourselves, and no message tells."""
        if action is not None and self.launch.tap is not None:
            self.launch.tap.record_action(action)

    @property
    def recording(self) -> bool:
        return self.launch.tap is not None and self.launch.replay is None

    def offers(self, method: str) -> bool:
        """Whether this is one of the things that we told the agent it may ask of us."""
        served = {"fs": self.launch.fs, "terminal": self.launch.terminal}
        return served.get(method.split("/")[0], True)

    # ---- talk -------------------------------------------------------------------------------

    @property
    def connection(self) -> Connection:
        if self.closed or self._connection is None:
            raise SessionClosed("the agent was closed; acp.connect(...) starts another")
        return self._connection

    async def request(self, call: v1.Call) -> Raw:
        """Ask, for at most the start timeout: for what an agent answers without thinking."""
        limit = self.launch.start_timeout
        try:
            return await self.connection.request(call, limit)
        except TimeoutError:
            raise Timeout(
                f"{self.name} did not answer {call[0]} within {limit:g} s; start_timeout= allows it more"
            ) from None
        except AgentError as error:
            raise self.signing.explained(error) from None

    def tell(self, event: ev.Event) -> None:
        """An event for every session."""
        for conversation in self.conversations:
            conversation.apply(event)

    def notify(self, call: v1.Call) -> None:
        if self._connection is not None:
            self._connection.notify(call)

    def background(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run it, also if whoever wants its result gives up; `close` cancels it."""
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)

        def done(_: object) -> None:
            self._background.discard(task)
            if not task.cancelled():
                task.exception()  # or asyncio complains where nobody is left to take it

        task.add_done_callback(done)
        return task

    def _cancel_background(self) -> None:
        for task in self._background:
            task.cancel()

    # ---- end --------------------------------------------------------------------------------

    def ended(self, error: Exception) -> None:
        for conversation in tuple(self.conversations):
            conversation.agent_ended(error)

    async def close(self) -> None:
        """End every session and the agent; nothing is left running."""
        self.closed = True
        for conversation in tuple(self.conversations):
            await conversation.close()
        self._cancel_background()
        if self._connection is not None:
            await self._connection.close()
        self._close_tap()
        loop.forget(self)

    async def end_now(self) -> None:
        """The interpreter ends: no goodbyes."""
        self.closed = True
        for conversation in self.conversations:
            conversation.closed = True
            conversation.undoing.kill()
        await asyncio.gather(*(it.services.terminals.close() for it in self.conversations))
        self._cancel_background()
        if self._connection is not None:
            await self._connection.close()
        self.tell(ev.StatusChanged("closed"))
        self._close_tap()

    def _close_tap(self) -> None:
        if self.launch.tap is not None:
            self.launch.tap.close()
        if self.launch.audit is not None:
            self.launch.audit.close()
        self.signing.close()

    def kill(self) -> None:
        """The last resort, from any thread."""
        for conversation in tuple(self.conversations):
            conversation.services.terminals.kill_now()
            conversation.undoing.kill()
        kill_now = getattr(self._transport, "kill_now", None)
        if kill_now is not None:
            kill_now()


def _sweep() -> None:
    """Remove what killed kernels left."""
    temporary_folders.sweep()
    remove_unfinished()
