"""The small frozen records that events carry and snapshots show: content, locations, options.

Knows no protocol field names (`wire.v1` translates) and no state. `plain` turns a record into JSON
types and `content_from_plain` turns content back; the browser reads the same keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from msgspec import Struct

Json = Any
"""Plain JSON types: None, bool, int, float, str, list, dict with string keys."""


class Text(Struct, frozen=True):
    text: str
    annotations: Mapping[str, Json] | None = None
    type: ClassVar[str] = "text"


class Image(Struct, frozen=True):
    data: str
    """Base64."""
    mime_type: str
    uri: str | None = None
    annotations: Mapping[str, Json] | None = None
    type: ClassVar[str] = "image"


class Audio(Struct, frozen=True):
    data: str
    """Base64."""
    mime_type: str
    annotations: Mapping[str, Json] | None = None
    type: ClassVar[str] = "audio"


class ResourceLink(Struct, frozen=True):
    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    annotations: Mapping[str, Json] | None = None
    type: ClassVar[str] = "resource_link"


class Resource(Struct, frozen=True):
    """A resource with its contents: `text`, or `blob` (base64)."""

    uri: str
    text: str | None = None
    blob: str | None = None
    mime_type: str | None = None
    annotations: Mapping[str, Json] | None = None
    type: ClassVar[str] = "resource"


class Diff(Struct, frozen=True):
    path: str
    new_text: str
    old_text: str | None = None
    """None for a new file."""
    type: ClassVar[str] = "diff"


class Terminal(Struct, frozen=True):
    terminal_id: str
    type: ClassVar[str] = "terminal"


class UnknownContent(Struct, frozen=True):
    """Content of a type that we do not know: kept as it came, shown plainly."""

    raw: Json = None
    type: ClassVar[str] = "unknown"


Content = Text | Image | Audio | ResourceLink | Resource | Diff | Terminal | UnknownContent


def is_for_model_only(block: Content) -> bool:
    """Whether its annotations name the assistant as the only audience: it is no answer to the user."""
    annotations = getattr(block, "annotations", None) or {}
    return annotations.get("audience") == ["assistant"]


class Location(Struct, frozen=True):
    path: str
    line: int | None = None
    cell: str | None = None
    """Of a notebook: the id of the cell that the line belongs to, where we know it."""


class PlanEntry(Struct, frozen=True):
    content: str
    priority: str = "medium"
    status: str = "pending"


class Option(Struct, frozen=True):
    """One answer to a permission question. An unknown `kind` is shown, and never taken for an allow."""

    id: str
    name: str
    kind: str


class Offer(Struct, frozen=True):
    """An answer that we add to a question: allow it, and remember that for a scope."""

    id: str
    name: str
    scope: str


class Answer(Struct, frozen=True):
    """A way to answer a permission question, with what it means and the key that gives it."""

    id: str
    """Of an option or an offer."""
    name: str
    meaning: str
    """allow_once, allow_session, allow_always, reject; agent_always: remembered by the agent; other."""
    key: str | None = None
    note: str | None = None


class Command(Struct, frozen=True):
    """A slash command of the agent's."""

    name: str
    description: str
    hint: str | None = None


class Mode(Struct, frozen=True):
    id: str
    name: str
    description: str | None = None


class Choice(Struct, frozen=True):
    """A value that a config option can take; `group` is the heading it stands under."""

    value: str
    name: str
    description: str | None = None
    group: str | None = None


class ConfigOption(Struct, frozen=True):
    id: str
    name: str
    type: str
    """"select" or "boolean"."""
    value: str | bool
    choices: tuple[Choice, ...] = ()
    description: str | None = None
    category: str | None = None
    set_by: str | None = None
    """"model": by the method that agents had for it before there were options."""

    @property
    def values(self) -> tuple[str | bool, ...]:
        """What it can be set to."""
        return (True, False) if self.type == "boolean" else tuple(choice.value for choice in self.choices)

    def takes(self, value: str | bool) -> bool:
        return value in self.values and isinstance(value, bool) == (self.type == "boolean")  # 1 == True


class SignInMethod(Struct, frozen=True):
    """A way to sign in. `command`: what to run in a terminal, for the one that is done there."""

    id: str
    name: str
    description: str | None = None
    type: str = "agent"
    command: str | None = None
    """As people read it, … """
    run: str | None = None
    """… and as it is run: the same command, with the agent's folder and environment."""


class SignIn(Struct, frozen=True):
    """The agent wants a sign-in before it goes on."""

    methods: tuple[SignInMethod, ...]
    trying: str | None = None
    """The method that is under way."""
    error: str | None = None
    """Why the last try failed."""


class Cost(Struct, frozen=True):
    amount: float
    currency: str


class Usage(Struct, frozen=True):
    """How full the session's context is, and what the session has cost so far."""

    used: int | None
    size: int | None
    cost: Cost | None = None


class TokenUsage(Struct, frozen=True):
    """The tokens of one turn, where the agent tells."""

    total: int | None = None
    input: int | None = None
    output: int | None = None
    thought: int | None = None
    cached_read: int | None = None
    cached_write: int | None = None


_CONTENT_TYPES: dict[str, type[Content]] = {
    cls.type: cls for cls in (Text, Image, Audio, ResourceLink, Resource, Diff, Terminal, UnknownContent)
}


def plain(value: Any) -> Json:
    """A record, or a tuple of them, as JSON types: None fields left out, content tagged with its type."""
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if not isinstance(value, Struct):
        return value
    cls: Any = type(value)
    tag = getattr(cls, "type", None)
    result: dict[str, Json] = {"type": tag} if isinstance(tag, str) else {}
    for name in cls.__struct_fields__:
        item = getattr(value, name)
        if item is not None:
            result[name] = plain(item)
    return result


def content_from_plain(block: Mapping[str, Json]) -> Content:
    """The inverse of `plain` for content; a type that is not ours becomes UnknownContent."""
    tag = block.get("type")
    cls = _CONTENT_TYPES.get(tag) if isinstance(tag, str) else None
    if cls is None:
        return UnknownContent(dict(block))
    return cls(**{name: block[name] for name in cls.__struct_fields__ if name in block})
