"""The small frozen records that events carry and snapshots contain: content, locations, options.

Knows no protocol field names (`wire.v1` translates them) and no state. `plain` converts a record to
JSON types, `msgspec.convert` converts it back; `dev.py types` generates `js/src/types.ts` from the same
classes.

The JSON omits a field that has its default value, unless the default is `written`. Fields that can also
be null in the JSON are listed in `_nullable`.
"""

# No `from __future__ import annotations`: msgspec takes twice as long to read annotations that are text.

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar, get_args

import msgspec
from msgspec import Struct

Json = Any
"""Plain JSON types: None, bool, int, float, str, list, dict with string keys."""

Meta = Mapping[str, Json]
"""What one side adds to a message beyond the protocol, in the field `_meta`."""

T = TypeVar("T")


def written(default: T) -> T:
    """Return a field default that is included in the JSON."""
    return msgspec.field(default_factory=lambda: default)


class Record(Struct, frozen=True, omit_defaults=True, gc=False):
    """The base of records that are converted to JSON."""

    _nullable: ClassVar[tuple[str, ...]] = ()
    """Fields that can be cleared: absent from the JSON until they are set, null once cleared."""


class Tagged(Record, frozen=True, tag_field="type"):
    """A record whose JSON includes its type."""

    @property
    def type(self) -> str:
        """The name of the type in the JSON."""
        return str(self.__struct_config__.tag)


class Guarded(Struct, frozen=True):
    """The base of records that do not show some of their fields, mostly because those may hold secrets."""

    _unshown: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({', '.join(shown)})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        shown = (name for name in self.__struct_fields__ if name not in self._unshown)
        return [(name, getattr(self, name)) for name in shown]


class Text(Tagged, frozen=True, tag="text"):
    text: str
    annotations: Mapping[str, Json] | None = None


class Image(Tagged, frozen=True, tag="image"):
    data: str
    """Base64."""
    mime_type: str
    uri: str | None = None
    annotations: Mapping[str, Json] | None = None


class Audio(Tagged, frozen=True, tag="audio"):
    data: str
    """Base64."""
    mime_type: str
    annotations: Mapping[str, Json] | None = None


class ResourceLink(Tagged, frozen=True, tag="resource_link"):
    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    annotations: Mapping[str, Json] | None = None


class Resource(Tagged, frozen=True, tag="resource"):
    """A resource with its contents: `text`, or `blob` (base64)."""

    uri: str
    text: str | None = None
    blob: str | None = None
    mime_type: str | None = None
    annotations: Mapping[str, Json] | None = None


class Diff(Tagged, frozen=True, tag="diff"):
    path: str
    new_text: str
    old_text: str | None = None
    """None for a new file."""


class Terminal(Tagged, frozen=True, tag="terminal"):
    terminal_id: str


class RunStream(Tagged, frozen=True, tag="stream"):
    """What code wrote to stdout or stderr, with ANSI colours."""

    name: str
    text: str


class RunError(Tagged, frozen=True, tag="error"):
    """The error that ended code; the traceback has ANSI colours."""

    name: str
    message: str
    traceback: str


class RunDisplay(Tagged, frozen=True, tag="display"):
    """What code displayed, or its last value: a text, and possibly an image or the cells of a table."""

    text: str
    image: Image | None = None
    table: tuple[tuple[str, ...], ...] | None = None


RunOutput = RunStream | RunError | RunDisplay


class RunCell(Record, frozen=True):
    """A cell of the notebook that was run."""

    id: str
    status: str
    source: str
    execution_count: int | None = None
    outputs: tuple[RunOutput, ...] = written(())


class AskedSession(Record, frozen=True):
    """The session that answers a call of `session.tool(other_session)`, and which of its turns."""

    agent: str
    turn: int | None = None
    """The number of the turn; None while it waits for earlier ones."""
    turn_id: str | None = None
    id: str | None = None
    """Of the session; not in files, because it differs from run to run."""
    model: str | None = None
    """Of its widget, which shows the turn in the page; not in files."""
    asks: bool = False
    """Whether its agent waits for an answer of the user; not in files."""


class AskedBy(Record, frozen=True):
    """The session whose agent asked for a turn of another session: `session.tool(other_session)`."""

    agent: str
    turn: int | None
    """The number of the turn that asked."""
    answerer: str
    """The session that was asked: its agent, and the name of the tool if the user chose one."""
    id: str | None = None
    """Of the session; not in files, because it differs from run to run."""


class KernelRun(Tagged, frozen=True, tag="run"):
    """Code or notebook cells that an agent ran in the kernel, or a function that it called, with outputs."""

    run_id: str
    code: str = written("")
    status: str = written("waiting")
    """waiting (for permission), running, ok, error, interrupted, busy, refused."""
    seconds: float = written(0.0)
    purpose: str | None = None
    outputs: tuple[RunOutput, ...] = written(())
    cells: tuple[RunCell, ...] = written(())
    notes: tuple[str, ...] = written(())
    function: str | None = None
    """The name of the function that was called, instead of code."""
    arguments: tuple[tuple[str, str], ...] = ()
    """Of the function: names and JSON texts."""
    progress: float | None = None
    """What the function reported last, from 0 to 1."""
    progress_text: str | None = None
    session: AskedSession | None = None
    """The session that answers, if the function is another session."""
    after: int | None = None
    """The execution count of the user's last cell that had begun before; None if it is not known."""


class UnknownContent(Tagged, frozen=True, tag="unknown"):
    """Content of a type that we do not know, kept and shown as received."""

    raw: Json = None


Content = Text | Image | Audio | ResourceLink | Resource | Diff | Terminal | KernelRun | UnknownContent


def is_for_model_only(block: Content) -> bool:
    """Whether the annotations name the assistant as the only audience, so that users need not see it."""
    annotations = getattr(block, "annotations", None) or {}
    return annotations.get("audience") == ["assistant"]


class Location(Record, frozen=True):
    path: str
    line: int | None = None
    cell: str | None = None
    """In a notebook, the id of the cell that contains the line, if known."""


class PlanEntry(Record, frozen=True):
    content: str
    priority: str = written("medium")
    status: str = written("pending")


class Option(Record, frozen=True):
    """One of the agent's options of a permission request. An unknown `kind` never counts as an allow."""

    id: str
    name: str
    kind: str


class Offer(Record, frozen=True):
    """An answer that we add to a question: allow, and remember it for a scope."""

    id: str
    name: str
    scope: str


class Answer(Record, frozen=True):
    """A possible answer to a permission question, with its meaning and its shortcut key."""

    id: str
    """The id of an option or an offer."""
    name: str
    meaning: str
    """allow_once, allow_session, allow_always, reject; agent_always: remembered by the agent; other."""
    key: str | None = None
    note: str | None = None


class Command(Record, frozen=True):
    """A slash command that the agent offers."""

    name: str
    description: str
    hint: str | None = None


class Mode(Record, frozen=True):
    id: str
    name: str
    description: str | None = None


class Choice(Record, frozen=True):
    """A value that a config option can take; `group` is the heading that it is listed under."""

    value: str
    name: str
    description: str | None = None
    group: str | None = None


class ConfigOption(Record, frozen=True):
    id: str
    name: str
    type: str
    """"select" or "boolean"."""
    value: str | bool
    choices: tuple[Choice, ...] = written(())
    description: str | None = None
    category: str | None = None
    set_by: str | None = None
    """"model": set with the method that agents had before config options."""

    @property
    def values(self) -> tuple[str | bool, ...]:
        """The values that it accepts."""
        return (True, False) if self.type == "boolean" else tuple(choice.value for choice in self.choices)

    def takes(self, value: str | bool) -> bool:
        return value in self.values and isinstance(value, bool) == (self.type == "boolean")  # 1 == True


class SignInMethod(Record, frozen=True):
    """A way to sign in. `command`: what to run in a terminal, if the sign-in happens there."""

    id: str
    name: str
    description: str | None = None
    type: str = written("agent")
    command: str | None = None
    """The command as shown to the user."""
    run: str | None = None
    """The command as run: with the agent's folder and environment."""


class SignInKey(Record, frozen=True):
    """A key that the user can type; the agent gets it as an environment variable."""

    name: str
    """Of the variable."""
    label: str | None = None
    """What the agent calls it."""


class SignIn(Record, frozen=True):
    """The agent requires a sign-in before it continues."""

    methods: tuple[SignInMethod, ...]
    trying: str | None = None
    """The method in progress, or the name of the key's variable."""
    error: str | None = None
    """Why the last attempt failed."""
    keys: tuple[SignInKey, ...] = ()
    about: str | None = None
    """How this agent identifies its users, if it is known."""


class Cost(Record, frozen=True):
    amount: float
    currency: str


class Usage(Record, frozen=True):
    """How full the session's context is, and what the session has cost so far."""

    used: int | None = None
    size: int | None = None
    cost: Cost | None = None


class TokenUsage(Record, frozen=True):
    """The tokens that one turn used, as far as the agent reports them."""

    total: int | None = None
    input: int | None = None
    output: int | None = None
    thought: int | None = None
    cached_read: int | None = None
    cached_write: int | None = None


def plain(value: Any) -> Json:
    """Convert a record or a tuple of records to JSON types; a value without a JSON form becomes its repr."""
    if type(value) is tuple and len(value) == 1:
        (only,) = value
        if type(only) is Text and only.annotations is None:  # as most contents of tool calls are
            return [{"type": "text", "text": only.text}]  # the same, faster
    if not isinstance(value, (Struct, tuple)):
        return value
    return _with_lists(msgspec.to_builtins(value, enc_hook=repr))


def _with_lists(value: Any) -> Json:
    """Convert tuples to lists, which `to_builtins` does not do."""
    if isinstance(value, tuple):
        return [_with_lists(item) for item in value]
    return {name: _with_lists(it) for name, it in value.items()} if isinstance(value, dict) else value


def by_tag(union: Any) -> dict[Any, Any]:
    """Map tags to the classes of a union: msgspec converts to one class much faster than to a union."""
    return {cls.__struct_config__.tag: cls for cls in get_args(union)}


def build(*types: Any) -> None:
    """Have msgspec build what it needs to read these types; call it in the module that defines them.

    Otherwise msgspec does so at the first use, and if two threads use a type for the first time at once,
    one of them reads the unfinished result and the process crashes (msgspec 0.22). During an import, no
    other thread can use the types.
    """
    for it in types:
        msgspec.json.Decoder(it)


_CONTENT_TYPES = by_tag(Content)
build(*_CONTENT_TYPES.values())


def content_from_plain(block: Mapping[str, Json]) -> Content:
    """The inverse of `plain` for content; an unknown type becomes UnknownContent."""
    cls = _CONTENT_TYPES.get(str(block.get("type")))
    content: Content = UnknownContent(dict(block)) if cls is None else msgspec.convert(block, cls)
    return content
