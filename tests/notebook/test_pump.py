"""Clicks while a cell waits: raw comm messages, on several kernel versions."""

from __future__ import annotations

import pytest

from tests.notebook.kernels import Front

BLOCK = "print('waiting'); print(wait(w.future('go')))"
AWAIT = "print('waiting'); print(await wait_async(w.future('go')))"
TRIES = 20
BOTH = pytest.mark.parametrize("cell", [BLOCK, AWAIT], ids=["wait", "await"])


@pytest.fixture
def subshell(kernel: Front, version: str) -> str:
    if version.startswith("6"):
        pytest.skip("this ipykernel has no subshells")
    made = kernel.result(kernel.send("create_subshell_request", {}, channel="control"))
    return str(made.content["subshell_id"])


@BOTH
def test_a_click_is_handled_while_a_cell_waits(kernel: Front, widget: str, cell: str) -> None:
    id = kernel.begin(cell)
    kernel.wait_for_output(id, "waiting")
    click = kernel.click(widget, "go")
    assert kernel.result(id).text == "waiting\ngo\n"
    assert kernel.handled(click).states == ["busy", "idle"]
    assert kernel.run("print(w.got, w.threads)").text == "['go'] [True]\n"


def test_the_kernel_is_busy_after_a_click_while_a_cell_waits(kernel: Front, widget: str) -> None:
    def statuses() -> list[str]:
        of_sign = [it for it in kernel.messages() if it["parent_header"].get("msg_type") == "acp_run"]
        return [it["content"]["execution_state"] for it in of_sign]

    kernel.forget("acp_run")
    id = kernel.begin(BLOCK)
    kernel.read_until(lambda: statuses() == ["busy"], "the sign")
    kernel.handled(kernel.click(widget, "other"))
    kernel.read_until(lambda: statuses() == ["busy", "busy"], "another busy")
    kernel.click(widget, "go")
    assert kernel.result(id).states == ["busy", "idle"]
    assert "idle" not in statuses()


@BOTH
def test_several_clicks_are_handled_in_order(kernel: Front, widget: str, cell: str) -> None:
    id = kernel.begin(cell)
    kernel.wait_for_output(id, "waiting")
    for n in range(50):
        kernel.click(widget, n)
    kernel.click(widget, "go")
    kernel.result(id)
    assert kernel.run("print(w.got == [*range(50), 'go'])").text == "True\n"


@BOTH
def test_cells_queued_behind_run_afterwards_in_order(kernel: Front, widget: str, cell: str) -> None:
    id = kernel.begin(cell)
    kernel.wait_for_output(id, "waiting")
    behind = [kernel.begin(f"order = [*globals().get('order', []), {n}]; print(order)") for n in range(3)]
    asked = kernel.send("is_complete_request", {"code": "1"})
    kernel.click(widget, "go")
    first = kernel.result(id)
    results = [kernel.result(it) for it in behind]
    assert [it.text for it in results] == ["[0]\n", "[0, 1]\n", "[0, 1, 2]\n"]
    count = first.content["execution_count"]
    assert [it.content["execution_count"] for it in results] == [count + 1, count + 2, count + 3]
    assert kernel.result(asked).content["status"] == "complete"
    assert kernel.run("del order").content["status"] == "ok"


@BOTH
def test_a_reloaded_page_gets_its_answers_while_a_cell_waits(kernel: Front, widget: str, cell: str) -> None:
    id = kernel.begin(cell)
    kernel.wait_for_output(id, "waiting")
    info = kernel.result(kernel.send("kernel_info_request", {}))
    comms = kernel.result(kernel.send("comm_info_request", {"target_name": "test"}))
    assert kernel.open(id)
    assert info.content["implementation"] == "ipython"
    assert widget in comms.content["comms"]
    assert comms.states == ["busy", "idle"]
    kernel.click(widget, "go")
    assert kernel.result(id).text == "waiting\ngo\n"


@BOTH
def test_comms_are_opened_and_closed_while_a_cell_waits(kernel: Front, widget: str, cell: str) -> None:
    kernel.run("opened = []; comm.get_comm_manager().register_target('t', lambda c, m: opened.append(c))")
    id = kernel.begin(cell)
    kernel.wait_for_output(id, "waiting")
    kernel.handled(kernel.send("comm_open", {"comm_id": "x1", "target_name": "t", "data": {}}))
    kernel.handled(kernel.send("comm_close", {"comm_id": "x1", "data": {}}))
    assert kernel.open(id)
    kernel.click(widget, "go")
    kernel.result(id)
    assert kernel.run("print(len(opened), 'x1' in comm.get_comm_manager().comms)").text == "1 False\n"


@BOTH
def test_output_after_a_click_still_belongs_to_the_cell(kernel: Front, widget: str, cell: str) -> None:
    show = "from IPython.display import display; import threading"
    thread = "t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()"
    id = kernel.begin(f"{cell}; {show}; display('shown'); {thread}")
    kernel.wait_for_output(id, "waiting")
    kernel.handled(kernel.click(widget, "other"))
    kernel.click(widget, "go")
    result = kernel.result(id)
    assert result.text == "waiting\ngo\nthread\n"
    assert [it["msg_type"] for it in result.messages].count("display_data") == 1


def test_two_gathered_awaits_share_the_pump(kernel: Front, widget: str) -> None:
    pair = "wait_async(w.future('a')), wait_async(w.future('b'))"
    for first, second in ("ab", "ba"):
        kernel.run("w.futures.clear()")
        id = kernel.begin(f"print('waiting'); print(await asyncio.gather({pair}))")
        kernel.wait_for_output(id, "waiting")
        kernel.handled(kernel.click(widget, first))
        assert kernel.open(id)
        kernel.click(widget, second)
        assert kernel.result(id).text == "waiting\n['a', 'b']\n"
        assert kernel.run("print(pump_is_off())").text == "True\n"


@BOTH
def test_a_wait_in_a_click_handler_pumps_too(kernel: Front, widget: str, cell: str) -> None:
    kernel.run("w.react = lambda data: data == 'outer' and wait(w.future('inner'))")
    id = kernel.begin(cell)
    kernel.wait_for_output(id, "waiting")
    outer = kernel.click(widget, "outer")
    behind = kernel.begin("print('behind')")
    kernel.handled(kernel.click(widget, "inner"))
    kernel.handled(outer)
    kernel.click(widget, "go")
    assert kernel.result(id).text == "waiting\ngo\n"
    assert kernel.result(behind).text == "behind\n"
    assert kernel.run("print(w.got)").text == "['outer', 'inner', 'go']\n"


@BOTH
def test_a_click_may_end_the_outer_wait_before_the_inner_one(kernel: Front, widget: str, cell: str) -> None:
    kernel.run("w.react = lambda data: data == 'outer' and wait(w.future('inner'))")
    id = kernel.begin(cell)
    kernel.wait_for_output(id, "waiting")
    kernel.click(widget, "outer")
    kernel.handled(kernel.click(widget, "go"))
    kernel.click(widget, "inner")
    assert kernel.result(id).text == "waiting\ngo\n"


def test_a_wait_that_a_handler_started_may_outlive_the_cell(kernel: Front, widget: str) -> None:
    kernel.run(
        "w.react = lambda data: data == 'start' and tasks.append("
        "asyncio.ensure_future(wait_async(w.future('late'))))\ntasks = []"
    )
    id = kernel.begin(AWAIT)
    kernel.wait_for_output(id, "waiting")
    kernel.click(widget, "start")
    kernel.click(widget, "go")
    kernel.result(id)
    assert kernel.run("print(tasks[0].done(), pump_is_off())").text == "False False\n"
    assert kernel.run("await asyncio.sleep(0); print('async')").text == "async\n"
    kernel.handled(kernel.click(widget, "late"))
    assert kernel.run("print(await tasks[0])").text == "late\n"


def test_a_waiting_task_does_not_block_other_cells(kernel: Front, widget: str) -> None:
    kernel.run("task = asyncio.ensure_future(wait_async(w.future('go')))")
    assert kernel.run("print('free')").text == "free\n"
    blocked = kernel.begin("print('waiting'); print(wait(w.future('other')))")
    kernel.wait_for_output(blocked, "waiting")
    kernel.click(widget, "go")
    kernel.click(widget, "other")
    assert kernel.result(blocked).text == "waiting\nother\n"
    assert kernel.run("print(await task)").text == "go\n"


def test_a_click_during_the_users_own_await_is_handled(kernel: Front, widget: str) -> None:
    kernel.run("attend(w.future('go')); mine = asyncio.Event(); w.react = lambda data: mine.set()")
    id = kernel.begin("print('waiting'); await mine.wait(); print(wait(w.future('go')))")
    kernel.wait_for_output(id, "waiting")
    kernel.click(widget, "go")
    assert kernel.result(id).text == "waiting\ngo\n"


def test_attending_leaves_other_cells_alone(kernel: Front, widget: str) -> None:
    kernel.run("attend(w.future('go'))")
    assert kernel.run("print(pump_is_off()); print(await asyncio.sleep(0, 'async'))").text == "False\nasync\n"
    kernel.handled(kernel.click(widget, "go"))
    assert kernel.run("print(w.got)").text == "['go']\n"


def test_clicks_in_a_subshell_are_handled_there(kernel: Front, widget: str, subshell: str) -> None:
    kernel.run("nb.keep_subshell(w.comm)")
    id = kernel.begin("import time; print('busy')\nwhile not w.got: time.sleep(0.01)\nprint(w.threads)")
    kernel.wait_for_output(id, "busy")
    assert kernel.handled(kernel.click(widget, "go", subshell)).states == ["busy", "idle"]
    assert kernel.result(id).text == "busy\n[False]\n"


WATCH = """nb.handle_without_events(w.comm)
events = []
for name in ("pre_execute", "post_execute"):
    get_ipython().events.register(name, lambda name=name: events.append(name))"""


def test_a_click_draws_and_closes_no_figure_of_the_user_s(kernel: Front, widget: str) -> None:
    """matplotlib does so on `post_execute`, which ipykernel triggers for every comm message."""
    kernel.run(WATCH)
    id = kernel.begin("events.clear(); print('waiting'); print(wait(w.future('go')), events)")
    kernel.wait_for_output(id, "waiting")
    kernel.click(widget, "go")
    assert kernel.result(id).text == "waiting\ngo []\n"


def test_a_click_in_a_subshell_draws_none_either(kernel: Front, widget: str, subshell: str) -> None:
    kernel.run(f"{WATCH}\nnb.keep_subshell(w.comm)")
    waits = "events.clear(); import time; print('busy')\nwhile not w.got: time.sleep(0.01)\nprint(events)"
    id = kernel.begin(waits)
    kernel.wait_for_output(id, "busy")
    kernel.handled(kernel.click(widget, "go", subshell))
    assert kernel.result(id).text == "busy\n[]\n"


@BOTH
def test_a_click_in_a_subshell_ends_a_wait_of_the_main_shell(
    kernel: Front, widget: str, subshell: str, cell: str
) -> None:
    id = kernel.begin(cell)
    kernel.wait_for_output(id, "waiting")
    kernel.handled(kernel.click(widget, "go", subshell))
    assert kernel.result(id).text == "waiting\ngo\n"


def test_a_cell_in_a_subshell_waits_there(kernel: Front, widget: str, subshell: str) -> None:
    content = {"code": BLOCK, "silent": False, "allow_stdin": False}
    id = kernel.send("execute_request", content, subshell_id=subshell)
    kernel.wait_for_output(id, "waiting")
    assert kernel.run("print('main is free')").text == "main is free\n"
    kernel.click(widget, "go")
    assert kernel.result(id).text == "waiting\ngo\n"


def test_a_wait_in_a_subshell_handles_its_clicks(kernel: Front, widget: str, subshell: str) -> None:
    """The callback of a widget that asks: the answer's click goes to the subshell that the callback holds."""
    content = {"code": BLOCK, "silent": False, "allow_stdin": False}
    id = kernel.send("execute_request", content, subshell_id=subshell)
    kernel.wait_for_output(id, "waiting")
    assert kernel.handled(kernel.click(widget, "go", subshell)).states == ["busy", "idle"]
    assert kernel.result(id).text == "waiting\ngo\n"


# ---- nothing is lost

STRIKE = """
from acp_notebook.notebook.ipykernel_compat import Shell
def struck(shell, frames, plain=Shell.request):
    Shell.request = plain
    signal.raise_signal(signal.SIGINT)  # the worst moment: received, and not yet looked at
    return plain(shell, frames)
Shell.request = struck
calls = []
try:
    print('waiting')
    wait(w.future('go'), on_interrupt=lambda: calls.append(1), grace=%s)
except KeyboardInterrupt:
    print('interrupted', calls, w.future('go').done())
"""


def test_an_interrupt_while_receiving_does_not_lose_a_click(kernel: Front, widget: str) -> None:
    id = kernel.begin(STRIKE % 60)
    kernel.wait_for_output(id, "waiting")
    kernel.click(widget, "go")
    assert kernel.result(id).text == "waiting\ninterrupted [1] True\n"


def test_an_interrupt_while_receiving_does_not_lose_a_cell(kernel: Front, widget: str) -> None:
    id = kernel.begin(STRIKE % 0)
    kernel.wait_for_output(id, "waiting")
    behind = kernel.begin("print('behind')")
    assert kernel.result(id).text == "waiting\ninterrupted [1] False\n"
    assert kernel.result(behind).text == "behind\n"


def test_an_error_in_a_handler_does_not_fail_the_cell(kernel: Front, widget: str) -> None:
    kernel.run("w.react = lambda data: data == 'bad' and 1 / 0")
    id = kernel.begin(BLOCK)
    kernel.wait_for_output(id, "waiting")
    assert kernel.handled(kernel.click(widget, "bad")).states == ["busy", "idle"]
    kernel.click(widget, "go")
    assert kernel.result(id).text == "waiting\ngo\n"


def test_unreadable_messages_are_left_to_the_kernel(kernel: Front, widget: str) -> None:
    id = kernel.begin(BLOCK)
    kernel.wait_for_output(id, "waiting")
    kernel.send("no_such_request", {})
    kernel.send_raw(b"<IDS|MSG>", b"not", b"a", b"message")
    kernel.click(widget, "go")
    assert kernel.result(id).text == "waiting\ngo\n"


def test_an_error_in_the_cell_aborts_the_queued_cells(kernel: Front, widget: str) -> None:
    id = kernel.begin(f"{BLOCK}; 1 / 0", stop_on_error=True)
    kernel.wait_for_output(id, "waiting")
    behind = [kernel.begin("print('not run')") for _ in range(2)]
    kernel.click(widget, "go")
    assert kernel.result(id).content["ename"] == "ZeroDivisionError"
    assert [kernel.result(it).content["status"] for it in behind] == ["aborted", "aborted"]
    # As long as the kernel clears its queue, what comes is aborted, too.
    later = (kernel.run("print('healthy')") for _ in range(TRIES))
    assert next(it.text for it in later if it.content["status"] != "aborted") == "healthy\n"


def test_a_failed_probe_falls_back_to_a_plain_wait(kernel: Front) -> None:
    text = kernel.run(
        "from acp_notebook.notebook import ipykernel_compat as streams\n"
        "parts, streams.STREAM_PARTS = streams.STREAM_PARTS, ('no_such_part',)\n"
        "done = Future(); threading.Timer(0, done.set_result, ['plain']).start()\n"
        "print(nb.pump_status()); print(wait(done), await wait_async(done))\n"
        "streams.STREAM_PARTS = parts; print(nb.pump_status())"
    ).text
    assert text.splitlines() == [
        "cannot be used: the shell's stream has no no_such_part. "
        "Clicks are handled after the cell has ended, or in a subshell",
        "plain plain",
        "works",
    ]
