"""Decides by the evidence who changed the files of a turn, and enters them into the change log.

`core.attribution` decides who changed a file. The evidence: what tool calls name and when they ran, how the
checkpoints differ, what the agent wrote through the client, and what other sessions did in the same folder at
the same time. Runs on a work thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, structs
from msgspec.structs import replace

from ...core import changes as ch
from ...core.attribution import (
    UNKNOWN,
    Call,
    Difference,
    Other,
    Verdict,
    allowed_by,
    attribute,
    is_jupyter_save,
)
from ...core.changes import PathChange, Shape, Version
from ...core.notebook_changes import is_notebook
from ...core.snapshot import TerminalRun, ToolCall
from ..files.blob_store import BlobRef, Full
from .change_log import Change, ChangeLog, Folders, Part, TurnChanges
from .evidence import Evidence
from .overlaps import OtherTurn, Segment, Undo, next_order

ELSEWHERE = "{} changed it in another session: undo it there"
SHARED = "{} changed it at the same time: which part is whose is not known"
ALSO_BY = "{} changed this file, too"
PERHAPS_BY = "{} may have changed it in another session"


class Overlap(Struct, frozen=True):
    """What other sessions did in the same folders while the turn ran."""

    order: float
    at: int
    """When its first checkpoint was begun: by order and by the clock."""
    begun: float
    ended: float
    """When the prompt was sent, and when the turn ended, by order."""
    others: Sequence[OtherTurn] = ()
    undos: Sequence[Undo] = ()


ALONE = Overlap(0.0, 0, 0.0, 0.0)


class Find(Struct, frozen=True):
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
    order: float | None = None
    """When it changed, among the changes of all sessions; None: at the end of the turn."""
    other: str | None = None
    """The agent of another session that is known to have changed it, too; alone if `is_others`."""
    is_others: bool = False

    @property
    def deleted(self) -> bool:
        return self.gone is not None


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
        before, after = log.keep(found.before), log.keep(found.after)
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

    def __init__(
        self, log: ChangeLog, turn: TurnChanges, evidence: Evidence, overlap: Overlap = ALONE
    ) -> None:
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
        self._overlap = overlap
        self._segments: dict[str, list[Segment]] = {}
        """What others are known to have changed, by path."""
        self._claims: list[Other] = []

    def enter(self, finds: Sequence[Find]) -> None:
        """Enter the files and folders that changed, and drop writes that changed nothing in the end."""
        paths = [it.path for it in finds]
        if self._overlap.others or self._overlap.undos:
            self._look_at_others(finds)
        rest = [part for find in finds for part in self._unexplained(find)]
        verdicts = dict(zip(rest, self._attribute(rest), strict=True))
        moves = self._moves(verdicts)
        for find, verdict in verdicts.items():
            if verdict.who == "unlisted":
                continue
            if verdict.who != "other":
                self.listed.append((find, verdict))
            if find in moves:
                self._add((moves[find], find), verdict)
            elif find not in moves.values():
                self._add((find,), verdict)
        self._enter_folders(finds)
        if self._overlap.others:
            self._turn.claims = tuple(self._claim(it, frozenset(paths)) for it in self._calls)
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
        verdicts = attribute(differences, self._calls, self._evidence.own_folders, self._claims)
        return [
            Verdict("other", other=find.other) if find.is_others and it.who != "unlisted" else it
            for find, it in zip(finds, verdicts, strict=True)
        ]

    def _look_at_others(self, finds: Sequence[Find]) -> None:
        """Note what other sessions are known to have changed, and what they say that they changed."""
        paths = {it.path: it for it in finds}
        for undo in (it for it in self._overlap.undos if it.path in paths):
            self._segments.setdefault(undo.path, []).append(self._segment(undo))
        for other in self._overlap.others:
            unclear: list[str] = []
            for segment, is_timed in other.segments(paths, self._overlap.order):
                usable = is_timed or self._is_during(segment, paths[segment.path], other)
                if usable:
                    self._segments.setdefault(segment.path, []).append(segment)
                elif usable is None:
                    unclear.append(segment.path)
            self._claims.append(other.claims(self._overlap.at, unclear))

    def _claim(self, call: Call, paths: frozenset[str]) -> Call:
        """What a call says beyond the changes that were found, as evidence for other sessions."""
        named = call.named & paths
        return self._turn.unaccounted(structs.replace(call, named=named, removes=frozenset()))

    def _is_during(self, segment: Segment, find: Find, other: OtherTurn) -> bool | None:
        """Whether another turn made the change within this one; None if that is not known."""
        first, last = self._log.version(find.before), self._log.version(find.after)
        if other.is_earlier and first == segment.after:
            return False
        began = not other.is_earlier or first == segment.before
        ended = segment.order < self._overlap.ended or last == segment.after
        return True if began and ended else None

    def _unexplained(self, find: Find) -> Iterator[Find]:
        """Cut what is known exactly out of a find: writes through the client, and others' changes."""
        others, ours = self._segments.get(find.path, []), self._turn.writes(find.path)
        if not others or find.why_not is not None or any(it.live or it.why_not for it in ours):
            yield from self._without_client_writes(find)
            return
        agents = [it.agent for it in others if it.agent is not None]
        find = replace(find, written=bool(ours), other=agents[-1] if agents else None)
        parts = list(self._gaps(find, others, ours))
        for change in ours:
            change.remark = ALSO_BY.format(agents[-1]) if agents else None
        if not parts and not ours and agents:
            yield replace(find, is_others=True)
        yield from parts

    def _gaps(self, find: Find, others: Sequence[Segment], ours: Sequence[Change]) -> Iterator[Find]:
        """The changes between the segments, in their order."""
        now, then = self._log.version(find.before), self._log.version(find.after)
        segments = sorted([*others, *map(self._segment, ours)], key=lambda it: it.order)
        # Made while a checkpoint was being made: perhaps it contains the change, perhaps not.
        while segments and segments[0].order < self._overlap.begun and segments[0].before != now:
            segments.pop(0)
        while segments and segments[-1].order > self._overlap.ended and segments[-1].after != then:
            segments.pop()
        for segment in segments:
            if now != segment.before:
                between = replace(find, changed_at=None, gone=None, order=segment.order - 0.5)
                yield self._between(between, now, segment.before)
            now = segment.after
        if now != then:
            yield self._between(find, now, then)

    def _segment(self, it: Change | Undo) -> Segment:
        return Segment(it.path, self._log.version(it.before), self._log.version(it.after), it.order)

    def _between(self, find: Find, before: Version | None, after: Version | None) -> Find:
        saved = is_notebook(find.path) and is_jupyter_save(before, after)
        return replace(find, before=self._log.keep(before), after=self._log.keep(after), saved=saved)

    def _without_client_writes(self, find: Find) -> Iterator[Find]:
        """Split a find into the changes before and after the writes through the client, which are logged."""
        ours = self._turn.writes(find.path)
        if not ours or find.why_not is not None:
            yield find
            return
        first, last = ours[0], ours[-1]
        find = replace(find, written=True)
        if first.live or last.live:
            # A page saved our change. A text that it did not save like that was changed on disk by somebody.
            is_save = is_notebook(find.path) or self._same(last.after, find.after)
            yield replace(find, saved=is_save)
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
        change.order = next_order() if last.order is None else last.order
        self._name_other(change, verdict, last)
        if last.why_not is not None:
            change.why_not, change.shape = last.why_not, Shape(last.action)
        if verdict.who == "agent":
            tool = self._tools.get(verdict.call or "")
            path = None if via == "client" else change.path
            change.allowed_by = None if tool is None else allowed_by(tool, self._items, path)
        (self._turn.changes if verdict.who == "agent" else self._turn.also).append(change)

    def _name_other(self, change: Change, verdict: Verdict, find: Find) -> None:
        """Say which agent of another session made the change, or may have made it."""
        if verdict.who == "other":
            change.by, change.why_not = verdict.other, ELSEWHERE.format(verdict.other)
        elif verdict.who == "agent" and verdict.other is not None:
            change.why_not = SHARED.format(verdict.other)
        elif verdict.other is not None:
            change.remark = PERHAPS_BY.format(verdict.other)
        elif find.other is not None:
            change.remark = ALSO_BY.format(find.other)

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
