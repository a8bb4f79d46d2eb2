"""Loads the settings in force: the user's file, and the project's file if the user trusts it.

Reads and checks files; starts nothing. An error in the user's file is always reported; an untrusted project
file is not even parsed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from ..agent.files.user_files import read_json, read_own
from ..agent.known_agents import catalog
from ..agent.known_agents.catalog_data import AGENTS
from ..agent.locked_file import Untrusted
from ..agent.permissions.consent_store import ConsentStore
from ..agent.permissions.project_file import ProjectFile, find_project_file, read_project_file
from ..agent.user_dirs import config_folder
from ..core.kernel_tools.options import OFF, ToolOptions
from ..core.mcp import McpServer
from ..core.registry import agents_of
from ..core.rules import NO_JUDGE, Judge
from ..core.settings import OwnAgent, Problem, Settings, allowing, read_settings, tightening
from ..core.visible import shown
from ..errors import Error, UsageError
from ..log import logger
from ..notebook.kernel import where

_log = logger(__name__)

FILE_NAME = "config.toml"
IMPORTED_NAME = "imported_agents.json"


class ActiveSettings(Struct, frozen=True):
    """The settings that apply to one call of `connect`, with notices about them for the user."""

    agents: Mapping[str, OwnAgent] = field(default_factory=dict)
    servers: Mapping[str, McpServer] = field(default_factory=dict)
    always: tuple[str, ...] = ()
    agent: str | None = None
    judge: Judge = NO_JUDGE
    notices: tuple[str, ...] = ()
    tools: ToolOptions | None = None
    """Whether agents use the kernel, where a call does not say it."""


NOTHING = ActiveSettings()


class _RelativePaths(Struct, frozen=True):
    """Resolves the paths in a settings file relative to its folder."""

    folder: str

    def path(self, text: str) -> str:
        return os.path.realpath(os.path.join(self.folder, os.path.expanduser(text)))

    def command(self, text: str) -> str:
        return os.path.normpath(os.path.join(self.folder, os.path.expanduser(text))) if "/" in text else text


def config_path() -> Path:
    """The path of the user's settings file."""
    return config_folder() / FILE_NAME


def own_settings() -> Settings:
    """The user's settings. Raises UsageError with the line of what is wrong."""
    path = config_path()
    try:
        data = read_own(path)
    except Untrusted as error:
        raise UsageError(f"{path} is not used: {error}") from None
    settings = Settings() if data is None else parse(data, str(path), taken=catalog.BUILT_IN)
    return replace(settings, agents={**imported_agents(), **settings.agents})


def own_names() -> list[str]:
    """The names of the user's agents, for completion. A broken file offers none."""
    try:
        return list(own_settings().agents)
    except UsageError:
        _log.debug("the settings cannot be read", exc_info=True)
        return []


def imported_agents() -> dict[str, OwnAgent]:
    """The agents that the user imported from a registry."""
    try:
        kept = read_json(config_folder() / IMPORTED_NAME).get("agents", [])
    except Error as error:
        raise UsageError(str(error)) from None
    found, _ = agents_of({"agents": kept}, reserved_names())
    return found


def reserved_names() -> set[str]:
    """Names of built-in and known agents, which no imported or project agent may take."""
    return {*catalog.BUILT_IN, *(name for it in AGENTS for name in (it.name, *it.aliases))}


def in_force(
    cwd: str, own: Settings, trust_project: bool | str | None, broken: str | None = None
) -> ActiveSettings:
    """Combine the user's settings with the project's, if trusted. `broken` is added to the notices."""
    project, notices = _project(cwd, own, trust_project)
    return ActiveSettings(
        agents={**project.agents, **own.agents},
        servers={**project.servers, **own.servers},
        always=(*own.always, *project.always),
        agent=own.agent or project.agent,
        judge=Judge(own.rules, project.rules),
        notices=tuple(filter(None, [broken, *notices])),
        tools=OFF if project.tools == OFF else own.tools,  # a project can only switch them off
    )


# ---- a project's file ---------------------------------------------------------------------------


def _project(cwd: str, own: Settings, trust: bool | str | None) -> tuple[Settings, tuple[str, ...]]:
    path = find_project_file(cwd)
    if path is None or trust is False:
        return Settings(), ()
    try:
        file = read_project_file(path)
        refusal = _refusal(file, trust)
        if refusal is not None:
            return Settings(), (refusal,)
        return project_settings(file, own)
    except Error as error:  # a broken project file must not keep the user from working
        return Settings(), (shown(str(error), chars=600),)


def _refusal(file: ProjectFile, trust: bool | str | None) -> str | None:
    """Why the file is not used. None if the user trusts this content, and is here or said so."""
    name = shown(file.path, chars=400)
    if isinstance(trust, str):
        pinned = trust.removeprefix("sha256:").lower() == file.sha256
        return None if pinned else f"{name} is not used: its SHA-256 differs from trust_project="
    known = ConsentStore().trusted(file.path)
    if known != file.sha256:
        why = "its content has changed since you trusted it" if known else "you have not trusted it"
        how = "acp.trust(preview=True) shows what it would do, acp.trust() trusts it"
        return f"{name} is not used: {why}. {how}"
    if trust is not True and where().headless is not False:
        return f"{name} is not used in a headless run unless you pass trust_project=True"
    return None


def project_settings(file: ProjectFile, own: Settings) -> tuple[Settings, tuple[str, ...]]:
    """The settings in the file without its allow rules, and a notice if there were any."""
    settings = parse(file.data, file.path, taken={*reserved_names(), *own.agents})
    for name in settings.servers:
        if name in own.servers:
            raise UsageError(
                f"{file.path}: your own settings already have an MCP server {name!r}; rename this one"
            )
    agents = {name: replace(it, source="the project's") for name, it in settings.agents.items()}
    granted = allowing(settings.rules)
    notice = f"{shown(file.path, chars=400)} cannot allow anything; ignored: {', '.join(granted)}"
    rules = tightening(settings.rules)
    return replace(settings, agents=agents, rules=rules), (notice,) if granted else ()


# ---- TOML ---------------------------------------------------------------------------------------


def parse(data: bytes, path: str, *, taken: Collection[str] = ()) -> Settings:
    """The settings in a file. Raises UsageError with the line and key of what is wrong."""
    import tomllib  # import it only if needed: most users have no settings

    try:
        text = data.decode("utf-8")
        return read_settings(tomllib.loads(text), _RelativePaths(os.path.dirname(path)), taken=taken)
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from None
    except RecursionError:
        raise UsageError(f"{path} is nested too deeply") from None
    except Problem as error:
        line = _line_of(text, error.keys)
        at = f", line {line}" if line is not None else ""
        raise UsageError(f"{path}{at}, {'.'.join(error.keys)}: {error}") from None


def _line_of(text: str, keys: tuple[str, ...]) -> int | None:
    """The line of a key, or else of its table. A guess: tomllib reports no positions."""
    table, found = "", None
    wanted, around = ".".join(keys), ".".join(keys[:-1])
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line)
        if header:
            table = header[1].replace('"', "").replace("'", "").replace(" ", "")
        name = re.match(r"""\s*["']?([\w.-]+)["']?\s*=""", line)
        here = ".".join(filter(None, [table, name[1]])) if name and not header else table
        if here == wanted or here.startswith(f"{wanted}."):
            return number
        if found is None and around and here == around:
            found = number
    return found
