"""A unified diff of two texts, at a cost that stays near linear whatever the texts are.

Knows no files and no markup.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

CONTEXT = 3
"""Unchanged lines around a change, as in `diff -u`."""
MATCH_LIMIT = 250_000
"""Lines before times lines after that difflib may compare: it is quadratic; beyond, all gives way to all."""
NO_NEWLINE = "\n\\ No newline at end of file"

Opcode = tuple[str, int, int, int, int]


def unified_diff(old: str | None, new: str) -> list[str]:
    """The diff's lines from the first "@@" on; none if nothing changed. `old` is None for a new file."""
    before, after = _lines(old or ""), _lines(new)
    start, end = _common(before, after)
    middle_before, middle_after = before[start : len(before) - end], after[start : len(after) - end]
    lines: list[str] = []
    for group in _groups(middle_before, middle_after):
        lines += _hunk(
            before, after, [(tag, a + start, b + start, c + start, d + start) for tag, a, b, c, d in group]
        )
    return [part for line in lines for part in line.split("\n")]


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1]:
        lines[-1] += NO_NEWLINE
        return lines
    return lines[:-1]


def _common(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """How many lines are the same at the start and at the end."""
    most = min(len(before), len(after))
    start = next((i for i in range(most) if before[i] != after[i]), most)
    most -= start
    return start, next((i for i in range(most) if before[-1 - i] != after[-1 - i]), most)


def _groups(before: list[str], after: list[str]) -> Iterator[list[Opcode]]:
    if not before and not after:
        return
    if len(before) * len(after) > MATCH_LIMIT or not before or not after:
        yield [("replace", 0, len(before), 0, len(after))]
        return
    for group in SequenceMatcher(None, before, after).get_grouped_opcodes(CONTEXT):
        yield list(group)


def _hunk(before: list[str], after: list[str], group: list[Opcode]) -> list[str]:
    """One hunk, with the context that lies outside of what was compared."""
    lead = CONTEXT if group[0][0] != "equal" else 0
    trail = CONTEXT if group[-1][0] != "equal" else 0
    a, c = group[0][1], group[0][3]
    b, d = group[-1][2], group[-1][4]
    lead, trail = min(lead, a), min(trail, len(before) - b)
    head = f"@@ -{_span(a - lead, b + trail)} +{_span(c - lead, d + trail)} @@"
    lines = [head, *_marked(" ", before[a - lead : a])]
    for tag, a1, b1, c1, d1 in group:
        if tag == "equal":
            lines += _marked(" ", before[a1:b1])
        else:
            lines += _marked("-", before[a1:b1]) + _marked("+", after[c1:d1])
    return lines + _marked(" ", before[b : b + trail])


def _marked(mark: str, lines: Sequence[str]) -> list[str]:
    return [mark + line for line in lines]


def _span(start: int, end: int) -> str:
    # As in `diff -u`: an empty range names the line before it.
    count = end - start
    if count == 1:
        return f"{start + 1}"
    return f"{start + 1 if count else start},{count}"
