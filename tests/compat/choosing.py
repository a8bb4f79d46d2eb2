"""Resolves an agent's name, package or command line to how it is started. Knows no probe."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from acp_notebook.agent.known_agents import catalog
from acp_notebook.agent.processes.environment import agent_environment
from tests.compat import models
from tests.compat.agents import AGENTS, Entry
from tests.compat.install import NotInstalled, installed, npm_command
from tests.compat.probes.eof import INTRODUCTION

FORMS: tuple[tuple[str, ...], ...] = ((), ("--acp",), ("acp",), ("--experimental-acp",))
"""Arguments that make agents speak the protocol, tried in this order if none are given."""

TRIAL_S = 20.0


@dataclass(frozen=True)
class Places:
    """Where packages are installed, where else they may be found, and the Node that runs them."""

    cache: Path
    also_in: tuple[Path, ...] = ()
    node: Path | None = None

    @property
    def path(self) -> str:
        return models.search_path(*([self.node] if self.node else []))


@dataclass(frozen=True)
class Choice:
    """An agent that can be started."""

    name: str
    command: Sequence[str]
    env: Mapping[str, str]
    answers_scripts: bool = True
    version: str | None = None


def chosen(word: str, setup: models.Setup | None, url: str, home: Path, places: Places) -> Choice:
    """Installed if need be; raises NotInstalled."""
    known = AGENTS.get(word) or _in_catalog(word)
    entry = known or Entry(*_read(word))
    env = models.home(home, places.path) | (setup or entry.setup)(url, home)
    if not entry.package:
        found = catalog.resolve(list(entry.command), env["PATH"])
        more = catalog.demo_environment(env) if found.name in catalog.BUILT_IN else {}
        return Choice(word, found.argv, {**env, **found.env, **more}, entry.answers_scripts)
    package = installed(entry.package, places.cache, places.also_in)
    env["PATH"] = os.pathsep.join([str(package.bin), env["PATH"]])
    words = entry.command or (npm_command(package, entry.package.partition(":")[2]),)
    command = package.command(words, env["PATH"])
    if known is None and len(words) == 1:
        command = _answering(command, env, home)
    return Choice(word, command, env, entry.answers_scripts, package.version)


def _in_catalog(word: str) -> Entry | None:
    """A known agent, by its package."""
    known = catalog.find_agent(word)
    if known is None or known.name in AGENTS:
        return None if known is None else AGENTS[known.name]
    if known.npm is None and known.pypi is None:
        return Entry("", known.commands[0])
    return Entry(f"npm:{known.npm}" if known.npm else f"pypi:{known.pypi}", known.commands[0])


def _read(word: str) -> tuple[str, tuple[str, ...]]:
    """Split into package and command; for a package, the command is optional."""
    words = tuple(shlex.split(word))
    if not words:
        raise NotInstalled("name an agent")
    if not words[0].startswith(("npm:", "pypi:", "@")):
        return "", words
    package = words[0] if ":" in words[0] else f"npm:{words[0]}"
    kind, _, wanted = package.partition(":")
    program = wanted.rpartition("/")[2].partition("@")[0] if kind == "npm" else wanted.partition("==")[0]
    return package, (program, *words[1:]) if len(words) > 1 or kind == "pypi" else ()


def _answering(command: list[str], env: Mapping[str, str], cwd: Path) -> list[str]:
    """The first form of the command that introduces itself."""
    for form in FORMS:
        if _introduces_itself([*command, *form], env, cwd):
            return [*command, *form]
    tried = ", ".join(" ".join(form) or "no argument" for form in FORMS)
    raise NotInstalled(f"{Path(command[0]).name} does not introduce itself; tried: {tried}")


def _introduces_itself(command: list[str], env: Mapping[str, str], cwd: Path) -> bool:
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=agent_environment(os.environ, env, False),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(json.dumps(INTRODUCTION).encode() + b"\n", TRIAL_S)
    except subprocess.TimeoutExpired as running:
        said = running.stdout or b""
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.communicate()
    return b'"protocolVersion"' in said
