"""Resolves an agent's name to the command that starts it, and asks before a package is fetched.

Starts no agent.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

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
    install: bool | str | None = None,
) -> ResolvedCommand:
    """Return the command. A package that is not installed is fetched and run only with the user's consent."""
    try:
        return _with_args(catalog.resolve(agent, path, cwd=cwd, own=own), args)
    except NeedsInstall as missing:
        if not _consents(missing, install):
            raise
    return _with_args(catalog.resolve(agent, path, cwd=cwd, own=own, install=True), args)


def _with_args(found: ResolvedCommand, args: Sequence[str]) -> ResolvedCommand:
    """Append arguments. This changes the identity, so that grants for the bare command do not apply."""
    if not args:
        return found
    argv = (*found.argv, *args)
    older = None if found.older is None else _with_args(found.older, args)
    return replace(found, argv=argv, identity=shlex.join(argv), older=older)


def completed(
    found: ResolvedCommand, environment: Mapping[str, str], asked: Mapping[str, str]
) -> dict[str, str]:
    """Add the variables that this agent needs to the environment. `asked`, from the call, wins."""
    whole = {**environment, **found.env, **asked}
    if found.name in catalog.BUILT_IN:
        whole |= catalog.demo_environment(whole)
    node = find_launchers(whole.get("PATH")).node_folder
    if node is not None:  # last on the PATH: only for a machine without Node
        whole["PATH"] = os.pathsep.join(filter(None, [whole.get("PATH"), node]))
    return whole


def _consents(missing: NeedsInstall, install: bool | str | None) -> bool:
    """Whether the user agreed: in the call, with an earlier "always", or now if `input()` is the only way.

    In a page, %acp_agent offers buttons instead: `input()` would hold the kernel.
    """
    if isinstance(install, str):
        return install == missing.way
    if install is not None:
        return install
    store = ConsentStore()
    if missing.way in store.packages():
        return True
    here = where()
    if here.headless is False or not here.can_input:
        return False
    launcher, package = missing.way.split(" ", 1)
    print(f"{missing.name} is not installed. {launcher} can download and run {package}: {missing.runs}")
    reply = input("Run it? (y: this time, a: always, anything else: no) ").strip().lower()
    if reply in ("a", "always"):
        store.allow_package(missing.way)
    return reply in ("a", "always", "y", "yes")
