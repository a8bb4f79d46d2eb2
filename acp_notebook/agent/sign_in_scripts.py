"""Scripts for signing in from a terminal: each runs the agent's own command and reports how it ended.

A command in a page, in a shell history or in a file must not contain secrets of the environment. Therefore
the user runs a script that gets the command and its environment from the kernel through a named pipe. Only
the user can open both files, and they are removed with the agent.
"""

from __future__ import annotations

import os
import select
import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from .. import timeouts
from ..log import logger, suppressed
from . import temporary_folders

_log = logger(__name__)

_OF_THE_TERMINAL = frozenset(
    {"TERM", "COLUMNS", "LINES", "SHLVL", "PWD", "OLDPWD", "_", "COLORTERM", "PYTHONUNBUFFERED"}
)
"""Variables that belong to the terminal, not to the command."""


class SignInScripts:
    """Writes and serves the sign-in scripts of one agent. Creates their folder on first use."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._commands: dict[str, bytes] = {}

    def write(self, name: str, command: Sequence[str], cwd: str, env: Mapping[str, str]) -> str:
        """Write a script and return the command line that runs it."""
        if self._folder is None:
            self._folder = temporary_folders.make("acp-sign-in-", in_memory=True)
        script, status, pipe = (self._folder / f"{name}.{kind}" for kind in ("sh", "status", "pipe"))
        if not pipe.exists():
            os.mkfifo(pipe, 0o600)
        self._commands[name] = "\n".join(
            [
                f"cd {shlex.quote(cwd)} || exit 1",
                *(f"export {key}={shlex.quote(value)}" for key, value in env.items() if _is_passed_on(key)),
                f"set -- {shlex.join(command)}\n",
            ]
        ).encode(errors="surrogateescape")
        lines = [
            "#!/bin/sh",
            "# Signs in to an agent: runs its own command, as acp_notebook does.",
            f"kill -0 {os.getpid()} 2>/dev/null ||"
            ' { echo "The kernel of the notebook has ended."; exit 1; }',
            f'eval "$(cat {shlex.quote(str(pipe))})"',
            '"$@"',
            "status=$?",
            f"echo $status > {shlex.quote(str(status))}",
            '[ $status -eq 0 ] && echo "Signed in: back to the notebook." || echo "Not signed in ($status)."',
            "exit $status",
        ]
        draft = script.with_suffix(".new")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write("\n".join(lines) + "\n")
        os.replace(draft, script)
        return f"sh {shlex.quote(str(script))}"

    def serve(self) -> None:
        """Send the command to each script that is running and waiting for it."""
        folder = self._folder
        if folder is None:
            return
        for name, command in self._commands.items():
            with suppressed(_log, OSError):  # no script is reading
                pipe = os.open(folder / f"{name}.pipe", os.O_WRONLY | os.O_NONBLOCK)
                try:
                    _write(pipe, command)
                finally:
                    os.close(pipe)

    def ended(self) -> dict[str, int]:
        """The exit codes of the scripts that have ended since the last call."""
        found: dict[str, int] = {}
        for path in self._folder.glob("*.status") if self._folder is not None else ():
            with suppressed(_log, OSError, ValueError):
                found[path.stem] = int(path.read_text())
                path.unlink()
        return found

    def clear(self) -> None:
        folder, self._folder = self._folder, None
        if folder is not None:
            temporary_folders.remove(folder)


def _is_passed_on(name: str) -> bool:
    return name not in _OF_THE_TERMINAL and name.replace("_", "a").isalnum() and not name[0].isdigit()


def _write(pipe: int, data: bytes) -> None:
    deadline = time.monotonic() + timeouts.get().sign_in_script
    while data and select.select([], [pipe], [], max(0.0, deadline - time.monotonic()))[1]:
        data = data[os.write(pipe, data) :]
