"""Content -> blocks: text, images, sounds, resources, diffs, and what we do not know.

Knows no items and no markup. A tool's text is output, to be shown as it is; a message's is markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from types import MappingProxyType

from ..changes import unified_diff
from ..records import (
    Audio,
    Content,
    Diff,
    Image,
    Json,
    Resource,
    ResourceLink,
    Terminal,
    Text,
    UnknownContent,
    is_for_model_only,
)
from ..snapshot import TerminalRun
from .blocks import Block, Code, Fold, Line, Link, Media, Prose
from .bounds import bounded, pretty_json, shortened, size
from .escaping import Escaper

FOR_THE_MODEL = "For the model only"

DIFF_LINES = 400
"""Of one diff: what a reader scrolls through; the file itself has the rest."""

TERMINAL_LINES = 200
"""Of a terminal's output, from its end: that is where results and errors are."""

# Types that a browser shows and that can hold no script: SVG is not among them.
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
AUDIO_TYPES = frozenset({"audio/wav", "audio/x-wav", "audio/mpeg", "audio/mp3", "audio/ogg", "audio/webm"})

_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_FENCE = re.compile(r"(`{3,}+|~{3,}+)[^\n`]*+\n")


def message_blocks(content: Iterable[Content], words: Escaper, *, breaks: bool = False) -> tuple[Block, ...]:
    """A message's content: its text is markdown, and text in several pieces is one text."""
    blocks: list[Block] = []
    for (is_text, hidden), run in groupby(
        content, lambda block: (isinstance(block, Text), is_for_model_only(block))
    ):
        if hidden:
            inner = tuple(shown for block in run for shown in _blocks(block, words))
            blocks += [Fold(FOR_THE_MODEL, inner)] if inner else []
        elif is_text:
            text = words.prose("".join(block.text for block in run if isinstance(block, Text)))
            blocks += [Prose(text, breaks)] if text.strip() else []
        else:
            blocks += [shown for block in run for shown in _blocks(block, words)]
    return tuple(blocks)


def tool_blocks(
    content: Iterable[Content], words: Escaper, terminals: Mapping[str, TerminalRun] = MappingProxyType({})
) -> tuple[Block, ...]:
    """A tool call's content: its text is output, its terminals are those that ran."""
    blocks: list[Block] = []
    for block in content:
        ran = terminals.get(block.terminal_id) if isinstance(block, Terminal) else None
        blocks += _blocks(block, words) if ran is None else terminal_blocks(ran, words)
    return tuple(blocks)


def terminal_blocks(ran: TerminalRun, words: Escaper) -> Iterator[Block]:
    """A command, its output as a screen would show it in the end, and its exit."""
    yield Line("$", words.line(ran.command))
    lines = words.code(_overwritten(ran.output)).rstrip("\n").split("\n")
    missing = ran.dropped > 0 or len(lines) > TERMINAL_LINES
    shown = [shortened(line) for line in lines[-TERMINAL_LINES:]]
    if missing:
        shown.insert(0, "… earlier output left out")
    if any(shown):
        yield Code("\n".join(shown))
    yield Line("", _exit(ran, words))


def _overwritten(text: str) -> str:
    """Without what a carriage return let the next text write over: the steps of a progress bar."""
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


def _exit(ran: TerminalRun, words: Escaper) -> str:
    if ran.status == "running":
        return "still running"
    if ran.signal:
        return f"ended by {words.line(ran.signal)}"
    return words.line(ran.status) if ran.exit_code is None else f"exit code {ran.exit_code}"


def code_block(text: str, words: Escaper) -> Iterator[Block]:
    """Output as it is, out of the fence that many agents put around it."""
    text = _unfenced(words.code(text).strip("\n"))
    if text.strip():
        yield Code(text)


def _unfenced(text: str) -> str:
    """What one fence around the whole text holds; a text of several blocks stays as it is."""
    fence = _FENCE.match(text)
    if fence is None or not text.endswith("\n" + fence[1], fence.end() - 1):
        return text
    body = text[fence.end() : -len(fence[1])].removesuffix("\n")
    return text if fence[1] in body else body


def json_block(value: Json, words: Escaper) -> Code:
    return Code(words.code(pretty_json(value)), "json")


def _blocks(block: Content, words: Escaper) -> Iterator[Block]:
    match block:
        case Text(text):
            yield from code_block(text, words)
        case Image() | Audio():
            yield _media(block, words)
        case ResourceLink():
            yield _link(block, words)
        case Resource():
            yield _resource(block, words)
        case Diff():
            yield from _diff(block, words)
        case Terminal():
            yield Line("Terminal:", "its output is not known here")
        case UnknownContent(raw):
            yield Fold("Unknown content", (json_block(raw, words),))


def _media(block: Image | Audio, words: Escaper) -> Block:
    data = "".join(block.data.split())
    note = _data_note(block.type, block.mime_type, data, words)
    mime_type = block.mime_type.strip().lower()
    allowed = IMAGE_TYPES if isinstance(block, Image) else AUDIO_TYPES
    if mime_type in allowed and is_base64(data):
        return Media(mime_type, data, note)
    return Line("", note)


def _data_note(what: str, mime_type: str | None, data: str, words: Escaper) -> str:
    count = len(data) * 3 // 4 - data[-2:].count("=")
    kind = f"{words.line(mime_type)}, " if mime_type else ""
    return f"{what} ({kind}{size(max(count, 0))})"


def is_base64(data: str) -> bool:
    return len(data) % 4 == 0 and _BASE64.fullmatch(data) is not None


def _link(block: ResourceLink, words: Escaper) -> Link:
    uri = words.path(block.uri)
    label = words.line(block.title or block.name) or uri
    notes = [words.line(block.description or ""), words.line(block.mime_type or "")]
    if isinstance(block.size, int):
        notes.append(size(block.size))
    return Link(uri, label, ", ".join(note for note in notes if note))


def _resource(block: Resource, words: Escaper) -> Block:
    name = words.path(block.uri)
    if block.text is None:
        note = _data_note("data", block.mime_type, block.blob or "", words)
        return Line("Resource", f"{name}, {note}")
    text = words.code(block.text).rstrip("\n")
    return Fold(f"Resource {name}", (Code(text),) if text.strip() else ())


def _diff(block: Diff, words: Escaper) -> Iterator[Block]:
    old, new = _same_newlines(block.old_text, block.new_text)
    lines = unified_diff(None if old is None else words.exact(old), words.exact(new))
    label = "New file" if old is None else "Changed" if lines else "Unchanged"
    yield Line(label, words.path(block.path))
    if lines:
        yield Code(bounded(lines, DIFF_LINES), "diff")


def _same_newlines(old: str | None, new: str) -> tuple[str | None, str]:
    # A file that keeps its CRLF need not show each of them; one that changes them must.
    if "\r\n" in new and (old is None or "\r\n" in old):
        return old and old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    return old, new
