"""Installs agents from npm and PyPI into a cache: one folder for each package and version.

Knows no agent. Packages run their own scripts, as they would for a user: they are about to be started anyway.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

INSTALL_S = 600.0

NEWER_PYTHONS = ("python3.12", "python3.13", "python3.14")


class NotInstalled(Exception):
    """The installation failed; the message has the installer's output."""


@dataclass(frozen=True)
class Package:
    """An installed package: its commands are in `bin`, its files in `modules`."""

    bin: Path
    modules: Path
    version: str | None

    def command(self, words: Sequence[str], path: str) -> list[str]:
        """The command with the full path of its program or script."""
        first = shutil.which(words[0], path=os.pathsep.join([str(self.bin), path]))
        if first is None:
            raise NotInstalled(f"no {words[0]} in {self.bin.name}, and none on the PATH")
        rest = [str(self.modules / it) if it.endswith(".js") else it for it in words[1:]]
        return [first, *rest]


def installed(spec: str, cache: Path, also_in: Iterable[Path] = ()) -> Package:
    """Install the package if it is missing; `also_in` are folders where it may be already."""
    kind, _, wanted = spec.partition(":")
    if kind == "npm":
        return _npm(wanted, cache, also_in)
    if kind == "pypi":
        return _pypi(wanted, cache)
    raise NotInstalled(f"{spec!r} is neither npm:… nor pypi:…")


def _npm(wanted: str, cache: Path, also_in: Iterable[Path]) -> Package:
    name, _, version = wanted.rpartition("@") if "@" in wanted[1:] else (wanted, "", "")
    folder = cache / _slug(wanted)
    for place in (*also_in, folder):
        found = _npm_found(place, name, version)
        if found is not None:
            return found
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text(
        '{"private": true}\n'
    )  # else npm would use the file of a parent folder
    quiet = ("--no-audit", "--no-fund", "--loglevel=error")
    install = [shutil.which("npm") or "npm", "install", *quiet]
    try:
        _run([*install, wanted], folder)
    except NotInstalled:
        _run([*install, "--ignore-scripts", wanted], folder)  # some work anyway
    found = _npm_found(folder, name, version)
    if found is None:
        raise NotInstalled(f"npm installed {wanted}, and it is not there")
    return found


def _npm_found(folder: Path, name: str, version: str) -> Package | None:
    modules = folder / "node_modules"
    about = modules / name / "package.json"
    there = json.loads(about.read_text())["version"] if about.is_file() else None
    if there is None or (version and version != there):
        return None
    return Package(modules / ".bin", modules, there)


def npm_command(package: Package, wanted: str) -> str:
    """The program of an unknown package: the one named like it, else the first."""
    name = wanted.rpartition("@")[0] if "@" in wanted[1:] else wanted
    about = json.loads((package.modules / name / "package.json").read_text())
    programs = about.get("bin") or {}
    if isinstance(programs, str):
        return str(about["name"]).rpartition("/")[2]
    short = name.rpartition("/")[2]
    if not programs:
        raise NotInstalled(f"{wanted} has no program")
    return short if short in programs else str(next(iter(programs)))


def _pypi(wanted: str, cache: Path) -> Package:
    name = re.split(r"[=<>!~\[]", wanted)[0]
    folder = cache / f"py-{_slug(wanted)}"
    python = folder / "bin" / "python"
    if not (folder / "installed").exists():
        _by_some_python(wanted, folder, cache)
        (folder / "installed").touch()
    ask = f"import importlib.metadata as it; print(it.version({name!r}))"
    said = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False).stdout.strip()
    return Package(folder / "bin", folder, said or None)


def _by_some_python(wanted: str, folder: Path, cache: Path) -> None:
    """Use this Python, or a newer one: many agents require the newest."""
    pythons = [sys.executable, *filter(None, map(shutil.which, NEWER_PYTHONS))]
    for at, python in enumerate(pythons):
        try:
            _run([python, "-m", "venv", "--clear", str(folder)], cache)
            return _run([str(folder / "bin" / "python"), "-m", "pip", "install", "-qq", wanted], cache)
        except NotInstalled:
            if at == len(pythons) - 1:
                raise


def _run(command: list[str], cwd: Path) -> None:
    cwd.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise NotInstalled(f"{' '.join(command[1:3])} {command[-1]} failed: {' '.join(last)}")


def _slug(wanted: str) -> str:
    return re.sub(r"[^\w.]+", "-", wanted).strip("-")
