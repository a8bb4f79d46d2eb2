"""One session on an agent, on the loop thread: its transcript, turns and questions.

Starts, cancels and abandons turns, and continues the session after its agent was restarted. Knows neither
processes (`host`) nor the user's threads (`api.session`).

A turn always ends: with the agent's response, with the agent's death, or, if the agent ignores a cancel, by
being abandoned after `cancel_grace`. Late updates stay with their turn. After that the session is stuck until
the late response arrives or, after another `restart_grace`, the agent is restarted.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from .. import timeouts
from ..core import events as ev
from ..core.limits import Limits
from ..core.mcp import McpServer
from ..core.policy import Policy
from ..core.prompt import fitted, words_of
from ..core.records import ConfigOption, Content, Json, Resource, Text
from ..core.requests import SessionFacts
from ..core.snapshot import Snapshot
from ..core.turn_ids import TurnIds
from ..errors import (
    AgentDied,
    AgentError,
    AuthenticationRequired,
    ConnectionLost,
    Error,
    ProtocolError,
    SessionClosed,
    SessionLost,
    UsageError,
)
from ..log import logger, suppressed
from ..wire import v1
from . import lost_session
from .agent_link import AgentLink
from .audience import Audience
from .backends import Backends
from .client_services import ClientServices
from .elicitation import Elicitations
from .files.attachments import attach_files
from .launch import SessionOptions
from .permissions.permission_manager import PermissionManager
from .permissions.permission_settings import PermissionSettings
from .prompt_sender import PromptSender
from .session_state import SessionState
from .sign_in import SignInFlow
from .turn_gaps import TurnGaps
from .turn_limiter import TurnLimiter
from .turn_meter import TurnMeter
from .turn_queue import TurnQueue, TurnRun
from .undo.change_tracker import ChangeTracker
from .workspace import Workspace

if TYPE_CHECKING:
    from .kernel_tools.functions import Functions
    from .session_tools import SessionTools

_log = logger(__name__)


class Keeper(Protocol):
    """The host of a session, as the session uses it."""

    signing: SignInFlow

    async def ready(self, conversation: Conversation) -> None:
        """Wait until the agent runs and knows the session; restart it if necessary."""

    async def reopen(self, conversation: Conversation, *, new: bool) -> None:
        """Reopen a session that the agent has lost. `new`: replace it by a new session."""

    async def take_up(self, conversation: Conversation, id: str) -> None:
        """Continue a stored session in place of this one."""

    async def reread(self, conversation: Conversation) -> Sequence[ev.Event]:
        """The history that the agent has stored."""

    async def renew(self, conversation: Conversation) -> None:
        """Replace a connection on which messages of this session were lost."""

    async def restart(self, why: str, stuck: Conversation) -> None:
        """Restart the agent if the session is still stuck."""

    async def on_closed(self, conversation: Conversation) -> None:
        """The session was closed."""


class Conversation:
    """Creates the parts of one session and runs its turns."""

    def __init__(
        self,
        keeper: Keeper,
        agent: AgentLink,
        options: SessionOptions,
        backends: Backends,
        cwd: str,
        directories: tuple[str, ...] = (),
        policy: Policy = "ask",
        mcp_servers: Sequence[McpServer] = (),
        meta: Mapping[str, Json] | None = None,
    ) -> None:
        self.agent = agent
        self.meta = meta
        """What the user adds to the request that opens the session (`_meta`)."""
        self.mcp_servers = tuple(mcp_servers)
        audience = Audience(options.question_timeout)
        self.state = state = SessionState(agent, cwd, directories, audience, options.audit)
        self.queue = TurnQueue(self._ready_for_turn, self._begin)
        terminals, is_local = backends.terminals(state), agent.launch.reach.is_local
        self.workspace = workspace = Workspace(state, terminals, options, mcp_servers, is_local=is_local)
        roots, answers = workspace.roots, backends.answers
        self.permissions = PermissionManager(
            state, policy, roots.folders, workspace.describer, options.judge, answers
        )
        self.permission_settings = PermissionSettings(self.permissions, state)
        self.elicitations = Elicitations(state, options.elicitation, answers)
        self.undoing = ChangeTracker(
            state,
            roots,
            workspace.notebooks,
            workspace.texts,
            backends.checkpoints(state, roots),
            [it.path for it in (agent.tap, options.audit) if it is not None and it.path is not None],
            lambda: bool(self.queue.waiting),
        )
        self.services = ClientServices(state, workspace, self.permissions, self.undoing)
        self._tools = self._kernel_tools(options)
        self._is_recorded = options.tools.is_recorded
        self._uncalled: Functions | None = None
        """The functions of a session whose agent is a recording."""
        self._limiter = TurnLimiter(state, self.cancel)
        self._meter = TurnMeter(state)
        self._prompting = PromptSender(state, agent, self._limiter, self)
        self._keeper = keeper
        self.gaps = TurnGaps(state, self)
        self._limits = options.limits
        self.last_run: TurnRun | None = None
        """The turn that ended last."""
        self.unproven = False
        """The session was loaded or resumed and has answered nothing since: some agents only pretend to."""
        self.context: Resource | None = None
        """Content for the next prompt: the conversation of the lost session that this one replaces."""
        self._turn_ids = TurnIds()
        self._unstuck = asyncio.Event()
        self._unstuck.set()
        self._unheard: str | None = None
        """The session whose agent may not have got our cancel of a turn that is over."""
        self._reloading = False
        self.received = 0
        """How many events have come from the agent."""
        self._closing: asyncio.Task[None] | None = None

    def _kernel_tools(self, options: SessionOptions) -> SessionTools | None:
        if not options.tools.on:
            return None
        from .session_tools import SessionTools  # import it only if needed

        parts = self.state, self.workspace, self.permissions, self.services
        return SessionTools(options.tools, *parts, self.cancel)

    async def servers(self) -> tuple[McpServer, ...]:
        """The MCP servers to pass to the agent when the session opens."""
        return self.mcp_servers if self._tools is None else (*self.mcp_servers, *await self._tools.servers())

    async def switch_tools(self, on: bool) -> None:
        """Let the agent use the kernel's tools, or not any more; raises UsageError."""
        if self.state.closed:
            raise SessionClosed("the session was closed; acp.connect(...) opens another")
        if self._tools is None:
            raise self._no_tools()
        await self._tools.switch(on)

    async def functions(self) -> Functions:
        """The user's functions that the agent may call; raises UsageError."""
        if self.state.closed:
            raise SessionClosed("the session was closed; acp.connect(...) opens another")
        if self._tools is not None:
            return self._tools.functions
        if not self._is_recorded:
            raise self._no_tools()
        from .kernel_tools.functions import EVERYWHERE, Functions  # import it only if needed

        self._uncalled = self._uncalled or Functions(EVERYWHERE)
        return self._uncalled

    def close_tools(self) -> None:
        if self._tools is not None:
            self._tools.close()

    def continues(self, earlier: Snapshot | None = None) -> None:
        """The session is of an earlier kernel, and had these turns (by default, those in its history)."""
        own = self.state.read(lambda transcript: transcript.snapshot())
        self._turn_ids.continues((earlier or own).items)

    def on_adopted(self) -> None:
        """The agent has opened the session for the first time."""
        if self.agent.tap is not None:
            self.agent.tap.follow(self.state, lambda: self.state.id, self.services.terminals.has_created)

    def receive(self, *events: ev.Event) -> None:
        """Handle an event from the agent, or several of the same type."""
        event = events[0]
        self.received += len(events)
        if self._reloading and event.is_history:
            return
        state = self.state
        if state.running is not None and not state.running.begun:
            state.running.begun = event.is_work
        if type(event) is ev.ToolChanged and self.agent.quirks.terminals_in_meta:
            calls = (it for it in events if isinstance(it, ev.ToolChanged))
            events = self.workspace.agent_terminals.expand(*calls)
        state.apply(*events)

    # ---- turns ---------------------------------------------------------------------------

    def new_run(self, content: tuple[Content, ...], limits: Limits | None = None) -> TurnRun:
        """Create a turn that can be started. Safe from any thread."""
        run = TurnRun(content, self._turn_ids.next())
        run.limits = (limits or Limits()).within(self._limits)
        return run

    def find_run(self, id: str) -> TurnRun | None:
        """The waiting or running turn with this id, or None."""
        runs = (*filter(None, [self.state.running]), *self.queue.waiting)
        return next((run for run in runs if run.id == id), None)

    def start_turn(self, run: TurnRun) -> None:
        """Queue a turn. Turns run one after the other, in order."""
        self.queue.add(run)

    def send_now(self, run: TurnRun, person: str | None = None) -> None:
        """Move a waiting prompt to the front and cancel the running turn for it.

        The prompt is sent when that turn has ended or is abandoned. The other prompts keep their order.
        """
        self.queue.move(run, 0)
        if self.state.running is not None:
            self.cancel(self.state.running, person)

    async def ready(self) -> None:
        """Wait until the session can take a request; restart the agent if necessary."""
        await self._unstuck.wait()
        if not self.state.closed:
            await self._keeper.ready(self)
        if self.state.closed:
            raise SessionClosed("the session was closed; acp.connect(...) opens another")

    async def _ready_for_turn(self) -> None:
        """Make the checkpoints and wait until the session is ready, while no turn of the session runs."""
        await self._unstuck.wait()
        if not self.state.closed:
            await self.undoing.turn_starts()
        await self.ready()

    def _begin(self, run: TurnRun) -> None:
        self.state.running, self._unheard = run, None
        self._take_context(run)
        self.undoing.turn_began()
        self.permissions.turn_started()
        self.workspace.cards.on_turn_started()
        self._meter.begin()
        self.state.apply(ev.TurnStarted(run.content, run.id, run.asked, run.person))
        run.key = self.state.read(lambda transcript: transcript.current_turn)
        self.state.apply(self._status("working"))
        self.gaps.turn_began()
        self._prompting.send(run)

    async def attached(
        self, content: tuple[Content, ...], files: Mapping[int, Path], *, seen: bool = True
    ) -> tuple[tuple[Content, ...], tuple[str, ...]]:
        """The content with these files attached, in a form that the agent supports, and notes on changes."""
        can = self.agent.facts.capabilities
        made = await attach_files(
            content,
            files,
            self.workspace.notebooks,
            self.workspace.texts,
            embeds=can.embedded_context,
            seen=seen,
            links=self.agent.launch.reach.is_local,
        )
        return fitted(made, can)

    @property
    def files_folder(self) -> str:
        """The folder in which the user names files of this machine, to attach them."""
        return self.state.cwd if self.agent.launch.reach.is_local else os.getcwd()

    def _take_context(self, run: TurnRun) -> None:
        """Add the context before the prompt, but after a command, which must be the first word."""
        context, self.context = self.context, None
        if context is not None:
            blocks, _ = fitted((context,), self.agent.facts.capabilities)
            command = words_of(run.content).startswith("/")
            run.content = (*run.content, *blocks) if command else (*blocks, *run.content)

    def turn_over(self, run: TurnRun, end: ev.TurnEnded, failure: Exception | None) -> None:
        """End a turn with the agent's response, or because none will come."""
        self._settle_questions("the turn is over", run)
        if failure is None:
            self.unproven = False
        died = isinstance(failure, AgentDied) and not self.agent.is_connected  # else only the turn is over
        if died and run.cancelling:
            self._unheard = self.state.id
        status = ev.StatusChanged(self._gone, end.error) if died else self._status("idle")
        if isinstance(failure, SessionLost):
            ways = lost_session.ways(self.agent.facts.capabilities, unproven=self.unproven)
            status = ev.StatusChanged("lost", end.error, ways)
        self._end(run, end, status, failure)

    def explain(self, error: AgentError) -> AgentError:
        """The error, with ways to continue if the agent does not know the session."""
        if not lost_session.is_lost(error, self.state.id):
            return error
        return lost_session.explain(error, self.agent.facts.capabilities, unproven=self.unproven)

    async def wait_signed_in(self, error: AuthenticationRequired, tries: int) -> None:
        """Wait until somebody has signed in. Raises an error if nobody can."""
        await self._keeper.signing.wait_signed_in(error, self.state, tries)

    async def reopen(self, *, new: bool = False) -> None:
        """Reopen the session after the agent lost it. `new`: replace it by a new session."""
        if self.state.closed:
            raise SessionClosed("the session was closed; acp.connect(...) opens another")
        if self.state.running is not None:
            raise UsageError("a turn is running: end it with turn.cancel(), then reopen the session")
        await self._unstuck.wait()
        await self._keeper.reopen(self, new=new)

    async def take_up(self, id: str) -> None:
        """Continue a session that the agent has stored in place of this one, which must have no turns."""
        self.check_unused()
        await self._unstuck.wait()
        await self._keeper.take_up(self, id)

    def check_unused(self) -> None:
        """Raise an error if the session is closed or has turns."""
        if self.state.closed:
            raise SessionClosed("the session was closed; acp.connect(...) opens another")
        if self.last_run is not None or self.state.running is not None or self.queue.waiting:
            raise UsageError("this session has turns of its own: another conversation cannot take its place")

    def _end(
        self,
        run: TurnRun,
        end: ev.TurnEnded,
        status: ev.StatusChanged | None,
        error: Exception | None = None,
    ) -> None:
        for each in self.workspace.agent_terminals.on_turn_ended():
            self.state.apply(each)
        self.state.apply(self._meter.measured(end))
        if self.last_run is not None:  # the transcript has what else was in its prompt, such as images
            self.last_run.content = (Text(words_of(self.last_run.content)),)
        self.state.running, self.last_run = None, run
        if run.pause is not None:
            run.pause.cancel()
        if status is not None:
            self.state.apply(status)
        finishing = self.agent.background(self._finish(run))
        finishing.add_done_callback(lambda _: run.finish(error))

    async def _finish(self, run: TurnRun) -> None:
        """Do the remaining work before the turn counts as over."""
        if run.cancelling:  # commands that the agent has not ended by now would keep running
            await self.services.terminals.kill_turn(run)
        await self.gaps.repair(run)
        await self.undoing.turn_ends(run)

    # ---- cancel, abandonment ----------------------------------------------------------------

    def cancel(self, run: TurnRun | None = None, person: str | None = None) -> None:
        """Cancel this turn; by default the running one, or the next. `person`: who of several users did."""
        run = run or self.state.running or next(iter(self.queue.waiting), None)
        if run is None or run.cancelling or run.done.done():
            return
        run.cancelling = True
        if person is not None:
            self.state.auditor.note("act", "stop", run.id, by="user", outcome="done", person=person)
        if run is not self.state.running:
            self.queue.remove(run)
            return
        if run.pause is not None:  # the agent does not have the prompt
            died = self.agent.connection.error
            status = self._status("idle") if died is None else ev.StatusChanged(self._gone, str(died))
            self._end(run, ev.TurnEnded("done", "cancelled"), status)
            return
        self.agent.notify(v1.cancel(self.state.id))
        self.state.apply(ev.TurnCancelling(person))
        self._settle_questions("the turn was cancelled", run)
        asyncio.get_running_loop().call_later(timeouts.get().cancel_grace, self._abandon, run)

    def _settle_questions(self, reason: str, run: TurnRun | None = None) -> None:
        """Cancel all open questions; with a turn, only the elicitations of that turn."""
        self.permissions.settle_all(reason)
        self.elicitations.settle(reason, run)

    def give_up(self, run: TurnRun, error: Exception) -> None:
        """End a turn from which nothing comes any more, and tell the agent."""
        self.agent.notify(v1.cancel(self.state.id))
        self._unheard = self.state.id
        self._prompting.fail(run, error)

    async def reread(self) -> Sequence[ev.Event]:
        """The history that the agent has stored."""
        return await self._keeper.reread(self)

    async def renew(self) -> None:
        """Replace the connection, because messages were lost on it."""
        await self._keeper.renew(self)

    @property
    def _gone(self) -> str:
        return self.agent.launch.reach.gone

    def _status(self, usual: str, detail: str | None = None) -> ev.StatusChanged:
        """The `usual` status while there is a connection, unless the network is interrupted at the moment."""
        why = self.agent.interruption
        if why is None:
            return ev.StatusChanged(usual, detail)
        return ev.StatusChanged(self.agent.launch.reach.returning, why)

    @property
    def stuck(self) -> bool:
        """Whether a turn was abandoned and the agent may still be working on it."""
        return not self._unstuck.is_set()

    def _abandon(self, run: TurnRun) -> None:
        if self.state.running is not run:
            return
        self._unstuck.clear()
        self._unheard = self.state.id
        self._end(run, ev.TurnEnded("abandoned", "cancelled"), self._stuck_status())
        self.agent.background(self._restart_unless_answered())

    def _stuck_status(self) -> ev.StatusChanged:
        then = "it will be restarted" if self.agent.launch.reach.is_ours else "the connection will be renewed"
        return self._status("stuck", f"the agent ignores the cancel; {then}")

    def show_reached(self) -> None:
        """An interruption of the network is over."""
        usual = "idle" if self.state.running is None else "working"
        self.state.apply(self._stuck_status() if self.stuck else self._status(usual))

    def answered_late(self, error: Exception | None) -> None:
        """The response to the abandoned turn arrived."""
        if not isinstance(error, AgentDied):
            self._unheard = None
        if self.stuck and not isinstance(error, AgentDied):
            self._unstuck.set()
            self.state.apply(self._status("idle"))

    async def _restart_unless_answered(self) -> None:
        why = "it did not end a cancelled turn"
        try:
            if self.agent.interruption is not None:  # the cancel arrives when the network is back
                why = "the end of a cancelled turn did not arrive"
                with suppressed(_log, TimeoutError):
                    async with asyncio.timeout(timeouts.get().remote_reconnect):
                        await self.agent.interruption_over()
            async with asyncio.timeout(timeouts.get().restart_grace):
                await self._unstuck.wait()
        except TimeoutError:
            with suppressed(_log, Error):  # the session's status shows it; the next prompt tries again
                await self._keeper.restart(why, stuck=self)
        finally:
            self._unstuck.set()

    # ---- settings -----------------------------------------------------------------------------

    async def set_mode(self, mode: str) -> None:
        await self._change(lambda: self.ask_mode(mode))

    async def _change(self, ask: Callable[[], Awaitable[None]]) -> None:
        await self.ready()
        try:
            await self._keeper.signing.through(ask, self.state)
        except ConnectionLost:
            if self.agent.is_connected and self.state.running is None:  # what is shown may be wrong
                self.agent.background(self.renew())
            raise
        except AgentError as error:
            raise self.explain(error) from None

    async def ask_mode(self, mode: str) -> None:
        await self.agent.change(self.state.id, v1.set_mode(self.state.id, mode))
        self.state.apply(ev.ModeChanged(mode))

    async def set_config(self, option: ConfigOption, value: str | bool) -> None:
        await self._change(lambda: self.ask_config(option, value))

    async def ask_config(self, option: ConfigOption, value: str | bool) -> None:
        if option.set_by == "model":
            await self.agent.change(self.state.id, v1.set_model(self.state.id, str(value)))
            self.state.apply(ev.ConfigReplaced((replace(option, value=value),)))
            return
        result = await self.agent.change(self.state.id, v1.set_config(self.state.id, option.id, value))
        try:
            self.state.apply(v1.read_config(result))
        except v1.Malformed as error:
            raise ProtocolError(
                f"session/set_config_option: the agent's answer cannot be used ({error})"
            ) from None

    # ---- opening and closing ------------------------------------------------------------------

    def on_opened(self, facts: SessionFacts) -> None:
        """The agent opened the session: show the agent and the facts of its response."""
        self.state.introduce()
        for event in facts.events:
            self.state.apply(event)
        self.state.apply(self._status("idle"))
        self.undoing.warm()

    async def wait_for_history(self) -> None:
        """Wait until the agent has sent the whole history: nothing arrives for `history_quiet`."""
        quiet = timeouts.get().history_quiet
        for _ in range(int(timeouts.get().history_at_most / quiet)):
            received = self.received
            await asyncio.sleep(quiet)
            if self.received == received:
                break
        self.state.end_history()

    @contextlib.contextmanager
    def reloading(self) -> Iterator[None]:
        """Ignore history from the agent within this context.

        The transcript already has it, along with questions, notices and late updates that a load does not
        send again.
        """
        self._reloading = True
        try:
            yield
        finally:
            self._reloading = False

    def on_rejoined(self) -> None:
        """The agent was restarted and has reopened the session."""
        if not self.state.closed:
            if self._unheard == self.state.id and not self.agent.launch.reach.is_ours:
                self.agent.notify(v1.cancel(self.state.id))
            self._unheard = None
            self.on_opened(SessionFacts(self.state.id))
            if self.state.running is not None:
                signing = self._keeper.signing.status(self.state)
                self.state.apply(ev.StatusChanged(signing) if signing else self._status("working"))
        self._unstuck.set()

    @property
    def pausing(self) -> bool:
        """Whether the running turn waits to be sent again and the agent has done nothing for it yet."""
        return (
            self.state.running is not None
            and self.state.running.pause is not None
            and not self.state.running.begun
        )

    @property
    def _signing_in(self) -> bool:
        """Whether the session waits for a sign-in; its prompt is sent again after it."""
        return self._keeper.signing.status(self.state) is not None

    def interrupt(self, error: Exception) -> None:
        """Fail the running turn with this error, because the agent is about to be restarted."""
        if self.state.running is not None and not self.pausing and not self._signing_in:
            self._settle_questions("the agent is being restarted, or connected again")
            self._end(self.state.running, ev.TurnEnded("failed", error=str(error)), None, error)

    def on_agent_ended(self, error: Exception) -> None:
        """The connection ended, and turns that the agent had have failed.

        A turn that only waits to be sent again keeps waiting, and restarts the agent when it is sent.
        """
        self._settle_questions("the agent ended, or the connection to it")
        waits = (run := self.state.running) is not None and run.pause is not None
        if waits and run is not None and run.begun and not self._signing_in:
            self._prompting.fail(run, error)  # its request is not open, so it has not failed yet
        self.agent.background(self.services.terminals.release_all())  # the next agent does not know them
        if not self.state.closed and not self.pausing and not self._signing_in:
            self.state.apply(ev.StatusChanged(self._gone, str(error)))

    async def close(self) -> None:
        """Close the session. Concurrent calls share the work, and cancelling a call does not stop it."""
        self.state.closed = True
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        if (run := self.state.running) is not None:
            self.agent.notify(v1.cancel(self.state.id))
            self._settle_questions("the session was closed")
            self._end(run, ev.TurnEnded("done", "cancelled"), None)
        self._settle_questions("the session was closed")
        self.queue.close(SessionClosed("the session was closed"))
        self._keeper.signing.on_closed(self.state)
        self._unstuck.set()
        self.close_tools()
        await self.services.terminals.close()
        if run is not None:
            await asyncio.wait({asyncio.wrap_future(run.done)})
        await self.undoing.close()
        self.state.apply(ev.StatusChanged("closed"))
        await self._keeper.on_closed(self)

    def _no_tools(self) -> UsageError:
        if not self.agent.launch.reach.is_ours:
            return UsageError("this agent runs on another machine: it cannot use the kernel or its functions")
        return UsageError("this session has no tools of the kernel: acp.connect(..., tools=True) gives some")
