"""agents(): a table of the known agents, where each is installed, and what is missing.

Starts no agent and fetches nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from html import escape

from .._version import __version__
from ..agent.known_agents import catalog
from ..agent.known_agents.catalog_data import AGENTS, KnownAgent
from ..agent.known_agents.launchers import Launchers, find_command, find_launchers
from ..agent.known_agents.versions import installed_version
from ..agent.processes.environment import agent_environment
from ..core.agent_url import read_url
from ..core.settings import OwnAgent
from ..core.tables import html_table, text_table
from ..core.visible import shown
from ..errors import UsageError
from .config import own_settings

HEAD = ("agent", "found", "version", "missing", "install")

ASKED_AT_ONCE = 8
"""How many programs are asked for their version at the same time."""

NONE_INSTALLED = (
    'No agent is installed yet. acp.connect("demo") starts the built-in one, which shows what agents can do. '
    "To install another one, run its install command in a terminal"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRecord:
    """An agent that `connect` knows by name. `missing` and `install` are empty if nothing is missing."""

    name: str
    title: str
    found: str
    """A path, "built in", or empty."""
    version: str | None = None
    missing: str = ""
    install: str = ""
    aliases: tuple[str, ...] = ()
    command: tuple[str, ...] = field(default=(), repr=False)
    sign_in: str = ""
    checked: str = ""
    """How the entry was verified: "ran", "package" or "documents"; empty for your own agents."""

    @property
    def ready(self) -> bool:
        return bool(self.found)


class Agents:
    """A table and sequence of agents. Versions are looked up on first use."""

    def __init__(self, own: Mapping[str, OwnAgent] | None = None, warning: str | None = None) -> None:
        self._env = agent_environment(os.environ)
        path = self._env.get("PATH")
        self._launchers = find_launchers(path)
        self.warning = warning
        """What is wrong with your settings file."""
        mine = [_own(it, path) for it in (own or {}).values()]
        all_known = [_known(it, path, self._launchers) for it in AGENTS if it.name not in (own or {})]
        ready = [it for it in all_known if it.ready]
        self._records = [_DEMO, *mine, *ready, *(it for it in all_known if not it.ready)]
        self._versioned: list[AgentRecord] | None = None

    def __iter__(self) -> Iterator[AgentRecord]:
        return iter(self._with_versions())

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, name: object) -> bool:
        return any(name == it.name or name in it.aliases for it in self._records)

    def __getitem__(self, name: str) -> AgentRecord:
        found = next((it for it in self if name == it.name or name in it.aliases), None)
        if found is None:
            close = catalog.suggestion(name, (it.name for it in self._records))
            raise UsageError(f"no agent {name!r}" + (f"; did you mean {close!r}?" if close else ""))
        return found

    def __repr__(self) -> str:
        table = text_table(HEAD, map(_row, self))
        return "\n".join([table, "", *self._notes()])

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{escape(note)}</p>" for note in self._notes())
        return html_table(HEAD, map(_row, self)) + notes

    def _notes(self) -> Iterator[str]:
        if self.warning is not None:
            yield f"⚠ {shown(self.warning, chars=500)}"
        known_ready = any(it.ready for it in self._records if it is not _DEMO)
        start = "acp.connect(NAME) starts one" if known_ready else NONE_INSTALLED
        with_npx = any("npx" in it.missing for it in self._records)
        yield start + (
            "; acp.connect(NAME, install=True) lets npx or uvx fetch and run it." if with_npx else "."
        )
        if self._launchers.npx is None:
            yield f"Node is not installed; some agents need it. {catalog.NODE_EXTRA} installs it."

    def _with_versions(self) -> list[AgentRecord]:
        if self._versioned is None:
            with ThreadPoolExecutor(ASKED_AT_ONCE, "acp-version") as pool:
                versions = list(pool.map(self._version, self._records))
            self._versioned = [
                replace(it, version=found) for it, found in zip(self._records, versions, strict=True)
            ]
        return self._versioned

    def _version(self, record: AgentRecord) -> str | None:
        entry = catalog.find_agent(record.name)
        if entry is None or not record.command:  # your own agent may not know --version
            return record.version
        return installed_version(record.command[0], entry.npm, entry.pypi, self._env)


_DEMO = AgentRecord(name="demo", title="the built-in agent", found="built in", version=__version__)


def _known(entry: KnownAgent, path: str | None, launchers: Launchers) -> AgentRecord:
    argv = catalog.find_installed(entry, path)
    return AgentRecord(
        name=entry.name,
        title=entry.title,
        found=argv[0] if argv is not None else "",
        missing=_sign_in(entry) if argv is not None else _missing(entry, launchers),
        install="" if argv is not None else entry.install,
        aliases=entry.aliases,
        command=argv or (),
        sign_in=entry.sign_in,
        checked=entry.checked,
    )


def _missing(entry: KnownAgent, launchers: Launchers) -> str:
    if entry.npm is not None:
        return "not installed; npx can run it" if launchers.npx else "not installed; needs Node"
    if entry.pypi is not None:
        return "not installed; uvx can run it" if launchers.uvx else "not installed; needs uv"
    return "not installed"


def _sign_in(entry: KnownAgent) -> str:
    """A hint about the sign-in; empty if one of its environment variables is set."""
    if any(os.environ.get(name) for name in re.findall(r"\b[A-Z]+_[A-Z_]+\b", entry.sign_in)):
        return ""
    return f"may need a sign-in: {entry.sign_in}" if entry.sign_in else ""


def _own(entry: OwnAgent, path: str | None) -> AgentRecord:
    title, missing = f"{entry.source}", ""
    if entry.by_hand is not None:
        found, missing = "", entry.by_hand
    elif entry.url is not None:
        found = _shown_address(entry)
    elif entry.npx is not None or entry.uvx is not None:
        found, missing = "", f"not installed; {'npx' if entry.npx else 'uvx'} can run it"
    else:
        found = find_command(os.path.expanduser(entry.command[0]), path) or ""
        missing = "" if found else f"{shown(entry.command[0])!r} is not on the PATH"
    return AgentRecord(name=entry.name, title=title, found=found, missing=missing)


def _shown_address(entry: OwnAgent) -> str:
    try:
        return read_url(entry.url or "", insecure=entry.insecure).identity
    except ValueError:  # the settings were checked, so this does not happen
        return "an address"


def _row(it: AgentRecord) -> tuple[str, ...]:
    found = it.found
    home = os.path.expanduser("~")
    if home != "/" and found.startswith(f"{home}/"):
        found = f"~{found[len(home) :]}"
    return (it.name, found or "no", it.version or "", it.missing, it.install)


def agents() -> Agents:
    """A table of the agents that `connect` knows by name: where installed, which version, what is missing."""
    try:
        return Agents(own_settings().agents)
    except UsageError as error:
        return Agents(warning=f"Your settings are not used: {error}")
