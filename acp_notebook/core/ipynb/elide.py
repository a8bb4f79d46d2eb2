"""Shorten outputs, attachments and large metadata for an agent, and say what is missing.

Handles the output types of nbformat 4, including our own saved conversations. A placeholder states type and
size, is itself a valid part of a notebook, and is recognised when the agent writes it back.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence

from ..patterns import pattern
from ..records import Json
from .parse import joined

TRANSCRIPT_MIME = "application/vnd.acp-notebook.transcript+json"
"""The same as in notebook/static_bundle.py, which core cannot import; a test compares them."""

MARK = "acp_notebook"
"""A key in an output's metadata. In the file it marks our own output (js/src/document.ts writes it), in a
view a placeholder."""

KEPT_TEXT = 2_000
"""Longest text output that is shown, in characters: a result, an error, a small table."""

KEPT_A_CELL = 8_000
"""Characters of all outputs of a cell: a loop that prints must not fill the agent's context."""

KEPT_METADATA = 2_000
"""Characters of JSON per metadata entry: widget states are stored there too, with megabytes."""

MOST_NESTED = 50
"""Metadata nested more deeply is not shown: no tool writes such metadata, and JSON writers recurse."""

_PLACEHOLDER = pattern(r"\[[^\[\]\n]{1,300}, \d[\d.]* (?:bytes|kB|MB), not shown\]")

_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

_FRAME = 60
"""Characters counted for each output beyond its text: a thousand empty outputs are too much, too."""

_COUNTED_MIMES = 4
"""How many mime types of an output are named; the others are only counted."""


def format_size(size: int) -> str:
    if size < 1_000:
        return f"{size} bytes"
    return f"{size / 1_000:.0f} kB" if size < 999_500 else f"{size / 1_000_000:.1f} MB"


def placeholder(what: str, size: int) -> str:
    clean = re.sub(r"[\[\]\s]+", " ", what).strip()[:200] or "something"
    return f"[{clean}, {format_size(size)}, not shown]"


def is_placeholder(value: Json) -> bool:
    """Whether a text consists of one of our placeholders."""
    text = joined(value)
    return text is not None and _PLACEHOLDER.fullmatch(text.strip()) is not None


def is_elided_output(output: Json) -> bool:
    """Whether an output is one that `shown_outputs` has shortened."""
    match output:
        case {"metadata": {"acp_notebook": {"elided": True}}}:
            return True
        case {"data": {"text/plain": text}} | {"text": text}:
            return _PLACEHOLDER.search(joined(text) or "") is not None
        case {"traceback": list(lines)}:
            return any(is_placeholder(line) for line in lines)
    return False


def size_of(value: Json) -> int:
    """The approximate size of a value in the file."""
    text = joined(value)
    if text is not None:
        return len(text)
    try:
        return len(_COMPACT.encode(value))
    except RecursionError:
        return len(str(type(value)))  # nested too deeply to measure; it is not shown in any case


# ---- outputs


def shown_outputs(outputs: Sequence[Json], *, raw: bool = False) -> list[Json]:
    """The outputs of a cell as an agent sees them; with `raw`, only our own conversations are left out."""
    if raw:
        return [_conversation(it) if is_conversation(it) else it for it in outputs]
    shown: list[Json] = []
    left = KEPT_A_CELL
    for number, output in enumerate(outputs):
        if left <= 0:
            return [*shown, _rest(outputs[number:])]
        short = _shown(output)
        left -= _weight(short)
        shown.append(short)
    return shown


def _weight(short: Json) -> int:
    """How many characters a shown output counts for: at most a few thousand."""
    texts = short.get("text") or short.get("traceback") or short.get("data", {}).get("text/plain")
    return sum(map(len, texts or ())) + _FRAME


def is_conversation(output: Json) -> bool:
    match output:
        case {"data": dict(data)} if TRANSCRIPT_MIME in data:
            return True
        case {"metadata": {"acp_notebook": dict() | str()}}:
            return True
    return False


def _shown(output: Json) -> Json:
    if is_conversation(output):
        return _conversation(output)
    match output:
        case {"output_type": "stream", "name": str(name), "text": text}:
            return {"output_type": "stream", "name": name, "text": _lines(_kept(f"{name} stream", text))}
        case {"output_type": "error", "ename": str(name), "evalue": str(value), "traceback": list(lines)}:
            return _error(name, value, lines)
        case {"output_type": "execute_result" | "display_data" as type, "data": dict(data)}:
            return _display(type, data, output.get("execution_count"))
        case {"output_type": str(type)}:
            return _placeholder_output(placeholder(f"output of type {type}", size_of(output)))
    return _placeholder_output(placeholder("output of no type", size_of(output)))


def _placeholder_output(text: str, type: str = "display_data", count: Json = None) -> Json:
    made: dict[str, Json] = {
        "output_type": type,
        "data": {"text/plain": _lines(text)},
        "metadata": {MARK: {"elided": True}},
    }
    if type == "execute_result":
        made["execution_count"] = count_of(count)
    return made


def count_of(value: Json) -> int | None:
    """The value if it is a valid execution count, else None."""
    return value if type(value) is int and value >= 0 else None


def _conversation(output: Mapping[str, Json]) -> Json:
    return _placeholder_output(placeholder("conversation with an agent", size_of(output)))


def _rest(outputs: Sequence[Json]) -> Json:
    count = len(outputs)
    what = f"{count:,} more output{'s' if count > 1 else ''}"
    return _placeholder_output(placeholder(what, sum(map(size_of, outputs))))


def _kept(what: str, value: Json) -> str:
    text = joined(value)
    if text is not None and len(text) <= KEPT_TEXT:
        return text
    return placeholder(what, size_of(value))


def _display(type: str, data: Mapping[str, Json], count: Json) -> Json:
    plain = joined(data.get("text/plain"))
    if plain is not None and len(plain) > KEPT_TEXT:
        plain = None
    missing = {mime: it for mime, it in data.items() if mime != "text/plain" or plain is None}
    if not missing:
        made = _placeholder_output(plain or "", type, count)
        return {**made, "metadata": {}}
    size = sum(map(size_of, missing.values()))
    note = placeholder(_types(list(missing)), size)
    return _placeholder_output(f"{plain}\n{note}" if plain else note, type, count)


def _types(mimes: list[str]) -> str:
    named = ", ".join(mimes[:_COUNTED_MIMES])
    more = len(mimes) - _COUNTED_MIMES
    return f"{named} and {more} more types" if more > 0 else named


def _error(name: str, value: str, lines: list[Json]) -> Json:
    """Keep the end of the traceback, which shows what was raised and where."""
    texts = [line for line in lines if isinstance(line, str)]
    kept: list[str] = []
    left = KEPT_TEXT
    for line in reversed(texts):
        left -= len(line)
        if left < 0:
            break
        kept.append(line)
    missing = texts[: len(texts) - len(kept)]
    note = [placeholder("first part of the traceback", sum(map(len, missing)))] if missing else []
    return {
        "output_type": "error",
        "ename": _kept("name of the error", name),
        "evalue": _kept("text of the error", value),
        "traceback": [*note, *reversed(kept)],
    }


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


# ---- attachments and metadata


def shown_attachments(attachments: Mapping[str, Json], *, raw: bool = False) -> dict[str, Json]:
    """The attachments by name, with a placeholder for each mime type."""
    return {
        name: (bundle if raw else {mime: placeholder(mime, size_of(it)) for mime, it in bundle.items()})
        for name, bundle in attachments.items()
        if isinstance(bundle, dict)
    }


def shown_metadata(metadata: Mapping[str, Json], *, raw: bool = False) -> dict[str, Json]:
    return {name: it if raw or _is_small(it) else _elided_metadata(name, it) for name, it in metadata.items()}


def _is_small(value: Json) -> bool:
    text = joined(value)
    if text is not None:
        return len(text) <= KEPT_METADATA
    if not isinstance(value, dict | list):
        return _is_finite(value)
    return size_of(value) <= KEPT_METADATA and not nested_beyond(value, MOST_NESTED) and _is_finite(value)


def _is_finite(value: Json) -> bool:
    """Whether it contains no NaN or infinity, which Python writes into metadata although JSON has neither."""
    if isinstance(value, dict | list):
        return all(map(_is_finite, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or math.isfinite(value)


def has_floats(value: Json) -> bool:
    if isinstance(value, dict | list):
        return any(map(has_floats, value.values() if isinstance(value, dict) else value))
    return isinstance(value, float)


def _elided_metadata(name: str, value: Json) -> Json:
    """A placeholder of the same JSON type, because nbformat requires the type for some names."""
    note = placeholder(f"metadata {name}", size_of(value))
    if isinstance(value, dict):
        names = {it: value[it] for it in ("name", "display_name") if isinstance(value.get(it), str)}
        return {**{it: text[:KEPT_TEXT] for it, text in names.items()}, MARK: note}
    return [note.replace(",", ";")] if isinstance(value, list) else note


def nested_beyond(value: Json, depth: int) -> bool:
    if isinstance(value, dict):
        return depth <= 0 or any(nested_beyond(it, depth - 1) for it in value.values())
    if isinstance(value, list):
        return depth <= 0 or any(nested_beyond(it, depth - 1) for it in value)
    return False
