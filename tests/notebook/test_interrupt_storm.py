"""Interrupts at random moments of a job, a wait and a stream: each is raised once, as what it is, and the
kernel stays healthy. A few in every run, ten thousand with --full."""

from __future__ import annotations

import pytest

from tests.notebook.kernels import Front

STORM = """
import queue, random, sys, time
import acp_notebook as acp
from acp_notebook.notebook.interrupts import STEP_S

orders, sent = queue.SimpleQueue(), []  # in C: an interrupt leaves them as they were

def strike(main=threading.get_ident()):
    while (delay := orders.get()) is not None:
        time.sleep(delay)
        signal.pthread_kill(main, signal.SIGINT)
        sent.append(delay)

threading.Thread(target=strike, daemon=True).start()

def storm(work, count, longest_s):
    "Interrupt it so often, each time at another moment of it; each interrupt has to come out of it, once."
    raised = 0
    sent.clear()
    for number in range(count):
        try:
            orders.put(random.random() * longest_s)
            work()
            while len(sent) <= number:
                time.sleep(0.0001)
        except KeyboardInterrupt:
            raised += 1
        while len(sent) <= number:
            time.sleep(0.0001)
    time.sleep(3 * STEP_S)  # one that is doubled would strike here
    print("raised", raised, "of", count)

# ---- a job that prints, and uses what `threading` has

def noise():
    for _ in range(4):
        print(".", end="")
        sys.stdout.flush()
        event, lock = threading.Event(), threading.Condition()
        event.set()
        with lock:
            event.wait()

def job():
    wait(run_on_main(noise))

# ---- a wait for what another thread does

tasks, finished = queue.SimpleQueue(), queue.SimpleQueue()

def do_tasks():
    while (future := tasks.get()) is not None:
        future.set_result(1)
        finished.put(future)

threading.Thread(target=do_tasks, daemon=True).start()

def wait_for_another():
    future = Future()
    try:
        tasks.put(future)
        wait(future)
    finally:
        assert finished.get(timeout=60) is future  # else the lock of the future was left taken

# ---- a stream of an agent's

def stream():
    for event in session.stream("hello"):
        session.turns[-1].done
"""

HEALTH = """
import asyncio
await asyncio.sleep(0)
print("healthy", sys.stdout.flush(), wait(run_on_main(lambda: 4)))
"""

ROUND = 100  # in one cell
DEFAULT, MANY = 100, 3_400


def check(kernel: Front, work: str, count: int, longest_s: float) -> None:
    for begin in range(0, count, ROUND):
        now = min(ROUND, count - begin)
        done = kernel.run(f"storm({work}, {now}, {longest_s})")
        assert done.content["status"] == "ok", done
        assert f"raised {now} of {now}\n" in done.text, done.text[-200:]
        assert kernel.run(HEALTH).text == "healthy None 4\n"


@pytest.fixture
def stormy(kernel: Front) -> None:
    assert kernel.run(STORM).content["status"] == "ok"


@pytest.mark.usefixtures("stormy")
@pytest.mark.parametrize("count", [DEFAULT, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("work", "longest_s"), [("job", 0.004), ("wait_for_another", 0.001)])
def test_the_kernel_survives_an_interrupt_storm(
    kernel: Front, work: str, longest_s: float, count: int
) -> None:
    check(kernel, work, count, longest_s)


@pytest.mark.usefixtures("stormy")
@pytest.mark.parametrize("count", [DEFAULT // 5, pytest.param(MANY, marks=pytest.mark.slow)])
def test_kernel_and_session_survive_an_interrupt_storm(kernel: Front, count: int) -> None:
    assert kernel.run("session = acp.connect('demo')").content["status"] == "ok"
    try:
        check(kernel, "stream", count, 0.02)
        assert kernel.run("print(session.prompt('/say still here').text)").text
    finally:
        kernel.run("session.close()")
