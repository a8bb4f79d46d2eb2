"""What a document is made of, between the items of a snapshot and the three ways to write them.

Knows no items and no markup. Every string here is readable text (`escaping` has made it so) and none is
escaped: that is each writer's own task.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prose:
    """Markdown that the agent or the user wrote. `breaks`: a line's end is meant as one."""

    text: str
    breaks: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One line of ours: a label, and what it says."""

    label: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    """Text to be shown as it is. `language` is "", "diff" or "json"."""

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
    """An image or a sound that may be shown: `mime_type` is one of ours, `data` is valid base64."""

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
    """A step of a plan; `note` is its status and priority in words."""

    status: str
    text: str
    note: str


@dataclass(frozen=True, slots=True)
class Checklist:
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Quote:
    """What somebody other than the agent says."""

    label: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """Something on the side, closed at first. `quiet`: the agent's thoughts."""

    label: str
    blocks: tuple[Block, ...]
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool call. `open`: what it holds should be seen at once."""

    kind: str
    title: str
    status: str
    blocks: tuple[Block, ...]
    open: bool = False


Block = Prose | Line | Code | Link | Media | Checklist | Quote | Fold | Tool
