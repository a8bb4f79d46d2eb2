"""A session's face in the notebook: joins a conversation with its widgets.

Patches go out, intents come in, and every turn that is shown has a static form for the file. Knows
neither the protocol nor how a page draws. Made on the thread that displays; all else is done on the
loop thread, which is the only one that writes to the widgets.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from .agent.conversation import Conversation
from .agent.threads import on_a_thread
from .agent.turn_queue import TurnRun
from .agent.undo.undoing import Deed
from .composing import Composing
from .core import events as ev
from .core import intents
from .core.patches import Patch
from .core.prompt import words_of
from .core.records import Content, Json
from .core.snapshot import Elicitation, Question, Snapshot, TurnStart
from .errors import Error, UsageError
from .notebook import pages, static
from .notebook.channel import Channel
from .notebook.live import Documents
from .notebook.output import Output
from .notebook.widget import SessionWidget, TurnWidget, view_bundle
from .picking import Picker

if TYPE_CHECKING:
    from .running_agent import Agent

Bundle = Callable[[list[dict[str, Json]]], dict[str, Any]]
"""From a turn's items to what the file keeps of them."""

STATIC_S = 1.0
"""How old the static form of a running turn may be, at least; longer where making it takes long."""

STATIC_SHARE = 10
"""… so that it takes at most a tenth of the time."""

HELLO_S = 10.0
"""For a page to load the first widget: a turn may well be over before that, and is yet shown live."""

QUEUE_S = 0.3
"""A prompt that has not begun after this waits for something: for the agent to start again, say."""

QUEUED_CHARS = 8000
"""Of a prompt that waits: enough to know it; one that is longer cannot be edited in the page."""

AWAITED = (
    ev.TurnEnded,
    ev.QuestionAsked,
    ev.QuestionSettled,
    ev.ElicitationOpened,
    ev.ElicitationSettled,
)
"""What people wait for does not wait for the next batch."""

SESSION = "session"
"""What the static form of the whole session goes by, beside the turns' ids."""

SIGN_IN = "sign-in"
"""… and what a sign-in goes by, that a cell waits for."""

NOT_OPEN = ("starting", "signed_out", "closed")


class Panel:
    """One session's widgets."""

    def __init__(self, conversation: Conversation, *, bundle: Bundle, openings: Agent) -> None:
        self._conversation = conversation
        self._bundle = bundle
        self._home = conversation.host.home
        self._widget = SessionWidget(lambda message: self._home.post(self._received, message))
        self._channel = Channel(self._widget.send, self._state, self._later)
        self._picker = Picker(conversation, openings, self._channel.tell)
        self.documents = Documents(self._widget.send, on_a_thread)
        self.documents.expect()
        self._composing = Composing(conversation, self.documents)
        self._writing = asyncio.Lock()
        self._shown: dict[str, _Shown] = {}
        self._documents: set[str] = set()
        self._unplaced: set[str] = set()
        """Pages that were not told yet what their server calls the session's files."""
        self._began: float | None = None
        self._refreshing = False
        self._wake = asyncio.Event()
        self._heard = asyncio.Event()
        self._home.post(self._listen)

    # ---- on the thread that displays ----------------------------------------------------------

    def show_turn(self, run: TurnRun) -> None:
        """The turn, live, below the cell that asks for it."""
        widget = TurnWidget(self._widget, run.id)
        output = Output.display(view_bundle(widget, f"<turn {run.id}>"))
        self._home.post(self._follow, run.id, run, output)

    def show(self) -> None:
        """The whole session, live."""
        output = Output.display(view_bundle(self._widget, "<session>"))
        self._home.post(self._follow, SESSION, None, output)

    def show_sign_in(self) -> None:
        """What the agent wants before there is a session, below the cell that waits for one."""
        output = Output.display(view_bundle(TurnWidget(self._widget, SIGN_IN), "<sign-in>"))
        self._home.post(self._follow, SIGN_IN, None, output)

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
        self._home.post(self._shown.pop, run.id, None)

    # ---- on the loop thread -------------------------------------------------------------------

    def _listen(self) -> None:
        if self._conversation.running is not None:  # it began just now: its cell makes the panel
            self._began = time.monotonic()
        self._conversation.listen(self._changed)
        self._conversation.queue.changed = self._queue_changed
        self._conversation.hands.notebooks.live = self.documents

    def _follow(self, name: str, run: TurnRun | None, output: Output) -> None:
        shown = self._shown.setdefault(name, _Shown(name, run))
        shown.outputs.append(output)
        shown.final = False
        if run is not None:
            run.done.add_done_callback(lambda _: self._home.post(self._wake.set))
        self._wake.set()
        self._refresh()

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
            self._outdate(SIGN_IN)
        if isinstance(event, ev.ChangesReplaced):  # undone, perhaps long after the turn
            for name in [it.name for it in self._shown.values() if it.run and it.run.key == event.turn]:
                self._outdate(name)
        self._outdate(SESSION)

    def _outdate(self, name: str) -> None:
        if name in self._shown:
            self._shown[name].final = False
            self._refresh()

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
                self._documents.discard(view)
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
                self._attempt(self._prompted(intent))
            case intents.Complete():
                self._attempt(self._complete(intent))
            case intents.Again(turn):
                self._again(turn)
            case intents.Edit():
                self._attempt(self._reworded(intent))
            case intents.SendNow() | intents.Move():
                self._rearrange(intent)
            case intents.Mode(mode):
                self._attempt(self._set_mode(mode))
            case intents.Config(id, value):
                self._attempt(self._set_config(id, value))
            case intents.Restart():
                self._attempt(self._conversation.ready())
            case intents.Undo(turn, file, hunk):
                self._attempt(self._change("undo", turn, file, hunk))
            case intents.Redo(turn, file, hunk):
                self._attempt(self._change("redo", turn, file, hunk))
            case intents.Keep(turn, file, hunk):
                self._attempt(self._change("keep", turn, file, hunk))
            case intents.SignIn(method):
                self._sign_in(method)
            case intents.SignedIn():
                self._conversation.host.signing.passed()
            case intents.SignOut():
                self._attempt(self._conversation.host.signing.logout())
            case intents.Sessions() | intents.Open() | intents.Delete():
                self._conversation.host.background(self._picker.take(intent))

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
        if hello.document:
            self._documents.add(hello.view)
        self.documents.hello(hello)
        pages.seen(pages.Page(hello.host, hello.document, hello.live))
        self._heard.set()
        self._conversation.has_page = True
        self._conversation.permits.questions.can_ask = True
        self._conversation.shows_sign_in = True
        self._tell_all(hello.view)
        if hello.path is not None:
            self._unplaced.add(hello.view)
            self._tell_places()

    def _tell_all(self, view: str) -> None:
        self._channel.hello(view)
        self._tell_now()
        for shown in self._shown.values():
            self._tell_static(shown)

    def _cancel(self, turn: str | None) -> None:
        run = self._conversation.find_run(turn) if turn is not None else None
        if turn is None or run is not None:
            self._conversation.cancel(run)

    async def _prompted(self, prompt: intents.Prompt) -> None:
        """In the order in which they were written, though what one mentions may take its time."""
        async with self._writing:
            try:
                content, notes = await self._composing.content(prompt.text, prompt.images)
            except Error as error:
                self._refuse(error, prompt.text)
            else:
                self._prompt(content, notes)

    def _prompt(self, content: tuple[Content, ...], notes: Sequence[str]) -> None:
        """What the user wrote in the page becomes a turn, now or after those before it."""
        conversation = self._conversation
        for note in notes:
            conversation.apply(ev.NoticeGiven("warning", note, source="client"))
        run = conversation.new_run(content)
        run.done.add_done_callback(lambda _: self._home.post(self._left_queue, run))
        conversation.start_turn(run)

    def _left_queue(self, run: TurnRun) -> None:
        """A turn that never began shows nowhere else."""
        error = run.done.result()
        if run.key is None and error is not None:
            self._refuse(error)

    def _again(self, turn: str) -> None:
        """The same prompt, as a turn of its own."""
        items = self._snapshot().items
        found = (it for it in items if isinstance(it, TurnStart) and it.id == turn and it.status == "failed")
        failed = next(found, None)
        if failed is None:
            self._refuse(UsageError("this turn has not failed"))
            return
        self._conversation.start_turn(self._conversation.new_run(failed.prompt))
        self._tell_now()

    async def _reworded(self, edit: intents.Edit) -> None:
        """Other words for a prompt that waits, and what they mention that it did not mention before."""
        queue = self._conversation.queue
        async with self._writing:
            run = queue.find(edit.turn)
            more, notes = await self._composing.added(words_of(run.content), edit.text)
            queue.edit(run, edit.text)
            run.content = (*run.content, *more)
        for note in notes:
            self._conversation.apply(ev.NoticeGiven("warning", note, source="client"))
        self._tell_now()

    def _rearrange(self, intent: intents.SendNow | intents.Move) -> None:
        conversation = self._conversation
        try:
            run = conversation.queue.find(intent.turn)
            match intent:
                case intents.SendNow():
                    conversation.send_now(run)
                case intents.Move(to=to):
                    conversation.queue.move(run, to)
        except UsageError as error:  # it was sent meanwhile
            self._refuse(error)
        self._tell_now()

    def _queue_changed(self) -> None:
        if self._conversation.running is not None:
            self._tell_now()
        else:
            self._later(QUEUE_S, self._tell_now)

    def _tell_now(self) -> None:
        """What stands beside the state: the prompts that wait, and how long the running turn has taken."""
        queue = [_queued(run) for run in self._conversation.queue.waiting]
        elapsed = None if self._began is None else time.monotonic() - self._began
        self._channel.tell({"t": "now", "queue": queue, "elapsed": elapsed})

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
        self._channel.tell({"t": "refused", "what": str(error), **back})

    async def _complete(self, wish: intents.Complete) -> None:
        offered = await self._composing.offered(wish.fragment)
        answer = {"view": wish.view, "rid": wish.rid, "fragment": wish.fragment, "offered": offered}
        self._channel.tell({"t": "offered", **answer})

    async def _change(self, deed: Deed, turn: str | None, file: str | None, hunk: str | None) -> None:
        """What cannot be had stands in the changes themselves; only nonsense is refused."""
        await self._conversation.undoing.act(deed, turn, file, hunk)
        self._channel.flush()  # first what came of it
        self._channel.tell({"t": "done", "intent": {"t": deed, "turn": turn, "file": file, "hunk": hunk}})

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
        if not isinstance(question, Question) or option not in question.answers:
            self._channel.tell({"t": "refused", "what": "this question has no such answer"})
            return
        self._conversation.permits.answer(question, option)

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

    # ---- static forms -------------------------------------------------------------------------

    def _refresh(self) -> None:
        """Make the static forms of the shown turns anew, soon, and not more often than is worth it."""
        if not self._refreshing and self._stale():
            self._refreshing = True
            self._conversation.host.background(self._keep_fresh())

    def _stale(self) -> list[_Shown]:
        return [shown for shown in self._shown.values() if not shown.final]

    async def _keep_fresh(self) -> None:
        """As long as a shown turn is on its way; then once more, for good."""
        try:
            while stale := self._stale():
                self._wake.clear()
                began = time.monotonic()
                for shown in stale:
                    await self._make(shown)
                pause = max(STATIC_S, STATIC_SHARE * (time.monotonic() - began))
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), pause)
        finally:
            self._refreshing = False

    async def _make(self, shown: _Shown) -> None:
        shown.final = shown.run is None or shown.run.done.done()
        if shown.name == SIGN_IN:
            shown.bundle = static.note(self._sign_in_text())
        else:
            items = self._items(shown.run)
            shown.bundle = await on_a_thread(lambda: self._bundle(items))
        self._tell_static(shown)
        if shown.run is not None and shown.final and (shown.frozen or not await self._page_saves()):
            # Nobody puts it into the file when that is saved: so it is put into the page.
            shown.replace()

    def _sign_in_text(self) -> str:
        snapshot = self._snapshot()
        name = self._conversation.host.name
        if snapshot.sign_in is not None:
            return f"{name} waits for a sign-in."
        return f"{name}: not signed in." if snapshot.status in NOT_OPEN else f"{name}: signed in."

    async def _page_saves(self) -> bool:
        """Whether a page puts the static forms into the file; one that is only just loading is waited for."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._heard.wait(), HELLO_S)
        return bool(self._documents)

    def _items(self, run: TurnRun | None) -> list[dict[str, Json]]:
        key = None if run is None else run.key
        if run is not None and key is None:
            return []
        return self._conversation.read(lambda it: it.plain()["items"] if key is None else it.turn_plain(key))

    def _tell_static(self, shown: _Shown) -> None:
        if shown.bundle is not None:
            self._channel.tell_surely({"t": "static", "turn": shown.name, "bundle": shown.bundle})

    async def freeze(self) -> None:
        """Replace what is shown live by its static form, in the page."""
        for shown in [*self._shown.values()]:
            shown.frozen = True
            await self._make(shown)
            shown.replace()


def _queued(run: TurnRun) -> dict[str, Json]:
    text = words_of(run.content)
    more = len(run.content) - bool(text)
    return {"turn": run.id, "text": text[:QUEUED_CHARS], "more": more, "cut": len(text) > QUEUED_CHARS}


class _Shown:
    """A turn below a cell, or several, and its static form; without a run, the whole session."""

    def __init__(self, name: str, run: TurnRun | None) -> None:
        self.name = name
        self.run = run
        self.outputs: list[Output] = []
        self.bundle: dict[str, Any] | None = None
        self.final = False
        self.frozen = False

    def replace(self) -> None:
        for output in self.outputs:
            output.update(self.bundle or {})
