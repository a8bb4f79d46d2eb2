"""Docstrings of every style: what they say about parameters, and what a model gets of them."""

from __future__ import annotations

import pytest

from acp_notebook.core.kernel_tools.docstrings import (
    DOC_CHARS,
    description_of,
    first_line,
    parameter_descriptions,
)

GOOGLE = """Do it.

    Args:
        a: The first,
            on two lines.
        b (int, optional): The second: with a colon.
        **c: The third.

    Returns:
        d: nothing
    """

NUMPY = """Do it.

    Parameters
    ----------
    a : str
        The first,
        on two lines.
    b
        The second: with a colon.
    c : int, optional
        The third.

    Returns
    -------
    d : str
    """

SPHINX = """Do it.

    :param a: The first,
        on two lines.
    :param int b: The second: with a colon.
    :param c: The third.
    :returns: nothing
    """


@pytest.mark.parametrize("doc", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_the_parameters_are_found_in_each_style(doc: str) -> None:
    assert parameter_descriptions(doc) == {
        "a": "The first, on two lines.",
        "b": "The second: with a colon.",
        "c": "The third.",
    }


@pytest.mark.parametrize(
    "doc", [None, "", "One line.", "Args:", "Parameters\n---", "Args:\nnothing", ":param"]
)
def test_a_docstring_without_parameters_says_nothing_about_them(doc: str | None) -> None:
    assert parameter_descriptions(doc) == {}


def test_a_description_is_without_indentation_and_bounded() -> None:
    assert description_of(GOOGLE).startswith("Do it.\n\nArgs:\n    a: The first,")
    assert len(description_of("x" * 100_000)) <= DOC_CHARS + 2
    assert (description_of(None), first_line(description_of(GOOGLE))) == ("", "Do it.")
