"""What an agent changed in a file, hunk by hunk, and the result of undoing some hunks.

Pure: takes two states of a file, returns records. Knows no disk, no turn and no page. Hunks are shown as
text, but computed on bytes.
"""

# No `from __future__ import annotations`: msgspec takes twice as long to read annotations that are text.

import stat
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from .line_diff import CONTEXT, Group, groups, merge, split, with_undone
from .records import Record, written

SHOWN_LINES = 1_500
"""Lines of all hunks of one file: nobody scrolls through more."""

SHOWN_CHARS = 200_000
"""Characters of all hunks of one file: a minified file is one line."""

COMPARED_BYTES = 4 * 2**20
"""A longer file is undone as a whole: nobody reads its diff."""

NO_NEWLINE = "\\ No newline at end of file"

Action = Literal["created", "modified", "deleted", "moved", "mode", "link"]
State = Literal["applied", "undone", "partly", "kept", "conflict"]


class Hunk(Record, frozen=True):
    """A part of a change that can be undone separately: some lines, or (with a `title`) a notebook cell."""

    id: str
    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[str, ...]
    """Each starts with "-", "+" or " "."""
    undone: bool = written(False)
    title: str | None = None
    kept: bool | None = None
    """The user reviewed it and kept it."""


class FileChange(Record, frozen=True):
    """One file that a turn changed."""

    id: str
    path: str
    action: str
    """created, modified, deleted, moved, mode (only its permissions), link (a symlink)."""
    added: int = written(0)
    removed: int = written(0)
    hunks: tuple[Hunk, ...] = written(())
    state: str = written("applied")
    """applied, undone, partly (some hunks are undone), kept, conflict."""
    undoable: bool = written(True)
    via: str = written("agent")
    """client: written by a client method; agent: a tool call names it; command: it changed while a command
    ran; other: the agent of another session changed it; unknown: there is no evidence."""
    moved_from: str | None = None
    binary: bool | None = None
    notebook: bool | None = None
    why: str | None = None
    """Why it cannot be undone, or what the conflict is."""
    note: str | None = None
    """What is not shown, and why."""
    tool: str | None = None
    """The key of the tool call that changed it, or of the command that ran at that time."""
    allowed_by: str | None = None
    by: str | None = None
    """The agent of another session that changed it."""


class AlsoChanged(Record, frozen=True):
    """Files that changed during a turn but that no tool call names."""

    files: tuple[FileChange, ...]
    command: str | None = None
    """The command that ran when they changed; None if unknown."""
    tool: str | None = None
    """The key of that command's tool call."""
    by: str | None = None
    """The agent that changed them in another session."""


class Version(Struct, frozen=True):
    """The state of a file at one time: a plain file, or a symlink (then `data` is its target)."""

    data: bytes
    mode: int = 0o644
    """The permission bits."""
    link: bool = False


class PathChange(Struct, frozen=True):
    """A path that differs between two checkpoints. `why_not`: why it cannot be undone (unknown states)."""

    path: str
    before: Version | None = None
    after: Version | None = None
    why_not: str | None = None
    action: str = "modified"
    """Used if the states are unknown."""
    during: str | None = None
    """In a replay, the id of the command that the recording lists it under ("": none); None: not a replay."""
    by: str | None = None
    """In a recording, the id of the tool call for which the client last wrote it."""


class Shape(Struct, frozen=True):
    """How a change of a file is shown, derived from its two states."""

    action: str
    added: int = 0
    removed: int = 0
    hunks: tuple[Hunk, ...] = ()
    binary: bool = False
    notebook: bool = False
    note: str | None = None


def action_of(before: Version | None, after: Version | None) -> Action:
    if before is None:
        return "created"
    if after is None:
        return "deleted"
    if before.link or after.link:
        return "link"
    return "mode" if before.data == after.data else "modified"


def is_binary(data: bytes) -> bool:
    return b"\0" in data


def line_groups(before: Version | None, after: Version | None) -> list[Group]:
    """The hunks that can be undone separately; none if the file can only be undone as a whole."""
    if not _has_lines(before, after):
        return []
    return groups(split(data_of(before)), split(data_of(after)))


def _has_lines(before: Version | None, after: Version | None) -> bool:
    sides = [it for it in (before, after) if it is not None]
    return not any(it.link or is_binary(it.data) or len(it.data) > COMPARED_BYTES for it in sides)


def data_of(version: Version | None) -> bytes:
    return b"" if version is None else version.data


def shape(before: Version | None, after: Version | None, undone: frozenset[int] = frozenset()) -> Shape:
    """Describe a change for display."""
    action = action_of(before, after)
    sides = [it for it in (before, after) if it is not None]
    if any(it.link for it in sides):
        return Shape(action, note=_link_note(before, after))
    if any(is_binary(it.data) for it in sides):
        return Shape(action, binary=True, note=_size_note(before, after))
    note = _mode_note(before, after)
    if not _has_lines(before, after):
        return Shape(action, note=f"too large to be compared ({_size_note(before, after)})")
    old, new = split(data_of(before)), split(data_of(after))
    found = groups(old, new)
    added = sum(edit.d - edit.c for group in found for edit in group.edits)
    removed = sum(edit.b - edit.a for group in found for edit in group.edits)
    hunks = tuple(_hunk(number, group, old, new, number in undone) for number, group in enumerate(found))
    if long := too_long(hunks):
        return Shape(action, added, removed, note="; ".join(filter(None, [long, note])))
    return Shape(action, added, removed, hunks, note=note)


def too_long(hunks: Iterable[Hunk]) -> str | None:
    """The note to show instead of hunks that are too long, else None."""
    lines = sum(len(hunk.lines) for hunk in hunks)
    chars = sum(len(line) for hunk in hunks for line in hunk.lines)
    return f"too long to be shown: {lines:,} lines" if lines > SHOWN_LINES or chars > SHOWN_CHARS else None


def _hunk(number: int, group: Group, old: Sequence[bytes], new: Sequence[bytes], undone: bool) -> Hunk:
    span = group.span
    lead = min(CONTEXT, span.a)
    trail = min(CONTEXT, len(old) - span.b)
    lines = _marked(" ", old[span.a - lead : span.a])
    at = span.a
    for edit in group.edits:
        lines += _marked(" ", old[at : edit.a])
        lines += _marked("-", old[edit.a : edit.b]) + _marked("+", new[edit.c : edit.d])
        at = edit.b
    lines += _marked(" ", old[span.b : span.b + trail])
    counts = span.b - span.a + lead + trail, span.d - span.c + lead + trail
    starts = span.a - lead + bool(counts[0]), span.c - lead + bool(counts[1])
    return Hunk(f"h{number + 1}", starts[0], counts[0], starts[1], counts[1], tuple(lines), undone)


def _marked(mark: str, lines: Sequence[bytes]) -> list[str]:
    made: list[str] = []
    for line in lines:
        text = line.decode(errors="replace")
        made.append(mark + text.removesuffix("\n"))
        if not text.endswith("\n"):
            made.append(NO_NEWLINE)
    return made


def _mode_note(before: Version | None, after: Version | None) -> str | None:
    if before is None or after is None or before.mode == after.mode:
        return None
    return f"rights {stat.filemode(before.mode)[1:]} → {stat.filemode(after.mode)[1:]}"


def _link_note(before: Version | None, after: Version | None) -> str:
    return f"{_what(before)} → {_what(after)}"


def _what(version: Version | None) -> str:
    if version is None:
        return "nothing"
    return f"link to {version.data.decode(errors='replace')}" if version.link else "file"


def _size_note(before: Version | None, after: Version | None) -> str:
    sizes = (f"{len(it.data):,} bytes" if it is not None else "nothing" for it in (before, after))
    return " → ".join(sizes)


def partly(before: Version | None, after: Version | None, undone: frozenset[int]) -> Version | None:
    """The file with these hunks undone: `after` with none of them, `before` with all of them."""
    if not undone:
        return after
    found = line_groups(before, after)
    if before is None or after is None or not found or len(undone) >= len(found):
        return before
    lines = with_undone(split(before.data), split(after.data), found, undone)
    return Version(b"".join(lines), after.mode)


ALIKE = 0.5
"""The share of common lines from which a deleted and a new file count as one file that was moved."""

ALIKE_BYTES = 2**18
"""A longer file counts as moved only if it is identical."""

ALIKE_PAIRS = 400
"""How many pairs of files are compared line by line."""


def moves(gone: Mapping[str, Version], new: Mapping[str, Version]) -> dict[str, str]:
    """Map new files to the deleted files they were moved from: identical, or similar and of the same type."""
    found: dict[str, str] = {}
    waiting: dict[tuple[bytes, bool], list[str]] = {}
    for path, version in gone.items():
        if version.data:
            waiting.setdefault((version.data, version.link), []).append(path)
    for path, version in new.items():
        if places := waiting.get((version.data, version.link)):
            same_name = [it for it in places if it.rpartition("/")[2] == path.rpartition("/")[2]]
            found[path] = (same_name or places)[0]
            places.remove(found[path])
    left = [it for it in gone if it not in set(found.values()) and _short(gone[it])]
    more = [it for it in new if it not in found and _short(new[it])]
    if len(left) * len(more) <= ALIKE_PAIRS:
        for path in more:
            scores = [(_alike(gone[it], new[path]), it) for it in left if _kind(it) == _kind(path)]
            best = max(scores, default=(0.0, ""))
            if best[0] >= ALIKE:
                found[path] = best[1]
                left.remove(best[1])
    return found


def _short(version: Version) -> bool:
    return not version.link and 0 < len(version.data) <= ALIKE_BYTES and not is_binary(version.data)


def _kind(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2] if "." in name else ""


def _alike(one: Version, other: Version) -> float:
    here, there = Counter(split(one.data)), Counter(split(other.data))
    return 2 * (here & there).total() / (here.total() + there.total())


class Step(Struct, frozen=True):
    """What to do with a file: `write` it (None: delete it) if `needed`, or why there is a `conflict`."""

    write: Version | None = None
    needed: bool = False
    conflict: str | None = None


def step(source: Version | None, target: Version | None, now: Version | None) -> Step:
    """How to bring a file from one state to another; if it changed in between, the changes are merged."""
    if now == target:
        return Step()
    if now == source:
        return Step(target, needed=True)
    if source is None or target is None or now is None or source.link or target.link or now.link:
        return Step(conflict=_conflict(source, target, now))
    data = merge(source.data, now.data, target.data)
    if data is None:
        return Step(conflict="it was changed since, in the same lines: nothing was overwritten")
    made = Version(data, target.mode if now.mode == source.mode else now.mode)
    return Step(made, needed=True) if made != now else Step()


def _conflict(source: Version | None, target: Version | None, now: Version | None) -> str:
    if now is None:
        return "it was deleted since: there is nothing to change"
    if source is None:
        return "another file is there by now: it was not overwritten"
    if target is None:
        return "it was changed since: it was not deleted"
    return "it was replaced since: nothing was overwritten"


def lines_of_diff(change: FileChange) -> list[str]:
    """The lines of a unified diff, from the first "@@" on."""
    return _lines_of_hunks(change.hunks)


def unified_diff(old: str | None, new: str) -> list[str]:
    """The lines of a unified diff, from the first "@@" on. `old` is None for a new file."""
    before, after = (split(it.encode(errors="replace")) for it in (old or "", new))
    found = enumerate(groups(before, after))
    return _lines_of_hunks([_hunk(number, group, before, after, False) for number, group in found])


def _lines_of_hunks(hunks: Sequence[Hunk]) -> list[str]:
    return [
        line
        for hunk in hunks
        for line in (
            f"@@ -{hunk.old_start},{hunk.old_count} +{hunk.new_start},{hunk.new_count} @@"
            + (f" {hunk.title}" if hunk.title else ""),
            *hunk.lines,
        )
    ]
