"""The magics in a real kernel: one static output a prompt, completion, usage errors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.notebook.kernels import Front, started
from tests.waiting import wait_until

pytestmark = [pytest.mark.timeout(240), pytest.mark.filterwarnings("default")]


WAIT_FOR_COMMANDS = "import time\nwhile not session.commands:\n    time.sleep(0.01)"
"""Wait until the agent has announced its commands."""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    with started(Path(sys.executable), tmp_path_factory.mktemp("kernel")) as front:
        for cell in (
            "%load_ext acp_notebook",
            "%acp_agent demo",
            WAIT_FOR_COMMANDS,
            "class Thing:\n    size = 3",
        ):
            assert front.run(cell).content["status"] == "ok"
        yield front
        assert front.run("session.agent.close()").content["status"] == "ok"


def outputs(front: Front, cell: str) -> list[dict[str, Any]]:
    result = front.run(cell)
    assert result.content["status"] == "ok", result
    shown = ("display_data", "execute_result", "stream")
    return [it["content"] for it in result.messages if it["msg_type"] in shown]


def completions(front: Front, code: str) -> tuple[list[str], str]:
    """The completions, and the text that they would replace."""
    id = front.send("complete_request", {"code": code, "cursor_pos": len(code)})
    found = front.result(id).content
    return found["matches"], code[found["cursor_start"] : found["cursor_end"]]


def test_a_prompt_leaves_one_static_output(kernel: Front) -> None:
    (output,) = outputs(kernel, "%%acp\nwhat is @Thing, see @cell:last?")
    assert "You said: “what is @Thing, see @cell:last?”" in output["data"]["text/plain"]
    assert "resource python:Thing" in output["data"]["text/html"]


def test_a_class_defined_in_a_cell_is_sent_as_its_source(kernel: Front) -> None:
    text = kernel.run("print(session.preview(Thing).content[0].text)").text
    assert text == "# `Thing`: class __main__.Thing\n\nclass Thing:\n    size = 3\n\n"


def test_a_usage_error_has_no_traceback(kernel: Front) -> None:
    result = kernel.run("%acp see @Thign")
    assert result.content["status"] == "error"
    assert result.content["ename"] == "UsageError"
    assert "did you mean @Thing?" in result.text


def test_an_interrupted_prompt_shows_one_line_and_stops_run_all(kernel: Front, tmp_path: Path) -> None:
    log = tmp_path / "events"
    listener = f"lambda event, _: open({str(log)!r}, 'a').write(type(event).__name__)"
    kernel.run(f"session._loop.post(session._conversation.state.listen, {listener})")
    id = kernel.begin("%%acp\n/slow 600")
    wait_until(lambda: log.exists() and "MessageChunk" in log.read_text(), "the agent's first words")
    kernel.interrupt()
    result = kernel.result(id)
    assert (result.content["status"], result.content["ename"]) == ("error", "KeyboardInterrupt")
    (error,) = (it["content"] for it in result.messages if it["msg_type"] == "error")
    assert error["traceback"] == ["Stopped."]
    assert kernel.run("print(session.turns[-1].stop_reason)").text == "cancelled\n"


def test_completion_through_the_kernel_protocol(kernel: Front) -> None:
    assert completions(kernel, "%%acp\n/tou") == (["/tour"], "/tou")
    assert completions(kernel, "%acp see @Thi") == (["@Thing"], "@Thi")
    assert completions(kernel, "%acp_agent de") == (["demo"], "de")
    assert completions(kernel, "%%acp ") == (["session"], "")
    matches, _ = completions(kernel, "Thi")
    assert "Thing" in matches
