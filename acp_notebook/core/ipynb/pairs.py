"""Match the cells of a three-way merge: of the base, of the agent's text, and of the present notebook.

Only matches; `merge` decides. Ids count first. Where ids are missing or differ (agents omit or replace them,
and an open document makes its own for a file without), contents count, and the order among equal ones. Where
that would be a guess that matters, `merge` reports a conflict.
"""

from __future__ import annotations

from msgspec import Struct

from .align import pair_by_gaps, pair_by_key, pair_cells
from .parse import Notebook
from .views import Content, View, content_of

_Key = tuple[str | None, Content]


class Pairs(Struct, frozen=True):
    """The same cells in the base, the agent's text and the present notebook, by index."""

    now: dict[int, int]
    """From the base to the present notebook."""
    written: dict[int, int]
    """From the base to the agent's text."""
    both_added: dict[int, int]
    """From the agent's text to the present notebook, for cells that are not in the base."""


def pair_notebooks(base: View, wrote: Notebook, there: Notebook) -> Pairs:
    now: list[_Key] = [(cell.id, content_of(cell)) for cell in there.cells]
    written: list[_Key] = [(cell.fields.get("id"), content_of(cell)) for cell in wrote.cells]
    contents = [cell.content for cell in base.cells]
    at_now = pair_cells([(cell.id, it) for cell, it in zip(base.cells, contents, strict=True)], now)
    at_written = pair_cells([(cell.name, it) for cell, it in zip(base.cells, contents, strict=True)], written)
    nameless = [index for index, (id, _) in enumerate(written) if id is None]
    at_written |= pair_by_gaps(at_written, len(base.cells), len(written), nameless)
    if not any(cell.own_id for cell in there.cells) and [it for _, it in written] == [it for _, it in now]:
        return _in_place(at_written, len(written))
    return _with_rest(at_now, at_written, written, now)


def _in_place(at_written: dict[int, int], count: int) -> Pairs:
    """The agent's text equals the present notebook cell by cell: pair by position, also among equal cells."""
    known = set(at_written.values())
    return Pairs(dict(at_written), at_written, {at: at for at in range(count) if at not in known})


def _with_rest(
    at_now: dict[int, int], at_written: dict[int, int], written: list[_Key], now: list[_Key]
) -> Pairs:
    """Pair the cells that are not in the base, or no longer as they were, if both sides made the same change.

    That happens when an agent repeats a write because the response was lost.
    """
    base_of = {here: index for index, here in at_written.items()}
    taken = set(at_now.values())
    rest = {i: it for i, it in enumerate(now) if i not in taken}
    new = {i: it for i, it in enumerate(written) if i not in base_of or base_of[i] not in at_now}
    both = pair_by_key(
        {i: id for i, (id, _) in new.items() if id is not None and i not in base_of},
        {i: id for i, (id, _) in rest.items()},
    )
    taken = set(both.values())
    both |= pair_by_key(
        {i: it for i, (_, it) in new.items() if i not in both},
        {i: it for i, (_, it) in rest.items() if i not in taken},
    )
    again = {base_of[here]: there for here, there in both.items() if here in base_of}
    added = {here: there for here, there in both.items() if here not in base_of}
    return Pairs(at_now | again, at_written, added)
