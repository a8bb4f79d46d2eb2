"""Code depends on the cells that gave its names their values, and on no others."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from acp_notebook.core.provenance.names import names_of, parsed
from acp_notebook.core.provenance.timeline import Step, needed


def steps(*sources: str, failed: int | None = None) -> list[Step]:
    """The last one is wanted."""
    last = len(sources) - 1
    return [
        Step(names_of(parsed(it), lambda text: text), at == last, at == failed)
        for at, it in enumerate(sources)
    ]


def found(*sources: str, failed: int | None = None) -> list[int]:
    return sorted(needed(steps(*sources, failed=failed)).steps)


def test_only_what_is_needed_directly_or_not() -> None:
    assert found("a = 1", "b = 2", "c = a", "d = c + a", "print(d)") == [0, 2, 3, 4]


def test_the_last_binding_before_the_code_counts() -> None:
    assert found("x = 1", "y = x", "x = 2", "y + x") == [0, 1, 2, 3]
    assert found("x = 1", "x = 2", "x") == [1, 2]


def test_a_binding_that_failed_or_is_conditional_does_not_replace_the_one_before() -> None:
    assert found("x = 1", "x = 1 / 0", "x", failed=1) == [0, 1, 2]
    assert found("x = 1", "if c:\n    x = 2", "c = 0", "x") == [0, 1, 3]


def test_changes_of_an_object_count_and_looks_do_not() -> None:
    assert found("df = {}", "df['a'] = 1", "df.head()", "print(df)", "df.sort()", "df") == [0, 1, 4, 5]
    assert found("import plt", "plt.rcParams['x'] = 1", "plt.plot(1)", "plt.style.use('a')", "plt") == [
        0,
        1,
        3,
        4,
    ]


def test_a_function_needs_what_it_read_when_it_was_called() -> None:
    assert found("def f(): return g()", "def g(): return 1", "f()") == [0, 1, 2]
    assert found("x = 1", "def f(): return x", "t = f()", "x = 2", "t") == [0, 1, 2, 4]


def test_missing_names_are_listed_once_and_built_in_ones_never() -> None:
    assert needed(steps("print(len(df) + df + t)", "df.sum() + display(1)")).missing == ("df",)
    assert needed(steps("def f(): return unknown", "f()")).missing == ("unknown",)


def test_a_star_import_may_have_bound_a_missing_name() -> None:
    result = needed(steps("from math import *", "y = 1", "sin(1)"))
    assert result.steps == {0, 2} and result.missing == ()


def test_a_cell_of_settings_is_needed_if_code_follows() -> None:
    sources = ["get_ipython().run_line_magic('matplotlib', 'inline')", "1"]
    assert found(*sources) == [0, 1]


@pytest.mark.parametrize(
    "code",
    [
        "def f(): return b\ny = f()",
        "def g(): return b\ndef f(): return g()\ny = f()",
        "y = (lambda: b)()",
        "y = [*map(lambda it: it + b, [1])]",
        "class C:\n    def get(self): return b\ny = C().get()",
        "@lambda it: it()\ndef y(): return b",
    ],
)
def test_what_a_function_reads_is_needed_as_it_was_when_the_cell_called_it(code: str) -> None:
    assert {0, 1} < set(found("b = 1", code, "b = 2", "y"))


NAMES = ["a", "b", "c", "d"]
EXPRESSIONS = st.lists(st.sampled_from([*NAMES, "1", "2"]), min_size=1, max_size=3).map(" + ".join)
STATEMENTS = st.one_of(
    st.builds("{} = {}".format, st.sampled_from(NAMES), EXPRESSIONS),
    st.builds("{} += {}".format, st.sampled_from(NAMES), EXPRESSIONS),
    st.builds("if {}:\n    {} = {}".format, EXPRESSIONS, st.sampled_from(NAMES), EXPRESSIONS),
    st.builds("def f(): return {}".format, EXPRESSIONS),
    st.builds("for {} in range(2): {} = {}".format, st.just("i"), st.sampled_from(NAMES), EXPRESSIONS),
    st.builds("{} = f()".format, st.sampled_from(NAMES)),
    st.builds("{} = (lambda: {})()".format, st.sampled_from(NAMES), EXPRESSIONS),
)
CELLS = st.lists(st.lists(STATEMENTS, min_size=1, max_size=2).map("\n".join), max_size=8)
START = "a, b, c, d = 1, 10, 100, 1000\ndef f(): return a"


@settings(max_examples=300, deadline=None)
@example(["a = a", "b = a", "def f(): return b\nb = f()"])
@given(CELLS)
def test_the_needed_cells_give_the_same_result_as_all_cells(cells: list[str]) -> None:
    sources = [START, *cells, "result = (a, b, f())"]
    assert _result(sources) == _result([sources[at] for at in found(*sources)])


def _result(sources: list[str]) -> object:
    space: dict[str, object] = {}
    for it in sources:
        exec(it, space)
    return space["result"]
