"""The settings that are in force: the user's file, and a project's that the user has trusted.

Reads files and judges them; starts nothing. A broken file of the user's is told, never passed over; an
untrusted one of a project's is not even looked into.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..agent.files.user_files import Untrusted, config_folder, read_json, read_own
from ..agent.known_agents import catalog
from ..agent.known_agents.catalog_data import AGENTS
from ..agent.permissions.consent_store import ConsentStore
from ..agent.permissions.project_file import ProjectFile, find_project_file, read_project_file
from ..core.mcp import McpServer
from ..core.registry import agents_of
from ..core.rules import NO_JUDGE, Judge
from ..core.settings import OwnAgent, Problem, Settings, allowing, read_settings, tightening
from ..core.visible import shown
from ..errors import Error, UsageError
from ..notebook.kernel import where

FILE_NAME = "config.toml"
IMPORTED_NAME = "imported_agents.json"


@dataclass(frozen=True, slots=True)
class ActiveSettings:
    """What holds for one call of `connect`, and what the user should be told about it."""

    agents: Mapping[str, OwnAgent] = field(default_factory=dict)
    servers: Mapping[str, McpServer] = field(default_factory=dict)
    always: tuple[str, ...] = ()
    agent: str | None = None
    judge: Judge = NO_JUDGE
    notices: tuple[str, ...] = ()


NOTHING = ActiveSettings()


@dataclass(frozen=True, slots=True)
class _Places:
    """Paths in a file begin in its folder."""

    folder: str

    def path(self, text: str) -> str:
        return os.path.realpath(os.path.join(self.folder, os.path.expanduser(text)))

    def command(self, text: str) -> str:
        return os.path.normpath(os.path.join(self.folder, os.path.expanduser(text))) if "/" in text else text


def config_path() -> Path:
    """The user's file."""
    return config_folder() / FILE_NAME


def own_settings() -> Settings:
    """The user's; raises UsageError that says what is wrong in which line."""
    path = config_path()
    try:
        data = read_own(path)
    except Untrusted as error:
        raise UsageError(f"{path} is not used: {error}") from None
    settings = Settings() if data is None else parsed(data, str(path), taken=catalog.BUILT_IN)
    return replace(settings, agents={**imported_agents(), **settings.agents})


def own_names() -> list[str]:
    """Of the user's agents, for completion: there, a broken file only offers less."""
    try:
        return list(own_settings().agents)
    except UsageError:
        return []


def imported_agents() -> dict[str, OwnAgent]:
    """Those of a registry that the user imported."""
    try:
        kept = read_json(config_folder() / IMPORTED_NAME).get("agents", [])
    except Error as error:
        raise UsageError(str(error)) from None
    found, _ = agents_of({"agents": kept}, reserved_names())
    return found


def reserved_names() -> set[str]:
    """Names that mean an agent of ours, whatever a file says."""
    return {*catalog.BUILT_IN, *(name for it in AGENTS for name in (it.name, *it.aliases))}


def in_force(
    cwd: str, own: Settings, trust_project: bool | str | None, broken: str | None = None
) -> ActiveSettings:
    """The user's settings, and on top of them the project's, where it may be; `broken` is told, too."""
    project, notices = _project(cwd, own, trust_project)
    return ActiveSettings(
        agents={**project.agents, **own.agents},
        servers={**project.servers, **own.servers},
        always=(*own.always, *project.always),
        agent=own.agent or project.agent,
        judge=Judge(own.rules, project.rules),
        notices=tuple(filter(None, [broken, *notices])),
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
    except Error as error:  # a project's fault is no reason to stop the user
        return Settings(), (shown(str(error), chars=600),)


def _refusal(file: ProjectFile, trust: bool | str | None) -> str | None:
    """Why nothing of the file is used; None: the user trusts just this content, and is here or said so."""
    name = shown(file.path, chars=400)
    if isinstance(trust, str):
        pinned = trust.removeprefix("sha256:").lower() == file.sha256
        return None if pinned else f"{name} is not used: its content is not that of trust_project="
    known = ConsentStore().trusted(file.path)
    if known != file.sha256:
        why = "its content has changed since you trusted it" if known else "you have not trusted it"
        how = "acp.trust(preview=True) shows what it would do, acp.trust() trusts it"
        return f"{name} is not used: {why}. {how}"
    if trust is not True and where().headless is not False:
        return f"{name} is not used in a headless run; trust_project=True says that it may be"
    return None


def project_settings(file: ProjectFile, own: Settings) -> tuple[Settings, tuple[str, ...]]:
    """What the file says, less what no project may say; and what to tell about that."""
    settings = parsed(file.data, file.path, taken={*reserved_names(), *own.agents})
    for name in settings.servers:
        if name in own.servers:
            raise UsageError(f"{file.path}: mcp_servers.{name} is the name of a server of yours; rename it")
    agents = {name: replace(it, source="the project's") for name, it in settings.agents.items()}
    granted = allowing(settings.rules)
    told = (f"{shown(file.path, chars=400)} cannot allow anything; left out: {', '.join(granted)}",)
    rules = tightening(settings.rules)
    return replace(settings, agents=agents, rules=rules), told if granted else ()


# ---- TOML ---------------------------------------------------------------------------------------


def parsed(data: bytes, path: str, *, taken: Collection[str] = ()) -> Settings:
    """The settings of a file; raises UsageError that says where what is wrong."""
    try:
        text = data.decode("utf-8")
        return read_settings(tomllib.loads(text), _Places(os.path.dirname(path)), taken=taken)
    except UnicodeDecodeError:
        raise UsageError(f"{path}: this is no text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: this is no TOML: {error}") from None
    except RecursionError:
        raise UsageError(f"{path}: this is nested too deeply") from None
    except Problem as error:
        line = _line_of(text, error.keys)
        at = f", line {line}" if line is not None else ""
        raise UsageError(f"{path}{at}, {'.'.join(error.keys)}: {error}") from None


def _line_of(text: str, keys: tuple[str, ...]) -> int | None:
    """Where a key stands, as far as one can tell without the parser: in its table, else its table itself."""
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
