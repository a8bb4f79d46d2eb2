"""Describe data frames and series of pandas and polars: shape, columns, a summary, the first rows.

Never copies a frame, and reads a limited number of cells, however large the frame is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.records import Content
from ...log import logger
from .bounds import brief, cell, is_a, markdown_table
from .labels import Label

_log = logger(__name__)

COLUMNS = 50
"""How many columns are described; of the others, only some names are listed."""

HEAD_COLUMNS = 20
HEAD_ROWS = 10

NAMED_COLUMNS = 50
"""How many names of further columns are listed."""

SCANNED_CELLS = 4_000_000
"""How many cells are read for nulls, min, mean and max: well below a second."""

ORDERED_KINDS = frozenset("iufbMm")
"""numpy's kinds that have a min and a max: numbers, booleans, times and time spans."""


@dataclass(frozen=True)
class Column:
    """One column, as it will be described."""

    name: Any
    dtype: str
    nulls: str
    summary: tuple[str, str, str]
    """Min, mean and max; each is empty where it does not apply."""
    head: list[Any]


@dataclass(frozen=True)
class Table:
    """A data frame or series of any library, as it will be described."""

    what: str
    rows: int
    columns: int
    shown: list[Column]
    others: list[Any]
    """Names of some of the columns that are not shown."""
    scanned: int
    """How many rows the summary covers."""
    head: int
    """How many rows are shown."""
    index: list[Any] | None = None
    index_name: str = ""
    index_note: str = ""
    """A description of the row labels, where they are more than row numbers."""


def take(value: Any, label: Label) -> tuple[Content, ...] | None:
    if is_a(value, "polars", "LazyFrame"):
        what = label.heading("polars LazyFrame, not computed; its plan:")
        return (label.resource(f"{what}\n\n{value.explain(optimized=False)}"),)
    table = table_of(value)
    return None if table is None else (label.resource(text_of(table, label), "text/markdown"),)


def table_of(value: Any, rows: int = HEAD_ROWS) -> Table | None:
    """A frame or a series with so many rows of its head; None if it is neither."""
    if is_a(value, "pandas", "DataFrame"):
        return _pandas(value, value.shape[1], lambda at: value.iloc[:, at], value.columns, rows)
    if is_a(value, "pandas", "Series"):
        return _pandas(value, 1, lambda at: value, [value.name], rows)
    if is_a(value, "polars", "DataFrame"):
        return _polars(value, value.width, value.to_series, value.columns, rows)
    if is_a(value, "polars", "Series"):
        return _polars(value, 1, lambda at: value, [value.name], rows)
    return None


def _pandas(value: Any, columns: int, column: Callable[[int], Any], names: Sequence[Any], head: int) -> Table:
    rows = len(value)
    scanned = _scanned(rows, columns)
    return Table(
        what=f"pandas {type(value).__name__}",
        rows=rows,
        columns=columns,
        shown=[_pandas_column(names[at], column(at), scanned, head) for at in range(min(columns, COLUMNS))],
        others=[names[at] for at in range(COLUMNS, min(columns, COLUMNS + NAMED_COLUMNS))],
        scanned=scanned,
        head=min(rows, head),
        index=[_row(it) for it in value.index[:head]],
        index_name=_index_name(value.index),
        index_note=_or_unknown(lambda: _index_note(value.index)),
    )


def _row(name: Any) -> Any:
    return " / ".join(map(brief, name)) if isinstance(name, tuple) else name


def _index_name(index: Any) -> str:
    names = [it for it in index.names if it is not None]
    return _name(tuple("" if it is None else it for it in index.names)) if names else ""


def _index_note(index: Any) -> str:
    """The type of each index level; empty if the labels are unnamed numbers or strings."""
    plain = is_a(index, "pandas", "RangeIndex") or getattr(index.dtype, "kind", "O") == "O"
    if plain and not _index_name(index):
        return ""
    levels = index.dtypes if is_a(index, "pandas", "MultiIndex") else [index.dtype]
    named = (f"`{brief(name)}` " if name is not None else "" for name in index.names)
    return "Index: " + ", ".join(f"{name}{dtype}" for name, dtype in zip(named, levels, strict=True))


def _pandas_column(name: Any, column: Any, scanned: int, head: int) -> Column:
    part = column.iloc[:scanned]
    kind = getattr(column.dtype, "kind", "O")
    return Column(
        name,
        str(column.dtype),
        _or_unknown(lambda: f"{int(part.isna().sum()):,}"),
        _summary(part, kind in ORDERED_KINDS, kind in "iufb"),
        list(part.iloc[:head]),
    )


def _polars(value: Any, columns: int, column: Callable[[int], Any], names: Sequence[Any], head: int) -> Table:
    rows = len(value)
    scanned = _scanned(rows, columns)
    return Table(
        what=f"polars {type(value).__name__}",
        rows=rows,
        columns=columns,
        shown=[_polars_column(column(at), scanned, head) for at in range(min(columns, COLUMNS))],
        others=[names[at] for at in range(COLUMNS, min(columns, COLUMNS + NAMED_COLUMNS))],
        scanned=scanned,
        head=min(rows, head),
    )


def _polars_column(column: Any, scanned: int, head: int) -> Column:
    part = column.slice(0, scanned)
    numeric = column.dtype.is_numeric() or str(column.dtype) == "Boolean"
    return Column(
        column.name,
        str(column.dtype),
        _or_unknown(lambda: f"{part.null_count():,}"),
        _summary(part, numeric or column.dtype.is_temporal(), numeric),
        part.slice(0, head).to_list(),
    )


def _summary(part: Any, ordered: bool, numeric: bool) -> tuple[str, str, str]:
    if not ordered or not len(part):
        return "", "", ""
    return (
        _or_unknown(lambda: _number(part.min())),
        _or_unknown(lambda: _number(part.mean())) if numeric else "",
        _or_unknown(lambda: _number(part.max())),
    )


def _number(value: Any) -> str:
    """A number in Python's notation, from any library."""
    return brief(value.item() if hasattr(value, "item") else value)


def _or_unknown(compute: Callable[[], str]) -> str:
    """The computed text, or "?" if the column's type does not support it: the other columns matter, too."""
    try:
        return compute()
    except Exception:  # any library's error
        _log.debug("a column cannot be described", exc_info=True)
        return "?"


def _scanned(rows: int, columns: int) -> int:
    return min(rows, max(HEAD_ROWS, SCANNED_CELLS // max(1, min(columns, COLUMNS))))


# ---- as text


def text_of(table: Table, label: Label) -> str:
    shape = f"{_counted(table.rows, 'row')}, {_counted(table.columns, 'column')}"
    parts = [label.heading(f"{table.what}, {shape}"), _columns(table)]
    if table.index_note:
        parts.append(table.index_note)
    if table.columns > len(table.shown):
        parts.append(_more(table))
    if table.scanned < table.rows:
        parts.append(f"Nulls, min, mean and max are of the first {table.scanned:,} rows.")
    if table.rows and table.columns:
        parts += [_head_title(table), _head(table)]
    return "\n\n".join(parts)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _columns(table: Table) -> str:
    rows = [
        [cell(_name(it.name)), cell(it.dtype), it.nulls, *(cell(value) for value in it.summary)]
        for it in table.shown
    ]
    return markdown_table(["column", "dtype", "nulls", "min", "mean", "max"], rows)


def _name(name: Any) -> str:
    """The name of a column, with all its levels."""
    return " / ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _more(table: Table) -> str:
    names = ", ".join(f"`{brief(_name(it))}`" for it in table.others)
    count = table.columns - len(table.shown)
    return f"… and {count:,} more columns: {names}{', …' if count > len(table.others) else ''}"


def _head_title(table: Table) -> str:
    which = "All rows" if table.head == table.rows else f"The first {table.head} rows"
    columns = min(len(table.shown), HEAD_COLUMNS)
    return f"{which}{'' if columns == table.columns else f', of the first {columns} columns'}:"


def _head(table: Table) -> str:
    shown = table.shown[:HEAD_COLUMNS]
    columns = [[cell(value) for value in it.head] for it in shown]
    head = [cell(_name(it.name)) for it in shown]
    if table.index is not None:
        head = [cell(table.index_name), *head]
        columns = [[cell(value) for value in table.index], *columns]
    return markdown_table(head, list(zip(*columns, strict=True)))
