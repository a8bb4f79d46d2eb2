"""Real agents call the user's functions: through `call_function` at once, and by name in the next session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents.mock_model import kernel, say, script
from tests.real.test_real_kernel_tools import NAMES, Notebook, opened

pytestmark = [pytest.mark.real_agent, pytest.mark.slow]

FUNCTIONS = """
import asyncio, time
import pandas as pd

@acp.tool(permission="read")
def sales(region: str, rows: int = 3) -> pd.DataFrame:
    "Sales of a region."
    return pd.DataFrame({"region": [region] * rows, "units": range(rows)})

@acp.tool(permission="read")
def chart(title: str = "Sales"):
    import matplotlib.pyplot as plt
    plt.plot([1, 3, 2])
    plt.title(title)

@acp.tool(permission="read")
def broken():
    raise LookupError("no such region")

@acp.tool(permission="read")
async def doubled(number: float) -> float:
    await asyncio.sleep(0.01)
    return number * 2

@acp.tool
def order(item: str, count: int = 1) -> str:
    "Order something: this costs money."
    return f"ordered {count} of {item}"

@acp.tool(permission="read", thread=True)
def patient(seconds: float, report) -> str:
    "Takes its time."
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        report(1 - left / seconds, f"{left:.0f} s left")
        time.sleep(0.2)
    return "at last"
"""

ONE_CALL = [["mcp", "call_function"]]
"""The questions of a turn that calls a function: one, about the tool and its arguments."""


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return kernel("call_function", name=name, arguments=arguments)


@pytest.fixture(scope="module", params=NAMES)
def notebook(
    request: pytest.FixtureRequest, model: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Notebook]:
    """The functions are registered when the session is open already."""
    with opened(request.param, model, tmp_path_factory.mktemp(request.param)) as notebook:
        notebook.run(FUNCTIONS)
        yield notebook


def test_functions_return_a_frame_draw_raise_and_await_without_a_question(notebook: Notebook) -> None:
    turn = notebook.run_script(call("sales", region="North"), say("{result}"))
    assert "North" in turn["text"] and "int64" in turn["text"] and turn["asked"] == []
    (run,) = turn["runs"]
    assert (run["function"], run["arguments"]) == ("sales", [["region", '"North"']])
    assert run["status"] == "ok" and run["outputs"][0]["table"][1][1] == "North"
    assert turn["calls"] == [["read", 'sales(region="North")', "completed"]]

    turn = notebook.run_script(call("chart"), say("pictures: {pictures}"))
    assert turn["text"] == "pictures: 1"
    (picture,) = [it for it in turn["runs"][0]["outputs"] if it.get("image")]
    assert picture["image"]["mime_type"] == "image/png"

    turn = notebook.run_script(call("broken"), say("{result}"))
    assert "LookupError" in turn["text"] and "no such region" in turn["text"]
    assert [it["status"] for it in turn["runs"]] == ["error"] and turn["calls"][0][2] == "failed"

    turn = notebook.run_script(call("doubled", number=21), say("{result}"))
    assert "42.0" in turn["text"] and turn["asked"] == []


def test_a_function_that_asks_is_asked_about_once_with_its_arguments(notebook: Notebook) -> None:
    turn = notebook.run_script(call("order", item="tea", count=2), say("{result}"))
    assert "ordered 2 of tea" in turn["text"] and turn["asked"] == ONE_CALL
    assert turn["acts"][-1] == 'order(item="tea", count=2)'
    (run,) = turn["runs"]
    assert run["arguments"] == [["item", '"tea"'], ["count", "2"]]
    wrong = notebook.run_script(call("order", thing="tea"), say("{result}"))
    assert "argument 'item' is missing; there is no argument 'thing'" in wrong["text"]
    assert wrong["asked"] == [] and wrong["runs"] == []


def test_functions_are_tools_of_their_own_in_the_next_session(notebook: Notebook) -> None:
    notebook.run("second = connect(); second_user = User(second, allow)")
    named = script(kernel("order", item="milk"), say("{result}"))
    turn = notebook.reported(f"report(second.prompt({named!r}), second)")
    assert "ordered 1 of milk" in turn["text"] and turn["asked"] == ONE_CALL
    read = script(kernel("sales", region="South", rows=1), say("{result}"))
    turn = notebook.reported(f"report(second.prompt({read!r}), second)")
    assert "South" in turn["text"] and turn["asked"] == []
    notebook.run("second.agent.close()")


@pytest.mark.slow
@pytest.mark.parametrize("name", [it for it in NAMES if it != "codex"])
def test_a_function_of_60_seconds_reports_its_progress(name: str, model: str, tmp_path: Path) -> None:
    with opened(name, model, tmp_path) as notebook:
        notebook.run(FUNCTIONS)
        notebook.run(
            "progress = set()\n"
            "def hear(event, _):\n"
            "    if isinstance(event, acp.events.ToolChanged) and isinstance(event.content, tuple):\n"
            "        progress.update(getattr(it, 'progress', None) for it in event.content)\n"
            "state = session._conversation.state\n"
            "state.listeners = (*state.listeners, hear)"
        )
        turn = notebook.run_script(call("patient", seconds=60), kernel("wait", run="run-1"), say("{result}"))
        assert "at last" in turn["text"] and turn["asked"] == []
        (run,) = turn["runs"]
        assert run["status"] == "ok" and run["seconds"] >= 60
        assert int(notebook.run("print(len(progress))")) > 100
