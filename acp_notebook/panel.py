"""A session's face in the notebook: joins a conversation with its widgets.

Patches go out, intents come in, and every turn that is shown has a static form for the file. Knows
neither the protocol nor how a page draws. Made on the thread that displays; all else is done on the
loop thread, which is the only one that writes to the widgets.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any

from .agent import loop
from .agent.conversation import Conversation, TurnRun
from .agent.threads import on_a_thread
from .core import events as ev
from .core import intents
from .core.patches import Patch
from .core.records import Json, Text
from .core.snapshot import Question
from .notebook.channel import Channel
from .notebook.output import Output
from .notebook.widget import SessionWidget, TurnWidget, view_bundle

Bundle = Callable[[list[dict[str, Json]]], dict[str, Any]]
"""From a turn's items to what the file keeps of them."""

STATIC_S = 1.0
"""How old the static form of a running turn may be, at least; longer where making it takes long."""

STATIC_SHARE = 10
"""… so that it takes at most a tenth of the time."""

HELLO_S = 10.0
"""For a page to load the first widget: a turn may well be over before that, and is yet shown live."""

SESSION = "session"
"""What the static form of the whole session goes by, beside the turns' ids."""


class Panel:
    """One session's widgets."""

    def __init__(self, conversation: Conversation, *, bundle: Bundle) -> None:
        self._conversation = conversation
        self._bundle = bundle
        self._home = conversation.host.home
        self._widget = SessionWidget(lambda message: self._home.post(self._received, message))
        self._channel = Channel(self._widget.send, self._state, self._later)
        self._shown: dict[str, _Shown] = {}
        self._documents: set[str] = set()
        self._refreshing = False
        self._wake = asyncio.Event()
        self._heard = asyncio.Event()
        self._home.post(conversation.listen, self._changed)

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

    # ---- on the loop thread -------------------------------------------------------------------

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
        if isinstance(event, ev.TurnEnded | ev.QuestionAsked | ev.QuestionSettled):
            self._channel.flush()  # what people wait for does not wait for the next batch
        if SESSION in self._shown:
            self._shown[SESSION].final = False
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
            case intents.Resync():
                self._tell_all()
            case intents.Ack(seq):
                self._channel.acked(seq)
            case intents.Bye(view):
                self._documents.discard(view)
            case intents.Answer(question, option):
                self._answer(question, option)
            case intents.Cancel(turn):
                self._cancel(turn)
            case intents.Prompt(text):
                self._conversation.start_turn(self._conversation.new_run((Text(text),)))

    def _hello(self, hello: intents.Hello) -> None:
        if hello.document:
            self._documents.add(hello.view)
        self._heard.set()
        self._conversation.questions.can_ask = True
        self._tell_all()

    def _tell_all(self) -> None:
        self._channel.hello()
        for shown in self._shown.values():
            self._tell_static(shown)

    def _cancel(self, turn: str | None) -> None:
        run = self._conversation.find_run(turn) if turn is not None else None
        if turn is None or run is not None:
            self._conversation.cancel(run)

    def _answer(self, key: str, option: str) -> None:
        """The first answer wins; a second one, from another page, is too late and harmless."""
        question = self._conversation.read(lambda transcript: transcript.find(key))
        if not isinstance(question, Question) or not any(it.id == option for it in question.options):
            self._channel.tell({"t": "refused", "what": "this question has no such answer"})
            return
        self._conversation.questions.settle(question.id, option, question.options, by="user")

    def _state(self) -> dict[str, Any]:
        return self._conversation.read(lambda transcript: transcript.plain())

    @staticmethod
    def _later(seconds: float, function: Callable[[], None]) -> object:
        return loop.get().call_later(seconds, function)

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
        items = self._items(shown.run)
        shown.bundle = await on_a_thread(lambda: self._bundle(items))
        self._tell_static(shown)
        if shown.run is not None and shown.final and (shown.frozen or not await self._page_saves()):
            # Nobody puts it into the file when that is saved: so it is put into the page.
            shown.replace()

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
            self._channel.tell({"t": "static", "turn": shown.name, "bundle": shown.bundle})

    async def freeze(self) -> None:
        """Replace what is shown live by its static form, in the page."""
        for shown in [*self._shown.values()]:
            shown.frozen = True
            await self._make(shown)
            shown.replace()


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
