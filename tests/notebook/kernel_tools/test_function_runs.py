"""The user's functions in a real kernel: what they return, show and report, and how they are stopped."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notebook.conftest import Shared
from tests.notebook.kernel_tools.conftest import Tools, texts

CALLING = """
from acp_notebook.core.kernel_tools.interface import FunctionCall

def called(function, where="main", reports=False, changes=None, **named):
    call = FunctionCall(function.__name__, function, (), named, tuple((k, repr(v)) for k, v in named.items()),
                        where, reports)
    return tools.start_call(call, on_change=None if changes is None else changes.append)

async def end_of(function, **options):
    return await called(function, **options).wait(50)

def call(function, **options):
    "As a cell that waits in prompt() while the agent calls a function."
    return wait(on_loop(end_of(function, **options)))

async def stopped(function, **options):
    "Interrupt it once it has printed that it started."
    run = called(function, **options)
    while not any("started" in getattr(it, "head", "") + getattr(it, "tail", "") for it in run.state.outputs):
        await asyncio.sleep(0.005)
        assert not run.state.is_over, run.state
    run.interrupt()
    return await run.wait(50)
"""


@pytest.fixture
def calls(shared_tools: Shared) -> Tools:
    tools = Tools(shared_tools.front())
    assert tools.front.run(CALLING).content["status"] == "ok"
    return tools


def called(calls: Tools, definition: str, call: str = "call(f)") -> dict[str, Any]:
    result = calls.front.run(definition)
    assert result.content["status"] == "ok", result.content
    return calls.reported(f"report({call})")


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

WHERE = pytest.mark.parametrize("where", ["main", "thread"])


@WHERE
def test_what_it_prints_and_returns_is_the_runs_and_not_the_cells(calls: Tools, where: str) -> None:
    calls.front.run("def f(a):\n    print('in it')\n    return a + 1")
    result = calls.front.run(f"state = call(f, where={where!r}, a=41); print('mine')")
    assert result.text == "mine\n"
    state = calls.reported("report(state)")
    assert (state["status"], texts(state)) == ("ok", "in it\n")
    assert state["outputs"][-1]["is_result"] and state["outputs"][-1]["text"] == "42"
    assert calls.value("[state.function, state.arguments, state.code]") == ["f", [["a", "41"]], ""]


@WHERE
def test_a_text_is_returned_as_it_is_and_nothing_as_nothing(calls: Tools, where: str) -> None:
    state = called(calls, "def f(): return 'two\\nlines'", f"call(f, where={where!r})")
    assert state["outputs"][0]["text"] == "two\nlines"
    assert called(calls, "def f(): pass", f"call(f, where={where!r})")["outputs"] == []


@WHERE
def test_a_frame_is_described_as_in_a_prompt_and_shown_as_a_table(calls: Tools, where: str) -> None:
    definition = "import pandas as pd\ndef f(): return pd.DataFrame({'a': [1, 2], 'b': [None, 3.5]})"
    (output,) = called(calls, definition, f"call(f, where={where!r})")["outputs"]
    assert "2 rows" in output["text"] and "float64" in output["text"]
    assert "<table" in output["data"]["text/html"]


@pytest.mark.parametrize("end", ["plt.show()", "return figure", "pass"])
def test_a_figure_is_drawn_once_however_it_is_shown(calls: Tools, end: str) -> None:
    definition = (
        "import matplotlib.pyplot as plt\n"
        f"def f():\n    figure, axes = plt.subplots()\n    axes.plot([1, 2])\n    {end}"
    )
    pictures = [it for it in called(calls, definition)["outputs"] if it.get("image")]
    assert len(pictures) == 1


def test_a_figure_is_returned_from_a_thread(calls: Tools) -> None:
    definition = (
        "from matplotlib.figure import Figure\n"
        "def f():\n    figure = Figure()\n    figure.subplots().plot([1, 2])\n    return figure"
    )
    pictures = [it for it in called(calls, definition, "call(f, where='thread')")["outputs"] if it["image"]]
    assert len(pictures) == 1


@WHERE
def test_an_image_and_a_text_together_are_shown_one_by_one(calls: Tools, where: str) -> None:
    definition = (
        "import acp_notebook as acp\n"
        f"PNG = {PNG!r}\n"
        "def f(): return acp.Text('a dot'), acp.Image(PNG, 'image/png')"
    )
    text, image = called(calls, definition, f"call(f, where={where!r})")["outputs"]
    assert text["text"] == "a dot" and image["image"]["mime_type"] == "image/png"


@WHERE
def test_an_exception_is_an_error_with_the_functions_own_frames(calls: Tools, where: str) -> None:
    definition = "def g(): raise ValueError('no such city')\ndef f(): g()"
    state = called(calls, definition, f"call(f, where={where!r})")
    (error,) = state["outputs"]
    assert state["status"] == "error"
    assert (error["name"], error["message"]) == ("ValueError", "no such city")
    assert "g()" in error["traceback"] and "acp_notebook" not in error["traceback"]
    assert error["traceback"].endswith("ValueError: no such city")


@WHERE
@pytest.mark.parametrize("error", ["SystemExit(3)", "KeyboardInterrupt()", "asyncio.CancelledError()"])
def test_no_exception_ends_the_kernel_or_the_turn(calls: Tools, where: str, error: str) -> None:
    state = called(calls, f"def f(): raise {error}", f"call(f, where={where!r})")
    assert state["status"] == "error"
    assert called(calls, "def f(): return 1")["status"] == "ok"


@WHERE
def test_an_async_function_is_awaited(calls: Tools, where: str) -> None:
    definition = "async def f(n):\n    await asyncio.sleep(0.01)\n    return n * 2"
    state = called(calls, definition, f"call(f, where={where!r}, n=21)")
    assert (state["status"], state["outputs"][0]["text"]) == ("ok", "42")


@WHERE
def test_progress_is_shown_while_it_runs(calls: Tools, where: str) -> None:
    definition = (
        "seen = []\n"
        "def f(report):\n"
        "    for step in range(3):\n"
        "        report(step / 2, f'step {step}')\n"
        "        time.sleep(0.3)\n"
    )
    called(calls, definition, f"call(f, where={where!r}, reports=True, changes=seen)")
    shown = calls.value("[[it.progress, it.progress_text] for it in seen]")
    assert [0.5, "step 1"] in shown and shown[-1] == [1.0, "step 2"]


@pytest.mark.parametrize("bad", ["'many'", "[1]"])
def test_a_report_that_makes_no_sense_is_the_functions_error(calls: Tools, bad: str) -> None:
    state = called(calls, f"def f(report): report({bad})", "call(f, reports=True)")
    assert state["status"] == "error"


def test_reports_outside_of_the_range_are_bounded(calls: Tools) -> None:
    definition = "def f(report):\n    report(7, 'x' * 10_000)"
    called(calls, definition, "(state := call(f, reports=True))")
    assert calls.value("[state.progress, len(state.progress_text)]") == [1.0, 200]


def test_a_function_on_a_thread_runs_while_the_users_cell_does(calls: Tools) -> None:
    calls.front.run("def f(): return 'meanwhile'")
    result = calls.front.run("print('@' + json.dumps(plain(on_loop(end_of(f, where='thread')).result(30))))")
    state = calls.states(result.text)[-1]
    assert (state["status"], state["outputs"][0]["text"]) == ("ok", "meanwhile")


def test_a_function_on_the_main_thread_is_busy_while_the_users_cell_runs(calls: Tools) -> None:
    calls.front.run("def f(): return 'too late'")
    result = calls.front.run("print('@' + json.dumps(plain(on_loop(end_of(f)).result(30))))")
    assert calls.states(result.text)[-1]["status"] == "busy"


def test_functions_on_threads_keep_their_outputs_apart(calls: Tools) -> None:
    calls.front.run(
        "from IPython.display import display, HTML\n"
        "gate = threading.Barrier(3)\n"
        "def f(n):\n    gate.wait(30)\n    print('print', n)\n"
        "    display(HTML(f'shown {n}'))\n    gate.wait(30)\n"
        "async def three():\n"
        "    return await asyncio.gather(*(end_of(f, where='thread', n=n) for n in range(3)))"
    )
    result = calls.front.run("states = wait(on_loop(three())); print('mine')")
    assert result.text == "mine\n"
    for n in range(3):
        state = calls.reported(f"report(states[{n}])")
        assert texts(state) == f"print {n}\n"
        assert state["outputs"][-1]["data"]["text/html"] == f"shown {n}"


def test_prints_of_a_function_on_a_thread_are_not_taken_for_those_of_code(calls: Tools) -> None:
    calls.front.run(
        "go_on, done = threading.Event(), threading.Event()\n"
        "def f():\n    go_on.wait(30)\n    print('of the function')\n    done.set()\n"
        "async def both():\n"
        "    beside = called(f, where='thread')\n"
        "    code = tools.start_run('go_on.set(); done.wait(30); print(\"of the code\")')\n"
        "    return await code.wait(50), await beside.wait(50)"
    )
    calls.front.run("code, beside = wait(on_loop(both()))")
    assert texts(calls.reported("report(code)")) == "of the code\n"
    assert texts(calls.reported("report(beside)")) == "of the function\n"


# ---- stopping


def test_a_function_on_the_main_thread_is_interrupted_like_code(calls: Tools) -> None:
    calls.front.run("def f():\n    print('started')\n    time.sleep(50)")
    assert calls.reported("report(wait(on_loop(stopped(f))))")["status"] == "interrupted"


@WHERE
def test_an_async_function_is_cancelled(calls: Tools, where: str) -> None:
    calls.front.run(
        "ends = []\nasync def f():\n    try:\n        print('started')\n        await asyncio.sleep(50)\n"
        "    finally:\n        ends.append('cleaned up')"
    )
    state = calls.reported(f"report(wait(on_loop(stopped(f, where={where!r}))))")
    assert state["status"] == "interrupted"
    assert calls.value("ends") == ["cleaned up"]


def test_a_function_on_a_thread_learns_of_a_cancel_when_it_reports(calls: Tools) -> None:
    calls.front.run(
        "ended = threading.Event()\n"
        "def f(report):\n    try:\n        while True:\n            report(None, 'working')\n"
        "            print('started')\n            time.sleep(0.01)\n    finally:\n        ended.set()"
    )
    state = calls.reported("report(wait(on_loop(stopped(f, where='thread', reports=True))))")
    assert state["status"] == "interrupted" and state["notes"] == []
    assert calls.value("ended.wait(30)")


def test_a_function_on_a_thread_that_ignores_a_cancel_is_given_up(calls: Tools) -> None:
    calls.front.run(
        "from acp_notebook import timeouts\ngo_on = threading.Event()\n"
        "def f():\n    print('started')\n    go_on.wait(50)\n    return 'too late'"
    )
    with_short = (
        "with timeouts.replaced(run_ignored=0.1):\n    state = wait(on_loop(stopped(f, where='thread')))"
    )
    assert calls.front.run(with_short).content["status"] == "ok"
    state = calls.reported("report(state)")
    assert state["status"] == "interrupted" and "still runs on its own thread" in state["notes"][0]
    calls.front.run("go_on.set()")
    assert calls.value("[it.status for it in [state]]") == ["interrupted"]


def test_threads_that_go_on_after_a_cancel_are_not_collected_without_limit(calls: Tools) -> None:
    """Attack: an agent that calls and interrupts a slow function over and over."""
    calls.front.run(
        "from acp_notebook import timeouts\ngo_on = threading.Event()\n"
        "def f():\n    go_on.wait(50)\n"
        "async def flood(times):\n"
        "    states = []\n"
        "    for _ in range(times):\n"
        "        run = called(f, where='thread')\n"
        "        run.interrupt()\n"
        "        states.append(await run.wait(50))\n"
        "    return states\n"
        "def running():\n    return sum(it.name == 'acp-function' for it in threading.enumerate())\n"
    )
    flood = "with timeouts.replaced(run_ignored=0.001):\n    states = wait(on_loop(flood(40)))"
    assert calls.front.run(flood).content["status"] == "ok"
    assert calls.value("running()") == 32
    last = calls.reported("report(states[-1])")
    assert last["status"] == "refused" and "32 earlier calls still run" in last["notes"][0]
    calls.front.run("go_on.set()\nwhile running(): time.sleep(0.01)")
    assert called(calls, "def f():\n    return 1", "call(f, where='thread')")["status"] == "ok"


# ---- hostile functions


@WHERE
def test_an_enormous_text_is_cut(calls: Tools, where: str) -> None:
    state = called(calls, "def f(): return 'x' * 100_000_000", f"call(f, where={where!r})")
    assert state["status"] == "ok" and len(state["outputs"][0]["text"]) < 20_000


@WHERE
def test_a_result_that_cannot_be_written_is_an_error_and_nothing_breaks(calls: Tools, where: str) -> None:
    definition = "class Odd:\n    def __repr__(self): raise RuntimeError('no repr')\ndef f(): return Odd()"
    state = called(calls, definition, f"call(f, where={where!r})")
    assert "RuntimeError" in str(state["outputs"])
    assert called(calls, "def f(): return 1")["status"] == "ok"


@WHERE
def test_a_structure_that_contains_itself_is_shown(calls: Tools, where: str) -> None:
    definition = "def f():\n    found = [1]\n    found.append(found)\n    return found"
    state = called(calls, definition, f"call(f, where={where!r})")
    assert state["status"] == "ok" and "[1, " in state["outputs"][0]["text"]


def test_input_is_refused(calls: Tools) -> None:
    state = called(calls, "def f(): return input('name? ')")
    assert state["status"] == "error" and "nobody is there to answer" in state["outputs"][0]["message"]


@WHERE
def test_a_flood_of_prints_is_bounded(calls: Tools, where: str) -> None:
    definition = "def f():\n    for _ in range(100_000): print('x' * 100)"
    state = called(calls, definition, f"call(f, where={where!r})")
    assert state["status"] == "ok" and state["outputs"][0]["left_out"] > 0


def test_the_users_last_error_and_history_stay(calls: Tools) -> None:
    calls.front.run("1 / 0")
    called(calls, "def f(): raise ValueError('of the agent')")
    assert calls.value("[type(sys.last_value).__name__]") == ["ZeroDivisionError"]
