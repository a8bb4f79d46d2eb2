"""Code that an agent runs in a real kernel: what it shows, and how it ends."""

from __future__ import annotations

import base64
import struct

import pytest

from tests.notebook.kernel_tools.conftest import Tools, texts

FIGURE = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"


def test_what_it_prints_and_results_in_is_the_runs_and_not_the_cells(tools: Tools) -> None:
    result = tools.front.run("state = go('print(1); print(2); 40 + 2'); print('mine')")
    assert result.text == "mine\n"
    assert not [it for it in result.messages if it["msg_type"] in ("execute_result", "display_data")]
    state = tools.reported("report(state)")
    assert state["status"] == "ok"
    assert texts(state) == "1\n2\n"
    assert state["outputs"][-1]["is_result"] and state["outputs"][-1]["text"] == "42"


def test_a_semicolon_silences_the_result_of_its_own_code_only(tools: Tools) -> None:
    assert tools.run("42;")["outputs"] == []
    result = tools.front.run("state = go('42'); 7;")
    assert not [it for it in result.messages if it["msg_type"] == "execute_result"]
    assert tools.reported("report(state)")["outputs"][0]["text"] == "42"


def test_an_error_has_a_traceback_that_names_the_run(tools: Tools) -> None:
    result = tools.front.run("state = go('def f():\\n    1/0\\nf()'); print('goes on')")
    assert result.text == "goes on\n"
    assert "error" not in [it["msg_type"] for it in result.messages]
    state = tools.reported("report(state)")
    error = state["outputs"][-1]
    assert state["status"] == "error"
    assert (error["name"], error["message"]) == ("ZeroDivisionError", "division by zero")
    assert "\x1b" not in error["traceback"] and "\x1b" in error["ansi"]
    assert f"In[{state['id']}]" in error["traceback"]


def test_a_recursion_shows_its_last_frames(tools: Tools) -> None:
    state = tools.run(
        "def f(n):\n    return g(n)\n"
        "def g(n):\n    if n == 0: raise ValueError('deep')\n    return f(n - 1)\nf(40)"
    )
    trace = state["outputs"][-1]["traceback"]
    assert "frames left out" in trace and trace.endswith("ValueError: deep")
    assert trace.count("In[run-") <= 14


@pytest.mark.parametrize(
    ("code", "name"),
    [("1 +", "SyntaxError"), ("%nosuchmagic", "UsageError"), ("raise SystemExit(3)", "SystemExit")],
)
def test_errors_of_every_kind_are_errors(tools: Tools, code: str, name: str) -> None:
    state = tools.run(code)
    assert state["status"] == "error"
    assert name in [it["name"] for it in state["outputs"] if it["type"] == "error"]


def test_a_group_of_exceptions_is_an_error(tools: Tools) -> None:
    state = tools.run("raise ExceptionGroup('several', [ValueError('one')])")
    assert state["status"] == "error"
    assert "ExceptionGroup" in state["outputs"][-1]["name"]


def test_await_works_at_the_top_level(tools: Tools) -> None:
    state = tools.run("import asyncio\nawait asyncio.sleep(0.01)\nawaited = 5\nawaited")
    assert state["outputs"][-1]["text"] == "5"
    assert tools.value("awaited") == 5


def test_await_works_within_an_awaiting_cell(tools: Tools) -> None:
    cell = "report(await wait_async(on_loop(ran('import asyncio; await asyncio.sleep(0.01); 6'))))\n"
    result = tools.front.run(cell + "await asyncio.sleep(0.01); print('alive')")
    assert "alive" in result.text
    assert tools.states(result.text)[0]["outputs"][0]["text"] == "6"


def test_tasks_that_are_left_behind_are_cancelled_and_named(tools: Tools) -> None:
    state = tools.run("import asyncio\nlost = asyncio.create_task(asyncio.sleep(60))\nawait asyncio.sleep(0)")
    assert state["status"] == "ok"
    assert "1 task(s)" in state["notes"][0]


def test_magics_and_shell_commands_work(tools: Tools) -> None:
    assert texts(tools.run("!echo from a shell")) == "from a shell\n"
    assert texts(tools.run("%%bash\necho from bash")) == "from bash\n"
    assert "Wall time" in texts(tools.run("%time 1 + 1"))
    assert "pip" in texts(tools.run("%pip --version"))


def test_what_goes_past_stdout_is_taken_from_ipykernels_watcher(tools: Tools) -> None:
    state = tools.run("import os\nos.system('echo from a child')\nos.write(1, b'from C code')\n0;")
    assert "from a child\n" in texts(state) and "from C code" in texts(state)


def test_a_logging_handler_that_kept_the_stream_is_heard(tools: Tools) -> None:
    tools.front.run(
        "import logging\nlog = logging.getLogger('mine'); log.addHandler(logging.StreamHandler())"
    )
    assert texts(tools.run("log.warning('LOGGED')"), "stderr") == "LOGGED\n"


def test_a_progress_bar_is_its_last_line(tools: Tools) -> None:
    bar = "import sys\nfor i in range(1000): print(f'{i}%', end='\\r', file=sys.stderr)\n"
    assert texts(tools.run(f"{bar}print('done', file=sys.stderr)"), "stderr") == "done\n"


def test_displays_can_be_cleared_and_updated(tools: Tools) -> None:
    state = tools.run(
        "from IPython.display import *\nprint('gone'); clear_output()\n"
        "handle = display('first', display_id=True); handle.update('second')"
    )
    assert [it["text"] for it in state["outputs"]] == ["'second'"]


def test_a_display_of_the_users_can_be_updated(tools: Tools) -> None:
    tools.front.run("from IPython.display import display\nmine = display('a', display_id=True)")
    result = tools.front.run("go(\"mine.update('b')\")")
    assert "update_display_data" in [it["msg_type"] for it in result.messages]


def test_a_figure_is_a_picture_that_models_can_look_at(tools: Tools) -> None:
    large = "import matplotlib.pyplot as plt\nplt.figure(figsize=(40, 20)); plt.plot([1, 2]);"
    for code in (FIGURE, large):
        [shown] = [it for it in tools.run(code)["outputs"] if it["type"] == "display"]
        png = base64.b64decode(shown["image"]["data"])
        width, height = struct.unpack(">II", png[16:24])
        assert png.startswith(b"\x89PNG") and max(width, height) <= 1568


def test_help_is_an_output_and_no_pager(tools: Tools) -> None:
    result = tools.front.run("state = go('len?')")
    assert result.content["payload"] == []
    assert "Return the number of items" in tools.reported("report(state)")["outputs"][0]["text"]


def test_exit_and_input_are_refused_with_a_reason(tools: Tools) -> None:
    for code in ("exit()", "exit", "quit()", "get_ipython().ask_exit()"):
        error = tools.run(code)["outputs"][-1]
        assert "would end the user's kernel" in error["message"] and "capture.py" not in error["traceback"]
    for code in ("input('?')", "import getpass; getpass.getpass()", "import pdb; pdb.set_trace()"):
        state = tools.run(code)
        assert "nobody is there to answer" in str(state["outputs"]), state


def test_runs_between_cells_and_shows_the_kernel_busy(tools: Tools) -> None:
    tools.front.forget("acp_run")
    tools.front.run("when = on_loop(when_idle('print(7); 8'))")
    tools.front.read_until(lambda: tools.statuses() == ["busy", "idle"], "busy and idle")
    tools.front.forget("acp_run")
    state = tools.reported("report(when.result(30))")
    assert (texts(state), state["outputs"][-1]["text"]) == ("7\n", "8")
    assert tools.idle("import asyncio; await asyncio.sleep(0.01); 9")["outputs"][-1]["text"] == "9"


def test_the_kernel_is_not_shown_as_idle_while_a_cell_waits(tools: Tools) -> None:
    tools.run("1")
    assert "idle" not in tools.statuses()


def test_code_behind_the_users_own_cell_is_busy_with_what_runs(tools: Tools) -> None:
    state = tools.reported(
        "future = on_loop(ran('print(1)'))\nwhile not future.done(): pass\nreport(future.result())"
    )
    count = tools.front.run("pass").content["execution_count"] - 1
    assert state["status"] == "busy" and state["outputs"] == []
    assert f"s with the user's cell [{count}]" in state["notes"][0]


def test_runs_come_one_after_the_other(tools: Tools) -> None:
    assert tools.value(
        "(lambda runs: [wait(it).status for it in runs])"
        "([on_loop(ran(f'import time; order = globals().get(\"order\", []) + [{n}]; time.sleep(.02)'))"
        " for n in range(4)]) + order"
    ) == ["ok"] * 4 + [0, 1, 2, 3]


def test_changes_are_told_while_it_runs(tools: Tools) -> None:
    tools.front.run(
        "seen = []\nstate = go('import time\\nfor i in range(6): print(i); time.sleep(.1)', changes=seen)"
    )
    assert tools.value("[it.status for it in seen][-1]") == "ok"
    assert tools.value("sum(it.status == 'running' and len(it.outputs) > 0 for it in seen)") >= 2


def test_a_wait_within_the_code_works(tools: Tools) -> None:
    tools.front.run("inner = Future(); threading.Timer(0.1, inner.set_result, ['inner']).start()")
    assert tools.run("wait(inner)")["outputs"][-1]["text"] == "'inner'"
