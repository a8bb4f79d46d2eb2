"""trust(): a project's file, shown, and its content trusted by the user.

Starts nothing and grants nothing: a trusted file may name agents and MCP servers, and tighten permissions.
(The module is not called "trust": importing it would put the module in the place of the function.)
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from .agent.decisions import Decisions
from .agent.project_file import PROJECT_FILE, ProjectFile, find_project_file, read_project_file
from .config import own_settings, project_settings
from .core.mcp import McpServer
from .core.settings import OwnAgent, Settings
from .core.tables import html_table, text_table
from .errors import UsageError

HEAD = ("what", "name", "is")


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
        return Decisions().trusted(self.path) == self.sha256

    def revoke(self) -> None:
        """Trust it no longer; sessions that run are not changed."""
        Decisions().trust(self.path, None)

    def __repr__(self) -> str:
        rows = list(self._rows())
        table = text_table(HEAD, rows) if rows else "(it says nothing)"
        return "\n".join([self._state(), table, *self._left_out])

    def _repr_html_(self) -> str:
        from html import escape

        rows = list(self._rows())
        table = html_table(HEAD, rows) if rows else "<p>(it says nothing)</p>"
        return f"<p>{escape(self._state())}</p>{table}" + "".join(
            f"<p>{escape(it)}</p>" for it in self._left_out
        )

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
            about = (rule.agent, rule.kind, rule.path, rule.command)
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
    shown = ProjectTrust(file, settings, left_out)
    if not preview:
        Decisions().trust(file.path, file.sha256)
    return shown


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
    variables = [f"{name}=…" for name in agent.env]
    return shlex.join([*variables, *words, *agent.command])


def _server_words(server: McpServer) -> str:
    if server.type == "stdio":
        return shlex.join([*(f"{name}=…" for name in server.env), server.command, *server.args])
    headers = f" with {', '.join(server.headers)}" if server.headers else ""
    return f"{server.type} {server.url}{headers}"
