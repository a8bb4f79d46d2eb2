"""Bound what agents repeat before a file keeps it: outputs, file contents, diffs and raw data.

Pure. Messages are never cut. Where something is cut, the text says so, so that every form of it does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from .records import Json

OUTPUT_CHARS = 8_000
"""Characters of one output or one file's contents: about 150 lines. A notebook is not a log."""

DIFF_CHARS = 16_000
"""Characters of the hunks of one changed file."""

CONTEXT_LINES = 20
"""Unchanged lines that are kept around the changed part of a long diff."""

RAW_CHARS = 2_000
"""Characters of raw input or output as JSON."""

RAW_STRING_CHARS = 400
"""Characters of one string in longer raw data."""

SHOWN_CHARS = 100
"""Shorter strings in raw output are kept even if the call shows them, too."""

RAW_DEPTH = 20
"""Deeper than any message of the protocol."""

LEFT_OUT = "left out of the notebook"


def bounded_items(items: Sequence[Mapping[str, Json]]) -> list[dict[str, Json]]:
    """Return copies of items of the state, in which long texts are cut."""
    terminals = {item["id"]: item.get("output", "") for item in items if item["type"] == "terminal"}
    return [_item(item, terminals) for item in items]


def _item(item: Mapping[str, Json], terminals: Mapping[str, str]) -> dict[str, Json]:
    kept = dict(item)
    match item["type"]:
        case "turn":
            kept["prompt"] = [_content(block) for block in item["prompt"]]
        case "tool":
            kept |= _tool(item, terminals)
        case "terminal":
            output = item.get("output", "")
            if len(output) > OUTPUT_CHARS:
                kept["output"] = output[-OUTPUT_CHARS:]
                kept["dropped"] = item.get("dropped", 0) + len(output) - OUTPUT_CHARS
        case "changes":
            kept["files"] = [_file(it) for it in item.get("files", ())]
            if "also" in item:
                kept["also"] = [_group(it) for it in item["also"]]
        case "unknown":
            kept["content"] = _raw(item["content"])
    return kept


def _tool(item: Mapping[str, Json], terminals: Mapping[str, str]) -> dict[str, Json]:
    """The long fields of a tool call."""
    content = item.get("content", ())
    kept: dict[str, Json] = {"content": [_content(block, output=True) for block in content]}
    if item.get("raw_input") is not None:
        kept["raw_input"] = _raw(item["raw_input"])
    if item.get("raw_output") is not None:
        output = _without_shown(item["raw_output"], _texts(content, terminals), RAW_DEPTH)
        # Without content, it is the result that is shown.
        limits = (RAW_CHARS, RAW_STRING_CHARS) if content else (2 * OUTPUT_CHARS, OUTPUT_CHARS)
        kept["raw_output"] = _raw(output, *limits)
    return kept


def _texts(content: Sequence[Json], terminals: Mapping[str, str]) -> list[str]:
    """The texts that a tool call shows."""
    blocks = [block for block in content if isinstance(block, dict)]
    shown = (block.get("text") or terminals.get(block.get("terminal_id", "")) for block in blocks)
    return [text for text in shown if isinstance(text, str)]


def _without_shown(value: Json, texts: Sequence[str], depth: int) -> Json:
    """Leave out long strings that the call shows anyway: agents send their output twice."""
    if isinstance(value, str) and len(value) > SHOWN_CHARS and any(value.strip() in text for text in texts):
        return "… as shown"
    if depth == 0:
        return value
    if isinstance(value, list):
        return [_without_shown(it, texts, depth - 1) for it in value]
    if isinstance(value, dict):
        return {name: _without_shown(it, texts, depth - 1) for name, it in value.items()}
    return value


def _group(group: dict[str, Json]) -> dict[str, Json]:
    return group | {"files": [_file(it) for it in group["files"]]}


def beginning(text: str, limit: int = OUTPUT_CHARS) -> str:
    """Cut a long text after whole lines, and say how much is missing."""
    if len(text) <= limit:
        return text
    kept = text[:limit]
    kept = kept[: kept.rfind("\n") + 1] or kept
    return f"{kept}{_gap(kept)}… {len(text) - len(kept):,} more characters {LEFT_OUT}\n"


def _end(text: str) -> str:
    if len(text) <= OUTPUT_CHARS:
        return text
    kept = text[-OUTPUT_CHARS:]
    kept = kept[kept.find("\n") + 1 :] or kept
    return f"… {len(text) - len(kept):,} earlier characters {LEFT_OUT}\n{kept}"


def _gap(text: str) -> str:
    return "" if text.endswith("\n") else "\n"


def _content(block: Json, *, output: bool = False) -> Json:
    """`output`: of a tool call, so that a text is output and not a message."""
    if not isinstance(block, dict):
        return block
    match block.get("type"):
        case "text" if output:
            return block | {"text": beginning(block["text"])}
        case "resource" if isinstance(block.get("text"), str):
            return block | {"text": beginning(block["text"])}
        case "resource" if isinstance(block.get("blob"), str) and len(block["blob"]) > OUTPUT_CHARS:
            return {name: it for name, it in block.items() if name != "blob"} | {
                "text": f"… {len(block['blob']):,} characters of data {LEFT_OUT}"
            }
        case "diff":
            return _diff(block)
        case "run":
            cells = [
                cell | {"outputs": [_output(it) for it in cell["outputs"]]} for cell in block.get("cells", ())
            ]
            return block | {"outputs": [_output(it) for it in block.get("outputs", ())], "cells": cells}
        case "unknown":
            return block | {"raw": _raw(block.get("raw"))}
    return block


def _output(output: Json) -> Json:
    """An output of code that ran in the kernel: of a stream the end, of other texts the beginning."""
    match output:
        case {"type": "stream", "text": str(text)}:
            return output | {"text": _end(text)}
        case {"type": "error", "traceback": str(text)}:
            return output | {"traceback": _end(text)}
        case {"type": "display", "text": str(text)}:
            return output | {"text": beginning(text)}
    return output


def _diff(block: dict[str, Json]) -> dict[str, Json]:
    """Of a long file, keep the part that changed: the agent sends the whole file twice."""
    old, new = block.get("old_text"), block["new_text"]
    if old is None or len(old) + len(new) <= OUTPUT_CHARS:
        return block | {"new_text": beginning(new)}
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    first, last = max(0, start - CONTEXT_LINES), max(0, end - CONTEXT_LINES)
    return block | {
        "old_text": beginning("".join(before[first : len(before) - last])),
        "new_text": beginning("".join(after[first : len(after) - last])),
    }


def _common(one: list[str], other: list[str]) -> int:
    """How many lines are the same at the start."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def _file(file: dict[str, Json]) -> dict[str, Json]:
    """Keep the first hunks of a changed file, and say how many are missing."""
    kept: list[Json] = []
    room = DIFF_CHARS
    for hunk in file.get("hunks", ()):
        room -= sum(len(line) + 1 for line in hunk["lines"])
        if room < 0:
            break
        kept.append(hunk)
    missing = len(file.get("hunks", ())) - len(kept)
    if not missing:
        return file
    note = f"{missing} part{'s' * (missing != 1)} of this change {LEFT_OUT}"
    return file | {"hunks": kept, "note": ", ".join(it for it in (file.get("note"), note) if it)}


def _raw(value: Json, limit: int = RAW_CHARS, string: int = RAW_STRING_CHARS) -> Json:
    """Shorten the strings of long JSON; leave it out if it is still longer than the limit."""
    size = _size(value)
    if size is not None and size <= limit:
        return value
    short = _shortened(value, string, RAW_DEPTH)
    if (_size(short) or limit + 1) <= limit:
        return short
    return "… data left out of the notebook" if size is None else f"… {size:,} characters of data {LEFT_OUT}"


def _size(value: Json) -> int | None:
    """The length as JSON; None if it is nested too deeply or contains itself."""
    try:
        return len(json.dumps(value, ensure_ascii=False, default=repr))
    except (ValueError, RecursionError):
        return None


def _shortened(value: Json, limit: int, depth: int) -> Json:
    if isinstance(value, str) and len(value) > limit:
        return f"{value[:limit]}… {len(value) - limit:,} more characters {LEFT_OUT}"
    if isinstance(value, list | dict) and depth == 0:
        return "…"
    if isinstance(value, list):
        return [_shortened(it, limit, depth - 1) for it in value]
    if isinstance(value, dict):
        return {name: _shortened(it, limit, depth - 1) for name, it in value.items()}
    return value
