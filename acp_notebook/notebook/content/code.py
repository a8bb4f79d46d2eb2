"""Describe functions and classes by their source, also those defined in cells, and modules by their names.

Uses the signature and docstring where there is no source.
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
"""How many names of a module are listed."""

CELL_FILES = ("<ipython-input", "ipykernel_")
"""Parts of the pseudo file names that IPython and ipykernel give to cells."""


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
        return class_source(value) if inspect.isclass(value) else None


def class_source(value: type) -> str | None:
    """The source of a class from a cell: `inspect` searches the module's file, and `__main__` has none."""
    for file in _files_of(value):
        lines = linecache.getlines(file)
        try:
            tree = ast.parse("".join(lines))
        except (SyntaxError, ValueError):
            continue
        # The last definition in a cell is the effective one.
        found = [it for it in ast.walk(tree) if isinstance(it, ast.ClassDef) and it.name == value.__name__]
        if found:
            last = found[-1]
            start = min([last.lineno, *(it.lineno for it in last.decorator_list)])
            return inspect.cleandoc("\n" + "".join(lines[start - 1 : last.end_lineno])) + "\n"
    return None


def _files_of(value: type) -> Iterator[str]:
    """The files of its methods, then all cells, the newest first."""
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
