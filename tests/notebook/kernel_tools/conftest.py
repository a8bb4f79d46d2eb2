"""Kernels with the tools of one session in them, on a loop thread of their own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.notebook.conftest import Shared
from tests.notebook.kernels import Front, kernel_python, started

SETUP = """
import asyncio, json, msgspec, os, signal, sys, threading, time
from concurrent.futures import Future
from acp_notebook.core.kernel_tools.results import run_blocks
from acp_notebook.notebook.kernel import wait, wait_async
from acp_notebook.notebook.kernel_tools import make
loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()

async def on_a_thread(work):
    return await loop.run_in_executor(None, work)

async def made():
    return make(loop.call_soon_threadsafe, on_a_thread, hide=["hidden*"])

def on_loop(coroutine):
    return asyncio.run_coroutine_threadsafe(coroutine, loop)

tools = on_loop(made()).result(30)
user_stops = []
tools.on_user_stop = lambda: user_stops.append(1)

async def ran(code, changes=None):
    run = tools.start_run(code, on_change=None if changes is None else changes.append)
    return await run.wait(50)

def go(code, **options):
    "As a cell that waits in prompt() while the agent runs code."
    return wait(on_loop(ran(code, **options)))

def plain(state):
    return {"outputs": [{"type": it.type, **msgspec.to_builtins(it)} for it in state.outputs],
            **{name: getattr(state, name) for name in ("id", "status", "seconds", "notes")}}

def report(state):
    print("@" + json.dumps(plain(state)))

async def when_idle(code):
    "As a turn whose cell has ended."
    while tools.state() != "idle":
        await asyncio.sleep(0.01)
    return await ran(code)

async def interrupted(code, marks=("started",)):
    "Interrupt it once it has printed each of the marks."
    run = tools.start_run(code)
    for mark in marks:
        while not any(mark in getattr(it, "head", "") + getattr(it, "tail", "") for it in run.state.outputs):
            await asyncio.sleep(0.005)
            assert not run.state.is_over, run.state
        run.interrupt()
    return await run.wait(50)
"""


class Tools:
    """A kernel whose cells run code as an agent's."""

    def __init__(self, front: Front) -> None:
        self.front = front

    def run(self, code: str, **options: Any) -> dict[str, Any]:
        """The state of a run, whose cell waits for it."""
        return self.reported(f"report(go({code!r}, **{options!r}))")

    def reported(self, cell: str) -> dict[str, Any]:
        result = self.front.run(cell)
        assert result.content["status"] == "ok", result.content
        state: dict[str, Any] = self.states(result.text)[-1]
        return state

    def states(self, text: str) -> list[Any]:
        return [json.loads(line[1:]) for line in text.splitlines() if line.startswith("@")]

    def value(self, expression: str) -> Any:
        result = self.front.run(f"print('@' + json.dumps({expression}))")
        assert result.content["status"] == "ok", result.content
        return self.states(result.text)[-1]

    def idle(self, code: str) -> dict[str, Any]:
        """The state of a run that no cell waits for."""
        self.front.run(f"when = on_loop(when_idle({code!r}))")
        self.front.read_until(lambda: "idle" in self.statuses(), "the end of the run")
        self.front.forget("acp_run")
        return self.reported("report(when.result(30))")

    def statuses(self) -> list[str]:
        """Published for runs and waits, and not for a request of the page."""
        return [
            it["content"]["execution_state"]
            for it in self.front.messages()
            if it["msg_type"] == "status" and it["parent_header"].get("msg_type") == "acp_run"
        ]


@pytest.fixture(scope="module")
def shared_tools(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Shared]:
    """By default the Python of the tests, which has the data libraries; `param`: a version of ipykernel."""
    version = getattr(request, "param", None)
    python = Path(sys.executable) if version is None else kernel_python(version)
    shared = Shared(lambda: started(python, tmp_path_factory.mktemp("kernel"), watch_fds=True), setup=SETUP)
    yield shared
    shared.end()


@pytest.fixture
def tools(shared_tools: Shared) -> Tools:
    return Tools(shared_tools.front())


def texts(state: dict[str, Any], name: str = "stdout") -> str:
    found = [it for it in state["outputs"] if it["type"] == "stream" and it["name"] == name]
    return "".join(it["head"] + it["tail"] for it in found)
