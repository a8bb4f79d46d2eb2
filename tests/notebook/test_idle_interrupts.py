"""The stop button while no cell runs: on several kernel versions, by signal and by message."""

from __future__ import annotations

import pytest

from tests.notebook.kernels import Front
from tests.waiting import wait_until

SETUP = """
import time
from acp_notebook import timeouts
from acp_notebook.notebook import idle_interrupts
from acp_notebook.notebook.ipykernel_compat import running_kernel
timeouts.replace(cell_interrupt=0.0)
stopped = []
"""

WATCH = "leave = idle_interrupts.watch(lambda: stopped.append(threading.current_thread().name))"

IDLE_HANDLER = "print(repr(running_kernel().saved_sigint_handler))"
"""A cell has a handler of its own, and the kernel keeps the one between cells."""

IGNORED = "<Handlers.SIG_IGN: 1>\n"


@pytest.fixture
def watching(kernel: Front) -> Front:
    """A kernel with something to stop, and with our handler between cells."""
    kernel.run(SETUP)
    kernel.run(WATCH)
    wait_until(lambda: "_on_sigint" in kernel.run(IDLE_HANDLER).text, "the handler")
    return kernel


def stopped(kernel: Front) -> str:
    return kernel.run("print(stopped)").text


def end(kernel: Front) -> None:
    kernel.run("leave()")
    wait_until(lambda: kernel.run(IDLE_HANDLER).text == IGNORED, "the handler of before")


@pytest.mark.parametrize("way", ["signal", "message"])
def test_an_interrupt_of_an_idle_kernel_stops_what_is_watched(watching: Front, way: str) -> None:
    if way == "signal":
        watching.interrupt()
    else:
        watching.result(watching.send("interrupt_request", {}, channel="control"))
    wait_until(lambda: stopped(watching) == "['MainThread']\n", "the stop")
    end(watching)


def test_an_interrupt_of_a_cell_stops_only_that_cell(watching: Front) -> None:
    for cell in ("print('runs'); time.sleep(600)", "print('runs'); await asyncio.sleep(600)"):
        id = watching.begin(cell)
        watching.wait_for_output(id, "runs")
        watching.interrupt()
        assert watching.result(id).content["status"] == "error"
    assert stopped(watching) == "[]\n"
    end(watching)


def test_a_second_press_that_comes_after_the_end_of_the_cell_stops_nothing(watching: Front) -> None:
    watching.run("timeouts.replace(cell_interrupt=1e9)")
    watching.interrupt()
    assert stopped(watching) == "[]\n"
    end(watching)


def test_without_anything_to_stop_the_kernel_ignores_interrupts_as_before(watching: Front) -> None:
    end(watching)
    watching.interrupt()
    assert stopped(watching) == "[]\n"
    callbacks = "print(get_ipython().events.callbacks['post_execute'])"
    assert "IdleInterrupts" not in watching.run(callbacks).text


def test_a_callback_that_the_users_code_removed_is_no_trouble(watching: Front) -> None:
    watching.run("get_ipython().events.callbacks['post_execute'].clear()")
    end(watching)
    watching.run(WATCH)
    wait_until(lambda: "_on_sigint" in watching.run(IDLE_HANDLER).text, "the handler, once more")
    end(watching)


def test_it_is_armed_after_a_cell_that_was_running_when_it_began(kernel: Front) -> None:
    kernel.run(SETUP)
    id = kernel.begin(f"{WATCH}\nawait asyncio.sleep(0.6)\nprint(signal.getsignal(signal.SIGINT))")
    assert "IdleInterrupts" not in kernel.result(id).text
    wait_until(lambda: "_on_sigint" in kernel.run(IDLE_HANDLER).text, "the handler")
    end(kernel)


def test_one_that_fails_does_not_keep_the_others_from_stopping(watching: Front) -> None:
    watching.run("other = idle_interrupts.watch(lambda: stopped.append('other'))")
    watching.run("bad = idle_interrupts.watch(lambda: 1 / 0)")
    watching.run("last = idle_interrupts.watch(lambda: stopped.append('last'))")
    watching.interrupt()
    wait_until(lambda: stopped(watching) == "['MainThread', 'other', 'last']\n", "all")
    watching.run("other(), bad(), last()")
    end(watching)


def test_an_interrupt_while_the_kernel_waits_for_us_stops_only_the_wait(watching: Front, widget: str) -> None:
    id = watching.begin("w.announce('go'); wait(w.future('go'))")
    watching.wait_for_output(id, "waiting")
    watching.interrupt()
    assert watching.result(id).content["ename"] == "KeyboardInterrupt"
    assert stopped(watching) == "[]\n"
    end(watching)
