"""The same on every kind of ipykernel that we know."""

from __future__ import annotations

import pytest

from tests.notebook.kernel_tools.conftest import Tools, texts
from tests.notebook.kernel_tools.test_function_runs import CALLING
from tests.notebook.kernel_tools.test_function_runs import (
    test_an_async_function_is_awaited as check_await,
)
from tests.notebook.kernel_tools.test_function_runs import (
    test_an_async_function_is_cancelled as check_cancel,
)
from tests.notebook.kernel_tools.test_function_runs import (
    test_an_exception_is_an_error_with_the_functions_own_frames as check_error,
)
from tests.notebook.kernel_tools.test_function_runs import (
    test_what_it_prints_and_returns_is_the_runs_and_not_the_cells as check_outputs,
)
from tests.notebook.kernel_tools.test_run_cells import PAGE
from tests.notebook.kernel_tools.test_run_cells import (
    test_cells_run_while_a_cell_waits_and_the_page_gets_outputs_and_counts as check_cells,
)
from tests.notebook.kernel_tools.test_stopping_code import AWAITS, SLEEPS
from tests.notebook.kernel_tools.test_stopping_code import (
    test_the_users_stop_ends_the_code_and_what_waits_for_it as check_users_stop,
)
from tests.notebook.kernels import VERSIONS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize("shared_tools", list(VERSIONS), indirect=True, scope="module"),
]


def test_code_runs_while_a_cell_waits(tools: Tools) -> None:
    state = tools.run("import os\nprint(1)\nos.system('echo 2')\nos.write(2, b'3')\n40 + 2")
    assert texts(state) == "1\n2\n" and texts(state, "stderr") == "3"
    assert [it["text"] for it in state["outputs"] if it.get("is_result")] == ["42"]
    assert tools.run("import asyncio; await asyncio.sleep(0.01); 5")["outputs"][-1]["text"] == "5"
    assert tools.run("1/0")["outputs"][-1]["name"] == "ZeroDivisionError"
    assert "refused" in tools.run("exit()")["outputs"][-1]["message"]
    assert "refused" in tools.run("input()")["outputs"][-1]["message"]


@pytest.mark.parametrize("where", ["main", "thread"])
def test_functions_print_display_return_raise_and_await(tools: Tools, where: str) -> None:
    tools.front.run(CALLING)
    check_outputs(tools, where)
    check_error(tools, where)
    check_await(tools, where)
    check_cancel(tools, where)


def test_code_runs_between_cells(tools: Tools) -> None:
    state = tools.idle("print(7); 8")
    assert (texts(state), state["outputs"][-1]["text"]) == ("7\n", "8")


def test_the_users_own_cell_makes_it_busy(tools: Tools) -> None:
    cell = "future = on_loop(ran('1'))\nwhile not future.done(): pass\nreport(future.result())"
    assert tools.reported(cell)["status"] == "busy"


def test_the_users_results_and_counts_stay(tools: Tools) -> None:
    first = tools.front.run("11").content["execution_count"]
    second = tools.front.run("state = go('99'); 1/0").content["execution_count"]
    result = tools.front.run("state = go('2/0')\nprint('@' + json.dumps([_, str(sys.last_value)]))")
    assert tools.states(result.text)[-1] == [11, "division by zero"]
    assert (second, result.content["execution_count"]) == (first + 1, first + 2)


@pytest.mark.parametrize("code", [SLEEPS, AWAITS])
def test_both_kinds_of_interrupts(tools: Tools, code: str) -> None:
    state = tools.reported(f"report(wait(on_loop(interrupted({code!r}))))")
    assert state["status"] == "interrupted"
    check_users_stop(tools, code)


def test_cells_get_their_numbers(tools: Tools) -> None:
    tools.front.run(PAGE)
    check_cells(tools)
