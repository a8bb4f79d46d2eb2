"""Which command is started for what the user calls an agent; asks before anything is fetched.

Starts nothing itself.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..agent.known_agents import catalog
from ..agent.known_agents.catalog import NeedsInstall, ResolvedCommand
from ..agent.known_agents.launchers import find_launchers
from ..agent.permissions.consent_store import ConsentStore
from ..core.settings import OwnAgent
from ..notebook.kernel import where


def choose(
    agent: str | Sequence[str],
    path: str | None,
    *,
    args: Sequence[str] = (),
    cwd: str,
    own: Mapping[str, OwnAgent] | None = None,
    install: bool | None = None,
) -> ResolvedCommand:
    """The command; a package that is not installed is run only with the user's consent."""
    try:
        return _with(catalog.resolve(agent, path, cwd=cwd, own=own), args)
    except NeedsInstall as missing:
        if not _consents(missing, install):
            raise
    return _with(catalog.resolve(agent, path, cwd=cwd, own=own, install=True), args)


def _with(found: ResolvedCommand, args: Sequence[str]) -> ResolvedCommand:
    """With more arguments it is another command, also for what was allowed to it."""
    if not args:
        return found
    argv = (*found.argv, *args)
    older = None if found.older is None else _with(found.older, args)
    return replace(found, argv=argv, identity=shlex.join(argv), older=older)


def completed(
    found: ResolvedCommand, environment: Mapping[str, str], asked: Mapping[str, str]
) -> dict[str, str]:
    """The environment, with what this agent needs; what the call `asked` for wins."""
    whole = {**environment, **found.env, **asked}
    if found.name in catalog.BUILT_IN:
        whole |= catalog.demo_environment(whole)
    node = find_launchers(whole.get("PATH")).node_folder
    if node is not None:  # behind all else: it is for the machine that has none
        whole["PATH"] = os.pathsep.join(filter(None, [whole.get("PATH"), node]))
    return whole


def _consents(missing: NeedsInstall, install: bool | None) -> bool:
    """By the call, by an earlier "always", or now, where somebody can be asked."""
    if install is not None:
        return install
    decisions = ConsentStore()
    if missing.way in decisions.packages():
        return True
    if not where().can_input:
        return False
    launcher, package = missing.way.split(" ", 1)
    print(f"{missing.name} is not installed here. {launcher} can fetch {package} and run it.")
    said = input("Run it? (y: this time, a: always, anything else: no) ").strip().lower()
    if said in ("a", "always"):
        decisions.allow_package(missing.way)
    return said in ("a", "always", "y", "yes")
