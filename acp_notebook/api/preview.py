"""Preview: what a prompt would send, block by block, with sizes. Sends nothing."""

from __future__ import annotations

from html import escape
from typing import Any

from ..core.prompt import sent_bytes
from ..core.records import Audio, Content, Image, Resource, ResourceLink, Text
from ..core.tables import html_table, text_table

HEAD = ("#", "what", "type", "size", "begins")

SHOWN_CHARS = 60
"""The most characters of a block to show in the table."""

RASTER = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Image types that cannot contain a script."""


class Preview:
    """The content of a prompt; its repr is a table of the blocks."""

    def __init__(self, content: tuple[Content, ...], notes: tuple[str, ...] = ()) -> None:
        self.content = content
        """What would be sent, in order."""
        self.notes = notes
        """What was changed because this agent does not accept it."""

    @property
    def size(self) -> int:
        """The bytes of text and data that would be sent."""
        return sum(map(sent_bytes, self.content))

    def __repr__(self) -> str:
        return "\n".join([text_table(HEAD, self._rows()), self._total(), *(f"! {it}" for it in self.notes)])

    def _repr_html_(self) -> str:
        blocks = "".join(
            f"<details><summary>{at}: {escape(_name(block))}</summary>{_full_html(block)}</details>"
            for at, block in enumerate(self.content, 1)
        )
        notes = "".join(f"<p>⚠ {escape(it)}</p>" for it in self.notes)
        return f"{html_table(HEAD, self._rows())}<p>{self._total()}</p>{notes}{blocks}"

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (str(at), _name(block), _type(block), _sizes(block), _text(block)[:SHOWN_CHARS])
            for at, block in enumerate(self.content, 1)
        ]

    def _total(self) -> str:
        count = len(self.content)
        return f"{count} block{'s' * (count != 1)}, {_bytes(self.size)}; nothing has been sent"


def _name(block: Content) -> str:
    match block:
        case Resource(uri=uri) | ResourceLink(uri=uri):
            return f"{block.type.replace('_', ' ')} {uri}"
    return block.type


def _type(block: Any) -> str:
    return getattr(block, "mime_type", None) or ""


def _text(block: Content) -> str:
    match block:
        case Text(text=text) | Resource(text=str(text)):
            return text
        case ResourceLink(name=name):
            return name
    return ""


def _sizes(block: Content) -> str:
    """The size of a block; for a link, also of its target."""
    target = block.size if isinstance(block, ResourceLink) else None
    return _bytes(sent_bytes(block)) + ("" if target is None else f", to {_bytes(target)}")


def _bytes(count: int) -> str:
    return f"{count:,} byte{'s' * (count != 1)}"


def _full_html(block: Content) -> str:
    match block:
        case Image(data=data, mime_type=kind) if kind in RASTER:
            return f'<img style="max-width: 100%" src="data:{kind};base64,{escape(data)}">'
        case Image() | Audio() | Resource(text=None):
            return f"<p>{_bytes(sent_bytes(block))} of base64</p>"
        case ResourceLink(uri=uri):
            return f"<pre>{escape(uri)}</pre>"
    return f"<pre>{escape(_text(block))}</pre>"
