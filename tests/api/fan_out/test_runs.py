"""The table of runs: states, the best, a comparison, waiting and stopping."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook.core.records import Cost

WAIT_S = 60.0


@pytest.fixture(autouse=True)
def small_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs copy the current folder."""
    monkeypatch.chdir(tmp_path)


def test_every_prompt_runs_with_every_agent() -> None:
    runs = acp.fan_out(
        ["hello", "/error 5 oops", "/usage"], agents=["demo", {"agent": "demo", "label": "other"}]
    ).wait(WAIT_S)
    assert [(it.prompt, it.agent, it.state) for it in runs] == [
        ("hello", "demo", "done"),
        ("hello", "other", "done"),
        ("/error 5 oops", "demo", "failed"),
        ("/error 5 oops", "other", "failed"),
        ("/usage", "demo", "done"),
        ("/usage", "other", "done"),
    ]
    assert runs.done and runs.progress.is_over
    assert "hello" in runs[0].text
    assert runs[2].error == "session/prompt: oops" and runs[2].error_type == "AgentError"
    assert runs[4].cost == Cost(0.0421, "USD")
    assert runs.best() in (runs[4], runs[5]), "of runs without scores, the one that reports its cost"
    assert runs.failed == [runs[2], runs[3]]
    assert runs[0].transcript.items[0].type == "turn"


def test_changes_are_told_until_the_last() -> None:
    told: list[frozenset[int]] = []
    over = threading.Event()
    runs = acp.fan_out(["one", "two"])

    def on_change(changed: frozenset[int]) -> None:
        told.append(changed)
        if runs.done:
            over.set()

    stop = runs.on_change(on_change)
    runs.wait(WAIT_S)
    assert over.wait(WAIT_S)
    assert frozenset().union(*told) <= {0, 1}
    stop()


def test_cancelling_ends_what_runs_and_what_waits() -> None:
    runs = acp.fan_out(["/slow 60"] * 3, at_once=1)
    started = threading.Event()
    runs.on_change(lambda _: started.set() if runs[0].state == "running" else None)
    assert started.wait(WAIT_S)
    runs.cancel()
    runs.wait(WAIT_S)
    assert [it.state for it in runs] == ["cancelled"] * 3
    assert runs.progress.stopped == "cancelled"


def test_one_run_can_be_cancelled() -> None:
    runs = acp.fan_out(["/slow 60", "hello"], at_once=1)
    runs[0].cancel()
    runs.wait(WAIT_S)
    assert [it.state for it in runs] == ["cancelled", "done"]


def test_a_wait_that_takes_too_long_lets_the_runs_go_on() -> None:
    runs = acp.fan_out("/slow 60")
    with pytest.raises(acp.Timeout, match="not over after"):
        runs.wait(0.01)
    assert not runs.done
    runs.cancel()
    runs.wait(WAIT_S)


async def _awaited() -> acp.Runs:
    return await acp.fan_out("hello")


def test_runs_can_be_awaited() -> None:
    import asyncio

    assert asyncio.run(_awaited())[0].state == "done"


def test_no_best_run_without_one_that_is_done() -> None:
    runs = acp.fan_out("/error 5 oops").wait(WAIT_S)
    with pytest.raises(acp.UsageError, match="no run is done yet"):
        runs.best()


def test_a_comparison_has_both_answers() -> None:
    runs = acp.fan_out(["one", "two"]).wait(WAIT_S)
    compared = runs.compare(0, 1)
    assert ("one" in compared.left.text, "two" in compared.right.text) == (True, True)
    assert compared.paths == ()


def test_a_frame_has_a_row_for_each_run() -> None:
    frame = acp.fan_out("say {word}", for_each=[{"word": "a"}, {"word": "b"}]).wait(WAIT_S).frame()
    assert list(frame["word"]) == ["a", "b"]
    assert list(frame["state"]) == ["done", "done"]


def test_the_columns_of_the_frame_are_numbers_before_there_are_any() -> None:
    runs = acp.fan_out(["/slow 60"])
    frame = runs.frame()
    runs.cancel()
    assert [str(frame[it].dtype) for it in ("seconds", "cost", "score")] == ["float64"] * 3
    assert [str(frame[it].dtype) for it in ("files", "added", "removed")] == ["Int64"] * 3
    assert frame.index.name == "run" and list(frame["agent"]) == ["demo"]
