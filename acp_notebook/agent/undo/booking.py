"""What was found after a turn, entered into the book: who did it, what was moved, what we knew already.

Knows the transcript's tool calls and the ledger; no disk and no git.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...core import changes as ch
from ...core.changes import Shape, Version
from ...core.notebook_changes import cell_changes, is_notebook
from ...core.snapshot import Question, ToolCall
from .covers import Found
from .ledger import Change, Ledger, Part, TurnChanges
from .spool import Full, Kept

CHANGING = frozenset({"edit", "delete", "move", "execute"})
"""Kinds of tool calls that change files, as they say themselves."""

NOBODYS = "no tool call names it: it may be somebody else's change"
ALSO = "the agent changed it by itself, too"


@dataclass(frozen=True, slots=True)
class Seen:
    """A path that differs after a turn, its states kept."""

    path: str
    before: Kept | None = None
    after: Kept | None = None
    why_not: str | None = None
    action: str = "modified"
    count: int = 1


@dataclass(frozen=True, slots=True)
class Doing:
    """A tool call, the files that it names, and who allowed it: looked up once for all changes of a turn."""

    tool: ToolCall
    paths: frozenset[str]
    allowed_by: str | None


class Finds:
    """Takes what a comparison hands out, on its thread; afterwards it is read on the loop's."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.seen: list[Seen] = []
        self._gone: dict[str, Version] = {}
        self._new: dict[str, Version] = {}

    def take(self, found: Found) -> None:
        if found.why_not is not None:
            self.seen.append(Seen(found.path, None, None, found.why_not, found.action, found.count))
            return
        try:
            before, after = (
                None if it is None else self._ledger.spool.keep(it) for it in (found.before, found.after)
            )
        except (Full, OSError) as error:
            self.seen.append(Seen(found.path, why_not=str(error)))
            return
        self.seen.append(Seen(found.path, before, after))
        if found.after is None and found.before is not None:
            self._gone[found.path] = found.before
        elif found.before is None and found.after is not None:
            self._new[found.path] = found.after

    def moves(self) -> dict[str, str]:
        """New paths and the old ones; on the thread, too."""
        found = ch.moves(self._gone, self._new)
        self._gone, self._new = {}, {}
        return found


class Booker:
    """Enters finds of one session."""

    def __init__(self, ledger: Ledger, who: Callable[[ToolCall], str | None]) -> None:
        self._ledger = ledger
        self._who = who

    def enter(
        self,
        turn: TurnChanges,
        seen: Sequence[Seen],
        moved: dict[str, str],
        tools: Sequence[ToolCall],
    ) -> None:
        doing = [Doing(it, frozenset(_named(it)), self._who(it)) for it in tools]
        by_path = {it.path: it for it in seen}
        ours = {change.path: change for change in turn.changes}
        moved = {new: old for new, old in moved.items() if new not in ours and old not in ours}
        sources = set(moved.values())
        for it in seen:
            if it.path in ours:
                self._completed(ours[it.path], it)
            elif it.path in moved:
                old = by_path[moved[it.path]]
                self._add(turn, (Part(old.path, old.before, old.after), _part(it)), doing)
            elif it.why_not is not None:
                self._not_undoable(turn, it, ours, doing)
            elif it.path not in sources:
                self._add(turn, (_part(it),), doing)
        turn.changes = [it for it in turn.changes if it.path in by_path or not self._is_nothing(it)]

    def but_saved(self, seen: Sequence[Seen], in_pages: frozenset[str]) -> list[Seen]:
        """What is no mere saving of a notebook by the page that has it open; `in_pages`: those notebooks."""
        return [it for it in seen if it.path not in in_pages or self._has_other_cells(it)]

    def not_told(self, id: str, seen: Sequence[Seen]) -> Iterator[Found]:
        """What no message tells of a turn: a plain text that was written through us is told by its own."""
        turn = self._ledger.turns.get(id)
        ours = {} if turn is None else {change.path: change for change in turn.changes}
        for it in seen:
            before, after = self._ledger.version(it.before), self._ledger.version(it.after)
            if it.path not in ours or not self._is_told(ours[it.path], before, after):
                yield Found(it.path, before, after, it.why_not, it.action, it.count)

    def _is_told(self, change: Change, before: Version | None, after: Version | None) -> bool:
        same = (self._ledger.version(change.before), self._ledger.version(change.after)) == (before, after)
        usual = all(it is None or (not it.link and not it.mode & 0o111) for it in (before, after))
        return same and usual and not is_notebook(change.path)

    def enter_late(
        self,
        turn: TurnChanges,
        seen: Sequence[Seen],
        tools: Sequence[ToolCall],
    ) -> None:
        """What was found when the turn stood in the book: its files as they were in the end."""
        for it in seen:
            known = turn.of_path(it.path)
            if known is None:
                self.enter(turn, [it], {}, tools)
            elif known.state == "applied" and it.why_not is None and not known.live:
                known.parts = (*known.parts[:-1], replace(known.parts[-1], after=it.after))
                known.shape = None

    def _has_other_cells(self, seen: Seen) -> bool:
        found = cell_changes(self._ledger.version(seen.before), self._ledger.version(seen.after))
        return found is None or bool(found)

    def _completed(self, change: Change, seen: Seen) -> None:
        """A file that was written through us: the checkpoint knows what it was before the turn, and after."""
        if seen.why_not is not None or change.live:
            return
        if self._ledger.version(change.after) != self._ledger.version(seen.after):
            change.remark = ALSO
        change.parts = (_part(seen),)
        change.why_not = change.shape = None

    def _is_nothing(self, change: Change) -> bool:
        """Written, and in the end what it was before."""
        return change.why_not is None and self._ledger.version(change.before) == self._ledger.version(
            change.after
        )

    def _add(self, turn: TurnChanges, parts: tuple[Part, ...], doing: Sequence[Doing]) -> None:
        change = Change(self._ledger.new_id(), turn.id, parts)
        _attribute(change, doing)
        turn.changes.append(change)

    def _not_undoable(
        self, turn: TurnChanges, seen: Seen, ours: dict[str, Change], doing: Sequence[Doing]
    ) -> None:
        if seen.path.endswith("/") and sum(path.startswith(seen.path) for path in ours) >= seen.count:
            return  # all that changed in it was written through us, and can be undone
        change = Change(self._ledger.new_id(), turn.id, (Part(seen.path, None, None),), why_not=seen.why_not)
        change.shape = Shape(seen.action)
        _attribute(change, doing)
        change.remark = None
        turn.changes.append(change)


def _attribute(change: Change, doing: Sequence[Doing]) -> None:
    """Which tool call did it: the last that names the path or a folder above it, else the only command
    that was allowed."""
    paths = {part.path for part in change.parts}
    naming = [it for it in doing if it.tool.kind != "read" and paths & it.paths]
    naming = naming or [it for it in doing if it.tool.kind in CHANGING and _above(it, paths)]
    commands = [it for it in doing if it.tool.kind == "execute"]
    asked = [it for it in commands if it.allowed_by is not None]
    if naming:
        change.tool, change.allowed_by = naming[-1].tool.key, naming[-1].allowed_by
    elif len(asked or commands) == 1:
        [did] = asked or commands
        change.tool, change.allowed_by = did.tool.key, did.allowed_by
    elif not commands:
        change.remark = NOBODYS


def _part(seen: Seen) -> Part:
    return Part(seen.path, seen.before, seen.after)


def _named(tool: ToolCall) -> list[str]:
    named = [it.path for it in tool.locations] + [it.path for it in tool.diffs]
    return [os.path.realpath(it) for it in named if os.path.isabs(it)]


def _above(did: Doing, paths: Iterable[str]) -> bool:
    """Whether it names a folder that one of these is in."""
    return any(path.startswith(os.path.join(named, "")) for named in did.paths for path in paths)


def allowed_by(tool: ToolCall, items: Sequence[object]) -> str | None:
    """Who answered the newest question about it."""
    asked = [it for it in items if isinstance(it, Question) and it.tool == tool.key and it.by]
    if not asked or asked[-1].answer is None:
        return None
    by, reason = asked[-1].by or "", asked[-1].reason
    return f"{by} ({reason})" if reason else by
