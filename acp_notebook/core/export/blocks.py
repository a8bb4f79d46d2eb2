"""The blocks of a document: the step between the items of a snapshot and the three writers.

Independent of items and markup. `escaping` has made every string here readable, but none is escaped for a
markup language: each writer does that.
"""

from __future__ import annotations

from msgspec import Struct


class Prose(Struct, frozen=True):
    """Markdown from the agent or the user. With `breaks`, every line end is a line break."""

    text: str
    breaks: bool = False


class Line(Struct, frozen=True):
    """One line that we write: a label and a text."""

    label: str
    text: str = ""


class Code(Struct, frozen=True):
    """Text to show verbatim. `language` is "", "diff", "json" or "python"."""

    text: str
    language: str = ""


class Link(Struct, frozen=True):
    """A resource. `note` says more about it."""

    uri: str
    label: str
    note: str = ""


class Media(Struct, frozen=True):
    """An image or audio that is safe to show: an allowed `mime_type`, and `data` in valid base64."""

    mime_type: str
    data: str
    note: str

    @property
    def uri(self) -> str:
        return f"data:{self.mime_type};base64,{self.data}"

    @property
    def is_image(self) -> bool:
        return self.mime_type.startswith("image/")


class Check(Struct, frozen=True):
    """A step of a plan."""

    status: str
    text: str


class Checklist(Struct, frozen=True):
    checks: tuple[Check, ...]


class Quote(Struct, frozen=True):
    """A message from somebody other than the agent."""

    label: str
    blocks: tuple[Block, ...]


class Fold(Struct, frozen=True):
    """A collapsed section. `quiet`: the agent's thoughts."""

    label: str
    blocks: tuple[Block, ...]
    quiet: bool = False


class Tool(Struct, frozen=True):
    """A tool call. `note` says what its mark does not: that it failed, who allowed it."""

    title: str
    status: str
    note: str
    blocks: tuple[Block, ...]
    open: bool = False
    """Shown expanded."""
    code: bool = False
    """The title is a command."""

    @property
    def mark(self) -> str:
        return TOOL_MARKS.get(self.status, "·")


TOOL_MARKS = {
    "completed": "✓",
    "failed": "✕",
    "rejected": "⊘",
    "cancelled": "⊘",
    "unfinished": "…",
    "pending": "○",
    "in_progress": "◐",
}
"""The same as in the page (js/src/view/tool_status.tsx)."""

Block = Prose | Line | Code | Link | Media | Checklist | Quote | Fold | Tool
