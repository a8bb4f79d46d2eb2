"""Runs on Dask's distributed: one final state each, no prompt twice, nothing left, whatever dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from tests.agent.process_helpers import wait_gone
from tests.api.fan_out.counting import AGENT, GONE_S, WAIT_S, Counted, FinalStates, wait_gone_soon
from tests.api.fan_out.repository import make_repository
from tests.waiting import wait_until

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask and tornado warn when a cluster is taken down

LONG_S = 4 * WAIT_S


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two worker processes with one thread each."""
    import dask

    folder = str(tmp_path_factory.mktemp("dask"))
    settings = {"temporary-directory": folder, "distributed.scheduler.allowed-failures": 3}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            host="127.0.0.1",
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


def fan_out(client: Any, prompts: Any, counted: Counted, folder: Path, **options: Any) -> acp.Runs:
    executor = client.get_executor(pure=False)
    return acp.fan_out(prompts, agents=counted.agents, cwd=folder, executor=executor, **options)


@pytest.mark.parametrize("count", [6, pytest.param(100, marks=pytest.mark.slow)])
def test_many_runs(count: int, client: Any, tmp_path: Path) -> None:
    folder, counted = make_repository(tmp_path / "project"), Counted(tmp_path / "log")
    prompts = [f"say {number}" for number in range(count)]
    runs = fan_out(client, prompts, counted, folder, score="test -f a.py").wait(LONG_S)
    assert [(it.state, it.score) for it in runs] == [("done", 1.0)] * count, runs
    assert sorted(counted.prompts) == sorted(prompts) and counted.living == []
    assert [it.text for it in runs] == [f"did {it}" for it in prompts]


def test_a_running_one_is_cancelled_and_the_others_go_on(client: Any, tmp_path: Path) -> None:
    folder, counted = make_repository(tmp_path / "project"), Counted(tmp_path / "log")
    runs = fan_out(client, ["sleep 600", "say 1", "say 2"], counted, folder)
    wait_until(lambda: "sleep 600" in counted.prompts, "the first run has begun")
    runs[0].cancel()
    runs.wait(LONG_S)
    assert [it.state for it in runs] == ["cancelled", "done", "done"]
    assert counted.living == [] and max(Counter(counted.prompts).values()) == 1


def test_a_killed_worker_loses_its_run_and_no_prompt_is_sent_twice(client: Any, tmp_path: Path) -> None:
    folder, counted = make_repository(tmp_path / "project"), Counted(tmp_path / "log")
    runs = fan_out(client, ["sleep 600", *(f"say {it}" for it in range(4))], counted, folder)
    wait_until(lambda: "sleep 600" in counted.prompts, "the first run has begun")
    [agent] = [pid for pid, it in zip(counted.pids, counted.prompts, strict=True) if it == "sleep 600"]
    os.kill(worker_of(client, agent), signal.SIGKILL)
    wait_gone(agent)
    runs.wait(LONG_S)
    assert [it.state for it in runs] == ["lost", "done", "done", "done", "done"], runs
    assert runs[0].error is not None and "died" in runs[0].error
    assert max(Counter(counted.prompts).values()) == 1 and counted.living == []


def test_a_run_that_was_refused_before_it_began_is_done_again(client: Any, tmp_path: Path) -> None:
    folder, counted = make_repository(tmp_path / "project"), Counted(tmp_path / "log")
    [run] = fan_out(client, "limit 2", counted, folder).wait(LONG_S)
    assert (run.state, run.error) == ("done", None) and counted.prompts == ["limit 2"] * 2


@pytest.mark.slow
def test_a_hundred_runs_with_a_worker_killed_and_one_cancelled(client: Any, tmp_path: Path) -> None:
    folder, counted = make_repository(tmp_path / "project"), Counted(tmp_path / "log")
    prompts = [f"say {number}" for number in range(100)]
    prompts[10], prompts[50] = "sleep 600 cancelled", "sleep 600 killed"
    runs = fan_out(client, prompts, counted, folder)
    finals = FinalStates(runs)
    wait_until(lambda: prompts[50] in counted.prompts, "both workers are held", LONG_S)
    [agent] = [pid for pid, it in zip(counted.pids, counted.prompts, strict=True) if it == prompts[50]]
    os.kill(worker_of(client, agent), signal.SIGKILL)
    begun = time.monotonic()
    wait_gone(agent)
    assert time.monotonic() - begun < GONE_S
    runs[10].cancel()
    runs.wait(LONG_S)
    assert finals.check() == {"done": 98, "cancelled": 1, "lost": 1}, runs
    assert (runs[10].state, runs[50].state) == ("cancelled", "lost")
    assert sorted(counted.prompts) == sorted(prompts), "each prompt was sent once"
    wait_gone_soon(counted)


def worker_of(client: Any, agent: int) -> int:
    """The process of the worker that started the agent."""
    import psutil  # type: ignore[import-untyped]  # Dask needs it

    workers = set(client.run(os.getpid).values())
    return next(int(it.pid) for it in psutil.Process(agent).parents() if it.pid in workers)


def test_a_worker_without_the_agent_is_named_before_the_first_prompt(client: Any, tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    runs = acp.fan_out(
        "hello", agents=["/no/such/agent"], cwd=folder, executor=client.get_executor(pure=False)
    ).wait(LONG_S)
    assert runs[0].state == "failed" and str(runs[0].error).startswith("no worker can run the agents")


SCHEDULER_GONE = """
import os, signal, sys
import acp_notebook as acp
from acp_notebook import timeouts
from distributed import Client
address, log, folder, agent = sys.argv[1:5]
timeouts.replace(scheduler_gone=1.0)
client = Client(address)
client.wait_for_workers(1, timeout=60)
spec = {"agent": [sys.executable, agent, log], "label": "counting"}
executor = client.get_executor(pure=False)
prompts = [f"say {it}" for it in range(int(sys.argv[5]))]
prompts[len(prompts) // 2 - 1] = "sleep 600"
runs = acp.fan_out(prompts, agents=[spec], cwd=folder, executor=executor)
runs.wait(240)
print(*(it.state for it in runs), flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("count", [2, pytest.param(100, marks=pytest.mark.slow)])
def test_a_scheduler_that_is_gone_is_no_hang(count: int, tmp_path: Path) -> None:
    folder, counted = make_repository(tmp_path / "project"), Counted(tmp_path / "log")
    file = tmp_path / "scheduler.json"
    env = {**os.environ, "DASK_TEMPORARY_DIRECTORY": str(tmp_path)}
    common = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    quiet: dict[str, Any] = {"env": env, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*common, "--no-dashboard", "--scheduler-file", str(file)], **quiet)
    started = [scheduler]
    try:
        wait_until(file.exists, "the scheduler runs")
        words = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(file)]
        worker = subprocess.Popen([*words, "--no-nanny", "--nthreads", "1", "--no-dashboard"], **quiet)
        started.append(worker)
        address = json.loads(file.read_text())["address"]
        script = [sys.executable, "-c", SCHEDULER_GONE, address]
        words = [*script, str(counted.log), str(folder), str(AGENT), str(count)]
        kernel = subprocess.Popen(
            words, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        started.append(kernel)
        begun = lambda: "sleep 600" in counted.prompts or kernel.poll() is not None  # noqa: E731
        wait_until(begun, "the run that is cut off has begun", LONG_S)
        scheduler.kill()
        said, _ = kernel.communicate(timeout=LONG_S)
        before = count // 2 - 1
        assert said.split() == ["done"] * before + ["lost"] * (count - before)
        wait_gone_soon(counted)
        assert counted.prompts == [*(f"say {it}" for it in range(before)), "sleep 600"]
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_no_value_of_an_environment_variable_travels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Everything that is submitted, as bytes."""
    from concurrent.futures import Executor, Future

    monkeypatch.setenv("MY_SECRET", "do-not-send-this")
    sent: list[bytes] = []

    class Collecting(Executor):
        def submit(self, function: Any, /, *args: Any, **options: Any) -> Future[Any]:
            import zlib

            for it in args:
                if isinstance(it, bytes):
                    try:
                        sent.append(zlib.decompress(it))
                    except zlib.error:
                        sent.append(it)
            done: Future[Any] = Future()
            done.set_result(function(*args, **options))
            return done

    with timeouts.replaced(run_probe=WAIT_S):
        runs = acp.fan_out(
            "/run echo $MY_SECRET", cwd=tmp_path, executor=Collecting(), env=["MY_SECRET", "PATH"]
        )
        runs.wait(WAIT_S)
    assert runs[0].state == "done", runs[0].error
    assert any(b"MY_SECRET" in it for it in sent) and not any(b"do-not-send-this" in it for it in sent)
