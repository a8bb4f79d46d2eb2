"""Scenes that tell about the agent's process, for tests of how it was started and how it ends.

Unlike the others they depend on the machine: that is what they are asked for.
"""

from __future__ import annotations

import os
import subprocess

from ..commands import Misuse, command
from ..turn import Turn

_spawned: list[
    subprocess.Popen[bytes]
] = []  # kept, so that Popen does not warn about a child that still runs


@command("env", "The value of an environment variable of the agent", "NAME")
async def env(turn: Turn, args: str) -> None:
    if not args:
        raise Misuse
    await turn.say(os.environ.get(args, "not set"))


@command("cwd", "The session's working directory")
async def cwd(turn: Turn, args: str) -> None:
    await turn.say(turn.session.cwd)


@command("pid", "The agent's process id")
async def pid(turn: Turn, args: str) -> None:
    await turn.say(f"pid {os.getpid()}")


@command("spawn", "Start two children that outlive the agent ('hold': they keep stdout open)", "[hold]")
async def spawn(turn: Turn, args: str) -> None:
    """They are never killed by the agent: whoever started the agent has to find them."""
    output = None if args == "hold" else subprocess.DEVNULL
    for own_session in (False, True):
        _spawned.append(
            subprocess.Popen(
                ["sleep", "300"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=own_session,
            )
        )
    await turn.say("pids {} {}".format(*(child.pid for child in _spawned[-2:])))
