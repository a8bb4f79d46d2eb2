"""A transcript as the user reads it: immutable records, safe to keep and to use from any thread.

Knows only the shape of the state that `Transcript` keeps; changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .actions import Action, action_from_plain
from .changes import AlsoChanged, FileChange, Hunk
from .forms import Field
from .records import (
    Answer,
    Choice,
    Command,
    ConfigOption,
    Content,
    Cost,
    Diff,
    Json,
    Location,
    Mode,
    Offer,
    Option,
    PlanEntry,
    SignIn,
    SignInMethod,
    Text,
    TokenUsage,
    Usage,
    content_from_plain,
    is_for_model_only,
)


def text_of(content: tuple[Content, ...]) -> str:
    """The text among the content, joined."""
    return "".join(block.text for block in content if isinstance(block, Text))


@dataclass(frozen=True, slots=True)
class TurnStart:
    """A turn as an item: the prompt, and how it went. `turn` is its own key."""

    key: str
    turn: str
    number: int
    status: str
    """running, done, failed, abandoned; history for what a loaded session tells."""
    prompt: tuple[Content, ...]
    cancelling: bool = False
    stop_reason: str | None = None
    error: str | None = None
    usage: TokenUsage | None = None
    raw: tuple[Json, ...] = ()
    limit: str | None = None
    """The limit of the user's that it went beyond, and was cancelled for."""
    rate_limit: Json = None
    """What the agent says of its rate limit: `reason`, and `wait` in seconds."""
    id: str = ""
    """What the client calls it: "t1", "t2", …; "h1", … for history."""

    @property
    def text(self) -> str:
        return text_of(self.prompt)


@dataclass(frozen=True, slots=True)
class Message:
    key: str
    turn: str | None
    role: str
    """agent, thought, or user (a user's message in the middle of a turn)."""
    content: tuple[Content, ...]
    raw: tuple[Json, ...] = field(default=(), repr=False)

    @property
    def text(self) -> str:
        """What it says to the user: content that is for the model only is left out."""
        return text_of(tuple(block for block in self.content if not is_for_model_only(block)))


@dataclass(frozen=True, slots=True)
class ToolCall:
    key: str = field(repr=False)
    turn: str | None = field(repr=False)
    id: str
    title: str
    kind: str
    status: str
    """pending, in_progress, completed, failed; ours: rejected, cancelled, unfinished, and allowed: the agent
    asked, and said nothing more about it."""
    content: tuple[Content, ...] = field(default=(), repr=False)
    locations: tuple[Location, ...] = ()
    raw_input: Json = field(default=None, repr=False)
    raw_output: Json = field(default=None, repr=False)
    name: str | None = None
    meta: Json = field(default=None, repr=False)
    raw: tuple[Json, ...] = field(default=(), repr=False)
    unprompted: bool = False
    """Done, or asked of us, without a question to the user before."""
    command: str | None = field(default=None, repr=False)
    """The shell line that its raw input names."""

    @property
    def diffs(self) -> tuple[Diff, ...]:
        return tuple(block for block in self.content if isinstance(block, Diff))

    @property
    def text(self) -> str:
        return text_of(self.content)


@dataclass(frozen=True, slots=True)
class Plan:
    key: str = field(repr=False)
    turn: str | None = field(repr=False)
    entries: tuple[PlanEntry, ...] = ()
    id: str | None = None
    text: str | None = None
    uri: str | None = None
    raw: tuple[Json, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Question:
    """A permission question: `tool` is the key of the tool call it is about."""

    key: str = field(repr=False)
    turn: str | None = field(repr=False)
    id: str
    tool: str | None
    options: tuple[Option, ...]
    status: str
    """open, answered, cancelled."""
    answer: str | None = None
    by: str | None = None
    reason: str | None = None
    raw: tuple[Json, ...] = field(default=(), repr=False)
    offers: tuple[Offer, ...] = ()
    """What we add to the agent's options: allow it, and remember that."""
    actions: tuple[Action, ...] = ()
    """What an allow covers; without texts once it is settled."""
    answers: tuple[Answer, ...] = ()
    """What it can be answered with, in a fixed order, while it is open."""
    chosen: str | None = None
    """The name of the answer that was given; what older versions kept has none."""

    @property
    def answer_name(self) -> str | None:
        named: tuple[Option | Offer, ...] = (*self.options, *self.offers)
        return self.chosen or next((it.name for it in named if it.id == self.answer), None)


@dataclass(frozen=True, slots=True)
class Elicitation:
    """A form to fill in, or an address to open: what the agent asked, and what came of it."""

    key: str = field(repr=False)
    turn: str | None = field(repr=False)
    id: str
    mode: str
    message: str
    status: str
    """open, accepted, declined, cancelled."""
    fields: tuple[Field, ...] = ()
    url: str | None = None
    host: str | None = None
    title: str | None = None
    description: str | None = None
    tool: str | None = None
    problem: str | None = None
    by: str | None = None
    reason: str | None = None
    values: Mapping[str, Json] = field(default_factory=dict)
    """What was filled in; secrets are hidden."""
    completed: bool = False
    raw: tuple[Json, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class TerminalRun:
    """A command that was run for the agent, with the newest part of its output."""

    key: str = field(repr=False)
    turn: str | None = field(repr=False)
    id: str
    command: str = ""
    cwd: str | None = None
    status: str = "running"
    """running, exited, killed."""
    output: str = field(default="", repr=False)
    exit_code: int | None = None
    signal: str | None = None
    dropped: int = 0
    """Characters of output that are not here."""
    released: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    key: str = field(repr=False)
    turn: str | None = field(repr=False)
    severity: str
    title: str
    description: str | None = None
    source: str = "agent"
    raw: tuple[Json, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Compaction:
    key: str = field(repr=False)
    turn: str | None = field(repr=False)
    id: str
    status: str
    summary: tuple[Content, ...] = ()
    error: str | None = None
    raw: tuple[Json, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Changes:
    """The files that a turn changed, and what of them is not covered (`notes`)."""

    key: str = field(repr=False)
    turn: str | None = field(repr=False)
    files: tuple[FileChange, ...] = ()
    notes: tuple[str, ...] = ()
    also: tuple[AlsoChanged, ...] = ()
    """What else changed during the turn."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A message that we do not know, as it came."""

    key: str = field(repr=False)
    turn: str | None = field(repr=False)
    what: str
    content: Json


Item = (
    TurnStart
    | Message
    | ToolCall
    | Plan
    | Question
    | Elicitation
    | TerminalRun
    | Notice
    | Compaction
    | Changes
    | Unknown
)


@dataclass(frozen=True, slots=True)
class AgentInfo:
    name: str
    title: str | None = None
    version: str | None = None
    cwd: str | None = None
    offers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A whole conversation at one moment."""

    items: tuple[Item, ...]
    version: int
    status: str = "starting"
    detail: str | None = None
    agent: AgentInfo | None = None
    title: str | None = None
    updated_at: str | None = None
    mode: str | None = None
    modes: tuple[Mode, ...] = ()
    config: tuple[ConfigOption, ...] = ()
    commands: tuple[Command, ...] = ()
    usage: Usage | None = None
    sign_in: SignIn | None = None
    """What the agent wants before it goes on."""
    ways: tuple[str, ...] = ()
    """What leads on where the session is lost: "load", "new"."""

    @property
    def mode_option(self) -> ConfigOption | None:
        """Where an agent has config options, its modes are one of them."""
        return next((it for it in self.config if it.category == "mode" and it.type == "select"), None)

    def __repr__(self) -> str:
        turns = sum(isinstance(item, TurnStart) for item in self.items)
        return f"<Snapshot: {turns} turns, {len(self.items)} items, {self.status}>"


def _contents(blocks: list[Json]) -> tuple[Content, ...]:
    return tuple(content_from_plain(block) for block in blocks)


def _records(cls: Callable[..., Any]) -> Callable[[list[Json]], tuple[Any, ...]]:
    return lambda values: tuple(cls(**value) for value in values)


def _files(values: list[Json]) -> tuple[FileChange, ...]:
    return tuple(FileChange(**{**value, "hunks": tuple(map(_hunk, value["hunks"]))}) for value in values)


def _hunk(value: dict[str, Json]) -> Hunk:
    return Hunk(**{**value, "lines": tuple(value["lines"])})


def _form_field(choices: list[Json] = [], **fields: Any) -> Field:  # noqa: B006
    return Field(choices=tuple(Choice(**choice) for choice in choices), **fields)


_READ: dict[str, Callable[[Any], Any]] = {
    "prompt": _contents,
    "summary": _contents,
    "raw": tuple,
    "locations": _records(Location),
    "entries": _records(PlanEntry),
    "options": _records(Option),
    "offers": _records(Offer),
    "answers": _records(Answer),
    "actions": lambda values: tuple(map(action_from_plain, values)),
    "files": _files,
    "notes": tuple,
    "also": lambda groups: tuple(AlsoChanged(**{**it, "files": _files(it["files"])}) for it in groups),
    "fields": lambda fields: tuple(_form_field(**field) for field in fields),
}
"""How a field of an item is read; a field that is not here is taken as it is."""

_ITEM_TYPES: dict[str, Callable[..., Item]] = {
    "turn": lambda usage=None, **fields: TurnStart(usage=usage and TokenUsage(**usage), **fields),
    "message": lambda content, **fields: Message(content=_contents(content), **fields),
    "tool": lambda content, **fields: ToolCall(content=_contents(content), **fields),
    "plan": Plan,
    "question": Question,
    "elicitation": Elicitation,
    "terminal": TerminalRun,
    "notice": Notice,
    "compaction": Compaction,
    "changes": Changes,
    "unknown": Unknown,
}


def item_from_plain(item: Mapping[str, Json]) -> Item:
    """An item of the state, read into its record."""
    fields = {name: _READ[name](value) if name in _READ else value for name, value in item.items()}
    return _ITEM_TYPES[fields.pop("type")](**fields)


def _usage(value: dict[str, Json]) -> Usage:
    cost = value.get("cost")
    return Usage(value.get("used"), value.get("size"), Cost(**cost) if cost else None)


def _config(options: list[Json]) -> tuple[ConfigOption, ...]:
    read_choices = _records(Choice)
    return tuple(ConfigOption(**{**option, "choices": read_choices(option["choices"])}) for option in options)


def _sign_in(value: dict[str, Json] | None) -> SignIn | None:
    if value is None:
        return None
    return SignIn(**{**value, "methods": _records(SignInMethod)(value["methods"])})


_READ_SESSION: dict[str, Callable[[Any], Any]] = {
    "agent": lambda value: AgentInfo(**{**value, "offers": tuple(value.get("offers", ()))}),
    "sign_in": _sign_in,
    "ways": tuple,
    "modes": _records(Mode),
    "config": _config,
    "commands": _records(Command),
    "usage": _usage,
}


def snapshot_from(session: Mapping[str, Json], items: tuple[Item, ...], version: int) -> Snapshot:
    """A snapshot of the header and the items."""
    fields = {
        name: _READ_SESSION[name](value) if name in _READ_SESSION else value
        for name, value in session.items()
        if name not in ("key", "raw")
    }
    return Snapshot(items, version, **fields)
