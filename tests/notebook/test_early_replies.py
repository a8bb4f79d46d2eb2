"""A page that is reloaded while an agent's code runs: what it asks is answered, everything else waits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.notebook.kernels import Front

CONTROL = "jupyter.widget.control"

SETUP = f"""
import time
from acp_notebook.notebook.early_replies import early_replies
from acp_notebook.notebook.ipykernel_compat import running_kernel
events, own = [], running_kernel().shell_stream._recv_callback
for name in ("pre_execute", "post_execute"):
    get_ipython().events.register(name, lambda name=name: events.append(name))
def on_control(comm, _):
    comm.on_msg(lambda message: comm.send({{"method": "update_states"}}))
comm.get_comm_manager().register_target({CONTROL!r}, on_control)
"""

RUN = """
events.clear(); print("busy")
with early_replies(running_kernel()):
    while not os.path.exists({name!r}): time.sleep(0.01)
print(events, running_kernel().shell_stream._recv_callback == own)
"""


@pytest.fixture
def go(tmp_path: Path) -> Path:
    """The code runs until this file exists."""
    return tmp_path / "go"


@pytest.fixture
def subshells(version: str) -> None:
    if version.startswith("6"):
        pytest.skip("this ipykernel reads the shell channel on the main thread")


@pytest.fixture
def run(kernel: Front, widget: str, go: Path) -> str:
    """The id of a cell that runs like an agent's code."""
    kernel.run(SETUP)
    id = kernel.begin(RUN.format(name=str(go)))
    kernel.wait_for_output(id, "busy")
    return id


def test_a_reloaded_page_gets_what_it_asks_for(
    subshells: None, kernel: Front, widget: str, run: str, go: Path
) -> None:
    info = kernel.result(kernel.send("kernel_info_request", {}))
    comms = kernel.result(kernel.send("comm_info_request", {"target_name": "test"}))
    assert info.content["implementation"] == "ipython"
    assert widget in comms.content["comms"]
    assert comms.states == ["busy", "idle"]
    opened = {"comm_id": "c1", "target_name": CONTROL, "data": {}}
    kernel.handled(kernel.send("comm_open", opened))
    asked = kernel.click("c1", {"method": "request_states"})
    kernel.sent(asked, {"method": "update_states"})
    assert kernel.open(run)
    go.touch()
    assert kernel.result(run).text == "busy\n[] True\n"


def test_messages_to_our_own_widgets_are_handled(
    subshells: None, kernel: Front, widget: str, run: str, go: Path
) -> None:
    go.touch()
    kernel.result(run)
    go.unlink()
    kernel.run("nb.handle_without_events(w.comm)")
    again = kernel.begin(RUN.format(name=str(go)))
    kernel.wait_for_output(again, "busy")
    assert kernel.handled(kernel.click(widget, {"method": "custom"})).states == ["busy", "idle"]
    assert kernel.open(again)
    go.touch()
    assert kernel.result(again).text == "busy\n[] True\n"


def test_all_other_messages_wait_for_the_main_thread(kernel: Front, widget: str, run: str, go: Path) -> None:
    click = kernel.click(widget, "go")
    behind = kernel.begin("print(w.got, w.threads)")
    info = kernel.send("kernel_info_request", {})
    go.touch()
    assert kernel.result(run).text == "busy\n[] True\n"
    assert kernel.handled(click).states == ["busy", "idle"]
    assert kernel.result(behind).text == "['go'] [True]\n"
    assert kernel.result(info).content["status"] == "ok"


def test_a_message_for_a_subshell_is_handled_there(
    subshells: None, kernel: Front, widget: str, run: str, go: Path
) -> None:
    go.touch()
    kernel.result(run)
    go.unlink()
    kernel.run("nb.handle_without_events(w.comm); nb.keep_subshell(w.comm); names = []")
    kernel.run("w.react = lambda data: names.append(threading.current_thread().name)")
    made = kernel.result(kernel.send("create_subshell_request", {}, channel="control"))
    again = kernel.begin(RUN.format(name=str(go)))
    kernel.wait_for_output(again, "busy")
    kernel.handled(kernel.click(widget, "in a subshell", made.content["subshell_id"]))
    kernel.handled(kernel.click(widget, {"method": "request_state"}))
    go.touch()
    kernel.result(again)
    in_subshell, on_channel = kernel.run("print(*names, sep='|')").text.strip().split("|")
    assert in_subshell.startswith("subshell-") and on_channel != in_subshell
