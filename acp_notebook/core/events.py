"""Events: everything that can happen in a session, as frozen records.

Knows no protocol and no state. `wire.v1` creates events from the agent's messages, `agent.conversation`
adds the client's own; only `Transcript.apply` changes state in response.

An update identifies its subject by id and carries only the fields that change: UNSET leaves a field
as it was. `raw` is the original message, kept if it had parts that we do not know. `meta` is what the
agent added to the message (`_meta`), None if nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, ClassVar, Final, Literal

from msgspec import Struct

from .actions import Action
from .changes import AlsoChanged, FileChange
from .forms import Field
from .records import (
    Answer,
    AskedBy,
    Command,
    ConfigOption,
    Content,
    Cost,
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
    """The type of UNSET: the update does not include this field."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET

Role = Literal["user", "agent", "thought"]


class BaseEvent(Struct, frozen=True, gc=False):
    """The base of all events. Its flags are the only place where events are classified."""

    is_history: ClassVar[bool] = False
    """Part of the conversation: an agent repeats it when it loads the session."""
    is_work: ClassVar[bool] = False
    """Shows that the agent has started to work on the prompt."""
    is_awaited: ClassVar[bool] = False
    """A user is waiting for it: the page receives it immediately, not with the next batch."""
    is_aside: ClassVar[bool] = False
    """Not part of the conversation: it does not interrupt a message."""
    concerns_calls: ClassVar[bool] = False
    """Starts, changes or ends tool calls."""
    shows_actions: ClassVar[bool] = False
    """Shows what the user is asked about, or what was done: an agent must not be able to hide part of it."""


class TurnStarted(BaseEvent, frozen=True):
    """A turn has started. `id` is the id that the client gave it beforehand.

    `asked_by`: the session whose agent asked for it, instead of the user.
    `person`: which of several users sent it from the panel, as the page claims.
    """

    concerns_calls = True

    prompt: tuple[Content, ...]
    id: str | None = None
    asked_by: AskedBy | None = None
    person: str | None = None


class TurnCancelling(BaseEvent, frozen=True):
    """A cancel was sent: unfinished tool calls count as cancelled; updates are still accepted.

    `person`: which of several users stopped it, as the page claims.
    """

    person: str | None = None


class TurnLimited(BaseEvent, frozen=True):
    """The turn exceeded one of the user's limits and is being cancelled."""

    reason: str


class RateLimited(BaseEvent, frozen=True):
    """The agent hit a rate limit. `until`: when a retry is possible, in seconds since 1970.

    `attempt` of `of` retries will follow; `attempt` 0 means that there is no retry.
    """

    reason: str
    wait: float | None = None
    until: float | None = None
    attempt: int = 0
    of: int = 0


class RateLimitOver(BaseEvent, frozen=True):
    """The wait for a rate limit is over, and the turn continues."""


class TurnEnded(BaseEvent, frozen=True):
    is_awaited = True
    concerns_calls = True

    status: Literal["done", "failed", "abandoned"]
    stop_reason: str | None = None
    error: str | None = None
    usage: TokenUsage | None = None
    raw: Json = None
    meta: Json = None
    seconds: float | None = None
    """How long the turn ran."""
    cost: Cost | None = None
    """What the turn cost, if the agent's reports say so."""


class MessageChunk(BaseEvent, frozen=True):
    is_history = True
    is_work = True

    role: Role
    content: Content
    message_id: str | None = None
    raw: Json = None
    meta: Json = None


class MessageReplaced(BaseEvent, frozen=True):
    """The whole text of an earlier message, of which a part was lost. `key`: its item."""

    is_aside = True

    key: str
    text: str


class ToolChanged(BaseEvent, frozen=True):
    """A new or changed tool call. `created`: the agent announced a call rather than updating one."""

    is_history = True
    is_work = True
    concerns_calls = True
    shows_actions = True

    id: str
    title: str | Unset = UNSET
    kind: str | Unset = UNSET
    status: str | Unset = UNSET
    content: tuple[Content, ...] | Unset = UNSET
    locations: tuple[Location, ...] | Unset = UNSET
    raw_input: Any = UNSET
    raw_output: Any = UNSET
    name: str | Unset = UNSET
    meta: Json | Unset = UNSET
    unprompted: bool | Unset = UNSET
    """The agent did it, or asked us to do it, without asking the user first."""
    created: bool = False
    asked: bool = False
    """It comes with a permission request."""
    raw: Json = None

    @property
    def only_replaces_content(self) -> bool:
        """Whether it says nothing but the call's content, and perhaps its status: some agents send such an
        update for each line of output, so they are handled without a look at all other fields."""
        return (
            type(self.content) is tuple
            and not self.created
            and not self.asked
            and self.raw is None
            and UNSET is self.title is self.kind is self.locations is self.name is self.meta
            and UNSET is self.raw_input is self.raw_output is self.unprompted
        )


class PlanReplaced(BaseEvent, frozen=True):
    """The complete plan: `entries`, or markdown in `text`, or a file in `uri`."""

    is_history = True
    is_work = True

    entries: tuple[PlanEntry, ...] = ()
    id: str | None = None
    text: str | None = None
    uri: str | None = None
    raw: Json = None
    meta: Json = None


class Recovered(BaseEvent, frozen=True):
    """What was lost of an earlier turn, from the agent's history. Nobody is asked about it, and it allows
    nothing. `turn`: the key of the turn's item. `key`: the item that it completes; None: it is missing.
    """

    is_aside = True

    turn: str
    found: MessageChunk | ToolChanged | PlanReplaced
    key: str | None = None


class PlanRemoved(BaseEvent, frozen=True):
    is_history = True
    is_work = True

    id: str
    raw: Json = None
    meta: Json = None


class QuestionAsked(BaseEvent, frozen=True):
    """A permission question about a tool call.

    `offers`: answers that we add, so that the user need not be asked again. `actions`: what an allow
    covers. `answers`: all possible answers.
    """

    is_awaited = True
    shows_actions = True

    id: str
    tool_id: str
    options: tuple[Option, ...]
    raw: Json = None
    offers: tuple[Offer, ...] = ()
    actions: tuple[Action, ...] = ()
    answers: tuple[Answer, ...] = ()
    meta: Json = None


class QuestionSettled(BaseEvent, frozen=True):
    """A question was answered (`answer` is the option's id), or cancelled or withdrawn (None).

    `by` says who decided; `person`, which of several users did, as the page claims.
    """

    is_awaited = True

    id: str
    answer: str | None
    by: str
    reason: str | None = None
    person: str | None = None


class ElicitationOpened(BaseEvent, frozen=True):
    """The agent asks the user to fill in a form or to open an address.

    `problem`: why the user can only decline.
    """

    is_awaited = True
    shows_actions = True

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
    meta: Json = None


class ElicitationSettled(BaseEvent, frozen=True):
    """An elicitation was answered. `values`: what the user filled in, without secrets. `by`: who decided;
    `person`: which of several users, as the page claims."""

    is_awaited = True

    id: str
    action: str
    by: str
    reason: str | None = None
    values: Mapping[str, Json] | None = None
    person: str | None = None


class ElicitationCompleted(BaseEvent, frozen=True):
    """The user has finished what the address was opened for."""

    id: str


class TerminalChanged(BaseEvent, frozen=True):
    """A new or changed command that we run for the agent."""

    shows_actions = True

    id: str
    command: str | Unset = UNSET
    cwd: str | Unset = UNSET
    status: str | Unset = UNSET
    """running, exited, killed."""
    exit_code: int | Unset | None = UNSET
    signal: str | Unset | None = UNSET
    released: bool | Unset = UNSET


class TerminalOutput(BaseEvent, frozen=True):
    """More output of a command; `dropped` characters were left out just before this text.

    `whole`: the text replaces all output so far.
    """

    id: str
    text: str
    dropped: int = 0
    whole: bool = False


class NoticeGiven(BaseEvent, frozen=True):
    """A notice for the user. `source` is "agent", or "client" for our own notices.

    `turn`: the key of the turn that it is about, if that is over.
    """

    is_history = True

    severity: str
    title: str
    description: str | None = None
    source: Literal["agent", "client"] = "agent"
    raw: Json = None
    meta: Json = None
    turn: str | None = None


class CompactionChanged(BaseEvent, frozen=True):
    is_history = True
    is_work = True

    id: str
    status: str
    summary: tuple[Content, ...] | Unset = UNSET
    error: str | None = None
    raw: Json = None
    meta: Json = None


class CompactionChunk(BaseEvent, frozen=True):
    is_history = True
    is_work = True

    id: str
    content: Content
    raw: Json = None
    meta: Json = None


class ChangesReplaced(BaseEvent, frozen=True):
    """All files that a turn changed; `turn` is the key of its item. May come long after the turn's end."""

    shows_actions = True

    turn: str
    files: tuple[FileChange, ...] = ()
    notes: tuple[str, ...] = ()
    """What is not covered, in words for the user."""
    also: tuple[AlsoChanged, ...] = ()


class CommandsReplaced(BaseEvent, frozen=True):
    is_aside = True

    commands: tuple[Command, ...]
    raw: Json = None
    meta: Json = None


class ModesReplaced(BaseEvent, frozen=True):
    is_aside = True

    modes: tuple[Mode, ...]
    current: str | None
    raw: Json = None
    meta: Json = None


class ModeChanged(BaseEvent, frozen=True):
    is_aside = True

    id: str
    raw: Json = None
    meta: Json = None


class KernelToolsSwitched(BaseEvent, frozen=True):
    """The agent can use the kernel's tools from now on, or no longer."""

    is_aside = True

    on: bool


class ConfigReplaced(BaseEvent, frozen=True):
    is_aside = True

    options: tuple[ConfigOption, ...]
    raw: Json = None
    meta: Json = None


class InfoChanged(BaseEvent, frozen=True):
    """The session's title and date, or only `meta`; None clears a field, UNSET leaves it."""

    is_aside = True

    title: str | Unset | None = UNSET
    updated_at: str | Unset | None = UNSET
    raw: Json = None
    meta: Json = None


class UsageChanged(BaseEvent, frozen=True):
    is_aside = True

    usage: Usage
    raw: Json = None
    meta: Json = None


class StatusChanged(BaseEvent, frozen=True):
    """The session's status: starting, signed_out, idle, working, stuck, restarting, lost, dead or closed;
    with a remote agent reconnecting and disconnected instead of restarting and dead."""

    is_awaited = True
    is_aside = True

    status: str
    detail: str | None = None
    ways: tuple[str, ...] = ()
    """How to continue a lost session: "load", "new"."""


class SignInChanged(BaseEvent, frozen=True):
    """The agent requires a sign-in, or (None) no longer does."""

    is_awaited = True
    is_aside = True

    sign_in: SignIn | None


class AgentKnown(BaseEvent, frozen=True):
    """The agent's name and version, its working directory, and what it offers besides prompting."""

    is_aside = True

    name: str
    title: str | None = None
    version: str | None = None
    cwd: str | None = None
    offers: tuple[str, ...] = ()
    """Some of list, load, resume, fork, delete, logout."""


class HistoryCleared(BaseEvent, frozen=True):
    """The agent is about to replay the history: discard the transcript so far."""


class UnknownReceived(BaseEvent, frozen=True):
    """A message that we do not know: kept, and shown as it is. `what` is a short name for it."""

    is_history = True

    what: str
    raw: Json


Event = (
    MessageChunk
    | MessageReplaced
    | ToolChanged
    | PlanReplaced
    | Recovered
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
    | KernelToolsSwitched
    | ConfigReplaced
    | InfoChanged
    | UsageChanged
    | StatusChanged
    | SignInChanged
    | AgentKnown
    | HistoryCleared
    | UnknownReceived
)
