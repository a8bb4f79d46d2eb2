"""The agent's requests and responses as frozen records: capabilities, sessions, client methods.

Knows no protocol field names (`wire.v1` translates them) and no state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from .elicitation import ElicitationRequest
from .events import Event, ToolChanged
from .records import Guarded, Json, Option, TokenUsage


class Capabilities(Struct, frozen=True):
    """The capabilities that the agent announced; a feature is used only if its flag is True."""

    load: bool = False
    resume: bool = False
    list: bool = False
    fork: bool = False
    close: bool = False
    delete: bool = False
    additional_directories: bool = False
    image: bool = False
    audio: bool = False
    embedded_context: bool = False
    mcp_http: bool = False
    mcp_sse: bool = False
    logout: bool = False
    meta: Mapping[str, Json] | None = None
    """Capabilities of its own, beyond the protocol (`_meta`)."""
    methods: tuple[str, ...] = ()
    """The methods beyond the protocol that it lists there, for `agent.request`."""

    @property
    def offers(self) -> tuple[str, ...]:
        """The names of the capabilities that users act on: sessions, the sign-in, and images in prompts."""
        names = ("list", "load", "resume", "fork", "delete", "logout", "image")
        return tuple(name for name in names if getattr(self, name))


class AuthMethod(Guarded, frozen=True):
    """A way to sign in. Type "terminal": run the agent's own command with `args`; "env_var": give it keys."""

    _unshown: ClassVar[tuple[str, ...]] = ("env",)
    id: str
    name: str
    description: str | None = None
    type: str = "agent"
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[tuple[str, str | None], ...] = ()
    """The environment variables that hold its keys, with what the agent calls each."""


class AgentFacts(Guarded, frozen=True):
    """The agent's response to `initialize`."""

    _unshown: ClassVar[tuple[str, ...]] = ("raw",)
    protocol_version: int
    name: str | None = None
    title: str | None = None
    version: str | None = None
    capabilities: Capabilities = Capabilities()
    auth_methods: tuple[AuthMethod, ...] = ()
    raw: Json = None
    meta: Mapping[str, Json] | None = None
    """What it added to the response (`_meta`)."""

    def cleaned(self, text: Callable[[str], str], plain: Callable[[Json], Json]) -> AgentFacts:
        """Return a copy with `text` applied to every text that users see, and `plain` to all plain JSON."""
        return replace(
            self,
            meta=plain(self.meta),
            capabilities=replace(self.capabilities, meta=plain(self.capabilities.meta)),
            title=self.title and text(self.title),
            version=self.version and text(self.version),
            auth_methods=tuple(
                replace(it, name=text(it.name), description=it.description and text(it.description))
                for it in self.auth_methods
            ),
        )


class SessionFacts(Struct, frozen=True):
    """The response to new, load and resume: the events it amounts to, and the id of a new session."""

    id: str | None
    events: tuple[Event, ...] = ()


class SessionInfo(Struct, frozen=True):
    """A session that the agent has stored."""

    id: str
    cwd: str
    title: str | None = None
    updated_at: str | None = None
    directories: tuple[str, ...] = ()
    """Its additional directories."""
    meta: Mapping[str, Json] | None = None
    """What the agent added to it (`_meta`)."""


class PromptAnswer(Struct, frozen=True):
    stop_reason: str
    usage: TokenUsage | None = None
    raw: Json = None
    meta: Json = None


class RequestPermission(Struct, frozen=True):
    """`session/request_permission`: the agent asks whether it may carry out a tool call."""

    session_id: str
    tool: ToolChanged
    options: tuple[Option, ...]
    raw: Json = None
    meta: Json = None


class CreateElicitation(Struct, frozen=True):
    """The agent asks the user for input. Without a `session_id`, it belongs to one of our requests."""

    session_id: str | None
    request: ElicitationRequest
    tool_id: str | None = None
    elicitation_id: str | None = None
    problem: str | None = None
    """Why it cannot be shown."""
    raw: Json = None
    meta: Json = None


class ReadTextFileRequest(Struct, frozen=True):
    """The agent asks for a file's text: all of it, or `limit` lines from `line` (1 is the first)."""

    session_id: str
    path: str
    line: int | None = None
    limit: int | None = None


class WriteTextFileRequest(Struct, frozen=True):
    session_id: str
    path: str
    text: str


class CreateTerminalRequest(Struct, frozen=True):
    """The agent asks us to run a command. Without `args`, `command` may be a whole shell line."""

    session_id: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    cwd: str | None = None
    byte_limit: int | None = None


class TerminalNamed(Struct, frozen=True):
    """A request about a terminal that the agent created."""

    session_id: str
    terminal_id: str
