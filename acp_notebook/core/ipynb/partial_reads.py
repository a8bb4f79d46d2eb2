"""Track what an agent knows of a notebook of which it has read only some lines.

Maps the lines of a view to cells. An agent that reads in parts has seen the cells of those lines; the other
cells stay as the agent knew them before, or unknown.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from msgspec import Struct

from .align import with_missing
from .views import KnownCell, View

_CELL_BEGINS = "  {"
"""In a view's layout, every cell, and nothing else, begins with exactly this line."""


def slice_lines(text: str, line: int | None, limit: int | None) -> str:
    """At most `limit` lines from `line` on (the first is 1; 0 means the same), with their line ends."""
    if line is None and limit is None:
        return text
    *whole, rest = text.split("\n")  # not splitlines: a source may contain other line separators
    start = max((line or 1) - 1, 0)
    lines = [*(f"{it}\n" for it in whole), *([rest] if rest else [])]
    return "".join(lines[start:] if limit is None else lines[start : start + limit])


def known_after(before: View | None, now: View, line: int | None, limit: int | None) -> View:
    """The agent's knowledge after it has read these lines of `now`; the view's `text` is left empty."""
    first, last = max((line or 1), 1), None if limit is None else max((line or 1), 1) + limit - 1
    total = now.text.count("\n")
    if first == 1 and (last is None or last >= total):
        return View("", now.cells, now.metadata)
    touched = {
        index
        for index, (begins, ends) in enumerate(_ranges(now.text, total))
        if ends >= first and (last is None or begins <= last)
    }
    old = {} if before is None else {cell.name: cell for cell in before.cells}
    fresh = {cell.name: cell for index, cell in enumerate(now.cells) if index in touched}
    order = with_missing(
        [cell.name for cell in now.cells if cell.name in fresh or cell.name in old], list(old)
    )
    cells: tuple[KnownCell, ...] = tuple(fresh.get(name) or old[name] for name in order)
    metadata = now.metadata if before is None or last is None or last >= total else before.metadata
    return View("", cells, metadata)


class Lines(Struct, frozen=True):
    """The first lines of a view's cells, to find the cell of a line."""

    begins: tuple[int, ...]
    names: tuple[str, ...]

    def cell_at(self, line: int) -> str | None:
        """The name of the cell; None above the first cell."""
        at = bisect_right(self.begins, line) - 1
        return self.names[at] if 0 <= at < len(self.names) else None


def cell_lines(view: View) -> Lines:
    begins = tuple(begin for begin, _ in _ranges(view.text, view.text.count("\n")))
    return Lines(begins, tuple(cell.name for cell in view.cells))


def _ranges(text: str, total: int) -> Iterator[tuple[int, int]]:
    """The first and last line of each cell."""
    begins = [at for at, line in enumerate(text.split("\n"), 1) if line == _CELL_BEGINS]
    for number, begin in enumerate(begins):
        yield begin, begins[number + 1] - 1 if number + 1 < len(begins) else total
