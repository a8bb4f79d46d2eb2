"""Which run is started when, with an engine that does nothing."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from acp_notebook.agent import loop
from acp_notebook.api.fan_out.board import Board
from acp_notebook.api.fan_out.dispatcher import Dispatcher, Plan
from acp_notebook.api.fan_out.stop import Stop
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
