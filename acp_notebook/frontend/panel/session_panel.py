"""One session's panel: patches go out to its widgets, intents come in and are carried out.

Knows neither the protocol nor how a page draws; what the file keeps is `static_forms`', what is written in
the field `prompt_input`'s. Made on the thread that displays; all else is done on the loop thread, which is
the only one that writes to the widgets.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...agent.conversation import Conversation
from ...agent.threads import on_a_thread
from ...agent.turn_queue import TurnRun
from ...agent.undo.operations import Operation
from ...core import events as ev
from ...core import intents
from ...core.patches import Patch
from ...core.snapshot import Elicitation, Question, Snapshot
from ...errors import Error, UsageError
from ...notebook import pages
from ...notebook.channel import Channel
from ...notebook.open_documents import OpenDocuments
from ...notebook.output import Output
from ...notebook.widget import SessionWidget, TurnWidget, view_bundle
from .composer import Composer
from .picker import Picker
from .prompt_input import PromptInput
from .static_forms import SESSION, SIGN_IN, Bundle, StaticForms

if TYPE_CHECKING:
    from ...api.agent import Agent

TOLD_S = 0.5
"""Between two words on how far an undo of many files is."""

QUEUE_S = 0.3
"""A prompt that has not begun after this waits for something: for the agent to start again, say."""

AWAITED = (
    ev.TurnEnded,
    ev.QuestionAsked,
    ev.QuestionSettled,
    ev.ElicitationOpened,
    ev.ElicitationSettled,
)
"""What people wait for does not wait for the next batch."""

SIGNED_OUT = "Signed out", "The agent asks for a sign-in when it needs one."


class Panel:
    """Connects one session with its widgets."""

    def __init__(self, conversation: Conversation, *, bundle: Bundle, openings: Agent) -> None:
        self._conversation = conversation
        self._loop = conversation.host.loop
        self._widget = SessionWidget(lambda message: self._loop.post(self._received, message))
        self._channel = Channel(self._widget.send, self._state, self._later)
        self._forms = StaticForms(conversation, bundle, self._channel.tell_surely)
        self._picker = Picker(conversation, openings, self._channel.tell)
        self.documents = OpenDocuments(self._widget.send, on_a_thread)
        self.documents.expect()
        self._composing = Composer(conversation, self.documents)
        self._writing = PromptInput(conversation, self._composing, self._refuse)
        self._unplaced: set[str] = set()
        """Pages that were not told yet what their server calls the session's files."""
        self._began: float | None = None
        self._loop.post(self._listen)

    # ---- on the thread that displays ----------------------------------------------------------

    def show_turn(self, run: TurnRun) -> None:
        """The turn, live, below the cell that asks for it."""
        widget = TurnWidget(self._widget, run.id)
        output = Output.display(view_bundle(widget, f"<turn {run.id}>"))
        self._loop.post(self._forms.follow, run.id, run, output)

    def show(self) -> None:
        """The whole session, live."""
        output = Output.display(view_bundle(self._widget, "<session>"))
        self._loop.post(self._forms.follow, SESSION, None, output)

    def show_sign_in(self) -> None:
        """What the agent wants before there is a session, below the cell that waits for one."""
        output = Output.display(view_bundle(TurnWidget(self._widget, SIGN_IN), "<sign-in>"))
        self._loop.post(self._forms.follow, SIGN_IN, None, output)

    @property
    def model_id(self) -> str:
        """Of the session's widget."""
        found: str = self._widget.model_id
        return found

    @property
    def has_page(self) -> bool:
        return self._conversation.has_page

    def leave(self, run: TurnRun) -> None:
        """The turn is shown in another way; what stands for it here stays as it is."""
        self._loop.post(self._forms.leave, run.id)

    # ---- on the loop thread -------------------------------------------------------------------

    def _listen(self) -> None:
        if self._conversation.running is not None:  # it began just now: its cell makes the panel
            self._began = time.monotonic()
        self._conversation.listen(self._changed)
        self._conversation.queue.changed = self._queue_changed
        self._conversation.services.notebooks.live = self.documents

    def _changed(self, event: ev.Event, patches: Sequence[Patch]) -> None:
        self._channel.changed(patches)
        if isinstance(event, AWAITED):
            self._channel.flush()
        if isinstance(event, ev.TurnStarted | ev.TurnEnded):
            self._began = time.monotonic() if isinstance(event, ev.TurnStarted) else None
            self._tell_now()
            self._tell_places()
        if isinstance(event, ev.SignInChanged | ev.StatusChanged):
            self._channel.flush()
            self._forms.outdate(SIGN_IN)
        if isinstance(event, ev.ChangesReplaced):  # undone, perhaps long after the turn
            self._forms.outdate_turn(event.turn)
        self._forms.outdate(SESSION)

    def _received(self, message: Any) -> None:
        try:
            intent = intents.parse(message)
        except intents.BadIntent as error:
            self._channel.tell({"t": "refused", "what": str(error)})
            return
        match intent:
            case intents.Hello():
                self._hello(intent)
            case intents.Resync(view=view):
                self._tell_all(view)
            case intents.Ack(seq, view):
                self._channel.acked(seq, view)
            case intents.Bye(view):
                self._channel.bye(view)
                self._forms.page_left(view)
                self._unplaced.discard(view)
                self.documents.bye(view)
            case intents.Doc():
                self.documents.answered(intent)
            case intents.Answer(question, option):
                self._answer(question, option)
            case intents.Elicit():
                self._elicit(intent)
            case intents.Cancel(turn):
                self._cancel(turn)
            case intents.Prompt():
                self._attempt(self._writing.prompt(intent))
            case intents.Complete():
                self._attempt(self._complete(intent))
            case intents.Again():
                self._now(lambda: self._writing.again(intent.turn))
            case intents.Edit():
                self._attempt(self._reword(intent))
            case intents.SendNow() | intents.Move():
                self._now(lambda: self._writing.rearrange(intent))
            case intents.Mode(mode):
                self._attempt(self._set_mode(mode))
            case intents.Config(id, value):
                self._attempt(self._set_config(id, value))
            case intents.Restart():
                self._attempt(self._conversation.ready())
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
                self._conversation.host.signing.passed()
            case intents.SignOut():
                self._attempt(self._sign_out())
            case intents.Sessions() | intents.Open() | intents.Delete():
                self._conversation.host.background(self._picker.take(intent))

    async def _sign_out(self) -> None:
        await self._conversation.host.signing.logout()
        self._conversation.apply(ev.NoticeGiven("info", *SIGNED_OUT, source="client"))

    def _sign_in(self, method: str | None) -> None:
        signing = self._conversation.host.signing
        if method is None:
            signing.stop()
        else:
            self._conversation.host.background(self._signed_in(method))

    async def _signed_in(self, method: str) -> None:
        """What fails is told beside the methods, where somebody waits for them; else here."""
        try:
            await self._conversation.host.signing.authenticate(method)
        except Error as error:
            if self._snapshot().sign_in is None or isinstance(error, UsageError):
                self._refuse(error)

    def _hello(self, hello: intents.Hello) -> None:
        self._forms.page_came(hello.view, saves=hello.document)
        self.documents.hello(hello)
        pages.seen(pages.Page(hello.host, hello.document, hello.live))
        self._conversation.has_page = True
        self._conversation.permissions.questions.can_ask = True
        self._conversation.shows_sign_in = True
        self._tell_all(hello.view)
        if hello.path is not None:
            self._unplaced.add(hello.view)
            self._tell_places()

    def _tell_all(self, view: str) -> None:
        self._channel.hello(view)
        self._tell_now()
        self._forms.tell_all()

    def _cancel(self, turn: str | None) -> None:
        run = self._conversation.find_run(turn) if turn is not None else None
        if turn is None or run is not None:
            self._conversation.cancel(run)

    async def _reword(self, edit: intents.Edit) -> None:
        await self._writing.reword(edit)
        self._tell_now()

    def _now(self, work: Callable[[], None]) -> None:
        """What changes the queue at once."""
        try:
            work()
        except UsageError as error:
            self._refuse(error)
        self._tell_now()

    def _queue_changed(self) -> None:
        if self._conversation.running is not None:
            self._tell_now()
        else:
            self._later(QUEUE_S, self._tell_now)

    def _tell_now(self) -> None:
        """Beside the state: what waits, what was never sent, and how long the running turn has taken."""
        elapsed = None if self._began is None else time.monotonic() - self._began
        waiting, unsent = self._writing.waiting(), self._forms.unsent()
        self._channel.tell({"t": "now", "queue": waiting, "unsent": unsent, "elapsed": elapsed})

    def _tell_places(self) -> None:
        for view in [*self._unplaced]:
            self._conversation.host.background(self._place(view))

    async def _place(self, view: str) -> None:
        """Tell a page how its server calls the session's files, so that it can open them."""
        prefixes = await self.documents.places(view, [self._conversation.cwd])
        if prefixes and view in self._unplaced:
            self._unplaced.discard(view)
            self._channel.tell({"t": "places", "view": view, "prefixes": prefixes})

    # ---- what takes a while, and may be refused

    def _attempt(self, work: Awaitable[None]) -> None:
        self._conversation.host.background(self._attempted(work))

    async def _attempted(self, work: Awaitable[None]) -> None:
        try:
            await work
        except Error as error:
            self._refuse(error)

    def _refuse(self, error: Exception, prompt: str | None = None) -> None:
        """`prompt`: what was written and not sent; it goes back into the field."""
        back = {} if prompt is None else {"prompt": prompt}
        # A dead agent's last words stand in a place of their own.
        what = str(error).partition("\n")[0] if self._snapshot().status == "dead" else str(error)
        self._channel.tell({"t": "refused", "what": what, **back})

    async def _complete(self, wish: intents.Complete) -> None:
        offered = await self._composing.offered(wish.fragment)
        answer = {"view": wish.view, "rid": wish.rid, "fragment": wish.fragment, "offered": offered}
        self._channel.tell({"t": "offered", **answer})

    async def _change(self, operation: Operation, of: intents.OfChanges) -> None:
        """What cannot be had stands in the changes themselves; only nonsense is refused."""
        intent: dict[str, Any] = {"t": operation, "turn": of.turn, "file": of.file, "hunk": of.hunk}
        if of.files is not None:
            intent["files"] = [*of.files]
        only = None if of.files is None else frozenset(of.files)
        due = time.monotonic() + TOLD_S

        def told(at: int, of: int) -> None:
            nonlocal due
            if time.monotonic() >= due:
                due = time.monotonic() + TOLD_S
                self._channel.tell({"t": "doing", "intent": intent, "at": at, "of": of})

        self._channel.tell({"t": "doing", "intent": intent, "at": 0, "of": 0})  # it was taken
        await self._conversation.undoing.act(operation, of.turn, of.file, of.hunk, only=only, progress=told)
        self._channel.flush()  # first what came of it
        self._channel.tell({"t": "done", "intent": intent})

    async def _set_mode(self, mode: str) -> None:
        snapshot = self._snapshot()
        if (option := snapshot.mode_option) is not None:
            return await self._set_config(option.id, mode)
        if mode not in [it.id for it in snapshot.modes]:
            raise UsageError(f"this agent has no mode {mode!r}")
        await self._conversation.set_mode(mode)

    async def _set_config(self, id: str, value: str | bool) -> None:
        option = next((it for it in self._snapshot().config if it.id == id), None)
        if option is None or not option.takes(value):
            raise UsageError(f"this agent's option {id!r} cannot be {value!r}")
        await self._conversation.set_config(option, value)

    def _snapshot(self) -> Snapshot:
        return self._conversation.read(lambda transcript: transcript.snapshot())

    def _answer(self, key: str, option: str) -> None:
        """The first answer wins; a second one, from another page, is too late and harmless."""
        question = self._conversation.read(lambda transcript: transcript.find(key))
        if not isinstance(question, Question) or all(it.id != option for it in question.answers):
            self._channel.tell({"t": "refused", "what": "this question has no such answer"})
            return
        self._conversation.permissions.answer(question, option)

    def _elicit(self, intent: intents.Elicit) -> None:
        """The first answer wins; what does not fit comes back to the page, field by field."""
        key = intent.elicitation
        found = self._conversation.read(lambda transcript: transcript.find(key))
        if not isinstance(found, Elicitation):
            self._channel.tell({"t": "refused", "what": "there is no such form"})
            return
        wrong = self._conversation.elicitations.answer(found.id, intent.action, intent.values)
        if wrong:
            self._channel.tell({"t": "invalid", "elicitation": key, "errors": wrong})

    def _state(self) -> dict[str, Any]:
        return self._conversation.read(lambda transcript: transcript.plain())

    @staticmethod
    def _later(seconds: float, function: Callable[[], None]) -> object:
        return asyncio.get_running_loop().call_later(seconds, function)

    async def freeze(self) -> None:
        """Replace what is shown live by its static form, in the page."""
        await self._forms.freeze()
