"""Who is who in a merge: the cells of the base, of what the agent wrote, and of what is there now.

Knows ids and contents; decides nothing about them. Ids come first. Where there are none, or others
(agents forget or renew them, and an open document has its own for a file without), contents do, and
among equal ones their order. Where that would be a guess and matters, merging makes it a conflict.
"""

from __future__ import annotations

from msgspec import Struct

from .align import aligned, by_gaps, by_key
from .parse import Notebook
from .views import Content, View, content_of

_Key = tuple[str | None, Content]


class Pairs(Struct, frozen=True):
    """Which cells of base, written and present notebook are the same, by index."""

    now: dict[int, int]
    """Of the base: where it is now."""
    written: dict[int, int]
    """Of the base: where the agent writes it."""
    both_added: dict[int, int]
    """Of what is written, and not in the base: where it is now all the same."""


def paired(base: View, wrote: Notebook, there: Notebook) -> Pairs:
    now: list[_Key] = [(cell.id, content_of(cell)) for cell in there.cells]
    written: list[_Key] = [(cell.fields.get("id"), content_of(cell)) for cell in wrote.cells]
    at_now = aligned([(cell.id, cell.content) for cell in base.cells], now)
    at_written = aligned([(cell.name, cell.content) for cell in base.cells], written)
    nameless = [index for index, (id, _) in enumerate(written) if id is None]
    at_written |= by_gaps(at_written, len(base.cells), len(written), nameless)
    if not any(cell.own_id for cell in there.cells) and [it for _, it in written] == [it for _, it in now]:
        return _in_place(at_written, len(written))
    return _with_rest(at_now, at_written, written, now)


def _in_place(at_written: dict[int, int], count: int) -> Pairs:
    """What is written is there already, cell by cell: each is the one at its place, also among equal ones."""
    known = set(at_written.values())
    return Pairs(dict(at_written), at_written, {at: at for at in range(count) if at not in known})


def _with_rest(
    at_now: dict[int, int], at_written: dict[int, int], written: list[_Key], now: list[_Key]
) -> Pairs:
    """Cells that are not in the base, or no longer as they were: did both sides come to the same?

    So it is when a write is repeated, because the answer to it was lost.
    """
    base_of = {here: index for index, here in at_written.items()}
    taken = set(at_now.values())
    rest = {i: it for i, it in enumerate(now) if i not in taken}
    new = {i: it for i, it in enumerate(written) if i not in base_of or base_of[i] not in at_now}
    both = by_key(
        {i: id for i, (id, _) in new.items() if id is not None and i not in base_of},
        {i: id for i, (id, _) in rest.items()},
    )
    taken = set(both.values())
    both |= by_key(
        {i: it for i, (_, it) in new.items() if i not in both},
        {i: it for i, (_, it) in rest.items() if i not in taken},
    )
    again = {base_of[here]: there for here, there in both.items() if here in base_of}
    added = {here: there for here, there in both.items() if here not in base_of}
    return Pairs(at_now | again, at_written, added)
