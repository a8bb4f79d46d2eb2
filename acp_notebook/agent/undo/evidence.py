"""Gathers the evidence of a turn and enters the changed files into the change log.

`core.attribution` decides who changed a file. The evidence: when tool calls ran, how the checkpoints differ,
and what the agent wrote through the client. Everything except `CallClock` runs on a work thread.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...core import changes as ch
from ...core import events as ev
from ...core.attribution import (
    TICK_NS,
    UNKNOWN,
    Call,
    Difference,
    Span,
    Verdict,
    allowed_by,
    attribute,
    calls_of,
    is_jupyter_save,
)
from ...core.changes import PathChange, Shape, Version
from ...core.notebook_changes import is_notebook
from ...core.snapshot import TerminalRun, ToolCall
from ..event_bus import EventBus
from ..files.blob_store import BlobRef, Full
from .change_log import Change, ChangeLog, Folders, Part, TurnChanges

ENDED = ("completed", "failed", "cancelled")


class CallClock:
    """Measures when the tool calls and terminals of a turn ran, with the clock that dates files."""

    def __init__(self) -> None:
        self.spans: dict[str, Span] = {}
        self._questions: dict[str, str] = {}
        """The tool call of each open question."""
        self._answered: set[str] = set()
        self.began = self._quiet_since = time.time_ns()
        """When the last event arrived: a call first reported at its end began after that."""

    def turn_began(self) -> None:
        self._quiet_since = time.time_ns()
        self.began = self._quiet_since - TICK_NS
        self.spans, self._questions, self._answered = {}, {}, set()

    def follow(self, events: EventBus, *, every_event: bool) -> None:
        """Subscribe to the events. `every_event`: note the time of every event, whatever its type."""
        events.on(ev.ToolChanged, lambda it: self._see(it.id, over=it.status in ENDED))
        events.on(ev.TerminalChanged, lambda it: self._see(it.id, over=it.status in ("exited", "killed")))
        events.on(ev.QuestionAsked, self._on_asked)
        events.on(ev.QuestionSettled, self._on_settled)
        if every_event:
            events.listen(lambda event, _: self._note_event())

    def _note_event(self) -> None:
        self._quiet_since = time.time_ns()

    def _on_asked(self, event: ev.QuestionAsked) -> None:
        self._questions[event.id] = event.tool_id

    def _on_settled(self, event: ev.QuestionSettled) -> None:
        tool = self._questions.pop(event.id, None)
        if tool is not None and tool not in self._answered:  # the call did not run before the answer
            self._answered.add(tool)
            self.spans[tool] = (time.time_ns(), None)

    def _see(self, id: str, *, over: bool) -> None:
        now = time.time_ns()
        began, ended = self.spans.get(id, (self._quiet_since if over else now, None))
        self.spans[id] = (began, now if over and ended is None else ended)


@dataclass(frozen=True, slots=True)
class Find:
    """A path that differs after a turn, with references to its stored states."""

    path: str
    before: BlobRef | None = None
    after: BlobRef | None = None
    why_not: str | None = None
    action: str = "modified"
    changed_at: int | None = None
    gone: str | None = None
    saved: bool = False
    written: bool = False
    during: str | None = None
    by: str | None = None
    """In a replay, the id of the tool call for which the client wrote it."""

    @property
    def deleted(self) -> bool:
        return self.gone is not None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about a turn besides its files. `items`: the turn's items in the transcript."""

    items: Sequence[object]
    spans: Mapping[str, Span]
    cwd: str
    own_state: Collection[str] = ()
    """Folders in `cwd` where the agent stores its own sessions."""
    saved: frozenset[str] = frozenset()
    """Open notebooks that their page saved last."""
    empty: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    """Empty folders before and after the turn."""
    new_links: frozenset[str] = frozenset()
    """Symbolic links that this turn created or changed."""
    dated: bool = True
    """Whether file times are evidence. They are not in a replay."""

    def calls(self) -> list[Call]:
        return calls_of(self.items, self._resolved, self.spans, os.path.realpath(self.cwd))

    def _resolved(self, path: str) -> str:
        try:
            return self._real(os.path.join(self.cwd, path))
        except (OSError, ValueError):
            return path

    def _real(self, path: str) -> str:
        """The real path; a link that this turn put there is not followed: the agent named what was there."""
        if not self.new_links:
            return os.path.realpath(path)
        real, parts = "/", path.split("/")
        for number, name in enumerate(parts):
            place = os.path.join(real, name)
            if place in self.new_links:
                return os.path.join(place, *parts[number + 1 :])
            real = os.path.realpath(place)
        return real

    @property
    def own_folders(self) -> list[str]:
        return [os.path.join(os.path.realpath(self.cwd), it.rstrip("/")) for it in self.own_state]


def keep(log: ChangeLog, found: PathChange, since: int | None = None) -> Find:
    """Store both states of a changed path and determine when it changed.

    `since`: when the turn began, or None if file times are no evidence, as in a replay.
    """
    at, gone = _changed_at(found.path)
    if since is None:
        at = None
    elif at is not None and at < since and found.before is None:
        at = _moved_at(found.path, since)
    if found.why_not is not None:
        return Find(
            found.path, None, None, found.why_not, found.action, at, gone, during=found.during, by=found.by
        )
    try:
        before, after = (None if it is None else log.store.keep(it) for it in (found.before, found.after))
    except (Full, OSError) as error:
        return Find(found.path, why_not=str(error), changed_at=at, gone=gone)
    saved = is_notebook(found.path) and is_jupyter_save(found.before, found.after)
    gone = gone if found.after is None else None
    return Find(
        found.path,
        before,
        after,
        changed_at=at,
        gone=gone,
        saved=saved,
        during=found.during,
        by=found.by,
    )


def _changed_at(path: str) -> tuple[int | None, str | None]:
    """The ctime of a file, and None. For a deleted file: the ctime of the nearest existing folder, and the
    topmost path that is gone."""
    gone = None
    while True:
        try:
            return os.lstat(path).st_ctime_ns, gone
        except OSError:
            gone, path = path.rstrip("/"), os.path.dirname(path.rstrip("/"))
            if path == gone:
                return None, gone


def _moved_at(path: str, since: int) -> int | None:
    """When a file with an old ctime was moved here: the time of the first parent folder that changed."""
    while (folder := os.path.dirname(path)) != path:
        path = folder
        at, gone = _changed_at(path)
        if gone is not None or at is None:
            return None
        if at >= since:
            return at
    return None


class Attributor:
    """Decides for each find of one turn who made it, and enters it into the log."""

    def __init__(self, log: ChangeLog, turn: TurnChanges, evidence: Evidence) -> None:
        self._log = log
        self._turn = turn
        self._items = evidence.items
        self._evidence = evidence
        self._calls = evidence.calls()
        self._tools = {it.key: it for it in evidence.items if isinstance(it, ToolCall)}
        terminals = [it for it in evidence.items if isinstance(it, TerminalRun)]
        # Agents that run commands themselves give a terminal the id of its tool call. The call wins.
        self._ids = {it.id: it.key for it in terminals}
        self._ids |= {it.id: it.key for it in self._tools.values()}
        commands = [it.key for it in self._calls if it.command is not None]
        self._only = commands[0] if not evidence.dated and len(commands) == 1 else None
        """The only command of a turn. Old recordings do not say during which command a file changed."""
        self.listed: list[tuple[Find, Verdict]] = []
        """The entered finds, for a recording."""

    def enter(self, finds: Sequence[Find]) -> None:
        """Enter the files and folders that changed, and drop writes that changed nothing in the end."""
        rest = [part for find in finds for part in self._without_client_writes(find)]
        verdicts = dict(zip(rest, self._attribute(rest), strict=True))
        moves = self._moves(verdicts)
        for find, verdict in verdicts.items():
            if verdict.who == "unlisted":
                continue
            self.listed.append((find, verdict))
            if find in moves:
                self._add((moves[find], find), verdict)
            elif find not in moves.values():
                self._add((find,), verdict)
        self._enter_folders(finds)
        self._turn.changes = [it for it in self._turn.changes if not self._is_nothing(it)]
        self._turn.commands = {
            it.key: it.command
            for it in self._calls
            if it.command is not None and (self._turn.during(it.key) or it.key in self._turn.folders)
        }

    def _attribute(self, finds: Sequence[Find]) -> list[Verdict]:
        differences = [
            Difference(
                it.path,
                deleted=it.deleted,
                changed_at=it.changed_at,
                gone=it.gone,
                written=it.written,
                saved=it.saved or it.path in self._evidence.saved,
                during=self._only if it.during is None else self._ids.get(it.during),
                by_client=_is_by_client(it),
                writer=self._ids.get(it.by or ""),
            )
            for it in finds
        ]
        return attribute(differences, self._calls, self._evidence.own_folders)

    def _without_client_writes(self, find: Find) -> Iterator[Find]:
        """Split a find into the changes before and after the writes through the client, which are logged."""
        ours = self._turn.writes(find.path)
        if not ours or find.why_not is not None:
            yield find
            return
        first, last = ours[0], ours[-1]
        find = replace(find, written=True)
        if first.live or last.live:  # the page saved our change
            yield replace(find, saved=True)
        elif first.why_not is not None:  # the write could not store the old state, but the checkpoint did
            first.parts, first.why_not = (Part(find.path, find.before, first.after),), None
            first.shape = None
        elif not self._same(find.before, first.before):
            yield replace(find, after=first.before, changed_at=None, gone=None)
        if not last.live and not self._same(last.after, find.after):
            yield replace(find, before=last.after)

    def recorded(self, finds: Sequence[Find]) -> list[PathChange]:
        """The changes that a recording keeps: listed ones, and writes that a replay cannot reproduce."""
        ids = {key: id for id, key in self._ids.items()}
        listed = {it.path for it, _ in self.listed}
        during = {
            it.path: ids.get(verdict.call or "") for it, verdict in self.listed if verdict.who == "command"
        }
        found: list[PathChange] = []
        for find in finds:
            states = (self._log.version(find.before), self._log.version(find.after))
            ours = bool(self._turn.writes(find.path)) and not _is_plain_text(find.path, states)
            if find.path in listed or ours:
                by = self._writer(find.path, ids)
                found.append(
                    PathChange(find.path, *states, find.why_not, find.action, during.get(find.path), by)
                )
        return found

    def _writer(self, path: str, ids: Mapping[str, str]) -> str | None:
        """The id of the tool call for which the client last wrote the file."""
        writes = self._turn.writes(path)
        return ids.get(writes[-1].tool or "") if writes else None

    def _same(self, one: BlobRef | None, other: BlobRef | None) -> bool:
        return self._log.version(one) == self._log.version(other)

    def _moves(self, verdicts: Mapping[Find, Verdict]) -> dict[Find, Find]:
        """Moved files: the find of the new path mapped to that of the old one, if both have one author.

        A deletion of unknown origin pairs with the command that created the new file, never with the agent.
        """
        known = [it for it, verdict in verdicts.items() if it.why_not is None and verdict.who != "unlisted"]
        gone = [it for it in known if it.after is None and it.before is not None]
        new = [it for it in known if it.before is None and it.after is not None]
        moves: dict[Find, Find] = {}
        for author in dict.fromkeys(verdicts[it] for it in new):
            authors = {author, UNKNOWN} if author.who == "command" else {author}
            old = {it.path: it for it in gone if verdicts[it] in authors and it not in moves.values()}
            made = {it.path: it for it in new if verdicts[it] == author}
            pairs = ch.moves(self._versions(old, "before"), self._versions(made, "after"))
            moves |= {made[path]: old[was] for path, was in pairs.items()}
        return moves

    def _versions(self, finds: Mapping[str, Find], side: str) -> dict[str, Version]:
        found = {path: self._log.version(getattr(it, side)) for path, it in finds.items()}
        return {path: it for path, it in found.items() if it is not None}

    def _add(self, finds: Sequence[Find], verdict: Verdict) -> None:
        last = finds[-1]
        parts = tuple(Part(it.path, it.before, it.after) for it in finds)
        via = "client" if _is_by_client(last) else verdict.who
        change = Change(self._log.new_id(), self._turn.id, parts, via=via, tool=verdict.call)
        if last.why_not is not None:
            change.why_not, change.shape = last.why_not, Shape(last.action)
        if verdict.who == "agent":
            tool = self._tools.get(verdict.call or "")
            path = None if via == "client" else change.path
            change.allowed_by = None if tool is None else allowed_by(tool, self._items, path)
        (self._turn.changes if verdict.who == "agent" else self._turn.also).append(change)

    def _is_nothing(self, change: Change) -> bool:
        """Whether writes through the client left the file as it was before."""
        written = change.via == "client" and change.why_not is None
        return written and self._same(change.before, change.after)

    def _enter_folders(self, finds: Sequence[Find]) -> None:
        before, after = self._turn.empty = self._evidence.empty
        existed = [it.path for it in finds if it.before is not None]
        made = [it for it in after - before if not any(path.startswith(f"{it}/") for path in existed)]
        removed = [it for it in before - after if not os.path.lexists(it)]
        folders = [Find(it, None, None, None, "folder", *_changed_at(it)) for it in (*made, *removed)]
        for find, verdict in zip(folders, self._attribute(folders), strict=True):
            if verdict.who in ("agent", "command"):
                group = self._turn.folders.setdefault(
                    None if verdict.who == "agent" else verdict.call, Folders()
                )
                (group.removed if find.deleted else group.made).add(find.path)


def _is_by_client(find: Find) -> bool:
    """Whether the recording says that the client wrote the file, and the replay has not done so."""
    return find.by is not None and not find.written


def _is_plain_text(path: str, states: Sequence[Version | None]) -> bool:
    return not is_notebook(path) and all(it is None or (not it.link and not it.mode & 0o111) for it in states)
