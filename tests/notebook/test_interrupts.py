"""An interrupt at a dangerous moment is delayed, never lost or doubled."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType

import pytest

from acp_notebook.notebook import main_thread_jobs
from acp_notebook.notebook.interrupts import STEP_S, Gate
from acp_notebook.notebook.kernel import wait

FOREVER_S = 60.0


class StruckLock:
    """A lock whose owner is interrupted just after acquiring it, the worst moment."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.acquire, self.release = self.lock.acquire, self.lock.release

    def __enter__(self) -> bool:
        self.lock.acquire()
        signal.raise_signal(signal.SIGINT)
        return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.lock.release()


def spin() -> None:
    """Run until something ends it."""
    deadline = time.monotonic() + FOREVER_S
    while time.monotonic() < deadline:
        pass
    pytest.fail("nothing struck")


def later(seconds: float) -> None:
    """Ctrl-C in so many seconds."""
    main = threading.get_ident()
    threading.Timer(seconds, lambda: signal.pthread_kill(main, signal.SIGINT)).start()


def test_an_interrupt_inside_threading_is_raised_outside_it() -> None:
    lock = StruckLock()
    condition = threading.Condition(lock)  # type: ignore[arg-type]
    reached = []

    def work() -> None:
        with condition:
            reached.append("inside")
            spin()

    with pytest.raises(KeyboardInterrupt), Gate() as gate:
        gate.run(work)
    assert reached == ["inside"]
    assert not lock.lock.locked()


def test_an_interrupt_never_becomes_another_exception() -> None:
    """Between the release of a lock and the `try` that takes it again, `Condition.wait` is not safe."""
    condition = threading.Condition(threading.Lock())
    release = condition._release_save  # type: ignore[attr-defined]

    def struck() -> object:
        released: object = release()
        signal.raise_signal(signal.SIGINT)
        return released

    condition._release_save = struck  # type: ignore[attr-defined]

    def work() -> None:
        with condition:
            condition.wait()

    with pytest.raises(KeyboardInterrupt), Gate() as gate:
        gate.run(work)  # "release unlocked lock" would come out of here
    assert not condition._is_owned()  # type: ignore[attr-defined]


def join_a_thread_that_stays() -> None:
    thread = threading.Thread(target=threading.Event().wait, daemon=True)
    thread.start()
    thread.join()


@pytest.mark.parametrize("work", [threading.Event().wait, Future[None]().result, join_a_thread_that_stays])
def test_a_wait_can_be_interrupted(work: Callable[[], object]) -> None:
    later(5 * STEP_S)
    with pytest.raises(KeyboardInterrupt), Gate() as gate:
        gate.run(work)


def test_a_delayed_interrupt_is_raised_once_even_if_the_work_ended() -> None:
    condition = threading.Condition(StruckLock())  # type: ignore[arg-type]

    def work() -> None:
        with condition:
            pass

    for _ in range(20):
        with Gate() as gate:
            gate.run(work)
            with pytest.raises(KeyboardInterrupt):
                gate.check()
    time.sleep(3 * STEP_S)  # a second one would be raised here


def test_code_that_is_called_by_threading_and_never_leaves_it_still_ends() -> None:
    later(STEP_S)
    with pytest.raises(KeyboardInterrupt), Gate() as gate:
        gate.run(threading.Thread(target=spin).run)


def test_the_result_of_a_job_is_passed_on_completely() -> None:
    """Interrupted in `set_result`, a future would be done without notifying its waiters."""
    job = main_thread_jobs.add(lambda: 3)
    results: list[int] = []
    set_result = job.done.set_result

    def struck(result: int) -> None:
        signal.raise_signal(signal.SIGINT)
        set_result(result)

    job.done.set_result = struck  # type: ignore[method-assign]
    job.done.add_done_callback(lambda done: results.append(done.result()))
    with pytest.raises(KeyboardInterrupt):
        main_thread_jobs.run(job)
    assert results == [3]


def test_a_script_that_ignores_ctrl_c_keeps_waiting() -> None:
    future: Future[int] = Future()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        later(STEP_S)
        threading.Timer(10 * STEP_S, future.set_result, [3]).start()
        assert wait(future) == 3
    finally:
        signal.signal(signal.SIGINT, before)
