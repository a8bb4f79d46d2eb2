"""Names are read from code as Python and IPython would use them, and code is never run."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook.core.provenance.names import Names, names_of, parsed
from acp_notebook.notebook.history import as_python


def names(source: str) -> Names:
    return names_of(parsed(as_python(source)), as_python)


@pytest.mark.parametrize(
    ("source", "reads", "binds"),
    [
        ("y = x + 1", {"x"}, {"y"}),
        ("x = 1\ny = x", set(), {"x", "y"}),
        ("x += 1", {"x"}, {"x"}),
        ("import numpy as np, os.path\nfrom a import b as c", set(), {"np", "os", "c"}),
        ("with open(p) as f:\n    t = f.read()", {"open", "p"}, {"f", "t"}),
        ("total = sum(v * w for v in data if v)", {"sum", "data", "w"}, {"total"}),
        ("{k: v for k, v in pairs for k in ks}", {"pairs", "ks"}, set()),
        ("(n := 3) + n", set(), {"n"}),
        ("try:\n    import a\nexcept ImportError:\n    a = None", {"ImportError"}, {"a"}),
        ("class A(B):\n    x = 1\n    y = x\n    def m(self): return z", {"B"}, {"A"}),
        ("df = await load(u)", {"load", "u"}, {"df"}),
        ("match p:\n    case {'a': a, **rest}:\n        q = a", {"p"}, set()),
        ("x: int", {"int"}, set()),
        ("del x", {"x"}, set()),
    ],
)
def test_reads_and_bindings(source: str, reads: set[str], binds: set[str]) -> None:
    assert names(source).reads == reads
    assert names(source).binds == binds


def test_a_name_that_only_one_branch_binds_is_perhaps_read_and_perhaps_bound() -> None:
    found = names("if c:\n    x = 1\nprint(x)")
    assert "x" in found.may_read and "x" in found.may_bind and "x" not in found.binds
    assert names("if c:\n    x = 1\nelse:\n    x = 2\nprint(x)").binds == {"x"}


def test_functions_read_when_they_are_called() -> None:
    found = names("def f(a, b=d):\n    c = a\n    def g():\n        return c + e\n    return g() + f(1)")
    assert found.reads == {"d"} and found.reads_later == {"e", "f"} and found.binds == {"f"}
    assert names("h = lambda q: q + r").reads_later == {"r"}
    assert names("def bump():\n    global n\n    n += 1").may_bind == {"n"}


def test_objects_that_change_without_a_new_binding() -> None:
    assert names("df['a'] = 1\nplt.rcParams['x'] = 2\ndel d[0]").changes == {"df", "plt", "d"}
    assert names("model.fit(X)\nawait job.run()\nclean(df)\nprint(df)").calls == {
        ("model", "fit"),
        ("job", "run"),
        ("df", ""),
    }


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("%time y = f(x)", (Names.reads, {"f", "x"})),
        ("%timeit -n 3 -r2 f(x)", (Names.reads, {"f", "x"})),
        ("%%time\ny = f(x)", (Names.binds, {"y"})),
        ("%%capture out\ny = f(x)", (Names.binds, {"out", "y"})),
        ("!ls {folder} $name", (Names.may_read, {"folder", "name"})),
        ("files = !ls", (Names.binds, {"files"})),
        ("%%bash\necho $x", (Names.reads, set())),
    ],
)
def test_magics(source: str, expected: tuple[object, set[str]]) -> None:
    attribute, value = expected
    assert attribute.__get__(names(source)) == value  # type: ignore[attr-defined]


def test_magics_that_set_the_kernel_up_and_those_that_bind_anything() -> None:
    assert names("%matplotlib inline\n%config X.y = 1").is_settings
    assert not names("%matplotlib inline\nx = 1").is_settings
    assert names("from math import *").binds_anything and names("%run a.py").binds_anything


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="xyz =+-*/()[]{}:\n\t%!?.,'\"#\\dfgilor0", max_size=60))
def test_any_text_is_read_without_an_error(source: str) -> None:
    names_of(parsed(source), lambda text: text)
