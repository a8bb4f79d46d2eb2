"""The panel of a session: sends patches to its widgets and handles the intents that come back.

Knows neither the protocol nor how a page renders. `static_outputs` renders for the file, `prompt_input`
handles the input field. A panel is created on the thread that displays it; everything else runs on the loop
thread, the only one that writes to the widgets.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from ... import timeouts
from ...agent.conversation import Conversation
from ...agent.host import AgentHost
from ...agent.threads import on_a_thread
from ...agent.turn_queue import TurnRun
from ...agent.undo.operations import Operation
from ...core import events as ev
from ...core import intents
from ...core import page_messages as messages
from ...core.patches import Patch
from ...core.people import claimed_name
from ...core.saved_transcript import Part
from ...core.snapshot import Elicitation, Header, Question
from ...errors import Error, UsageError
from ...notebook import idle_interrupts, pages
from ...notebook.channel import Channel
from ...notebook.earlier_outputs import EarlierOutputs
from ...notebook.open_documents import OpenDocuments
from ...notebook.output import CellOutput
from ...notebook.static_bundle import Renderer
from ...notebook.widget import SessionWidget, TurnWidget, view_bundle
from ..agent_choices import AgentChoices
from .composer import Composer
from .exports import Exporter, MakeFile
from .going_on import GoingOnOffer
from .panel_settings import PanelSettings
from .picker import PanelOpener, Picker
from .prompt_input import PromptInput
from .static_outputs import SESSION, SIGN_IN, StaticOutputs
from .work_clock import WorkClock

SIGNED_OUT = "Signed out", "The agent will ask for a sign-in when it needs one."

GONE = ("dead", "disconnected")


class Panel:
    """Connects a session with its widgets."""

    def __init__(
        self,
        conversation: Conversation,
        host: AgentHost,
        *,
        renderer: Callable[[], Renderer],
        opener: PanelOpener,
        export: MakeFile,
    ) -> None:
        self._conversation = conversation
        self._host = host
        self._loop = conversation.agent.loop
        self._widget = SessionWidget(partial(self._loop.post, self._on_message))
        self._channel = Channel(self._widget.send, self._state, self._later)
        self._outputs = StaticOutputs(conversation.state, renderer, self._channel.notify_reliably)
        self._picker = Picker(conversation, host, opener, self._channel.notify)
        self._agent_choices = AgentChoices(opener.start, self._channel.notify)
        self._exporter = Exporter(export, self._channel.notify)
        self.documents = OpenDocuments(self._widget.send, on_a_thread)
        self.documents.expect()
        self.earlier = EarlierOutputs(self.documents, on_a_thread)
        self._going_on = GoingOnOffer(conversation, self.earlier, self._channel.notify)
        self._composer = Composer(conversation, self.documents)
        self._prompt_input = PromptInput(conversation, self._composer, self._refuse)
        self._settings = PanelSettings(conversation, host, self._channel.notify)
        self._without_paths: set[str] = set()
        """The views that have not yet received the server paths of the session's files."""
        self._people: dict[str, str] = {}
        """Who uses each view, as its page claims."""
        self._clock = WorkClock(time.monotonic)
        self._ignore_interrupts: Callable[[], None] | None = None
        self._loop.post(self._listen)

    # ---- on the displaying thread -------------------------------------------------------------

    def show_turn(self, run: TurnRun) -> None:
        """Display the turn, live, below the running cell."""
        widget = TurnWidget(self._widget, run.id)
        output = CellOutput.display(view_bundle(widget, f"<turn {run.id}>", self._shows(run.id)))
        self._loop.post(self._outputs.track, run.id, run, widget.model_id, output)

    def show(self) -> None:
        """Display the whole session, live."""
        output = CellOutput.display(view_bundle(self._widget, "<session>", self._shows(None)))
        self._loop.post(self._outputs.track, SESSION, None, self._widget.model_id, output)
        if output.cell is not None:
            self._loop.post(self._look_back, output.cell)

    def show_in(self, model: str, output: CellOutput) -> None:
        """Show the whole session in an output whose widget shows this one's: see `AgentsWidget`."""
        self._loop.post(self._outputs.track, SESSION, None, model, output)

    def show_sign_in(self) -> None:
        """Display the sign-in below the cell that waits for the session."""
        widget = TurnWidget(self._widget, SIGN_IN)
        output = CellOutput.display(view_bundle(widget, "<sign-in>", self._shows(SIGN_IN)))
        self._loop.post(self._outputs.track, SIGN_IN, None, widget.model_id, output)

    def _shows(self, turn: str | None) -> dict[str, str | None]:
        """The session and the turn of an output, and its transcript as long as it is empty."""
        part = Part(parts=()) if turn is None else Part(name=turn)
        return {"session": self.model_id, "turn": turn, "transcript": part.line()}

    @property
    def widget(self) -> SessionWidget:
        """The session's widget, for front ends that display widgets themselves."""
        return self._widget

    @property
    def model_id(self) -> str:
        """The id of the session's widget model."""
        found: str = self._widget.model_id
        return found

    @property
    def has_page(self) -> bool:
        return self._conversation.state.audience.has_page

    def leave(self, run: TurnRun) -> None:
        """Stop rendering the turn; the caller displays it in another way."""
        self._loop.post(self._outputs.untrack, run.id)

    # ---- on the loop thread -------------------------------------------------------------------

    def _listen(self) -> None:
        if (run := self._conversation.state.running) is not None:  # its cell has just created this panel
            self.documents.prefer(run.page)
            self._clock.start()
            self._heed_interrupts(True)
        self._conversation.state.listen(self._on_event)
        self._conversation.queue.changed = self._on_queue_changed
        self._conversation.workspace.open_notebooks = self.documents
        self._conversation.workspace.open_tabs = self.documents
        self._conversation.permission_settings.changed = self._settings.send

    def _on_event(self, event: ev.Event, patches: Sequence[Patch]) -> None:
        self._channel.queue(patches)
        if event.is_awaited:
            self._channel.flush()
        if self._clock.see(event):
            self._send_status()
        if isinstance(event, ev.TurnStarted | ev.TurnEnded):
            self._heed_interrupts(isinstance(event, ev.TurnStarted))
            self._going_on.withdraw()
            self._send_paths()
        if isinstance(event, ev.TurnStarted) and (run := self._conversation.state.running) is not None:
            self.documents.prefer(run.page)
        if isinstance(event, ev.SignInChanged | ev.StatusChanged):
            self._outputs.invalidate(SIGN_IN)
        if isinstance(event, ev.ChangesReplaced):  # an undo, perhaps long after the turn
            self._outputs.invalidate_turn(event.turn)
        self._outputs.on_changed(event, patches)
        self._outputs.invalidate(SESSION)
        if isinstance(event, ev.TurnEnded):
            self._outputs.hurry()

    def _look_back(self, cell: str) -> None:
        self._conversation.agent.background(self._going_on.look_back(cell))

    def remind(self, cell: str, digest: str, then: Callable[[], None]) -> None:
        """Say that a prompt is sent again, if the notebook has its answer, and call a function. Safe from any
        thread."""
        work = partial(self._going_on.remind, cell, digest, then)
        self._loop.post(lambda: self._conversation.agent.background(work()))

    def _heed_interrupts(self, running: bool) -> None:
        """While a turn runs, let the kernel's interrupt stop it whenever no cell runs."""
        if self._ignore_interrupts is not None:
            self._ignore_interrupts()
            self._ignore_interrupts = None
        run = self._conversation.state.running
        if running and run is not None:
            stop = partial(self._loop.post, self._conversation.cancel, run)
            self._ignore_interrupts = idle_interrupts.watch(stop)

    def _on_message(self, message: Any, client: str | None = None) -> None:
        try:
            intent = intents.parse(message)
        except intents.BadIntent as error:
            self._channel.notify(messages.IntentRefused(str(error)))
            return
        match intent:
            case intents.Hello():
                self._on_hello(intent, client)
            case intents.Resync(view=view):
                self._send_all(view)
            case intents.Ack(seq, view):
                self._channel.on_ack(seq, view)
            case intents.Bye(view):
                self._channel.bye(view)
                self._outputs.on_page_closed(view)
                self._without_paths.discard(view)
                self._people.pop(view, None)
                self.documents.bye(view)
            case intents.Doc():
                self.documents.on_answer(intent)
            case intents.Tabs():
                self.documents.on_tabs(intent)
            case intents.Answer():
                self._answer(intent)
            case intents.Elicit():
                self._elicit(intent)
            case intents.Cancel():
                self._cancel(intent)
            case intents.Prompt(view=view):
                self._attempt(self._prompt_input.prompt(intent, self._people.get(view)))
            case intents.Complete():
                self._attempt(self._complete(intent))
            case intents.Preview():
                self._attempt(self._preview(intent))
            case intents.Examples():
                self._attempt(self._send_examples(intent))
            case intents.Again(view=view):
                self._change_queue(lambda: self._prompt_input.retry(intent, self._people.get(view)))
            case intents.Edit():
                self._attempt(self._edit_prompt(intent))
            case intents.SendNow(view=view):
                self._change_queue(lambda: self._prompt_input.rearrange(intent, self._people.get(view)))
            case intents.Move():
                self._change_queue(lambda: self._prompt_input.rearrange(intent))
            case intents.Mode(mode):
                self._attempt(self._set_mode(mode))
            case intents.Config(id, value):
                self._attempt(self._set_config(id, value))
            case intents.Tools(on):
                self._attempt(self._conversation.switch_tools(on))
            case intents.Settings():
                self._settings.send()
            case intents.Permissions() | intents.Revoke() | intents.Checkpoints():
                self._attempt(self._settings.change(intent))
            case intents.Restart():
                self._attempt(self._conversation.ready())
            case intents.GoOn(how):
                self._attempt(self._going_on.choose(how))
            case intents.Reopen(new):
                self._attempt(self._conversation.reopen(new=new))
            case intents.Undo():
                self._attempt(self._change("undo", intent))
            case intents.Redo():
                self._attempt(self._change("redo", intent))
            case intents.Keep():
                self._attempt(self._change("keep", intent))
            case intents.SignIn(method):
                self._sign_in(method)
            case intents.SignedIn():
                self._host.signing.passed()
            case intents.UseKey(name, key):
                self._conversation.agent.background(self._use_key(name, key))
            case intents.SignOut():
                self._attempt(self._sign_out())
            case intents.Sessions() | intents.Open() | intents.Delete():
                self._conversation.agent.background(self._picker.handle(intent))
            case intents.Agents() | intents.StartAgent():
                self._conversation.agent.background(self._agent_choices.handle(intent))
            case intents.Export():
                self._conversation.agent.background(self._exporter.handle(intent))

    async def _sign_out(self) -> None:
        await self._host.signing.logout()
        self._conversation.state.apply(ev.NoticeGiven("info", *SIGNED_OUT, source="client"))

    def _sign_in(self, method: str | None) -> None:
        signing = self._host.signing
        if method is None:
            signing.stop()
        else:
            self._conversation.agent.background(self._authenticate(method))

    async def _authenticate(self, method: str) -> None:
        """Sign in. Errors appear next to the methods if those are shown, otherwise as a refusal."""
        try:
            await self._host.signing.authenticate(method)
        except Error as error:
            if self._header().sign_in is None or isinstance(error, UsageError):
                self._refuse(error)

    async def _use_key(self, name: str, key: str) -> None:
        try:
            await self._host.signing.use_key(name, key)
        except Error as error:
            if self._header().sign_in is None or isinstance(error, UsageError):
                self._refuse(error)

    def _on_hello(self, hello: intents.Hello, client: str | None) -> None:
        self._outputs.on_page_connected(hello.view, saves=hello.document)
        self.documents.hello(hello, client)
        if hello.person is not None:
            self._people[hello.view] = claimed_name(hello.person)
        pages.count(pages.Page(hello.host, hello.document, hello.live))
        self._conversation.state.audience.page_came()
        self._send_all(hello.view)
        if hello.path is not None:
            self._without_paths.add(hello.view)
            self._send_paths()

    def _send_all(self, view: str) -> None:
        self._channel.hello(view)
        self._send_status()
        self._settings.send()
        self._going_on.send()
        self._outputs.send_all()

    def _cancel(self, intent: intents.Cancel) -> None:
        run = self._conversation.find_run(intent.turn) if intent.turn is not None else None
        if intent.turn is None or run is not None:
            self._conversation.cancel(run, self._people.get(intent.view))

    async def _edit_prompt(self, edit: intents.Edit) -> None:
        await self._prompt_input.edit(edit)
        self._send_status()

    def _change_queue(self, work: Callable[[], None]) -> None:
        """Run something that changes the queue, and send the new queue."""
        try:
            work()
        except UsageError as error:
            self._refuse(error)
        self._send_status()

    def _on_queue_changed(self) -> None:
        if self._conversation.state.running is not None:
            self._send_status()
        else:
            self._later(timeouts.get().shown_as_queued, self._send_status)

    def _send_status(self) -> None:
        """Send what is not in the transcript: the queue, unsent turns and the time of the running turn."""
        waiting, unsent = self._prompt_input.queue(), tuple(self._outputs.unsent_turns())
        self._channel.notify(messages.PanelStatus(waiting, unsent, self._clock.elapsed))

    def _send_paths(self) -> None:
        for view in [*self._without_paths]:
            self._conversation.agent.background(self._send_path_prefixes(view))

    async def _send_path_prefixes(self, view: str) -> None:
        """Send a page the server paths of the session's files, so that it can open them."""
        folders = self._conversation.workspace.roots.on_disk[:1] and [self._conversation.state.cwd]
        prefixes = await self.documents.server_prefixes(view, folders) if folders else []
        if prefixes and view in self._without_paths:
            self._without_paths.discard(view)
            self._channel.notify(messages.ServerPaths(view, tuple(prefixes)))

    # ---- asynchronous intents, which may be refused

    def _attempt(self, work: Awaitable[None]) -> None:
        self._conversation.agent.background(self._refuse_errors(work))

    async def _refuse_errors(self, work: Awaitable[None]) -> None:
        try:
            await work
        except Error as error:
            self._refuse(error)

    def _refuse(self, error: Exception, prompt: str | None = None) -> None:
        """Show the error in the page. `prompt`: unsent text that goes back into the field."""
        # The stderr of a dead agent is shown elsewhere.
        what = str(error).partition("\n")[0] if self._header().status in GONE else str(error)
        self._channel.notify(messages.IntentRefused(what, prompt))

    async def _complete(self, request: intents.Complete) -> None:
        offered = await self._composer.completions(request.fragment)
        answer = messages.CompletionAnswer(request.view, request.rid, request.fragment, offered)
        self._channel.notify(answer)

    async def _preview(self, request: intents.Preview) -> None:
        mentions = await self._composer.previews(request.text)
        self._channel.notify(messages.PreviewAnswer(request.view, request.rid, mentions))

    async def _send_examples(self, request: intents.Examples) -> None:
        prompts = await self._composer.examples()
        self._channel.notify(messages.ExamplePrompts(request.view, request.rid, prompts))

    async def _change(self, operation: Operation, intent: intents.OfChanges) -> None:
        """Undo, redo or keep. Conflicts are reported in the changes; only invalid requests are refused."""
        only = None if intent.files is None else frozenset(intent.files)
        due = time.monotonic() + timeouts.get().undo_progress

        def report_progress(at: int, of: int) -> None:
            nonlocal due
            if time.monotonic() >= due:
                due = time.monotonic() + timeouts.get().undo_progress
                self._channel.notify(messages.OperationProgress(intent, at, of))

        self._channel.notify(messages.OperationProgress(intent, 0, 0))  # confirms the intent
        if self._conversation.state.running is None:
            self.documents.prefer(intent.view)
        await self._conversation.undoing.act(
            operation,
            intent.turn,
            intent.file,
            intent.hunk,
            only=only,
            progress=report_progress,
            person=self._people.get(intent.view),
        )
        self._channel.flush()  # the result first
        self._channel.notify(messages.OperationEnded(intent))

    async def _set_mode(self, mode: str) -> None:
        header = self._header()
        if (option := header.mode_option) is not None:
            return await self._set_config(option.id, mode)
        if mode not in [it.id for it in header.modes]:
            raise UsageError(f"this agent has no mode {mode!r}")
        await self._conversation.set_mode(mode)

    async def _set_config(self, id: str, value: str | bool) -> None:
        option = next((it for it in self._header().config if it.id == id), None)
        if option is None or not option.takes(value):
            raise UsageError(f"this agent's option {id!r} cannot be {value!r}")
        await self._conversation.set_config(option, value)

    def _header(self) -> Header:
        return self._conversation.state.read(lambda transcript: transcript.header())

    def _answer(self, intent: intents.Answer) -> None:
        """Answer a question. The first answer wins; a second one, from another page, is ignored."""
        key, option = intent.question, intent.option
        question = self._conversation.state.read(lambda transcript: transcript.find(key))
        if not isinstance(question, Question) or all(it.id != option for it in question.answers):
            self._channel.notify(messages.IntentRefused("this question does not have that answer"))
            return
        self._conversation.permissions.answer(question, option, self._people.get(intent.view))

    def _elicit(self, intent: intents.Elicit) -> None:
        """Answer a form. The first answer wins; invalid values go back to the page, field by field."""
        key = intent.elicitation
        found = self._conversation.state.read(lambda transcript: transcript.find(key))
        if not isinstance(found, Elicitation):
            self._channel.notify(messages.IntentRefused("this form does not exist"))
            return
        person = self._people.get(intent.view)
        wrong = self._conversation.elicitations.answer(found.id, intent.action, intent.values, person)
        if wrong:
            self._channel.notify(messages.InvalidForm(key, wrong))

    def _state(self) -> dict[str, Any]:
        return self._conversation.state.read(lambda transcript: transcript.plain())

    @staticmethod
    def _later(seconds: float, function: Callable[[], None]) -> object:
        return asyncio.get_running_loop().call_later(seconds, function)

    async def freeze(self) -> None:
        """Replace the live views in the page with their static outputs."""
        await self._outputs.freeze()
