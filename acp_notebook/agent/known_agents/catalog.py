"""Resolve the user's name for an agent to the command that starts it.

Searches the PATH and starts nothing. The user's own agents come first, then the known names (`catalog_data`),
then any command. A package is run through npx or uvx only if the caller allows it.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from msgspec import Struct, field
from msgspec.structs import replace

from ...core.records import Guarded
from ...core.settings import OwnAgent
from ...core.visible import shown
from ...errors import AgentNotFound, UsageError
from .catalog_data import AGENTS, KnownAgent
from .launchers import (
    SAFE_FOLDER,
    Launchers,
    find_command,
    find_launchers,
    npx_command,
    typed_npx,
    uvx_command,
)

BUILT_IN = ("demo",)
DEMO = (sys.executable, "-P", "-m", "acp_notebook.demo")
"""-P: do not import from the working folder, which may contain a module of any name."""

NODE_EXTRA = "pip install 'acp-notebook[node]'"
UV_LINE = "pip install uv"

CLOSE_ENOUGH = 0.6
"""The similarity, for difflib, of a misspelt name to the one that is suggested."""


class ResolvedCommand(Guarded, frozen=True, kw_only=True):
    """A command that starts an agent, ready to run."""

    _unshown: ClassVar[tuple[str, ...]] = ("env", "secrets")
    name: str
    argv: tuple[str, ...]
    how: str
    """Where it was found, for people: "built in", "installed", "npx", "uvx", "yours", "command"."""
    identity: str
    """What grants are tied to: the built-in agent's name, else the whole command. Anyone can use a name."""
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    """The variables in `env` that the user wrote: they are removed from recordings."""
    folder: str | None = None
    """The folder in which to start it, if not the session's."""
    cwd: str | None = None
    """The session's folder, if the caller names none."""
    older: ResolvedCommand | None = None
    """The command for older versions."""
    mcp_servers: tuple[str, ...] = ()
    """The names of servers in the user's file that it always gets."""


class NeedsInstall(AgentNotFound):
    """The agent is not installed, but could be fetched and run: `way` says how, to ask the user.

    `runs` is the command that this would run.
    """

    def __init__(self, message: str, *, name: str, way: str, runs: str) -> None:
        super().__init__(message)
        self.name = name
        self.way = way
        self.runs = runs


def find_agent(name: str) -> KnownAgent | None:
    """The known agent with this name or alias."""
    return next((it for it in AGENTS if name == it.name or name in it.aliases), None)


def names(own: Iterable[str] = ()) -> list[str]:
    """The names that `connect` accepts, without the aliases."""
    return list(dict.fromkeys([*BUILT_IN, *own, *(it.name for it in AGENTS)]))


def resolve(
    agent: str | Sequence[str],
    path: str | None,
    *,
    cwd: str = ".",
    own: Mapping[str, OwnAgent] | None = None,
    install: bool = False,
) -> ResolvedCommand:
    """Find the command; raises AgentNotFound, which says what to do. `install`: npx or uvx may fetch it."""
    words = _words(agent)
    mine = own or {}
    name = words[0]
    if len(words) == 1:
        if name in BUILT_IN:
            return ResolvedCommand(name=name, argv=DEMO, how="built in", identity=name)
        if name in mine:
            return _own(mine[name], path, cwd, install)
        if (entry := find_agent(name)) is not None:
            return _known(entry, path, cwd, install)
    command = find_command(name, path)
    if command is None:
        raise AgentNotFound(_not_found(name, mine))
    argv = (command, *words[1:])
    return ResolvedCommand(name=os.path.basename(name), argv=argv, how="command", identity=shlex.join(argv))


def demo_environment(base: Mapping[str, str]) -> dict[str, str]:
    """The variables by which the built-in agent finds this package, even if it is not installed."""
    package = str(Path(__file__).resolve().parents[3])
    return {"PYTHONPATH": os.pathsep.join(filter(None, [package, base.get("PYTHONPATH")]))}


# ---- known agents -------------------------------------------------------------------------------


def find_installed(entry: KnownAgent, path: str | None) -> tuple[str, ...] | None:
    """The first of its commands that is installed."""
    for command, *arguments in entry.commands:
        if (found := find_command(command, path)) is not None:
            return (found, *arguments)
    return None


def _known(entry: KnownAgent, path: str | None, cwd: str, install: bool) -> ResolvedCommand:
    argv = find_installed(entry, path)
    if argv is not None:
        older = _plain(entry, (argv[0], *entry.older), None) if entry.older else None
        return _plain(entry, argv, older)
    package = Package(entry.name, entry.npm, entry.pypi, entry.commands[0], entry.python)
    found = package.resolve(find_launchers(path), cwd, entry.env)
    if found is not None and install:
        return found
    raise package.not_found(found, f"{entry.title} is not installed here. Install it: {entry.install}")


def _plain(entry: KnownAgent, argv: tuple[str, ...], older: ResolvedCommand | None) -> ResolvedCommand:
    return ResolvedCommand(
        name=entry.name,
        argv=argv,
        how="installed",
        identity=shlex.join(argv),
        env=entry.env,
        older=older,
    )


class Package(Struct, frozen=True):
    """An agent that npx or uvx can run."""

    name: str
    npm: str | None
    pypi: str | None
    command: tuple[str, ...]
    python: str | None = None

    def resolve(self, launchers: Launchers, cwd: str, env: Mapping[str, str]) -> ResolvedCommand | None:
        if self.npm is not None and launchers.npx is not None:
            argv = npx_command(launchers.npx, self.npm, self.command, cwd)
            folder, how = SAFE_FOLDER, "npx"
        elif self.pypi is not None and launchers.uvx is not None:
            argv = uvx_command(launchers.uvx, self.pypi, self.command, self.python)
            folder, how = None, "uvx"
        else:
            return None
        identity = shlex.join([how, self.npm or self.pypi or "", *self.command])
        return ResolvedCommand(name=self.name, argv=argv, how=how, identity=identity, env=env, folder=folder)

    def not_found(self, found: ResolvedCommand | None, text: str) -> AgentNotFound:
        if found is not None:
            text += f"\nOr let {found.how} fetch and run it: acp.connect({self.name!r}, install=True)"
            return NeedsInstall(
                text, name=self.name, way=f"{found.how} {self.npm or self.pypi}", runs=self._typed(found.how)
            )
        if self.npm is not None:
            text += f"\nThere is no Node on this machine: {NODE_EXTRA}"
            text += f", then acp.connect({self.name!r}, install=True)"
        elif self.pypi is not None:
            text += f"\nThere is no uv on this machine: {UV_LINE}"
            text += f", then acp.connect({self.name!r}, install=True)"
        return AgentNotFound(text)

    def _typed(self, how: str) -> str:
        """The command as a user would type it."""
        if how == "npx":
            return shlex.join(typed_npx(self.npm or "", self.command))
        return shlex.join(uvx_command(("uvx",), self.pypi or "", self.command, self.python))


# ---- the user's own -----------------------------------------------------------------------------


def _own(entry: OwnAgent, path: str | None, cwd: str, install: bool) -> ResolvedCommand:
    if entry.by_hand is not None:
        raise AgentNotFound(f"{entry.name}: {entry.by_hand}")
    if entry.npx is not None or entry.uvx is not None:
        return _own_package(entry, path, cwd, install)
    if entry.url is not None:
        raise UsageError(f"the agent {entry.name} has an address and no command")
    command = find_command(os.path.expanduser(entry.command[0]), path)
    if command is None:
        raise AgentNotFound(
            f"the agent {entry.name} in your file needs the command {shown(entry.command[0])!r}, "
            "which is not on the PATH: install it, or give its full path"
        )
    argv = (command, *entry.command[1:])
    return ResolvedCommand(
        name=entry.name,
        argv=argv,
        how=entry.source,
        identity=shlex.join(argv),
        env=entry.env,
        secrets=entry.env,
        cwd=entry.cwd,
        mcp_servers=entry.mcp_servers,
    )


def _own_package(entry: OwnAgent, path: str | None, cwd: str, install: bool) -> ResolvedCommand:
    package = Package(entry.name, entry.npx, entry.uvx, entry.command)
    found = package.resolve(find_launchers(path), entry.cwd or cwd, entry.env)
    if found is None or not install:
        raise package.not_found(found, f"{entry.name} is a package, which is only fetched with your consent.")
    return replace(found, secrets=entry.env, cwd=entry.cwd, mcp_servers=entry.mcp_servers)


# ---- words --------------------------------------------------------------------------------------


def _words(agent: str | Sequence[str]) -> list[str]:
    if isinstance(agent, str):
        try:
            words = shlex.split(agent)
        except ValueError as error:
            raise UsageError(f"the agent's command line {agent!r} cannot be read: {error}") from None
    else:
        words = list(agent)
    if not words or not words[0] or not all(isinstance(word, str) for word in words):
        raise UsageError("name an agent: a known name, a command line, or a list of words")
    return words


def suggestion(name: str, own: Iterable[str] = ()) -> str | None:
    """The known or own name that the user probably meant."""
    aliases = {alias: entry.name for entry in AGENTS for alias in entry.aliases}
    candidates = [*names(own), *aliases]
    import difflib  # import it only if needed

    close = difflib.get_close_matches(name.lower(), candidates, n=1, cutoff=CLOSE_ENOUGH)
    return aliases.get(close[0], close[0]) if close else None


def _not_found(name: str, own: Iterable[str]) -> str:
    if re.match(r"(?:wss?|https?):|[\w.-]+:\d+(?:[/?]|$)", name, re.IGNORECASE):
        return (
            f"no command {shown(name.partition('?')[0])!r} on the PATH. If this is the address of a server, "
            "write it as wss://host/acp or https://host/acp, on this machine also as ws://localhost:3000/acp."
        )
    text = f"no command {shown(name)!r} on the PATH."
    if (entry := find_agent(name)) is not None:
        return f"{text} To install {entry.title}: {entry.install}"
    close = suggestion(name, own)
    if close is not None:
        text += f" Did you mean {close!r}?"
    return f"{text} acp.agents() lists the known agents; you can also give the full path of a command."
