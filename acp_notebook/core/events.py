"""Our vocabulary: everything that can happen in a session, as frozen, upsert-shaped events.

Knows no protocol and no state. `wire.v1` makes them of what the agent sends, `agent.conversation`
adds what the client does; `Transcript.apply` is the only reader that acts on them.

An update names the thing it is about by id and carries only what changes: a field that is UNSET is
left as it was. `raw` is the message itself, kept where it had parts that we do not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, Literal

from msgspec import Struct

from .actions import Action
from .changes import AlsoChanged, FileChange
from .forms import Field
from .records import (
    Answer,
    Command,
    ConfigOption,
    Content,
    Json,
    Location,
    Mode,
    Offer,
    Option,
    PlanEntry,
    SignIn,
    TokenUsage,
    Usage,
)


class Unset(Enum):
    """The type of UNSET: "this update does not speak of that field"."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET

Role = Literal["user", "agent", "thought"]


class TurnStarted(Struct, frozen=True):
    """`id` is what the client calls the turn, from before it started."""

    prompt: tuple[Content, ...]
    id: str | None = None


class TurnCancelling(Struct, frozen=True):
    """A cancel was sent: unfinished tool calls count as cancelled, updates are still taken."""


class TurnLimited(Struct, frozen=True):
    """The turn went beyond a limit of the user's, and is cancelled for that."""

    reason: str


class RateLimited(Struct, frozen=True):
    """The agent met a rate limit. `until`: when it may be tried again, in seconds since 1970.

    `attempt` of `of`: it is sent again then; 0: it is not.
    """

    reason: str
    wait: float | None = None
    until: float | None = None
    attempt: int = 0
    of: int = 0


class RateLimitOver(Struct, frozen=True):
    """The wait for a rate limit has ended, and the turn continues."""


class TurnEnded(Struct, frozen=True):
    status: Literal["done", "failed", "abandoned"]
    stop_reason: str | None = None
    error: str | None = None
    usage: TokenUsage | None = None
    raw: Json = None


class MessageChunk(Struct, frozen=True):
    role: Role
    content: Content
    message_id: str | None = None
    raw: Json = None


class ToolChanged(Struct, frozen=True):
    """A tool call, new or changed. `created`: the agent announced a call, rather than updated one."""

    id: str
    title: str | Unset = UNSET
    kind: str | Unset = UNSET
    status: str | Unset = UNSET
    content: tuple[Content, ...] | Unset = UNSET
    locations: tuple[Location, ...] | Unset = UNSET
    raw_input: Any = UNSET
    raw_output: Any = UNSET
    name: str | Unset = UNSET
    meta: Any = UNSET
    unprompted: bool | Unset = UNSET
    """The agent did it, or asked us to do it, without asking the user before."""
    created: bool = False
    asked: bool = False
    """It comes with a permission question."""
    raw: Json = None


class PlanReplaced(Struct, frozen=True):
    """The plan, whole: `entries`, or prose in `text` (markdown), or a file in `uri`."""

    entries: tuple[PlanEntry, ...] = ()
    id: str | None = None
    text: str | None = None
    uri: str | None = None
    raw: Json = None


class PlanRemoved(Struct, frozen=True):
    id: str
    raw: Json = None


class QuestionAsked(Struct, frozen=True):
    """A permission question about a tool call. `offers`: what we add, so that it need not be asked again.

    `actions` is what an allow covers, `answers` what the question can be answered with.
    """

    id: str
    tool_id: str
    options: tuple[Option, ...]
    raw: Json = None
    offers: tuple[Offer, ...] = ()
    actions: tuple[Action, ...] = ()
    answers: tuple[Answer, ...] = ()


class QuestionSettled(Struct, frozen=True):
    """`answer` is the chosen option's id; None: cancelled or withdrawn. `by` says who decided."""

    id: str
    answer: str | None
    by: str
    reason: str | None = None


class ElicitationOpened(Struct, frozen=True):
    """The agent asks for a form to be filled in, or an address to be opened.

    `problem`: why it can only be declined.
    """

    id: str
    mode: str
    message: str
    fields: tuple[Field, ...] = ()
    url: str | None = None
    host: str | None = None
    title: str | None = None
    description: str | None = None
    tool_id: str | None = None
    problem: str | None = None
    raw: Json = None


class ElicitationSettled(Struct, frozen=True):
    """`values`: what was filled in, without secrets. `by` says who decided."""

    id: str
    action: str
    by: str
    reason: str | None = None
    values: Mapping[str, Json] | None = None


class ElicitationCompleted(Struct, frozen=True):
    """What the user went to an address for is done."""

    id: str


class TerminalChanged(Struct, frozen=True):
    """A command that we run for the agent, new or changed."""

    id: str
    command: str | Unset = UNSET
    cwd: str | Unset = UNSET
    status: str | Unset = UNSET
    """running, exited, killed."""
    exit_code: int | Unset | None = UNSET
    signal: str | Unset | None = UNSET
    released: bool | Unset = UNSET


class TerminalOutput(Struct, frozen=True):
    """More output; `dropped` characters of it were left out just before this text. `whole`: it is all of the
    output, in place of what came before."""

    id: str
    text: str
    dropped: int = 0
    whole: bool = False


class NoticeGiven(Struct, frozen=True):
    """Something to tell the user. `source` is "agent", or "client" where we speak ourselves."""

    severity: str
    title: str
    description: str | None = None
    source: Literal["agent", "client"] = "agent"
    raw: Json = None


class CompactionChanged(Struct, frozen=True):
    id: str
    status: str
    summary: tuple[Content, ...] | Unset = UNSET
    error: str | None = None
    raw: Json = None


class CompactionChunk(Struct, frozen=True):
    id: str
    content: Content
    raw: Json = None


class ChangesReplaced(Struct, frozen=True):
    """The files that a turn changed, whole; `turn` is the key of its item. It may come long after its end."""

    turn: str
    files: tuple[FileChange, ...] = ()
    notes: tuple[str, ...] = ()
    """What is not covered, in plain words."""
    also: tuple[AlsoChanged, ...] = ()


class CommandsReplaced(Struct, frozen=True):
    commands: tuple[Command, ...]
    raw: Json = None


class ModesReplaced(Struct, frozen=True):
    modes: tuple[Mode, ...]
    current: str | None
    raw: Json = None


class ModeChanged(Struct, frozen=True):
    id: str
    raw: Json = None


class ConfigReplaced(Struct, frozen=True):
    options: tuple[ConfigOption, ...]
    raw: Json = None


class InfoChanged(Struct, frozen=True):
    """The session's own description; None clears a field, UNSET leaves it."""

    title: str | Unset | None = UNSET
    updated_at: str | Unset | None = UNSET
    raw: Json = None


class UsageChanged(Struct, frozen=True):
    usage: Usage
    raw: Json = None


class StatusChanged(Struct, frozen=True):
    """The state of the session itself: starting, signed_out, idle, working, stuck, restarting, lost, dead or
    closed."""

    status: str
    detail: str | None = None
    ways: tuple[str, ...] = ()
    """What leads on where it is lost: "load", "new"."""


class SignInChanged(Struct, frozen=True):
    """The agent wants a sign-in, or (None) no longer does."""

    sign_in: SignIn | None


class AgentKnown(Struct, frozen=True):
    """Who answers, where it works, and what it offers beyond the conversation itself."""

    name: str
    title: str | None = None
    version: str | None = None
    cwd: str | None = None
    offers: tuple[str, ...] = ()
    """Of list, load, resume, fork, delete, logout."""


class HistoryCleared(Struct, frozen=True):
    """The agent is about to tell the history anew; what was told before gives way to it."""


class UnknownReceived(Struct, frozen=True):
    """A message that we do not know: kept, and shown plainly. `what` is a short name for it."""

    what: str
    raw: Json


Event = (
    MessageChunk
    | ToolChanged
    | PlanReplaced
    | PlanRemoved
    | QuestionAsked
    | QuestionSettled
    | ElicitationOpened
    | ElicitationSettled
    | ElicitationCompleted
    | TerminalChanged
    | TerminalOutput
    | TurnStarted
    | TurnCancelling
    | TurnLimited
    | RateLimited
    | RateLimitOver
    | TurnEnded
    | NoticeGiven
    | CompactionChanged
    | CompactionChunk
    | ChangesReplaced
    | CommandsReplaced
    | ModesReplaced
    | ModeChanged
    | ConfigReplaced
    | InfoChanged
    | UsageChanged
    | StatusChanged
    | SignInChanged
    | AgentKnown
    | HistoryCleared
    | UnknownReceived
)
