"""Benchmarks of acp.fan_out: `python -m benchmarks.fan_out [--dask TASKS]`.

How much a run costs beyond its agent; a snapshot and a copy of 5,000 files next to `git worktree add`; and,
with --dask, many tasks that sleep on a local Dask cluster, through our own dispatcher and by `client.map`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import acp_notebook as acp
from acp_notebook.agent import loop
from acp_notebook.agent.copies import make
from acp_notebook.api.fan_out.board import Board
from acp_notebook.api.fan_out.dask import DaskEngine
from acp_notebook.api.fan_out.dispatcher import Dispatcher, Plan
from acp_notebook.api.fan_out.scoring import Scorer
from acp_notebook.api.fan_out.tokens import worker_token
from acp_notebook.core.fan_out.plan import agents_of, planned, prompts_of
from acp_notebook.core.fan_out.task import FolderSpec, Result, Task, task_from, to_bytes

from .table import Line, Table

FILES = 5_000
RUNS = 40
PAIRS = 6
SLEEP_S = 0.05
WORKERS = 2
THREADS = 100
"""Of each worker: they only sleep."""


def git(*words: str, cwd: Path) -> None:
    who = ("-c", "user.name=bench", "-c", "user.email=bench")
    subprocess.run(["git", *who, *words], cwd=cwd, check=True, capture_output=True)


def make_project(folder: Path, files: int) -> Path:
    for number in range(files):
        path = folder / f"d{number % 50}" / f"f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"x = {number}\n" * 20)
    git("init", "-q", cwd=folder)
    git("add", "-A", cwd=folder)
    git("commit", "-q", "-m", "all", cwd=folder)
    return folder


def overhead(base: Path) -> Iterator[Line]:
    folder = make_project(base / "small", 50)
    runs = acp.fan_out(["hello"] * RUNS, cwd=folder, at_once=4).wait()
    assert all(it.state == "done" for it in runs)
    own = [sum(it.times[step] for step in ("copy", "compare", "remove")) * 1000 for it in runs]
    agent = [sum(it.times[step] for step in ("start", "turn", "close")) * 1000 for it in runs]
    beyond, whole = statistics.median(own), statistics.median(agent)
    yield "a run of a fan-out", f"{beyond:.0f} ms", f"its agent {whole:.0f} ms", beyond / whole, None


def timed(work: Callable[[], object]) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def copies(base: Path) -> Iterator[Line]:
    """In pairs, in changing order, so that the machine's other load cancels out. Nothing is removed in
    between: ext4 without a journal creates files slowly for minutes after many were removed."""
    folder = make_project(base / "large", FILES)
    make.snapshot(str(folder)).close()  # the first one reads every file; sessions keep this up to date
    done: list[Any] = []

    def ours() -> None:
        snapshot = make.snapshot(str(folder))
        done.append(snapshot)
        done.append(make.copy(snapshot.spec))

    worktrees = itertools.count()

    def theirs() -> None:
        git("worktree", "add", "--detach", str(base / f"worktree{next(worktrees)}"), cwd=folder)

    pairs: list[tuple[float, float]] = []
    for number in range(PAIRS):
        if number % 2:
            other, one = timed(theirs), timed(ours)
        else:
            one, other = timed(ours), timed(theirs)
        pairs.append((one, other))
    for snapshot, copy in zip(done[::2], done[1::2], strict=True):
        copy.remove()
        snapshot.close()
    one, other = (statistics.median(it) for it in zip(*pairs, strict=True))
    ratio = statistics.median(mine / gits for mine, gits in pairs)
    row = f"snapshot and copy of {FILES:,} files"
    yield row, f"{one:.2f} s", f"git worktree add {other:.2f} s", ratio, None


def rows() -> Iterator[Line]:
    with tempfile.TemporaryDirectory(prefix="acp-notebook-") as name:
        yield from overhead(Path(name))
        yield from copies(Path(name))


# ---- many tasks on Dask -----------------------------------------------------------------------------


def sleeping(data: bytes, function: Scorer | None = None, packed: bytes | None = None) -> bytes:
    """A run that only claims its token and sleeps."""
    task = task_from(data)
    assert worker_token(task.token).claim()
    time.sleep(SLEEP_S)
    return to_bytes(Result(id=task.id, state="done", seconds=SLEEP_S, text="slept", host=platform.node()))


class SleepingEngine(DaskEngine):
    _work = staticmethod(sleeping)

    def _probe_all(self) -> dict[str, Any]:
        raise NotImplementedError

    def prepare(self) -> None:
        """No agents: nothing to probe."""
        self._client.subscribe_topic(self._topic, self._reported)


def memory_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def bare(number: int) -> int:
    time.sleep(SLEEP_S)
    return number


@contextmanager
def cluster(base: Path) -> Iterator[str]:
    """A scheduler and workers, each a process of its own, so that the client's CPU time is only its own."""
    file = base / "scheduler.json"
    env = {**os.environ, "DASK_TEMPORARY_DIRECTORY": str(base)}
    quiet: dict[str, Any] = {"env": env, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    common = ("--scheduler-file", str(file), "--no-dashboard")
    local = ("--host", "127.0.0.1", "--port", "0")
    threads = ("--no-nanny", "--nthreads", str(THREADS))
    words = [sys.executable, "-m", "distributed.cli.dask_scheduler", *local, *common]
    started = [subprocess.Popen(words, **quiet)]
    try:
        for _ in range(WORKERS):
            words = [sys.executable, "-m", "distributed.cli.dask_worker", "--host", "127.0.0.1"]
            started.append(subprocess.Popen([*words, *threads, *common], **quiet))
        while not file.exists():
            time.sleep(0.05)
        yield json.loads(file.read_text())["address"]
    finally:
        for process in started:
            process.kill()
            process.wait()


class Cost:
    """The time, CPU time and memory of a block, in this process."""

    def __enter__(self) -> Cost:
        self._begun, self._used, self._memory = time.monotonic(), time.process_time(), memory_mb()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.monotonic() - self._begun
        self.cpu = time.process_time() - self._used
        self.memory = memory_mb() - self._memory

    def told(self, count: int) -> str:
        least = count * SLEEP_S / (WORKERS * THREADS)
        beyond = (self.seconds - least) / count * 1000
        return (
            f"{self.seconds:.1f} s, {beyond:.1f} ms a task beyond its sleep; client: "
            f"{self.cpu / count * 1000:.2f} ms of CPU a task, {self.memory:.0f} MB more"
        )


def dask(count: int, base: Path) -> None:
    from distributed import Client

    folder = base / "empty"
    folder.mkdir()
    snapshot = make.snapshot(str(folder))
    with cluster(base) as address, Client(address, set_as_default=False) as client:
        client.wait_for_workers(WORKERS, timeout=60)
        client.gather(client.map(bare, range(WORKERS * THREADS), pure=False))  # the workers import this
        with Cost() as theirs:
            client.gather(client.map(bare, range(count), pure=False))
        runs = planned(prompts_of("sleep {item}", range(count)), agents_of("demo"))
        board = Board(runs, WORKERS * THREADS)
        nowhere = FolderSpec("plain", "/nowhere")
        tasks = [Task(id=f"bench-{it.index}", prompt=(), agent=it.agent, folder=nowhere) for it in runs]
        engine = SleepingEngine(client.get_executor(pure=False), board, snapshot, None, [], "bench")

        async def run() -> None:
            await Dispatcher(board, tasks, engine, Plan(WORKERS * THREADS)).run()

        with Cost() as ours:
            loop.submit(run()).result()
    assert board.progress().counts == {"done": count}
    print(f"{count:,} tasks of {SLEEP_S * 1000:.0f} ms on {WORKERS * THREADS} threads")
    print(f"  client.map: {theirs.told(count)}")
    print(f"  fan_out:    {ours.told(count)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dask", type=int, metavar="TASKS", help="only this many tasks on Dask")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="acp-notebook-") as name:
        if given.dask:
            dask(given.dask, Path(name))
            return
    table = Table()
    for row in rows():
        table.row(*row)


if __name__ == "__main__":
    main()
