"""Messages from the kernel to the pages that show a session, except requests about the open document.

Declares what is sent and sends nothing. `js/src/types.ts` is generated from these classes. Requests about the
open document are in `core.document_protocol`, messages in the other direction in `core.intents`.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from .intents import OfChanges
from .records import Json, Record, plain, written

PlainState = Annotated[dict[str, Json], Meta(extra={"typescript": "State"})]
"""A transcript's header and items; JSON already."""

WirePatches = Annotated[list[Json], Meta(extra={"typescript": "readonly WirePatch[]"})]
"""See `core.patches.to_wire`."""


Names = Annotated[list[str], Meta(extra={"typescript": "readonly string[]"})]

Places = Annotated[list[list[str]], Meta(extra={"typescript": "readonly (readonly [string, string])[]"})]


class PageMessage(Record, frozen=True, tag_field="t"):
    """A message to a page; it may be lost."""


class NumberedMessage(PageMessage, frozen=True, kw_only=True):
    """A message whose loss a page notices by the gap in the numbers; its fields are JSON types."""

    seq: int = written(0)
    """Set by the channel."""


class FullState(NumberedMessage, frozen=True, tag="state"):
    """The whole state, or its beginning: more items may follow as patches."""

    state: PlainState


class PatchBatch(NumberedMessage, frozen=True, tag="patches"):
    patches: WirePatches


class Beat(PageMessage, frozen=True, tag="beat"):
    """The newest number: a page that has an older one has missed a message."""

    seq: int


class StaticOutput(NumberedMessage, frozen=True, tag="static"):
    """The static output of a turn, by the turn's id, or of the "session" or "sign-in", as a MIME bundle.

    The session's own holds no turns: `parts` names their static outputs, in order.
    """

    turn: str
    bundle: dict[str, Json]
    reference: str = written("")
    """The HTML that stands for it where the file has it already."""
    parts: Names = written([])
    places: Places = written([])
    """Where it is shown: the widget's model id and the id of the cell."""


class QueueEntry(Record, frozen=True):
    turn: str
    """The id that its turn will have."""
    text: str
    more: int = written(0)
    """How many images and other attachments it has."""
    cut: bool = written(False)
    """The text is longer than what is sent."""


class PanelStatus(PageMessage, frozen=True, tag="now"):
    """What is not part of the state: queued prompts, turns that were never sent, the running turn's time."""

    queue: tuple[QueueEntry, ...]
    unsent: tuple[str, ...]
    elapsed: float | None
    """Seconds of the running turn, without those in which it waited for the user."""


class InvalidForm(PageMessage, frozen=True, tag="invalid"):
    """An answer to a form was invalid: the errors by field; "" is the form itself."""

    elicitation: str
    errors: dict[str, str]


class ServerPaths(PageMessage, frozen=True, tag="places"):
    """For one page: path prefixes on the kernel's machine and its server's paths for them, longest first."""

    view: str
    prefixes: tuple[tuple[str, str], ...]


class OperationProgress(PageMessage, frozen=True, tag="doing"):
    """Progress of an operation on changed files: `at` files `of` this many; 0: not known yet."""

    intent: OfChanges
    at: int
    of: int


class OperationEnded(PageMessage, frozen=True, tag="done"):
    """An operation on changed files has ended."""

    intent: OfChanges


class IntentRefused(PageMessage, frozen=True, tag="refused"):
    """An intent was invalid, or failed."""

    what: str
    """The error message."""
    prompt: str | None = None
    """Text that could not be sent; it goes back into the input field."""


class CompletionChoice(Record, frozen=True):
    text: str
    about: str


class CompletionAnswer(PageMessage, frozen=True, tag="offered"):
    """The completions of an @-name; `view` and `rid` are those of the request."""

    view: str
    rid: str
    fragment: str
    offered: tuple[CompletionChoice, ...]


class MentionPreview(Record, frozen=True):
    """What an @-name of an unsent prompt will attach."""

    name: str
    about: str
    """What it is: "DataFrame 1,000 x 5", "file"; if it is missing, why."""
    size: int | None
    """The bytes that will be sent; null if that is not known before."""
    status: Literal["found", "missing", "busy"] = written("found")
    """"busy": it can only be read when the running cell has ended."""
    note: str = written("")
    """What this agent does not take of it."""


class PreviewAnswer(PageMessage, frozen=True, tag="previewed"):
    """What the @-names of an unsent prompt will attach; `view` and `rid` are those of the request."""

    view: str
    rid: str
    mentions: tuple[MentionPreview, ...]


class ExamplePrompts(PageMessage, frozen=True, tag="examples"):
    """Prompts that fit what the user has defined; `view` and `rid` are those of the request."""

    view: str
    rid: str
    prompts: tuple[str, ...]


class StoredSession(Record, frozen=True):
    """A session that the agent has stored."""

    id: str
    cwd: str
    title: str | None
    updated_at: str | None
    open: bool
    """Whether it is open in this kernel."""
    here: bool
    """Whether it is the session of the panel that lists it."""


class AgentChoice(Record, frozen=True):
    """An agent that can be started, or what is missing."""

    name: str
    title: str
    found: str
    """Where it is installed; empty if it is not."""
    version: str | None
    """The installed one; of a package that `way` runs, the one that it names, or "newest"."""
    note: str
    """What is missing, in words."""
    install: str
    """The command that installs it; empty if there is none."""
    way: str | None
    """The package that npx or uvx can fetch and run, such as "npx NAME"; None if it is not needed or not
    possible."""
    runs: str
    """The command that this would run."""


class PickerAnswer(PageMessage, frozen=True, tag="picked"):
    """The answer to a request of a picker: sessions, an opened or deleted one, agents, or an error."""

    rid: str
    sessions: tuple[StoredSession, ...] | UnsetType = UNSET
    cursor: str | UnsetType | None = UNSET
    """Where the next page begins; null: this is the last one."""
    left_out: int | UnsetType = UNSET
    """How many more sessions the agent's page had, too many for a list."""
    model: str | UnsetType = UNSET
    """The widget model of the opened session's panel."""
    id: str | UnsetType = UNSET
    """The id of the opened session."""
    deleted: str | UnsetType = UNSET
    """The id of the deleted session."""
    agents: tuple[AgentChoice, ...] | UnsetType = UNSET
    error: str | UnsetType = UNSET

    _nullable: ClassVar = ("cursor",)


class ExportAnswer(PageMessage, frozen=True, tag="exported"):
    """A part of the conversation as a file, or an error; `view` and `rid` are those of the request."""

    view: str
    rid: str
    text: str = written("")
    part: int = written(0)
    of: int = written(1)
    name: str = written("")
    mime_type: str = written("")
    error: str | None = None


class ShownGrant(Record, frozen=True):
    """What the user allowed beyond one action."""

    id: str
    allows: str
    holds: str
    """For how long, and where."""
    since: str


class ShownServer(Record, frozen=True):
    """An MCP server that the agent was given, without its secrets."""

    name: str
    type: str
    where: str
    """The name of its command, or its host."""
    own: bool
    """Whether it is from the user's settings; otherwise the session was opened with it."""


class SessionSettings(PageMessage, frozen=True, tag="settings"):
    """The settings of the session that are the user's, not the agent's."""

    permissions: str
    """ask, edits, allow, reject, kinds, function."""
    given: str
    """What Python has set, in the same words."""
    kinds: tuple[tuple[str, str], ...]
    """What Python has set by tool kind."""
    rules: bool
    """Whether rules of settings files decide, too."""
    grants: tuple[ShownGrant, ...]
    servers: tuple[ShownServer, ...]
    undo: bool
    switches_undo: bool
    """Whether undo can be switched on and off."""


class GoingOnWay(Record, frozen=True):
    how: Literal["resume", "context", "fresh", "noted"]
    """As in the intent `GoOn`."""
    label: str


class GoingOn(PageMessage, frozen=True, tag="going_on"):
    """The earlier conversation of the panel's cell, and what can be done with it; no ways: there is none."""

    title: str = written("")
    text: str = written("")
    quoted: str = written("")
    """Exactly what the next prompt would include, or will."""
    ways: tuple[GoingOnWay, ...] = written(())


SessionMessage = (
    FullState
    | PatchBatch
    | Beat
    | StaticOutput
    | PanelStatus
    | InvalidForm
    | ServerPaths
    | OperationProgress
    | OperationEnded
    | IntentRefused
    | CompletionAnswer
    | PickerAnswer
    | PreviewAnswer
    | ExamplePrompts
    | ExportAnswer
    | SessionSettings
    | GoingOn
)


def to_wire(message: msgspec.Struct) -> dict[str, Any]:
    """Convert a message to JSON types. A state, batch or static output can be large, and is not copied."""
    if isinstance(message, NumberedMessage):
        return {"t": message.__struct_config__.tag, **msgspec.structs.asdict(message)}
    wire: dict[str, Any] = plain(message)
    return wire
