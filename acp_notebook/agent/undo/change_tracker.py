"""Tracks what the turns of one session change: noted, shown, undone and done again.

Joins the change log, the checkpoints and the disk with the conversation. Knows neither the page nor the
protocol. Lives on the loop thread; files and git are touched on others.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ...core.attribution import allowed_by
from ...core.changes import Version
from ...core.events import ChangesReplaced
from ...core.notebook_changes import cell_changes, is_notebook
from ...core.snapshot import ToolCall
from ...errors import UsageError
from ..files.blob_store import BlobRef, BlobStore, Full
from ..files.file_state import read_state
from ..files.roots import FileTrouble, Roots
from ..files.text_writer import Written
from ..recordings.file_changes import FileChangesWriter
from ..threads import on_a_thread
from . import checkpoints
from .attribution import Attributor, CallClock, Evidence, Find, keep
from .backend import PathChange
from .change_log import (
    SHOWN_FILES,
    Change,
    ChangeLog,
    Part,
    TurnChanges,
    shown_turn,
)
from .checkpoints import Marks, retrieve
from .operations import Operation, ProgressCallback, Restorer, UndoExecutor, no_progress

if TYPE_CHECKING:
    from ..conversation import Conversation
    from ..recordings.replayed_checkpoints import ReplayedCheckpoints
    from ..turn_queue import TurnRun

SETTLE_S = 3.0
"""The end of a turn waits this long for its changes; after that they are shown when they are found."""

EARLY = "the next turn began before these were found: what it changed may be among them"

OVERLAP = "another session worked in this folder at the same time: what it changed may be among these"

CHANGING = frozenset({"edit", "delete", "move", "execute"})
"""Kinds of tool calls that change files, as they say themselves."""

_working: dict[ChangeTracker, bool] = {}
"""Sessions of this process with a running turn; whether it overlapped with another one in a folder."""


class ChangeTracker:
    """Notes what the turns of one session change, shows it, and takes it back."""

    def __init__(
        self,
        conversation: Conversation,
        roots: Roots,
        checkpoints: checkpoints.Checkpoints | ReplayedCheckpoints,
    ) -> None:
        self.log = ChangeLog(BlobStore())
        self._conversation = conversation
        self._roots = roots
        self._spellings = {os.path.realpath(it): it for it in (conversation.cwd, *conversation.directories)}
        self._executor = UndoExecutor(conversation, self.log, Restorer(roots, self.log))
        self._checkpoints = checkpoints
        self._clock = CallClock()
        self._marks = Marks()
        self._busy = asyncio.Lock()
        self._ending: asyncio.Task[None] | None = None
        self._starting = False
        """The checkpoints of a turn that has not begun yet are made: nothing is undone in between."""
        self.skipped: tuple[str, ...] = ()
        """Folders without a checkpoint in the last turn, and why."""
        self._begun = 0
        """The number of turns that have begun."""
        conversation.listen(lambda event, _: self._clock.see(event))

    @property
    def covers(self) -> bool:
        """Whether checkpoints are made, or only what is written through us is noted."""
        return self._checkpoints.covers

    @property
    def states(self) -> dict[str, str]:
        """How each folder is covered; from any thread."""
        return self._checkpoints.states

    # ---- a turn ---------------------------------------------------------------------------------

    def warm(self) -> None:
        """The session is open: the first checkpoint of its folders can begin."""
        self._checkpoints.warm()

    async def turn_starts(self) -> None:
        """Before the prompt goes out. An undo that is running is finished first; all else is bounded."""
        begun = time.monotonic()
        await self.settled(checkpoints.START_S)
        waited = time.monotonic() - begun
        self._starting = True
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
        others = [it for it in _working if _share(it._roots.folders, self._roots.folders)]
        _working.update(dict.fromkeys(others, True))
        _working[self] = bool(others)

    async def turn_ends(self, run: TurnRun) -> None:
        """Find and show the turn's changes. Waiting is bounded; the search goes on if nobody waits."""
        overlapped = _working.pop(self, False)
        marks, self._marks = self._marks, Marks()
        if run.key is None:
            return
        settling = self._settle(run, marks, overlapped, self._conversation.id)
        self._ending = asyncio.get_running_loop().create_task(settling)
        self._ending.add_done_callback(retrieve)
        await self.settled(SETTLE_S if self.covers else None)  # else there is nothing to search for

    @property
    def settling(self) -> bool:
        """The changes of the last turn are still being found."""
        return self._ending is not None and not self._ending.done()

    async def settled(self, limit: float | None = None) -> None:
        if self._ending is not None:
            await asyncio.wait({self._ending}, timeout=limit)

    async def _settle(self, run: TurnRun, marks: Marks, overlapped: bool, session: str) -> None:
        begun, spans = self._begun, dict(self._clock.spans)
        since = self._clock.began if self.covers else None
        async with self._busy:
            finds: list[Find] = []
            ours = self._our_files()

            def take(found: PathChange) -> None:
                if found.path not in ours:
                    finds.append(keep(self.log, found, since))

            empty = await self._checkpoints.after(marks, take)
            self.skipped = tuple(f"{self.spelled(path)}: {why}" for path, why in marks.missing.items())
            notes = self._notes(marks, overlapped, early=self._begun != begun)
            items = self._conversation.read(lambda transcript: transcript.turn_items(run.key))
            written = run.id in self.log.turns
            turn = self.log.turns.get(run.id) or TurnChanges(run.id, run.key or "")
            recorded: list[PathChange] = []
            if finds or turn.changes or marks.empty != empty:
                saved = await self._saved_by_pages(finds)
                cwd, folders = self._conversation.cwd, (marks.empty, empty)
                evidence = Evidence(items, spans, cwd, self._own_state, saved, folders, dated=self.covers)
                recorded = await on_a_thread(lambda: self._enter(turn, evidence, finds))
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

    def _enter(self, turn: TurnChanges, evidence: Evidence, finds: Sequence[Find]) -> list[PathChange]:
        """On a thread. Returns what a recording keeps of the turn."""
        attributor = Attributor(self.log, turn, evidence)
        attributor.enter(finds)
        self.log.survey(turn.all)
        return attributor.recorded(finds) if self._conversation.host.recording else []

    @property
    def _own_state(self) -> tuple[str, ...]:
        return self._conversation.host.quirks.own_state

    async def _saved_by_pages(self, finds: Sequence[Find]) -> frozenset[str]:
        """Notebooks that are as their page saved them: that is no change of the agent's."""
        notebooks = self._conversation.services.notebooks
        found = [it.path for it in finds if is_notebook(it.path) and not it.saved]
        return frozenset([path for path in found if await notebooks.is_saved_by_page(path)])

    def _our_files(self) -> frozenset[str]:
        """The recording and the audit, which we write ourselves."""
        launch = self._conversation.host.launch
        paths = (getattr(it, "path", None) for it in (launch.tap, launch.audit))
        return frozenset(os.path.realpath(path) for path in paths if path is not None)

    async def _record(
        self,
        session: str,
        marks: Marks,
        empty: frozenset[str],
        notes: Sequence[str],
        files: Sequence[PathChange],
    ) -> None:
        """For a recording: what no message says of the turn, even if that is nothing."""
        host = self._conversation.host
        if not host.recording or not self.covers:
            return
        writer = FileChangesWriter(host.launch.redactor, self.spelled)
        folders = (marks.empty, empty)
        host.record_action(
            await on_a_thread(lambda: writer.entry(session, marks.turn, files, notes, marks.missing, folders))
        )

    def _notes(self, marks: Marks, overlapped: bool, *, early: bool) -> list[str]:
        if marks.recorded_notes is not None:
            return list(marks.recorded_notes)
        notes = [
            f"no checkpoint of {self.spelled(path)} for this turn: {why}. What was written through us can "
            "be undone, what the agent changed by itself cannot"
            for path, why in marks.missing.items()
        ]
        return [
            *([EARLY] if early else []),
            *notes,
            *([OVERLAP] if overlapped else []),
            *self._checkpoints.notes,
        ]

    async def close(self) -> None:
        """Let the last turn's changes be found, then end what is running. Always returns."""
        await self.settled(SETTLE_S)
        await self._checkpoints.close()
        await self.settled(SETTLE_S)  # what was ended is shown, and recorded, as such

    def kill(self) -> None:
        self._checkpoints.kill()

    # ---- what is written through us -------------------------------------------------------------

    async def write_file(self, path: str, work: Callable[[], Written], tool: str) -> Written:
        """Carry out a write, and note what the file was before and after; all on one thread.

        `tool` is the id of the tool call. Raises what `work` raises.
        """
        turn = self._running_turn()

        def carry_out() -> tuple[Written, Change | str | None]:
            before = self._state(path)
            written = work()
            return written, self._change(turn, written.path, before, self._state(written.path))

        written, change = await on_a_thread(carry_out)
        self._enter_write(turn, change, path, tool)
        return written

    async def write_notebook(self, path: str, work: Callable[[], Awaitable[Written]], tool: str) -> Written:
        """The same for a notebook, which a page may have open: then it is changed there."""
        turn = self._running_turn()
        before = await on_a_thread(lambda: self._state(path))
        written = await work()
        states = written.states

        def note() -> Change | str | None:
            if states is None:
                return self._change(turn, written.path, before, self._state(written.path))
            return self._change(turn, written.path, Version(states[0]), Version(states[1]), live=True)

        self._enter_write(turn, await on_a_thread(note), path, tool)
        return written

    def _running_turn(self) -> TurnChanges | None:
        run = self._conversation.running
        return None if run is None or run.key is None else self.log.turn(run.id, run.key)

    def _state(self, path: str) -> Version | str | None:
        """The file now; a text says why it cannot be kept."""
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
        """The change that a write made, or the last one, continued; a text says why it cannot be kept."""
        if turn is None:
            return None
        if isinstance(after, str):
            return after
        writes = turn.writes(path)
        last = writes[-1] if writes and writes[-1].live is live else None
        try:
            kept = self._keep(after)
            if last is not None and not isinstance(before, str) and self._continues(last, before):
                change = Change(last.id, turn.id, (Part(path, last.before, kept),), writers=last.writers)
                change.why_not = last.why_not
            else:
                first = None if isinstance(before, str) else self._keep(before)
                change = Change(self.log.new_id(), turn.id, (Part(path, first, kept),))
                change.why_not = before if isinstance(before, str) else None
        except (OSError, Full) as error:
            return str(error)
        change.via, change.live = "client", live
        self.log.survey([change])
        return change

    def _continues(self, last: Change, before: Version | None) -> bool:
        """Whether nobody changed the file between two writes."""
        after = self.log.version(last.after)
        return after == before or (is_notebook(last.path) and cell_changes(after, before) == ())

    def _keep(self, version: Version | None) -> BlobRef | None:
        return None if version is None else self.log.store.keep(version)

    def _enter_write(
        self, turn: TurnChanges | None, change: Change | str | None, path: str, tool: str
    ) -> None:
        if turn is None:
            return
        if isinstance(change, Change):
            call, change.allowed_by = self._who(tool)
            change.tool, change.writers = call, change.writers | ({call} if call is not None else set())
            others = [it for it in turn.changes if it.id != change.id]
            at = next((at for at, it in enumerate(turn.changes) if it.id == change.id), len(others))
            turn.changes = [*others[:at], change, *others[at:]]
        elif change is not None:
            turn.notes.append(f"{os.path.basename(path)} cannot be undone: {change}")
        self.show(turn)

    def _who(self, tool_id: str) -> tuple[str | None, str | None]:
        """The key of the tool call with this id, and who allowed it."""
        try:
            tool = self._conversation.read(lambda transcript: transcript.tool(tool_id))
        except KeyError:
            return None, None
        items = self._conversation.read(lambda transcript: transcript.turn_items(tool.turn))
        return tool.key, allowed_by(tool, items)

    # ---- showing --------------------------------------------------------------------------------

    def show(self, turn: TurnChanges) -> None:
        """Bring the turn's item up to date."""
        files, also = shown_turn(turn, self.spelled)
        more = len(turn.all) - SHOWN_FILES
        hidden = (f"{more:,} more files are not shown here: session.changes lists them",) if more > 0 else ()
        self._conversation.apply(ChangesReplaced(turn.key, files, (*turn.notes, *hidden), also))

    def spelled(self, path: str) -> str:
        """As the session calls it: a folder may have been given by a link."""
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
    ) -> list[Change]:
        """Carry it out as far as it goes, and return the changes: each holds its conflict.

        Without a file or `only` (ids of changes) it is about what the agent changed.
        """
        self._check_no_turn(operation)
        await self.settled()
        async with self._busy:
            self._check_no_turn(operation)
            selected = self._executor.selected(operation, turn, file, hunk, only)
            total, done = sum(len(it.changes) for it in selected), 0
            for it in selected:
                await self._executor.do(operation, it, partial(_advance, progress, done, total))
                done += len(it.changes)
                self.show(it.turn)
            return [change for it in selected for change in it.changes]

    def _check_no_turn(self, operation: Operation) -> None:
        """What is undone while a turn runs, or its checkpoints are made, would count as the turn's doing."""
        starting = self._starting and self._conversation.queue.waiting  # else it was taken out again
        if operation != "keep" and (starting or self._conversation.running is not None):
            raise UsageError("a turn is running, or about to: what was changed can be undone when it is over")


def _share(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    return any(f"{a}/".startswith(f"{b}/") or f"{b}/".startswith(f"{a}/") for a in mine for b in theirs)


def _advance(progress: ProgressCallback, before: int, total: int, done: int) -> None:
    progress(before + done, total)
