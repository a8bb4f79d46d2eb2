"""Session: a conversation with an agent, as the user scripts it, from any thread.

Joins the layers below; keeps no state of its own. All work is done on the loop thread; these methods
post it there and, where they say so, wait.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

from ..agent import loop
from ..agent.conversation import Conversation
from ..agent.turn_queue import TurnRun
from ..core import events as ev
from ..core.audit import AuditTable
from ..core.ipynb.percent_format import SUFFIX
from ..core.limits import Limits
from ..core.prompt import content_of, fitted
from ..core.records import Command, ConfigOption, Content, Mode, Usage
from ..core.snapshot import Compaction, Item, Notice, Snapshot
from ..errors import AgentError, SessionClosed, SessionLost, Timeout, UsageError
from ..frontend.display import can_be_asked, display_session, may_be_asked_by_text, present
from ..frontend.rendering import Rendered
from ..notebook import kernel
from ..notebook.content import contents
from .preview import Preview
from .queue import Queue
from .turn import Turn

if TYPE_CHECKING:
    from types import TracebackType

    from ..agent.loop import LoopHandle
    from ..frontend.console import TextAsker
    from ..frontend.panel.session_panel import Panel
    from ..notebook.static import Redact
    from .agent import Agent
    from .changes import ChangesTable
    from .live_notebook import LiveNotebook

INTERRUPT_S = 5.0
"""How long an interrupted prompt waits for the turn's end: as long as a turn may take to be abandoned."""


class Session(Rendered):
    """A conversation with an agent. `prompt` asks and waits, `start` asks and returns, `stream` iterates."""

    def __init__(self, conversation: Conversation, agent: Agent) -> None:
        self._conversation = conversation
        self._agent = agent
        self._turns: list[Turn] = []
        self._panel: Panel | None = None
        self._asker: TextAsker | None = None
        self.redact: Redact | None = None
        """A function from text to text that sees all text before it goes into the notebook's file."""
        self._starting = threading.Lock()

    # ---- asking ---------------------------------------------------------------------------

    def prompt(
        self,
        *parts: Any,
        timeout: float | None = None,
        max_seconds: float | None = None,
        max_tool_calls: float | None = None,
        max_cost: float | None = None,
    ) -> Turn:
        """Ask, wait for the end of the turn, and return it.

        Parts are text, `Path`s (small text files go along, others as links), content such as `acp.Image`,
        and any objects: data frames, figures, errors, functions …; `preview` shows what would be sent.
        Raises what the turn
        failed with: `acp.AgentError`, `acp.AgentDied`; after `timeout` seconds the turn is cancelled
        and `acp.Timeout` raised. Ctrl-C cancels the turn and leaves the session usable.

        A turn that takes longer than `max_seconds`, makes more than `max_tool_calls` or costs more than
        `max_cost` (in the agent's currency) is cancelled, and `turn.limit` says why; each is by default what
        `connect` was given, and math.inf is no limit.
        """
        loop.check_waiting()
        turn = self.start(*parts, max_seconds=max_seconds, max_tool_calls=max_tool_calls, max_cost=max_cost)
        try:
            self._shown_until_done(turn, timeout)
        except KeyboardInterrupt:
            turn.cancel()  # also where it struck before there was a wait: the first view takes its time
            raise
        return turn.wait()

    def _shown_until_done(self, turn: Turn, timeout: float | None) -> None:
        finish = present(self, turn)
        try:
            kernel.wait(turn._run.done, timeout, on_interrupt=turn.cancel, grace=INTERRUPT_S)
        except TimeoutError:
            _stop(turn)
            raise Timeout(f"the turn took longer than {timeout:g} s and was cancelled") from None
        finally:
            finish()

    def start(
        self,
        *parts: Any,
        max_seconds: float | None = None,
        max_tool_calls: float | None = None,
        max_cost: float | None = None,
    ) -> Turn:
        """Ask and return at once; `turn.wait()` or `await turn` waits. Turns run one after the other."""
        limits = _limits(max_seconds, max_tool_calls, max_cost)
        run = self._conversation.new_run(self._content(parts), limits)
        return self._begun(run, self._conversation.start_turn, run)

    def stream(
        self,
        *parts: Any,
        max_seconds: float | None = None,
        max_tool_calls: float | None = None,
        max_cost: float | None = None,
    ) -> Iterator[ev.Event]:
        """Ask at once, and iterate over the turn's events. Leaving the loop early cancels the turn."""
        limits = _limits(max_seconds, max_tool_calls, max_cost)
        run = self._conversation.new_run(self._content(parts), limits)
        arrived: queue.SimpleQueue[ev.Event | None] = queue.SimpleQueue()
        turn = self._begun(run, self._begin_stream, run, arrived)
        turn._shown_by = "stream"  # whoever iterates shows what they like
        return _streamed(turn, arrived)

    def _begun(self, run: TurnRun, begin: Callable[..., object], *args: object) -> Turn:
        turn = Turn(self, self._conversation, run)
        run.cell = kernel.where().cell_id
        kernel.attend(run.done)
        if can_be_asked():
            self._loop.post(setattr, self._conversation, "shows_sign_in", True)
            self._live_panel()  # also where nothing is displayed: the page's notebook is reached through it
        if can_be_asked() or self._asked_by_text():
            self._loop.post(setattr, self._conversation.permissions.questions, "can_ask", True)
        with self._starting:  # several threads: the turns stand here in the order in which they run
            self._loop.post(begin, *args)
            self._turns.append(turn)
        return turn

    def _asked_by_text(self) -> bool:
        if may_be_asked_by_text() and self._asker is None:
            from ..frontend.console import TextAsker

            self._asker = TextAsker(self._conversation)
        return self._asker is not None

    def _begin_stream(self, run: TurnRun, arrived: queue.SimpleQueue[ev.Event | None]) -> None:
        conversation = self._conversation

        def listener(event: ev.Event, _: object) -> None:
            if conversation.running is run:
                arrived.put(event)

        def ended(_: object) -> None:
            stop()
            arrived.put(None)

        stop = conversation.listen(listener)
        conversation.start_turn(run)
        run.done.add_done_callback(ended)

    def _content(self, parts: tuple[Any, ...]) -> tuple[Content, ...]:
        if self._conversation.closed:
            raise SessionClosed("the session was closed; acp.connect(...) opens another")
        content, notes = self._fitted(parts)
        for note in notes:
            self._loop.post(self._conversation.apply, ev.NoticeGiven("warning", note, source="client"))
        return content

    def _fitted(
        self, parts: tuple[Any, ...], *, seen: bool = True
    ) -> tuple[tuple[Content, ...], tuple[str, ...]]:
        try:
            content, files = content_of(parts, self.cwd, contents)
        except ValueError as error:
            raise UsageError(str(error)) from None
        if not files:
            return fitted(content, self._conversation.host.facts.capabilities)
        if can_be_asked() and any(path.name.lower().endswith(SUFFIX) for path in files.values()):
            self._live_panel()  # the page's notebook is reached through it
        return self._loop.call(self._conversation.attached(content, files, seen=seen))

    def preview(self, *parts: Any) -> Preview:
        """What `prompt` would send for these parts, with its size; nothing is sent."""
        return Preview(*self._fitted(parts, seen=False))

    def cancel(self) -> None:
        """Stop the turn that runs, or is about to; does nothing if there is none. Returns at once."""
        self._loop.post(self._conversation.cancel)

    def close(self) -> None:
        """End the session; the last session on an agent ends the agent, and all that it started.

        In a forked copy of the process it does nothing: the agent is the other's.
        """
        if self._loop.reachable:
            self._loop.call(self._conversation.close())

    @property
    def _loop(self) -> LoopHandle:
        return self._conversation.host.loop

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def reopen(self, *, new: bool = False) -> None:
        """Open the session again after the agent has lost it (`acp.SessionLost`): resumed, else loaded.

        With `new`, another session of the same agent takes its place: `id` changes, settings and transcript
        stay, and the next prompt takes the conversation along as context.
        """
        self._loop.call(self._conversation.reopen(new=new))

    def fork(self) -> Session:
        """Another session that goes on from here; its transcript begins empty, and this one stays."""
        conversation = self._conversation
        return self._agent.fork(
            self.id,
            cwd=self.cwd,
            permissions=conversation.permissions.questions.policy,
            mcp_servers=conversation.mcp_servers or None,
            roots=conversation.directories,
        )

    def authenticate(self, method: str) -> None:
        """Sign in to the agent by a method of `agent.auth_methods`; what waited for it goes on."""
        self._agent.authenticate(method)

    # ---- reading --------------------------------------------------------------------------

    @property
    def id(self) -> str:
        return self._conversation.id

    @property
    def cwd(self) -> str:
        return self._conversation.cwd

    @property
    def agent(self) -> Agent:
        """The running agent, which several sessions can share."""
        return self._agent

    @property
    def transcript(self) -> Snapshot:
        """The whole conversation now: immutable, and yours to keep."""
        return self._conversation.read(lambda transcript: transcript.snapshot())

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns that were started here, oldest first."""
        return tuple(self._turns)

    @property
    def queue(self) -> Queue:
        """The prompts that wait while a turn runs: to be read, edited, moved, removed, sent now."""
        return Queue(self._conversation)

    @property
    def status(self) -> str:
        """starting, signed_out, idle, working, stuck, restarting, lost, dead, closed."""
        return self.transcript.status

    @property
    def audit(self) -> AuditTable:
        """Every request of the agent's, every decision and who took it, every act of ours: a table."""
        return self._conversation.auditor.audit

    @property
    def changes(self) -> ChangesTable:
        """Every file that the agent changed, by turn, and who allowed it: a table, and the way back.

        What else changed is in `turn.also_changed`.
        """
        from .changes import changes_of

        return changes_of(self._conversation)

    @property
    def notebook(self) -> LiveNotebook:
        """The notebook that is open in the page: its cells, with what is not saved, to read and change."""
        from .live_notebook import LiveNotebook

        if self._panel is None and not can_be_asked():
            raise UsageError("no notebook is open in a page here: this is a script, or a headless run")
        return LiveNotebook(self._loop, self._live_panel().documents)

    @property
    def title(self) -> str | None:
        return self.transcript.title

    @property
    def commands(self) -> tuple[Command, ...]:
        """The agent's slash commands."""
        return self.transcript.commands

    @property
    def usage(self) -> Usage | None:
        """How full the context is and what it has cost, where the agent tells."""
        return self.transcript.usage

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What the agent wants known (`source` "agent"), and what this package does ("client"), in order."""
        return tuple(it for it in self.transcript.items if isinstance(it, Notice))

    @property
    def compactions(self) -> tuple[Compaction, ...]:
        """Where the agent has summed up the conversation to make room: `status`, `summary`."""
        return tuple(it for it in self.transcript.items if isinstance(it, Compaction))

    # ---- settings -------------------------------------------------------------------------

    @property
    def config(self) -> Config:
        """The agent's options: `session.config["model"]`; assign to change one."""
        return Config(self._conversation)

    @property
    def modes(self) -> tuple[Mode, ...]:
        option = self.transcript.mode_option
        if option is None:
            return self.transcript.modes
        return tuple(Mode(choice.value, choice.name, choice.description) for choice in option.choices)

    @property
    def mode(self) -> str | None:
        """The agent's mode, such as "plan"; assign to change it."""
        snapshot = self.transcript
        option = snapshot.mode_option
        return str(option.value) if option is not None else snapshot.mode

    @mode.setter
    def mode(self, mode: str) -> None:
        option = self.transcript.mode_option
        if option is not None:
            self.config[option.id] = mode
            return
        known = [it.id for it in self.transcript.modes]
        if mode not in known:
            raise UsageError(f"no mode {mode!r}; this agent has {', '.join(known) or 'no modes'}")
        self._loop.call(self._conversation.set_mode(mode))

    # ---- looks ----------------------------------------------------------------------------

    def _live_panel(self) -> Panel:
        """The session's widgets; made when they are first needed."""
        from ..frontend.panel.session_panel import Panel

        with self._starting:
            if self._panel is None:
                self._panel = Panel(self._conversation, bundle=self._bundle, openings=self._agent)
        return self._panel

    def freeze(self) -> None:
        """Replace what is shown live of this session by its static form."""
        if self._panel is not None:
            self._loop.call(self._panel.freeze())

    def _to_bundle(self) -> dict[str, Any]:
        """What a notebook's file keeps of the session, by MIME type."""
        return self._bundle(self._conversation.read(lambda transcript: transcript.plain()["items"]))

    def _bundle(self, items: list[dict[str, Any]]) -> dict[str, Any]:
        from ..notebook.static import bundle

        return bundle(items, cwd=self.cwd, redact=self._redacting())

    def _redacting(self) -> Redact | None:
        """The user's function, after what takes out the known secrets, those in several parts, too."""
        known, own = self._conversation.host.launch.redactor, self.redact
        if known.idle:
            return own
        return known.text if own is None else lambda text: own(known.text(text))

    def _ipython_display_(self) -> None:
        display_session(self)

    def __repr__(self) -> str:
        snapshot = self.transcript
        count = len(self._turns)
        parts = [snapshot.title, f"{snapshot.status}", f"{count} turn{'s' * (count != 1)}", self.cwd]
        return f"<Session {self._agent.name} · {' · '.join(filter(None, parts))}>"

    def _shown(self) -> tuple[tuple[Item, ...], str | None]:
        return self.transcript.items, self.cwd


class Config(MutableMapping[str, "str | bool"]):
    """The agent's options by id. Setting one asks the agent, and waits for its answer."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    @property
    def options(self) -> tuple[ConfigOption, ...]:
        """The options themselves, with their choices."""
        return self._conversation.read(lambda transcript: transcript.snapshot()).config

    def __getitem__(self, id: str) -> str | bool:
        return self._option(id).value

    def __setitem__(self, id: str, value: str | bool) -> None:
        option = self._option(id)
        listed = option.takes(value)
        refused = f"{id!r} cannot be {value!r}; it may be {', '.join(map(repr, option.values))}"
        if not listed and (option.type == "boolean" or not isinstance(value, str)):
            raise UsageError(refused)
        try:
            self._conversation.host.loop.call(self._conversation.set_config(option, value))
        except AgentError as error:  # some agents take more than they list: so they are asked first
            if listed or isinstance(error, SessionLost):
                raise
            raise UsageError(f"{refused} ({error})") from None

    def __delitem__(self, id: str) -> None:
        raise UsageError("an agent's option can be set, not removed")

    def __iter__(self) -> Iterator[str]:
        return (option.id for option in self.options)

    def __len__(self) -> int:
        return len(self.options)

    def __repr__(self) -> str:
        return repr({option.id: option.value for option in self.options})

    def _option(self, id: str) -> ConfigOption:
        for option in self.options:
            if option.id == id:
                return option
        known = ", ".join(self) or "none"
        raise UsageError(f"no option {id!r}; this agent has {known}")


def _limits(seconds: float | None, tool_calls: float | None, cost: float | None) -> Limits:
    try:
        return Limits(seconds, tool_calls, cost)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _stop(turn: Turn) -> None:
    """Cancel it and wait for its end; it comes soon, even if the agent does not listen."""
    turn.cancel()
    with contextlib.suppress(TimeoutError):
        turn._run.done.exception(INTERRUPT_S + 1)


def _streamed(turn: Turn, arrived: queue.SimpleQueue[ev.Event | None]) -> Iterator[ev.Event]:
    try:
        while (event := arrived.get()) is not None:
            yield event
        turn.wait()
    finally:
        if not turn.done:
            turn.cancel()
