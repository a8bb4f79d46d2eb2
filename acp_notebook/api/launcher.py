"""Turns the arguments of `connect` into an agent that can be started: a process, a server or a recording.

Starts nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field, structs
from msgspec.structs import replace

from .. import timeouts
from ..agent.backends import Backends, live
from ..agent.known_agents import quirks
from ..agent.known_agents.catalog import BUILT_IN, ResolvedCommand
from ..agent.launch import Launch
from ..agent.mcp_servers import Servers
from ..agent.processes.environment import agent_environment
from ..agent.processes.process_transport import Command, ProcessTransport
from ..core.mcp import expanded
from ..core.redaction import Redactor
from ..core.settings import Settings
from ..errors import AgentDied, RecordingError, UsageError
from ..setup.config import NOTHING, ActiveSettings, in_force, own_settings
from ..setup.resolve import choose, completed
from ..timeouts import Timeouts
from .agent import GivenServers, folder
from .remote_agent import RemoteAgent, RemoteOptions, check_shares_folders, find_remote

if TYPE_CHECKING:
    from ..agent.recordings.recording import Recorder
    from .cassette import Cassette


class AgentRequest(Struct, frozen=True):
    """The arguments of `connect` that concern the agent, not its sessions."""

    agent: str | Sequence[str] | None
    args: Sequence[str]
    cwd: str | Path | None
    env: Mapping[str, str] | None
    inherit_env: bool | Iterable[str]
    install: bool | str | None
    trust_project: bool | str | None
    auth: str | None
    mcp_servers: GivenServers
    undo: bool
    start_timeout: float
    redactor: Redactor
    remote: RemoteOptions

    def timeout(self, default: float) -> float:
        return default if self.start_timeout == Timeouts().agent_start else self.start_timeout


class ReadyAgent(Struct, frozen=True):
    """An agent that can be started, and the folders of its sessions."""

    launch: Launch
    backends: Backends
    cwd: str
    roots: Sequence[str] = ()
    """The roots if the call gives none."""
    servers: Servers = field(default_factory=Servers)
    mcp_servers: Any = ()
    settings: ActiveSettings = NOTHING
    runs: bool = True
    """False for a recording, which runs nothing."""


def recorded_agent(tape: Cassette, request: AgentRequest) -> ReadyAgent:
    """The agent of a recording."""
    from ..agent.recordings.replay_backends import replayed  # import it only if needed

    home = (request.env or {}).get("HOME")
    recording = tape.opened()
    replay, where, roots = tape.replay(recording, None if request.cwd is None else folder(request.cwd), home)
    launch = Launch(
        replay.script.agent or tape.file.stem,
        start_timeout=request.timeout(timeouts.get().agent_start),
        auth=request.auth,
        redactor=request.redactor,
        reach=recording.reach,
    )
    servers = request.mcp_servers
    return ReadyAgent(launch, replayed(replay), where, roots, mcp_servers=servers, runs=False)


def check_for_runs(agent: str | Sequence[str], cwd: str) -> None:
    """Refuse an agent that cannot work in a copy of a folder of this machine. Raises UsageError."""
    own, broken = _own_settings(agent)
    check_shares_folders(agent, {**in_force(cwd, own, None, broken).agents, **own.agents})


def agent_commands(request: AgentRequest, record: str | Path | Cassette | None) -> Iterator[ReadyAgent]:
    """Yield the agent with its address, or with its command, then with the arguments for older versions."""
    own, broken = _own_settings(request.agent)
    agent = request.agent if request.agent is not None else own.agent
    remote = find_remote(agent, own.agents, request.remote, request.cwd, request.args)
    if remote is not None:  # its folder is not on this machine, so the settings are those of the kernel's
        yield _server(remote, in_force(os.getcwd(), own, request.trust_project, broken), request, record)
        return
    cwd = folder(request.cwd or _own_folder(own, agent) or os.getcwd())
    settings = in_force(cwd, own, request.trust_project, broken)
    agent = agent if agent is not None else settings.agent
    remote = find_remote(agent, settings.agents, request.remote, request.cwd, request.args)
    if remote is not None:
        yield _server(remote, settings, request, record)
        return
    environment = _environment(request.env, request.inherit_env)
    found = choose(
        _named(agent),
        environment.get("PATH"),
        args=request.args,
        cwd=cwd,
        own=settings.agents,
        install=request.install,
    )
    servers = _servers(settings, found.mcp_servers, request.redactor)
    chosen = servers.chosen(request.mcp_servers) or None
    for command in filter(None, (found, found.older)):
        launch, backends = _process(command, cwd, environment, request, record)
        yield ReadyAgent(launch, backends, cwd, (), servers, chosen, settings)


def _server(
    remote: RemoteAgent,
    settings: ActiveSettings,
    request: AgentRequest,
    record: str | Path | Cassette | None,
) -> ReadyAgent:
    """A remote agent."""
    if request.env:
        raise UsageError("env= sets variables of a command; a remote agent gets tokens in headers=")
    launch = remote.launch(request.redactor, request.timeout(timeouts.get().agent_start), request.auth)
    named = remote.name if remote.name != remote.url.name else remote.url.without_host
    tap = _recorder(record, named, request.redactor, {}, remote.reach.wire)
    backends = remote.backends(request.redactor, undo=request.undo, tap=tap)
    servers = _servers(settings, remote.mcp_servers, request.redactor, is_local=False)
    chosen = servers.chosen(request.mcp_servers) or None
    told = structs.replace(settings, notices=(*settings.notices, *remote.notices))
    return ReadyAgent(launch, backends, remote.cwd, (), servers, chosen, told)


def _servers(
    settings: ActiveSettings, own: tuple[str, ...], redactor: Redactor, *, is_local: bool = True
) -> Servers:
    return Servers(
        settings.servers,
        tuple(dict.fromkeys((*settings.always, *own))),
        learn=lambda variables: _learn(redactor, variables),
        is_local=is_local,
    )


def refuses_arguments(died: AgentDied) -> bool:
    """Whether the agent exited because it does not know its arguments, as older versions do."""
    return (
        re.search(r"unknown (argument|option)|unrecognized|unexpected argument", str(died), re.I) is not None
    )


def is_path(value: str) -> bool:
    """Whether the value is an existing file or folder, and therefore no secret."""
    return os.path.isabs(value) and "\0" not in value and os.path.exists(value)


def _learn(redactor: Redactor, variables: Iterable[tuple[str, str]]) -> None:
    redactor.learn_variables(it for it in variables if not is_path(it[1]))


def _own_settings(agent: str | Sequence[str] | None) -> tuple[Settings, str | None]:
    """The user's settings, and the error in them if the built-in agent starts without them."""
    try:
        return own_settings(), None
    except UsageError as error:
        if agent not in BUILT_IN:
            raise
        return Settings(), f"Your settings are not used: {error}"


def _own_folder(own: Settings, agent: str | Sequence[str] | None) -> str | None:
    entry = own.agents.get(agent) if isinstance(agent, str) else None
    return entry.cwd if entry is not None else None


def _named(agent: str | Sequence[str] | None) -> str | Sequence[str]:
    if agent is None:
        raise UsageError('name an agent: acp.connect("demo"), or a recording: acp.connect(cassette=…)')
    return agent


def _environment(env: Mapping[str, str] | None, inherit_env: bool | Iterable[str]) -> dict[str, str]:
    try:
        return agent_environment(os.environ, env, inherit_env)
    except TypeError as error:
        raise UsageError(str(error)) from None


def _process(
    found: ResolvedCommand,
    cwd: str,
    environment: Mapping[str, str],
    request: AgentRequest,
    record: str | Path | Cassette | None,
) -> tuple[Launch, Backends]:
    written, given = _expanded(found), request.env or {}
    needed = replace(found, env={**found.env, **written})
    env = quirks.environment(completed(needed, environment, given), found.argv, given)
    _learn(request.redactor, written.items())
    tap = _recorder(record, found.name, request.redactor, env)
    command = Command(argv=found.argv, cwd=found.folder or cwd, env=env)
    limits = timeouts.get()
    keys: dict[str, str] = {}
    launch = Launch(
        found.name,
        found.identity,
        found.argv,
        command.cwd or cwd,
        env,
        request.timeout(limits.agent_fetch if found.how in ("npx", "uvx") else limits.agent_start),
        request.auth,
        request.redactor,
        keys,
    )

    def start() -> ProcessTransport:
        return ProcessTransport(replace(command, env={**env, **keys}))

    return launch, live(start, env=env, undo=request.undo, tap=tap)


def _expanded(found: ResolvedCommand) -> dict[str, str]:
    """The variables of the user's settings, with "${NAME}" expanded."""
    try:
        return expanded(found.secrets, os.environ, f"the agent {found.name}")
    except ValueError as error:
        raise UsageError(str(error)) from None


def _recorder(
    record: str | Path | Cassette | None,
    agent: str,
    redactor: Redactor,
    env: Mapping[str, str],
    wire: str | None = None,
) -> Recorder | None:
    if record is None:
        return None
    from ..agent.recordings import path_scrubbing  # import it only if needed
    from ..agent.recordings.recording import Recorder

    made = partial(
        Recorder,
        agent=agent,
        redactor=redactor,
        wire=wire,
        places=path_scrubbing.known(env),
        finish=path_scrubbing.hide,
    )
    if isinstance(record, str | Path):
        return made(record)
    try:
        record.file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordingError(f"cannot record to {record.file}: {error.strerror}") from None
    return made(record.draft, becomes=record.file)
