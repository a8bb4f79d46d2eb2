"""Find the installed version of an agent, if possible without starting it.

Independent of the protocol. npm and pip store the version next to what they install; only a program of
neither kind is run with `--version`, with a time limit, in a folder that is not a project.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ... import timeouts
from ...log import logger, suppressed
from .launchers import SAFE_FOLDER

_log = logger(__name__)

LEVELS = 6
"""How many folders above a script its package.json may be."""

MOST_BYTES = 1_000_000
"""The largest package.json that is read."""

_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")
_SCRIPTS = re.compile(rb"^#!.*\b(node|python[\d.]*|bun|deno)\b")


def installed_version(command: str, npm: str | None, pypi: str | None, env: Mapping[str, str]) -> str | None:
    """The version; None if it cannot be determined."""
    place = Path(os.path.realpath(command))
    found = (npm and _npm_version(place, npm)) or (pypi and _pip_version(place, pypi))
    if found or _is_script(place):  # a script of an unknown package might do anything: do not run it
        return found or None
    return _reported_version(command, env)


def _npm_version(script: Path, package: str) -> str | None:
    for folder in list(script.parents)[:LEVELS]:
        with suppressed(_log, OSError, ValueError):
            file = folder / "package.json"
            if file.stat().st_size <= MOST_BYTES:
                value = json.loads(file.read_bytes())
                if isinstance(value, dict) and value.get("name") == package:
                    return _short(value.get("version"))
    return None


def _pip_version(script: Path, package: str) -> str | None:
    name = re.sub(r"[-_.]+", "_", package.split("[")[0]).lower()
    for info in script.parent.parent.glob(f"lib/python3*/site-packages/{name}-*.dist-info"):
        return _short(info.name.removeprefix(f"{name}-").removesuffix(".dist-info"))
    return None


def _is_script(place: Path) -> bool:
    try:
        with open(place, "rb") as file:
            return _SCRIPTS.match(file.readline(200)) is not None
    except OSError:
        return True  # it cannot be read, so it is not run either


def _reported_version(command: str, env: Mapping[str, str]) -> str | None:
    try:
        process = subprocess.Popen(
            [command, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=SAFE_FOLDER,
            env=dict(env),
            start_new_session=True,
        )
    except OSError:
        return None
    with process:
        try:
            output, _ = process.communicate(timeout=timeouts.get().agent_version)
        except subprocess.TimeoutExpired:
            _log.debug("a command did not report its version in time", exc_info=True)
            return None
        finally:
            with suppressed(_log, ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
    return _short(output[:1000].decode("utf-8", "replace"))


def _short(text: object) -> str | None:
    found = _VERSION.search(text) if isinstance(text, str) else None
    return found[0][:30] if found else None
