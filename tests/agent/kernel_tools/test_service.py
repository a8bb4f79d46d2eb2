"""What each tool does and answers; no call lasts long, and nothing runs on that should not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import wraps
from typing import Any

import pytest

from acp_notebook import timeouts
from acp_notebook.agent.kernel_tools import catalog
from acp_notebook.agent.kernel_tools.jobs import MOST_OPEN
from acp_notebook.agent.kernel_tools.server import Result
from acp_notebook.agent.kernel_tools.service import KernelService
from acp_notebook.agent.permissions.permission_manager import Denied
from acp_notebook.core.actions import Action, RunCells, RunCode
from acp_notebook.core.kernel_tools.calls import PURPOSE_CHARS, TOOLS
from acp_notebook.core.kernel_tools.interface import RUNS_KEPT, OnChange, Stream
from acp_notebook.wire.mcp import ToolRequest
from tests.agent.kernel_tools.fake_kernel import FakeKernel

LIMIT_S = 60.0


def run(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def runs(*args: Any, **kwargs: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), LIMIT_S))

    return runs


class FakeGate:
    """Allows what the test says; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Action] = []
        self.answer = asyncio.Event()
        self.answer.set()
        self.denies: str | None = None
        self.held: set[str] = set()
        self.read: list[str] = []

    def check(self, request: ToolRequest) -> None:
        if self.denies is not None:
            raise Denied(self.denies)

    async def permit(self, request: ToolRequest, action: Action) -> OnChange:
        self.asked.append(action)
        await self.answer.wait()
        if action.text in self.held:
            await asyncio.Event().wait()
        if self.denies is not None:
            raise Denied(self.denies)
        return lambda state: None

    def refused(self, request: ToolRequest) -> None:
        pass

    def done(self, request: ToolRequest, failure: str | None) -> None:
        self.read.append(request.name)


class FakeEditor:
    async def edit(self, request: ToolRequest, edits: Sequence[catalog.Edit]) -> str:
        if edits[0].op == "delete":
            raise Denied("the user rejected it")
        return f"done {len(edits)}"


class Bench:
    """A service with fakes around it."""

    def __init__(self, kernel: FakeKernel | None = None, **options: Any) -> None:
        self.kernel = kernel or FakeKernel()
        self.gate = FakeGate()
        self.service = KernelService(self.kernel, self.gate, FakeEditor(), **options)

    def begin(self, name: str, /, **arguments: Any) -> asyncio.Task[Result]:
        return asyncio.ensure_future(self.service.call(ToolRequest(name, arguments)))

    async def call(self, name: str, /, **arguments: Any) -> tuple[str, bool]:
        result = await self.begin(name, **arguments)
        return "\n".join(getattr(it, "text", "[image]") for it in result.blocks), result.failed


@run
async def test_reading_asks_nobody_and_tells_the_kernels_state() -> None:
    bench = Bench()
    assert await bench.call("list_variables", pattern="d*") == (
        "df: DataFrame 3 by 2 (d*, 50)\nkernel: idle",
        False,
    )
    assert await bench.call("inspect_variable", name="df") == ("df is a frame", False)
    assert (await bench.call("inspect_variable", name="none"))[1] is True
    assert (await bench.call("read_notebook"))[0].startswith("aaaa1111")
    assert await bench.call("read_output", cell="[3]", index=1, offset=5) == ("output 1 of [3] from 5", False)
    assert (await bench.call("read_output", cell="[3]"))[0] == "output None of [3] from 0"
    assert bench.gate.asked == [] and len(bench.gate.read) == 6


@run
async def test_code_is_asked_about_and_its_result_told() -> None:
    bench = Bench()
    text, failed = await bench.call("run_code", code="print('hello')", purpose="Greet")
    assert bench.gate.asked == [RunCode("print('hello')", "Greet")]
    assert text == "ok · run-1 · 1.5 s\nhello\nkernel: idle" and not failed
    bench.kernel.ends = "error"
    assert (await bench.call("run_code", code="1/0"))[1] is True


@run
async def test_what_nobody_allows_is_not_run() -> None:
    bench = Bench()
    bench.gate.denies = "the user rejected it"
    for name, arguments in (("run_code", {"code": "1"}), ("run_cells", {"cells": ["aaaa"]})):
        assert await bench.call(name, **arguments) == ("Not done: the user rejected it.", True)
    assert await bench.call("list_variables") == ("Not done: the user rejected it.", True)
    assert bench.kernel.runs == []


@run
async def test_a_look_that_runs_code_of_the_users_is_asked_about() -> None:
    bench = Bench()
    text, _ = await bench.call("inspect_variable", name="odd")
    (action,) = bench.gate.asked
    assert isinstance(action, RunCode) and action.code == "odd" and "hello" in text


@run
async def test_cells_run_with_the_sources_that_were_asked_about() -> None:
    bench = Bench()
    bench.gate.answer.clear()
    running = bench.begin("run_cells", cells=["aaaa", "bbbb2222"])
    while not bench.gate.asked:
        await asyncio.sleep(0)
    assert bench.gate.asked == [RunCells((("aaaa1111", "x = 1"), ("bbbb2222", "print(x)")))]
    bench.kernel.cells["aaaa1111"] = "import os"  # while the user reads the question
    bench.gate.answer.set()
    result = await running
    assert result.failed and "refused" in getattr(result.blocks[0], "text", "")
    assert (await bench.call("run_cells", cells=["zzzz"])) == ("The notebook has no such cell.", True)


@run
async def test_a_long_run_is_told_as_running_and_waited_for() -> None:
    bench = Bench(FakeKernel(ends=None))
    text, failed = await bench.call("run_code", code="long()", wait_s=0.01)
    assert text.startswith("running · run-1") and "wait(run='run-1')" in text and not failed
    (long,) = bench.kernel.runs
    long.put_out(Stream("stdout", "half\n"))
    waiting = bench.begin("wait", run="run-1", wait_s=0.01)
    assert "half" in getattr((await waiting).blocks[0], "text", "")
    long.end()
    text, _ = await bench.call("wait", run="run-1")
    assert text.startswith("ok · run-1") and "half" not in text  # it was in an earlier result
    assert (await bench.call("wait", run="run-9")) == ("There is no run 'run-9' of this session.", True)


@run
async def test_no_call_lasts_longer_than_agents_wait() -> None:
    timeouts.replace(tool_call=0.05)
    bench = Bench(FakeKernel(ends=None))
    text, _ = await bench.call("run_code", code="long()", wait_s=1e9)
    assert text.startswith("running")


@run
async def test_a_question_that_nobody_answers_in_time_is_waited_for() -> None:
    timeouts.replace(tool_call=0.05)
    bench = Bench()
    bench.gate.answer.clear()
    text, failed = await bench.call("run_code", code="1")
    assert text == "Waiting for the user's permission. Call wait(run='ask-1')." and not failed
    bench.gate.answer.set()
    text, _ = await bench.call("wait", run="ask-1")
    assert text.startswith("ok · run-1") and len(bench.gate.asked) == 1


@run
async def test_a_call_taken_back_stops_its_code_or_its_question() -> None:
    bench = Bench(FakeKernel(ends=None))
    calling = bench.begin("run_code", code="long()")
    await bench.kernel.began.wait()
    calling.cancel()
    await asyncio.wait({calling})
    assert bench.kernel.runs[0].interrupted
    bench.gate.answer.clear()
    calling = bench.begin("run_code", code="other()")
    while len(bench.gate.asked) < 2:
        await asyncio.sleep(0)
    calling.cancel()
    await asyncio.wait({calling})
    bench.gate.answer.set()
    await asyncio.sleep(0)
    assert len(bench.kernel.runs) == 1


@run
async def test_interrupt_and_the_end_of_a_turn_stop_what_runs_and_what_waits() -> None:
    bench = Bench(FakeKernel(ends=None))
    await bench.call("run_code", code="long()", wait_s=0)
    assert (await bench.call("interrupt", run="run-1"))[0].startswith("interrupted")
    await bench.call("run_code", code="long()", wait_s=0)
    bench.gate.answer.clear()
    asking = bench.begin("run_code", code="never()")
    while len(bench.gate.asked) < 3:
        await asyncio.sleep(0)
    bench.service.stop()
    assert (await asking).failed
    assert [it.interrupted for it in bench.kernel.runs] == [True, True]


@run
async def test_the_end_of_a_turn_stops_also_what_began_long_before() -> None:
    """Attack: many short calls, so that the first one is forgotten and outlives its turn."""
    bench = Bench()
    bench.gate.answer.clear()
    asking = bench.begin("run_code", code="first()")
    while not bench.gate.asked:
        await asyncio.sleep(0)
    bench.gate.answer.set()
    first = bench.gate.asked.copy()
    bench.gate.held.add("first()")
    for _ in range(RUNS_KEPT + 5):
        await bench.call("run_code", code="1")
    bench.service.stop()
    assert (await asking).failed and first == [RunCode("first()")]
    assert "first()" not in [it.state.code for it in bench.kernel.runs]


@run
async def test_questions_are_bounded() -> None:
    timeouts.replace(tool_call=0.01)
    bench = Bench()
    bench.gate.answer.clear()
    results = [await bench.call("run_code", code="1") for _ in range(MOST_OPEN + 1)]
    assert [failed for _, failed in results] == [False] * MOST_OPEN + [True]
    assert len(bench.gate.asked) == MOST_OPEN
    bench.service.stop()


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e400", -1, [], "x"])
@run
async def test_a_wait_without_an_end_is_none(seconds: Any) -> None:
    timeouts.replace(tool_call=0.05)
    bench = Bench(FakeKernel(ends=None))
    text, failed = await bench.call("run_code", code="long()", wait_s=seconds)
    assert text.startswith("running") or failed


@run
async def test_code_that_nobody_can_read_is_not_asked_about() -> None:
    bench = Bench()
    text, failed = await bench.call("run_code", code="#" * (catalog.MOST_CODE + 1))
    assert failed and "length" in text and bench.gate.asked == []
    _, failed = await bench.call("run_code", code="1", purpose="why\n" * 1000)
    (action,) = bench.gate.asked
    assert not failed and isinstance(action, RunCode)
    assert len(action.purpose) <= PURPOSE_CHARS and "\n" not in action.purpose


def test_the_arguments_that_questions_are_read_by_are_those_of_the_tools() -> None:
    taken = {it["name"]: set(it["inputSchema"]["properties"]) for it in catalog.listed()}
    assert taken == {name: set(names) for name, names in TOOLS.items()}


@run
async def test_a_fault_of_ours_is_told_without_secrets() -> None:
    bench = Bench(clean=lambda text: text.replace("sesame", "[redacted]"))

    def broken(pattern: str | None = None, limit: int = 50) -> str:
        raise ZeroDivisionError("sesame")

    bench.kernel.list_variables = broken  # type: ignore[method-assign]
    text, failed = await bench.call("list_variables")
    assert failed and "ZeroDivisionError" in text and "sesame" not in text


@run
async def test_edits_are_the_editors() -> None:
    bench = Bench()
    assert await bench.call("edit_notebook", edits=[{"op": "insert", "source": "1"}]) == ("done 1", False)
    denied = await bench.call("edit_notebook", edits=[{"op": "delete", "cell": "a"}])
    assert denied == ("Not done: the user rejected it.", True)


@run
async def test_denied_tools_are_neither_listed_nor_served() -> None:
    bench = Bench(denied=["run_code"])
    assert "run_code" not in [it["name"] for it in bench.service.listed()]
    text, failed = await bench.call("run_code", code="1")
    assert failed and "there is no tool 'run_code'" in text and bench.gate.asked == []
    assert (await bench.call("rm_rf"))[1] is True


@run
async def test_arguments_are_checked_with_words_that_help() -> None:
    bench = Bench()
    text, failed = await bench.call("run_code", source="1")
    assert failed and "missing required field `code`" in text and "code, purpose, wait_s" in text
    assert (await bench.call("list_variables", limit="3"))[0].startswith("df: DataFrame 3 by 2 (None, 3)")
    assert (await bench.call("list_variables", limit=0))[1] is True
    assert (await bench.call("edit_notebook", edits=[]))[1] is True


@run
async def test_secrets_are_taken_out_of_results() -> None:
    bench = Bench(clean=lambda text: text.replace("hello", "[redacted]"))
    text, _ = await bench.call("run_code", code="1")
    assert "[redacted]" in text and "hello" not in text


@run
async def test_every_use_is_told() -> None:
    used: list[int] = []
    bench = Bench(on_use=lambda: used.append(1))
    await bench.call("list_variables")
    await bench.call("no_tool")
    assert used == [1]


def test_every_tool_has_a_schema_that_all_agents_take() -> None:
    for tool in catalog.listed():
        assert tool["inputSchema"]["type"] == "object" and len(tool["description"]) > 50
        assert "$ref" not in str(tool["inputSchema"]) and "anyOf" not in str(tool["inputSchema"])
        assert "outputSchema" not in tool
    reads = {it["name"] for it in catalog.listed() if it["annotations"]["readOnlyHint"]}
    assert reads == {"list_variables", "inspect_variable", "wait", "read_notebook", "read_output"}
