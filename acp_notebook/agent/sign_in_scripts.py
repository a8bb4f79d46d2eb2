"""Sign-in in a terminal: a script that runs the agent's own command, and tells how that ended.

A script, because a command in a page, a shell's history or a file must not carry the environment's secrets.
The script holds none either: the command and its environment come from the kernel through a named pipe when
the script runs. Only the user can open both, and they are gone when the agent is. Knows no terminal: somebody
runs the script.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import temporary_folders

_OF_THE_TERMINAL = frozenset(
    {"TERM", "COLUMNS", "LINES", "SHLVL", "PWD", "OLDPWD", "_", "COLORTERM", "PYTHONUNBUFFERED"}
)
"""Variables that belong to where a command runs, not to the command."""

READ_S = 5.0
"""A shell reads its command at once; one that was stopped must not hold us up."""


class SignInScripts:
    """The sign-in scripts of one agent, in a folder that is made when it is first needed."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._commands: dict[str, bytes] = {}

    def write(self, name: str, command: Sequence[str], cwd: str, env: Mapping[str, str]) -> str:
        """The line to run in a terminal."""
        if self._folder is None:
            self._folder = temporary_folders.make("acp-sign-in-", in_memory=True)
        script, status, pipe = (self._folder / f"{name}.{kind}" for kind in ("sh", "status", "pipe"))
        if not pipe.exists():
            os.mkfifo(pipe, 0o600)
        self._commands[name] = "\n".join(
            [
                f"cd {shlex.quote(cwd)} || exit 1",
                *(f"export {key}={shlex.quote(value)}" for key, value in env.items() if _goes_along(key)),
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
        """Give those scripts their command that run now and wait for it."""
        folder = self._folder
        if folder is None:
            return
        for name, command in self._commands.items():
            with contextlib.suppress(OSError):  # nobody reads it, or nobody does any more
                pipe = os.open(folder / f"{name}.pipe", os.O_WRONLY | os.O_NONBLOCK)
                try:
                    _write(pipe, command)
                finally:
                    os.close(pipe)

    def ended(self) -> dict[str, int]:
        """The scripts that have ended since this was last asked, with their exit codes."""
        found: dict[str, int] = {}
        for path in self._folder.glob("*.status") if self._folder is not None else ():
            with contextlib.suppress(OSError, ValueError):
                found[path.stem] = int(path.read_text())
                path.unlink()
        return found

    def clear(self) -> None:
        folder, self._folder = self._folder, None
        if folder is not None:
            temporary_folders.remove(folder)


def _goes_along(name: str) -> bool:
    return name not in _OF_THE_TERMINAL and name.replace("_", "a").isalnum() and not name[0].isdigit()


def _write(pipe: int, data: bytes) -> None:
    deadline = time.monotonic() + READ_S
    while data and select.select([], [pipe], [], max(0.0, deadline - time.monotonic()))[1]:
        data = data[os.write(pipe, data) :]
