"""trust(): shows a project's settings file and records that the user trusts its content.

Starts nothing and grants nothing: a trusted file may add agents and MCP servers, and tighten permissions.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

from ..agent.permissions.consent_store import ConsentStore
from ..agent.permissions.project_file import (
    PROJECT_FILE,
    ProjectFile,
    find_project_file,
    read_project_file,
)
from ..core.mcp import McpServer, references
from ..core.settings import OwnAgent, Settings
from ..core.variables import names_secret
from ..core.visible import shown
from ..errors import UsageError
from .config import own_settings, project_settings

MAX_LINE_CHARS = 10_000


class ProjectTrust:
    """A project's settings file: what it would do, and whether its present content is trusted."""

    def __init__(self, file: ProjectFile, settings: Settings, left_out: tuple[str, ...]) -> None:
        self._file = file
        self._settings = settings
        self._left_out = left_out

    @property
    def path(self) -> str:
        return self._file.path

    @property
    def sha256(self) -> str:
        """The hash of the content that was read; `connect` accepts it as `trust_project=`."""
        return self._file.sha256

    @property
    def trusted(self) -> bool:
        return ConsentStore().trusted(self.path) == self.sha256

    def revoke(self) -> None:
        """Stop trusting the file. Running sessions are not affected."""
        ConsentStore().trust(self.path, None)

    def __repr__(self) -> str:
        lines = [f"  {line}" for line in self._lines()]
        return "\n".join([self._state(), *(lines or ["  (no settings)"]), *self._left_out])

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{escape(line)}</li>" for line in self._lines())
        left_out = "".join(f"<p>{escape(it)}</p>" for it in self._left_out)
        return f"<p>{escape(self._state())}</p><ul>{items or '<li>(no settings)</li>'}</ul>{left_out}"

    def _lines(self) -> Iterator[str]:
        """Commands in full, up to a generous limit: the part cut off could be the harmful one."""
        for what, name, description in self._rows():
            yield shown(f"{what} {name}: {description}", chars=MAX_LINE_CHARS)

    def _state(self) -> str:
        state = "trusted, until its content changes" if self.trusted else "not trusted, so not used"
        return f"{self.path} ({state})"

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        for agent in self._settings.agents.values():
            yield "agent", agent.name, _describe_agent(agent)
        for server in self._settings.servers.values():
            audience = "for every agent: " if server.name in self._settings.always else ""
            yield "MCP server", server.name, audience + _describe_server(server)
        if self._settings.agent is not None:
            yield "default", "agent", self._settings.agent
        rules = self._settings.rules
        for kind, word in rules.kinds.items():
            yield "rule", kind, word
        for rule in rules.rules:
            about = (rule.agent, rule.kind, rule.path, rule.command, rule.server, rule.tool)
            yield "rule", " ".join(filter(None, about)), rule.say
        if rules.default is not None:
            yield "rule", "everything else", rules.default


def trust(
    path: str | os.PathLike[str] | None = None, *, preview: bool = False, sha256: str | None = None
) -> ProjectTrust:
    """Trust the present content of a project's settings file (.acp_notebook.toml).

    `path`: the file or the project's folder; by default the file that applies to the current folder.
    `preview`: only show what the file would do. `sha256`: the hash of the content that you reviewed; raises
    if the file differs. Trust applies to the content of the file, not to the programs that it names.
    """
    file = read_project_file(_locate(path))
    if sha256 is not None and sha256.lower() != file.sha256:
        raise UsageError(f"{file.path} has changed (its sha256 is {file.sha256}): review it again")
    settings, left_out = project_settings(file, own_settings())
    project = ProjectTrust(file, settings, left_out)
    if not preview:
        ConsentStore().trust(file.path, file.sha256)
    return project


def _locate(path: str | os.PathLike[str] | None) -> str:
    given = Path(path if path is not None else os.getcwd()).expanduser()
    if given.is_dir():
        found = find_project_file(str(given))
        if found is None:
            raise UsageError(f"there is no {PROJECT_FILE} in {given} or above it in its repository")
        return found
    # Resolve the folder, but not a link at the end.
    return os.path.join(os.path.realpath(given.parent), given.name)


def _describe_agent(agent: OwnAgent) -> str:
    if agent.url is not None:
        texts = {
            name: it if isinstance(it, str) else f"${{{it['env']}}}" for name, it in agent.headers.items()
        }
        headers = f" with {', '.join(_hidden(texts))}" if texts else ""
        flags = "".join(f", {name}" for name in ("insecure", "shared") if getattr(agent, name))
        return f"connects to {agent.url}{headers} in {agent.cwd or '(the folder of the call)'}{flags}"
    package = agent.npx or agent.uvx
    words = ["npx" if agent.npx else "uvx", package] if package else []
    where = f" in {agent.cwd}" if agent.cwd is not None else ""
    return " ".join([*_variables(agent.env), shlex.join([*words, *agent.command])]) + where


def _describe_server(server: McpServer) -> str:
    if server.type == "stdio":
        return " ".join([*_variables(server.env), shlex.join([server.command, *server.args])])
    headers = f" with {', '.join(_hidden(server.headers))}" if server.headers else ""
    return f"{server.type} {server.url}{headers}"


def _variables(values: Mapping[str, str]) -> list[str]:
    """Variables with their values: PATH or LD_PRELOAD decide what a command does. Secrets are hidden."""
    return [
        f"{name}={shlex.quote(text)}" if not names_secret(name) else _hidden({name: text})[0]
        for name, text in values.items()
    ]


def _hidden(values: Mapping[str, str]) -> list[str]:
    """Names without values, but with the ${VARIABLES} that their values would expand."""
    return [
        f"{name}={''.join(f'${{{it}}}' for it in references(text)) or '…'}" for name, text in values.items()
    ]
