"""Functions and classes as their source, also those of cells; modules as what they hold.

Where there is no source, the signature and the documentation stand for it.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from ...core.records import Content
from .bounds import brief, cut, first
from .labels import Label

DOC_CHARS = 2_000
NAMES = 200
"""Of what a module holds."""

CELL_FILES = ("<ipython-input", "ipykernel_")
"""How IPython and ipykernel call the files that cells seem to come from."""


def take(value: Any, label: Label) -> tuple[Content, ...] | None:
    if isinstance(value, ModuleType):
        return (label.resource(_module(value, label)),)
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return None
    name = f"{value.__module__ or 'builtins'}.{value.__qualname__}"
    what = f"{'class' if inspect.isclass(value) else 'function'} {name}"
    source = _source(value)
    if source is None:
        return (label.resource(f"{label.heading(what)}, without Python source\n\n{_outline(value)}"),)
    return (label.resource(f"# {label.heading(what)}\n\n{source}", "text/x-python"),)


def _source(value: Any) -> str | None:
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):
        return _class_of_a_cell(value) if inspect.isclass(value) else None


def _class_of_a_cell(value: type) -> str | None:
    """`inspect` looks for a class in its module's file, and the cells' module has none."""
    for file in _files_of(value):
        lines = linecache.getlines(file)
        try:
            tree = ast.parse("".join(lines))
        except (SyntaxError, ValueError):
            continue
        # The last definition in a cell is the one that holds.
        found = [it for it in ast.walk(tree) if isinstance(it, ast.ClassDef) and it.name == value.__name__]
        if found:
            last = found[-1]
            start = min([last.lineno, *(it.lineno for it in last.decorator_list)])
            return inspect.cleandoc("\n" + "".join(lines[start - 1 : last.end_lineno])) + "\n"
    return None


def _files_of(value: type) -> Iterator[str]:
    """Where its methods come from, else the cells, the newest first."""
    methods = (it for it in vars(value).values() if isinstance(it, FunctionType))
    yield from dict.fromkeys(it.__code__.co_filename for it in methods)
    cells = [it for it in list(linecache.cache) if any(mark in it for mark in CELL_FILES)]
    yield from reversed(cells)


def _outline(value: Any) -> str:
    try:
        signature = f"{value.__name__}{inspect.signature(value)}"
    except (TypeError, ValueError):
        signature = f"{value.__name__}(…)"
    return f"{brief(signature, 500)}\n\n{cut(inspect.getdoc(value) or '', DOC_CHARS)}".rstrip()


def _module(value: ModuleType, label: Label) -> str:
    version = getattr(value, "__version__", None)
    names = sorted(it for it in vars(value) if not it.startswith("_"))
    more = f", … {len(names) - NAMES:,} more" if len(names) > NAMES else ""
    parts = [
        label.heading(f"module {value.__name__}") + (f" {version}" if isinstance(version, str) else ""),
        f"File: {getattr(value, '__file__', None) or 'none'}",
        cut(inspect.getdoc(value) or "", DOC_CHARS),
        f"Names: {', '.join(first(names, NAMES))}{more}",
    ]
    return "\n\n".join(filter(None, parts))
