"""Runs git on a private repository, isolated from the user's settings, hooks and filters.

Starts, bounds and kills commands; other modules know which ones. Blocks, so call it on a work thread.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO

from ... import timeouts
from ...log import logger, suppressed
from ..processes.guardian import MARKER, new_token
from ..processes.guardian_client import guardian

_log = logger(__name__)

SETTINGS = {
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.fileMode": "true",
    "core.symlinks": "true",
    "core.quotePath": "false",
    "core.precomposeUnicode": "false",
    "core.untrackedCache": "false",
    "core.preloadIndex": "true",
    "core.fsync": "none",
    "core.compression": "1",
    "core.bigFileThreshold": "1",
    "gc.auto": "0",
    "index.threads": "true",
    "submodule.recurse": "false",
    "advice.addEmbeddedRepo": "false",
}
"""git stores bytes unchanged and runs no other program. With a bigFileThreshold of 1, new objects go into one
pack instead of a file each. No fsync: a crash loses only a copy."""

ATTRIBUTES = "* -text -ident !filter !eol !working-tree-encoding !crlf\n"
"""These override the user's attributes: no line ending conversion, no LFS, no keyword expansion."""

_KEPT = ("LANG", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR", "SYSTEMROOT")


class GitTrouble(Exception):
    """A git command failed, exceeded its time limit, or was stopped with the session."""


@cache
def program() -> str | None:
    """The path of git, or None. Ignores relative PATH entries, which could run a `./git` of the project."""
    return shutil.which("git", path=_absolute(os.environ.get("PATH", os.defpath)))


def _absolute(path: str) -> str:
    return os.pathsep.join(it for it in path.split(os.pathsep) if os.path.isabs(it))


class Git:
    """Runs git commands on one private repository and kills them on request."""

    def __init__(self, git_dir: Path, work_tree: str, index: Path) -> None:
        self._env = _environment() | {
            "GIT_DIR": str(git_dir),
            "GIT_WORK_TREE": work_tree,
            "GIT_INDEX_FILE": str(index),
            "HOME": str(git_dir),
        }
        self._work_tree = work_tree
        self._options = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
        self._token: str | None = None
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._closed = False

    def another(self, index: Path) -> Git:
        """Return a Git for the same repository with another index."""
        return Git(Path(self._env["GIT_DIR"]), self._work_tree, index)

    def option(self, name: str, value: str) -> None:
        self._options += ["-c", f"{name}={value}"]

    def run(
        self,
        *words: str,
        given: Iterable[bytes] = (),
        limit: float | None = None,
        ok: tuple[int, ...] = (0,),
        work_tree: str | None = None,
    ) -> bytes:
        """Run a command with `given` as its input and return its output.

        Raises GitTrouble, also if the exit code is not in `ok`.
        """
        env = self._env if work_tree is None else self._env | {"GIT_WORK_TREE": work_tree}
        with self._start(words, [*self._options, *words], env, given) as started:
            return started.output(limit or timeouts.get().git_scan, ok)

    def start(self, *words: str, given: Iterable[bytes] = ()) -> GitProcess:
        """Start a command with `given` as its input, so that several run in parallel."""
        return self._start(words, [*self._options, *words], self._env, given)

    def query_users(self, *words: str) -> str | None:
        """Run a read-only command on the user's own repository; return its output, or None if it fails."""
        try:
            return os.fsdecode(self.run_users(*words))
        except GitTrouble:
            _log.debug("git failed", exc_info=True)
            return None

    def run_users(self, *words: str, given: Iterable[bytes] = (), own_index: bool = False) -> bytes:
        """Run a command on the user's own repository, with their settings. Raises GitTrouble.

        `own_index`: it uses our index and leaves theirs alone.
        """
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        env |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        env["PATH"] = _absolute(env.get("PATH", os.defpath))
        if own_index:
            env["GIT_INDEX_FILE"] = self._env["GIT_INDEX_FILE"]
        with self._start(words, ["-c", "core.fsmonitor=false", *words], env, given) as started:
            return started.output(timeouts.get().git_users)

    def _start(
        self, words: Sequence[str], arguments: Sequence[str], env: dict[str, str], given: Iterable[bytes]
    ) -> GitProcess:
        with self._lock:
            if self._closed:
                raise GitTrouble("the session was closed")
            if self._token is None:
                self._token = new_token()
                guardian().watch(self._token)
            stdin = _input(given)
            work_tree = env.get("GIT_WORK_TREE", self._work_tree)
            try:
                process = subprocess.Popen(
                    [program() or "git", *arguments],
                    stdin=subprocess.DEVNULL if stdin is None else stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=work_tree if os.path.isdir(work_tree) else self._env["GIT_DIR"],
                    env=env | {MARKER: self._token},
                    start_new_session=True,
                )
            except OSError as error:
                raise GitTrouble(f"git cannot be run: {error}") from None
            finally:
                if stdin is not None:
                    stdin.close()
            self._running.add(process)
        name = next(it for it in words if not it.startswith("-"))
        return GitProcess(name, process, self._running.discard)

    def kill(self) -> None:
        """Kill running commands and refuse new ones."""
        with self._lock:
            self._closed = True
            for process in tuple(self._running):
                _end(process)
            if self._token is not None:
                guardian().forget(self._token)


class GitProcess:
    """A running git command. Leaving the `with` block kills it."""

    def __init__(
        self, name: str, process: subprocess.Popen[bytes], on_exit: Callable[[subprocess.Popen[bytes]], None]
    ) -> None:
        self._name = name
        self._process = process
        self._on_exit = on_exit

    def __enter__(self) -> GitProcess:
        return self

    def __exit__(self, *_: object) -> None:
        process = self._process
        if process.poll() is None:
            _end(process)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()
        self._on_exit(process)

    def output(self, limit: float, ok: tuple[int, ...] = (0,)) -> bytes:
        """Wait for the command and return its output. Raises GitTrouble."""
        try:
            out, err = self._process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            raise GitTrouble(f"git {self._name} took longer than {limit:g} s") from None
        if self._process.returncode not in ok:
            errors = err.decode(errors="replace").strip().splitlines()
            raise GitTrouble(f"git {self._name} failed: {errors[0] if errors else self._process.returncode}")
        return out

    @property
    def stdout(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process group: if git is a wrapper script, its children would keep our pipes open."""
    with suppressed(_log, ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _input(given: Iterable[bytes]) -> IO[bytes] | None:
    """The input as a temporary file: writing to a pipe that nobody reads would block."""
    lines = list(given)
    if not lines:
        return None
    file = tempfile.TemporaryFile(prefix="acp-notebook-")  # noqa: SIM115
    file.writelines(lines)
    file.seek(0)
    return file


def _environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    kept = {name: environ[name] for name in _KEPT if name in environ}
    return kept | {
        "PATH": _absolute(environ.get("PATH", os.defpath)),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "acp_notebook",
        "GIT_AUTHOR_EMAIL": "acp_notebook",
        "LC_ALL": "C",
    }


def names(output: bytes) -> list[str]:
    """Parse the paths in the output of a command with -z."""
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


def lines(paths: Sequence[str]) -> list[bytes]:
    """Format paths as the input of a command with -z."""
    return [os.fsencode(path) + b"\0" for path in paths]


AT_ONCE = 500
"""Paths in the arguments of one command: every system accepts at least 128 KB."""


def tree_entries(git: Git, tree: str, paths: Sequence[str]) -> list[tuple[str, int, str]]:
    """Path, mode and object id of the files in a tree at or below the given paths. Raises GitTrouble."""
    found: list[tuple[str, int, str]] = []
    for start in range(0, len(paths), AT_ONCE):
        part = paths[start : start + AT_ONCE]
        for line in filter(None, git.run("ls-tree", "-r", "-z", tree, "--", *part).split(b"\0")):
            head, _, path = line.partition(b"\t")
            mode, _, oid = head.decode().split()
            found.append((os.fsdecode(path), int(mode, 8), oid))
    return found


def ignored_among(git: Git, paths: Sequence[str], work_tree: str | None = None) -> set[str]:
    """The paths that the ignore rules match, whether tracked or not. Raises GitTrouble.

    `work_tree`: a folder with other ignore files than the present ones.
    """
    if not paths:
        return set()
    # check-ignore refuses literal pathspecs; behind "./" no character of a path is special.
    words = ("--no-literal-pathspecs", "check-ignore", "-z", "--no-index", "--stdin")
    matched = names(git.run(*words, given=lines([f"./{it}" for it in paths]), ok=(0, 1), work_tree=work_tree))
    return {it.removeprefix("./") for it in matched}
