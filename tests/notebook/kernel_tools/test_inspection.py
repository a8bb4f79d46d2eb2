"""Variables, listed and inspected without running code of their own."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import linecache
import sys
import threading
import types
from typing import Any

import numpy
import pandas  # type: ignore[import-untyped]
import polars
import pytest

from acp_notebook.notebook.kernel_tools.inspection import inspect_variable
from acp_notebook.notebook.kernel_tools.variables import Names, list_variables

HITS: list[str] = []


class Meta(type):
    def __eq__(cls, other: object) -> bool:
        HITS.append("metaclass ==")
        return False

    def __hash__(cls) -> int:
        HITS.append("metaclass hash")
        return 1


class Trap(metaclass=Meta):
    """Whatever is asked of it is noted."""

    def __init__(self) -> None:
        self.stored = 1
        self.password = "hunter2222"

    def __repr__(self) -> str:
        HITS.append("repr")
        return "trap"

    def __len__(self) -> int:
        HITS.append("len")
        return 3

    def __getattr__(self, name: str) -> Any:
        HITS.append(name)
        raise AttributeError(name)

    def __eq__(self, other: object) -> bool:
        HITS.append("==")
        return False

    def __hash__(self) -> int:
        HITS.append("hash")
        return 1

    @property
    def shape(self) -> Any:
        HITS.append("shape")
        return (1,)


class TrapList(list[Any]):
    def __len__(self) -> int:
        HITS.append("len of a list")
        return 3

    def __iter__(self) -> Any:
        HITS.append("iter of a list")
        return iter(())


class TrapFrame(pandas.DataFrame):  # type: ignore[misc]
    @property
    def shape(self) -> Any:
        HITS.append("shape of a frame")
        return (0, 0)


class TrapDict(dict[Any, Any]):
    """Copying it by `dict.copy` asks it for its keys."""

    def __iter__(self) -> Any:
        HITS.append("iter of a dict")
        return iter(())

    def keys(self) -> Any:
        HITS.append("keys of a dict")
        return super().keys()

    def items(self) -> Any:
        HITS.append("items of a dict")
        return super().items()

    def __getitem__(self, key: Any) -> Any:
        HITS.append("item of a dict")
        return super().__getitem__(key)


class TrapZone(datetime.tzinfo):
    def utcoffset(self, at: Any) -> datetime.timedelta:
        HITS.append("utcoffset")
        return datetime.timedelta(0)

    def tzname(self, at: Any) -> str:
        HITS.append("tzname")
        return "trap"

    def dst(self, at: Any) -> datetime.timedelta:
        HITS.append("dst")
        return datetime.timedelta(0)


class TrapIndex(pandas.Index):  # type: ignore[misc]
    """A frame keeps it as its index."""

    def __new__(cls, data: Any) -> Any:
        made = object.__new__(cls)
        plain = pandas.Index(data)
        for name in ("_data", "_name", "_cache", "_references"):
            if hasattr(plain, name):
                object.__setattr__(made, name, getattr(plain, name))
        made._reset_identity()
        return made

    def __len__(self) -> int:
        HITS.append("len of an index")
        return 2

    def memory_usage(self, deep: bool = False) -> int:
        HITS.append("memory of an index")
        return 1

    @property
    def names(self) -> Any:
        HITS.append("names of an index")
        return [None]


class TrapColumn(pandas.arrays.IntegerArray):  # type: ignore[misc]
    """A column that says that it is the library's."""

    def __init__(self) -> None:
        super().__init__(numpy.array([1, 2]), numpy.array([False, False]))

    @property
    def nbytes(self) -> int:
        HITS.append("bytes of a column")
        return 1

    def isna(self) -> Any:
        HITS.append("isna of a column")
        return super().isna()

    def __getitem__(self, item: Any) -> Any:
        HITS.append("item of a column")
        return super().__getitem__(item)


class TrapModule(types.ModuleType):
    """As a module that is loaded when it is first used."""

    def __getattribute__(self, name: str) -> Any:
        HITS.append(f"module {name}")
        return super().__getattribute__(name)


@dataclasses.dataclass
class Record:
    one: int
    other: object


def cell_function() -> Any:
    """A function of a cell, whose source IPython keeps."""
    source = "def f(a):\n    return a + 1\n\nx = 1\n"
    linecache.cache["<ipython-input-1-x>"] = (len(source), None, source.splitlines(True), "<ipython-input>")
    namespace: dict[str, Any] = {}
    exec(compile(source, "<ipython-input-1-x>", "exec"), namespace)
    return namespace["f"]


def values() -> dict[str, Any]:
    trap = Trap()
    made = {
        "trap": trap,
        "traps": [trap, {"a": trap}],
        "trap_list": TrapList([1, trap]),
        "frame": pandas.DataFrame({"n": [1, 2.5], "objects": pandas.Series([trap, "t"], dtype=object)}),
        "trap_frame": TrapFrame({"n": [1]}),
        "series": pandas.Series([1, 2], name="s"),
        "polars_frame": polars.DataFrame({"n": [1, 2]}),
        "array": numpy.arange(1000).reshape(10, 100),
        "objects": numpy.array([trap, 1], dtype=object),
        "record": Record(1, trap),
        "trap_dict": TrapDict({"a": trap, 2: 3}),
        "keys": {trap: 1, (1, trap): trap},
        "when": datetime.datetime(2020, 1, 2, tzinfo=TrapZone()),
        "times": [datetime.datetime(2020, 1, 2, tzinfo=TrapZone()), datetime.time(1, tzinfo=TrapZone())],
        "stamp": pandas.Timestamp(2020, 1, 2, tzinfo=TrapZone()),
        "void": numpy.array([(trap, 1)], dtype=[("a", object), ("b", int)])[0],
        "structured": numpy.array([(trap, 1)], dtype=[("a", object), ("b", int)]),
        "trap_column": pandas.DataFrame({"a": TrapColumn(), "b": [1, 2]}),
        "columns": [pandas.DataFrame({"a": TrapColumn()})],
        "trap_index": pandas.DataFrame({"a": [1, 2]}, index=TrapIndex([1, 2])),
        "trap_zone": pandas.DataFrame({"t": pandas.DatetimeIndex(["2020-01-02"], tz=TrapZone())}),
        "indexes": [
            pandas.DataFrame({"a": [1, 2]}, index=TrapIndex([1, 2])),
            pandas.Series([1, 2], index=TrapIndex([1, 2])),
        ],
        "polars_objects": polars.DataFrame({"o": polars.Series([trap, trap], dtype=polars.Object)}),
        "lazy": polars.LazyFrame({"n": [1]}),
        "counter": collections.Counter("aab"),
        "function": values,
        "cell_function": cell_function(),
        "module": numpy,
        "kind": Trap,
        "number": 3,
        "huge": 10**5000,
        "text": "hello " * 10,
        "api_key": "abcdefgh",
    }
    HITS.clear()
    return made


NAMES = tuple(values())


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_the_users_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trap_module", TrapModule("trap_module"))
    found = {name: values()[name]}
    HITS.clear()
    list_variables(Names().visible(found, {}), 100)
    assert HITS == []
    inspect_variable(name, found[name], 3, 5)
    assert HITS == []


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("frame", "| n | float64 | 0 | 1 | 1.75 | 2.5 |"),
        ("frame", "<Trap>"),
        ("series", "pandas Series, 2 rows"),
        ("polars_frame", "polars DataFrame, 2 rows, 1 column"),
        ("array", "shape 10 x 100, dtype int64\nmin 0, mean 499.5, max 999"),
        ("objects", "<Trap>, 1"),
        ("traps", "[<Trap>, {'a': <Trap>}]"),
        ("trap_list", "[1, <Trap>]"),
        ("record", "Record(one=1, other=<Trap>)"),
        ("counter", "{'a': 2, 'b': 1}"),
        ("function", "def values()"),
        ("cell_function", "def f(a):\n    return a + 1"),
        ("trap_dict", "{'a': <Trap>, 2: 3}"),
        ("when", "2020-01-02 00:00:00 <TrapZone>"),
        ("stamp", "UTC <TrapZone>"),
        ("module", "module numpy"),
        ("number", "3"),
        ("huge", "<int of 16,610 bits>"),
        ("text", "hello hello"),
    ],
)
def test_common_types_are_described(name: str, shown: str) -> None:
    found = inspect_variable(name, values()[name])
    assert shown in found.text and found.needs_execution is None


@pytest.mark.parametrize(
    "name", ["trap", "trap_frame", "void", "trap_column", "trap_index", "trap_zone", "lazy"]
)
def test_other_types_need_execution(name: str) -> None:
    assert inspect_variable(name, values()[name]).needs_execution == name


def test_secrets_are_not_shown() -> None:
    found = values()
    secret = {
        "config": {"token": "abcdefgh", "nested": [{"password": "hunter2222"}]},
        "access_token": b"abcdefgh",
        "passwords": ["hunter2222", ("abcdefgh",)],
        "box": {"api_keys": {"abcdefgh"}, "secret": bytearray(b"abcdefgh")},
        **found,
    }
    for name in ("api_key", "trap", "config", "access_token", "passwords", "box"):
        text = inspect_variable(name, secret[name], 4).text
        assert "[redacted]" in text and "abcdefgh" not in text and "hunter2222" not in text
    assert "abcdefgh" not in list_variables(Names().visible(secret, {}))


def test_the_list_has_types_shapes_and_sizes_the_newest_first() -> None:
    lines = list_variables(Names().visible(values(), {})).splitlines()
    assert "array: numpy.ndarray, 10 x 100 int64, 8 kB" in lines
    assert "number: int = 3" in lines and "api_key: str, 8 characters" in lines
    assert lines.index("number: int = 3") < lines.index("array: numpy.ndarray, 10 x 100 int64, 8 kB")
    assert {"functions: cell_function, function", "classes: kind", "modules: module"} <= set(lines)


def test_names_can_be_hidden_and_matched() -> None:
    names = Names(["df_private", "secret*"])
    found = {"df": 1, "df_private": 2, "secret_x": 3, "_own": 4, "In": 5, "DF2": 6}
    assert [name for name, _ in names.visible(found, {})] == ["DF2", "df"]
    assert [name for name, _ in names.visible(found, {}, "df*")] == ["DF2", "df"]
    assert list_variables(names.visible(found, {}, "x*"), pattern="x*") == "No variables match 'x*'."
    assert "1 more" in list_variables(names.visible(found, {}), 1)


def test_a_namespace_that_changes_meanwhile_can_be_listed() -> None:
    found: dict[str, Any] = {f"v{n}": [n] for n in range(10_000)}
    stop = threading.Event()

    def change() -> None:
        at = 0
        while not stop.is_set():
            found[f"w{at}"] = at
            found.pop(f"w{at - 50}", None)
            at += 1

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(20):
            assert "more; name a pattern" in list_variables(Names().visible(found, {}))
    finally:
        stop.set()
        thread.join()
