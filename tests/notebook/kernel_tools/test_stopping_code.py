"""Stopping code of an agent: ours ends that code alone, the user's stop button ends the turn, too."""

from __future__ import annotations

import pytest

from acp_notebook.timeouts import Timeouts
from tests.notebook.kernel_tools.conftest import Tools, texts
from tests.patience import code_to_replace

SLEEPS = "print('started')\nimport time\ntime.sleep(60)"
AWAITS = "print('started')\nimport asyncio\nawait asyncio.sleep(60)"
LOOPS = "print('started')\nwhile True: pass"
PRINTS = "print('started')\nwhile True: print('x' * 100)"
CHILD = "print('started')\nimport subprocess\nsubprocess.run(['sleep', '60'])"


@pytest.mark.parametrize("code", [SLEEPS, AWAITS, LOOPS, PRINTS, CHILD])
def test_our_interrupt_ends_the_code_and_the_cell_goes_on(tools: Tools, code: str) -> None:
    result = tools.front.run(f"report(wait(on_loop(interrupted({code!r}))))\nprint('goes on')")
    assert result.content["status"] == "ok", result.content
    assert "goes on" in result.text
    state = tools.states(result.text)[0]
    assert state["status"] == "interrupted" and state["seconds"] < 30
    assert tools.value("user_stops") == []


def test_an_interrupt_that_python_misses_is_sent_again(tools: Tools) -> None:
    """A signal just before a sleep's system call is noticed when the sleep is over."""
    tools.front.run(
        "import signal as signals; send, missed = signals.pthread_kill, []\n"
        "signals.pthread_kill = lambda *it: send(*it) if missed else missed.append(it)"
    )
    state = tools.reported(f"report(wait(on_loop(interrupted({SLEEPS!r}))))")
    tools.front.run("signals.pthread_kill = send")
    assert state["status"] == "interrupted" and state["seconds"] < 30
    assert tools.value("len(missed)") == 1 and tools.value("user_stops") == []


@pytest.mark.parametrize("code", [SLEEPS, AWAITS, LOOPS])
def test_the_users_stop_ends_the_code_and_what_waits_for_it(tools: Tools, code: str) -> None:
    tools.front.run("user_stops.clear(); stopped = []")
    cell = tools.front.begin(
        "comm_of_test = __import__('comm').create_comm(target_name='test')\n"
        "def changed(state):\n"
        f"    if state.outputs and not state.is_over: comm_of_test.send({code!r})\n"
        f"async def watched():\n"
        f"    return await tools.start_run({code!r}, on_change=changed).wait(50)\n"
        "future = on_loop(watched())\n"
        "wait(future, on_interrupt=lambda: stopped.append(1))"
    )
    tools.front.read_until(
        lambda: any(it["content"].get("data") == code for it in tools.front.messages()), "the code"
    )
    tools.front.forget("comm_msg")
    tools.front.interrupt()
    result = tools.front.result(cell)
    assert result.content["ename"] == "KeyboardInterrupt"
    assert tools.value("stopped") == [1] and tools.value("user_stops") == [1]
    tools.front.run("user_stops.clear()")
    state = tools.reported("report(future.result(30))")
    assert state["status"] == "interrupted" and "The user stopped it." in state["notes"]
    assert tools.run("1")["status"] == "ok"


def test_code_that_catches_the_interrupt_can_be_interrupted_again(tools: Tools) -> None:
    code = (
        "import time\nfor n in range(3):\n    try:\n        print('mark', n); time.sleep(60)\n"
        "    except KeyboardInterrupt: print('caught', n)"
    )
    marks = ("mark 0", "mark 1", "mark 2")
    state = tools.reported(f"report(wait(on_loop(interrupted({code!r}, {marks!r}))))")
    assert state["status"] == "ok"
    assert "caught 2" in texts(state)
    assert tools.front.run("print('mine')").text == "mine\n"


def test_code_that_ignores_the_interrupt_is_reported_and_reading_works(tools: Tools) -> None:
    tools.front.run(
        code_to_replace(run_ignored=0.2) + "free = threading.Event()\n"
        "async def ignored():\n"
        "    code = 'signal.signal(signal.SIGINT, lambda *_: None); print(\"started\"); free.wait()'\n"
        "    run = tools.start_run(code)\n"
        "    while not run.state.outputs: await asyncio.sleep(0.01)\n"
        "    run.interrupt()\n"
        "    while not run.ignores_interrupt: await asyncio.sleep(0.01)\n"
        "    second = tools.start_run('1')\n"
        "    listed = tools.list_variables('free')\n"
        "    notes = run.state.notes\n"
        "    free.set()\n"
        "    return [notes, second.state.status, second.state.notes, listed, (await run.wait(30)).status]\n"
    )
    notes, status, why, listed, ended = tools.value("wait(on_loop(ignored()))")
    tools.front.run(code_to_replace(run_ignored=Timeouts().run_ignored))
    assert "ignores that" in notes[0]
    assert status == "busy" and "ignores its interrupt" in why[0]
    assert listed.startswith("free: threading.Event")
    assert ended in ("ok", "interrupted")
    assert tools.run("2")["status"] == "ok"


def test_a_run_that_has_not_begun_never_does(tools: Tools) -> None:
    tools.front.run(
        "async def two():\n"
        "    first, second = tools.start_run('import time; time.sleep(0.2)'), tools.start_run('begun = 1')\n"
        "    second.interrupt()\n"
        "    return [second.state.status, second.state.notes, (await first.wait(30)).status]\n"
    )
    status, notes, first = tools.value("wait(on_loop(two()))")
    assert (status, first) == ("interrupted", "ok") and "before it began" in notes[0]
    assert tools.value("'begun' in globals()") is False


def test_an_interrupt_at_any_moment_hits_the_code_or_nothing(tools: Tools) -> None:
    """Sent while the code begins and ends: the user's cell must never be hit."""
    tools.front.run(
        "async def storm(n):\n"
        "    ended = []\n"
        "    for at in range(n):\n"
        "        run = tools.start_run('x = 1')\n"
        "        deadline = time.perf_counter() + at * 0.00005\n"
        "        while time.perf_counter() < deadline: await asyncio.sleep(0)\n"
        "        run.interrupt()\n"
        "        ended.append((await run.wait(30)).status)\n"
        "    return sorted(set(ended))\n"
    )
    ended = tools.value("wait(on_loop(storm(200)))")
    assert set(ended) <= {"ok", "interrupted"}
    assert tools.value("user_stops") == []
    assert tools.run("3")["status"] == "ok"


def test_everything_of_a_session_can_be_stopped_at_once(tools: Tools) -> None:
    tools.front.run(
        "async def all_of_them():\n"
        "    several = [tools.start_run('import time; time.sleep(60)') for _ in range(3)]\n"
        "    while not several[0].state.seconds: await asyncio.sleep(0.01)\n"
        "    tools.interrupt_all()\n"
        "    return [(await it.wait(30)).status for it in several]\n"
    )
    assert tools.value("wait(on_loop(all_of_them()))") == ["interrupted"] * 3
