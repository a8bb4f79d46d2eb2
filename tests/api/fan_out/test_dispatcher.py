"""Which run is started when, with an engine that does nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from acp_notebook.agent import loop
from acp_notebook.api.fan_out.board import Board
from acp_notebook.api.fan_out.dispatcher import Dispatcher, Plan
from acp_notebook.api.fan_out.stop import Stop
from acp_notebook.core.fan_out.budget import Totals
from acp_notebook.core.fan_out.plan import agents_of, planned, prompts_of
from acp_notebook.core.fan_out.task import FolderSpec, Result, Task

WAIT_S = 60.0

Answer = Callable[[Future[Result], Stop], object]


class FakeEngine:
    """Gives each start of a run to the next of these functions."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.prepare: Callable[[], None] = lambda: None
        self.close: Callable[[], None] = lambda: None

    def submit(self, index: int, task: Task, stop: Stop) -> Future[Result]:
        done: Future[Result] = Future()
        self._answers.pop(0)(done, stop)
        return done


def ends(state: Any = "done", **fields: Any) -> Answer:
    return lambda done, stop: done.set_result(Result(id="x", state=state, **fields))


def start(engine: FakeEngine, count: int = 1, **plan: Any) -> Board:
    runs = planned(prompts_of([f"p{it}" for it in range(count)]), agents_of("demo"))
    tasks = [Task(id="x", prompt=(), agent=it.agent, folder=FolderSpec("plain", "")) for it in runs]
    board = Board(runs)

    async def run() -> None:
        await Dispatcher(board, tasks, engine, Plan(1, **plan)).run()

    loop.submit(run())
    return board


def test_what_a_dropped_attempt_cost_counts() -> None:
    first = ends("failed", retry="unsent", cost=2.0, currency="USD")
    board = start(FakeEngine(first, ends(cost=1.0, currency="USD")))
    board.over.result(WAIT_S)
    assert board.entries[0].state == "done" and board.costs == {"USD": 3.0}


def test_a_result_that_cannot_be_recorded_is_not_lost() -> None:
    def fail(index: int, result: Result) -> None:
        raise ValueError("no")

    board = start(FakeEngine(ends()), on_result=fail)
    board.over.result(WAIT_S)
    assert board.entries[0].state == "done"
    assert board.progress().notices == ("the result of run 0 was not recorded: no",)


def test_an_engine_that_cannot_be_closed_is_no_hang() -> None:
    def fail() -> None:
        raise OSError("the disk is gone")

    engine = FakeEngine(ends())
    engine.close = fail
    board = start(engine)
    board.over.result(WAIT_S)
    assert board.entries[0].state == "done"


def test_a_cancel_is_heard_while_the_engine_is_prepared() -> None:
    asked, go = threading.Event(), threading.Event()

    def prepare() -> None:
        asked.set()
        assert go.wait(WAIT_S)

    engine = FakeEngine()
    engine.prepare = prepare
    board = start(engine, 2)
    assert asked.wait(WAIT_S)
    board.cancel()
    board.over.result(WAIT_S)
    go.set()
    assert [it.state for it in board.entries] == ["cancelled", "cancelled"]


def test_a_run_that_does_not_stop_when_the_time_is_up_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not by looking again and again."""
    looks: list[float] = []
    reached = Totals.reached

    def look(self: Totals, costs: dict[str, float], tool_calls: int, seconds: float) -> str | None:
        looks.append(seconds)
        return reached(self, costs, tool_calls, seconds)

    monkeypatch.setattr(Totals, "reached", look)
    begun: Future[Future[Result]] = Future()
    stopped = threading.Event()

    def hold(done: Future[Result], stop: Stop) -> None:
        stop.notify(stopped.set)
        begun.set_result(done)

    board = start(FakeEngine(hold), totals=Totals(seconds=0.05))
    done = begun.result(WAIT_S)
    assert stopped.wait(WAIT_S)
    for _ in range(5):  # let the loop thread come to whatever it wants to do
        loop.call(asyncio.sleep(0.01))
    done.set_result(Result(id="x", state="cancelled"))
    board.over.result(WAIT_S)
    assert board.entries[0].state == "cancelled" and len(looks) < 10
