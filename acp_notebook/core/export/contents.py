"""Turn content into blocks: text, images, audio, resources, diffs, and unknown content.

Independent of items and markup. A tool's text is output and is shown verbatim; a message's is markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from types import MappingProxyType

from ..changes import NO_NEWLINE, unified_diff
from ..escaping import Escaper
from ..records import (
    Audio,
    Content,
    Diff,
    Image,
    Json,
    KernelRun,
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
from .runs import run_blocks

CHANGED = "Changed"
FOR_THE_MODEL = "For the model only"

DIFF_LINES = 400
"""Lines of one diff: as much as a reader scrolls through; the file itself has the rest."""

TERMINAL_LINES = 200
"""Lines of a terminal's output, from its end, where results and errors are."""

# Types that browsers show and that cannot contain scripts, which excludes SVG.
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
AUDIO_TYPES = frozenset({"audio/wav", "audio/x-wav", "audio/mpeg", "audio/mp3", "audio/ogg", "audio/webm"})

_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_FENCE = re.compile(r"(`{3,}+|~{3,}+)[^\n`]*+\n")


def message_blocks(
    content: Iterable[Content], escaper: Escaper, *, breaks: bool = False
) -> tuple[Block, ...]:
    """The blocks of a message: its text is markdown, and consecutive texts are joined."""
    blocks: list[Block] = []
    for (is_text, hidden), run in groupby(
        content, lambda block: (isinstance(block, Text), is_for_model_only(block))
    ):
        if hidden:
            inner = tuple(shown for block in run for shown in _blocks(block, escaper))
            blocks += [Fold(FOR_THE_MODEL, inner)] if inner else []
        elif is_text:
            text = escaper.prose("".join(block.text for block in run if isinstance(block, Text)))
            blocks += [Prose(text, breaks)] if text.strip() else []
        else:
            blocks += [shown for block in run for shown in _blocks(block, escaper)]
    return tuple(blocks)


def tool_blocks(
    content: Iterable[Content],
    escaper: Escaper,
    terminals: Mapping[str, TerminalRun] = MappingProxyType({}),
    title: str = "",
) -> tuple[Block, ...]:
    """The blocks of a tool call: its text is output, its terminals are looked up in `terminals`."""
    blocks: list[Block] = []
    for block in content:
        ran = terminals.get(block.terminal_id) if isinstance(block, Terminal) else None
        shown = _blocks(block, escaper) if ran is None else terminal_blocks(ran, escaper, title)
        blocks += (it for it in shown if not _repeats(it, title))
    return tuple(blocks)


def _repeats(block: Block, title: str) -> bool:
    """Whether a line above a diff only names the file that the title names."""
    return isinstance(block, Line) and block.label == CHANGED and block.text in title


def terminal_blocks(ran: TerminalRun, escaper: Escaper, title: str = "") -> Iterator[Block]:
    """A command, unless the title names it, its final output as a screen would show it, and a failure."""
    command = escaper.line(ran.command)
    if not title or title not in command:
        yield Line("$", command)
    lines = escaper.code(_overwritten(ran.output)).rstrip("\n").split("\n")
    missing = ran.dropped > 0 or len(lines) > TERMINAL_LINES
    shown = [shortened(line) for line in lines[-TERMINAL_LINES:]]
    if missing:
        shown.insert(0, "… earlier output left out")
    if any(shown):
        yield Code("\n".join(shown))
    if ran.exit_code != 0 or ran.signal:
        yield Line("", _exit(ran, escaper))


def _overwritten(text: str) -> str:
    """Drop text that was overwritten after a carriage return, such as the steps of a progress bar."""
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


def _exit(ran: TerminalRun, escaper: Escaper) -> str:
    if ran.status == "running":
        return "still running"
    if ran.signal:
        return f"ended by {escaper.line(ran.signal)}"
    return escaper.line(ran.status) if ran.exit_code is None else f"exit code {ran.exit_code}"


def code_block(text: str, escaper: Escaper) -> Iterator[Block]:
    """Verbatim output, without the code fence that many agents put around it."""
    text = _unfenced(escaper.code(text).strip("\n"))
    if text.strip():
        yield Code(text)


def _unfenced(text: str) -> str:
    """Remove one fence around the whole text; a text of several blocks stays as it is."""
    fence = _FENCE.match(text)
    if fence is None or not text.endswith("\n" + fence[1], fence.end() - 1):
        return text
    body = text[fence.end() : -len(fence[1])].removesuffix("\n")
    return text if fence[1] in body else body


def json_block(value: Json, escaper: Escaper) -> Code:
    return Code(escaper.code(pretty_json(value)), "json")


def _blocks(block: Content, escaper: Escaper) -> Iterator[Block]:
    match block:
        case Text(text):
            yield from code_block(text, escaper)
        case Image() | Audio():
            yield _media(block, escaper)
        case ResourceLink():
            yield _link(block, escaper)
        case Resource():
            yield _resource(block, escaper)
        case Diff():
            yield from _diff(block, escaper)
        case Terminal():
            yield Line("Terminal:", "its output is not known here")
        case KernelRun():
            yield from run_blocks(block, escaper, _media)
        case UnknownContent(raw):
            yield Fold("Unknown content", (json_block(raw, escaper),))


def _media(block: Image | Audio, escaper: Escaper) -> Block:
    data = "".join(block.data.split())
    note = _data_note(block.type, block.mime_type, data, escaper)
    mime_type = block.mime_type.strip().lower()
    allowed = IMAGE_TYPES if isinstance(block, Image) else AUDIO_TYPES
    if mime_type in allowed and is_base64(data):
        return Media(mime_type, data, note)
    return Line("", note)


def _data_note(what: str, mime_type: str | None, data: str, escaper: Escaper) -> str:
    count = len(data) * 3 // 4 - data[-2:].count("=")
    kind = f"{escaper.line(mime_type)}, " if mime_type else ""
    return f"{what} ({kind}{size(max(count, 0))})"


def is_base64(data: str) -> bool:
    return len(data) % 4 == 0 and _BASE64.fullmatch(data) is not None


def _link(block: ResourceLink, escaper: Escaper) -> Link:
    uri = escaper.path(block.uri)
    label = escaper.line(block.title or block.name) or uri
    notes = [escaper.line(block.description or ""), escaper.line(block.mime_type or "")]
    if isinstance(block.size, int):
        notes.append(size(block.size))
    return Link(uri, label, ", ".join(note for note in notes if note))


def _resource(block: Resource, escaper: Escaper) -> Block:
    name = escaper.path(block.uri)
    if block.text is None:
        note = _data_note("data", block.mime_type, block.blob or "", escaper)
        return Line("Resource", f"{name}, {note}")
    text = escaper.code(block.text).rstrip("\n")
    return Fold(f"Resource {name}", (Code(text),) if text.strip() else ())


def _diff(block: Diff, escaper: Escaper) -> Iterator[Block]:
    old, new = _same_newlines(block.old_text, block.new_text)
    lines = unified_diff(None if old is None else escaper.exact(old), escaper.exact(new))
    if old is None or old.endswith("\n") == new.endswith("\n"):
        # Agents send parts of files, too: only a changed end is worth a line.
        lines = [line for line in lines if line != NO_NEWLINE]
    label = "New file" if old is None else CHANGED if lines else "Unchanged"
    yield Line(label, escaper.path(block.path))
    if lines:
        yield Code(bounded(lines, DIFF_LINES), "diff")


def _same_newlines(old: str | None, new: str) -> tuple[str | None, str]:
    # Hide CRLF line ends in a file that keeps them, but show them in a file whose line ends change.
    if "\r\n" in new and (old is None or "\r\n" in old):
        return old and old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    return old, new
