"""The items of a transcript, by key and by turn; those of older turns are in a spool, out of memory.

The rule: of the turns that have ended, the newest are in memory, up to KEPT_BYTES; so are the running turn
and what belongs to no turn. Reading an older item reads its turn from the spool. Looking it up in order to
change it brings its turn back into memory. Knows nothing else about the meaning of items.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right, insort
from collections.abc import Collection, Iterator
from typing import Any, Protocol

import msgspec

from .patches import settled
from .records import Json

KEPT_BYTES = 4 * 2**20
"""How much of the ended turns is in memory, in their encoded form; as Python objects it is up to ten times as
much."""

Item = dict[str, Json]


class Spool(Protocol):
    """Where older turns are; raises OSError if there is no room."""

    def keep(self, data: bytes) -> Any: ...
    def get(self, stored: Any) -> bytes: ...


class Items(dict[str, Item]):
    """The items by key. `self[key]` is in memory, or is brought back; everything else only reads."""

    def __init__(self, spool: Spool | None = None) -> None:
        self._spool = spool
        self.by_turn: dict[str | None, list[str]] = {}
        """The keys of the turns in memory; None: of what belongs to no turn."""
        self._sizes: dict[str, int] = {}
        """The encoded size of ended turns in memory, oldest first."""
        self._stored: dict[str, Any] = {}
        """Where the other turns are."""
        self._runs: list[tuple[int, int, str]] = []
        """Numbers of stored items without a gap: the first, the last, and their turn."""
        self._old_calls = _OldCalls()

    # ---- reading -------------------------------------------------------------------------

    def read(self, key: str) -> Item:
        """The item as JSON; the turn stays where it is."""
        turn = None if dict.__contains__(self, key) else self._turn_of(key)
        if turn is None:
            return _plain(dict.__getitem__(self, key))
        return next(item for item in self._load(turn) if item["key"] == key)

    def of_turn(self, turn: str | None) -> list[Item]:
        """The items of a turn as JSON."""
        if turn in self._stored:
            return self._load(turn)
        return [_plain(self[key]) for key in self.by_turn.get(turn, ())]

    @property
    def in_memory(self) -> Collection[str]:
        """The keys of the items that are in memory."""
        return dict.keys(self)

    def stored(self) -> Iterator[Item]:
        """The items that are in the spool, turn by turn."""
        for turn in self._stored:
            yield from self._load(turn)

    def old_call(self, id: str) -> str | None:
        """The key of the newest call of an older turn with this id of the agent's."""
        for key in self._old_calls.find(id):
            if key in self and self.read(key)["id"] == id:
                return key
        return None

    def all(self) -> list[Item]:
        """All items as JSON, in order."""
        found = [_plain(item) for item in dict.values(self)]
        return sorted([*found, *self.stored()], key=lambda item: key_number(item["key"]))

    def __contains__(self, key: object) -> bool:
        return dict.__contains__(self, key) or (isinstance(key, str) and self._turn_of(key) is not None)

    def __iter__(self) -> Iterator[str]:
        numbers = [key_number(key) for key in dict.keys(self)]
        for first, last, _ in self._runs:
            numbers += range(first, last + 1)
        return (f"k{number}" for number in sorted(numbers))

    def __missing__(self, key: str) -> Item:
        turn = self._turn_of(key)
        if turn is None:
            raise KeyError(key)
        self._bring_back(turn)
        return dict.__getitem__(self, key)

    def _turn_of(self, key: str) -> str | None:
        """The stored turn that has the item."""
        if not self._runs or not key[1:].isdecimal():
            return None
        number = key_number(key)
        at = bisect_right(self._runs, number, key=lambda run: run[0]) - 1
        return self._runs[at][2] if at >= 0 and number <= self._runs[at][1] else None

    def _load(self, turn: str) -> list[Item]:
        assert self._spool is not None
        items: list[Item] = msgspec.msgpack.decode(self._spool.get(self._stored[turn]))
        return items

    # ---- storing -------------------------------------------------------------------------

    def end(self, turn: str) -> list[Item]:
        """Note that the turn has ended, and move the oldest turns to the spool; returns their items."""
        if self._spool is None:
            return []
        encoded = self._encoded(turn)
        if encoded is not None:
            self._sizes[turn] = len(encoded)
        moved: list[Item] = []
        while sum(self._sizes.values()) > KEPT_BYTES:
            oldest = next(iter(self._sizes))
            moved += self._store(oldest, encoded if oldest == turn else self._encoded(oldest))
        return moved

    def _encoded(self, turn: str) -> bytes | None:
        try:
            items = [self[key] for key in self.by_turn.get(turn, ())]
            return msgspec.msgpack.encode(items, enc_hook=str)
        except (UnicodeError, OverflowError):
            return None  # half a character, or a huge number: the turn stays in memory

    def _store(self, turn: str, encoded: bytes | None) -> list[Item]:
        assert self._spool is not None
        del self._sizes[turn]
        try:
            self._stored[turn] = self._spool.keep(encoded) if encoded is not None else None
        except OSError:  # no room: it stays in memory
            encoded = None
        if encoded is None:
            self._stored.pop(turn, None)
            return []
        keys = self.by_turn.pop(turn)
        for run in _runs([key_number(key) for key in keys]):
            insort(self._runs, (*run, turn))
        return [self.pop(key) for key in keys]

    def note_call(self, id: str, key: str) -> None:
        """Remember the agent's id of a call that was moved to the spool."""
        self._old_calls.add(id, key)

    def _bring_back(self, turn: str) -> None:
        items = self._load(turn)
        del self._stored[turn]
        self._runs = [run for run in self._runs if run[2] != turn]
        self.by_turn[turn] = [item["key"] for item in items]
        self.update((item["key"], item) for item in items)
        self._sizes[turn] = len(self._encoded(turn) or b"")

    def __delitem__(self, key: str) -> None:
        self.pop(key, None)  # after `forget`, the stored ones are gone already

    def forget(self) -> None:
        """Forget what is in the spool, and which items belong together: all items are about to be removed."""
        for known in (self.by_turn, self._sizes, self._stored, self._runs):
            known.clear()
        self._old_calls = _OldCalls()


class _OldCalls:
    """Finds the calls of stored turns by the agent's ids, with a few bytes for each: agents make many."""

    def __init__(self) -> None:
        self._hashes = bytearray()
        self._numbers = array("Q")

    def add(self, id: str, key: str) -> None:
        self._hashes += _hash(id)
        self._numbers.append(key_number(key))

    def find(self, id: str) -> Iterator[str]:
        """The keys of calls that may have this id, newest first."""
        wanted, end = _hash(id), len(self._hashes)
        while (at := self._hashes.rfind(wanted, 0, end)) >= 0:
            end = at + len(wanted) - 1
            if at % len(wanted) == 0:
                yield f"k{self._numbers[at // len(wanted)]}"


def _hash(id: str) -> bytes:
    return hash(id).to_bytes(8, "little", signed=True)


def key_number(key: str) -> int:
    """The number in a key: items are in the order of their numbers."""
    return int(key[1:])


def _plain(item: Item) -> Item:
    plain: Item = settled(item)
    return plain


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """The first and last of each sequence without a gap, in ascending numbers."""
    first = last = numbers[0]
    for number in numbers[1:]:
        if number != last + 1:
            yield first, last
            first = number
        last = number
    yield first, last
