"""One session's way back: what its turns change is noted, shown, undone and done again.

Joins the book (`ledger`), the checkpoints and the disk (`restoring`) with the conversation. Knows neither
the page nor the protocol. Lives on the loop thread; files and git are touched on others.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ...core.changes import Version
from ...core.events import ChangesReplaced
from ...core.live import Failed as PageFailed
from ...core.live import Unreachable
from ...core.snapshot import ToolCall
from ...errors import UsageError
from ..files.roots import FileTrouble, Roots
from ..threads import on_a_thread
from . import checkpoints
from .acting import Actor, Deed, Told, nobody
from .booking import CHANGING, Booker, Finds, Seen, allowed_by
from .checkpoints import Checkpoints, Marks
from .ledger import SHOWN_FILES, Change, Ledger, Part, TurnChanges, shown
from .neighbours import Word
from .replayed import ReplayedCheckpoints
from .restoring import Restorer
from .spool import Full, Kept, Spool
from .tape import Scribe
from .versions import look

if TYPE_CHECKING:
    from ..conversation import Conversation
    from ..turn_queue import TurnRun

SETTLE_S = 3.0
"""Whoever waits for a turn waits this long for its changes, too; later they come by themselves."""

EARLY = "the next turn began before these were found: what it changed may be among them"

OVERLAP = "another session worked in this folder at the same time: what it changed may be among these"

_working: dict[Undoing, bool] = {}
"""Sessions of this process with a turn on its way; whether it overlapped with another one in a folder."""


class Undoing:
    """One session's."""

    def __init__(
        self, conversation: Conversation, roots: Roots, checkpoints: Checkpoints | ReplayedCheckpoints
    ) -> None:
        self.ledger = Ledger(Spool())
        self._conversation = conversation
        self._roots = roots
        self._actor = Actor(conversation, self.ledger, Restorer(roots, self.ledger))
        self._booker = Booker(self.ledger, self._allowed_by)
        self._checkpoints = checkpoints
        self._marks = Marks()
        self._word: Word | None = None
        self._name = secrets.token_hex(8)
        self._busy = asyncio.Lock()
        self._ending: asyncio.Task[None] | None = None
        self._resting: asyncio.Task[None] | None = None
        self._starting = False
        """The folders are marked for a turn that has not begun yet: nothing is undone in between."""
        self.skipped: tuple[str, ...] = ()
        """Folders without a checkpoint in the last turn, and why."""
        self._begun = 0
        """How many turns did."""

    @property
    def covers(self) -> bool:
        """Whether it is looked for what turns change by themselves."""
        return self._checkpoints.covers

    @property
    def states(self) -> dict[str, str]:
        """How each folder is covered; from any thread."""
        return self._checkpoints.states

    # ---- a turn ---------------------------------------------------------------------------------

    def warm(self) -> None:
        """The session is open: the first look at its folders can begin."""
        self._checkpoints.warm()
        self._rest(None, Marks())

    async def turn_starts(self) -> None:
        """Before the prompt goes out. What is being undone is seen through first; all else is bounded."""
        begun = time.monotonic()
        await self.settled(checkpoints.START_S)
        if self.covers:
            self._word = await on_a_thread(lambda: Word(self._name, self._roots.folders))
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
        others = [it for it in _working if it._shares_folders(self)]
        _working.update(dict.fromkeys(others, True))
        _working[self] = bool(others)

    def _shares_folders(self, other: Undoing) -> bool:
        mine, theirs = self._roots.folders, other._roots.folders
        return any(f"{a}/".startswith(f"{b}/") or f"{b}/".startswith(f"{a}/") for a in mine for b in theirs)

    async def turn_ends(self, run: TurnRun) -> None:
        """The turn's changes are found and shown; bounded, and seen through also if nobody waits."""
        overlapped = _working.pop(self, False)
        marks, self._marks = self._marks, Marks()
        word, self._word = self._word, None
        if run.key is None:
            return
        settling = self._settle(run, marks, word, overlapped, self._conversation.id)
        self._ending = asyncio.get_running_loop().create_task(settling)
        self._ending.add_done_callback(_taken)
        self._rest(run, marks)
        await self.settled(SETTLE_S if self.covers else None)  # what is not looked for is there at once

    def _rest(self, run: TurnRun | None, marks: Marks) -> None:
        """Nobody waits for this: the next turn is made ready for, and cuts it short."""
        if not self.covers:
            return
        self._resting = asyncio.get_running_loop().create_task(self._reconcile(run, marks))
        self._resting.add_done_callback(_taken)

    async def _reconcile(self, run: TurnRun | None, marks: Marks) -> None:
        begun = self._begun
        await self.settled()
        if self._starting or self._begun != begun:
            return
        overlooked = await self._checkpoints.reconcile(marks)
        if run is None or not overlooked:
            return
        async with self._busy:
            finds, ours = Finds(self.ledger), self._our_files()
            for found in overlooked:
                if os.path.realpath(found.path) not in ours:
                    await on_a_thread(partial(finds.take, found))
            in_pages = await self._open_notebooks()
            seen = await on_a_thread(lambda: self._booker.but_saved(finds.seen, in_pages))
            if seen:
                await self._record(run, self._conversation.id, seen, (), marks, marks.empty, late=True)
                turn = self.ledger.turn(run.id, run.key or "")
                self._booker.enter_late(turn, seen, self._tools(run))
                await self.tell(turn)

    @property
    def settling(self) -> bool:
        """The changes of the last turn are still being found."""
        return self._ending is not None and not self._ending.done()

    async def settled(self, limit: float | None = None) -> None:
        if self._ending is not None:
            await asyncio.wait({self._ending}, timeout=limit)

    async def _settle(
        self, run: TurnRun, marks: Marks, word: Word | None, overlapped: bool, session: str
    ) -> None:
        begun = self._begun
        async with self._busy:
            finds, ours = Finds(self.ledger), self._our_files()
            empty = await self._checkpoints.after(
                marks, lambda found: None if os.path.realpath(found.path) in ours else finds.take(found)
            )
            self.skipped = tuple(f"{self.spelled(path)}: {why}" for path, why in marks.missing.items())
            if word is not None:
                overlapped = await on_a_thread(word.end) or overlapped
            notes = self._notes(marks, overlapped, early=self._begun != begun)
            in_pages = await self._open_notebooks() if finds.seen else frozenset()
            seen = await on_a_thread(lambda: self._booker.but_saved(finds.seen, in_pages))
            await self._record(run, session, seen, notes, marks, empty)
            tools = self._tools(run)
            acted = any(it.kind in CHANGING for it in tools)
            if not seen and run.id not in self.ledger.turns and not (marks.missing and acted):
                return
            turn = self.ledger.turn(run.id, run.key or "")
            turn.folders = (marks.empty, empty)
            await on_a_thread(lambda: self._booker.enter(turn, seen, finds.moves(), tools))
            if not turn.changes and not marks.missing:
                del self.ledger.turns[turn.id]
                self._tell_now(turn)
                return
            turn.notes += notes
            await self.tell(turn)

    def _tools(self, run: TurnRun) -> list[ToolCall]:
        items = self._conversation.read(lambda transcript: transcript.turn_items(run.key))
        return [it for it in items if isinstance(it, ToolCall)]

    async def _open_notebooks(self) -> frozenset[str]:
        """Pages save them whenever they like: that is no change of the agent's."""
        live = self._conversation.hands.notebooks.live
        try:
            return (
                frozenset(map(os.path.realpath, await live.open_files())) if live is not None else frozenset()
            )
        except (Unreachable, PageFailed):
            return frozenset()

    def _our_files(self) -> frozenset[str]:
        """The recording and the audit: written by us, and no change of the agent's."""
        launch = self._conversation.host.launch
        paths = (getattr(it, "path", None) for it in (launch.tap, launch.audit))
        return frozenset(os.path.realpath(path) for path in paths if path is not None)

    async def _record(
        self,
        run: TurnRun,
        session: str,
        seen: Sequence[Seen],
        notes: Sequence[str],
        marks: Marks,
        empty: frozenset[str],
        *,
        late: bool = False,
    ) -> None:
        """For a recording: what no message tells of the turn, also that it is nothing."""
        host = self._conversation.host
        if not host.recording or not self.covers:
            return
        scribe = Scribe(host.launch.redactor, self.spelled)
        deed = await on_a_thread(
            lambda: scribe.deed(
                session,
                marks.turn,
                self._booker.not_told(run.id, seen),
                notes,
                marks.missing,
                (marks.empty, empty),
            )
        )
        host.did(deed | ({"late": True} if late else {}))

    def _notes(self, marks: Marks, overlapped: bool, *, early: bool) -> list[str]:
        if marks.told is not None:
            return list(marks.told)
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
        """Let the last turn's changes be found, then end what is under way."""
        await self.settled(SETTLE_S)
        await self._checkpoints.close()
        await self.settled(SETTLE_S)  # what was ended is told, and recorded, as such

    def kill(self) -> None:
        self._checkpoints.kill()

    # ---- what is written through us -------------------------------------------------------------

    async def before_write(self, path: str) -> Version | str | None:
        """The file before a write; a text says why it cannot be kept."""
        try:
            return await on_a_thread(lambda: look(self._roots, path))
        except (FileTrouble, OSError) as error:
            return str(error)

    async def wrote(
        self,
        path: str,
        before: Version | str | None,
        tool: str,
        in_page: tuple[bytes, bytes] | None = None,
    ) -> None:
        """A write through us was carried out; `tool` is the id of its tool call.

        `in_page`: a notebook before and after, that was not changed on disk.
        """
        run = self._conversation.running
        if run is None or run.key is None:
            return
        turn = self.ledger.turn(run.id, run.key)
        try:
            after: Version | None
            if in_page is not None:
                before, after = Version(in_page[0]), Version(in_page[1])
            else:
                after = await on_a_thread(lambda: look(self._roots, path))
            await self._note_write(turn, path, before, after, tool, live=in_page is not None)
        except (FileTrouble, OSError, Full) as error:
            turn.notes.append(f"{os.path.basename(path)} cannot be undone: {error}")
        await self.tell(turn)

    async def _note_write(
        self,
        turn: TurnChanges,
        path: str,
        before: Version | str | None,
        after: Version | None,
        tool: str,
        *,
        live: bool,
    ) -> None:
        known = turn.of_path(path)
        kept_after = await self._keep(after)
        if known is not None:
            first = known.parts[-1]
            known.parts = (*known.parts[:-1], Part(path, first.before, kept_after))
            known.shape = None
        else:
            kept_before = None if isinstance(before, str) else await self._keep(before)
            known = Change(self.ledger.new_id(), turn.id, (Part(path, kept_before, kept_after),))
            known.why_not = before if isinstance(before, str) else None
            turn.changes.append(known)
        known.via, known.live = "client", live
        known.tool, known.allowed_by = self._who(tool)

    async def _keep(self, version: Version | None) -> Kept | None:
        return None if version is None else await on_a_thread(lambda: self.ledger.spool.keep(version))

    # ---- who ------------------------------------------------------------------------------------

    def _who(self, tool_id: str) -> tuple[str | None, str | None]:
        """The key of the tool call that goes by this id now, and who allowed it."""
        try:
            tool = self._conversation.read(lambda transcript: transcript.tool(tool_id))
        except KeyError:
            return None, None
        return tool.key, self._allowed_by(tool)

    def _allowed_by(self, tool: ToolCall) -> str | None:
        items = self._conversation.read(lambda transcript: transcript.turn_items(tool.turn))
        return allowed_by(tool, items)

    # ---- showing --------------------------------------------------------------------------------

    async def tell(self, turn: TurnChanges) -> None:
        """The turn's item, brought up to date."""
        await on_a_thread(lambda: self.ledger.survey(tuple(turn.changes)))
        self._tell_now(turn)

    def _tell_now(self, turn: TurnChanges) -> None:
        seen = [it for it in turn.changes[:SHOWN_FILES] if it.shape is not None]
        more = len(turn.changes) - SHOWN_FILES
        notes = [*turn.notes]
        if more > 0:
            notes.append(f"{more:,} more files are not shown here: session.changes lists them")
        self._conversation.apply(ChangesReplaced(turn.key, tuple(shown(seen, self.spelled)), tuple(notes)))

    def spelled(self, path: str) -> str:
        """As the session calls it: a folder may have been given by a link."""
        folders = (self._conversation.cwd, *self._conversation.directories)
        for given in folders:
            real = os.path.realpath(given)
            if path == real or path.startswith(real.rstrip("/") + "/"):
                return given + path[len(real) :]
        return path

    # ---- undo, redo, keep -----------------------------------------------------------------------

    async def act(
        self,
        deed: Deed,
        turn: str | None = None,
        file: str | None = None,
        hunk: str | None = None,
        *,
        only: frozenset[str] | None = None,
        told: Told = nobody,
    ) -> list[Change]:
        """Do it, as far as it goes; what does not go stands in the changes, which are returned.

        `only`: of all that is named, the changes with these ids. `told`: how far it is.
        """
        self._check_no_turn(deed)
        await self.settled()
        async with self._busy:
            self._check_no_turn(deed)
            chosen = self._actor.chosen(deed, turn, file, hunk, only)
            total, done = sum(len(it.changes) for it in chosen), 0
            for it in chosen:
                await self._actor.do(deed, it, lambda at, before=done: told(before + at, total))  # type: ignore[misc]
                done += len(it.changes)
                self._tell_now(it.turn)
            return [change for it in chosen for change in it.changes]

    def _check_no_turn(self, deed: Deed) -> None:
        """What is undone while a turn runs, or when its folders are marked, would be taken for its doing."""
        starting = self._starting and self._conversation.queue.waiting  # else it was taken out again
        if deed != "keep" and (starting or self._conversation.running is not None):
            raise UsageError("a turn is running, or about to: what was changed can be undone when it is over")


def _taken(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()  # or asyncio complains where nobody waits for it
