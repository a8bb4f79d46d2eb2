"""The log of what each turn changed, which the page shows and undo uses.

Knows no disk and no git. Runs on the loop thread, except `survey`, which runs on any thread.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from ...core import changes as ch
from ...core.attribution import Call
from ...core.changes import AlsoChanged, FileChange, Shape, Version
from ...core.notebook_changes import is_notebook, notebook_shape
from ..files.blob_store import BlobRef, BlobStore

SHOWN_FILES = 300
"""Files of one turn that the page shows. For more, `session.changes` is a table."""

SHOWN_LINES = 6_000
"""Lines of all hunks of a turn that the page shows. Later files appear without their hunks."""


class Part(Struct, frozen=True):
    """One path with its states before and after. None: the file does not exist."""

    path: str
    before: BlobRef | None
    after: BlobRef | None


class Change(Struct):
    """A file that a turn changed. A moved file has two parts."""

    id: str
    turn: str
    """The id of the turn."""
    parts: tuple[Part, ...]
    """The last one has the current path."""
    via: str = "agent"
    """client: written through the client; agent: a tool call names the file; command: it changed while a
    command ran; other: the agent of another session changed it; unknown."""
    by: str | None = None
    """For "other": that agent."""
    order: float = 0.0
    """When it was made, among the changes of all sessions."""
    tool: str | None = None
    """The key of the tool call, or of the command that ran when the file changed."""
    allowed_by: str | None = None
    why_not: str | None = None
    """Why the change cannot be undone."""
    remark: str | None = None
    """A note for the user."""
    undone_by: str | None = None
    """Which of several users undid it, as the page claims."""
    live: bool = False
    """The page changed the open notebook, or the text in its tab."""
    undone: frozenset[int] = frozenset()
    """The numbers of the undone hunks."""
    kept: bool = False
    kept_hunks: frozenset[int] = frozenset()
    """Hunks that the user kept while others are undecided."""
    conflict: str | None = None
    shape: Shape | None = None
    parts_undoable: int = 0
    """How many hunks can be undone. 0: only the whole file; `undone` then contains 0 for all of it."""

    @property
    def path(self) -> str:
        return self.parts[-1].path

    @property
    def moved_from(self) -> str | None:
        return self.parts[0].path if len(self.parts) > 1 else None

    @property
    def before(self) -> BlobRef | None:
        return self.parts[0].before

    @property
    def after(self) -> BlobRef | None:
        return self.parts[-1].after

    @property
    def undone_note(self) -> str | None:
        return None if self.undone_by is None else f"undone by \u201c{self.undone_by}\u201d"

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


class Folders(Struct):
    """Empty folders that a turn removed and created."""

    removed: set[str] = field(default_factory=set)
    made: set[str] = field(default_factory=set)


class TurnChanges(Struct):
    """What changed during one turn."""

    id: str
    key: str
    changes: list[Change] = field(default_factory=list)
    """What the agent changed."""
    also: list[Change] = field(default_factory=list)
    """What else changed. `Change.tool` is the command that ran then, or None."""
    commands: dict[str, str] = field(default_factory=dict)
    """The command lines in `also`, by key."""
    notes: list[str] = field(default_factory=list)
    folders: dict[str | None, Folders] = field(default_factory=dict)
    """Empty folders by the key of the command; None: the agent's."""
    empty: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    """Folders that were empty before and after the turn. Undo and redo keep them."""
    claims: tuple[Call, ...] = ()
    """What the tool calls say beyond the changes, as evidence for turns of other sessions."""
    at: int = field(default_factory=time.monotonic_ns)
    """When it was entered, among the turns of all sessions."""

    def writes(self, path: str) -> list[Change]:
        """Writes through the client to this path; several if something else changed it in between."""
        return [it for it in self.changes if it.path == path and it.via == "client"]

    @property
    def all(self) -> list[Change]:
        return [*self.changes, *self.also]

    def unaccounted(self, call: Call) -> Call:
        """The call without the names of files whose change by it is known."""
        known = [it for it in self.changes if it.why_not is None and not it.live]
        return call.without(it.path for it in known if it.via == "agent" or it.tool == call.key)

    def during(self, command: str | None) -> list[Change]:
        """What changed while the command ran; for None, while no known command ran."""
        return [it for it in self.also if it.tool == command]

    @property
    def undoable(self) -> list[Change]:
        return [it for it in self.changes if it.why_not is None]


class ChangeLog:
    """Holds what the turns of one session changed, with the states of the files."""

    def __init__(self, store: BlobStore) -> None:
        self.store = store
        self.turns: dict[str, TurnChanges] = {}
        """By turn id, oldest first."""
        self._ids = itertools.count(1)

    def __iter__(self) -> Iterator[Change]:
        return (change for turn in tuple(self.turns.values()) for change in tuple(turn.changes))

    def turn(self, id: str, key: str) -> TurnChanges:
        return self.turns.setdefault(id, TurnChanges(id, key))

    def new_id(self) -> str:
        return f"f{next(self._ids)}"

    def find_turn(self, name: str) -> TurnChanges | None:
        """Find a turn by its id or by the key of its item."""
        return next((it for it in self.turns.values() if name in (it.id, it.key)), None)

    def keep(self, version: Version | None) -> BlobRef | None:
        """Store a state. Raises Full or OSError."""
        return None if version is None else self.store.keep(version)

    def version(self, kept: BlobRef | None) -> Version | None:
        return None if kept is None else self.store.get(kept)

    def survey(self, changes: Iterable[Change]) -> None:
        """Compute the shape (hunks, line counts) of the changes. Safe from any thread."""
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


def shown_turn(
    turn: TurnChanges, spell: Callable[[str], str]
) -> tuple[tuple[FileChange, ...], tuple[AlsoChanged, ...]]:
    """The agent's changes and the others by command, as the page shows them. Changes must be surveyed."""
    shown = _shown([it for it in turn.all[:SHOWN_FILES] if it.shape is not None], spell)
    ids = {it.id for it in turn.changes}
    rest = [it for it in shown if it.id not in ids]
    groups = [
        AlsoChanged(tuple(it for it in rest if it.tool == key and it.by is None), line, key)
        for key, line in turn.commands.items()
    ]
    for by in (*dict.fromkeys(it.by for it in rest if it.by is not None), None):
        groups.append(AlsoChanged(tuple(it for it in rest if it.tool is None and it.by == by), by=by))
    return tuple(it for it in shown if it.id in ids), tuple(it for it in groups if it.files)


def _shown(changes: Iterable[Change], spell: Callable[[str], str]) -> list[FileChange]:
    """`spell` formats a path for the user."""
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
        note="; ".join(filter(None, [shape.note, change.remark, change.undone_note])) or None,
        tool=change.tool,
        allowed_by=change.allowed_by,
        by=change.by,
    )


def _is_undone(change: Change, number: int) -> bool:
    return change.undone == change.everything or number in change.undone


def _without_hunks(file: FileChange) -> FileChange:
    note = "; ".join(filter(None, ["not shown: the turn changed too much", file.note]))
    return replace(file, hunks=(), note=note)
