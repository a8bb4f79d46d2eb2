"""What an agent says of itself and of its sessions, and what it asks: frozen records beside the events.

Knows no protocol field names (`wire.v1` reads them in) and no state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from .elicitation import ElicitationRequest
from .events import Event, ToolChanged
from .records import Json, Option, TokenUsage


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What the agent can do; each is used only where it is True."""

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

    @property
    def offers(self) -> tuple[str, ...]:
        """What a user can do with its sessions and the sign-in, by name."""
        names = ("list", "load", "resume", "fork", "delete", "logout")
        return tuple(name for name in names if getattr(self, name))


@dataclass(frozen=True, slots=True)
class AuthMethod:
    """A way to sign in. `type` "terminal": by running the agent's own command with `args`."""

    id: str
    name: str
    description: str | None = None
    type: str = "agent"
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """The agent's introduction."""

    protocol_version: int
    name: str | None = None
    title: str | None = None
    version: str | None = None
    capabilities: Capabilities = Capabilities()
    auth_methods: tuple[AuthMethod, ...] = ()
    raw: Json = field(default=None, repr=False)

    def cleaned(self, text: Callable[[str], str]) -> AgentFacts:
        """The same, with the words for people as `text` makes them."""
        return replace(
            self,
            title=self.title and text(self.title),
            version=self.version and text(self.version),
            auth_methods=tuple(
                replace(it, name=text(it.name), description=it.description and text(it.description))
                for it in self.auth_methods
            ),
        )


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """The answer to new, load and resume: the events that it stands for, and the id of a new session."""

    id: str | None
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session that the agent keeps."""

    id: str
    cwd: str
    title: str | None = None
    updated_at: str | None = None
    directories: tuple[str, ...] = ()
    """The folders beside `cwd` that it works in."""


@dataclass(frozen=True, slots=True)
class PromptAnswer:
    stop_reason: str
    usage: TokenUsage | None = None
    raw: Json = None


@dataclass(frozen=True, slots=True)
class RequestPermission:
    """`session/request_permission`: the agent asks whether it may go on."""

    session_id: str
    tool: ToolChanged
    options: tuple[Option, ...]
    raw: Json = None


@dataclass(frozen=True, slots=True)
class CreateElicitation:
    """The agent wants something of the user. Without a `session_id`, it is for a request of ours."""

    session_id: str | None
    request: ElicitationRequest
    tool_id: str | None = None
    elicitation_id: str | None = None
    problem: str | None = None
    """Why it cannot be shown."""
    raw: Json = None


@dataclass(frozen=True, slots=True)
class ReadTextFileRequest:
    """The agent wants a file's text: all of it, or `limit` lines from `line` (1 is the first) on."""

    session_id: str
    path: str
    line: int | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class WriteTextFileRequest:
    session_id: str
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class CreateTerminalRequest:
    """The agent wants a command run. Without `args`, `command` may be a whole shell line."""

    session_id: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    byte_limit: int | None = None


@dataclass(frozen=True, slots=True)
class TerminalNamed:
    """Something about a terminal that the agent had made."""

    session_id: str
    terminal_id: str
