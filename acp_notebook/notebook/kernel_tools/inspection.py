"""Describes one variable of a common type without running the user's code.

A value of any other type needs its own `repr`, which is the user's code: the inspection says so, and names
the code that would show it.
"""

from __future__ import annotations

import inspect
import linecache
import sys
import tokenize
from collections.abc import Callable
from dataclasses import replace
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from ...core.kernel_tools.interface import READ_CHARS, Inspection
from ...core.kernel_tools.text import head_and_tail
from ...core.redaction import REDACTED
from ..content import arrays, tables
from ..content.code import class_source
from ..content.labels import Label
from .safe_text import cell, is_container, is_plain, is_secret, nested, opaque, scalar, shape_text
from .type_checks import (
    base_of,
    derives_from,
    full_name,
    instance_attributes,
    is_dataclass,
    is_exactly,
    is_library_class,
    is_library_zone,
    is_table,
    module_dict,
    mro,
)

MOST_DEPTH = 6
MOST_ROWS = 200
ELEMENTS = 200
ATTRIBUTES = 100
TEXT_CHARS = 8_000
"""Characters of a variable that is a text."""

COLUMN_LIBRARIES = ("pandas", "numpy", "pyarrow")
MODELS = {"sklearn": ("sklearn.base", "BaseEstimator"), "torch": ("torch.nn.modules.module", "Module")}


class _NeedsCode(Exception):
    """A part of the value can only be shown by the user's code."""


def inspect_variable(name: str, value: Any, depth: int = 1, rows: int = 10) -> Inspection:
    """Describe a variable. Call it on a work thread: a large data frame may take a while."""
    depth, rows = min(max(1, depth), MOST_DEPTH), min(max(1, rows), MOST_ROWS)
    for describe in DESCRIBERS:
        try:
            text = describe(name, value, depth, rows)
        except _NeedsCode as error:
            return _needs_execution(name, value, str(error))
        except Exception as error:  # a library's own code, on an object that another thread may change
            return _needs_execution(name, value, f"It could not be looked at ({type(error).__name__}).")
        if text is not None:
            return Inspection(head_and_tail(text, READ_CHARS))
    return _needs_execution(name, value, "")


def _needs_execution(name: str, value: Any, why: str) -> Inspection:
    attributes = [
        f"  .{it} = {nested(stored, depth=1, items=5, name=it)}"
        for it, stored in _few_attributes(value)
        if not it.startswith("_")
    ]
    lines = [
        f"`{name}`: {full_name(type(value))}",
        *([why] if why else []),
        *attributes,
        "To show more needs code of its own class: run_code can do that, with the user's permission.",
    ]
    return Inspection(head_and_tail("\n".join(lines), READ_CHARS), needs_execution=name)


def _few_attributes(value: Any) -> list[tuple[str, Any]]:
    found = []
    for at, pair in enumerate(instance_attributes(value)):
        if at >= ATTRIBUTES:
            break
        found.append(pair)
    return found


# ---- one function for each family: the text, or None if the value is not of that family


def _text(name: str, value: Any, depth: int, rows: int) -> str | None:
    if type(value) is not str:
        return None
    if is_secret(name, value):
        return f"`{name}`: str of {len(value):,} characters, {REDACTED}"
    return f"`{name}`: str of {len(value):,} characters\n{head_and_tail(value, TEXT_CHARS)}"


def _scalar(name: str, value: Any, depth: int, rows: int) -> str | None:
    if not is_plain(value):
        return None
    return f"`{name}`: {full_name(type(value))}\n{scalar(value, 2_000, name=name)}"


def _container(name: str, value: Any, depth: int, rows: int) -> str | None:
    if not is_container(value):
        return None
    head = f"`{name}`: {full_name(type(value))} of {len(value):,} items"
    return f"{head}\n{nested(value, depth=depth + 1, name=name)}"


def _frame(name: str, value: Any, depth: int, rows: int) -> str | None:
    pandas = is_exactly(value, "pandas", "DataFrame", "Series")
    if not pandas and not is_exactly(value, "polars", "DataFrame", "Series"):
        return None
    if not is_table(value):
        raise _NeedsCode("It has columns or labels of classes that are not the library's.")
    if pandas:
        _check_pandas(value)
    table = tables.table_of(value, rows)
    assert table is not None
    shown = [replace(it, head=[cell(x, name=str(it.name)) for x in it.head]) for it in table.shown]
    index = None if table.index is None else [cell(it) for it in table.index]
    return tables.text_of(replace(table, shown=shown, index=index), Label(name, ""))


def _check_pandas(value: Any) -> None:
    """Check that labels and column types are the library's own: others contain code."""
    frame = is_exactly(value, "pandas", "DataFrame")
    dtypes = list(value.dtypes) if frame else [value.dtype]
    for dtype in [*dtypes, value.index.dtype]:
        if not is_library_class(type(dtype), *COLUMN_LIBRARIES) and not _is_numpy_dtype(dtype):
            raise _NeedsCode(f"It has a column of the type {full_name(type(dtype))}.")
        if derives_from(dtype, "pandas", "DatetimeTZDtype") and not is_library_zone(dtype.tz):
            raise _NeedsCode(f"It has times of the zone {full_name(type(dtype.tz))}.")
    labels = [*value.index.names, *value.index[:MOST_ROWS], *(value.columns if frame else [value.name])]
    for label in labels:
        parts = label if type(label) is tuple else (label,)
        if not all(map(is_plain, parts)):
            raise _NeedsCode("It has labels that are objects.")


def _is_numpy_dtype(dtype: Any) -> bool:
    return derives_from(dtype, "numpy", "dtype")


def _array(name: str, value: Any, depth: int, rows: int) -> str | None:
    if not is_exactly(value, "numpy", "ndarray"):
        return None
    numpy = sys.modules["numpy"]
    lines = [f"`{name}`: numpy.ndarray of shape {shape_text(value.shape)}, dtype {value.dtype}"]
    if value.size:
        lines += filter(None, [arrays.summary(numpy, value)])
        first = value.flat[:ELEMENTS].tolist()
        few = "all" if value.size <= ELEMENTS else f"the first {ELEMENTS}"
        lines.append(f"Elements in order, {few}: {', '.join(map(cell, first))}")
    return "\n".join(lines)


def _tensor(name: str, value: Any, depth: int, rows: int) -> str | None:
    if not is_exactly(value, "torch", "Tensor") and not is_exactly(value, "torch.nn", "Parameter"):
        return None
    what = f"shape {shape_text(value.shape)}, dtype {value.dtype}, device {value.device}"
    lines = [f"`{name}`: {full_name(type(value))} of {what}, requires_grad {value.requires_grad}"]
    if value.device.type == "cpu" and value.numel() and not value.is_sparse:
        first = value.detach().reshape(-1)[:ELEMENTS].tolist()
        few = "all" if value.numel() <= ELEMENTS else f"the first {ELEMENTS}"
        lines.append(f"Elements in order, {few}: {', '.join(map(cell, first))}")
    return "\n".join(lines)


def _model(name: str, value: Any, depth: int, rows: int) -> str | None:
    """The stored attributes of a library's model; calls none of its methods."""
    library = next((it for it, base in MODELS.items() if derives_from(value, *base)), None)
    if library is None or not is_library_class(type(value), library):
        return None
    lines = [f"`{name}`: {full_name(type(value))}"]
    for attribute, stored in _few_attributes(value):
        if not attribute.startswith("_") or attribute in ("_modules", "_parameters"):
            lines.append(f"  {attribute} = {nested(stored, depth=depth, items=10, name=attribute)}")
    return "\n".join(lines)


def _function(name: str, value: Any, depth: int, rows: int) -> str | None:
    if type(value) is BuiltinFunctionType:
        return f"`{name}`: builtin function {value.__qualname__}\n{value.__doc__ or ''}"
    if type(value) is not FunctionType:
        return None
    code = value.__code__
    where = f"{code.co_filename}, line {code.co_firstlineno}"
    return f"`{name}`: function {value.__qualname__} ({where})\n{_source(code) or _signature(value)}"


def _source(code: CodeType) -> str | None:
    """Without `inspect.getsource`, which asks every loaded module for its file: some are loaded by that."""
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    try:
        return "".join(inspect.getblock(lines)) or None
    except (IndentationError, SyntaxError, tokenize.TokenError):
        return None


def _signature(function: FunctionType) -> str:
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    doc = function.__doc__ if type(function.__doc__) is str else ""
    return f"{function.__qualname__}({', '.join(code.co_varnames[:count])})\n{doc or ''}"


def _class(name: str, value: Any, depth: int, rows: int) -> str | None:
    if base_of(value, (type,)) is None:
        return None
    bases = ", ".join(full_name(it) for it in mro(value)[1:-1])
    head = f"`{name}`: class {full_name(value)}{f' ({bases})' if bases else ''}"
    source = class_source(value) if type(value) is type else None
    return f"{head}\n{source}" if source else head


def _module(name: str, value: Any, depth: int, rows: int) -> str | None:
    if base_of(value, (ModuleType,)) is None:
        return None
    stored = module_dict(value)
    known = {it: stored.get(it) for it in ("__name__", "__version__", "__file__", "__doc__")}
    texts = {it: found if type(found) is str else "" for it, found in known.items()}
    names = sorted(it for it in list(stored) if type(it) is str and not it.startswith("_"))
    lines = [
        f"`{name}`: module {texts['__name__']} {texts['__version__']}".rstrip(),
        texts["__file__"],
        head_and_tail(texts["__doc__"], 1_000),
        f"Names: {', '.join(names[:200])}{' …' if len(names) > 200 else ''}",
    ]
    return "\n".join(filter(None, lines))


def _record(name: str, value: Any, depth: int, rows: int) -> str | None:
    if not is_dataclass(value):
        return None
    return f"`{name}`: {full_name(type(value))}, a dataclass\n{nested(value, depth=depth + 1, name=name)}"


def _sized(name: str, value: Any, depth: int, rows: int) -> str | None:
    """A subclass of a builtin container, shown as the builtin."""
    base: Any = base_of(value, (dict, list, tuple, set, frozenset))
    if base is None:
        return None
    head = f"`{name}`: {opaque(value)}, a kind of {base.__name__}"
    items = list(base.__iter__(value)) if base is not dict else value
    return f"{head}\n{nested(items, depth=depth + 1, name=name, as_dict=base is dict)}"


Describer = Callable[[str, Any, int, int], str | None]

DESCRIBERS: tuple[Describer, ...] = (
    _text,
    _scalar,
    _container,
    _frame,
    _array,
    _tensor,
    _model,
    _function,
    _class,
    _module,
    _record,
    _sized,
)
"""Tried in this order; the first that recognises the value describes it."""
