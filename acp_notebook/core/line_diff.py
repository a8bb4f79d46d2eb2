"""Line-by-line comparison of two texts, and three-way merge; on bytes, so that nothing is lost.

Knows no files and no markup. Lines end only at \\n. The cost stays near linear: sections that are too long
for difflib are split at lines that occur exactly once on both sides (patience diff).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .subsequence import longest_increasing

CONTEXT = 3
"""Unchanged lines around a change, as in `diff -u`."""

MATCH_LIMIT = 250_000
"""Lines before times lines after that difflib may compare: it is quadratic."""


class LineEdit(NamedTuple):
    """Replaces lines `a` to `b` of the text before by lines `c` to `d` of the text after; counted from 0."""

    a: int
    b: int
    c: int
    d: int


def split(data: bytes) -> list[bytes]:
    """Split into lines, keeping the line ends."""
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def edits(before: Sequence[bytes], after: Sequence[bytes]) -> list[LineEdit]:
    """The edits that turn `before` into `after`, in order; adjacent edits are joined."""
    found: list[LineEdit] = []
    for edit in _edits(before, after, 0, 0):
        if found and found[-1].b == edit.a and found[-1].d == edit.c:
            found[-1] = LineEdit(found[-1].a, edit.b, found[-1].c, edit.d)
        else:
            found.append(edit)
    return found


def _edits(before: Sequence[bytes], after: Sequence[bytes], at: int, to: int) -> Iterator[LineEdit]:
    start, end = _common(before, after)
    before, after = before[start : len(before) - end], after[start : len(after) - end]
    at, to = at + start, to + start
    if not before and not after:
        return
    if not before or not after:
        yield LineEdit(at, at + len(before), to, to + len(after))
    elif len(before) * len(after) <= MATCH_LIMIT:
        from difflib import SequenceMatcher  # import it only if needed

        for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            if tag != "equal":
                yield LineEdit(at + a, at + b, to + c, to + d)
    else:
        yield from _anchored(before, after, at, to)


def _common(before: Sequence[bytes], after: Sequence[bytes]) -> tuple[int, int]:
    """How many lines are equal at the start and at the end."""
    most = min(len(before), len(after))
    start = next((i for i in range(most) if before[i] != after[i]), most)
    most -= start
    return start, next((i for i in range(most) if before[-1 - i] != after[-1 - i]), most)


def _anchored(before: Sequence[bytes], after: Sequence[bytes], at: int, to: int) -> Iterator[LineEdit]:
    """Split at lines that occur exactly once on both sides, and compare the sections between them."""
    here, there = Counter(before), Counter(after)
    place = {line: index for index, line in enumerate(after) if there[line] == 1}
    pairs = [(i, place[line]) for i, line in enumerate(before) if here[line] == 1 and line in place]
    stay = longest_increasing([j for _, j in pairs])
    anchors = [pair for index, pair in enumerate(pairs) if index in stay]
    if not anchors:
        yield LineEdit(at, at + len(before), to, to + len(after))
        return
    i, j = 0, 0
    for next_i, next_j in [*anchors, (len(before), len(after))]:
        yield from _edits(before[i:next_i], after[j:next_j], at + i, to + j)
        i, j = next_i + 1, next_j + 1


class Group(NamedTuple):
    """Edits that are shown and undone together, because their contexts overlap."""

    edits: tuple[LineEdit, ...]

    @property
    def span(self) -> LineEdit:
        first, last = self.edits[0], self.edits[-1]
        return LineEdit(first.a, last.b, first.c, last.d)


def groups(before: Sequence[bytes], after: Sequence[bytes]) -> list[Group]:
    """The hunks of a diff."""
    found: list[Group] = []
    for edit in edits(before, after):
        if found and edit.a - found[-1].span.b <= 2 * CONTEXT:
            found[-1] = Group((*found[-1].edits, edit))
        else:
            found.append(Group((edit,)))
    return found


def with_undone(
    before: Sequence[bytes], after: Sequence[bytes], hunks: Sequence[Group], undone: frozenset[int]
) -> list[bytes]:
    """The text `after`, with these hunks (by number) undone."""
    made: list[bytes] = []
    at = 0
    for number, hunk in enumerate(hunks):
        span = hunk.span
        made += after[at : span.c]
        made += before[span.a : span.b] if number in undone else after[span.c : span.d]
        at = span.d
    return made + list(after[at:])


def merge(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Three-way merge; None if both sides changed the same or adjacent lines."""
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    if b"\0" in base or b"\0" in ours or b"\0" in theirs:
        return None
    lines, mine, other = split(base), split(ours), split(theirs)
    found = [(edit, mine) for edit in edits(lines, mine)] + [(edit, other) for edit in edits(lines, other)]
    made: list[bytes] = []
    at = 0
    last: tuple[LineEdit, Sequence[bytes]] | None = None
    for edit, side in sorted(found, key=lambda it: (it[0].a, it[0].b)):
        if last is not None and side is not last[1] and edit.a <= last[0].b:
            if edit[:2] == last[0][:2] and side[edit.c : edit.d] == last[1][last[0].c : last[0].d]:
                continue  # both did the same
            return None
        made += lines[at : edit.a] + list(side[edit.c : edit.d])
        at = edit.b
        last = (edit, side)
    return b"".join(made + lines[at:])
