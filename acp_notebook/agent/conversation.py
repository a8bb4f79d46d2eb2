"""One session on an agent, as the loop thread sees it: its transcript, its turns, its questions.

Knows how a turn goes: started, answered, cancelled, abandoned; and how a session comes back after its
agent was started again. Knows no process (`host`) and no user's thread (`session`, above).

A turn always ends. It ends by the agent's answer, by the agent's death, or, if it was cancelled and
the agent does not care, by being abandoned after CANCEL_GRACE_S. Updates that come late stay with it.
Then the session is stuck until the late answer arrives or, after RESTART_GRACE_S more, the agent is
started again.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from ..core import events as ev
from ..core.event_redaction import EventRedactor
from ..core.ipynb.partial_reads import Lines
from ..core.limits import Limits
from ..core.patches import Patch
from ..core.policy import Policy
from ..core.prompt import fitted, words_of
from ..core.records import ConfigOption, Content, Resource
from ..core.requests import SessionFacts
from ..core.transcript import Transcript
from ..errors import AgentDied, AgentError, Error, ProtocolError, SessionClosed, SessionLost, UsageError
from ..wire import v1
from . import lost_session
from .auditor import Auditor
from .client_services import ClientServices
from .elicitation import Elicitations
from .files.attachments import attached
from .files.disk_watch import DiskWatch
from .files.notebook_cards import NotebookCards
from .files.notebook_files import NotebookFiles
from .files.roots import Roots
from .permissions.describer import Describer
from .permissions.permission_manager import PermissionManager
from .prompt_sender import PromptSender
from .recordings.replayed_checkpoints import ReplayedCheckpoints
from .recordings.replayed_terminals import AnyTerminals, ReplayedTerminals
from .terminals.agent_terminals import AgentTerminals
from .terminals.session_terminals import Terminals
from .turn_limiter import TurnLimiter
from .turn_queue import TurnQueue, TurnRun
from .undo.change_tracker import ChangeTracker
from .undo.checkpoints import Checkpoints

if TYPE_CHECKING:
    from .host import AgentHost

T = TypeVar("T")

CANCEL_GRACE_S = 5.0
"""A cancelled turn is abandoned after this: agents that obey need far less, and people wait no longer."""

RESTART_GRACE_S = 5.0
"""What an agent gets after that to answer late, before it is started again."""

QUIET_S = 0.25
"""History counts as told when nothing has come for this long: some agents tell it after their answer."""

QUIET_AT_MOST_S = 5.0
"""… but nobody waits longer than this for it."""

_mutex = threading.RLock()
"""Of all transcripts: they change on one thread anyway. A fork waits for it, so that the copies are whole."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_mutex.acquire, after_in_parent=_mutex.release, after_in_child=_mutex.release)

Listener = Callable[[ev.Event, Sequence[Patch]], None]

HISTORY_EVENTS = (
    ev.MessageChunk,
    ev.ToolChanged,
    ev.PlanReplaced,
    ev.PlanRemoved,
    ev.CompactionChanged,
    ev.CompactionChunk,
    ev.NoticeGiven,
    ev.UnknownReceived,
)
"""What belongs to the conversation itself, and would be told twice when a session is loaded again."""


WORK_EVENTS = tuple(it for it in HISTORY_EVENTS if it not in (ev.NoticeGiven, ev.UnknownReceived))
"""What an agent tells when it has begun with a prompt."""

CALL_EVENTS = (ev.ToolChanged, ev.TurnStarted, ev.TurnEnded)
"""What tool calls are made of, and what ends them."""


class Conversation:
    def __init__(
        self,
        host: AgentHost,
        *,
        cwd: str,
        policy: Policy = "ask",
        mcp_servers: Any = (),
        directories: Iterable[str] = (),
    ) -> None:
        self.host = host
        self.id = ""
        self.cwd = cwd
        self.mcp_servers = host.launch.servers.chosen(mcp_servers)
        self.directories = tuple(directories)
        self.listeners: tuple[Listener, ...] = ()
        self.closed = False
        self.has_page = False
        """A page has shown itself: there, questions can be answered by a click."""
        self.shows_sign_in = False
        """A sign-in that the agent wants is shown to somebody, who can choose a way."""
        self.running: TurnRun | None = None
        self.queue = TurnQueue(self._ready_for_turn, self._begin)
        self._turn_numbers = itertools.count(1)
        self._transcript = Transcript()
        self._calls = Transcript()
        """This turn's tool calls as the agent sent them, secrets included; shown to nobody."""
        self._event_redactor = EventRedactor(host.launch.redactor)
        self._unstuck = asyncio.Event()
        self._unstuck.set()
        self._retelling = False
        self._received = 0
        self._closing: asyncio.Task[None] | None = None
        roots = Roots([cwd, *self.directories])
        self.auditor = Auditor(self._where, host.launch.audit, host.launch.redactor)
        self.elicitations = Elicitations(self, host.launch.elicitation)
        notebooks = NotebookFiles(
            roots,
            self.apply,
            lambda: (None, None) if self.running is None else (self.running.id, self.running.cell),
            raw=host.launch.raw_notebooks,
            keep_outputs=host.launch.keep_outputs,
        )
        replay = host.launch.replay
        terminals: AnyTerminals = (
            Terminals(host.launch.env, self.apply)
            if replay is None
            else ReplayedTerminals(replay.responders, lambda: self.id, self.apply)
        )
        describer = Describer(
            roots,
            notebooks,
            cwd,
            terminals.environment,
            lambda: host.quirks,
            lambda: self.id,
            tuple(server.name for server in self.mcp_servers),
        )
        self.permissions = PermissionManager(
            self, policy, roots.folders, self.auditor, describer, host.launch.judge
        )
        self.permissions.questions.timeout = host.launch.question_timeout
        self.cards = NotebookCards(cwd)
        notebooks.shown = self._notebook_read
        self._agent_terminals = AgentTerminals(terminals.made)
        self.services = ClientServices(
            self, roots, terminals, self.permissions, self.auditor, notebooks, describer
        )
        self.undoing = ChangeTracker(self, roots, self._checkpoints(roots))
        DiskWatch(self)
        self.fresh = False
        """It began on this agent, from nothing: what it has cost, it has cost here."""
        self.unproven = False
        """It was loaded or resumed, and has answered nothing since: some agents only pretend that."""
        self.context: Resource | None = None
        """What the next prompt takes along: the conversation, for a session that took a lost one's place."""
        self.limiting = TurnLimiter(self)
        self._prompting = PromptSender(self)

    def _checkpoints(self, roots: Roots) -> Checkpoints | ReplayedCheckpoints:
        """In a replay nobody changes files but we: what others changed then, the recording tells."""
        if (replay := self.host.launch.replay) is not None:
            folders = {given: os.path.realpath(given) for given in (self.cwd, *self.directories)}
            tells = partial(replay.changed, lambda: self.id, folders)
            return ReplayedCheckpoints(roots, tells, scratch=replay.scratch)
        return Checkpoints(roots.folders if self.host.launch.undo else ())

    def _where(self) -> tuple[str, str | None]:
        return self.id, self.running.id if self.running is not None else None

    # ---- the transcript: changed here only, read from any thread ------------------------------

    def apply(self, event: ev.Event) -> None:
        if isinstance(event, CALL_EVENTS):
            self._note_call(event)
        if isinstance(event, ev.ToolChanged):
            event = self.cards.seen(event)
        for seen in self._event_redactor.see(event):
            with _mutex:
                patches = self._transcript.apply(seen)
            for listener in self.listeners:
                listener(seen, patches)

    def _notebook_read(self, path: str, lines: Lines) -> None:
        """A call that names a line of it can be told by its cell now."""
        calls = self.read_calls(lambda transcript: transcript.open_tools())
        for event in self.cards.read(path, lines, calls):
            self.apply(event)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """From now on the listener gets every event with its patches; the function returned ends that."""
        self.listeners += (listener,)

        def stop() -> None:
            self.listeners = tuple(it for it in self.listeners if it is not listener)

        return stop

    def receive(self, event: ev.Event) -> None:
        """An event of the agent's."""
        self._received += 1
        if self._retelling and isinstance(event, HISTORY_EVENTS):
            return
        if self.running is not None and not self.running.begun:
            self.running.begun = isinstance(event, WORK_EVENTS)
        if isinstance(event, ev.ToolChanged) and self.host.quirks.terminals_in_meta:
            for each in self._agent_terminals.told(event):
                self.apply(each)
        else:
            self.apply(event)

    def read(self, reader: Callable[[Transcript], T]) -> T:
        """What the reader takes from the transcript, at one moment; from any thread."""
        with _mutex:
            return reader(self._transcript)

    def _note_call(self, event: ev.Event) -> None:
        with _mutex:
            if isinstance(event, ev.TurnStarted):
                self._calls = Transcript()
            self._calls.apply(event)

    def read_calls(self, reader: Callable[[Transcript], T]) -> T:
        """As `read`, of this turn's tool calls as the agent sent them: judged is what would be done.

        What is shown of them differs: secrets are taken out, and a notebook's JSON becomes cells.
        """
        with _mutex:
            return reader(self._calls)

    # ---- turns ---------------------------------------------------------------------------

    def new_run(self, content: tuple[Content, ...], limits: Limits | None = None) -> TurnRun:
        """A turn that can be started; from any thread."""
        run = TurnRun(content, f"t{next(self._turn_numbers)}")
        run.limits = (limits or Limits()).within(self.host.launch.limits)
        return run

    def find_run(self, id: str) -> TurnRun | None:
        """The turn of this id, if it is still on its way."""
        runs = (*filter(None, [self.running]), *self.queue.waiting)
        return next((run for run in runs if run.id == id), None)

    def start_turn(self, run: TurnRun) -> None:
        """Turns go one after the other, in the order in which they were started."""
        self.queue.add(run)

    def send_now(self, run: TurnRun) -> None:
        """A prompt that waits is the next one, and the turn that runs is cancelled for it.

        It is sent when that turn has ended, by the agent or by being abandoned; the others keep their order.
        """
        self.queue.move(run, 0)
        if self.running is not None:
            self.cancel(self.running)

    async def ready(self) -> None:
        """The session can take a request: not stuck, its agent alive; started again if need be."""
        await self._unstuck.wait()
        if not self.closed:
            await self.host.signing.through(lambda: self.host.recovery.revive(self), self)
        if self.closed:
            raise SessionClosed("the session was closed; acp.connect(...) opens another")

    async def _ready_for_turn(self) -> None:
        """Between the checkpoint and the prompt nothing of the agent's happens, nor of a turn before."""
        await self._unstuck.wait()
        if not self.closed:
            await self.undoing.turn_starts()
        await self.ready()

    def _begin(self, run: TurnRun) -> None:
        self.running = run
        self._take_context(run)
        self.undoing.turn_began()
        self.permissions.turn_started()
        self.cards.turn_started()
        self.apply(ev.TurnStarted(run.content, run.id))
        run.key = self._transcript.current_turn
        self.apply(ev.StatusChanged("working"))
        self._prompting.send(run)

    async def attached(
        self, content: tuple[Content, ...], files: Mapping[int, Path], *, seen: bool = True
    ) -> tuple[tuple[Content, ...], tuple[str, ...]]:
        """The content as this agent takes it, with these files in it, and notes on what was changed."""
        can = self.host.facts.capabilities
        made = await attached(content, files, self.services.notebooks, embeds=can.embedded_context, seen=seen)
        return fitted(made, can)

    def _take_context(self, run: TurnRun) -> None:
        """Before what was written, but behind a command: that is the first word of its prompt."""
        context, self.context = self.context, None
        if context is not None:
            blocks, _ = fitted((context,), self.host.facts.capabilities)
            command = words_of(run.content).startswith("/")
            run.content = (*run.content, *blocks) if command else (*blocks, *run.content)

    def turn_over(self, run: TurnRun, end: ev.TurnEnded, failure: Exception | None) -> None:
        """By the agent's answer, or because there will be none."""
        self._settle_questions("the turn is over", run)
        if failure is None:
            self.unproven = False
        died = isinstance(failure, AgentDied)
        status = ev.StatusChanged("dead", end.error) if died else ev.StatusChanged("idle")
        if isinstance(failure, SessionLost):
            ways = lost_session.ways(self.host.facts.capabilities, unproven=self.unproven)
            status = ev.StatusChanged("lost", end.error, ways)
        self._end(run, end, status, failure)

    def explained(self, error: AgentError) -> AgentError:
        """The error; with a way on, where it says that the agent does not know the session."""
        if not lost_session.is_lost(error, self.id):
            return error
        return lost_session.explained(error, self.host.facts.capabilities, unproven=self.unproven)

    async def reopen(self, *, new: bool = False) -> None:
        """Open the session again after the agent lost it; `new`: another one, in its place."""
        if self.closed:
            raise SessionClosed("the session was closed; acp.connect(...) opens another")
        if self.running is not None:
            raise UsageError("a turn is running: turn.cancel() ends it, then the session can be opened again")
        await self._unstuck.wait()
        await self.host.signing.through(lambda: self.host.recovery.reopen(self, new=new), self)

    def _end(
        self,
        run: TurnRun,
        end: ev.TurnEnded,
        status: ev.StatusChanged | None,
        error: Exception | None = None,
    ) -> None:
        for each in self._agent_terminals.turn_ended():
            self.apply(each)
        self.apply(end)
        self.running = None
        if run.pause is not None:
            run.pause.cancel()
        if status is not None:
            self.apply(status)
        finishing = self.host.background(self._finish(run))
        finishing.add_done_callback(lambda _: run.finish(error))

    async def _finish(self, run: TurnRun) -> None:
        """What is left to do before the turn counts as over."""
        if run.cancelling:  # what the agent has not ended by now, it does not mean to
            await self.services.terminals.kill_turn(run)
        await self.undoing.turn_ends(run)

    # ---- cancel, abandonment ----------------------------------------------------------------

    def cancel(self, run: TurnRun | None = None) -> None:
        """Cancel this turn; without one, the turn that runs or is about to."""
        run = run or self.running or next(iter(self.queue.waiting), None)
        if run is None or run.cancelling or run.done.done():
            return
        run.cancelling = True
        if run is not self.running:
            self.queue.remove(run)
            return
        if run.pause is not None:  # the agent has no turn that it could end
            died = self.host.connection.error
            status = ev.StatusChanged("idle") if died is None else ev.StatusChanged("dead", str(died))
            self._end(run, ev.TurnEnded("done", "cancelled"), status)
            return
        self.host.notify(v1.cancel(self.id))
        self.apply(ev.TurnCancelling())
        self._settle_questions("the turn was cancelled", run)
        asyncio.get_running_loop().call_later(CANCEL_GRACE_S, self._abandon, run)

    def _settle_questions(self, reason: str, run: TurnRun | None = None) -> None:
        """Nobody waits for an answer any more; with a turn, to what was asked in it."""
        self.permissions.settle_all(reason)
        self.elicitations.settle(reason, run)

    @property
    def stuck(self) -> bool:
        """A turn was abandoned, and the agent may still be at it."""
        return not self._unstuck.is_set()

    def _abandon(self, run: TurnRun) -> None:
        if self.running is not run:
            return
        self._unstuck.clear()
        stuck = ev.StatusChanged("stuck", "the agent ignores the cancel; it will be started again")
        self._end(run, ev.TurnEnded("abandoned", "cancelled"), stuck)
        self.host.background(self._restart_unless_answered())

    def answered_late(self, error: Exception | None) -> None:
        """The abandoned turn was answered after all."""
        if self.stuck and not isinstance(error, AgentDied):
            self._unstuck.set()
            self.apply(ev.StatusChanged("idle"))

    async def _restart_unless_answered(self) -> None:
        try:
            async with asyncio.timeout(RESTART_GRACE_S):
                await self._unstuck.wait()
        except TimeoutError:
            with contextlib.suppress(Error):  # told in the session's status; the next prompt tries again
                await self.host.recovery.restart("it did not end a cancelled turn", stuck=self)
        finally:
            self._unstuck.set()

    # ---- settings -----------------------------------------------------------------------------

    async def set_mode(self, mode: str) -> None:
        await self.ready()
        try:
            await self.host.signing.through(lambda: self.ask_mode(mode), self)
        except AgentError as error:
            raise self.explained(error) from None

    async def ask_mode(self, mode: str) -> None:
        await self.host.request(v1.set_mode(self.id, mode))
        self.apply(ev.ModeChanged(mode))

    async def set_config(self, option: ConfigOption, value: str | bool) -> None:
        await self.ready()
        try:
            await self.host.signing.through(lambda: self.ask_config(option, value), self)
        except AgentError as error:
            raise self.explained(error) from None

    async def ask_config(self, option: ConfigOption, value: str | bool) -> None:
        if option.set_by == "model":
            await self.host.request(v1.set_model(self.id, str(value)))
            self.apply(ev.ConfigReplaced((replace(option, value=value),)))
            return
        result = await self.host.request(v1.set_config(self.id, option.id, value))
        try:
            self.apply(v1.read_config(result))
        except v1.Malformed as error:
            raise ProtocolError(
                f"session/set_config_option: the agent's answer cannot be used ({error})"
            ) from None

    # ---- coming and going ---------------------------------------------------------------------

    def opened(self, facts: SessionFacts) -> None:
        """The session is there: what its answer said, and who answers."""
        self.introduce()
        for event in facts.events:
            self.apply(event)
        self.apply(ev.StatusChanged("idle"))
        self.undoing.warm()

    def introduce(self) -> None:
        """Who answers, or wants a sign-in before that."""
        agent = self.host.facts
        offers = agent.capabilities.offers
        self.apply(ev.AgentKnown(self.host.name, agent.title, agent.version, self.cwd, offers))

    async def told(self) -> None:
        """Wait until the agent has finished telling the history: nothing has come for a while."""
        for _ in range(int(QUIET_AT_MOST_S / QUIET_S)):
            received = self._received
            await asyncio.sleep(QUIET_S)
            if self._received == received:
                return

    def retell(self, retelling: bool) -> None:
        """While this is on, history that the agent tells is known already.

        Our transcript holds more than the agent tells (questions, notices, late updates), so what
        load tells again is not taken: everything stays there once, as it was.
        """
        self._retelling = retelling

    def rejoined(self) -> None:
        """The agent was started again, and the session is open on it."""
        if not self.closed:
            self.opened(SessionFacts(self.id))
            if self.running is not None:
                self.apply(ev.StatusChanged(self.host.signing.status(self) or "working"))
        self._unstuck.set()

    @property
    def pausing(self) -> bool:
        """The turn that runs is not with the agent, which has done nothing for it so far."""
        return self.running is not None and self.running.pause is not None and not self.running.begun

    def interrupted(self, error: Exception) -> None:
        """The agent is started again for another session's sake; a running turn fails with the reason."""
        if self.running is not None and not self.pausing:
            self._settle_questions("the agent is started again")
            self._end(self.running, ev.TurnEnded("failed", error=str(error)), None, error)

    def agent_ended(self, error: Exception) -> None:
        """The connection is over; turns that were with the agent have failed with it.

        One that only waits to be sent again goes on waiting, and starts the agent again when it is sent.
        """
        self._settle_questions("the agent ended")
        if (run := self.running) is not None and run.pause is not None and run.begun:
            self._prompting.fail(run, error)  # nothing else would tell it
        self.host.background(self.services.terminals.release_all())  # the next agent knows none of them
        if not self.closed and not self.pausing:
            self.apply(ev.StatusChanged("dead", str(error)))

    async def close(self) -> None:
        """Calls share one ending, and a cancelled call does not stop it."""
        self.closed = True
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        if (run := self.running) is not None:
            self.host.notify(v1.cancel(self.id))
            self._settle_questions("the session was closed")
            self._end(run, ev.TurnEnded("done", "cancelled"), None)
        self._settle_questions("the session was closed")
        self.queue.close(SessionClosed("the session was closed"))
        self.host.signing.left(self)
        self._unstuck.set()
        await self.services.terminals.close()
        if run is not None:
            await asyncio.wait({asyncio.wrap_future(run.done)})
        await self.undoing.close()
        self.apply(ev.StatusChanged("closed"))
        await self.host.left(self)
