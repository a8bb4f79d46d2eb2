"""This client as it was at one commit against this client now, measured in the same run.

The old package is taken from git into a temporary folder. Both sides have the same agent, each a session of
its own that has had a prompt before, in an empty folder, and take turns. Run: `python -m benchmarks.before`.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from .contenders import SOURCE, WARM_UP, expected
from .guard import CONNECT, import_cpu
from .table import Line

COMMIT = "fcba11b"
HERE = Path(__file__).resolve().parents[1]
PACKAGE = "acp_notebook"

ROUNDS = 3
"""The best prompt of each side counts (the least disturbed)."""

AIM = 4 / 7.7
"""4 µs for a chunk that took 7.7 µs; the same for updates of tool calls. Not for a command's output: a bare
loop that reads and decodes it takes more than half of what this client took."""

IMPORTS = 6
LIMIT_S = 120

CHUNKS, TOOLS, OUTPUT_MB, LARGE = 60_000, 10_000, 200, 20_000_000
MEASURES = (
    ("a chunk, CPU", f"chunks {CHUNKS}", CHUNKS, AIM),
    ("a tool call update with 1 kB, CPU", f"tools {TOOLS}", TOOLS, AIM),
    (f"{OUTPUT_MB} MB of a command's output, CPU", f"terminal {OUTPUT_MB}", 1, None),
    ("one message of 20 MB, CPU", f"one {LARGE}", 1, None),
)


# ---- one side, in a process of its own


def serve(tree: Path) -> None:
    """Answer each prompt from stdin with its CPU seconds, in one session of the package in this tree."""
    import acp_notebook as acp

    assert acp.__file__ is not None
    assert Path(acp.__file__).is_relative_to(tree), f"{acp.__file__} is not below {tree}"
    with acp.connect(SOURCE, permissions="allow") as session:
        conversation: Any = session._conversation
        getattr(conversation, "state", conversation).listen(lambda *_: None)
        session.prompt(WARM_UP)
        print(json.dumps("ready"), flush=True)
        for prompt in map(json.loads, sys.stdin):
            began = time.process_time()
            turn = session.prompt(prompt)
            cost = time.process_time() - began
            assert len(turn.text) == expected(prompt), f"{len(turn.text)} of {expected(prompt)} characters"
            print(json.dumps(cost), flush=True)


class Side:
    """A session of the package in a tree, in a process of its own."""

    def __init__(self, tree: Path, folder: str) -> None:
        command = [sys.executable, "-m", "benchmarks.before", "--serve", str(tree)]
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tree), str(HERE)])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._read()

    def cpu(self, prompt: str) -> float:
        assert self._process.stdin is not None
        print(json.dumps(prompt), file=self._process.stdin, flush=True)
        return float(self._read())

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the measured process ended early"
        return json.loads(line)

    def __enter__(self) -> Side:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(LIMIT_S)
        self._process.stdout.close()


# ---- both


@contextmanager
def old_tree() -> Iterator[Path]:
    """A folder with the package as it was."""
    command = ["git", "-C", str(HERE), "archive", COMMIT, PACKAGE]
    packed = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=LIMIT_S).stdout
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(os.path.realpath(folder))
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(tree, filter="data")
        yield tree


def why_not() -> str | None:
    """Why this group cannot be measured here; None if it can."""
    command = ["git", "-C", str(HERE), "cat-file", "-e", f"{COMMIT}^{{commit}}"]
    try:
        found = subprocess.run(command, capture_output=True, check=False, timeout=LIMIT_S).returncode == 0
    except FileNotFoundError:
        return "git is not installed"
    return None if found else f"this clone does not have the commit {COMMIT}"


def best(prompt: str, before: Path) -> tuple[float, float]:
    """CPU seconds of the prompt, now and before."""
    with ExitStack() as stack:
        folders = [stack.enter_context(tempfile.TemporaryDirectory()) for _ in range(2)]
        sides = [stack.enter_context(Side(*side)) for side in zip((HERE, before), folders, strict=True)]
        rounds = [[side.cpu(prompt) for side in sides] for _ in range(ROUNDS)]
    now, then = (min(costs) for costs in zip(*rounds, strict=True))
    return now, then


def imports(before: Path) -> tuple[float, float]:
    """CPU seconds of what connect() imports, now and before, without those of the interpreter itself."""
    statement = f"{CONNECT}; assert {PACKAGE}.__file__.startswith({{!r}})"
    rounds = [
        [import_cpu("pass"), *(import_cpu(statement.format(str(tree)), tree) for tree in (HERE, before))]
        for _ in range(IMPORTS + 1)
    ][1:]  # the first one writes the byte code
    nothing, now, then = (min(costs) for costs in zip(*rounds, strict=True))
    return now - nothing, then - nothing


def rows() -> Iterator[Line]:
    with old_tree() as before:
        for what, prompt, count, aim in MEASURES:
            now, then = best(prompt, before)
            yield _row(what, now / count, then / count, aim)
        now, then = imports(before)
        yield _row("what connect() imports, CPU", now, then, None)


def _row(what: str, now: float, then: float, aim: float | None) -> Line:
    return what, _shown(now), f"at {COMMIT} {_shown(then)}", now / then, aim


def _shown(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms" if seconds > 1e-3 else f"{seconds * 1e6:.1f} µs"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(Path(sys.argv[2]))
    elif why := why_not():
        print(f"not measured: {why}")
    else:
        for row in rows():
            print(*row, sep="\t", flush=True)
