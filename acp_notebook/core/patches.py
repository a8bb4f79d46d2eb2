"""Patches: the four kinds of change to a transcript's state: add, append, set, remove.

Knows nothing about the meaning of items. The kernel applies patches to its own state with `State.apply`,
the browser with `patches.ts`, so both always have the same state.

The state is plain JSON: `{"session": {…}, "items": [{"key": "k1", "type": …}, …]}`. A patch names an
item by its key ("session" is the header) and a value in it by a path of names and indexes.
On the wire a patch is a list: ["add", item], ["append", key, path, value], ["set", key, path, value],
["remove", key].
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, to_builtins

from .records import Json

SESSION = "session"
"""The key of the header."""

Path = tuple[str | int, ...]

_PIECES_JOINED_AT = 512
"""Pieces are joined in runs of this length, which bounds both memory and the copies per character."""


class Add(Struct, frozen=True):
    """Add an item at the end, or the header (its key is "session")."""

    item: dict[str, Json]


class Append(Struct, frozen=True, gc=False):
    """Append text to a text, or entries to a list."""

    key: str
    path: Path
    value: str | list[Json]


class Set(Struct, frozen=True, gc=False):
    """Replace a value, or add a field."""

    key: str
    path: Path
    value: Json


class Remove(Struct, frozen=True):
    key: str


Patch = Add | Append | Set | Remove


class Pieces:
    """A text that is appended to at constant cost, and joined when it is read."""

    __slots__ = ("_full", "_tail")

    def __init__(self, *pieces: str) -> None:
        self._full: list[str] = []
        self._tail = list(pieces)

    def add(self, piece: str) -> None:
        tail = self._tail
        tail.append(piece)
        if len(tail) >= _PIECES_JOINED_AT:
            self._full.append("".join(tail))
            tail.clear()

    def __str__(self) -> str:
        text = "".join(self._full) + "".join(self._tail)
        self._full, self._tail = [text], []
        return text


class State:
    """The state that patches change in place; `plain` returns it as JSON."""

    __slots__ = ("items", "session")

    def __init__(self, items: dict[str, dict[str, Json]] | None = None) -> None:
        self.session: dict[str, Json] = {"key": SESSION}
        self.items: dict[str, dict[str, Json]] = {} if items is None else items

    def apply(self, patch: Patch) -> None:
        if type(patch) is Append:  # first, and without `match`: every chunk becomes an append
            self._append(patch.key, patch.path, patch.value)
            return
        if type(patch) is Set:
            parent, last = self._place(patch.key, patch.path)
            value = patch.value
            parent[last] = value if type(value) is str else _owned(value)
            return
        match patch:
            case Add(item):
                if item["key"] == SESSION:
                    self.session = _owned(item)
                else:
                    self.items[item["key"]] = _owned(item)
            case Remove(key):
                del self.items[key]

    def text(self, key: str, path: Path) -> Pieces:
        """The text at this place, to append to without looking for the place each time."""
        parent, last = self._place(key, path)
        if not isinstance(parent[last], Pieces):
            parent[last] = Pieces(parent[last])
        pieces: Pieces = parent[last]
        return pieces

    def _append(self, key: str, path: Path, value: str | list[Json]) -> None:
        parent, last = self._place(key, path)
        leaf = parent[last]
        if isinstance(leaf, Pieces):
            leaf.add(str(value))
        elif isinstance(leaf, str):
            parent[last] = Pieces(leaf, str(value))
        else:
            leaf.extend(_owned(value))

    def _place(self, key: str, path: Path) -> tuple[Json, str | int]:
        place: Json = self.session if key == SESSION else self.items[key]
        for step in path[:-1]:
            place = place[step]
        return place, path[-1]

    def plain(self) -> dict[str, Json]:
        return {"session": settled(self.session), "items": [settled(item) for item in self.items.values()]}

    @classmethod
    def from_plain(cls, state: dict[str, Json]) -> State:
        made = cls()
        made.session = _owned(state["session"])
        made.items = {item["key"]: _owned(item) for item in state["items"]}
        return made


def settled(value: Json) -> Json:
    """Return a copy as plain JSON, with all `Pieces` joined."""
    return to_builtins(value, enc_hook=str)


def _owned(value: Json) -> Json:
    """Copy the containers, so that later changes of the state do not change a patch."""
    return settled(value) if isinstance(value, (dict, list)) else value


def coalesce(patches: Iterable[Patch]) -> list[Patch]:
    """Return fewer patches with the same effect, in linear time.

    Patches of one item are folded together even if patches of other items come between them: items
    do not depend on each other, and only `add` decides their order.
    """
    result: list[Patch | _Folded | None] = []
    latest: dict[str, int] = {}
    for patch in patches:
        key = patch.item["key"] if isinstance(patch, Add) else patch.key
        where = latest.get(key)
        before = result[where] if where is not None else None
        folded = before if isinstance(before, _Folded) else _Folded.start(before)
        if where is not None and folded is not None and folded.take(patch):
            result[where] = folded
        else:
            latest[key] = len(result)
            result.append(patch)
    return [item.patch() if isinstance(item, _Folded) else item for item in result if item is not None]


class _Folded:
    """A patch under construction: what it starts from, and the texts and entries appended since."""

    __slots__ = ("_key", "_path", "_state")

    def __init__(self, key: str, path: Path, state: State) -> None:
        self._key, self._path, self._state = key, path, state

    @classmethod
    def start(cls, patch: Patch | None) -> _Folded | None:
        # The patch becomes the only item of a small state, to which further patches are applied.
        state = State()
        match patch:
            case Add(item):
                state.apply(Add({**item, "key": "_"}))
                return cls(item["key"], (), state)
            case Set(key, path, value) | Append(key, path, value):
                state.apply(Add({"key": "_", "set": isinstance(patch, Set), "value": value}))
                return cls(key, path, state)
        return None

    def take(self, patch: Patch) -> bool:
        """Fold the patch in if it changes the same value, and say whether it did."""
        if not isinstance(patch, Set | Append):
            return False
        if not self._path:
            self._state.apply(type(patch)("_", patch.path, patch.value))
            return True
        depth = len(self._path)
        if patch.path[:depth] != self._path:
            return False
        inside = patch.path[depth:]
        is_set = self._state.items["_"]["set"]
        if inside and not is_set:
            return False  # an index into a list of which we only know the end
        if isinstance(patch, Set) and not inside:
            self._state.apply(Set("_", ("set",), True))
        self._state.apply(type(patch)("_", ("value", *inside), patch.value))
        return True

    def patch(self) -> Patch:
        item = settled(self._state.items["_"])
        if not self._path:
            return Add({**item, "key": self._key})
        if item["set"]:
            return Set(self._key, self._path, item["value"])
        return Append(self._key, self._path, item["value"])


def to_wire(patch: Patch) -> list[Json]:
    """Convert the patch to the form sent to the browser."""
    match patch:
        case Add(item):
            return ["add", item]
        case Append(key, path, value):
            return ["append", key, list(path), value]
        case Set(key, path, value):
            return ["set", key, list(path), value]
        case Remove(key):
            return ["remove", key]


def from_wire(message: list[Json]) -> Patch:
    match message:
        case ["add", {"key": str()} as item]:
            return Add(item)
        case ["append", str(key), list(path), str() | list() as value] if _is_path(path):
            return Append(key, tuple(path), value)
        case ["set", str(key), list(path), value] if _is_path(path):
            return Set(key, tuple(path), value)
        case ["remove", str(key)]:
            return Remove(key)
    raise ValueError(f"not a patch: {message!r}")


def _is_path(path: list[Json]) -> bool:
    return bool(path) and all(isinstance(step, str | int) for step in path)
