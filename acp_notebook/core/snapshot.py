"""Snapshots: a transcript as immutable records, safe to keep and to use from any thread.

These classes define the shape of the state that `Transcript` keeps: `item_from_plain` converts an item of
the state to its record, and `js/src/types.ts` is generated from them.
"""

# No `from __future__ import annotations`: msgspec takes twice as long to read annotations that are text.

from collections.abc import Mapping
from typing import ClassVar, NotRequired, TypedDict

import msgspec

from .actions import Action, action_from_plain
from .changes import AlsoChanged, FileChange
from .forms import Field
from .origin import Origin
from .records import (
    Answer,
    AskedBy,
    Command,
    ConfigOption,
    Content,
    Cost,
    Diff,
    Json,
    Location,
    Meta,
    Mode,
    Offer,
    Option,
    PlanEntry,
    Record,
    SignIn,
    Tagged,
    Text,
    TokenUsage,
    Usage,
    build,
    by_tag,
    content_from_plain,
    is_for_model_only,
    written,
)


def text_of(content: tuple[Content, ...]) -> str:
    """Join the text blocks of the content."""
    return "".join(block.text for block in content if isinstance(block, Text))


class _Item(Tagged, frozen=True):
    """The base of items. `turn` is the key of the turn that the item belongs to; None before the first.

    `meta` is what the agent added to it (`_meta`), or None; of several messages, the newest value of a key.
    """

    key: str
    turn: str | None
    _hidden: ClassVar[tuple[str, ...]] = ("key", "turn", "raw")

    def __repr__(self) -> str:
        hidden = (*self._hidden, "meta")
        shown = (name for name in self.__struct_fields__ if name not in hidden)
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    @property
    def meta(self) -> Meta | None:
        """None for items that are not the agent's."""
        return None


class RateLimit(TypedDict):
    """The agent hit a rate limit. `until`: when a retry is possible, in seconds since 1970."""

    reason: str
    wait: NotRequired[float]
    until: NotRequired[float]
    attempt: int
    """`attempt` of `of` retries will follow; 0: there is no retry."""
    of: int


class TurnStart(_Item, frozen=True, tag="turn"):
    """A turn as an item: its prompt and its status. `turn` is its own key."""

    turn: str
    number: int
    status: str
    """running, done, failed, abandoned; history if it was replayed by a loaded session."""
    prompt: tuple[Content, ...]
    cancelling: bool = False
    stop_reason: str | None = None
    error: str | None = None
    usage: TokenUsage | None = None
    raw: tuple[Json, ...] = ()
    limit: str | None = None
    """The user's limit that it exceeded, which cancelled it."""
    rate_limit: RateLimit | None = None
    """What the agent reports about its rate limit: `reason`, and `wait` in seconds."""
    id: str = ""
    """The client's id for it: "t1", "t2", …; "h1", … for history, and "r2", … after it."""
    meta: Meta | None = None
    asked_by: AskedBy | None = None
    """The session whose agent asked for it; None: the user did."""
    person: str | None = None
    """Which of several users sent it from the panel, as the page claims."""
    stopped_by: str | None = None
    """Which of several users stopped it, as the page claims."""
    seconds: float | None = None
    """How long it ran; not in files, because it differs from run to run."""
    cost: Cost | None = None
    """What it cost, if the agent reports the costs of its session."""
    _hidden = ("seconds",)
    _nullable = ("rate_limit",)

    @property
    def text(self) -> str:
        return text_of(self.prompt)


class Message(_Item, frozen=True, tag="message"):
    role: str
    """agent, thought, or user (a user's message in the middle of a turn)."""
    content: tuple[Content, ...]
    raw: tuple[Json, ...] = ()
    meta: Meta | None = None
    _hidden = ("raw",)

    @property
    def text(self) -> str:
        """The text for the user, without content that is for the model only."""
        return text_of(tuple(block for block in self.content if not is_for_model_only(block)))


class ToolCall(_Item, frozen=True, tag="tool"):
    id: str
    title: str
    kind: str
    status: str
    """pending, in_progress, completed, failed; set by the client: rejected, cancelled, unfinished, allowed
    (the agent asked, and reported nothing more)."""
    content: tuple[Content, ...] = written(())
    locations: tuple[Location, ...] = written(())
    raw_input: Json = None
    raw_output: Json = None
    name: str | None = None
    meta: Meta | None = None
    raw: tuple[Json, ...] = ()
    unprompted: bool = False
    """The agent did it, or asked us to do it, without asking the user first."""
    command: str | None = None
    """The shell line in its raw input."""
    _hidden = ("key", "turn", "content", "raw_input", "raw_output", "raw", "command")
    _nullable = ("command",)

    @property
    def diffs(self) -> tuple[Diff, ...]:
        return tuple(block for block in self.content if isinstance(block, Diff))

    @property
    def text(self) -> str:
        return text_of(self.content)


class Plan(_Item, frozen=True, tag="plan"):
    entries: tuple[PlanEntry, ...] = ()
    id: str | None = None
    text: str | None = None
    uri: str | None = None
    raw: tuple[Json, ...] = ()
    meta: Meta | None = None
    _nullable = ("text", "uri")


class Question(_Item, frozen=True, tag="question"):
    """A permission question: `tool` is the key of the tool call it is about."""

    id: str
    tool: str | None
    options: tuple[Option, ...]
    status: str
    """open, answered, cancelled."""
    answer: str | None = None
    by: str | None = None
    reason: str | None = None
    raw: tuple[Json, ...] = ()
    offers: tuple[Offer, ...] = ()
    """Answers that we add to the agent's options: allow, and remember it."""
    actions: tuple[Action, ...] = ()
    """What an allow covers; without texts once the question is settled."""
    answers: tuple[Answer, ...] = ()
    """The possible answers in a fixed order, while the question is open."""
    chosen: str | None = None
    """The name of the given answer; missing in files of older versions."""
    meta: Meta | None = None
    who: str | None = None
    """Who asks, if another session asked for the turn: "kimi asks, for claude"."""
    person: str | None = None
    """Which of several users answered, as the page claims."""

    @property
    def answer_name(self) -> str | None:
        named: tuple[Option | Offer, ...] = (*self.options, *self.offers)
        return self.chosen or next((it.name for it in named if it.id == self.answer), None)


class Elicitation(_Item, frozen=True, tag="elicitation"):
    """A form to fill in or an address to open, and the user's answer."""

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
    values: Mapping[str, Json] = {}
    """What the user filled in; secrets are hidden."""
    completed: bool = False
    raw: tuple[Json, ...] = ()
    meta: Meta | None = None
    who: str | None = None
    """Who asks, as in `Question`."""
    person: str | None = None
    """Which of several users answered, as the page claims."""


class TerminalRun(_Item, frozen=True, tag="terminal"):
    """A command that we ran for the agent, with the newest part of its output."""

    id: str
    command: str = ""
    cwd: str | None = None
    status: str = written("running")
    """running, exited, killed."""
    output: str = written("")
    exit_code: int | None = None
    signal: str | None = None
    dropped: int = 0
    """How many characters of output are missing."""
    released: bool = False
    _hidden = ("key", "turn", "output")


class Notice(_Item, frozen=True, tag="notice"):
    severity: str
    title: str
    description: str | None = None
    source: str = written("agent")
    raw: tuple[Json, ...] = ()
    meta: Meta | None = None


class Compaction(_Item, frozen=True, tag="compaction"):
    id: str
    status: str
    summary: tuple[Content, ...] = written(())
    error: str | None = None
    raw: tuple[Json, ...] = ()
    meta: Meta | None = None


class Changes(_Item, frozen=True, tag="changes"):
    """The files that a turn changed. `notes` say what is not covered."""

    files: tuple[FileChange, ...] = written(())
    notes: tuple[str, ...] = written(())
    also: tuple[AlsoChanged, ...] = ()
    """What else changed during the turn."""


class Unknown(_Item, frozen=True, tag="unknown"):
    """A message that we do not know, as received."""

    what: str
    content: Json

    @property
    def meta(self) -> Meta | None:
        """The `_meta` in its content."""
        found = self.content.get("_meta") if isinstance(self.content, Mapping) else None
        return found if isinstance(found, Mapping) else None


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


class AgentInfo(Record, frozen=True):
    name: str
    title: str | None = None
    version: str | None = None
    cwd: str | None = None
    offers: tuple[str, ...] = ()


class Header(Record, frozen=True, kw_only=True, tag_field="key", tag="session"):
    """What is known about the session apart from its items."""

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
    """The sign-in that the agent requires before it continues."""
    ways: tuple[str, ...] = ()
    """How to continue a lost session: "load", "new"."""
    kernel_tools: bool | None = None
    """Whether the agent can use the kernel's tools; None if the session has none."""
    meta: Meta | None = None
    """What the agent added (`_meta`) to the response that opened the session and to updates about it."""
    _nullable = ("detail", "title", "updated_at", "mode", "sign_in")

    @property
    def mode_option(self) -> ConfigOption | None:
        """The config option for the mode, if the agent has config options."""
        return next((it for it in self.config if it.category == "mode" and it.type == "select"), None)


class Snapshot(Header, frozen=True):
    """A whole conversation at one moment."""

    items: tuple[Item, ...]
    version: int
    origins: tuple[Origin, ...] = ()
    """Of a conversation from a file: the agents and sessions that it comes from, the newest last."""

    def __repr__(self) -> str:
        turns = sum(isinstance(item, TurnStart) for item in self.items)
        return f"<Snapshot: {turns} turns, {len(self.items)} items, {self.status}>"


def item_from_plain(item: Mapping[str, Json]) -> Item:
    """Convert an item of the state to its record; raises KeyError, msgspec.ValidationError."""
    cls = ITEMS[item["type"]]
    if "actions" in item:
        item = {**item, "actions": [action_from_plain(action) for action in item["actions"]]}
    try:
        read: Item = msgspec.convert(item, cls)
    except msgspec.ValidationError:  # perhaps content of a type that a later version added
        known = {
            name: [content_from_plain(block) for block in item[name]] for name in _CONTENT if name in item
        }
        read = msgspec.convert({**item, **known}, cls)
    return read


ITEMS = by_tag(Item)
"""The classes of items by the type in their JSON."""
build(*ITEMS.values(), Snapshot)

_CONTENT = ("content", "prompt", "summary")


def snapshot_from(session: Mapping[str, Json], items: tuple[Item, ...], version: int) -> Snapshot:
    """Build a snapshot from the header and the items."""
    return msgspec.convert({**session, "items": items, "version": version}, Snapshot)
