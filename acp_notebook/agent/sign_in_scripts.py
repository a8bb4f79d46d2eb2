"""Sign-in in a terminal: a script that runs the agent's own command, and tells how that ended.

A script, because a command in a page, a shell's history or a file must not carry the environment's secrets.
Only the user can read it, and it is gone when the agent is. Knows no terminal: somebody runs the script.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

_OF_THE_TERMINAL = frozenset(
    {"TERM", "COLUMNS", "LINES", "SHLVL", "PWD", "OLDPWD", "_", "COLORTERM", "PYTHONUNBUFFERED"}
)
"""Variables that belong to where a command runs, not to the command."""


class SignInScripts:
    """One agent's: a folder of its own, made when it is first needed."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def write(self, name: str, command: Sequence[str], cwd: str, env: Mapping[str, str]) -> str:
        """The line to run in a terminal."""
        folder = self._folder = self._folder or _private_folder()
        script, status = folder / f"{name}.sh", folder / f"{name}.status"
        lines = [
            "#!/bin/sh",
            "# Signs in to an agent: runs its own command, as acp_notebook does.",
            f"cd {shlex.quote(cwd)} || exit 1",
            *(f"export {key}={shlex.quote(value)}" for key, value in env.items() if _goes_along(key)),
            shlex.join(command),
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
            shutil.rmtree(folder, ignore_errors=True)


def _goes_along(name: str) -> bool:
    return name not in _OF_THE_TERMINAL and name.replace("_", "a").isalnum() and not name[0].isdigit()


def _private_folder() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    base = runtime if runtime and os.access(runtime, os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix="acp-sign-in-", dir=base))
