"""Tracks the files that the turns of a session change, shows them, and undoes or redoes them.

Connects the change log, the checkpoints and the disk with the conversation; knows neither the page nor the
protocol. Runs on the loop thread; work threads access files and git.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

from msgspec.structs import replace

from ... import timeouts
from ...core.attribution import Span, allowed_by
from ...core.changes import PathChange, Version
from ...core.events import ChangesReplaced
from ...core.notebook_changes import cell_changes, is_notebook
from ...core.snapshot import ToolCall
from ...errors import UsageError
from ..files.blob_store import BlobStore, Full
from ..files.file_state import read_state
from ..files.notebook_files import NotebookFiles
from ..files.open_texts import OpenTexts
from ..files.roots import FileTrouble, Roots
from ..files.text_writer import Written
from ..session_state import SessionState
from ..tap import ChangedFiles
from ..threads import on_a_thread
from ..turn_queue import TurnRun
from .attributor import ALONE, Attributor, Find, Overlap, keep
from .change_log import SHOWN_FILES, Change, ChangeLog, Part, TurnChanges, shown_turn
from .checkpoints import Marks, retrieve
from .contract import TurnCheckpoints
from .evidence import CallClock, Evidence
from .operations import Operation, ProgressCallback, Restorer, UndoExecutor, no_progress
from .overlaps import SharedTurn, next_order, note_undo

EARLY = "the next turn began before these changes were found: some may belong to that turn"

OVERLAP = "another session worked in this folder at the same time: some of these changes may be its own"

CHANGING = frozenset({"edit", "delete", "move", "execute"})
"""Declared kinds of tool calls that change files."""


class Applied(Protocol):
    """Changes that were made elsewhere and applied to a folder, with a log of their own."""

    log: ChangeLog
    turn: TurnChanges

    async def act(
        self,
        operation: Operation,
        file: str | None = None,
        hunk: str | None = None,
        *,
        only: frozenset[str] | None = None,
    ) -> list[Change]: ...


class ChangeTracker:
    """Records what the turns of one session change, shows it, and undoes it on request."""

    def __init__(
        self,
        state: SessionState,
        roots: Roots,
        notebooks: NotebookFiles,
        texts: OpenTexts,
        checkpoints: TurnCheckpoints,
        our_files: Sequence[str | os.PathLike[str]] = (),
        is_waiting: Callable[[], bool] = lambda: False,
    ) -> None:
        """`our_files`: the recording and the audit file, which the client writes. `is_waiting`: whether a
        prompt is waiting to be sent."""
        self.log = ChangeLog(BlobStore())
        self._state = state
        self._notebooks = notebooks
        self._is_waiting = is_waiting
        self._our_files = frozenset(os.path.realpath(it) for it in our_files)
        self._roots = roots
        given = (state.cwd, *state.directories) if roots.on_disk else ()
        self._spellings = {os.path.realpath(it): it for it in given}
        noted = partial(note_undo, roots.on_disk)
        restorer = Restorer(roots, self.log, noted)
        self._executor = UndoExecutor(notebooks, state.auditor, self.log, restorer, texts)
        self._checkpoints = checkpoints
        self._clock = CallClock()
        self._marks = Marks()
        self._busy = asyncio.Lock()
        self._ending: asyncio.Task[None] | None = None
        self._shared: SharedTurn | None = None
        """The turn that is about to begin or runs, as other sessions see it."""
        self._starting = False
        """A turn is about to begin and its checkpoints exist: undoing now would count as its change."""
        self.skipped: tuple[str, ...] = ()
        """Folders without a checkpoint in the last turn, each with the reason."""
        self._begun = 0
        """How many turns have begun."""
        self.applied: list[Applied] = []
        """Runs of a fan-out whose changes the user has applied to a folder of this session."""
        self._clock.follow(state, every_event=checkpoints.covers)

    @property
    def covers(self) -> bool:
        """Whether the session has checkpoints. If not, only writes through the client are tracked."""
        return self._checkpoints.covers

    @property
    def why_not(self) -> str:
        """Why the session has no checkpoints; meaningful only if `covers` is false."""
        return self._checkpoints.why_not

    @property
    def states(self) -> dict[str, str]:
        """How each folder is covered. Safe from any thread."""
        return self._checkpoints.states

    @property
    def folders(self) -> tuple[str, ...]:
        """The session's folders on this machine."""
        return self._roots.on_disk

    def enter_applied(self, applied: Applied) -> None:
        """List changes that the user has brought to a folder of this session. They are no turn of it: who
        entered them undoes them."""
        self.applied.append(applied)

    @property
    def can_switch(self) -> bool:
        """Whether checkpoints can be switched on and off: not in a replay."""
        return self._checkpoints.can_switch

    def switch(self, on: bool) -> None:
        """Make checkpoints from the next turn on, or not any more; raises UsageError."""
        if self._starting or self._state.running is not None:
            raise UsageError("a turn is running or about to start: switch undo on or off when it is over")
        if not self.can_switch:
            raise UsageError(f"undo cannot be switched on or off: {self.why_not}")
        self._checkpoints.switch(on)
        if on:
            self._clock.follow_every_event(self._state)
            self.warm()

    # ---- a turn ---------------------------------------------------------------------------------

    def warm(self) -> None:
        """Start the first checkpoints of the session's folders in the background."""
        self._checkpoints.warm()

    async def turn_starts(self) -> None:
        """Make the checkpoints before the prompt is sent.

        Waits for a running undo to finish; every other wait is bounded.
        """
        begun = time.monotonic()
        await self.wait_settled(timeouts.get().checkpoint_start)
        waited = time.monotonic() - begun
        self._starting = True
        self._share_turn()
        if self.settling:
            self._marks = self._checkpoints.late()
            return
        async with self._busy:
            self._marks = await self._checkpoints.before(waited)

    def turn_began(self) -> None:
        self._starting = False
        self._begun += 1
        self._marks.turn = self._begun
        self._clock.turn_began()
        if self._shared is not None:
            self._shared.begin()

    def _share_turn(self) -> None:
        """Let other sessions know of the turn, from before its first checkpoint."""
        self._leave()
        self._shared = SharedTurn(self._state.agent.name, self._roots.on_disk, self.log, self._look)
        self._shared.start()

    def _leave(self) -> None:
        shared, self._shared = self._shared, None
        if shared is not None:
            shared.end()

    def _look(self) -> tuple[TurnChanges | None, Evidence | None]:
        """The changes and the evidence of the running turn so far."""
        run = self._state.running
        if run is None or run.key is None:
            return None, None
        return self.log.turns.get(run.id), self._evidence(run, self._clock.spans)

    def _evidence(self, run: TurnRun, spans: Mapping[str, Span]) -> Evidence:
        items = self._state.read(lambda transcript: transcript.turn_items(run.key))
        return Evidence(items, dict(spans), self._state.cwd)

    async def turn_ends(self, run: TurnRun) -> None:
        """Find and show the turn's changes. Waits at most `changes_settle`; the search goes on."""
        shared = self._shared
        self._leave()
        marks, self._marks = self._marks, Marks()
        if run.key is None:
            if shared is not None:
                shared.others = []
            return
        if shared is not None:
            spans = dict(self._clock.spans)
            shared.look = lambda: (self.log.turns.get(run.id), self._evidence(run, spans))
        settling = self._settle(run, marks, shared, self._state.id)
        self._ending = asyncio.get_running_loop().create_task(settling)
        self._ending.add_done_callback(retrieve)
        limit = timeouts.get().changes_settle if self.covers else None  # without checkpoints, nothing is slow
        await self.wait_settled(limit)

    @property
    def settling(self) -> bool:
        """Whether the search for the last turn's changes is still running."""
        return self._ending is not None and not self._ending.done()

    async def wait_settled(self, limit: float | None = None) -> None:
        if self._ending is not None:
            await asyncio.wait({self._ending}, timeout=limit)

    async def _settle(self, run: TurnRun, marks: Marks, shared: SharedTurn | None, session: str) -> None:
        begun, spans = self._begun, dict(self._clock.spans)
        since = self._clock.began if self.covers else None
        async with self._busy:
            finds: list[Find] = []
            ours = self._our_files

            def take(found: PathChange) -> None:
                if found.path not in ours:
                    finds.append(keep(self.log, found, since))

            empty = await self._checkpoints.after(marks, take)
            self.skipped = tuple(f"{self.spelled(path)}: {why}" for path, why in marks.missing.items())
            items = self._state.read(lambda transcript: transcript.turn_items(run.key))
            written = run.id in self.log.turns
            turn = self.log.turns.get(run.id) or TurnChanges(run.id, run.key or "")
            recorded: list[PathChange] = []
            unclear = False
            if finds or turn.changes or marks.empty != empty:
                saved = await self._saved_by_pages(finds)
                cwd, folders = self._state.cwd, (marks.empty, empty)
                links = frozenset(it.path for it in finds if it.after is not None and it.after.link)
                evidence = Evidence(
                    items, spans, cwd, self._own_state, saved, folders, links, dated=self.covers
                )
                overlap = _overlap(shared)
                recorded = await on_a_thread(lambda: self._enter(turn, evidence, finds, overlap))
            if shared is not None:
                if self.covers and not marks.missing:  # else there are changes that it does not know
                    shared.look = lambda: (turn, None)
                unclear = shared.is_overlapped and any(it.via in ("command", "unknown") for it in turn.also)
                shared.others = []
            notes = self._notes(marks, unclear, early=self._begun != begun)
            await self._record(session, marks, empty, notes, recorded)
            acted = any(isinstance(it, ToolCall) and it.kind in CHANGING for it in items)
            listed = bool(turn.all) or (bool(marks.missing) and (acted or written))
            if listed:
                turn.notes += notes
                self.log.turns[run.id] = turn
            else:
                self.log.turns.pop(run.id, None)
            if listed or written:
                self.show(turn)

    def _enter(
        self, turn: TurnChanges, evidence: Evidence, finds: Sequence[Find], overlap: Overlap
    ) -> list[PathChange]:
        """Enter the finds into the log; return what a recording keeps of the turn. Runs on a work thread."""
        attributor = Attributor(self.log, turn, evidence, overlap)
        attributor.enter(finds)
        self.log.survey(turn.all)
        return attributor.recorded(finds) if self._is_recorded else []

    @property
    def _own_state(self) -> tuple[str, ...]:
        return self._state.agent.quirks.own_state

    async def _saved_by_pages(self, finds: Sequence[Find]) -> frozenset[str]:
        """Notebooks whose content their page saved: the agent did not change them."""
        found = [it.path for it in finds if is_notebook(it.path) and not it.saved]
        return frozenset([path for path in found if await self._notebooks.is_saved_by_page(path)])

    async def _record(
        self,
        session: str,
        marks: Marks,
        empty: frozenset[str],
        notes: Sequence[str],
        files: Sequence[PathChange],
    ) -> None:
        """Record what the turn changed, even if it changed nothing: no message contains it."""
        tap = self._state.agent.tap
        if tap is not None and self._is_recorded and self.covers:
            changed = ChangedFiles(files, notes, marks.missing, (marks.empty, empty))
            await tap.turn_changed(session, marks.turn, changed, self.spelled)

    @property
    def _is_recorded(self) -> bool:
        tap = self._state.agent.tap
        return tap is not None and tap.keeps_files

    def _notes(self, marks: Marks, unclear: bool, *, early: bool) -> list[str]:
        if marks.recorded_notes is not None:
            return list(marks.recorded_notes)
        notes = [
            f"no checkpoint of {self.spelled(path)} for this turn: {why}. Files that the agent wrote through "
            "this client can be undone; files that it changed with its own tools cannot"
            for path, why in marks.missing.items()
        ]
        return [
            *([EARLY] if early else []),
            *notes,
            *([OVERLAP] if unclear else []),
            *self._checkpoints.notes,
        ]

    async def close(self) -> None:
        """Wait for the last turn's changes, then stop all work. Never blocks for long."""
        self._leave()
        await self.wait_settled(timeouts.get().changes_settle)
        await self._checkpoints.close()
        await self.wait_settled(timeouts.get().changes_settle)  # the interrupted search is shown, too

    def kill(self) -> None:
        self._leave()
        self._checkpoints.kill()

    # ---- writes through the client --------------------------------------------------------------

    async def write_file(self, path: str, work: Callable[[], Written], tool: str) -> Written:
        """Run `work`, which writes the file, and log the file's state before and after it.

        `tool` is the id of the tool call. Raises whatever `work` raises.
        """
        turn = self._running_turn()

        def carry_out() -> tuple[Written, Change | str | None]:
            before = self._version(path)
            written = work()
            return written, self._change(turn, written.path, before, self._written(written))

        written, change = await on_a_thread(carry_out)
        self._enter_write(turn, change, path, tool)
        return written

    async def write_open(self, path: str, work: Callable[[], Awaitable[Written]], tool: str) -> Written:
        """Like `write_file`, for a file that a page may have open, which then makes the change."""
        turn = self._running_turn()
        before = await on_a_thread(lambda: self._version(path))
        written = await work()

        def note() -> Change | str | None:
            if written.live and written.replaced is not None:
                states = Version(written.replaced), Version(written.data)
                return self._change(turn, written.path, *states, live=True)
            first = _with_data(before, written.replaced)
            return self._change(turn, written.path, first, self._written(written))

        self._enter_write(turn, await on_a_thread(note), path, tool)
        return written

    def _running_turn(self) -> TurnChanges | None:
        run = self._state.running
        return None if run is None or run.key is None else self.log.turn(run.id, run.key)

    def _written(self, written: Written) -> Version | str | None:
        """The state that the write left. Somebody may have changed the file since: only its mode is read."""
        return _with_data(self._version(written.path), written.data)

    def _version(self, path: str) -> Version | str | None:
        """The current state of the file, or the reason why it cannot be kept."""
        try:
            return read_state(self._roots, path)
        except (FileTrouble, OSError) as error:
            return str(error)

    def _change(
        self,
        turn: TurnChanges | None,
        path: str,
        before: Version | str | None,
        after: Version | str | None,
        *,
        live: bool = False,
    ) -> Change | str | None:
        """The change that a write made, or the reason why it cannot be kept.

        A write that follows directly on another one of the same turn extends that change.
        """
        if turn is None:
            return None
        if isinstance(after, str):
            return after
        writes = turn.writes(path)
        last = writes[-1] if writes and writes[-1].live is live else None
        try:
            kept = self.log.keep(after)
            if last is not None and not isinstance(before, str) and self._continues(last, before):
                change = Change(last.id, turn.id, (Part(path, last.before, kept),))
                change.why_not = last.why_not
            else:
                first = None if isinstance(before, str) else self.log.keep(before)
                change = Change(self.log.new_id(), turn.id, (Part(path, first, kept),))
                change.why_not = before if isinstance(before, str) else None
        except (OSError, Full) as error:
            return str(error)
        change.via, change.live, change.order = "client", live, next_order()
        self.log.survey([change])
        return change

    def _continues(self, last: Change, before: Version | None) -> bool:
        """Whether the file stayed the same between two writes, and no turn of another session began."""
        if self._shared is not None and not self._shared.is_alone_since(last.order):
            return False
        after = self.log.version(last.after)
        return after == before or (is_notebook(last.path) and cell_changes(after, before) == ())

    def _enter_write(
        self, turn: TurnChanges | None, change: Change | str | None, path: str, tool: str
    ) -> None:
        if turn is None:
            return
        if isinstance(change, Change):
            change.tool, change.allowed_by = self._who(tool)
            others = [it for it in turn.changes if it.id != change.id]
            at = next((at for at, it in enumerate(turn.changes) if it.id == change.id), len(others))
            turn.changes = [*others[:at], change, *others[at:]]
        elif change is not None:
            turn.notes.append(f"{os.path.basename(path)} cannot be undone: {change}")
        self.show(turn)

    def _who(self, tool_id: str) -> tuple[str | None, str | None]:
        """The key of the tool call with this id, and who allowed it."""
        try:
            tool = self._state.read(lambda transcript: transcript.tool(tool_id))
        except KeyError:
            return None, None
        items = self._state.read(lambda transcript: transcript.turn_items(tool.turn))
        return tool.key, allowed_by(tool, items)

    # ---- showing --------------------------------------------------------------------------------

    def show(self, turn: TurnChanges) -> None:
        """Update the turn's item in the transcript."""
        files, also = shown_turn(turn, self.spelled)
        more = len(turn.all) - SHOWN_FILES
        hidden = (f"{more:,} more files are not shown here: session.changes lists them",) if more > 0 else ()
        self._state.apply(ChangesReplaced(turn.key, files, (*turn.notes, *hidden), also))

    def spelled(self, path: str) -> str:
        """The path as the user wrote it: they may have named a folder by a symbolic link."""
        for real, given in self._spellings.items():
            if path == real or path.startswith(real.rstrip("/") + "/"):
                return given + path[len(real) :]
        return path

    # ---- undo, redo, keep -----------------------------------------------------------------------

    async def act(
        self,
        operation: Operation,
        turn: str | None = None,
        file: str | None = None,
        hunk: str | None = None,
        *,
        only: frozenset[str] | None = None,
        progress: ProgressCallback = no_progress,
        person: str | None = None,
    ) -> list[Change]:
        """Carry out the operation as far as possible and return the changes, each with its conflict if any.

        Without `file` or `only` (ids of changes), the operation applies to the agent's changes.
        `person`: which of several users asked for it.
        """
        self._check_no_turn(operation)
        await self.wait_settled()
        async with self._busy:
            self._check_no_turn(operation)
            selected = self._executor.select(operation, turn, file, hunk, only)
            total, done = sum(len(it.changes) for it in selected), 0
            for it in selected:
                await self._executor.do(operation, it, partial(_advance, progress, done, total), person)
                done += len(it.changes)
                self.show(it.turn)
            return [change for it in selected for change in it.changes]

    def _check_no_turn(self, operation: Operation) -> None:
        """Raise UsageError during a turn: an undo between its checkpoints would count as its change."""
        starting = self._starting and self._is_waiting()  # otherwise the prompt was withdrawn
        if operation != "keep" and (starting or self._state.running is not None):
            raise UsageError("a turn is running or about to start: undo its changes when it is over")


def _with_data(version: Version | str | None, data: bytes | None) -> Version | str | None:
    if data is None or isinstance(version, str):
        return version
    return Version(data) if version is None or version.link else replace(version, data=data)


def _overlap(shared: SharedTurn | None) -> Overlap:
    if shared is None or not (shared.others or shared.undos):
        return ALONE
    begun, ended = shared.begun or shared.order, shared.ended or next_order()
    return Overlap(shared.order, shared.at, begun, ended, shared.known_others(), tuple(shared.undos))


def _advance(progress: ProgressCallback, before: int, total: int, done: int) -> None:
    progress(before + done, total)
