"""Waiting without Jupyter: in scripts, in asyncio programs, without IPython."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future
from typing import Any

import pytest

from acp_notebook.notebook.interrupts import Gate
from acp_notebook.notebook.kernel import (
    Runtime,
    attend,
    handle_without_events,
    keep_subshell,
    pump_status,
    run_on_main,
    set_headless,
    wait,
    wait_async,
    where,
)
from acp_notebook.notebook.runtime import for_page


class Struck(Future[Any]):
    """A future that the user interrupts the wait for, as often as it is calls."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    def done(self) -> bool:
        if self.times:
            self.times -= 1
            signal.raise_signal(signal.SIGINT)
        return super().done()


def ended_by(thread_does: Any) -> None:
    threading.Thread(target=thread_does).start()


def test_a_script_is_headless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACP_NOTEBOOK_HEADLESS", raising=False)
    assert where() == Runtime(kernel=False, main_thread=True, headless=True, cell_id=None, can_input=False)
    assert pump_status() == "not needed: no Jupyter kernel in this process"


def test_code_that_runs_for_a_click_has_a_page_on_any_thread() -> None:
    with for_page():
        assert where().headless is False
    assert where().headless is True


@pytest.mark.parametrize(("text", "headless"), [("0", False), ("1", True), ("", True), ("perhaps", True)])
def test_an_environment_variable_can_set_headless(
    monkeypatch: pytest.MonkeyPatch, text: str, headless: bool
) -> None:
    monkeypatch.setenv("ACP_NOTEBOOK_HEADLESS", text)
    assert where().headless is headless


def test_a_call_overrides_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACP_NOTEBOOK_HEADLESS", "1")
    set_headless(False)
    assert where().headless is False
    set_headless(None)
    assert where().headless is True


def test_a_wait_ends_with_the_future() -> None:
    future: Future[int] = Future()
    ended_by(lambda: future.set_result(3))
    assert wait(future) == 3
    assert asyncio.run(wait_async(future)) == 3


def test_a_wait_ends_after_its_timeout() -> None:
    with pytest.raises(TimeoutError):
        wait(Future(), 0.01)


def test_an_interrupt_waits_for_the_end_and_is_raised() -> None:
    future = Struck(1)
    calls: list[bool] = []

    def cancel() -> None:
        calls.append(future.done())
        ended_by(lambda: future.set_result(None))

    with pytest.raises(KeyboardInterrupt):
        wait(future, on_interrupt=cancel, grace=600)
    assert calls == [False]
    assert future.done()


def test_an_interrupt_does_not_wait_longer_than_the_grace() -> None:
    calls: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        wait(Struck(1), on_interrupt=lambda: calls.append(1), grace=0.01)
    assert calls == [1]


def test_a_second_interrupt_is_raised_at_once() -> None:
    calls: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        wait(Struck(2), on_interrupt=lambda: calls.append(1), grace=600)
    assert calls == [1]


@pytest.mark.parametrize("ends", [True, False])
def test_a_cancelled_await_notifies_and_drains(ends: bool) -> None:
    future: Future[None] = Future()
    calls: list[int] = []

    def cancel() -> None:
        calls.append(1)
        if ends:
            ended_by(lambda: future.set_result(None))

    async def main() -> None:
        task = asyncio.create_task(wait_async(future, on_interrupt=cancel, grace=600 if ends else 0.01))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert calls == [1]
    assert not future.cancelled()
    assert future.done() is ends


def test_a_second_cancel_is_raised_at_once() -> None:
    calls: list[int] = []

    async def main() -> None:
        future: Future[None] = Future()
        task = asyncio.create_task(wait_async(future, on_interrupt=lambda: calls.append(1), grace=600))
        await asyncio.sleep(0)
        while not calls:
            task.cancel()
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert calls == [1]


def test_a_timeout_of_asyncio_around_an_await_stays_a_timeout() -> None:
    async def main() -> None:
        async with asyncio.timeout(0.01):
            await wait_async(Future(), grace=0)

    with pytest.raises(TimeoutError):
        asyncio.run(main())


def test_a_future_may_end_after_the_loop() -> None:
    future: Future[None] = Future()

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(wait_async(future, grace=0), 0.01)

    asyncio.run(main())
    future.set_result(None)


def test_work_for_the_main_thread_is_done_while_it_waits() -> None:
    done: Future[str] = Future()
    threads: list[threading.Thread] = []

    def work() -> None:
        threads.append(threading.current_thread())
        done.set_result("done")

    ended_by(lambda: run_on_main(work))
    assert wait(done) == "done"
    assert threads == [threading.main_thread()]


def test_an_error_of_a_job_is_raised_to_its_caller() -> None:
    job = run_on_main(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        wait(job)


def test_a_job_may_be_cancelled_while_it_runs() -> None:
    jobs: list[Future[str]] = []
    done: Future[None] = Future()

    def work() -> str:
        jobs[0].cancel()
        done.set_result(None)
        return "for nobody"

    jobs.append(run_on_main(work))
    wait(done)
    assert jobs[0].cancelled()


def test_functions_that_need_a_kernel_do_nothing() -> None:
    attend(Future())
    keep_subshell(object())
    handle_without_events(object())


def test_a_gate_notes_an_interrupt_and_passes_it_on() -> None:
    reached: list[str] = []
    with pytest.raises(KeyboardInterrupt), Gate():
        signal.raise_signal(signal.SIGINT)
        reached.append("after")
    with Gate() as gate:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            gate.check()
        gate.check()
        reached.append("checked")
    assert reached == ["after", "checked"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_gate_lets_an_interrupt_reach_the_code_it_runs() -> None:
    reached: list[str] = []

    def function() -> None:
        reached.append("begun")
        signal.raise_signal(signal.SIGINT)
        reached.append("not struck")

    with Gate() as gate:
        gate.run(function)
        with pytest.raises(KeyboardInterrupt):
            gate.check()
    assert reached == ["begun"]


WITHOUT_JUPYTER = """
import sys
absent = ("IPython", "ipykernel", "zmq", "comm", "traitlets", "tornado", "jupyter_client")
sys.modules.update(dict.fromkeys(absent))  # importing one of these is an ImportError
from concurrent.futures import Future
from acp_notebook.notebook import kernel
future = Future()
future.set_result("fine")
print(kernel.where().kernel, kernel.wait(future), kernel.pump_status())
"""


def test_jupyter_need_not_be_installed() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_JUPYTER], capture_output=True, text=True)
    assert done.stdout == "False fine not needed: no Jupyter kernel in this process\n", done.stderr
