"""The user's functions as tools, from the decorator to the agent's answer, in a script without a kernel."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.agent.kernel_tools.functions import EVERYWHERE
from acp_notebook.core.records import KernelRun, RunDisplay, RunError, RunStream
from acp_notebook.core.snapshot import Question
from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def nothing_everywhere() -> Iterator[None]:
    yield
    for function in EVERYWHERE:
        EVERYWHERE.remove(function.name)


@pytest.fixture
def asked() -> list[Any]:
    return []


@pytest.fixture
def session(asked: list[Any], tmp_path: Path) -> Iterator[acp.Session]:
    def policy(request: acp.PermissionRequest) -> str:
        asked.append((request.function, request.arguments))
        return "allow"

    with acp.connect("demo", cwd=tmp_path, tools=True, permissions=policy) as session:
        yield session


def test_a_function_is_called_at_once_and_is_still_the_users(session: acp.Session, asked: list[Any]) -> None:
    @session.tool
    def add(a: int, b: int = 2) -> int:
        """Add two numbers."""
        print("adding")
        return a + b

    assert add(1, b=1) == 2
    turn = session.prompt('/call add {"a": "40"}')
    assert "adding\n42" in turn.text and asked == [("add", {"a": 40})]
    (run,) = turn.runs
    assert (run.function, run.arguments, run.status) == ("add", (("a", "40"),), "ok")
    assert run.outputs == (RunStream("stdout", "adding\n"), RunDisplay("42"))
    (call,) = turn.tool_calls
    assert (call.title, call.kind, call.status) == ("add(a=40)", "execute", "completed")
    assert "Call: add" in turn.to_text() and "a: 40" in turn.to_text()


def test_each_form_of_the_decorator_registers(session: acp.Session) -> None:
    @session.tool(name="short", permission="read", thread=True)
    def a_function_with_a_very_long_name_that_no_model_would_accept() -> str:
        return "from a thread"

    def plain() -> str:
        return "plain"

    assert session.tool(plain) is plain
    assert session.tool(plain, name="other") is plain
    assert [it.name for it in session.tools] == ["short", "plain", "other"]
    assert "from a thread" in session.prompt("/call short").text
    assert "- plain()" in session.prompt("/call").text


def test_functions_are_listed_counted_and_removed(session: acp.Session) -> None:
    @session.tool(permission="read")
    def one() -> int:
        """Count to one.

        More about it.
        """
        return 1

    for _ in range(3):
        session.prompt("/call one")
    tools = session.tools
    assert len(tools) == 1 and "one" in tools and "two" not in tools
    tool = tools["one"]
    assert (tool.calls, tool.permission, tool.signature, tool.function) == (3, "read", "()", one)
    assert tool.description.startswith("Count to one.") and tool.schema["properties"] == {}
    assert "one()     read        main thread  3      Count to one." in repr(tools)
    assert "<td" in tools._repr_html_() and "Count to one." in tools._repr_html_()
    with pytest.raises(KeyError, match="no function 'two'; there are one"):
        tools["two"]
    with pytest.raises(acp.UsageError, match="no function 'two'"):
        tools.remove("two")
    del tools["one"]
    assert len(tools) == 0 and "There is no function 'one'" in session.prompt("/call one").text


def test_functions_of_every_session_reach_present_and_future_ones(
    session: acp.Session, tmp_path: Path
) -> None:
    @acp.tool(permission="read")
    def everywhere() -> str:
        return "here, too"

    assert "here, too" in session.prompt("/call everywhere").text
    with acp.connect("demo", cwd=tmp_path, tools=True) as later:
        assert "here, too" in later.prompt("/call everywhere").text
        assert (session.tools["everywhere"].calls, later.tools["everywhere"].calls) == (1, 1)
    with pytest.raises(acp.UsageError, match=r"acp.tool.remove\('everywhere'\)"):
        session.tools.remove("everywhere")
    acp.tool.remove("everywhere")
    assert "There is no function 'everywhere'" in session.prompt("/call everywhere").text


def test_an_exception_reaches_the_agent_with_its_message(session: acp.Session) -> None:
    @session.tool
    def broken() -> None:
        raise LookupError("no such city")

    turn = session.prompt("/call broken")
    assert "It failed" in turn.text and "LookupError: no such city" in turn.text
    (run,) = turn.runs
    assert run.status == "error" and isinstance(run.outputs[0], RunError)
    assert "acp_notebook" not in run.outputs[0].traceback


@pytest.mark.parametrize("thread", [False, True])
def test_an_async_function_is_awaited_and_reports_progress(session: acp.Session, thread: bool) -> None:
    seen: list[tuple[float | None, str | None]] = []

    def hear(event: Any, _: Any) -> None:
        if isinstance(event, acp.events.ToolChanged) and isinstance(event.content, tuple):
            seen.extend((it.progress, it.progress_text) for it in event.content if isinstance(it, KernelRun))

    state = session._conversation.state
    state.listeners = (*state.listeners, hear)

    @session.tool(thread=thread)
    async def train(epochs: int, report: Any) -> str:
        for epoch in range(epochs):
            report(epoch / epochs, f"epoch {epoch}")
            await asyncio.sleep(0.15)
        return "trained"

    assert "trained" in session.prompt('/call train {"epochs": 3}').text
    assert (2 / 3, "epoch 2") in seen


def test_the_main_thread_runs_functions_while_it_waits_and_a_thread_always(session: acp.Session) -> None:
    @session.tool
    def here() -> str:
        return threading.current_thread().name

    @session.tool(thread=True)
    def there() -> str:
        return threading.current_thread().name

    assert "MainThread" in session.prompt("/call here").text
    turn = session.start("/call there")
    wait_until(lambda: turn.done, "the end of the turn")
    assert "acp-function" in turn.text


def test_a_function_for_the_main_thread_is_busy_if_nobody_waits(session: acp.Session) -> None:
    @session.tool
    def here() -> str:
        return "too late"

    with timeouts.replaced(run_busy=0.2):
        turn = session.start("/call here")
        wait_until(lambda: turn.done, "the end of the turn")
    assert "thread=True" in turn.text and turn.runs[0].status == "busy"


def test_a_cancelled_turn_ends_its_function(session: acp.Session) -> None:
    begun = threading.Event()

    @session.tool(thread=True)
    async def forever() -> None:
        begun.set()
        await asyncio.Event().wait()

    turn = session.start("/call forever")
    assert begun.wait(30)
    turn.cancel()
    turn.wait()
    wait_until(lambda: turn.runs[0].status == "interrupted", "the end of the function")


def test_a_function_cannot_wait_for_the_session_that_calls_it(session: acp.Session, tmp_path: Path) -> None:
    with acp.connect("demo", cwd=tmp_path) as other:

        @session.tool
        def ask(how: str) -> str:
            if how == "prompt":
                return session.prompt("hello").text
            if how == "wait":
                return session.start("hello").wait().text
            if how == "stream":
                return str(list(session.stream("hello")))
            return other.prompt("hello").text

        for how in ("prompt", "wait", "stream"):
            turn = session.prompt(f'/call ask {{"how": "{how}"}}')
            assert "cannot wait for another turn of the same session" in turn.text
        assert "You said" in session.prompt('/call ask {"how": "other"}').text


def test_a_question_shows_the_arguments_and_a_reject_reaches_the_agent(tmp_path: Path) -> None:
    with acp.connect("demo", cwd=tmp_path, tools=True, permissions="reject") as session:

        @session.tool
        def order(item: str) -> str:
            return item

        turn = session.prompt('/call order {"item": "tea"}')
        assert "Not done: the user's policy rejected it" in turn.text
        (question,) = [it for it in turn.items if isinstance(it, Question)]
        assert [it.type for it in question.actions] == ["mcp", "call_function"]
        assert question.actions[1].text == 'order(item="tea")'


def test_a_session_without_tools_says_how_to_get_them(tmp_path: Path) -> None:
    with acp.connect("demo", cwd=tmp_path, tools=False) as session:
        with pytest.raises(acp.UsageError, match="tools=True"):
            session.tool(len)
        assert "off" in repr(session.tools) and "off" in session.tools._repr_html_()
    with pytest.raises(acp.SessionClosed):
        session.tool(len)


def test_a_bad_signature_is_an_error_where_it_is_decorated(session: acp.Session) -> None:
    with pytest.raises(acp.UsageError, match=r"takes_anything\(\) takes \*things"):

        @session.tool
        def takes_anything(*things: int) -> None: ...

    with pytest.raises(acp.UsageError, match="'run_code' is the name of one of the kernel's own tools"):
        session.tool(len, name="run_code")


def test_a_hundred_calls_at_once_are_all_answered(session: acp.Session) -> None:
    done: list[int] = []

    @session.tool(permission="read", thread=True)
    def count(n: int) -> int:
        done.append(n)
        return n

    turn = session.prompt("/calls count 100")
    assert turn.stop_reason == "end_turn" and 0 < len(done) <= 100


def test_a_replayed_session_accepts_functions_and_shows_their_recorded_calls(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tape = tmp_path_factory.mktemp("recordings") / "tape.jsonl"
    called: list[Any] = []

    def add(a: int, b: int) -> int:
        called.append((a, b))
        return a + b

    with acp.connect("demo", cwd=tmp_path, tools=True, permissions="allow", record=tape) as session:
        session.tool(add)
        session.prompt('/call add {"a": 40, "b": 2}')
    with acp.connect(cassette=acp.Cassette(tape), permissions="allow") as session:
        session.tool(add)
        assert [it.name for it in session.tools] == ["add"]
        turn = session.prompt('/call add {"a": 40, "b": 2}')
    assert "42" in turn.text and called == [(40, 2)]
    (run,) = turn.runs
    assert (run.function, run.status, run.outputs) == ("add", "ok", (RunDisplay("42"),))
