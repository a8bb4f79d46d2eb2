"""Two records that `connect` creates: how to reach an agent, and the options of its sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from msgspec import Struct, field

from ..core.elicitation import ElicitationPolicy
from ..core.limits import Limits
from ..core.records import Guarded, Json
from ..core.redaction import Redactor
from ..core.requests import AgentFacts
from ..core.rules import NO_JUDGE, Judge
from .audit_file import AuditFile
from .handler_threads import Handler
from .kernel_tools.access import KernelAccess
from .known_agents import quirks
from .mcp_servers import Servers
from .transport import LOCAL, Reach

CAPABILITIES: dict[str, Any] = {
    "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
}
"""The client capabilities besides files and terminals."""


class Launch(Guarded, frozen=True):
    """How to reach an agent and sign in to it."""

    _unshown: ClassVar[tuple[str, ...]] = ("env", "keys")
    name: str
    identity: str = ""
    """The whole command, or the address without its query, which identifies the agent in grants: any program
    can use another's name."""
    argv: tuple[str, ...] = ()
    """The command; empty if there is no process."""
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    start_timeout: float = 60.0
    auth: str | None = None
    """The sign-in method to use if the agent requires one."""
    redactor: Redactor = field(default_factory=Redactor)
    """Removes secrets from everything that is shown or stored."""
    keys: dict[str, str] = field(default_factory=dict)
    """Keys that the user typed, by variable: the agent gets them when it starts, its commands never."""
    reach: Reach = LOCAL
    """What the transport declares."""

    def quirks(self, facts: AgentFacts | None = None) -> quirks.Quirks:
        """The quirks of this agent. `facts`: its initialize response, if it has started."""
        words = (self.name, *self.argv)
        if facts is None:
            return quirks.before_start(words)
        return quirks.for_agent(words, facts.name, facts.version, facts.capabilities.methods)

    def capabilities(self, options: SessionOptions) -> dict[str, Any]:
        """The client capabilities to announce to the agent."""
        files = {"readTextFile": options.fs, "writeTextFile": options.fs}
        own = {**self.quirks().announced, **options.capabilities}
        extra = {"_meta": own} if own else {}
        auth = {"auth": {"terminal": True}} if self.argv else {}
        asking: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}} if options.elicits else {}
        return {**CAPABILITIES, "fs": files, "terminal": options.terminal, **auth, **extra, **asking}


class SessionOptions(Struct, frozen=True):
    """The options of every session on an agent."""

    fs: bool = True
    """Whether the client serves files. If not, the agent accesses them itself."""
    terminal: bool = True
    """Whether the client runs commands. If not, the agent runs them itself."""
    elicitation: ElicitationPolicy = "ask"
    """Who answers elicitations."""
    elicits: bool = False
    """Whether the client announces elicitation: only if somebody can answer."""
    question_timeout: float | None = None
    limits: Limits = field(default_factory=Limits)
    """The limits of each turn that has none of its own."""
    judge: Judge = NO_JUDGE
    """The rules of the user's and the project's settings files."""
    servers: Servers = field(default_factory=Servers)
    """The MCP servers that sessions can use."""
    audit: AuditFile | None = None
    raw_notebooks: bool = False
    """Whether the agent reads notebooks as raw JSON, including outputs."""
    keep_outputs: bool = False
    """Whether a cell that the agent changes keeps its outputs."""
    capabilities: Mapping[str, Json] = field(default_factory=dict)
    """What the user announces beyond the protocol; wins over what we announce there."""
    handlers: Mapping[str, Handler] = field(default_factory=dict)
    """The user's handlers of extension methods."""
    tools: KernelAccess = field(default_factory=KernelAccess)
    """Whether and how sessions reach the kernel."""

    def offers(self, method: str) -> bool:
        """Whether the client announced this client method."""
        served = {"fs": self.fs, "terminal": self.terminal}
        return served.get(method.split("/")[0], True)
