"""Runs in this kernel: throughput, and what is left after they end, are cancelled, interrupted or killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.api.fan_out.embedded import MOST_UNREMOVED, Remover
from tests.agent.process_helpers import ROOT, wait_gone, wait_until
from tests.api.fan_out.counting import AGENT, WAIT_S, Counted, FinalStates, leftovers, wait_gone_soon
from tests.api.fan_out.repository import make_repository, state


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import tempfile

    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_many_runs_leave_nothing_behind(count: int, tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    before = state(folder)
    counted = Counted(tmp_path / "log")
    prompts = [f"say {number}" for number in range(count)]
    runs = acp.fan_out(prompts, agents=counted.agents, cwd=folder, at_once=8 if count > 10 else 4).wait(
        WAIT_S * 3
    )
    assert [it.state for it in runs] == ["done"] * count
    assert [it.text for it in runs] == [f"did {it}" for it in prompts]
    assert sorted(counted.prompts) == sorted(prompts), "each prompt was sent once"
    assert counted.living == [] and leftovers() == []
    assert state(folder) == before


def test_a_cancel_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "project")
    counted = Counted(tmp_path / "log")
    prompts = [f"sleep 600 {number}" for number in range(6)]
    runs = acp.fan_out(prompts, agents=counted.agents, cwd=folder, at_once=3)
    wait_until(lambda: len(counted.prompts) == 3, "three runs have begun")
    runs.cancel()
    runs.wait(WAIT_S)
    assert [it.state for it in runs] == ["cancelled"] * 6
    assert len(counted.prompts) == 3 and counted.living == [] and leftovers() == []


def test_an_interrupt_cancels_and_the_table_stays(tmp_path: Path) -> None:
    counted = Counted(tmp_path / "log")
    (tmp_path / "project").mkdir()
    runs = acp.fan_out(["sleep 600", "sleep 601"], agents=counted.agents, cwd=tmp_path / "project", at_once=1)

    def interrupt(_: object) -> None:
        if runs[0].state == "running":
            stop()
            os.kill(os.getpid(), signal.SIGINT)

    stop = runs.on_change(interrupt)
    with pytest.raises(KeyboardInterrupt):
        runs.wait(WAIT_S)
    runs.wait(WAIT_S)
    assert [it.state for it in runs] == ["cancelled", "cancelled"] and "2 cancelled" in repr(runs)
    assert counted.living == [] and leftovers() == []


SCRIPT = """
import sys
import acp_notebook as acp
log, folder = sys.argv[1:3]
agent = {"agent": [sys.executable, sys.argv[3], log], "label": "counting"}
runs = acp.fan_out(["sleep 600 a", "sleep 600 b"], agents=[agent], cwd=folder)
if sys.argv[4] == "killed":
    runs.wait()
else:
    import threading
    started = threading.Event()
    runs.on_change(lambda _: started.set() if all(it.state == "running" for it in runs) else None)
    started.wait()
    print("exiting", flush=True)
"""

NEXT = """
import sys
from acp_notebook.agent.copies import make
make.snapshot(sys.argv[1]).close()
"""


@pytest.mark.parametrize("how", ["killed", "exit"])
def test_the_end_of_the_kernel(how: str, tmp_path: Path, own_temporary_folder: Path) -> None:
    folder = make_repository(tmp_path / "project")
    counted = Counted(tmp_path / "log")
    env = {**os.environ, "TMPDIR": str(own_temporary_folder), "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", SCRIPT, str(counted.log), str(folder), str(AGENT), how]
    kernel = subprocess.Popen(words, env=env, stdout=subprocess.PIPE)
    with kernel:
        wait_until(lambda: len(counted.pids) == 2 or kernel.poll() is not None, "both runs have begun")
        if how == "killed":
            kernel.kill()
        kernel.wait(WAIT_S)
    wait_gone(*counted.pids)
    if how == "killed":
        assert len(leftovers(own_temporary_folder)) == 3, "a snapshot and two copies"
        subprocess.run([sys.executable, "-c", NEXT, str(folder)], env=env, check=True, timeout=WAIT_S)
    assert leftovers(own_temporary_folder) == []


HUNDRED = """
import sys
import acp_notebook as acp
log, folder, agent = sys.argv[1:4]
spec = {"agent": [sys.executable, agent, log], "label": "counting"}
prompts = [f"sleep 0.3 {it}" for it in range(100)]
acp.fan_out(prompts, agents=[spec], cwd=folder, at_once=8).wait()
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["cancel", "interrupt"])
def test_a_hundred_runs_are_stopped_and_leave_nothing_behind(how: str, tmp_path: Path) -> None:
    folder, counted = make_repository(tmp_path / "project"), Counted(tmp_path / "log")
    before = state(folder)
    prompts = [f"sleep 0.3 {number}" for number in range(100)]
    runs = acp.fan_out(prompts, agents=counted.agents, cwd=folder, at_once=8)
    finals = FinalStates(runs)
    if how == "cancel":
        wait_until(lambda: len(counted.prompts) >= 30, "some runs have ended")
        runs.cancel()
    else:

        def interrupt(_: object) -> None:
            if len(counted.prompts) >= 30:
                stop()
                os.kill(os.getpid(), signal.SIGINT)

        stop = runs.on_change(interrupt)
        with pytest.raises(KeyboardInterrupt):
            runs.wait(WAIT_S)
    runs.wait(WAIT_S)
    found = finals.check()
    assert set(found) == {"done", "cancelled"} and found["done"] >= 22
    assert len(counted.prompts) == len(set(counted.prompts)) < 100
    wait_gone_soon(counted)
    assert leftovers() == [] and state(folder) == before


@pytest.mark.slow
def test_a_kernel_that_is_killed_in_a_hundred_runs(tmp_path: Path, own_temporary_folder: Path) -> None:
    folder, counted = make_repository(tmp_path / "project"), Counted(tmp_path / "log")
    before = state(folder)
    env = {**os.environ, "TMPDIR": str(own_temporary_folder), "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", HUNDRED, str(counted.log), str(folder), str(AGENT)]
    with subprocess.Popen(words, env=env) as kernel:
        wait_until(lambda: len(counted.prompts) >= 30 or kernel.poll() is not None, "some runs have ended")
        kernel.kill()
        kernel.wait(WAIT_S)
    wait_gone_soon(counted)
    assert len(counted.prompts) == len(set(counted.prompts)) < 100
    assert leftovers(own_temporary_folder) != []
    subprocess.run([sys.executable, "-c", NEXT, str(folder)], env=env, check=True, timeout=WAIT_S)
    assert leftovers(own_temporary_folder) == [] and state(folder) == before


def test_one_backoff_for_all_runs_of_an_agent(tmp_path: Path) -> None:
    counted = Counted(tmp_path / "log")
    (tmp_path / "project").mkdir()
    runs = acp.fan_out(
        ["limit 2", "say 1", "say 2"], agents=counted.agents, cwd=tmp_path / "project", at_once=1
    ).wait(WAIT_S)
    assert [it.state for it in runs] == ["done"] * 3
    assert counted.prompts == ["limit 2", "limit 2", "say 1", "say 2"]
    assert any("counting met a rate limit" in it for it in runs.progress.notices)


def test_a_rate_limit_in_mid_turn_is_not_tried_again_and_its_cost_counts(tmp_path: Path) -> None:
    counted = Counted(tmp_path / "log")
    (tmp_path / "project").mkdir()
    runs = acp.fan_out(
        ["spend 3", "say 1", "spend 2", "say 2"],
        agents=counted.agents,
        cwd=tmp_path / "project",
        at_once=1,
        max_total_cost=4,
    ).wait(WAIT_S)
    assert counted.prompts == ["spend 3", "say 1", "spend 2"]
    assert [it.state for it in runs] == ["failed", "done", "failed", "skipped"]
    assert "rate limit" in str(runs[0].error) and runs[0].text == "half of it"
    assert runs.progress.costs == {"USD": 5.0}
    assert any("counting met a rate limit" in it for it in runs.progress.notices), "the others waited"


def test_a_total_that_is_used_up_skips_the_rest(tmp_path: Path) -> None:
    runs = acp.fan_out(["/usage"] * 4, cwd=tmp_path, at_once=1, max_total_cost=0.08).wait(WAIT_S)
    assert [it.state for it in runs] == ["done", "done", "skipped", "skipped"]
    assert runs[3].error == runs.progress.stopped == "max_total_cost=0.08 is used up"
    assert "cost 0.0842 USD" in runs.summary


def test_the_first_that_passes_stops_the_others(tmp_path: Path) -> None:
    counted = Counted(tmp_path / "log")
    (tmp_path / "project").mkdir()
    runs = acp.fan_out(
        ["say yes", "sleep 600", "say 1"],
        agents=counted.agents,
        cwd=tmp_path / "project",
        at_once=2,
        score=lambda run: run.text == "did say yes",
        stop_when=lambda runs: any(it.score for it in runs),
    ).wait(WAIT_S)
    assert runs[0].state == "done" and runs[1].state == "cancelled"
    assert runs.best() is runs[0] and runs.progress.stopped == "stop_when was true"


def test_the_time_of_all_runs_is_limited(tmp_path: Path) -> None:
    counted = Counted(tmp_path / "log")
    (tmp_path / "project").mkdir()
    runs = acp.fan_out(
        ["sleep 600"] * 2, agents=counted.agents, cwd=tmp_path / "project", at_once=1, max_total_seconds=3
    ).wait(WAIT_S)
    assert [it.state for it in runs] == ["cancelled", "skipped"]
    assert counted.living == []


class HeldCopy:
    """A copy whose removal waits for us."""

    top = cwd = ""

    def __init__(self) -> None:
        self.begun, self.go, self.removed = threading.Event(), threading.Event(), threading.Event()

    def mark(self) -> None:
        raise NotImplementedError

    def changes(self) -> Any:
        raise NotImplementedError

    def remove(self) -> None:
        self.begun.set()
        assert self.go.wait(WAIT_S)
        self.removed.set()


def test_copies_are_removed_in_the_background_but_only_a_few_wait() -> None:
    remover = Remover()
    held = [HeldCopy() for _ in range(MOST_UNREMOVED + 1)]
    remover.remove(held[0])
    assert held[0].begun.wait(WAIT_S)
    for copy in held[1:]:
        remover.remove(copy)
    own = HeldCopy()
    own.go.set()
    remover.remove(own)
    assert own.removed.is_set() and not any(it.removed.is_set() for it in held)
    for copy in held:
        copy.go.set()
    remover.wait()
    assert all(it.removed.is_set() for it in held)
