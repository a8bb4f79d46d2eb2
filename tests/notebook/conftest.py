"""One kernel for each version and test module; every test leaves it as it was."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack

import pytest

from tests.notebook.kernels import VERSIONS, CannotMake, Front, kernel_python, started
from tests.waiting import wait_until

TOOLS = """
import asyncio, os, signal, sys, threading
from concurrent.futures import Future
import comm
from acp_notebook.notebook import kernel as nb
from acp_notebook.notebook.kernel import attend, run_on_main, run_when_free, wait, wait_async, where

class Announced(Future):
    "Says when a wait first looks at it: from then on an interrupt is the wait's."
    def __init__(self, say):
        super().__init__()
        self.say = say
    def done(self):
        say, self.say = self.say, lambda: None
        say()
        return super().done()

class Widget:
    "Keeps what the page sends, and gives futures for it."
    def __init__(self):
        self.comm = comm.create_comm(target_name="test")
        self.comm.on_msg(self.on_msg)
        self.got, self.threads, self.futures, self.react = [], [], {}, None
    def on_msg(self, msg):
        data = msg["content"]["data"]
        self.got.append(data)
        self.threads.append(threading.current_thread() is threading.main_thread())
        if self.react is not None:
            self.react(data)
        self.future(data).set_result(data)
    def future(self, data):
        return self.futures.setdefault(data, Future())
    def announce(self, data):
        self.futures[data] = Announced(lambda: print("waiting"))

def callback():
    "The kernel's receive callback, to see whether the pump is off."
    from acp_notebook.notebook.ipykernel_compat import probe, running_kernel
    return probe(running_kernel()).stream._recv_callback

KERNELS_OWN = callback()

def pump_is_off():
    return callback() is KERNELS_OWN
"""


@pytest.fixture(scope="module", params=list(VERSIONS))
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Shared:
    """The kernel of a module; if a test has lost it, the next test gets a new one."""

    def __init__(self, start: Callable[[], AbstractContextManager[Front]], setup: str = TOOLS) -> None:
        self._start = start
        self._setup = setup
        self._stack = ExitStack()
        self._front: Front | None = None

    def front(self) -> Front:
        if self._front is None or self._front.lost:
            self.end()
            self._front = self._stack.enter_context(self._start())
            ready = self._front.run(self._setup)
            assert ready.content["status"] == "ok", ready.content
        return self._front

    def end(self) -> None:
        self._stack.close()


@pytest.fixture(scope="module")
def shared_kernel(version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    try:
        python = kernel_python(version)
    except CannotMake as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"no kernel to test with: {error}")
    shared = Shared(lambda: started(python, tmp_path_factory.mktemp("kernel")))
    yield shared
    shared.end()


@pytest.fixture
def kernel(shared_kernel: Shared) -> Iterator[Front]:
    front = shared_kernel.front()
    yield front
    if not front.lost:  # else the test itself has said so
        # A turn releases the pump in the kernel's loop, so perhaps only after the next cell.
        wait_until(lambda: front.run("print(pump_is_off())").text == "True\n", "the pump's release")


@pytest.fixture
def widget(kernel: Front) -> str:
    """The id of a new comm, whose Widget is `w` in the kernel."""
    return kernel.run("w = Widget(); print(w.comm.comm_id)").text.strip()
