"""Write blocks as markdown without any HTML: quotes, code blocks, lists.

Foreign markdown goes through `markdown_safety`; everything else is escaped or put into code blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..escaping import Escaper
from ..snapshot import Item
from .blocks import Block, Check, Checklist, Code, Fold, Line, Link, Media, Prose, Quote, Tool
from .links import is_link
from .markdown_safety import confined, fenced
from .outline import outline

IMAGE_CHARS = 100_000
"""The largest image that is embedded in the text: larger ones make editors and diffs of the file slow."""

_SPECIAL = re.compile(r"[\\`*_\[\]<>&!|~#$]")
_LEADING = re.compile(r"^(?P<number>\d*)(?P<sign>[-+=.)])")
_TICKS = re.compile(r"`+")


def to_markdown(items: Sequence[Item], *, cwd: str | None = None, title: str | None = None) -> str:
    """Export the items as a markdown document."""
    escaper = Escaper(cwd)
    head = [f"# {_plain(escaper.line(title))}"] if title else []
    return "\n\n".join([*head, *map(_markup, outline(items, escaper))]) + "\n"


def _joined(blocks: Iterable[Block]) -> str:
    return "\n\n".join(map(_markup, blocks))


def _markup(block: Block) -> str:
    match block:
        case Prose(text):
            return confined(text.strip("\n"))
        case Line(label, text):
            return labelled(label, text)
        case Code(text, language):
            return fenced(text, language)
        case Link():
            return _link(block)
        case Media():
            return _media(block)
        case Checklist(checks):
            return "\n".join(map(_check, checks))
        case Quote(label, blocks):
            return _quoted(f"**{_plain(label)}**", _joined(blocks) or "(empty)")
        case Fold(label, blocks):
            return _quoted(f"*{_plain(label)}*", _joined(blocks))
        case Tool():
            return "\n\n".join(part for part in (_tool_head(block), _joined(block.blocks)) if part)


def _plain(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)


def labelled(label: str, text: str) -> str:
    """A line of plain text with an optional label."""
    strong = f"**{_plain(label)}**" if label else ""
    body = _plain(text.strip())
    # A text without a label must not begin a list or underline a heading.
    return f"{strong} {body}".rstrip() if label else _LEADING.sub(r"\g<number>\\\g<sign>", body)


def code_span(text: str) -> str:
    """One line as code."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{ticks}{pad}{text or ' '}{pad}{ticks}"


def _quoted(head: str, body: str) -> str:
    text = f"{head}\n\n{body}" if body else head
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def _tool_head(tool: Tool) -> str:
    title = code_span(tool.title) if tool.code else f"**{_plain(tool.title)}**"
    return f"{tool.mark} {title}" + (f" — {_plain(tool.note)}" if tool.note else "")


def _link(link: Link) -> str:
    if is_link(link.uri):
        shown = f"[{_plain(link.label)}](<{link.uri}>)"
    else:
        shown = (
            code_span(link.uri) if link.uri == link.label else f"{_plain(link.label)} {code_span(link.uri)}"
        )
    return shown + (f" ({_plain(link.note)})" if link.note else "")


def _media(media: Media) -> str:
    if media.is_image and len(media.data) < IMAGE_CHARS:
        return f"![{_plain(media.note)}]({media.uri})"
    return _plain(media.note)


def _check(check: Check) -> str:
    mark = "x" if check.status == "completed" else " "
    return f"- [{mark}] {_plain(check.text)}"
