"""Displays a fan-out: one live table in a page, one static table in a headless run, as text in a terminal.

One widget and one connection for all runs: changes are collected and sent a few times a second. What the page
writes into the file is rendered here. Runs on the loop thread; rendering itself runs on a worker thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Protocol

from msgspec.structs import replace

from .. import timeouts
from ..agent import loop
from ..agent.threads import on_a_thread
from ..core.changes import FileChange
from ..core.fan_out import messages as msg
from ..core.fan_out.rows import Progress, Row
from ..core.fan_out.table import to_bundle, to_text
from ..core.intents import BadIntent
from ..core.page_messages import to_wire
from ..core.snapshot import Snapshot
from ..errors import Error, UsageError
from ..log import logger
from ..notebook.kernel import where
from ..notebook.output import CellOutput, current_request, emit
from ..notebook.runtime import for_page

_log = logger(__name__)

UPDATE_S = 0.2
"""Time between two messages about changed rows, however many have changed."""

DETAILS_S = 0.7
"""Pause between two renderings of the open rows whose runs go on; longer if rendering is slow."""

STATIC_S = 1.0
"""Pause between two renderings for the file while runs go on; longer if rendering is slow."""

SHARE = 10
"""… so that rendering takes at most a tenth of the time."""

CHUNK = 2_000
"""Rows of one message: some 400 kB."""

NOTE = "Fan-out: nothing to show yet."
"""What the file keeps until the table was rendered."""


class ShownRun(Protocol):
    """What displaying a run needs of it."""

    @property
    def transcript(self) -> Snapshot: ...

    @property
    def session(self) -> Any: ...

    @property
    def changes(self) -> Sequence[FileChange]: ...

    @property
    def row(self) -> Row: ...

    applied: Any

    def apply(self) -> Any: ...


class ShownRuns(Protocol):
    """What displaying a fan-out needs of it. Its methods can be called from any thread."""

    _shown_by: str | None

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> ShownRun: ...

    def rows(self, indexes: Iterable[int] | None = None) -> tuple[Row, ...]: ...

    @property
    def progress(self) -> Progress: ...

    @property
    def done(self) -> bool: ...

    def on_change(self, callback: Callable[[frozenset[int]], None]) -> Callable[[], None]: ...

    def wait(self) -> Any: ...

    def cancel(self) -> None: ...


def present_runs(runs: ShownRuns) -> Callable[[], None]:
    """Display the runs below the cell that waits for them; call what it returns when they have ended."""
    place = where()
    request = current_request() if place.kernel or place.terminal else None
    if request is None or request == runs._shown_by or runs.done:
        return lambda: None
    if not (place.main_thread or place.subshell):
        return lambda: None  # from another thread, the output would appear below an arbitrary cell
    runs._shown_by = request
    if place.terminal:
        return lambda: print(to_text(runs.rows()))
    if place.headless is True and not place.page_later:
        return lambda: emit(to_bundle(runs.rows()))
    RunsOutput(runs)
    return lambda: None


def display_runs(runs: ShownRuns) -> None:
    """Display the runs as the value of a cell, and not twice below the same one.

    In a headless run, this waits for their end: nobody sees a table that grows, and the file gets one."""
    place = where()
    request = current_request() if place.kernel or place.terminal else None
    if request is not None and request == runs._shown_by:
        return
    if place.kernel and place.headless is True and not place.page_later and not runs.done:
        runs.wait()
        return  # the wait has shown them
    runs._shown_by = request
    if place.page_later or (place.kernel and place.headless is not True):
        RunsOutput(runs)
    elif place.terminal:
        print(to_text(runs.rows()))
    else:
        emit(to_bundle(runs.rows()))


_newest: dict[str, str | None] = {}
"""The newest request that displayed a table, by the id of its cell."""


def _is_first_of(cell: str | None) -> bool:
    """Whether the cell displays its first table in this run. Call this once for each table."""
    if cell is None:
        return False
    request = current_request()
    before, _newest[cell] = _newest.get(cell), request
    return before is None or before != request


class RunsOutput:
    """Connects the table of one cell with its runs."""

    def __init__(self, runs: ShownRuns) -> None:
        from ..notebook.widget import RunsWidget, view_bundle  # scripts have no widgets

        self._runs = runs
        self._widget = RunsWidget(NOTE, self._receive)
        self._output = CellOutput.display(view_bundle(self._widget, NOTE))
        self._is_first = _is_first_of(self._output.cell)
        """The first table of its cell is found by the cell's id; the file needs no random ids for it."""
        self._open: dict[str, frozenset[int]] = {}
        """The open rows of each page."""
        self._shown: dict[int, msg.RunDetails] = {}
        """What open rows show."""
        self._detailing = False
        self._wake = asyncio.Event()
        self._saving_pages: set[str] = set()
        self._page_came = False
        self._seq = 0
        self._changed: set[int] = set()
        self._updating = False
        self._rendering = False
        self._stale = True
        """Rows have changed since the static form was rendered."""
        self._bundle: dict[str, Any] | None = None
        self._forget = runs.on_change(self._on_change)
        loop.get().call_soon_threadsafe(self._start)

    def _start(self) -> None:
        self._render_static()

    # ---- from the page --------------------------------------------------------------------------

    def _receive(self, message: Any) -> None:
        """Called on whichever thread the kernel handles comms."""
        loop.get().call_soon_threadsafe(self._on_message, message)

    def _on_message(self, message: Any) -> None:
        try:
            intent = msg.parse(message)
        except BadIntent as error:
            _log.warning("a page sent an invalid message: %s", error)
            return
        match intent:
            case msg.StopRuns():
                self._runs.cancel()
            case msg.TableBye(view):
                self._open.pop(view, None)
                self._saving_pages.discard(view)
            case msg.TableSync():
                self._on_sync(intent)
            case msg.ApplyRun(run):
                loop.submit(self._do(run, lambda run: run.apply()))
            case msg.ChangeRun(run, operation, file, hunk):
                loop.submit(self._do(run, lambda run: _changed(run, operation, file, hunk)))

    def _on_sync(self, sync: msg.TableSync) -> None:
        self._page_came = True
        if sync.document:
            self._saving_pages.add(sync.view)
        before = self._open.get(sync.view, frozenset())
        self._open[sync.view] = frozenset(it for it in sync.open if 0 <= it < len(self._runs))
        fresh = self._open[sync.view] - before
        if sync.have != self._seq or not self._seq:
            self._send_all()
            fresh = self._open[sync.view]
        for run in fresh:
            self._shown.pop(run, None)  # the page does not have it, even if another one does
        if fresh:
            self._render_details()

    async def _do(self, run: int, work: Callable[[ShownRun], object]) -> None:
        """Apply or undo changes of the run, and tell the page how that ended."""
        try:
            await on_a_thread(lambda: _for_page(work, self._runs[run]))
        except (Error, IndexError) as error:
            self._widget.send(to_wire(msg.ApplyEnded(run, str(error))))
        except Exception as error:  # the page waits for an answer
            _log.warning("the changes of a run could not be applied", exc_info=True)
            self._widget.send(to_wire(msg.ApplyEnded(run, repr(error))))
        else:
            self._widget.send(to_wire(msg.ApplyEnded(run)))

    # ---- to the page ----------------------------------------------------------------------------

    def _on_change(self, indexes: frozenset[int]) -> None:
        """Called on the loop thread."""
        self._changed |= indexes
        self._stale = True
        if not self._updating:
            self._updating = True
            loop.get().call_later(UPDATE_S, self._update)
        self._render_static()

    def _update(self) -> None:
        self._updating = False
        changed, self._changed = self._changed, set()
        if not self._seq:
            return  # no page has asked yet
        rows = [_slim(it) for it in self._runs.rows(changed)]
        for chunk in _chunks(rows):
            self._number(msg.TableRows, chunk)
        if any(it.is_final for it in rows if it.index in self._all_open()):
            self._render_details()

    def _send_all(self) -> None:
        self._changed.clear()
        first, *rest = _chunks([_slim(it) for it in self._runs.rows()])
        self._number(msg.TableState, first)
        for chunk in rest:
            self._number(msg.TableRows, chunk)
        self._send_static()

    def _number(self, kind: Callable[..., msg.TableState | msg.TableRows], rows: list[Row]) -> None:
        self._seq += 1
        self._widget.send(to_wire(kind(self._seq, tuple(rows), self._runs.progress)))

    # ---- open rows ------------------------------------------------------------------------------

    def _all_open(self) -> frozenset[int]:
        return frozenset().union(*self._open.values())

    def _render_details(self) -> None:
        """Render the open rows now, and repeatedly while one of their runs goes on."""
        self._wake.set()
        if not self._detailing:
            self._detailing = True
            loop.submit(self._render_while_open())

    async def _render_while_open(self) -> None:
        try:
            while await self._render_open():
                pass
        finally:
            self._detailing = False

    async def _render_open(self) -> bool:
        """Render all open rows once, and pause. False: none of them will change any more."""
        self._wake.clear()
        began = time.monotonic()
        going = False
        for number in sorted(self._all_open()):
            run = self._runs[number]
            is_final = run.row.is_final
            details = await on_a_thread(partial(_details, number, run))
            if number in self._all_open() and self._shown.get(number) != details:
                self._shown[number] = details
                self._widget.send(to_wire(details))
            going = going or not is_final
        with contextlib.suppress(TimeoutError):
            pause = max(DETAILS_S, SHARE * (time.monotonic() - began))
            await asyncio.wait_for(self._wake.wait(), pause)
        self._shown = {run: it for run, it in self._shown.items() if run in self._all_open()}
        unshown = self._all_open() - self._shown.keys()
        return self._wake.is_set() or going or bool(unshown)

    # ---- the file -------------------------------------------------------------------------------

    def _render_static(self) -> None:
        """Start rendering, unless that is under way."""
        if not self._rendering:
            self._rendering = True
            loop.submit(self._render_until_over())

    async def _render_until_over(self) -> None:
        """Render while rows change, and once more when all runs have ended."""
        try:
            while self._stale:
                began = time.monotonic()
                over, self._stale = self._runs.done, False
                self._bundle = await on_a_thread(lambda: to_bundle(self._runs.rows()))
                self._send_static()
                if over and not self._stale:
                    await self._end()  # a run may be applied meanwhile
                    continue
                await self._pause(max(STATIC_S, SHARE * (time.monotonic() - began)))
        finally:
            self._rendering = False

    async def _pause(self, seconds: float) -> None:
        """Wait, but not longer than the runs go on."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self._runs.done:
            await asyncio.sleep(min(left, UPDATE_S))

    def _send_static(self) -> None:
        if self._bundle is not None and self._page_came:
            cell = self._output.cell
            is_known = cell is not None and self._is_first and self._output.is_current
            places = [[self._widget.model_id, cell]] if is_known else []
            self._widget.send(to_wire(msg.TableStatic(self._bundle, places)))

    async def _end(self) -> None:
        """If no page writes the static form into the file, it replaces the live table."""
        until = time.monotonic() + timeouts.get().static_output
        while not self._page_came and time.monotonic() < until:
            await asyncio.sleep(UPDATE_S)
        if not self._saving_pages and self._bundle is not None:
            self._output.update(self._bundle)


def _details(number: int, run: ShownRun) -> msg.RunDetails:
    applied = run.applied
    return msg.RunDetails(number, _html(run), None if applied is None else applied.shown)


def _html(run: ShownRun) -> str:
    from ..core.export.runs_html import details_html

    session = run.session  # what was saved of an ended run has no folder in it
    cwd = None if session is None else str(session.cwd)
    try:
        return details_html(run.row, run.transcript.items, run.changes, cwd=cwd)
    except Exception:  # the page waits for it
        _log.warning("a run could not be rendered", exc_info=True)
        return "<p>This run could not be rendered: acp.doctor(log=True) says why.</p>"


def _for_page(work: Callable[[ShownRun], object], run: ShownRun) -> None:
    with for_page():
        work(run)


def _changed(run: ShownRun, operation: str, file: str | None, hunk: str | None) -> None:
    if run.applied is None:
        raise UsageError("the run is not applied")
    run.applied.act(operation, file, hunk)


def _slim(row: Row) -> Row:
    """Without what the table does not show."""
    return replace(row, fields={}, text=None)


def _chunks(rows: list[Row]) -> list[list[Row]]:
    """At least one, which may be empty."""
    return [rows[at : at + CHUNK] for at in range(0, len(rows), CHUNK)] or [[]]
