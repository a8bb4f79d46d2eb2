"""Read the transcripts that notebook files keep, in this and in earlier formats.

Pure. `saved_transcript` writes them. Format 1, which versions up to 0.1 wrote, is one JSON object per output.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any

import msgspec

from .origin import Origin
from .records import Json
from .saved_media import embedded, with_media
from .saved_transcript import FORMAT, Part
from .snapshot import Item, Snapshot, item_from_plain

_NOT_SAVED = "not a saved transcript"


def loaded(values: Iterable[Any], html: Iterable[str] = ()) -> Snapshot:
    """Join the transcripts of a notebook's outputs, in order; raises ValueError if one cannot be read.

    A whole conversation can refer to parts in other outputs: they take their place in it, once. `html` is
    that of the same outputs: it has the images.
    """
    media = embedded(html)
    outputs = [list(_parts(value, media)) for value in values]
    scattered = [it[0] for it in outputs if isinstance(it[0], Part) and it[0].parts is None]
    joined = _Joined(scattered)
    for first, *own in outputs:
        if not isinstance(first, Part):
            joined.add_first_format(first)
        elif first.parts is None:
            joined.add(first)
        else:
            joined.add_whole(first, [it for it in own if isinstance(it, Part)])
    return Snapshot(
        tuple(joined.items), len(joined.items), status="closed", origins=_origins(it[0] for it in outputs)
    )


def conversation_of(own: Any, values: Iterable[Any], html: Iterable[str] = ()) -> Snapshot:
    """The conversation of one output, with those of its parts that other outputs of the notebook have.

    Raises ValueError if that output cannot be read; others that cannot be read have no part of it.
    """
    media = embedded(html)
    first, *parts = _parts(own, media)
    joined = _Joined(it for value in values for it in _readable(value, media) if it.parts is None)
    if not isinstance(first, Part):
        joined.add_first_format(first)
    elif first.parts is None:
        joined.add(first)
    else:
        joined.add_whole(first, [it for it in parts if isinstance(it, Part)])
    return Snapshot(tuple(joined.items), len(joined.items), status="closed", origins=_origins([first]))


def is_whole(value: Any) -> bool:
    """Whether a transcript is of a whole conversation; raises ValueError if it cannot be read."""
    first = next(_parts(value, {}))
    return not isinstance(first, Part) or first.parts is not None


def turn_part(value: Any) -> Part | None:
    """The part, if a transcript is of one turn; raises ValueError if it cannot be read."""
    first, *more = _parts(value, {})
    return first if isinstance(first, Part) and first.parts is None and not more else None


def _readable(value: Any, media: Mapping[str, str]) -> list[Part]:
    try:
        return [it for it in _parts(value, media) if isinstance(it, Part)][:1]
    except ValueError:
        return []


def _origins(parts: Iterable[Part | list[Json]]) -> tuple[Origin, ...]:
    """Where they come from, in the order in which each is last seen."""
    found: dict[Origin, None] = {}
    for part in parts:
        if isinstance(part, Part) and part.agent is not None:
            origin = Origin(part.agent, part.session)
            found.pop(origin, None)
            found[origin] = None
    return tuple(found)


class _Joined:
    """The items of all parts, in order. Takes time in proportion to the parts, whatever a file names."""

    def __init__(self, scattered: Iterable[Part] = ()) -> None:
        self.items: list[Item] = []
        self._parts = 0
        self._scattered = _Named(scattered)
        self._used: set[int] = set()
        self._in_wholes: set[str] = set()
        self._alone: Counter[str] = Counter()

    def add(self, part: Part) -> None:
        """Add a part that stands alone, unless a whole conversation has it already."""
        line = part.line()
        if id(part) not in self._used and line not in self._in_wholes:
            self._alone[line] += 1
            self._add(part)

    def add_whole(self, whole: Part, own: Sequence[Part]) -> None:
        """Add the parts that it names: its own, or those that are elsewhere in the file."""
        named = _Named(own)
        for name in whole.parts or ():
            found = named.take(whole, name, self._used) or self._scattered.take(whole, name, self._used)
            if found is None:
                continue
            line = found.line()
            self._in_wholes.add(line)
            if self._alone[line] > 0:  # in an output before this one
                self._alone[line] -= 1
            else:
                self._add(found)

    def add_first_format(self, items: Iterable[Any]) -> None:
        self._parts += 1
        self.items += [_read_first_format(item, self._parts) for item in items]

    def _add(self, part: Part) -> None:
        self._used.add(id(part))
        self._parts += 1
        self.items.extend(_items(part, self._parts))


class _Named:
    """Parts by name; each is taken once, because agents can use a session id again."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._parts: dict[tuple[str | None, str | None, str], deque[Part]] = {}
        for part in parts:
            self._parts.setdefault((part.agent, part.session, part.name), deque()).append(part)

    def take(self, whole: Part, name: str, used: Set[int]) -> Part | None:
        """The first part of this conversation with this name that is not used."""
        found = self._parts.get((whole.agent, whole.session, name), deque())
        while found:
            part = found.popleft()
            if id(part) not in used:
                return part
        return None


def _parts(value: Any, media: Mapping[str, str]) -> Iterator[Part | list[Json]]:
    """The parts of one output; the items of one in format 1."""
    match value:
        case {"acp_transcript": 1, "items": list(items)}:
            yield items
        case {"acp_transcript": version}:
            raise ValueError(_unknown(version))
        case str() | [str(), *_]:
            for line in [value] if isinstance(value, str) else value:
                yield with_media(_part(line), media)
        case _:
            raise ValueError(_NOT_SAVED)


def _part(line: Any) -> Part:
    try:
        fields = json.loads(line)
        match fields:
            case {"acp_transcript": int(version)} if version != FORMAT:
                raise ValueError(_unknown(version))
            case {"acp_transcript": int()}:
                return msgspec.convert(fields, Part)
    except (TypeError, RecursionError, json.JSONDecodeError, msgspec.ValidationError) as error:
        raise ValueError(f"{_NOT_SAVED}: {error}") from None
    raise ValueError(_NOT_SAVED)


def _unknown(version: Any) -> str:
    return f"a saved transcript of format {version}; this reads formats up to {FORMAT}"


def _items(part: Part, number: int) -> Iterator[Item]:
    """The items, with keys that contain the part's number, so that parts cannot collide."""

    def key(place: Any) -> str | None:
        return f"{number}.k{place}" if isinstance(place, int) and place > 0 else None

    def named(item: dict[str, Json], at: int) -> dict[str, Json]:
        for record in (item, *item.get("files", ()), *_also(item)):
            if "tool" in record:
                record["tool"] = key(record["tool"])
        return item | {"key": key(at), "turn": None if "turn" in item else turn}

    turn = next((key(at) for at, it in enumerate(part.items, 1) if it.get("type") == "turn"), None)
    for at, item in enumerate(part.items, 1):
        yield _read(item, partial(named, at=at))


def _also(item: dict[str, Json]) -> Iterator[dict[str, Json]]:
    for group in item.get("also", ()):
        yield group
        yield from group["files"]


def _read_first_format(item: Any, part: int) -> Item:
    def named(item: Any) -> dict[str, Json]:
        keys = {name: f"{part}.{item[name]}" for name in ("key", "turn", "tool") if item.get(name)}
        return {**item, **keys}

    return _read(item, named)


def _read(item: Any, named: Callable[[Any], dict[str, Json]]) -> Item:
    """Read an item; `named` gives it its keys."""
    try:
        return item_from_plain(named(item))
    except (AttributeError, KeyError, TypeError, msgspec.ValidationError) as error:
        raise ValueError(f"an item of a saved transcript cannot be read: {error!r}") from None
