"""Transcripts as a file keeps them: structured, and the same for the same conversation wherever it ran.

Pure. Ids are numbered anew (agents make them up), the working directory becomes ".", and what is
of no use later (raw messages, the agent's private notes) is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .export.escaping import Escaper
from .records import Json
from .snapshot import Item, Snapshot, item_from_plain

FORMAT = 1

OUTPUT_CHARS = 50_000
"""Of a terminal's output, from its end: a notebook's file is not a log."""

_LEFT_OUT = ("raw", "meta", "cancelling", "offers", "answers", "rate_limit", "released")
"""Not for the file: what is long and unread, and what passes; a terminal may be given back after the turn."""

_SHAPE = frozenset({"type", "key", "turn", "tool", "role", "status", "mode"})
"""Fields of an item that are ours, not text: a function of the user's must not change them."""

_RECORDS = frozenset({"content", "prompt", "summary", "options", "entries", "locations", "fields", "choices"})
"""Fields that hold a list of records, whose fields have names of ours."""


def saved(items: Iterable[Mapping[str, Json]], *, cwd: str | None = None) -> dict[str, Json]:
    """Items of the state, as the file keeps them."""
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
    return kept


def _changed(kept: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """The changed files, and the groups of those that also changed."""
    yield from kept.get("files", ())
    for group in kept.get("also", ()):
        yield group
        yield from group["files"]


class _Numbers:
    """Names by the order in which they are first asked for."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._known: dict[str, str] = {}

    def of(self, name: str) -> str:
        return self._known.setdefault(name, f"{self._prefix}{len(self._known) + 1}")


def redacted(item: Mapping[str, Json], function: Callable[[str], str]) -> dict[str, Json]:
    """A copy of the item in which the function has seen every text; what gives it its shape stays."""
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
    """A changed file: its paths, its notes and its lines are text; all else is of ours."""
    if not isinstance(entry, dict):
        return _mapped(entry, function)
    hunks = [
        {name: _mapped(it, function) if name in ("lines", "title") else it for name, it in hunk.items()}
        for hunk in entry.get("hunks", ())
    ]
    fields = {name: function(it) if name in _FILE_TEXTS else it for name, it in entry.items()}
    return fields | {"hunks": hunks}


def _mapped(value: Json, function: Callable[[str], str]) -> Json:
    """A copy with the function applied to every text, names too: some agents name fields by paths."""
    if isinstance(value, str):
        return function(value)
    if isinstance(value, list):
        return [_mapped(item, function) for item in value]
    if isinstance(value, dict):
        return {function(name): _mapped(item, function) for name, item in value.items()}
    return value


def loaded(parts: Iterable[Any]) -> Snapshot:
    """Saved transcripts, in order, as one snapshot; raises ValueError for what is none."""
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
    """Keys of several parts must not meet in one snapshot: each part has its own space of names."""
    try:
        named = {name: f"{part}.{item[name]}" for name in ("key", "turn", "tool") if item.get(name)}
        return item_from_plain({**item, **named})
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"an item of a saved transcript cannot be read: {error!r}") from None
