"""session.changes, turn.changes, turn.also_changed: changed files as tables and diffs, and undo.

Reads the change log of `agent.undo` from any thread; operations run on the loop thread, and the caller waits.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

from .. import timeouts
from ..agent.undo import change_log as log
from ..agent.undo.operations import Operation
from ..core.attribution import command_line
from ..core.changes import FileChange, Version, lines_of_diff
from ..core.changes import Hunk as HunkRecord
from ..core.snapshot import TerminalRun, ToolCall
from ..core.tables import html_table, text_table
from ..errors import Conflict, UsageError

if TYPE_CHECKING:
    from ..agent.conversation import Conversation
    from .turn import Turn

HEAD = ("turn", "action", "path", "+", "-", "state", "via", "allowed by", "note")

SETTLING = "the changes of the last turn are still being determined: try again in a moment"

MAX_ROWS = 100
"""How many rows are displayed; the table itself has all of them."""

COMMAND_CHARS = 80
"""The most characters of a command line in a note."""

Command = ToolCall | TerminalRun | str
"""A command of a turn: its tool call or terminal, or its command line."""


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
    """One file that changed during a turn."""

    def __init__(self, conversation: Conversation, change: log.Change) -> None:
        self._conversation = conversation
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
    def before(self) -> str | bytes | None:
        """The content before the turn, as text or else bytes; None if the file did not exist."""
        return _content(self._conversation.undoing.log.version(self._change.before))

    @property
    def after(self) -> str | bytes | None:
        """The content after the turn."""
        return _content(self._conversation.undoing.log.version(self._change.after))

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
        """The id of the turn."""
        return self._change.turn

    @property
    def command(self) -> str | None:
        """The command that ran when the file changed, for files in `turn.also_changed`."""
        turn = self._conversation.undoing.log.turns.get(self._change.turn)
        return None if turn is None or self.via != "command" else turn.commands.get(self._change.tool or "")

    @property
    def tool_call(self) -> ToolCall | None:
        """The tool call that changed the file, or that ran when it changed (see `via`)."""
        key = self._change.tool
        found = (
            None if key is None else self._conversation.state.read(lambda transcript: transcript.find(key))
        )
        return found if isinstance(found, ToolCall) else None

    @property
    def allowed_by(self) -> str | None:
        """user, policy, grant; None if nobody was asked, or if the agent may not have changed it."""
        return self._change.allowed_by

    @property
    def via(self) -> str:
        """client: the agent wrote it through this client; agent: a tool call names it; command: it changed
        while a command ran; other: the agent of another session changed it (see `by`); unknown: there is no
        evidence of what changed it."""
        return self._change.via

    @property
    def by(self) -> str | None:
        """The agent that changed the file in another session, for files in `turn.also_changed`."""
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
        _act(self._conversation, operation, self._change.turn, self._change.id, hunk)
        return self

    @property
    def _file(self) -> FileChange:
        undoing = self._conversation.undoing
        undoing.log.survey([self._change])
        return log.shown_file(self._change, undoing.spelled)

    def _row(self, cwd: str) -> tuple[str, ...]:
        file = self._file
        moved = f"{_short(file.moved_from, cwd)} → " if file.moved_from else ""
        state = file.state if file.undoable else "not undoable"
        during = None if self.command is None else f"changed while `{_shortened(self.command)}` ran"
        note = "; ".join(filter(None, [during, file.why, file.note]))
        path = moved + _short(file.path, cwd)
        counts = (str(file.added or ""), str(file.removed or ""))
        return (self.turn, file.action, path, *counts, state, file.via, file.allowed_by or "", note)

    def __repr__(self) -> str:
        return f"<Change {self.action} {self.path} · {self.state if self.undoable else 'not undoable'}>"


class ChangesTable(Sequence[Change]):
    """The changes at this moment, oldest turn first."""

    def __init__(
        self, conversation: Conversation, changes: Sequence[Change], turn: str | None = None
    ) -> None:
        self._conversation = conversation
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
            return ChangesTable(self._conversation, self._changes[index], self._turn)
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
        wanted = None if path is None else os.path.join(self._conversation.state.cwd, os.fspath(path))
        found = [it for it in self if id in (None, it.turn) and (wanted is None or _is_at(it, wanted))]
        if command is not None:
            found = _during(found, command)
        return ChangesTable(self._conversation, found, self._turn)

    @property
    def notes(self) -> tuple[str, ...]:
        """What undo does not cover."""
        turns = self._conversation.undoing.log.turns
        chosen = [it for it in tuple(turns.values()) if self._turn in (None, it.id)]
        settling = (SETTLING,) if self._conversation.undoing.settling else ()
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
        chosen = frozenset(it._change.id for it in self)
        _act(self._conversation, operation, self._turn, None, None, chosen)
        return self

    def to_dicts(self) -> list[dict[str, str]]:
        """The rows as dicts, for pandas.DataFrame or JSON."""
        return [dict(zip(HEAD, it._row(self._conversation.state.cwd), strict=True)) for it in self]

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
        known = self._conversation.undoing.log.turns.get(self._turn or "")
        if known is None or not known.also:
            return "none yet"
        count = len(known.also)
        files = "1 other file" if count == 1 else f"{count} other files"
        return f"none known to be the agent's; {files} changed during the turn, see turn.also_changed"

    def _rows_and_notes(self) -> tuple[list[tuple[str, ...]], list[str]]:
        rows = [it._row(self._conversation.state.cwd) for it in self._changes[-MAX_ROWS:]]
        more = len(self._changes) - MAX_ROWS
        return rows, [*([f"… {more} earlier, not shown"] if more > 0 else []), *self.notes]


def changes_of(conversation: Conversation, turn: str | None = None) -> ChangesTable:
    """The agent's changes in the session or in one turn. Waits for those of a turn that has just ended."""
    conversation.agent.loop.call(conversation.undoing.wait_settled(timeouts.get().changes_found))
    found = [Change(conversation, it) for it in conversation.undoing.log if turn in (None, it.turn)]
    return ChangesTable(conversation, found, turn)


def also_changed(conversation: Conversation, turn: str) -> ChangesTable:
    """The other files that changed during the turn."""
    conversation.agent.loop.call(conversation.undoing.wait_settled(timeouts.get().changes_found))
    known = conversation.undoing.log.turns.get(turn)
    found = [Change(conversation, it) for it in (known.also if known is not None else ())]
    return ChangesTable(conversation, found, turn)


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
    conversation: Conversation,
    operation: Operation,
    turn: str | None,
    file: str | None,
    hunk: str | None,
    only: frozenset[str] | None = None,
) -> None:
    touched = conversation.agent.loop.call(conversation.undoing.act(operation, turn, file, hunk, only=only))
    failed = [it for it in touched if it.conflict is not None]
    if failed:
        conflicts = "\n".join(f"  {conversation.undoing.spelled(it.path)}: {it.conflict}" for it in failed)
        raise Conflict(
            f"some changes could not be {'undone' if operation == 'undo' else 'reapplied'}:\n{conflicts}"
        )
    if file is not None and operation != "keep" and any(it.why_not for it in touched):
        raise Conflict(f"the change cannot be undone: {touched[0].why_not}")


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
