"""Small tables for people: the same rows as text and as HTML, with every character visible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .visible import shown

Row = Sequence[str]

CELL_CHARS = 60
"""Short enough for a row to fit on one line of a terminal or a notebook output."""

LEFT = ' style="text-align:left"'

TITLE_CHARS = 2000
"""The most that a tooltip can show."""


def text_table(head: Row, rows: Iterable[Row]) -> str:
    """Format a table as text; columns are as wide as their widest cell."""
    cells = [list(head), *([_cell(it) for it in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(it.ljust(width) for it, width in zip(row, widths, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)


def html_table(head: Row, rows: Iterable[Row]) -> str:
    """Format a table as HTML, aligned left (notebooks align right); titles of cells have the whole text."""
    from html import escape  # import it only if needed

    body = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in rows)
    heads = "".join(f"<th{LEFT}>{escape(it)}</th>" for it in head)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _cell(text: str) -> str:
    return shown(text, chars=CELL_CHARS)


def _html_cell(text: str) -> str:
    from html import escape

    short, whole = _cell(text), shown(text, chars=TITLE_CHARS)
    title = "" if short == whole else f' title="{escape(whole)}"'
    return f"<td{LEFT}{title}>{escape(short)}</td>"
