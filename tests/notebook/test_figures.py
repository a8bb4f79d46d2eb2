"""Figures of a waiting cell stay open and whole, whatever widget is clicked meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import Shared
from .kernels import Front, Result, started

FIGURE = """mine = plt.figure(); lines = plt.plot([1])
print('waiting'); print(wait(w.future('go')), plt.fignum_exists(mine.number), len(mine.axes[0].lines))"""

FAILS = """def react(data):
    plt.figure()
    w.future(data).set_result(data)
    raise ValueError"""


@pytest.fixture(scope="module")
def shared_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """Of this Python, which has matplotlib."""
    shared = Shared(lambda: started(Path(sys.executable), tmp_path_factory.mktemp("kernel")))
    yield shared
    shared.end()


@pytest.fixture
def drawing(kernel: Front, widget: str) -> Front:
    """A kernel with the inline backend, and a widget that is not ours."""
    kernel.run("%matplotlib inline\nimport matplotlib.pyplot as plt")
    return kernel


def pictures(result: Result) -> int:
    return sum(it["msg_type"] == "display_data" for it in result.messages)


def test_a_click_leaves_the_figures_of_the_waiting_cell_alone(drawing: Front, widget: str) -> None:
    """ipykernel triggers `post_execute` for each message to a widget, and matplotlib closes all figures."""
    id = drawing.begin(FIGURE)
    drawing.wait_for_output(id, "waiting")
    assert pictures(drawing.handled(drawing.click(widget, "go"))) == 0
    result = drawing.result(id)
    assert result.text == "waiting\ngo True 1\n"
    assert pictures(result) == 1  # at the end of the cell, as ever


def test_a_click_shows_the_figures_of_its_own_callback(drawing: Front, widget: str) -> None:
    drawing.run("w.react = lambda data: plt.plot([2])")
    id = drawing.begin(FIGURE)
    drawing.wait_for_output(id, "waiting")
    assert pictures(drawing.handled(drawing.click(widget, "go"))) == 1
    result = drawing.result(id)
    assert result.text == "waiting\ngo True 1\n" and pictures(result) == 1
    assert drawing.run("print(plt.get_fignums())").text == "[]\n"


def test_a_callback_that_fails_leaves_nothing_hidden(drawing: Front, widget: str) -> None:
    drawing.run(f"{FAILS}\nw.react = react")
    id = drawing.begin(FIGURE)
    drawing.wait_for_output(id, "waiting")
    drawing.click(widget, "go")
    result = drawing.result(id)
    assert result.text == "waiting\ngo True 1\n"
    assert pictures(result) == 2  # below the cell, as if the callback had been called in it


def test_figures_that_the_user_wants_to_keep_open_stay_open(drawing: Front, widget: str) -> None:
    drawing.run("%config InlineBackend.close_figures = False\nw.react = lambda data: plt.plot([2])")
    try:
        id = drawing.begin(f"plt.close('all')\n{FIGURE}")
        drawing.wait_for_output(id, "waiting")
        drawing.click(widget, "go")
        assert drawing.result(id).text == "waiting\ngo True 1\n"
        assert drawing.run("print(plt.get_fignums())").text == "[1, 2]\n"
    finally:
        drawing.run("plt.close('all')\n%config InlineBackend.close_figures = True")
