"""Runs on other executors: ipyparallel and loky, and workers that share no disk with us."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.api.fan_out.remote_work import run_task
from tests.agent.process_helpers import ROOT, wait_until
from tests.api.fan_out.counting import WAIT_S, Counted
from tests.api.fan_out.repository import make_repository

LONG_S = 4 * WAIT_S


def test_any_executor_will_do_and_a_running_run_is_cancelled(tmp_path: Path) -> None:
    folder, counted = make_repository(tmp_path / "project"), Counted(tmp_path / "log")
    with ThreadPoolExecutor(2) as executor:
        runs = acp.fan_out(
            ["sleep 600", "say 1"], agents=counted.agents, cwd=folder, executor=executor, score="test -f a.py"
        )
        wait_until(lambda: "sleep 600" in counted.prompts, "the first run has begun")
        runs[0].cancel()
        runs.wait(LONG_S)
    assert [it.state for it in runs] == ["cancelled", "done"] and runs[1].score == 1.0
    assert counted.living == []


def test_a_second_start_of_a_run_is_refused(tmp_path: Path) -> None:
    """An engine that does every task twice, as some do after an error."""
    folder, counted = make_repository(tmp_path / "project"), Counted(tmp_path / "log")

    class Twice(Executor):
        def submit(self, function: Any, /, *args: Any, **options: Any) -> Future[Any]:
            done: Future[Any] = Future()
            if function is run_task:
                function(*args, **options)
            done.set_result(function(*args, **options))
            return done

    [run] = acp.fan_out("say 1", agents=counted.agents, cwd=folder, executor=Twice()).wait(LONG_S)
    assert run.state == "lost" and "not done twice" in str(run.error)
    assert counted.prompts == ["say 1"]


def test_a_run_that_was_refused_before_it_began_is_done_again(tmp_path: Path) -> None:
    folder, counted = make_repository(tmp_path / "project"), Counted(tmp_path / "log")
    with ThreadPoolExecutor(1) as executor:
        [run] = acp.fan_out("limit 3", agents=counted.agents, cwd=folder, executor=executor).wait(LONG_S)
    assert (run.state, run.error) == ("done", None) and counted.prompts == ["limit 3"] * 3


def test_a_broken_engine_loses_its_runs_and_does_not_hang(tmp_path: Path) -> None:
    class Broken(ThreadPoolExecutor):
        def submit(self, function: Any, /, *args: Any, **options: Any) -> Future[Any]:
            if function is run_task:
                raise RuntimeError("the pool is broken")
            return super().submit(function, *args, **options)

    with Broken(1) as executor:
        runs = acp.fan_out(["a", "b"], cwd=tmp_path, executor=executor).wait(LONG_S)
    assert [it.state for it in runs] == ["lost", "lost"] and "the pool is broken" in str(runs[0].error)


def test_loky(tmp_path: Path) -> None:
    loky = pytest.importorskip("loky")
    folder, counted = make_repository(tmp_path / "project"), Counted(tmp_path / "log")
    executor = loky.ProcessPoolExecutor(1)
    try:
        runs = acp.fan_out(["say 1", "say 2"], agents=counted.agents, cwd=folder, executor=executor).wait(
            LONG_S
        )
    finally:
        executor.shutdown(kill_workers=True)
    assert [it.state for it in runs] == ["done", "done"], runs
    assert counted.living == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ipyparallel_whose_engines_are_kernels(tmp_path: Path) -> None:
    ipyparallel = pytest.importorskip("ipyparallel")
    folder, counted = make_repository(tmp_path / "project"), Counted(tmp_path / "log")
    with ipyparallel.Cluster(n=1, log_level=50) as client:
        executor = client.load_balanced_view().executor
        runs = acp.fan_out(
            ["say 1", "say 2"], agents=counted.agents, cwd=folder, executor=executor, at_once=1
        ).wait(LONG_S)
    assert [it.state for it in runs] == ["done", "done"], runs
    assert counted.living == []


# ---- without a shared disk --------------------------------------------------------------------------

WORKER = """
import sys
import weakref
from multiprocessing.connection import Client
connection = Client(sys.argv[1])
while True:
    function, args = connection.recv()
    try:
        connection.send((True, function(*args)))
    except Exception as error:
        connection.send((False, error))
"""


UNSHARED = ["unshare", "-m", "sh", "-c"]


class ElsewhereExecutor(ThreadPoolExecutor):
    """Runs tasks in two processes, each in a mount namespace whose temporary folder is its own."""

    def __init__(self, folder: Path) -> None:
        super().__init__(2)
        from multiprocessing.connection import Connection, Listener

        self.used: Counter[int] = Counter()
        """How many runs each of them was given."""
        self._free: SimpleQueue[Connection[Any, Any]] = SimpleQueue()
        self._listener = Listener(str(folder / "socket"))
        mounted = f'mount -t tmpfs none {folder / "tmp"} && exec "$@"'
        words = [*UNSHARED, mounted, "sh", sys.executable, "-c", WORKER, str(folder / "socket")]
        env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder / "tmp")}
        self._processes = [subprocess.Popen(words, env=env) for _ in range(2)]
        for _ in self._processes:
            self._free.put(self._listener.accept())

    def submit(self, function: Any, /, *args: Any, **options: Any) -> Future[Any]:
        return super().submit(self._there, function, args)

    def _there(self, function: Any, args: Any) -> Any:
        connection = self._free.get()
        self.used[connection.fileno()] += function is run_task
        try:
            connection.send((function, args))
            fine, value = connection.recv()
        finally:
            self._free.put(connection)
        if not fine:
            raise value
        return value

    def end(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        self._listener.close()
        self.shutdown()


@contextmanager
def elsewhere(folder: Path) -> Iterator[ElsewhereExecutor]:
    probe = [*UNSHARED, f"mount -t tmpfs none {folder / 'tmp'}"]
    try:
        allowed = subprocess.run(probe, capture_output=True, timeout=WAIT_S).returncode == 0
    except OSError:
        allowed = False
    if not allowed:
        pytest.skip("this machine does not allow mount namespaces")
    executor = ElsewhereExecutor(folder)
    try:
        yield executor
    finally:
        executor.end()


def test_workers_without_a_shared_disk_get_the_folder_and_send_a_patch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte what a local run gives."""
    base = tmp_path / "b"
    (base / "tmp").mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(base / "tmp"))
    prompt = (
        "/run printf 'x\\\\0y' > bin; sed -i s/one/uno/ a.py; rm new.txt; "
        "mkdir d; echo n > d/n.txt; chmod +x d/n.txt"
    )
    folder = make_repository(tmp_path / "project")
    with elsewhere(base) as executor:
        there = acp.fan_out(
            prompt, attempts=4, cwd=folder, executor=executor, score="test -f a.py", at_once=2
        ).wait(LONG_S)
        assert len(executor.used) == 2 and all(executor.used.values()), "both workers were used"
    here = acp.fan_out(prompt, cwd=folder, score="test -f a.py").wait(LONG_S)
    assert here[0].state == "done" and here[0].patch != "" and len(here[0].files) == 4
    for run in there:
        assert (run.state, run.score) == ("done", 1.0), run
        assert run.patch == here[0].patch and run.files == here[0].files


def test_futures_are_released_when_their_runs_have_ended(tmp_path: Path) -> None:
    """Dask keeps a result on its worker and in the client as long as its future exists."""
    folder, counted = make_repository(tmp_path / "project"), Counted(tmp_path / "log")
    futures: list[weakref.ref[Future[Any]]] = []

    class Noted(ThreadPoolExecutor):
        def submit(self, function: Any, /, *args: Any, **options: Any) -> Future[Any]:
            future = super().submit(function, *args, **options)
            futures.append(weakref.ref(future))
            return future

    with Noted(2) as executor:
        runs = acp.fan_out(["say 1", "say 2"], agents=counted.agents, cwd=folder, executor=executor)
        runs.wait(LONG_S)
    assert len(futures) == 3  # a probe and two runs

    def all_gone() -> bool:
        gc.collect()
        return all(it() is None for it in futures)

    wait_until(all_gone, "no future is left")
    assert [it.text for it in runs] == ["did say 1", "did say 2"]
