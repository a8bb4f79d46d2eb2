"""Runs the git program with nothing of the user's: no settings, no hooks, no filters, a private repository.

Knows how a command is run, bounded and ended; not what is asked of it. Blocks, so it belongs on a thread.
"""

from __future__ import annotations

import contextlib
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

from ..processes.guardian import MARKER, new_token
from ..processes.guardian_client import guardian

OURS_S = 20.0
"""For a scan of a tree that is known: a second for 100,000 files; more on a sleeping network disk."""

FIRST_S = 300.0
"""For the first scan, which reads every file. Nobody waits for it."""

USERS_S = 5.0
"""For a question to the user's own repository, whose settings may be anything."""

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
"""Bytes are bytes, and nothing runs but what we start. A threshold of 1: all that is new goes into one pack
instead of a file each. No fsync: what is lost in a crash is only a copy."""

ATTRIBUTES = "* -text -ident !filter !eol !working-tree-encoding !crlf\n"
"""For every file, stronger than the user's own: no line ends changed, no LFS, no keywords."""

_KEPT = ("LANG", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR", "SYSTEMROOT")


class GitTrouble(Exception):
    """A command failed, took too long, or was ended with the session; says which."""


@cache
def program() -> str | None:
    """Where git is; None: there is none. A relative entry of the PATH would run a `./git` of the project."""
    return shutil.which("git", path=_absolute(os.environ.get("PATH", os.defpath)))


def _absolute(path: str) -> str:
    return os.pathsep.join(it for it in path.split(os.pathsep) if os.path.isabs(it))


class Git:
    """Runs git for one private repository; `kill` ends what runs."""

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
        """For the same repository, with another index."""
        return Git(Path(self._env["GIT_DIR"]), self._work_tree, index)

    def option(self, name: str, value: str) -> None:
        self._options += ["-c", f"{name}={value}"]

    def run(
        self, *words: str, given: Iterable[bytes] = (), limit: float = OURS_S, fine: tuple[int, ...] = (0,)
    ) -> bytes:
        """Its output; raises GitTrouble. `fine`: with which it may end."""
        with self.start(*words, given=given) as started:
            return started.output(limit, fine)

    def start(self, *words: str, given: Iterable[bytes] = ()) -> Started:
        """A command on its way, so that several go at once. What is `given` is its input."""
        return self._start(words, [*self._options, *words], self._env, given)

    def ask_users(self, *words: str) -> str | None:
        """What the user's own repository says; it is only read. None: it says nothing."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        env |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        env["PATH"] = _absolute(env.get("PATH", os.defpath))
        try:
            with self._start(words, ["-c", "core.fsmonitor=false", *words], env, ()) as started:
                return os.fsdecode(started.output(USERS_S))
        except GitTrouble:
            return None

    def _start(
        self, words: Sequence[str], arguments: Sequence[str], env: dict[str, str], given: Iterable[bytes]
    ) -> Started:
        with self._lock:
            if self._closed:
                raise GitTrouble("the session was closed")
            if self._token is None:
                self._token = new_token()
                guardian().watch(self._token)
            stdin = _input(given)
            try:
                process = subprocess.Popen(
                    [program() or "git", *arguments],
                    stdin=subprocess.DEVNULL if stdin is None else stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=self._work_tree if os.path.isdir(self._work_tree) else self._env["GIT_DIR"],
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
        return Started(name, process, self._running.discard)

    def kill(self) -> None:
        """End what runs; nothing can be started any more."""
        with self._lock:
            self._closed = True
            for process in tuple(self._running):
                _end(process)
            if self._token is not None:
                guardian().forget(self._token)


class Started:
    """A command that was started; leaving the block ends it."""

    def __init__(
        self, name: str, process: subprocess.Popen[bytes], over: Callable[[subprocess.Popen[bytes]], None]
    ) -> None:
        self._name = name
        self._process = process
        self._over = over

    def __enter__(self) -> Started:
        return self

    def __exit__(self, *_: object) -> None:
        process = self._process
        if process.poll() is None:
            _end(process)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()
        self._over(process)

    def output(self, limit: float = OURS_S, fine: tuple[int, ...] = (0,)) -> bytes:
        try:
            out, err = self._process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            raise GitTrouble(f"git {self._name} took longer than {limit:g} s") from None
        if self._process.returncode not in fine:
            said = err.decode(errors="replace").strip().splitlines()
            raise GitTrouble(f"git {self._name} failed: {said[0] if said else self._process.returncode}")
        return out

    @property
    def stdout(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout


def _end(process: subprocess.Popen[bytes]) -> None:
    """With all that it started: a git that is a script would leave that behind, and our pipes open in it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _input(given: Iterable[bytes]) -> IO[bytes] | None:
    """As a file: a pipe that nobody reads could hold us."""
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
    """Paths, of output with -z."""
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


def lines(paths: Sequence[str]) -> list[bytes]:
    """Paths, as input with -z."""
    return [os.fsencode(path) + b"\0" for path in paths]


AT_ONCE = 500
"""Paths in one command's arguments: a system takes 128 KB of them at the least."""


def tree_entries(git: Git, tree: str, paths: Sequence[str]) -> list[tuple[str, int, str]]:
    """Path, mode and object of the files in a tree that are these, or below these; raises GitTrouble."""
    found: list[tuple[str, int, str]] = []
    for start in range(0, len(paths), AT_ONCE):
        part = paths[start : start + AT_ONCE]
        for line in filter(None, git.run("ls-tree", "-r", "-z", tree, "--", *part).split(b"\0")):
            head, _, path = line.partition(b"\t")
            mode, _, oid = head.decode().split()
            found.append((os.fsdecode(path), int(mode, 8), oid))
    return found


def ignored_among(git: Git, paths: Sequence[str]) -> set[str]:
    """Those that the rules ignore, whether git knows them or not; raises GitTrouble."""
    if not paths:
        return set()
    # It refuses to take paths literally; with "./" in front nothing in them means anything else.
    words = ("--no-literal-pathspecs", "check-ignore", "-z", "--no-index", "--stdin")
    said = names(git.run(*words, given=lines([f"./{it}" for it in paths]), fine=(0, 1)))
    return {it.removeprefix("./") for it in said}
