"""From what the user calls an agent to the command that starts it.

Knows the built-in agent by name; anything else is a command on the PATH, as a line or as a list.
"""

from __future__ import annotations

import difflib
import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import AgentNotFound, UsageError

BUILT_IN = ("demo",)
DEMO = (sys.executable, "-m", "acp_notebook.demo")


def resolve(agent: str | Sequence[str], path: str | None) -> tuple[str, tuple[str, ...]]:
    """The name to show, and the whole command; raises AgentNotFound with what to do."""
    words = _words(agent)
    name = words[0]
    if name in BUILT_IN and len(words) == 1:
        return name, DEMO
    found = shutil.which(name, path=path)
    if found is None:
        raise AgentNotFound(_not_found(name))
    return os.path.basename(name), (found, *words[1:])


def identity(argv: Sequence[str]) -> str:
    """What grants go by: the built-in agent's name, else the whole command. A name alone is anybody's."""
    return BUILT_IN[0] if tuple(argv) == DEMO else shlex.join(argv)


def demo_environment(base: Mapping[str, str]) -> dict[str, str]:
    """What the built-in agent needs to find this package, also where it is not installed."""
    package = str(Path(__file__).resolve().parents[2])
    return {"PYTHONPATH": os.pathsep.join(filter(None, [package, base.get("PYTHONPATH")]))}


def _words(agent: str | Sequence[str]) -> list[str]:
    if isinstance(agent, str):
        try:
            words = shlex.split(agent)
        except ValueError as error:
            raise UsageError(f"the agent's command line {agent!r} cannot be read: {error}") from None
    else:
        words = list(agent)
    if not words or not words[0] or not all(isinstance(word, str) for word in words):
        raise UsageError("name an agent: a known name, a command line, or a list of words")
    return words


def _not_found(name: str) -> str:
    text = f"no command {name!r} on the PATH. Install the agent, or give its command with its whole path."
    close = difflib.get_close_matches(name, BUILT_IN, n=1)
    return f"{text} Did you mean {close[0]!r}?" if close else f"{text} 'demo' is built in."
