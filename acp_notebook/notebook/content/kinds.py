"""Says what an object is before it is sent: a frame, a figure, how large, whether reading it is harmless.

Decides by the object's type alone, so that code of the user's own classes never runs. Imports no data
library.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from .bounds import LINE_CHARS, brief, is_a

LIBRARIES = frozenset({"pandas", "polars", "numpy", "matplotlib", "PIL"})
"""Their objects are read quickly and without side effects. A plotly figure would start a browser."""

PLAIN = frozenset({str, bytes, bytearray, bool, int, float, complex, type(None)})

CONTAINERS = frozenset({list, tuple, set, frozenset, dict})

CODE = frozenset({type, FunctionType, BuiltinFunctionType, ModuleType})

TIMES = " \N{MULTIPLICATION SIGN} "

CHECKED = 1000
"""Items of a container: more are not sent."""


def is_frame(value: Any) -> bool:
    return is_a(value, "pandas", "DataFrame") or is_a(value, "polars", "DataFrame", "LazyFrame")


def is_figure(value: Any) -> bool:
    return (
        is_a(value, "matplotlib", "Figure")
        or is_a(value, "plotly", "BaseFigure")
        or is_a(value, "PIL", "Image")
        or is_a(value, "seaborn", "Grid", "FacetGrid", "PairGrid", "JointGrid", "ClusterGrid")
        or is_a(value, "altair", "TopLevelMixin")
    )


def is_module(value: Any) -> bool:
    return issubclass(type(value), ModuleType)


def is_code(value: Any) -> bool:
    return issubclass(type(value), (type, FunctionType, BuiltinFunctionType))


def is_readable(value: Any) -> bool:
    """Whether describing it runs only Python's and known libraries' code, and not for long."""
    kind = type(value)
    if kind in PLAIN | CODE or issubclass(kind, BaseException):
        return True
    if kind in CONTAINERS:
        items: Iterable[Any] = [*value.keys(), *value.values()] if kind is dict else value
        return all(type(it) in PLAIN for it in islice(items, CHECKED))
    return library_of(value) in LIBRARIES


def library_of(value: Any) -> str:
    """The top-level package of the object's type."""
    return str(type(value).__module__).partition(".")[0]


def type_name(value: Any) -> str:
    kind = type(value)
    return "class" if issubclass(kind, type) else brief(kind.__name__, LINE_CHARS)


def kind_of(value: Any) -> str:
    """The type of a readable object, and how large it is: "DataFrame 1,000 x 5"."""
    name = type_name(value)
    if library_of(value) in LIBRARIES and not is_a(value, "polars", "LazyFrame"):
        shape = getattr(value, "shape", None)
        if type(shape) is tuple and shape:
            return f"{name} {TIMES.join(f'{it:,}' for it in shape)}"
        return "figure" if is_figure(value) else name
    if type(value) in CONTAINERS:
        return f"{name} of {len(value):,}"
    return name
