"""Read the transcripts that notebook files keep, in this and in earlier formats.

Pure. `saved_transcript` writes them. Format 1, which versions up to 0.1 wrote, is one JSON object per output.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

import msgspec

from .origin import Origin
from .records import Json
from .saved_media import embedded, with_media
from .saved_transcript import FORMAT, Part
from .snapshot import Item, Snapshot, item_from_plain

_NOT_SAVED = "not a saved transcript"

MOST_DEPTH = 200
"""How deeply an item may be nested: more than any agent sends, and less than Python can convert."""


def loaded(values: Iterable[Any], html: Iterable[str] = ()) -> Snapshot:
    """Join the transcripts of a notebook's outputs, in order; raises ValueError if one cannot be read.

    A whole conversation can refer to parts in other outputs: they take their place in it, once. `html` is
    that of the same outputs: it has the images.
    """
    media = embedded(html)
    outputs = [list(_parts(value, media)) for value in values]
    scattered = [it[0] for it in outputs if isinstance(it[0], Part) and it[0].parts is None]
    joined = _Joined(scattered)
    for output in outputs:
        joined.add_output(output)
    return Snapshot(
        tuple(joined.items), len(joined.items), status="closed", origins=_origins(it[0] for it in outputs)
    )


class Conversations:
    """The conversations of single outputs, with those of their parts that other outputs of the notebook have.

    Other outputs that cannot be read have no part of them.
    """

    def __init__(self, values: Iterable[Any], html: Iterable[str] = ()) -> None:
        self._media = embedded(html)
        self._scattered = [it for value in values for it in _readable(value, self._media) if it.parts is None]

    def of(self, own: Any) -> Snapshot:
        """The conversation of this output; raises ValueError if it cannot be read."""
        output = list(_parts(own, self._media))
        joined = _Joined(self._scattered)
        joined.add_output(output)
        return Snapshot(tuple(joined.items), len(joined.items), status="closed", origins=_origins(output[:1]))


def is_whole(value: Any) -> bool:
    """Whether a transcript is of a whole conversation; raises ValueError if it cannot be read."""
    first = next(_parts(value))
    return not isinstance(first, Part) or first.parts is not None


def turn_part(value: Any) -> Part | None:
    """The part as the file has it, if a transcript is of one turn; raises ValueError if it cannot be read."""
    first, *more = _parts(value)
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


_Said = Counter[bytes | None]
"""How often it is said: see `_said`."""


class _Joined:
    """The items of all parts, in order. Takes time in proportion to the parts, whatever a file names."""

    def __init__(self, scattered: Iterable[Part] = ()) -> None:
        self.items: list[Item] = []
        self._parts = 0
        self._scattered = _Named(scattered)
        self._used: set[int] = set()
        self._in_wholes: set[str] = set()
        self._alone: Counter[str] = Counter()
        self._repeats = _Repeats()

    def add_output(self, output: Sequence[Part | list[Json]]) -> None:
        """Add the parts of an output; the items of one in format 1."""
        first, *own = output
        if not isinstance(first, Part):
            self._add_first_format(first)
        elif first.parts is None:
            self._add_alone(first)
        else:
            self._add_whole(first, [it for it in own if isinstance(it, Part)])

    def _add_alone(self, part: Part) -> None:
        """Add a part that stands alone, unless a whole conversation has it already."""
        line = part.line()
        if id(part) not in self._used and line not in self._in_wholes:
            self._alone[line] += 1
            self._add(part, self._repeats.alone)

    def _add_whole(self, whole: Part, own: Sequence[Part]) -> None:
        """Add the parts that it names: its own, or those that are elsewhere in the file."""
        named, seen = _Named(own), _Said()
        found = [named.take(whole, name) or self._scattered.take(whole, name) for name in whole.parts or ()]
        missing: list[Part] = []
        for part in filter(None, found):
            line = part.line()
            self._in_wholes.add(line)
            if self._alone[line] > 0:  # in an output before this one
                self._alone[line] -= 1
                self._repeats.is_in_whole(part, seen)
            else:
                missing.append(part)
        for part in missing:
            self._add(part, seen)

    def _add_first_format(self, items: Iterable[Any]) -> None:
        self._parts += 1
        self.items += [_read_first_format(item, self._parts) for item in items]

    def _add(self, part: Part, seen: _Said) -> None:
        self._used.add(id(part))
        if self._repeats.has(part, seen):
            return
        self._parts += 1
        self.items.extend(_items(part, self._parts))


class _Repeats:
    """Finds turns that are in the file twice: in the history of a resumed conversation, and as they were.

    Such turns are of one session and say the same. A conversation may have several of them: as many count as
    one output has, and the outputs of single turns count as one.
    """

    def __init__(self) -> None:
        self._known = _Said()
        self._in_history = _Said()
        self.alone = _Said()
        """What the outputs of single turns say."""

    def is_in_whole(self, part: Part, seen: _Said) -> None:
        """A part that stood alone is of this whole conversation."""
        self.alone[_said(part)] -= 1
        seen[_said(part)] += 1

    def has(self, part: Part, seen: _Said) -> bool:
        """Whether another output has this turn; `seen` counts what its own output says."""
        said = _said(part)
        if said is None:
            return False
        seen[said] += 1
        is_history = part.items[0].get("status") == "history"
        if (self._known if is_history else self._in_history)[said] >= seen[said]:
            return True
        self._known[said] += 1
        self._in_history[said] += is_history
        return False


def _said(part: Part) -> bytes | None:
    """The session of a turn, and what the user and the agent said; None if it is no turn."""
    if not part.items or part.items[0].get("type") != "turn":
        return None
    messages = [it.get("content") for it in part.items if it.get("role") == "agent"]
    said = msgspec.json.encode([part.agent, part.session, part.items[0].get("prompt"), messages])
    return sha256(said).digest()


class _Named:
    """Parts by name; each is taken once, because agents can use a session id again."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._parts: dict[tuple[str | None, str | None, str], deque[Part]] = {}
        for part in parts:
            self._parts.setdefault((part.agent, part.session, part.name), deque()).append(part)

    def take(self, whole: Part, name: str) -> Part | None:
        """The first part of this conversation with this name that is not taken."""
        found = self._parts.get((whole.agent, whole.session, name))
        return found.popleft() if found else None


def _parts(value: Any, media: Mapping[str, str] | None = None) -> Iterator[Part | list[Json]]:
    """The parts of one output, with their images if there are media; the items of one in format 1."""
    match value:
        case {"acp_transcript": 1, "items": list(items)}:
            _check_depth(items)
            yield items
        case {"acp_transcript": version}:
            raise ValueError(_unknown(version))
        case str() | [str(), *_]:
            for line in [value] if isinstance(value, str) else value:
                part = _part(line)
                yield part if media is None else with_media(part, media)
        case _:
            raise ValueError(_NOT_SAVED)


def _part(line: Any) -> Part:
    try:
        fields = json.loads(line)
        _check_depth(fields)
        match fields:
            case {"acp_transcript": int(version)} if version != FORMAT:
                raise ValueError(_unknown(version))
            case {"acp_transcript": int()}:
                return msgspec.convert(fields, Part)
    except (TypeError, RecursionError, json.JSONDecodeError, msgspec.ValidationError) as error:
        raise ValueError(f"{_NOT_SAVED}: {error}") from None
    raise ValueError(_NOT_SAVED)


def _check_depth(value: Any, most: int = MOST_DEPTH) -> None:
    """Raise ValueError if it is so nested that it could not be converted."""
    if isinstance(value, dict | list):
        if most == 0:
            raise ValueError(f"{_NOT_SAVED}: it is nested too deeply")
        for it in value.values() if isinstance(value, dict) else value:
            _check_depth(it, most - 1)


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
