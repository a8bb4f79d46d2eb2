"""Transcripts as notebook files keep them: structured, and the same for one conversation on any machine.

Pure. Ids are renumbered (agents choose random ones), the working directory becomes ".", and what is
useless later (raw messages, the agent's metadata) is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from .escaping import Escaper
from .records import Json
from .snapshot import Item, Snapshot, item_from_plain

FORMAT = 1

OUTPUT_CHARS = 50_000
"""How much of the end of a terminal's output is kept: a notebook file is not a log."""

_LEFT_OUT = ("raw", "meta", "cancelling", "offers", "answers", "rate_limit", "released", "seconds")
"""Fields that are long and never read, temporary, or different in each run; a terminal may be released after
the turn."""

_SHAPE = frozenset({"type", "key", "turn", "tool", "role", "status", "mode"})
"""Fields with values of our own, not text: the user's redaction function must not change them."""

_RECORDS = frozenset({"content", "prompt", "summary", "options", "entries", "locations", "fields", "choices"})
"""Fields that hold a list of records, whose field names we define."""


def saved(items: Iterable[Mapping[str, Json]], *, cwd: str | None = None) -> dict[str, Json]:
    """Convert items of the state to the form that the file keeps."""
    keys, ids = _Numbers("k"), _Numbers("id")
    words = Escaper(cwd)
    return {"acp_transcript": FORMAT, "items": [_item(item, keys, ids, words) for item in items]}


def _item(item: Mapping[str, Json], keys: _Numbers, ids: _Numbers, words: Escaper) -> dict[str, Json]:
    kept = redacted({name: it for name, it in item.items() if name not in _LEFT_OUT}, words.without_cwd)
    for name in ("key", "turn", "tool"):
        if kept.get(name) is not None:
            kept[name] = keys.of(kept[name])
    for named in _changed(kept) if kept["type"] == "changes" else ():
        if named.get("tool") is not None:
            named["tool"] = keys.of(named["tool"])
    if kept.get("id") is not None and kept["type"] != "turn":
        kept["id"] = ids.of(f"{kept['type']} {item['id']}")
    if kept["type"] == "terminal" and len(kept["output"]) > OUTPUT_CHARS:
        kept["dropped"] = kept.get("dropped", 0) + len(kept["output"]) - OUTPUT_CHARS
        kept["output"] = kept["output"][-OUTPUT_CHARS:]
    for block in kept.get("content", ()) if kept["type"] == "tool" else ():
        if isinstance(block, dict) and "terminal_id" in block:
            block["terminal_id"] = ids.of(f"terminal {block['terminal_id']}")
        if isinstance(block, dict) and isinstance(block.get("session"), dict):
            block["session"] = _without_ids(block["session"])
    if isinstance(kept.get("asked_by"), dict):
        kept["asked_by"] = _without_ids(kept["asked_by"])
    return kept


def _without_ids(session: dict[str, Json]) -> dict[str, Json]:
    """Another session, without what differs from run to run."""
    return {name: it for name, it in session.items() if name not in ("id", "model", "asks")}


def _changed(kept: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """Yield the changed files, and the groups of files that also changed."""
    yield from kept.get("files", ())
    for group in kept.get("also", ()):
        yield group
        yield from group["files"]


class _Numbers:
    """Numbers names in the order in which they are first used."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._known: dict[str, str] = {}

    def of(self, name: str) -> str:
        return self._known.setdefault(name, f"{self._prefix}{len(self._known) + 1}")


def redacted(item: Mapping[str, Json], function: Callable[[str], str]) -> dict[str, Json]:
    """Return a copy of the item with the function applied to every text, but not to structural fields."""
    return {name: it if name in _SHAPE else _field(name, it, function) for name, it in item.items()}


def _field(name: str, value: Json, function: Callable[[str], str]) -> Json:
    if name == "usage":
        return value  # numbers
    if name in _RECORDS and isinstance(value, list):
        return [_record(entry, function) for entry in value]
    if name == "files" and isinstance(value, list):
        return [_file(entry, function) for entry in value]
    return _mapped(value, function)


def _record(entry: Json, function: Callable[[str], str]) -> Json:
    if not isinstance(entry, dict):
        return _mapped(entry, function)
    return {name: it if name == "type" else _field(name, it, function) for name, it in entry.items()}


_FILE_TEXTS = frozenset({"path", "moved_from", "why", "note"})


def _file(entry: Json, function: Callable[[str], str]) -> Json:
    """Apply the function to a changed file's paths, notes and lines; its other values are not text."""
    if not isinstance(entry, dict):
        return _mapped(entry, function)
    hunks = [
        {name: _mapped(it, function) if name in ("lines", "title") else it for name, it in hunk.items()}
        for hunk in entry.get("hunks", ())
    ]
    fields = {name: function(it) if name in _FILE_TEXTS else it for name, it in entry.items()}
    return fields | {"hunks": hunks}


def _mapped(value: Json, function: Callable[[str], str]) -> Json:
    """Apply the function to every text, names included: some agents use paths as field names."""
    if isinstance(value, str):
        return function(value)
    if isinstance(value, list):
        return [_mapped(item, function) for item in value]
    if isinstance(value, dict):
        return {function(name): _mapped(item, function) for name, item in value.items()}
    return value


def loaded(parts: Iterable[Any]) -> Snapshot:
    """Join saved transcripts, in order, into one snapshot; raises ValueError if one cannot be read."""
    items: list[Item] = []
    for number, part in enumerate(parts):
        match part:
            case {"acp_transcript": 1, "items": list(saved_items)}:
                items += [_read(item, number) for item in saved_items]
            case {"acp_transcript": version}:
                raise ValueError(f"a saved transcript of format {version}; this reads format {FORMAT}")
            case _:
                raise ValueError("not a saved transcript")
    return Snapshot(tuple(items), len(items), status="closed")


def _read(item: Any, part: int) -> Item:
    """Read an item, with its keys prefixed by the part's number so that parts cannot collide."""
    try:
        named = {name: f"{part}.{item[name]}" for name in ("key", "turn", "tool") if item.get(name)}
        return item_from_plain({**item, **named})
    except (AttributeError, KeyError, TypeError, msgspec.ValidationError) as error:
        raise ValueError(f"an item of a saved transcript cannot be read: {error!r}") from None
