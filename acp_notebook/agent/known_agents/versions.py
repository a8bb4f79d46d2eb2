"""Which version of an agent is installed, found without starting it where that can be.

Knows no protocol. npm and pip leave the version beside what they install; only a program of neither kind is
asked by `--version`, for a bounded time, in a folder that is nobody's project.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from .launchers import SAFE_FOLDER

VERSION_S = 3.0
"""For a program to say its version: many are big, and all are asked at once."""

LEVELS = 6
"""How far above a script its package's own file may be."""

MOST_BYTES = 1_000_000
"""Of a package.json, and of what a program says."""

_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")
_SCRIPTS = re.compile(rb"^#!.*\b(node|python[\d.]*|bun|deno)\b")


def installed_version(command: str, npm: str | None, pypi: str | None, env: Mapping[str, str]) -> str | None:
    """None: it cannot be told."""
    place = Path(os.path.realpath(command))
    found = (npm and _of_npm(place, npm)) or (pypi and _of_pip(place, pypi))
    if found or _is_script(place):  # a script that is no version of what we know might do anything
        return found or None
    return _said(command, env)


def _of_npm(script: Path, package: str) -> str | None:
    for folder in list(script.parents)[:LEVELS]:
        with suppress(OSError, ValueError):
            file = folder / "package.json"
            if file.stat().st_size <= MOST_BYTES:
                value = json.loads(file.read_bytes())
                if isinstance(value, dict) and value.get("name") == package:
                    return _short(value.get("version"))
    return None


def _of_pip(script: Path, package: str) -> str | None:
    name = re.sub(r"[-_.]+", "_", package.split("[")[0]).lower()
    for info in script.parent.parent.glob(f"lib/python3*/site-packages/{name}-*.dist-info"):
        return _short(info.name.removeprefix(f"{name}-").removesuffix(".dist-info"))
    return None


def _is_script(place: Path) -> bool:
    try:
        with open(place, "rb") as file:
            return _SCRIPTS.match(file.readline(200)) is not None
    except OSError:
        return True  # it cannot be looked at, so it is not run either


def _said(command: str, env: Mapping[str, str]) -> str | None:
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
            output, _ = process.communicate(timeout=VERSION_S)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
    return _short(output[:1000].decode("utf-8", "replace"))


def _short(said: object) -> str | None:
    found = _VERSION.search(said) if isinstance(said, str) else None
    return found[0][:30] if found else None
