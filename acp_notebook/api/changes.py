"""session.changes, turn.changes, applied.changes: changed files as tables and diffs, and undo.

Reads the change logs of `agent.undo` from any thread; operations run on the loop thread; the caller waits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Protocol, overload

from .. import timeouts
from ..agent import loop
from ..agent.undo import change_log as log
from ..agent.undo.change_log import Change as LoggedChange
from ..agent.undo.operations import Operation
from ..core.attribution import command_line
from ..core.changes import FileChange, Version, lines_of_diff
from ..core.changes import Hunk as HunkRecord
from ..core.snapshot import TerminalRun, ToolCall
from ..core.tables import html_table, text_table
from ..errors import Conflict, UsageError

if TYPE_CHECKING:
    from ..agent.conversation import Conversation
    from ..agent.undo.change_tracker import Applied as AppliedRun
    from .turn import Turn

HEAD = ("turn", "action", "path", "+", "-", "state", "via", "allowed by", "note")

SETTLING = "the changes of the last turn are still being determined: try again in a moment"

MAX_ROWS = 100
"""How many rows are displayed; the table itself has all of them."""

COMMAND_CHARS = 80
"""The most characters of a command line in a note."""

Command = ToolCall | TerminalRun | str
"""A command of a turn: its tool call or terminal, or its command line."""


class Book(Protocol):
    """Where changes are entered and undone: those of a session, or those of a run that was applied."""

    @property
    def log(self) -> log.ChangeLog: ...

    @property
    def cwd(self) -> str:
        """The folder that paths are shown relative to."""
        ...

    @property
    def settling(self) -> bool: ...

    def spelled(self, path: str) -> str:
        """The path as the user writes it."""
        ...

    def item(self, key: str) -> object:
        """The item of the transcript with this key, if there is one."""
        ...

    def act(
        self,
        operation: Operation,
        turn: str | None,
        file: str | None,
        hunk: str | None,
        only: frozenset[str] | None,
    ) -> list[LoggedChange]:
        """Carry out the operation, and return the changes, each with its conflict if there is one."""
        ...


class SessionBook:
    """The changes of a session's turns."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._undoing = conversation.undoing

    @property
    def log(self) -> log.ChangeLog:
        return self._undoing.log

    @property
    def cwd(self) -> str:
        return self._conversation.state.cwd

    @property
    def settling(self) -> bool:
        return self._undoing.settling

    def spelled(self, path: str) -> str:
        return self._undoing.spelled(path)

    def item(self, key: str) -> object:
        return self._conversation.state.read(lambda transcript: transcript.find(key))

    def act(
        self,
        operation: Operation,
        turn: str | None,
        file: str | None,
        hunk: str | None,
        only: frozenset[str] | None,
    ) -> list[LoggedChange]:
        return self._conversation.agent.loop.call(self._undoing.act(operation, turn, file, hunk, only=only))


class AppliedBook:
    """The changes of a run of a fan-out that were applied to the user's folder."""

    settling = False

    def __init__(
        self, applied: AppliedRun, cwd: str, spelled: Callable[[str], str] = lambda path: path
    ) -> None:
        self._applied = applied
        self.cwd = cwd
        self.spelled = spelled

    @property
    def log(self) -> log.ChangeLog:
        return self._applied.log

    def item(self, key: str) -> object:
        return None

    def act(
        self,
        operation: Operation,
        turn: str | None,
        file: str | None,
        hunk: str | None,
        only: frozenset[str] | None,
    ) -> list[LoggedChange]:
        return loop.call(self._applied.act(operation, file, hunk, only=only))


class Hunk:
    """A part of a change that can be undone separately: some lines, or a cell of a notebook."""

    def __init__(self, change: Change, record: HunkRecord) -> None:
        self._change = change
        self._record = record

    @property
    def id(self) -> str:
        return self._record.id

    @property
    def title(self) -> str | None:
        return self._record.title

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines, each with its sign: "-", "+" or " "."""
        return self._record.lines

    @property
    def undone(self) -> bool:
        record = next((it for it in self._change._file.hunks if it.id == self.id), self._record)
        return record.undone

    def revert(self) -> None:
        """Undo this hunk. Raises acp.Conflict if it cannot be undone."""
        self._change._act("undo", self.id)

    def redo(self) -> None:
        self._change._act("redo", self.id)

    def __repr__(self) -> str:
        return "\n".join(self.lines)


class Change:
    """One file that changed during a turn, or that a run of a fan-out changed and the user applied."""

    def __init__(self, book: Book, change: log.Change) -> None:
        self._book = book
        self._change = change

    @property
    def path(self) -> str:
        return self._file.path

    @property
    def moved_from(self) -> str | None:
        return self._file.moved_from

    @property
    def action(self) -> str:
        """created, modified, deleted, moved, mode (permissions only), link (a symlink)."""
        return self._file.action

    @property
    def added(self) -> int:
        """The number of lines added."""
        return self._file.added

    @property
    def removed(self) -> int:
        """The number of lines removed."""
        return self._file.removed

    @property
    def before(self) -> str | bytes | None:
        """The content before the turn, as text or else bytes; None if the file did not exist."""
        return _content(self._book.log.version(self._change.before))

    @property
    def after(self) -> str | bytes | None:
        """The content after the turn."""
        return _content(self._book.log.version(self._change.after))

    @property
    def diff(self) -> str:
        """A unified diff; empty if there are no lines to compare."""
        lines = lines_of_diff(self._file)
        if not lines:
            return ""
        old, new = self.moved_from or self.path, self.path
        return "\n".join([f"--- {old}", f"+++ {new}", *lines]) + "\n"

    @property
    def hunks(self) -> tuple[Hunk, ...]:
        """The hunks, which can be undone separately."""
        return tuple(Hunk(self, it) for it in self._file.hunks)

    @property
    def turn(self) -> str:
        """The id of the turn; for an applied run, "run" and its number."""
        return self._change.turn

    @property
    def command(self) -> str | None:
        """The command that ran when the file changed, for files in `turn.also_changed`."""
        turn = self._book.log.turns.get(self._change.turn)
        return None if turn is None or self.via != "command" else turn.commands.get(self._change.tool or "")

    @property
    def tool_call(self) -> ToolCall | None:
        """The tool call that changed the file, or that ran when it changed (see `via`)."""
        key = self._change.tool
        found = None if key is None else self._book.item(key)
        return found if isinstance(found, ToolCall) else None

    @property
    def allowed_by(self) -> str | None:
        """user, policy, grant; None if nobody was asked, or if the agent may not have changed it."""
        return self._change.allowed_by

    @property
    def via(self) -> str:
        """client: the agent wrote it through this client; agent: a tool call names it; command: it changed
        while a command ran; other: the agent of another session or of an applied run changed it (see `by`);
        unknown: there is no evidence of what changed it."""
        return self._change.via

    @property
    def by(self) -> str | None:
        """The agent that changed the file in another session, for files in `turn.also_changed`; for an
        applied run, its agent and its number."""
        return self._change.by

    @property
    def undoable(self) -> bool:
        return self._change.why_not is None

    @property
    def why(self) -> str | None:
        """Why the change cannot be undone, or what the conflict is."""
        return self._file.why

    @property
    def note(self) -> str | None:
        return self._file.note

    @property
    def state(self) -> str:
        """applied, undone, partly (some hunks are undone), kept, conflict."""
        return self._change.state

    def revert(self) -> Change:
        """Undo the change, merging later edits. Raises acp.Conflict if they cannot be merged."""
        return self._act("undo")

    def redo(self) -> Change:
        """Reapply the change after an undo."""
        return self._act("redo")

    def keep(self) -> Change:
        """Mark the change as reviewed and kept."""
        return self._act("keep")

    def _act(self, operation: Operation, hunk: str | None = None) -> Change:
        _act([self], operation, self._change.turn, self._change.id, hunk)
        return self

    @property
    def _file(self) -> FileChange:
        self._book.log.survey([self._change])
        return log.shown_file(self._change, self._book.spelled)

    def _row(self, cwd: str) -> tuple[str, ...]:
        file = self._file
        moved = f"{_short(file.moved_from, cwd)} → " if file.moved_from else ""
        state = file.state if file.undoable else "not undoable"
        during = None if self.command is None else f"changed while `{_shortened(self.command)}` ran"
        by = None if file.by is None else f"by {file.by}"
        note = "; ".join(filter(None, [during, by, file.why, file.note]))
        path = moved + _short(file.path, cwd)
        counts = (str(file.added or ""), str(file.removed or ""))
        return (self.turn, file.action, path, *counts, state, file.via, file.allowed_by or "", note)

    def __repr__(self) -> str:
        return f"<Change {self.action} {self.path} · {self.state if self.undoable else 'not undoable'}>"


class ChangesTable(Sequence[Change]):
    """The changes at this moment, oldest turn first."""

    def __init__(self, book: Book, changes: Sequence[Change], turn: str | None = None) -> None:
        self._book = book
        self._changes = list(changes)
        self._turn = turn

    def __len__(self) -> int:
        return len(self._changes)

    def __iter__(self) -> Iterator[Change]:
        return iter(self._changes)

    @overload
    def __getitem__(self, index: int) -> Change: ...
    @overload
    def __getitem__(self, index: slice) -> ChangesTable: ...
    def __getitem__(self, index: int | slice) -> Change | ChangesTable:
        if isinstance(index, slice):
            return ChangesTable(self._book, self._changes[index], self._turn)
        return self._changes[index]

    def where(
        self,
        *,
        turn: Turn | str | None = None,
        path: str | os.PathLike[str] | None = None,
        command: Command | None = None,
    ) -> ChangesTable:
        """Filter by turn (or its id), by path (a file, or everything below a folder), or, for files in
        `turn.also_changed`, by the command that ran."""
        id = turn if turn is None or isinstance(turn, str) else turn._run.id
        wanted = None if path is None else os.path.join(self._book.cwd, os.fspath(path))
        found = [it for it in self if id in (None, it.turn) and (wanted is None or _is_at(it, wanted))]
        if command is not None:
            found = _during(found, command)
        return ChangesTable(self._book, found, self._turn)

    @property
    def notes(self) -> tuple[str, ...]:
        """What undo does not cover."""
        turns = self._book.log.turns
        chosen = [it for it in tuple(turns.values()) if self._turn in (None, it.id)]
        settling = (SETTLING,) if self._book.settling else ()
        return (*dict.fromkeys(note for turn in chosen for note in turn.notes), *settling)

    @property
    def diff(self) -> str:
        """All changes as one unified diff."""
        return "".join(it.diff for it in self)

    def revert(self) -> ChangesTable:
        """Undo all changes, newest first. Raises acp.Conflict if some could not be undone.

        Changes that are not `undoable` are skipped; `why` gives the reason. Raises acp.UsageError for changes
        in `turn.also_changed`, unless they are a single one or those of one command.
        """
        return self._act("undo")

    def redo(self) -> ChangesTable:
        return self._act("redo")

    def keep(self) -> ChangesTable:
        return self._act("keep")

    def _act(self, operation: Operation) -> ChangesTable:
        if operation != "keep" and not self._changes and self.notes:
            raise Conflict(
                "there are no known changes to undo:\n" + "\n".join(f"  {it}" for it in self.notes)
            )
        also = [it for it in self if it.via in ("command", "unknown")]
        one_command = len({(it.turn, it.command) for it in also}) == 1 and also[0].via == "command"
        if operation != "keep" and len(also) > 1 and not one_command:
            raise UsageError(
                "there is no evidence that the agent made these changes: undo them one by one, "
                "or those of one command with turn.revert(command=...)"
            )
        if not self._changes:  # whether that is possible now is still to be said
            self._book.act(operation, self._turn, None, None, frozenset())
        _act(self._changes, operation, self._turn)
        return self

    def to_dicts(self) -> list[dict[str, str]]:
        """The rows as dicts, for pandas.DataFrame or JSON."""
        return [dict(zip(HEAD, it._row(self._book.cwd), strict=True)) for it in self]

    def __repr__(self) -> str:
        if not self._changes and not self.notes:
            return f"<changes: {self._why_empty()}>"
        rows, notes = self._rows_and_notes()
        return "\n".join([*([text_table(HEAD, rows)] if rows else []), *notes])

    def _repr_html_(self) -> str:
        from html import escape

        if not self._changes and not self.notes:
            return f"<p>changes: {escape(self._why_empty())}</p>"
        rows, notes = self._rows_and_notes()
        table = html_table(HEAD, rows) if rows else ""
        return table + "".join(f"<p>{escape(note)}</p>" for note in notes)

    def _why_empty(self) -> str:
        known = self._book.log.turns.get(self._turn or "")
        if known is None or not known.also:
            return "none yet"
        count = len(known.also)
        files = "1 other file" if count == 1 else f"{count} other files"
        return f"none known to be the agent's; {files} changed during the turn, see turn.also_changed"

    def _rows_and_notes(self) -> tuple[list[tuple[str, ...]], list[str]]:
        rows = [it._row(self._book.cwd) for it in self._changes[-MAX_ROWS:]]
        more = len(self._changes) - MAX_ROWS
        return rows, [*([f"… {more} earlier, not shown"] if more > 0 else []), *self.notes]


def changes_of(conversation: Conversation, turn: str | None = None) -> ChangesTable:
    """The agent's changes in the session or in one turn. Waits for those of a turn that has just ended.

    Those of the session include the runs that the user has applied to its folder.
    """
    undoing, book = conversation.undoing, SessionBook(conversation)
    conversation.agent.loop.call(undoing.wait_settled(timeouts.get().changes_found))
    turns: list[tuple[log.TurnChanges, Book]] = [(it, book) for it in tuple(undoing.log.turns.values())]
    if turn is None:
        spelled, cwd = undoing.spelled, book.cwd
        turns += [(it.turn, AppliedBook(it, cwd, spelled)) for it in tuple(undoing.applied)]
    found = [
        Change(where, change)
        for it, where in sorted(turns, key=lambda entered: entered[0].at)
        for change in tuple(it.changes)
        if turn in (None, it.id)
    ]
    return ChangesTable(book, found, turn)


def changes_of_run(applied: AppliedRun, folder: str) -> ChangesTable:
    """The changes of a run that was applied to the folder."""
    book = AppliedBook(applied, folder)
    return ChangesTable(book, [Change(book, it) for it in tuple(applied.turn.changes)])


def also_changed(conversation: Conversation, turn: str) -> ChangesTable:
    """The other files that changed during the turn."""
    conversation.agent.loop.call(conversation.undoing.wait_settled(timeouts.get().changes_found))
    known = conversation.undoing.log.turns.get(turn)
    book = SessionBook(conversation)
    found = [Change(book, it) for it in (known.also if known is not None else ())]
    return ChangesTable(book, found, turn)


def during(conversation: Conversation, turn: str, command: Command) -> ChangesTable:
    """What changed while the command ran. Raises UsageError if nothing did."""
    found = also_changed(conversation, turn)
    if chosen := found.where(command=command):
        return chosen
    known = dict.fromkeys(it.command for it in found if it.command is not None)
    commands = "".join(f"\n  {_shortened(it)}" for it in known) or " none"
    raise UsageError(
        f"no file is known to have changed while that command ran. Commands with changes:{commands}"
    )


def _during(changes: Sequence[Change], command: Command) -> list[Change]:
    """The files that changed while the command ran.

    By its command line, unless they have its key: one command may have two tool calls, the agent's and the
    client's, and the same line may run twice.
    """
    key, line = (command,) * 2 if isinstance(command, str) else (command.key, command_line(command))
    of_call = [it for it in changes if it.via == "command" and it._change.tool == key]
    return of_call or [it for it in changes if it.command is not None and it.command == line]


def _shortened(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= COMMAND_CHARS else line[: COMMAND_CHARS - 1] + "…"


def _act(
    changes: Sequence[Change],
    operation: Operation,
    turn: str | None,
    file: str | None = None,
    hunk: str | None = None,
) -> None:
    """Carry out the operation, where each change is entered; undo the newest first. Raises Conflict."""
    parts = [[*some] for _, some in groupby(changes, key=lambda it: id(it._book))]
    touched: list[tuple[Book, log.Change]] = []
    for part in reversed(parts) if operation == "undo" else parts:
        book = part[0]._book
        only = None if file is not None else frozenset(it._change.id for it in part)
        touched += [(book, it) for it in book.act(operation, turn, file, hunk, only)]
    failed = [(book, it) for book, it in touched if it.conflict is not None]
    if failed:
        conflicts = "\n".join(f"  {book.spelled(it.path)}: {it.conflict}" for book, it in failed)
        raise Conflict(
            f"some changes could not be {'undone' if operation == 'undo' else 'reapplied'}:\n{conflicts}"
        )
    if file is not None and operation != "keep" and any(it.why_not for _, it in touched):
        raise Conflict(f"the change cannot be undone: {touched[0][1].why_not}")


def _content(version: Version | None) -> str | bytes | None:
    if version is None:
        return None
    try:
        return version.data.decode() if b"\0" not in version.data else version.data
    except UnicodeDecodeError:
        return version.data


def _is_at(change: Change, path: str) -> bool:
    paths = [it for it in (change.path, change.moved_from) if it is not None]
    return any(it == path or it.startswith(path.rstrip("/") + "/") for it in paths)


def _short(path: str | None, cwd: str) -> str:
    return "" if path is None else path.removeprefix(cwd.rstrip("/") + "/")
