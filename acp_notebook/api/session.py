"""Session: a conversation with an agent, for use in scripts, from any thread.

All work runs on the loop thread; these methods post it there and, where documented, wait.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, MutableMapping
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import timeouts
from ..agent import loop
from ..agent.conversation import Conversation
from ..agent.host import AgentHost
from ..agent.kernel_tools.current_call import check_not_called_by, function_waits_for
from ..agent.turn_queue import TurnRun
from ..core import events as ev
from ..core.audit import AuditTable
from ..core.ipynb.percent_format import SUFFIX
from ..core.limits import Limits
from ..core.policy import Policy, checked
from ..core.prompt import content_of, fitted
from ..core.prompt_digest import prompt_digest
from ..core.records import Command, ConfigOption, Content, Meta, Mode, Usage, plain
from ..core.snapshot import Compaction, Header, Item, Notice, Snapshot
from ..errors import AgentError, SessionClosed, SessionLost, Timeout, UsageError
from ..frontend.display import can_be_asked, display_session, may_be_asked_by_text, present
from ..frontend.rendering import Rendered
from ..notebook import kernel
from .extensions import checked_meta
from .grants import Grants
from .queue import Queue
from .session_tool import AskableSession
from .tools import ToolDecorator, Tools
from .turn import Turn

if TYPE_CHECKING:
    import queue
    from types import TracebackType

    from ..agent.loop import LoopHandle
    from ..agent.session_state import SessionState
    from ..core.export.file import ExportedFile
    from ..core.intents import ExportForm
    from ..frontend.console import TextAsker
    from ..frontend.panel.session_panel import Panel
    from ..notebook.static_bundle import Redact, Renderer
    from .agent import Agent
    from .changes import ChangesTable
    from .live_notebook import LiveNotebook
    from .preview import Preview


class Session(Rendered, AskableSession):
    """A conversation with an agent. `prompt` waits for a turn, `start` returns at once, `stream` iterates."""

    def __init__(self, conversation: Conversation, host: AgentHost, agent: Agent) -> None:
        self._conversation = conversation
        self._host = host
        self._agent = agent
        self._turns: list[Turn] = []
        self._panel: Panel | None = None
        self._asker: TextAsker | None = None
        self._page_needs_thread: int | None = None
        """The thread on which clicks in the page are delivered, if it has to be free for them (marimo)."""
        self.redact: Redact | None = None
        """A function from text to text, applied to all text before it is saved in the notebook."""
        self._starting = threading.Lock()

    # ---- prompts --------------------------------------------------------------------------

    def prompt(
        self,
        *parts: Any,
        timeout: float | None = None,
        max_seconds: float | None = None,
        max_tool_calls: float | None = None,
        max_cost: float | None = None,
        meta: Meta | None = None,
    ) -> Turn:
        """Send a prompt, wait for the end of the turn, and return it.

        Parts are text, `Path`s (small text files are embedded, other files linked), content such as
        `acp.Image`, and any objects: data frames, figures, errors, functions …; `preview` shows what would be
        sent. Raises the error that the turn failed with, such as `acp.AgentError` or `acp.AgentDied`. After
        `timeout` seconds the turn is cancelled and `acp.Timeout` is raised. Ctrl-C cancels the turn and
        leaves the session usable.

        A turn that takes longer than `max_seconds`, makes more than `max_tool_calls` or costs more than
        `max_cost` (in the agent's currency) is cancelled, and `turn.limit` says why. The defaults are those
        of `connect`; math.inf means no limit. `meta` is plain JSON that is added to the request (`_meta`) for
        agents that know it; what an agent adds is in `turn.meta` and on every item.
        """
        loop.check_waiting()
        with function_waits_for(self._conversation.state):
            turn = self._new_turn(parts, _limits(max_seconds, max_tool_calls, max_cost), meta)
            try:
                self._begin(turn, self._conversation.start_turn, turn._run)
                self._display_until_done(turn, timeout)
            except KeyboardInterrupt:
                turn.cancel()  # also if it came before the wait: the first display is slow
                raise
        return turn.wait()

    def _display_until_done(self, turn: Turn, timeout: float | None) -> None:
        finish = present(self, turn)
        try:
            with self._without_clicks():
                kernel.wait(turn._run.done, timeout, on_interrupt=turn.cancel)
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
        meta: Meta | None = None,
    ) -> Turn:
        """Send a prompt and return at once; see `turn.wait()` and `await turn`. Turns run one at a time."""
        turn = self._new_turn(parts, _limits(max_seconds, max_tool_calls, max_cost), meta)
        self._begin(turn, self._conversation.start_turn, turn._run)
        return turn

    def stream(
        self,
        *parts: Any,
        max_seconds: float | None = None,
        max_tool_calls: float | None = None,
        max_cost: float | None = None,
        meta: Meta | None = None,
    ) -> Iterator[ev.Event]:
        """Send a prompt and iterate over the events of the turn. Leaving the loop early cancels the turn."""
        check_not_called_by(self._conversation.state)
        turn = self._new_turn(parts, _limits(max_seconds, max_tool_calls, max_cost), meta)
        turn._shown_by = "stream"  # the caller decides what to display
        import queue  # import it only if needed

        arrived: queue.SimpleQueue[ev.Event | None] = queue.SimpleQueue()
        self._begin(turn, self._begin_stream, turn._run, arrived)
        return _iterate(turn, arrived)

    def _new_turn(self, parts: tuple[Any, ...], limits: Limits, meta: Meta | None) -> Turn:
        added = checked_meta(meta)
        run = self._conversation.new_run(self._content(parts), limits)
        run.meta = added
        run.cell = kernel.where().cell_id
        run.page = kernel.client_here()
        return Turn(self, self._conversation, run)

    def _begin(self, turn: Turn, begin: Callable[..., object], *args: object) -> None:
        """Post the beginning of a turn to the loop thread. An interrupt in the meantime cancels the turn."""
        self._expect_answers()
        try:
            with self._starting:  # keeps `turns` in the order in which they run
                self._loop.post(begin, *args)
                self._turns.append(turn)
            kernel.attend(turn._run.done)  # a turn that was not posted has no end, which this waits for
        except KeyboardInterrupt:
            turn.cancel()
            raise

    def _without_clicks(self) -> contextlib.AbstractContextManager[None]:
        """If no click can be delivered while the calling thread waits, questions are not asked either."""
        blocked = self._page_needs_thread == threading.get_ident()
        return self._conversation.state.audience.page_blocked() if blocked else contextlib.nullcontext()

    def _expect_answers(self) -> None:
        """Let whoever runs the calling code answer the questions of the session, if that is possible."""
        if can_be_asked():
            self._loop.post(self._conversation.state.audience.page_expected)
            self._live_panel()  # needed even without a display: it gives access to the open notebook
        elif self._can_ask_by_text():
            self._loop.post(self._conversation.state.audience.text_expected)

    def _answer_with(self, asker: SessionState) -> str | None:
        """Let the user answer questions where those of another session are answered; runs on the loop thread.

        Returns the model of the session's widget, if a page can show it.
        """
        audience = self._conversation.state.audience
        if asker.audience.has_page:
            audience.page_expected()
            return self._live_panel().model_id
        if asker.audience.can_answer and self._asker is not None:
            audience.text_expected()
        return None if self._panel is None else self._panel.model_id

    def _add_turn(self, run: TurnRun) -> None:
        """Note a turn that another session asked for; runs on the loop thread."""
        self._turns.append(Turn(self, self._conversation, run))

    def _can_ask_by_text(self) -> bool:
        if may_be_asked_by_text() and self._asker is None:
            from ..frontend.console import TextAsker

            self._asker = TextAsker(self._conversation)
        return self._asker is not None

    def _begin_stream(self, run: TurnRun, arrived: queue.SimpleQueue[ev.Event | None]) -> None:
        conversation = self._conversation

        def on_event(event: ev.Event, _: object) -> None:
            if conversation.state.running is run:
                arrived.put(event)

        def on_done(_: object) -> None:
            stop()
            arrived.put(None)

        stop = conversation.state.listen(on_event)
        conversation.start_turn(run)
        run.done.add_done_callback(on_done)

    def _content(self, parts: tuple[Any, ...]) -> tuple[Content, ...]:
        if self._conversation.state.closed:
            raise SessionClosed("the session was closed; acp.connect(...) opens another")
        content, notes = self._fit_content(parts)
        for note in notes:
            self._give_notice(note, "warning")
        return content

    def _fit_content(
        self, parts: tuple[Any, ...], *, seen: bool = True
    ) -> tuple[tuple[Content, ...], tuple[str, ...]]:
        try:
            content, files = content_of(parts, self._conversation.files_folder, _contents)
        except ValueError as error:
            raise UsageError(str(error)) from None
        if not files:
            return fitted(content, self._conversation.agent.facts.capabilities)
        if can_be_asked() and any(path.name.lower().endswith(SUFFIX) for path in files.values()):
            self._live_panel()  # gives access to the open notebook
        return self._loop.call(self._conversation.attached(content, files, seen=seen))

    def preview(self, *parts: Any) -> Preview:
        """What `prompt` would send for these parts, with its size. Sends nothing."""
        from .preview import Preview  # import it only if needed

        return Preview(*self._fit_content(parts, seen=False))

    def _prompt_digest(self, parts: tuple[Any, ...]) -> str:
        """The digest that a file keeps with the answer to this prompt."""
        content, _ = self._fit_content(parts, seen=False)
        return prompt_digest(self._conversation.agent.name, plain(content), self.cwd)

    def cancel(self) -> None:
        """Cancel the running or next turn, if there is one. Returns at once."""
        self._loop.post(self._conversation.cancel)

    def close(self) -> None:
        """End the session. The last session on an agent ends the agent and every process it started.

        Does nothing in a forked process, because the agent belongs to the parent.
        """
        if self._loop.reachable:
            self._loop.call(self._conversation.close())

    @property
    def _loop(self) -> LoopHandle:
        return self._conversation.agent.loop

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def reopen(self, *, new: bool = False) -> None:
        """Resume, or else load, the session after the agent has lost it (`acp.SessionLost`).

        With `new`, a new session of the same agent replaces it: `id` changes, settings and transcript stay,
        and the next prompt includes the conversation as context.
        """
        self._loop.call(self._conversation.reopen(new=new))

    def fork(self) -> Session:
        """Open another session that continues from here, with an empty transcript. This one is unchanged."""
        conversation = self._conversation
        return self._agent.fork(
            self.id,
            cwd=self.cwd,
            permissions=conversation.permissions.questions.policy,
            mcp_servers=conversation.mcp_servers or None,
            roots=conversation.state.directories,
            meta=conversation.meta,
        )

    def authenticate(self, method: str) -> None:
        """Sign in to the agent with one of `agent.auth_methods`. Turns that waited for it continue."""
        self._agent.authenticate(method)

    # ---- reading --------------------------------------------------------------------------

    @property
    def id(self) -> str:
        return self._conversation.state.id

    @property
    def cwd(self) -> str:
        return self._conversation.state.cwd

    @property
    def meta(self) -> Meta | None:
        """What the agent added (`_meta`) when it opened the session, and to updates about it since."""
        return self._header.meta

    @property
    def agent(self) -> Agent:
        """The agent, which several sessions can share."""
        return self._agent

    @property
    def transcript(self) -> Snapshot:
        """An immutable snapshot of the whole conversation."""
        return self._conversation.state.read(lambda transcript: transcript.snapshot())

    @property
    def _header(self) -> Header:
        return self._conversation.state.read(lambda transcript: transcript.header())

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns started on this object, oldest first."""
        return tuple(self._turns)

    @property
    def queue(self) -> Queue:
        """The prompts that wait while a turn runs. Read, edit, move, remove or send them."""
        return Queue(self._conversation)

    @property
    def tools(self) -> Tools:
        """The kernel's tools: `session.tools.enabled = False` takes them away from the agent. Lists your
        functions that the agent may call, with counts; `del session.tools["name"]` removes one."""
        return Tools(self._conversation)

    @property
    def tool(self) -> ToolDecorator:
        """Offers a function to the agent as a tool: `@session.tool`, `@session.tool(permission="read")` or
        `session.tool(function)`; see `acp.tool`, which does it for all sessions.

        `session.tool(other_session)` lets the agent ask another one: each call is a turn of that session,
        which answers with its text. `name` (by default `ask_` and the agent's name) and `description` tell
        the agent whom it asks. `max_seconds`, `max_tool_calls` and `max_cost` limit each such turn, and
        `max_depth` how many sessions may be asked in a chain. `turn.asked_by` and `run.session` link the
        two."""
        functions = self._conversation.functions
        return ToolDecorator(lambda: self._loop.call(functions()), self._conversation)

    @property
    def status(self) -> str:
        """starting, signed_out, idle, working, stuck, restarting, lost, dead, closed; with a remote agent
        reconnecting and disconnected instead of restarting and dead."""
        return self._header.status

    @property
    def audit(self) -> AuditTable:
        """A table of every request of the agent, every decision and who made it, and every action."""
        return self._conversation.state.auditor.audit

    @property
    def changes(self) -> ChangesTable:
        """A table of every file that the agent changed, by turn, and who allowed it, with undo.

        Other files that changed are in `turn.also_changed`.
        """
        from .changes import changes_of

        return changes_of(self._conversation)

    @property
    def notebook(self) -> LiveNotebook:
        """The open notebook: its cells, unsaved text included, to read and change."""
        from .live_notebook import LiveNotebook

        if self._panel is None and not can_be_asked():
            raise UsageError("there is no open notebook: this is a script or a headless run")
        return LiveNotebook(self._loop, self._live_panel().documents)

    @property
    def title(self) -> str | None:
        return self._header.title

    @property
    def commands(self) -> tuple[Command, ...]:
        """The agent's slash commands."""
        return self._header.commands

    @property
    def usage(self) -> Usage | None:
        """The size of the context and the cost so far, if the agent reports them."""
        return self._header.usage

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Notices of the agent (`source` "agent") and of this package ("client"), in order."""
        return tuple(it for it in self.transcript.items if isinstance(it, Notice))

    @property
    def compactions(self) -> tuple[Compaction, ...]:
        """Where the agent summarised the conversation to free context: `status`, `summary`."""
        return tuple(it for it in self.transcript.items if isinstance(it, Compaction))

    # ---- settings -------------------------------------------------------------------------

    @property
    def config(self) -> Config:
        """The agent's options, such as `session.config["model"]`; assign to change one."""
        return Config(self._conversation)

    @property
    def modes(self) -> tuple[Mode, ...]:
        option = self._header.mode_option
        if option is None:
            return self._header.modes
        return tuple(Mode(choice.value, choice.name, choice.description) for choice in option.choices)

    @property
    def mode(self) -> str | None:
        """The agent's mode, such as "plan"; assign to change it."""
        header = self._header
        option = header.mode_option
        return str(option.value) if option is not None else header.mode

    @mode.setter
    def mode(self, mode: str) -> None:
        option = self._header.mode_option
        if option is not None:
            self.config[option.id] = mode
            return
        known = [it.id for it in self._header.modes]
        if mode not in known:
            raise UsageError(f"no mode {mode!r}; this agent has {', '.join(known) or 'no modes'}")
        self._loop.call(self._conversation.set_mode(mode))

    @property
    def permissions(self) -> Policy:
        """Who answers permission questions, as for `acp.connect`; assign to change it, also during a turn."""
        return self._conversation.permission_settings.policy

    @permissions.setter
    def permissions(self, permissions: Policy) -> None:
        try:
            policy = checked(permissions)
        except ValueError as error:
            raise UsageError(str(error)) from None
        self._loop.call(self._set_policy(policy))

    async def _set_policy(self, policy: Policy) -> None:
        self._conversation.permission_settings.set(policy)

    @property
    def grants(self) -> Grants:
        """A table of what the agent may do in this session without asking, with `.revoke(id)`: what you
        allowed for the session, and the permanent grants that apply to it (`acp.permissions()` has all)."""
        return Grants(self._conversation)

    @property
    def mcp_servers(self) -> tuple[str, ...]:
        """The names of the MCP servers that the agent was given, without the kernel's own."""
        return tuple(it.name for it in self._conversation.mcp_servers)

    @property
    def undo(self) -> bool:
        """Whether checkpoints are made before and after each turn; assign to change it between turns."""
        return self._conversation.undoing.covers

    @undo.setter
    def undo(self, on: bool) -> None:
        self._loop.call(self._switch_undo(bool(on)))

    async def _switch_undo(self, on: bool) -> None:
        self._conversation.undoing.switch(on)
        self._conversation.permission_settings.changed()

    # ---- display --------------------------------------------------------------------------

    def _live_panel(self) -> Panel:
        """The session's panel, created on first use."""
        from ..frontend.panel.picker import PanelOpener
        from ..frontend.panel.session_panel import Panel

        with self._starting:
            if self._panel is None:
                opener = PanelOpener(
                    self._agent._panel_of,
                    partial(self._agent._open_like, self._conversation),
                    partial(self._agent._start_another, self._conversation.files_folder),
                )
                self._panel = Panel(
                    self._conversation,
                    self._host,
                    renderer=self._renderer,
                    opener=opener,
                    export=self._export,
                )
        return self._panel

    def freeze(self) -> None:
        """Replace the live views of this session with their static outputs."""
        if self._panel is not None:
            self._loop.call(self._panel.freeze())

    def _give_notice(self, text: str, severity: str = "info") -> None:
        """Tell the user something in the conversation."""
        notice = ev.NoticeGiven(severity, text, source="client")
        self._loop.post(self._conversation.state.apply, notice)

    def _to_bundle(self) -> dict[str, Any]:
        """The static output of the session, by MIME type."""
        items = self._conversation.state.read(lambda transcript: transcript.plain()["items"])
        return self._renderer().whole(items)

    def _renderer(self) -> Renderer:
        """Renders static outputs with the secrets that are known now."""
        from ..core.origin import Origin
        from ..notebook.static_bundle import Renderer

        state = self._conversation.state
        origin = Origin(state.agent.name, state.id or None)
        redaction = (self.redact, state.agent.redactor.for_actions.count)
        return Renderer(origin, cwd=self.cwd, redact=self._redact_function(), redaction=redaction)

    def to_notebook(
        self, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False
    ) -> dict[str, Any]:
        """A notebook of the code that the agent ran in the kernel, which runs from top to bottom.

        It contains prompts, answers, code and outputs, and those of your own cells that the code depends on;
        cells that use an agent are left out. With `path` it is also written to that file; raises
        `acp.UsageError` if the file exists, unless `overwrite` is true. The same session always gives the
        same notebook, in nbformat 4.5.
        """
        return self._notebook(path, overwrite, None)

    def _notebook(
        self, path: str | os.PathLike[str] | None, overwrite: bool, turn: str | None
    ) -> dict[str, Any]:
        """The notebook of the session, or of the turn with this key."""
        from ..notebook.history import cells_run
        from .provenance import notebook_of, write_notebook

        made = notebook_of(
            self._conversation.state.read(lambda transcript: transcript.plain()["items"]),
            cells_run(),
            agent=self._agent.name,
            cwd=self.cwd,
            redact=self._redact_function(),
            turn=turn,
        )
        if path is not None:
            write_notebook(path, made, overwrite=overwrite)
        return made

    def _export(self, form: ExportForm) -> ExportedFile:
        """The conversation as a file. Safe from any thread."""
        from .exports import exported

        return exported(self, form)

    def _redact_function(self) -> Redact | None:
        """Redacts known secrets, also those split over several parts, then applies the user's function."""
        known, own = self._conversation.agent.redactor.for_actions, self.redact
        if known.idle:
            return own
        return known.text if own is None else lambda text: own(known.text(text))

    def _display_(self) -> Any:
        """Called by marimo, which displays widgets: the session's own."""
        self._page_needs_thread = threading.get_ident()
        return self._live_panel().widget

    def _ipython_display_(self) -> None:
        display_session(self)

    def __repr__(self) -> str:
        header = self._header
        count = len(self._turns)
        parts = [header.title, f"{header.status}", f"{count} turn{'s' * (count != 1)}", self.cwd]
        return f"<Session {self._agent.name} · {' · '.join(filter(None, parts))}>"

    def _items_to_render(self) -> tuple[tuple[Item, ...], str | None]:
        return self.transcript.items, self.cwd


class Config(MutableMapping[str, "str | bool"]):
    """The agent's options by id. Setting one sends it to the agent and waits for the response."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    @property
    def options(self) -> tuple[ConfigOption, ...]:
        """The options with their choices."""
        return self._conversation.state.read(lambda transcript: transcript.header()).config

    def __getitem__(self, id: str) -> str | bool:
        return self._option(id).value

    def __setitem__(self, id: str, value: str | bool) -> None:
        option = self._option(id)
        listed = option.takes(value)
        message = f"{id!r} cannot be {value!r}; it may be {', '.join(map(repr, option.values))}"
        if not listed and (option.type == "boolean" or not isinstance(value, str)):
            raise UsageError(message)
        try:
            self._conversation.agent.loop.call(self._conversation.set_config(option, value))
        except AgentError as error:  # agents may accept unlisted values, so they are asked first
            if listed or isinstance(error, SessionLost):
                raise
            raise UsageError(f"{message} ({error})") from None

    def __delitem__(self, id: str) -> None:
        raise UsageError("options can be set, but not removed")

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


def _contents(value: Any, at: int) -> tuple[Content, ...]:
    from ..notebook.content import contents  # import it only if needed: most prompts are text

    return contents(value, at)


def _limits(seconds: float | None, tool_calls: float | None, cost: float | None) -> Limits:
    try:
        return Limits(seconds, tool_calls, cost)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _stop(turn: Turn) -> None:
    """Cancel the turn and wait until it ends, which is soon even if the agent ignores the request."""
    turn.cancel()
    with contextlib.suppress(TimeoutError):
        turn._run.done.exception(timeouts.get().interrupt_grace + 1)


def _iterate(turn: Turn, arrived: queue.SimpleQueue[ev.Event | None]) -> Iterator[ev.Event]:
    try:
        while (event := arrived.get()) is not None:
            yield event
        turn.wait()
    finally:
        if not turn.done:
            turn.cancel()
