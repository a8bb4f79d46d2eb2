"""trust(): a project's file, shown, and its content trusted by the user.

Starts nothing and grants nothing: a trusted file may name agents and MCP servers, and tighten permissions.
(The module is not called "trust": importing it would put the module in the place of the function.)
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

WORDS_SHOWN = 10_000
"""Of one line."""


class ProjectTrust:
    """A project's file: what it would do, and whether just this content is trusted."""

    def __init__(self, file: ProjectFile, settings: Settings, left_out: tuple[str, ...]) -> None:
        self._file = file
        self._settings = settings
        self._left_out = left_out

    @property
    def path(self) -> str:
        return self._file.path

    @property
    def sha256(self) -> str:
        """Of the content that was read; `trust_project=` of `connect` takes it, too."""
        return self._file.sha256

    @property
    def trusted(self) -> bool:
        return ConsentStore().trusted(self.path) == self.sha256

    def revoke(self) -> None:
        """Trust it no longer; sessions that run are not changed."""
        ConsentStore().trust(self.path, None)

    def __repr__(self) -> str:
        lines = [f"  {line}" for line in self._lines()]
        return "\n".join([self._state(), *(lines or ["  (it says nothing)"]), *self._left_out])

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{escape(line)}</li>" for line in self._lines())
        left_out = "".join(f"<p>{escape(it)}</p>" for it in self._left_out)
        return f"<p>{escape(self._state())}</p><ul>{items or '<li>(it says nothing)</li>'}</ul>{left_out}"

    def _lines(self) -> Iterator[str]:
        """Whole, as far as anybody reads: what is cut out of a command could be the worst of it."""
        for what, name, words in self._rows():
            yield shown(f"{what} {name}: {words}", chars=WORDS_SHOWN)

    def _state(self) -> str:
        state = "trusted, until its content changes" if self.trusted else "not trusted: nothing of it is used"
        return f"{self.path} ({state})"

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        for agent in self._settings.agents.values():
            yield "agent", agent.name, _agent_words(agent)
        for server in self._settings.servers.values():
            given = "every agent gets " if server.name in self._settings.always else ""
            yield "MCP server", server.name, given + _server_words(server)
        if self._settings.agent is not None:
            yield "default", "agent", self._settings.agent
        rules = self._settings.rules
        for kind, word in rules.kinds.items():
            yield "rule", kind, word
        for rule in rules.rules:
            about = (rule.agent, rule.kind, rule.path, rule.command, rule.server, rule.tool)
            yield "rule", " ".join(filter(None, about)), rule.say
        if rules.default is not None:
            yield "rule", "all else", rules.default


def trust(
    path: str | os.PathLike[str] | None = None, *, preview: bool = False, sha256: str | None = None
) -> ProjectTrust:
    """Trust the content of a project's file (.acp_notebook.toml), as it is now.

    `path`: the file or its project's folder, by default the one that holds here. `preview` only shows what it
    would do. `sha256`: the content that you have seen; another one is an error. The trust is for the file's
    content, not for programs of the project that it names.
    """
    file = read_project_file(_place(path))
    if sha256 is not None and sha256.lower() != file.sha256:
        raise UsageError(f"{file.path} has another content by now (sha256 {file.sha256}): look at it again")
    settings, left_out = project_settings(file, own_settings())
    project = ProjectTrust(file, settings, left_out)
    if not preview:
        ConsentStore().trust(file.path, file.sha256)
    return project


def _place(path: str | os.PathLike[str] | None) -> str:
    given = Path(path if path is not None else os.getcwd()).expanduser()
    if given.is_dir():
        found = find_project_file(str(given))
        if found is None:
            raise UsageError(f"there is no {PROJECT_FILE} in {given}, nor above it in its repository")
        return found
    return os.path.join(os.path.realpath(given.parent), given.name)  # a link itself is not followed


def _agent_words(agent: OwnAgent) -> str:
    package = agent.npx or agent.uvx
    words = ["npx" if agent.npx else "uvx", package] if package else []
    where = f" in {agent.cwd}" if agent.cwd is not None else ""
    return " ".join([*_variables(agent.env), shlex.join([*words, *agent.command])]) + where


def _server_words(server: McpServer) -> str:
    if server.type == "stdio":
        return " ".join([*_variables(server.env), shlex.join([server.command, *server.args])])
    headers = f" with {', '.join(_hidden(server.headers))}" if server.headers else ""
    return f"{server.type} {server.url}{headers}"


def _variables(values: Mapping[str, str]) -> list[str]:
    """With their values: PATH, LD_PRELOAD and their like decide what a command does. Secrets are hidden."""
    return [
        f"{name}={shlex.quote(text)}" if not names_secret(name) else _hidden({name: text})[0]
        for name, text in values.items()
    ]


def _hidden(values: Mapping[str, str]) -> list[str]:
    """Names without their values, but with the variables of the user's that would be put in."""
    return [
        f"{name}={''.join(f'${{{it}}}' for it in references(text)) or '…'}" for name, text in values.items()
    ]
