"""Reads the JSON of the official registry: packages for npx and uvx, and binaries to install by hand.

Pure: fetches nothing and looks up nothing. Invalid entries, and entries with the name of a known agent, are
left out and reported.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from .patterns import pattern
from .settings import OwnAgent, Problem, check_package, command_of
from .visible import shown

MOST_AGENTS = 2000
"""The registry has about forty."""

MOST_WORDS = 100
LONGEST = 2000
"""Limits for the number of words in a command, and for the length of a text."""

_ID = pattern(r"[a-z0-9][a-z0-9._-]{0,63}")

LOADERS = pattern(r"(LD_|DYLD_|NODE_OPTIONS|PYTHON|PATH$|BASH_ENV|ENV$|npm_config|NPM_CONFIG|UV_)")
"""Variables that decide which code runs: a registry must not set them."""


def agents_of(value: Any, reserved: Collection[str]) -> tuple[dict[str, OwnAgent], dict[str, str]]:
    """The agents by name, and why others were left out; raises ValueError if it is not a registry."""
    entries = value.get("agents") if isinstance(value, Mapping) else None
    if not isinstance(entries, list):
        raise ValueError('not a registry of agents: it has no list "agents"')
    if len(entries) > MOST_AGENTS:
        raise ValueError(f"this registry has more than {MOST_AGENTS} agents")
    found: dict[str, OwnAgent] = {}
    left: dict[str, str] = {}
    for number, entry in enumerate(entries, 1):
        name = entry.get("id") if isinstance(entry, Mapping) else None
        if not isinstance(name, str) or not _ID.fullmatch(name):
            left[f"entry {number}"] = "it has no id: small letters, digits, - _ and ."
        elif name in reserved:
            left[name] = "known already"
        elif name in found:
            left[name] = "it is listed twice"
        else:
            try:
                found[name] = _agent(name, entry.get("distribution"))
            except ValueError as error:
                left[name] = shown(str(error), chars=300)
    return found, left


def _agent(name: str, ways: Any) -> OwnAgent:
    if not isinstance(ways, Mapping):
        raise ValueError("it has no distribution")
    for launcher in ("npx", "uvx"):
        if launcher in ways:
            return _package(name, launcher, ways[launcher])
    binary = ways.get("binary")
    if not isinstance(binary, Mapping) or not binary:
        raise ValueError("it comes neither by npx nor by uvx nor as a binary")
    systems = ", ".join(sorted(shown(str(it), chars=30) for it in list(binary)[:20]))
    advice = f"install by hand: it comes as a binary ({systems}); then give its command to acp.connect"
    return OwnAgent(name=name, source="imported", by_hand=advice)


def _package(name: str, launcher: str, value: Any) -> OwnAgent:
    if not isinstance(value, Mapping):
        raise ValueError(f"its {launcher} is not an object")
    try:
        package = check_package(value.get("package"), launcher)
    except Problem as error:
        raise ValueError(str(error)) from None
    command = value.get("cmd") or command_of(package)
    args = value.get("args") or []
    if not isinstance(command, str) or not re.fullmatch(r"[\w@.][\w@.-]*", command):
        raise ValueError("its cmd is not the name of a command")
    if not isinstance(args, list) or len(args) > MOST_WORDS or not all(map(_is_text, args)):
        raise ValueError("its args are not a list of texts")
    return OwnAgent(
        name=name,
        source="imported",
        npx=package if launcher == "npx" else None,
        uvx=package if launcher == "uvx" else None,
        command=(command, *args),
        env=_env(value.get("env") or {}),
    )


def _env(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping) or len(value) > MOST_WORDS:
        raise ValueError("its env is not an object")
    for variable, text in value.items():
        if not isinstance(variable, str) or not re.fullmatch(r"[A-Za-z_]\w*", variable) or not _is_text(text):
            raise ValueError("its env is not an object of texts")
        if LOADERS.match(variable):
            raise ValueError(f"it wants to set {variable}, which decides what code runs")
    return dict(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST and "\0" not in value
