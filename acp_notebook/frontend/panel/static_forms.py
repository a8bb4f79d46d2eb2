"""The static forms of what a panel shows: made anew while a turn is on its way, and kept for the file.

A page puts them into the file when that is saved; where no page does, they replace what is shown. Knows no
protocol and no message of a page's. Lives on the loop thread; a form itself is made on another.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any

from ...agent.conversation import Conversation
from ...agent.threads import on_a_thread
from ...agent.turn_queue import TurnRun
from ...core.records import Json
from ...notebook import static
from ...notebook.output import Output

Tell = Callable[[dict[str, Any]], None]

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

SIGN_IN = "sign-in"
"""… and what a sign-in goes by, that a cell waits for."""

NOT_SENT = "Agent: this prompt was not sent."
"""What the page says, too (js/src/view/root.tsx); why is in the error that the cell shows."""

NOT_OPEN = ("starting", "signed_out", "closed")


class StaticForms:
    """Makes the static outputs of all turns that one panel shows."""

    def __init__(
        self, conversation: Conversation, bundle: Bundle, tell: Callable[[dict[str, Any]], None]
    ) -> None:
        self._conversation = conversation
        self._bundle = bundle
        self._tell = tell
        self._shown: dict[str, _Shown] = {}
        self._saving: set[str] = set()
        """Pages that put static forms into the file."""
        self._refreshing = False
        self._wake = asyncio.Event()
        self._heard = asyncio.Event()

    def follow(self, name: str, run: TurnRun | None, output: Output) -> None:
        """From now on the output has a form, for as long as what it shows changes."""
        shown = self._shown.setdefault(name, _Shown(name, run))
        shown.outputs.append(output)
        shown.final = False
        if run is not None:
            run.done.add_done_callback(lambda _: self._conversation.host.loop.post(self._wake.set))
        self._wake.set()
        self._refresh()

    def leave(self, name: str) -> None:
        """It is shown in another way; what stands for it here stays as it is."""
        self._shown.pop(name, None)

    def outdate(self, name: str) -> None:
        if name in self._shown:
            self._shown[name].final = False
            self._refresh()

    def outdate_turn(self, key: str) -> None:
        """Wherever the turn is shown; it may have ended long ago."""
        for name in [it.name for it in self._shown.values() if it.run and it.run.key == key]:
            self.outdate(name)

    def page_came(self, view: str, *, saves: bool) -> None:
        if saves:
            self._saving.add(view)
        self._heard.set()

    def page_left(self, view: str) -> None:
        self._saving.discard(view)

    def tell_all(self) -> None:
        """To a page that has only just come."""
        for shown in self._shown.values():
            self._tell_one(shown)

    def unsent(self) -> list[str]:
        """The turns that are shown and over, though they never began."""
        return [it.name for it in self._shown.values() if it.run is not None and _is_unsent(it.run)]

    async def freeze(self) -> None:
        """Replace what is shown live by its static form, in the page."""
        for shown in [*self._shown.values()]:
            shown.frozen = True
            await self._make(shown)
            shown.replace()

    def _refresh(self) -> None:
        """Make the forms anew, soon, and not more often than is worth it."""
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
        elif shown.run is not None and _is_unsent(shown.run):
            shown.bundle = static.note(NOT_SENT)
        else:
            items = self._items(shown.run)
            shown.bundle = await on_a_thread(lambda: self._bundle(items))
        self._tell_one(shown)
        if shown.run is not None and shown.final and (shown.frozen or not await self._page_saves()):
            # Nobody puts it into the file when that is saved: so it is put into the page.
            shown.replace()

    def _sign_in_text(self) -> str:
        snapshot = self._conversation.read(lambda transcript: transcript.snapshot())
        name = self._conversation.host.name
        if snapshot.sign_in is not None:
            return f"{name} waits for a sign-in."
        return f"{name}: not signed in." if snapshot.status in NOT_OPEN else f"{name}: signed in."

    async def _page_saves(self) -> bool:
        """Whether a page puts the forms into the file; one that is only just loading is waited for."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._heard.wait(), HELLO_S)
        return bool(self._saving)

    def _items(self, run: TurnRun | None) -> list[dict[str, Json]]:
        key = None if run is None else run.key
        if run is not None and key is None:
            return []
        return self._conversation.read(lambda it: it.plain()["items"] if key is None else it.turn_plain(key))

    def _tell_one(self, shown: _Shown) -> None:
        if shown.bundle is not None:
            self._tell({"t": "static", "turn": shown.name, "bundle": shown.bundle})


def _is_unsent(run: TurnRun) -> bool:
    return run.key is None and run.done.done()


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
