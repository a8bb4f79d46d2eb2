"""What an object is, before it is sent: by its type alone."""

from __future__ import annotations

import os
from typing import Any

import pytest

from acp_notebook.notebook.content import kinds
from tests.notebook.content.test_content_libraries import library

TIMES = kinds.TIMES


class Forbidden:
    """Fails whatever is asked of it."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"{name} was read")

    def __repr__(self) -> str:
        raise AssertionError("its repr ran")


@pytest.mark.parametrize(
    "value",
    ["text", b"x", 1, None, [1, "a"], {"a": 1}, (), ValueError("x"), int, len, os, lambda: 0],
    ids=lambda it: type(it).__name__,
)
def test_what_python_itself_describes_is_readable(value: Any) -> None:
    assert kinds.is_readable(value)


def test_what_may_run_the_user_s_code_is_not_readable_and_none_of_it_runs() -> None:
    values: list[Any] = [Forbidden(), [Forbidden()], {"a": Forbidden()}, [[1]]]
    for value in values:
        assert not kinds.is_readable(value)
        assert not kinds.is_frame(value) and not kinds.is_figure(value) and not kinds.is_module(value)
        assert kinds.type_name(value) == type(value).__name__


def test_kinds_of_libraries() -> None:
    pandas, polars, numpy = library("pandas"), library("polars"), library("numpy")
    figure = library("matplotlib.figure").Figure()
    frame = pandas.DataFrame({"a": range(1000), "b": 1})
    assert kinds.kind_of(frame) == f"DataFrame 1,000{TIMES}2"
    assert kinds.kind_of(polars.DataFrame({"a": [1]})) == f"DataFrame 1{TIMES}1"
    assert kinds.kind_of(frame["a"]) == "Series 1,000"
    assert kinds.kind_of(numpy.zeros((2, 3))) == f"ndarray 2{TIMES}3"
    assert kinds.kind_of(figure) == "figure"
    assert all(map(kinds.is_readable, (frame, figure, numpy.zeros(1))))
    assert kinds.is_frame(frame) and kinds.is_figure(figure) and not kinds.is_frame(frame["a"])


def test_kinds_of_python() -> None:
    values: list[Any] = [[1, 2], {}, "a", int]
    assert [kinds.kind_of(it) for it in values] == ["list of 2", "dict of 0", "str", "class"]


def test_a_plotly_figure_is_a_figure_that_is_not_read_before_it_is_sent() -> None:
    figure = library("plotly.graph_objects").Figure()
    assert kinds.is_figure(figure) and not kinds.is_readable(figure)
