"""The blocks of a document: the step between the items of a snapshot and the three writers.

Independent of items and markup. `escaping` has made every string here readable, but none is escaped for a
markup language: each writer does that.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prose:
    """Markdown from the agent or the user. With `breaks`, every line end is a line break."""

    text: str
    breaks: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One line that we write: a label and a text."""

    label: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    """Text to show verbatim. `language` is "", "diff", "json" or "python"."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A resource. `note` says more about it."""

    uri: str
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Media:
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


@dataclass(frozen=True, slots=True)
class Check:
    """A step of a plan."""

    status: str
    text: str


@dataclass(frozen=True, slots=True)
class Checklist:
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Quote:
    """A message from somebody other than the agent."""

    label: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """A collapsed section. `quiet`: the agent's thoughts."""

    label: str
    blocks: tuple[Block, ...]
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
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
