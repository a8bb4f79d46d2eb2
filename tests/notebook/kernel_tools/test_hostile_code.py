"""Code that does its worst: each has a clear result, and the kernel lives."""

from __future__ import annotations

import pytest

from tests.notebook.kernel_tools.conftest import Tools, texts


@pytest.fixture(autouse=True)
def healthy(tools: Tools) -> None:
    """What the test before has left."""
    assert tools.run("'alive'")["outputs"][-1]["text"] == "'alive'"


@pytest.mark.parametrize(
    "code",
    [
        "import sys\nfor _ in range(100): sys.stdout.write(('x' * 999_999 + '\\n'))",
        "import sys\nsys.stdout.write('x' * 100_000_000);",
        "for _ in range(1_000_000): print('x' * 99)",
    ],
)
def test_100_mb_of_output_are_kept_in_bounds(tools: Tools, code: str) -> None:
    state = tools.run(code)
    assert state["status"] == "ok"
    [output] = state["outputs"]
    assert len(output["head"]) + len(output["tail"]) < 1_000_000
    assert len(output["head"]) + len(output["tail"]) + output["left_out"] >= 100_000_000


def test_many_outputs_are_kept_in_bounds(tools: Tools) -> None:
    state = tools.run("from IPython.display import display\nfor n in range(5000): display(n); print(n)")
    assert len(state["outputs"]) == 200
    assert state["outputs"][0]["text"] == "0" and "4999" in texts(state)
    assert "outputs in the middle were left out" in state["notes"][0]


def test_a_result_of_any_size_is_kept_in_bounds(tools: Tools) -> None:
    state = tools.run("'x' * 50_000_000")
    assert state["status"] == "ok" and len(state["outputs"][-1]["text"]) < 20_000
    assert state["outputs"][-1]["dropped"] == ["text/plain"]


def test_a_repr_that_raises_or_exits_is_the_runs_problem(tools: Tools) -> None:
    state = tools.run("class R:\n    def __repr__(self): raise ValueError('no')\nR()")
    assert "ValueError" in str(state["outputs"])
    state = tools.run("class E:\n    def __repr__(self): raise SystemExit\nE()")
    assert state["status"] in ("ok", "error")
    state = tools.run("class F(Exception):\n    def __str__(self): raise ValueError('no')\nraise F")
    assert state["status"] == "error"


def test_a_repr_that_sleeps_can_be_interrupted(tools: Tools) -> None:
    code = "import time\nclass S:\n    def __repr__(self): print('started'); time.sleep(60)\nS()"
    state = tools.reported(f"report(wait(on_loop(interrupted({code!r}))))")
    assert state["seconds"] < 30


def test_listing_and_inspecting_run_no_repr(tools: Tools) -> None:
    tools.front.run(
        "hits = []\n"
        "class Trap:\n"
        "    def __repr__(self): hits.append('repr'); return ''\n"
        "    __str__ = __len__ = __getattr__ = __getattribute__ = __eq__ = __hash__ = __iter__ = __repr__\n"
        "trap = Trap(); hits.clear(); traps = {'a': [trap]}\n"
        "async def looked():\n"
        "    found = [(await tools.inspect_variable(it, 3)).text for it in ('trap', 'traps')]\n"
        "    return [tools.list_variables(), *found]\n"
    )
    listed, one, several = tools.value("wait(on_loop(looked()))")
    assert "trap: Trap" in listed and "Trap" in one and "<Trap>" in several
    assert tools.value("hits") == []
    tools.front.run("del trap, traps")


def test_variables_can_be_listed_while_the_users_cell_runs(tools: Tools) -> None:
    assert "busy_with = 5" in tools.value(
        "(globals().__setitem__('busy_with', 5), on_loop(on_a_thread(lambda: tools.list_variables('busy*')))"
        ".result(30))[1].replace(': int', '')"
    )


def test_hidden_variables_are_neither_listed_nor_inspected(tools: Tools) -> None:
    tools.front.run("hidden_frame = 1; shown_frame = 2")
    assert "hidden" not in tools.value("tools.list_variables('*_frame')")
    assert tools.value("wait(on_loop(tools.inspect_variable('hidden_frame'))).found") is False


def test_what_is_hidden_is_not_found_where_ipython_keeps_it(tools: Tools) -> None:
    """Attack: a cell's value is in `_`, `_5` and `Out`, and its code in `In`."""
    shown = tools.front.run("hidden_frame = [41, 42]; dotted = {}; globals()['len(dotted)'] = object()")
    count = tools.front.run("hidden_frame").content["execution_count"]
    assert shown.content["status"] == "ok" and tools.value(f"Out[{count}]") == [41, 42]
    names = ["_", "__", "___", "Out", "_oh", "In", "_ih", f"_{count}", f"_i{count}", "__builtins__"]
    names += ["hidden_frame ", "hidden_frame[0]", "dotted.__class__", "get_ipython", "len(dotted)", ""]
    texts = tools.value(f"[wait(on_loop(tools.inspect_variable(it))).text for it in {names!r}]")
    for name, text in zip(names, texts, strict=True):
        assert text.startswith(f"There is no variable {name!r}"), name
    tools.front.run("del hidden_frame, dotted, globals()['len(dotted)']")


def test_a_fork_that_goes_on_is_ended(tools: Tools) -> None:
    state = tools.run(
        "import os\npid = os.fork()\nif pid == 0:\n    print('in the child')\nelse:\n    os.waitpid(pid, 0)"
    )
    assert state["status"] == "ok"
    assert "in the child" in texts(state)
    assert tools.value("os.getpid()") == tools.value("os.getpid()")


def test_a_pool_of_forked_workers_works(tools: Tools) -> None:
    state = tools.run(
        "import multiprocessing\nwith multiprocessing.get_context('fork').Pool(2) as pool:\n"
        "    print(pool.map(abs, [-1, -2]))"
    )
    assert texts(state).endswith("[1, 2]\n"), state


def test_threads_of_the_code_are_heard_and_those_of_the_user_write_to_the_cell(tools: Tools) -> None:
    tools.front.run("go_on, said = threading.Event(), threading.Event()")
    cell = (
        "def mine():\n    go_on.wait(30); print('of the user'); said.set()\n"
        "thread = threading.Thread(target=mine); thread.start()\n"
        "report(go('import threading\\ngo_on.set(); said.wait(30)\\n"
        'agents = threading.Thread(target=print, args=("of the agent",))\\nagents.start(); agents.join()\'))'
    )
    result = tools.front.run(cell)
    [state] = tools.states(result.text)
    assert texts(state) == "of the agent\n"
    assert "of the user" in result.text


def test_a_thread_that_prints_later_does_not_disturb(tools: Tools) -> None:
    tools.run(
        "import threading, sys\nout = sys.stdout\n"
        "later = threading.Timer(0.05, lambda: out.write('late'))\nlater.start()"
    )
    result = tools.front.run("later.join()")
    assert result.content["status"] == "ok"


@pytest.mark.parametrize(
    "code",
    [
        "import sys; sys.stdout.close(); print('still')",
        "sys.stdout = sys.stderr = None",
        "del sys.stdout.write",
        "import builtins; builtins.print = None",
        "sys.stdout.write = None",
        "get_ipython().display_pub._hooks.clear()",
        "get_ipython()._showtraceback = None; 1/0",
        "get_ipython().display_formatter.format = None; 1",
        "get_ipython().events.callbacks['post_execute'].append(lambda: 1/0)",
        "from acp_notebook.notebook.kernel_tools import outputs; outputs.Display = None; 5",
        "from acp_notebook.notebook.kernel_tools import execute; execute.Capture = None; 5",
        "from acp_notebook.notebook.kernel_tools import execute; execute.Failure = None; %nosuch",
        "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)",
        "import os; os.getpid = lambda: 1",
        "import gc; gc.collect()",
        "import asyncio; asyncio.set_event_loop(None)",
        "import sys; sys.setrecursionlimit(60)",
    ],
)
def test_code_that_breaks_what_it_finds_has_an_end(tools: Tools, code: str) -> None:
    keep = (
        "import sys, os, builtins, threading, asyncio\n"
        "kept = [(o, n, getattr(o, n)) for o, n in ((builtins, 'print'), (threading, 'current_thread'),"
        " (os, 'getpid'), (get_ipython().display_formatter, 'format'))]\n"
        "from acp_notebook.notebook.kernel_tools import outputs as o1, execute as e1\n"
        "kept += [(o1, 'Display', o1.Display), (e1, 'Capture', e1.Capture), (e1, 'Failure', e1.Failure)]\n"
        "limit = sys.getrecursionlimit(); callbacks = list(get_ipython().events.callbacks['post_execute'])"
    )
    assert tools.front.run(keep).content["status"] == "ok"
    cell = f"state = go({code!r})\nfor o, n, v in kept: setattr(o, n, v)\nsys.setrecursionlimit(limit)"
    tools.front.run(cell)
    tools.front.run("get_ipython().events.callbacks['post_execute'][:] = callbacks")
    state = tools.reported("report(state)")
    assert state["status"] in ("ok", "error")
    assert tools.front.run("print('mine')").text == "mine\n"
    assert texts(tools.run("print('agent')")) == "agent\n"


def test_a_kernel_that_the_code_kills_is_dead(tools: Tools) -> None:
    """There is no protection from that, and the docs say so."""
    front = tools.front
    with pytest.raises(AssertionError, match="died"):
        front.run("go('import os; os._exit(3)')")
    assert front.lost
