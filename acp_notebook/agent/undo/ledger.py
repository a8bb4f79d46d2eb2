"""What each turn changed: the book that is shown, and that undoing goes by.

Knows no disk and no git: states of files come in, kept in a spool. Lives on the loop thread, but for
`survey`, which may take its time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from ...core import changes as ch
from ...core.changes import FileChange, Shape, Version
from ...core.notebook_changes import is_notebook, notebook_shape
from .spool import Kept, Spool

SHOWN_FILES = 300
"""Of one turn, in the page: who changes more wants a table, and `session.changes` is one."""

SHOWN_LINES = 6_000
"""Of all hunks of a turn, in the page: each file after that is named, not shown."""


@dataclass(frozen=True, slots=True)
class Part:
    """One path, before and after; None: there is nothing."""

    path: str
    before: Kept | None
    after: Kept | None


@dataclass
class Change:
    """One file that a turn changed; a file that was moved has two paths."""

    id: str
    turn: str
    """The id of the turn."""
    parts: tuple[Part, ...]
    """The last one is the file as it is called now."""
    via: str = "agent"
    tool: str | None = None
    """The key of the tool call's item."""
    allowed_by: str | None = None
    why_not: str | None = None
    """Why it cannot be undone."""
    remark: str | None = None
    """What else is to be said of it."""
    live: bool = False
    """A notebook that was changed in the page."""
    undone: frozenset[int] = frozenset()
    """The hunks that are undone, by their number."""
    kept: bool = False
    kept_hunks: frozenset[int] = frozenset()
    """Those that the user keeps, while others are still looked at."""
    conflict: str | None = None
    shape: Shape | None = None
    parts_undoable: int = 0
    """How many hunks there are; 0: it goes as a whole, and then 0 in `undone` stands for all of it."""

    @property
    def path(self) -> str:
        return self.parts[-1].path

    @property
    def moved_from(self) -> str | None:
        return self.parts[0].path if len(self.parts) > 1 else None

    @property
    def before(self) -> Kept | None:
        return self.parts[0].before

    @property
    def after(self) -> Kept | None:
        return self.parts[-1].after

    @property
    def everything(self) -> frozenset[int]:
        return frozenset(range(max(self.parts_undoable, 1)))

    @property
    def state(self) -> str:
        if self.conflict is not None:
            return "conflict"
        if self.undone == self.everything:
            return "undone"
        if self.kept:
            return "kept"
        return "partly" if self.undone else "applied"


@dataclass
class TurnChanges:
    """What one turn changed."""

    id: str
    key: str
    changes: list[Change] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    folders: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    """Empty folders, before and after."""

    def of_path(self, path: str) -> Change | None:
        return next((it for it in self.changes if it.path == path), None)

    @property
    def undoable(self) -> list[Change]:
        return [it for it in self.changes if it.why_not is None]


class Ledger:
    """One session's."""

    def __init__(self, spool: Spool) -> None:
        self.spool = spool
        self.turns: dict[str, TurnChanges] = {}
        """By the turn's id, oldest first."""
        self._ids = itertools.count(1)

    def __iter__(self) -> Iterator[Change]:
        return (change for turn in tuple(self.turns.values()) for change in tuple(turn.changes))

    def turn(self, id: str, key: str) -> TurnChanges:
        return self.turns.setdefault(id, TurnChanges(id, key))

    def new_id(self) -> str:
        return f"f{next(self._ids)}"

    def find_turn(self, name: str) -> TurnChanges | None:
        """By its id, or by the key of its item."""
        return next((it for it in self.turns.values() if name in (it.id, it.key)), None)

    def version(self, kept: Kept | None) -> Version | None:
        return None if kept is None else self.spool.get(kept)

    def survey(self, changes: Iterable[Change]) -> None:
        """Find out what is to be shown; on any thread."""
        for change in changes:
            if change.shape is None:
                self._survey(change)

    def _survey(self, change: Change) -> None:
        before, after = self.version(change.before), self.version(change.after)
        cells = notebook_shape(before, after) if is_notebook(change.path) else None
        if cells is not None:
            found, single = cells
        else:
            found = ch.shape(before, after)
            single = 0 if before is None or after is None else len(ch.line_groups(before, after))
        if change.moved_from is not None:
            found = replace(found, action="moved")
        change.parts_undoable, change.shape = single, found


def shown(changes: Iterable[Change], spell: Callable[[str], str]) -> list[FileChange]:
    """The changes as the page sees them; each must have been surveyed. `spell`: how a path is written."""
    made: list[FileChange] = []
    lines = 0
    for change in changes:
        file = shown_file(change, spell)
        lines += sum(len(hunk.lines) for hunk in file.hunks)
        if lines > SHOWN_LINES and file.hunks:
            file = _without_hunks(file)
        made.append(file)
    return made


def shown_file(change: Change, spell: Callable[[str], str]) -> FileChange:
    shape = change.shape or Shape("modified")
    hunks = tuple(
        replace(it, undone=_is_undone(change, at), kept=at in change.kept_hunks or None)
        for at, it in enumerate(shape.hunks)
    )
    return FileChange(
        change.id,
        spell(change.path),
        shape.action,
        shape.added,
        shape.removed,
        hunks,
        change.state,
        change.why_not is None,
        change.via,
        moved_from=None if change.moved_from is None else spell(change.moved_from),
        binary=shape.binary or None,
        notebook=shape.notebook or None,
        why=change.conflict or change.why_not,
        note="; ".join(filter(None, [shape.note, change.remark])) or None,
        tool=change.tool,
        allowed_by=change.allowed_by,
    )


def _is_undone(change: Change, number: int) -> bool:
    return change.undone == change.everything or number in change.undone


def _without_hunks(file: FileChange) -> FileChange:
    note = "; ".join(filter(None, ["not shown: the turn changed too much", file.note]))
    return replace(file, hunks=(), note=note)
