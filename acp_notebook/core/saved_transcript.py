"""Transcripts as notebook files keep them: structured, and the same for one conversation on any machine.

Pure. A file keeps a conversation in parts: one for each turn, and one for what stands between two turns. A
part is one line of JSON, so that a changed turn is one changed line. Keys and ids are numbered in each part
(agents choose random ones), the working directory becomes ".", and what is useless later (raw messages, the
agent's metadata, times) or a default is left out. `loaded_transcript` reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from .changes import FileChange, Hunk
from .escaping import Escaper
from .origin import Origin
from .records import Json, KernelRun, PlanEntry
from .snapshot import ITEMS

FORMAT = 2

_LEFT_OUT = ("raw", "meta", "cancelling", "offers", "answers", "rate_limit", "released", "seconds")
"""Fields that are long and never read, temporary, or different in each run; a terminal may be released after
the turn."""

_SHAPE = frozenset({"type", "key", "turn", "tool", "role", "status", "mode"})
"""Fields with values of our own, not text: the user's redaction function must not change them."""

_RECORDS = frozenset({"content", "prompt", "summary", "options", "entries", "locations", "fields", "choices"})
"""Fields that hold a list of records, whose field names we define."""


class Part(Origin, frozen=True, omit_defaults=True, kw_only=True):
    """A part of a conversation; `name` is the id of its turn."""

    acp_transcript: int = msgspec.field(default_factory=lambda: FORMAT)
    name: str = ""
    parts: tuple[str, ...] | None = None
    """Of a whole conversation: the names of its parts, wherever in the file they are."""
    items: tuple[dict[str, Json], ...] = ()
    digest: str | None = None
    """Of the prompt, if its answer can be reused: see `prompt_digest`."""

    def line(self) -> str:
        return msgspec.json.encode(self).decode()


def split_turns(items: Iterable[dict[str, Json]]) -> dict[str, list[dict[str, Json]]]:
    """Split a conversation into parts, by name: turns, and "…+" for what follows a turn but is not of it."""
    parts: dict[str, list[dict[str, Json]]] = {}
    names: dict[str, str] = {}
    newest = ""
    for item in items:
        if item["type"] == "turn":
            newest = names[item["key"]] = item.get("id") or item["key"]
        turn: str | None = item["turn"]
        name = f"{newest}+" if turn is None else names.get(turn) or turn
        parts.setdefault(name, []).append(item)
    return parts


def saved(
    items: Sequence[Mapping[str, Json]],
    *,
    name: str = "",
    cwd: str | None = None,
    origin: Origin | None = None,
) -> Part:
    """Convert the items of one part to the form that the file keeps."""
    ids, words = _Numbers("id"), Escaper(cwd)
    numbers = {item["key"]: number for number, item in enumerate(items, 1)}
    turn = next((it["key"] for it in items if it["type"] == "turn"), None)
    kept = tuple(_item(item, numbers, ids, words, turn) for item in items)
    origin = origin or Origin()
    return Part(agent=origin.agent, session=origin.session, name=name, items=kept)


def _item(
    item: Mapping[str, Json], numbers: Mapping[str, int], ids: _Numbers, words: Escaper, turn: str | None
) -> dict[str, Json]:
    """An item without its key, which is its place in the part, and its turn, unless it is of another one."""
    kept = redacted({name: it for name, it in item.items() if name not in _LEFT_OUT}, words.without_cwd)
    del kept["key"]
    if kept.pop("turn", None) != turn:
        kept["turn"] = None
    for named in (kept, *_changed(kept)):
        if named.get("tool") is not None:
            named["tool"] = numbers.get(named["tool"], 0)
    if kept.get("id") is not None and kept["type"] != "turn":
        kept["id"] = ids.of(f"{kept['type']} {item['id']}")
    for block in kept.get("content", ()) if kept["type"] == "tool" else ():
        if isinstance(block, dict) and "terminal_id" in block:
            block["terminal_id"] = ids.of(f"terminal {block['terminal_id']}")
        if isinstance(block, dict) and isinstance(block.get("session"), dict):
            block["session"] = _without_ids(block["session"])
    if isinstance(kept.get("asked_by"), dict):
        kept["asked_by"] = _without_ids(kept["asked_by"])
    return _without_defaults(kept)


def _without_ids(session: dict[str, Json]) -> dict[str, Json]:
    """Another session, without what differs from run to run."""
    return {name: it for name, it in session.items() if name not in ("id", "model", "asks")}


def _changed(kept: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """Yield the changed files, and the groups of files that also changed."""
    if kept["type"] != "changes":
        return
    yield from kept.get("files", ())
    for group in kept.get("also", ()):
        yield group
        yield from group["files"]


# ---- defaults ---------------------------------------------------------------------------------


def _without_defaults(item: dict[str, Json]) -> dict[str, Json]:
    """Leave out every field that has its default value; reading puts it back."""
    kept = _sparse(item, ITEMS[item["type"]])
    for file in _changed(kept):
        if "hunks" in file:
            file["hunks"] = [_sparse(it, Hunk) for it in file["hunks"]]
    if kept["type"] == "changes":
        kept["files"] = [_sparse(it, FileChange) for it in kept.get("files", ())]
        for group in kept.get("also", ()):
            group["files"] = [_sparse(it, FileChange) for it in group["files"]]
    if kept["type"] == "plan" and "entries" in kept:
        kept["entries"] = [_sparse(it, PlanEntry) for it in kept["entries"]]
    if kept["type"] == "tool" and "content" in kept:
        kept["content"] = [_run(it) if it.get("type") == "run" else it for it in kept["content"]]
    return kept


def _run(run: dict[str, Json]) -> dict[str, Json]:
    """A run in the kernel, without its time."""
    return _sparse({name: it for name, it in run.items() if name != "seconds"}, KernelRun)


def _sparse(fields: dict[str, Json], cls: type[msgspec.Struct]) -> dict[str, Json]:
    defaults = _DEFAULTS.get(cls)
    if defaults is None:
        defaults = _DEFAULTS[cls] = {
            field.name: _plain_default(field) for field in msgspec.structs.fields(cls) if not field.required
        }
    return {
        name: it
        for name, it in fields.items()
        if name not in defaults or not (it == defaults[name] and type(it) is type(defaults[name]))
    }


_DEFAULTS: dict[type[msgspec.Struct], dict[str, Json]] = {}


def _plain_default(field: msgspec.structs.FieldInfo) -> Json:
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return list(value) if isinstance(value, tuple) else value


class _Numbers:
    """Numbers names in the order in which they are first used."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._known: dict[str, str] = {}

    def of(self, name: str) -> str:
        return self._known.setdefault(name, f"{self._prefix}{len(self._known) + 1}")


# ---- redaction --------------------------------------------------------------------------------


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
