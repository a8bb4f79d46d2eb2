"""Renders the static outputs of a panel, repeatedly while a turn runs, for the saved file.

A page puts them into the file when it saves; if no page does, they replace the live view. Knows neither the
protocol nor the page's messages. Runs on the loop thread; rendering itself runs on a worker thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from ... import timeouts
from ...agent.session_state import SessionState
from ...agent.spool import Stored
from ...agent.threads import on_a_thread
from ...agent.turn_queue import TurnRun
from ...core import events as ev
from ...core.page_messages import StaticOutput
from ...core.patches import Add, Patch
from ...core.records import Json
from ...core.transcript import Transcript
from ...log import logger, suppressed
from ...notebook import static_bundle
from ...notebook.output import CellOutput
from ...notebook.static_bundle import Renderer

_log = logger(__name__)

Send = Callable[[StaticOutput], None]

STATIC_S = 1.0
"""Pause between two renderings of a running turn; longer if rendering is slow."""

STATIC_SHARE = 10
"""… so that rendering takes at most a tenth of the time."""

KEPT_PARTS = 8
"""Rendered parts in memory, the newest; the others are in the session's spool."""

PARTS_AT_ONCE = 20
"""So many rendered parts are sent without a pause."""

SESSION = "session"
"""Names the output of the whole session; other outputs have the id of their turn."""

SIGN_IN = "sign-in"
"""Names the output of a sign-in that a cell waits for."""

NOT_SENT = "Agent: this prompt was not sent."
"""The page shows the same text (js/src/view/root.tsx); the cell's error says why."""

NOT_OPEN = ("starting", "signed_out", "closed")


class StaticOutputs:
    """Renders the static outputs of all turns that one panel shows."""

    def __init__(self, state: SessionState, renderer: Callable[[], Renderer], send: Send) -> None:
        self._state = state
        self._renderer = renderer
        self._send_message = send
        self._shown: dict[str, _Tracked] = {}
        self._parts: dict[str, _Part] = {}
        """The parts of the conversation that are shown, each by itself or in the whole."""
        self._in_memory: dict[str, None] = {}
        """The parts whose rendered form is in memory, oldest first."""
        self._changed: set[str] = set()
        """The keys of items that changed since then."""
        self._all_changed = False
        self._stale: set[str] = set()
        """The parts with such items."""
        self._numbers = itertools.count(1)
        self._saving_pages: set[str] = set()
        """The views whose page puts static outputs into the file."""
        self._refreshing = False
        self._wake = asyncio.Event()
        self._page_connected = asyncio.Event()

    def track(self, name: str, run: TurnRun | None, model: str, output: CellOutput) -> None:
        """Render this output from now on, as long as its content changes. `model`: the id of its widget."""
        shown = self._shown.setdefault(name, _Tracked(name, run))
        shown.outputs.append((model, output))
        shown.final = False
        if run is not None:
            run.done.add_done_callback(lambda _: self._state.agent.loop.post(self._wake.set))
        self._wake.set()
        self._refresh()

    def untrack(self, name: str) -> None:
        """Stop rendering it; what is displayed stays."""
        self._shown.pop(name, None)

    def on_changed(self, event: ev.Event, patches: Sequence[Patch]) -> None:
        """Note what has to be rendered again."""
        for patch in patches:
            self._changed.add(patch.item["key"] if isinstance(patch, Add) else patch.key)
        if isinstance(event, ev.PlanRemoved):  # the newest turn has an item less
            self._changed.add(self._state.read(lambda it: it.current_turn or ""))
        elif isinstance(event, ev.HistoryCleared):
            self._all_changed = True

    def hurry(self) -> None:
        """Render now what changed: a turn has ended, and users save then."""
        self._wake.set()

    def invalidate(self, name: str) -> None:
        if name in self._shown:
            self._shown[name].final = False
            self._refresh()

    def invalidate_turn(self, key: str) -> None:
        """Render the turn again, wherever it is shown; it may have ended long ago."""
        for name in [it.name for it in self._shown.values() if it.run and it.run.key == key]:
            self.invalidate(name)

    def on_page_connected(self, view: str, *, saves: bool) -> None:
        if saves:
            self._saving_pages.add(view)
        self._page_connected.set()

    def on_page_closed(self, view: str) -> None:
        self._saving_pages.discard(view)

    def send_all(self) -> None:
        """Send all static outputs to a page that has just connected.

        Many are sent some at a time, so that everything else that the loop does goes on meanwhile.
        """
        self._send_parts(iter([*self._parts]))

    def _send_parts(self, names: Iterator[str]) -> None:
        some = [*itertools.islice(names, PARTS_AT_ONCE)]
        for name in some:
            if (part := self._parts.get(name)) is not None:
                self._send_part(name, part)
        if len(some) == PARTS_AT_ONCE:
            asyncio.get_running_loop().call_soon(self._send_parts, names)
            return
        for shown in self._shown.values():
            if shown.name not in self._parts:
                self._send(shown)

    def unsent_turns(self) -> list[str]:
        """The shown turns that ended before they were sent."""
        return [it.name for it in self._shown.values() if it.run is not None and _is_unsent(it.run)]

    async def freeze(self) -> None:
        """Replace the live views in the page with their static outputs."""
        for shown in [*self._shown.values()]:
            shown.frozen = len(shown.outputs)
            await self._render(shown)
            if (part := self._parts.get(shown.name)) is not None:
                self._send_part(shown.name, part)  # no longer in a place where a page would show it live
            self._replace(shown)

    def _refresh(self) -> None:
        """Start rendering, unless that is under way."""
        if not self._refreshing and self._not_final():
            self._refreshing = True
            self._state.agent.background(self._render_until_final())

    def _not_final(self) -> list[_Tracked]:
        return [shown for shown in self._shown.values() if not shown.final]

    async def _render_until_final(self) -> None:
        """Render repeatedly while a shown turn runs, and once more when it has ended."""
        try:
            while stale := self._not_final():
                self._wake.clear()
                began = time.monotonic()
                for shown in stale:
                    await self._render(shown)
                pause = max(STATIC_S, STATIC_SHARE * (time.monotonic() - began))
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), pause)
        finally:
            self._refreshing = False

    async def _render(self, shown: _Tracked) -> None:
        shown.final = shown.run is None or shown.run.done.done()
        if shown.name == SIGN_IN:
            shown.bundle = static_bundle.note(self._sign_in_text())
        elif shown.run is not None and _is_unsent(shown.run):
            shown.bundle = static_bundle.note(NOT_SENT)
        elif shown.run is None:
            await self._render_whole(shown)
        elif (key := shown.run.key) is None:
            shown.bundle = static_bundle.note(static_bundle.NOTHING_YET)
        else:
            self._note_stale()
            await self._render_part(shown.name, lambda it: it.turn_plain(key))
            shown.bundle = None
        if shown.name not in self._parts:
            self._send(shown, again=False)
        if shown.run is not None and shown.final and (shown.frozen or not await self._page_saves()):
            # No page will put it into the file, so it replaces the live view.
            self._replace(shown)

    def _sign_in_text(self) -> str:
        header = self._state.read(lambda transcript: transcript.header())
        name = self._state.agent.name
        if header.sign_in is not None:
            return f"{name} is waiting for a sign-in."
        return f"{name}: not signed in." if header.status in NOT_OPEN else f"{name}: signed in."

    async def _page_saves(self) -> bool:
        """Whether a page puts static outputs into the file. Waits for a page that is still loading."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._page_connected.wait(), timeouts.get().static_output)
        return bool(self._saving_pages)

    async def _render_whole(self, shown: _Tracked) -> None:
        """Render the parts of the conversation that have changed, and what joins them."""
        self._note_stale()
        shown.parts = self._state.read(lambda it: it.part_names())
        redaction = self._renderer().redaction
        for name in shown.parts:
            if self._is_stale(name, redaction):
                await self._render_part(name, partial(Transcript.part_plain, name=name))
        shown.bundle = static_bundle.composed(self._renderer().head(shown.parts), {})

    def _note_stale(self) -> None:
        """Note the parts whose items changed."""
        changed, self._changed = self._changed, set()
        self._stale |= self._state.read(lambda it: it.parts_of(changed))
        if self._all_changed:
            self._all_changed = False
            self._stale |= self._parts.keys()

    def _is_stale(self, name: str, redaction: object) -> bool:
        known = self._parts.get(name)
        return known is None or name in self._stale or known.redaction != redaction

    async def _render_part(self, name: str, read: Callable[[Transcript], list[dict[str, Json]]]) -> None:
        """Render a part and send it, unless it is the same as before."""
        renderer = self._renderer()
        if not self._is_stale(name, renderer.redaction):
            return
        self._stale.discard(name)  # what changes from now on makes it stale again
        items, number = self._state.read(read), next(self._numbers)
        bundle, reference = await on_a_thread(lambda: (renderer.part(name, items), renderer.reference(items)))
        known = self._parts.get(name)
        if known is not None and known.number > number:
            return  # meanwhile, it was rendered from newer items
        part = self._parts[name] = _Part(number, reference, renderer.redaction, bundle)
        self._keep_newest(name)
        self._send_part(name, part)

    def _keep_newest(self, name: str) -> None:
        """Move the rendered forms of older parts to the spool."""
        self._in_memory.pop(name, None)
        self._in_memory[name] = None
        while len(self._in_memory) > KEPT_PARTS:
            oldest = next(iter(self._in_memory))
            del self._in_memory[oldest]
            part = self._parts[oldest]
            with suppressed(_log, OSError, UnicodeError):  # no room, or half a character: it stays in memory
                part.stored, part.bundle = self._state.spool.keep(msgspec.json.encode(part.bundle)), {}

    def _bundle(self, part: _Part) -> dict[str, Any]:
        """The part as it was rendered."""
        if part.stored is None:
            return part.bundle
        bundle: dict[str, Any] = msgspec.json.decode(self._state.spool.get(part.stored))
        return bundle

    def _replace(self, shown: _Tracked) -> None:
        """Replace the live views by what was rendered."""
        if (part := self._parts.get(shown.name)) is not None:
            shown.replace(self._bundle(part))
        elif shown.run is None and shown.name == SESSION:
            parts = {name: self._bundle(self._parts[name]) for name in shown.parts}
            shown.replace(static_bundle.composed(self._renderer().head(shown.parts), parts))
        else:
            shown.replace(shown.bundle or {})

    def _send_part(self, name: str, part: _Part) -> None:
        places = self._shown[name].places() if name in self._shown else []
        self._send_message(StaticOutput(name, self._bundle(part), part.reference, places=places))

    def _send(self, shown: _Tracked, *, again: bool = True) -> None:
        if shown.bundle is None:
            return
        message = StaticOutput(shown.name, shown.bundle, parts=shown.parts, places=shown.places())
        if again or message != shown.sent:
            shown.sent = message
            self._send_message(message)


def _is_unsent(run: TurnRun) -> bool:
    return run.key is None and run.done.done()


class _Part:
    """A rendered part of the conversation."""

    __slots__ = ("bundle", "number", "redaction", "reference", "stored")

    def __init__(self, number: int, reference: str, redaction: object, bundle: dict[str, Any]) -> None:
        self.number = number
        self.reference = reference
        self.redaction = redaction
        self.bundle = bundle
        self.stored: Stored | None = None
        """Where the bundle is, if not in memory."""


class _Tracked:
    """The static output of a turn, in one or several cells; without a run, of the whole session."""

    def __init__(self, name: str, run: TurnRun | None) -> None:
        self.name = name
        self.run = run
        self.outputs: list[tuple[str, CellOutput]] = []
        """With the model ids of their widgets; a session's widget can be in several cells."""
        self.bundle: dict[str, Any] | None = None
        """What is rendered, unless it is a part; of a session, what joins the parts."""
        self.parts: list[str] = []
        self.sent: StaticOutput | None = None
        """The last message about it, unless it is a part."""
        self.final = False
        self.frozen = 0
        """How many of the outputs are static for good; those that are added later are live."""

    def places(self) -> list[list[str]]:
        """The models and cells that show it, as far as the cells are known."""
        live = self.outputs[self.frozen :]
        return [[model, it.cell] for model, it in live if it.cell and it.is_current]

    def replace(self, bundle: dict[str, Any]) -> None:
        for _, output in self.outputs:
            output.update(bundle)
