"""Gathers the evidence of a turn and enters what was found into the change log. `core.attribution` decides.

Knows when tool calls ran, what the checkpoints differ in, and what was written through us. Everything but
`CallClock` works on a thread.
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
from ...core.changes import Shape, Version
from ...core.notebook_changes import is_notebook
from ...core.snapshot import TerminalRun, ToolCall
from ..files.blob_store import BlobRef, Full
from .backend import PathChange
from .change_log import Change, ChangeLog, Folders, Part, TurnChanges

ENDED = ("completed", "failed", "cancelled")

TIMED = (ev.ToolChanged, ev.TerminalChanged, ev.QuestionAsked, ev.QuestionSettled)
"""Events that say when a call or a terminal ran."""


class CallClock:
    """Notes when the tool calls and terminals of a turn began and ended, by the clock that dates files."""

    def __init__(self) -> None:
        self.spans: dict[str, Span] = {}
        self._questions: dict[str, str] = {}
        """The calls that open questions are about."""
        self._answered: set[str] = set()
        self.began = self._quiet_since = time.time_ns()
        """When the last event came: a call that is reported when it is over began after that."""

    def turn_began(self) -> None:
        self._quiet_since = time.time_ns()
        self.began = self._quiet_since - TICK_NS
        self.spans, self._questions, self._answered = {}, {}, set()

    def see(self, event: ev.Event) -> None:
        now = time.time_ns()
        if not isinstance(event, TIMED):  # nearly all are chunks of messages
            self._quiet_since = now
            return
        match event:
            case ev.ToolChanged(id=id, status=status):
                self._see(id, now, over=status in ENDED)
            case ev.TerminalChanged(id=id, status=status):
                self._see(id, now, over=status in ("exited", "killed"))
            case ev.QuestionAsked(id=id, tool_id=tool):
                self._questions[id] = tool
            case ev.QuestionSettled(id=id) if id in self._questions:
                tool = self._questions.pop(id)
                if tool not in self._answered:  # it did not run before that
                    self._answered.add(tool)
                    self.spans[tool] = (now, None)
        self._quiet_since = now

    def _see(self, id: str, now: int, *, over: bool) -> None:
        began, ended = self.spans.get(id, (self._quiet_since if over else now, None))
        self.spans[id] = (began, now if over and ended is None else ended)


@dataclass(frozen=True, slots=True)
class Find:
    """A path that differs after a turn, its states kept."""

    path: str
    before: BlobRef | None = None
    after: BlobRef | None = None
    why_not: str | None = None
    action: str = "modified"
    changed_at: int | None = None
    gone: str | None = None
    saved: bool = False
    writers: frozenset[str] = frozenset()
    during: str | None = None

    @property
    def deleted(self) -> bool:
        return self.gone is not None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about a turn besides its files. `items` are those of its transcript."""

    items: Sequence[object]
    spans: Mapping[str, Span]
    cwd: str
    own_state: Collection[str] = ()
    """Folders in `cwd` where the agent keeps its sessions."""
    saved: frozenset[str] = frozenset()
    """Notebooks that the page that has them open saved last."""
    empty: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    dated: bool = True
    """Whether times say something: not in a replay."""

    def calls(self) -> list[Call]:
        return calls_of(self.items, self._resolved, self.spans, os.path.realpath(self.cwd))

    def _resolved(self, path: str) -> str:
        try:
            return os.path.realpath(os.path.join(self.cwd, path))
        except (OSError, ValueError):
            return path

    @property
    def own_folders(self) -> list[str]:
        return [os.path.join(os.path.realpath(self.cwd), it.rstrip("/")) for it in self.own_state]


def keep(log: ChangeLog, found: PathChange, since: int | None = None) -> Find:
    """Keep the states of a path that differs, and note when it changed.

    `since`: when the turn began; None: times say nothing, as in a replay.
    """
    at, gone = _changed_at(found.path)
    if since is None:
        at = None
    elif at is not None and at < since and found.before is None:
        at = _moved_at(found.path, since)
    if found.why_not is not None:
        return Find(found.path, None, None, found.why_not, found.action, at, gone, during=found.during)
    try:
        before, after = (None if it is None else log.store.keep(it) for it in (found.before, found.after))
    except (Full, OSError) as error:
        return Find(found.path, why_not=str(error), changed_at=at, gone=gone)
    saved = is_notebook(found.path) and is_jupyter_save(found.before, found.after)
    gone = gone if found.after is None else None
    return Find(found.path, before, after, changed_at=at, gone=gone, saved=saved, during=found.during)


def _changed_at(path: str) -> tuple[int | None, str | None]:
    """The ctime of a file; of a deleted one, that of the nearest folder, and the topmost folder gone."""
    gone = None
    while True:
        try:
            return os.lstat(path).st_ctime_ns, gone
        except OSError:
            gone, path = path.rstrip("/"), os.path.dirname(path.rstrip("/"))
            if path == gone:
                return None, gone


def _moved_at(path: str, since: int) -> int | None:
    """When an old file came to its new place, with its folder perhaps: then that was changed."""
    while (folder := os.path.dirname(path)) != path:
        path = folder
        at, gone = _changed_at(path)
        if gone is not None or at is None:
            return None
        if at >= since:
            return at
    return None


class Attributor:
    """Enters the finds of one turn into the log."""

    def __init__(self, log: ChangeLog, turn: TurnChanges, evidence: Evidence) -> None:
        self._log = log
        self._turn = turn
        self._items = evidence.items
        self._evidence = evidence
        self._calls = evidence.calls()
        self._tools = {it.key: it for it in evidence.items if isinstance(it, ToolCall)}
        terminals = [it for it in evidence.items if isinstance(it, TerminalRun)]
        # Agents that run commands themselves give a terminal the id of its call: the call counts.
        self._ids = {it.id: it.key for it in terminals}
        self._ids |= {it.id: it.key for it in self._tools.values()}
        commands = [it.key for it in self._calls if it.command is not None]
        self._only = commands[0] if not evidence.dated and len(commands) == 1 else None
        """In a replay of an old recording, which does not say which command it was."""
        self.listed: list[tuple[Find, Verdict]] = []
        """What was entered, for a recording."""

    def enter(self, finds: Sequence[Find]) -> None:
        rest = [part for find in finds for part in self._not_ours(find)]
        verdicts = dict(zip(rest, self._judged(rest), strict=True))
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

    def _judged(self, finds: Sequence[Find]) -> list[Verdict]:
        differences = [
            Difference(
                it.path,
                deleted=it.deleted,
                changed_at=it.changed_at,
                gone=it.gone,
                writers=it.writers,
                saved=it.saved or it.path in self._evidence.saved,
                during=self._only if it.during is None else self._ids.get(it.during),
            )
            for it in finds
        ]
        return attribute(differences, self._calls, self._evidence.own_folders)

    def _not_ours(self, find: Find) -> Iterator[Find]:
        """What is left of a find without our own writes: what came before them, and what came after."""
        ours = self._turn.writes(find.path)
        if not ours or find.why_not is not None:
            yield find
            return
        first, last = ours[0], ours[-1]
        writers = frozenset().union(*(it.writers for it in ours))
        if first.live or last.live:  # the page saved what we changed in it
            yield replace(find, saved=True, writers=writers)
        elif first.why_not is not None:  # we could not keep it; the checkpoint has
            first.parts, first.why_not = (Part(find.path, find.before, first.after),), None
            first.shape = None
        elif not self._same(find.before, first.before):
            yield replace(find, after=first.before, changed_at=None, gone=None, writers=writers)
        if not last.live and not self._same(last.after, find.after):
            yield replace(find, before=last.after, writers=writers)

    def recorded(self, finds: Sequence[Find]) -> list[PathChange]:
        """What a recording keeps: what is listed, and what a replay could not write again as it was."""
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
                found.append(PathChange(find.path, *states, find.why_not, find.action, during.get(find.path)))
        return found

    def _same(self, one: BlobRef | None, other: BlobRef | None) -> bool:
        return self._log.version(one) == self._log.version(other)

    def _moves(self, verdicts: Mapping[Find, Verdict]) -> dict[Find, Find]:
        """Files that were moved, from the new find to the old one, where the same hand did both.

        A deletion that nothing names goes with the command that made the new file, never with the agent.
        """
        known = [it for it, verdict in verdicts.items() if it.why_not is None and verdict.who != "unlisted"]
        gone = [it for it in known if it.after is None and it.before is not None]
        new = [it for it in known if it.before is None and it.after is not None]
        moves: dict[Find, Find] = {}
        for hand in dict.fromkeys(verdicts[it] for it in new):
            hands = {hand, UNKNOWN} if hand.who == "command" else {hand}
            old = {it.path: it for it in gone if verdicts[it] in hands and it not in moves.values()}
            made = {it.path: it for it in new if verdicts[it] == hand}
            pairs = ch.moves(self._versions(old, "before"), self._versions(made, "after"))
            moves |= {made[path]: old[was] for path, was in pairs.items()}
        return moves

    def _versions(self, finds: Mapping[str, Find], side: str) -> dict[str, Version]:
        found = {path: self._log.version(getattr(it, side)) for path, it in finds.items()}
        return {path: it for path, it in found.items() if it is not None}

    def _add(self, finds: Sequence[Find], verdict: Verdict) -> None:
        last = finds[-1]
        parts = tuple(Part(it.path, it.before, it.after) for it in finds)
        change = Change(self._log.new_id(), self._turn.id, parts, via=verdict.who, tool=verdict.call)
        if last.why_not is not None:
            change.why_not, change.shape = last.why_not, Shape(last.action)
        if verdict.who == "agent":
            tool = self._tools.get(verdict.call or "")
            change.allowed_by = None if tool is None else allowed_by(tool, self._items, change.path)
        (self._turn.changes if verdict.who == "agent" else self._turn.also).append(change)

    def _is_nothing(self, change: Change) -> bool:
        """Written through us, and in the end what it was before."""
        written = change.via == "client" and change.why_not is None
        return written and self._same(change.before, change.after)

    def _enter_folders(self, finds: Sequence[Find]) -> None:
        before, after = self._turn.empty = self._evidence.empty
        existed = [it.path for it in finds if it.before is not None]
        made = [it for it in after - before if not any(path.startswith(f"{it}/") for path in existed)]
        removed = [it for it in before - after if not os.path.lexists(it)]
        folders = [Find(it, None, None, None, "folder", *_changed_at(it)) for it in (*made, *removed)]
        for find, verdict in zip(folders, self._judged(folders), strict=True):
            if verdict.who in ("agent", "command"):
                group = self._turn.folders.setdefault(
                    None if verdict.who == "agent" else verdict.call, Folders()
                )
                (group.removed if find.deleted else group.made).add(find.path)


def _is_plain_text(path: str, states: Sequence[Version | None]) -> bool:
    return not is_notebook(path) and all(it is None or (not it.link and not it.mode & 0o111) for it in states)
