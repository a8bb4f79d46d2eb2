"""What the file keeps of a fan-out's table: HTML, a text, and the rows as data.

Pure and deterministic: no times, no paths, no machine. Every text of an agent, of a prompt and of a score is
escaped, with all its characters visible.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import msgspec

from ..tables import text_table
from ..visible import shown
from .rows import STATES, Row

RUNS_MIME = "application/vnd.acp-notebook.runs+json"
"""The rows as data, stored next to the rendered forms."""

CELL_CHARS = 60
"""Characters of a prompt or an error in the table; the title of the cell has more."""

TITLE_CHARS = 300
SCORE_CHARS = 40
NAME_CHARS = 40

STATIC_ROWS = 200
"""Rows of the static table; the data has all of them, up to `DATA_BYTES`."""

DATA_BYTES = 1_000_000

KEPT = (
    "prompt",
    "agent",
    "attempt",
    "state",
    "cost",
    "currency",
    "added",
    "removed",
    "score",
    "score_text",
    "error",
)
"""What the data has of a row."""

_MATH = re.compile(r"\$|\\[(\[]|\\begin")
"""What hosts may take for a formula, unless it is in a <code>."""


def money(amount: float, currency: str | None) -> str:
    """A cost with the name of its currency: hosts would typeset what is between two dollar signs."""
    return f"{amount:.{4 if 0 < amount < 0.1 else 2}f} {shown(currency or '', chars=10)}".rstrip()


def score_text(row: Row) -> str:
    """The score as a number, and what it says about itself."""
    number = "" if row.score is None else f"{row.score:.4g}"
    words = shown(row.score_text or "", chars=SCORE_CHARS)
    return f"{number} ({words})" if number and words else number or words


def lines_text(row: Row) -> str:
    return f"+{row.added or 0:,} -{row.removed or 0:,}" if row.added or row.removed else ""


def summary(rows: Iterable[Row]) -> str:
    """One line: how many runs came to what, and what they cost. The same whenever they end the same."""
    states: Counter[str] = Counter()
    costs: dict[str, float] = {}
    for row in rows:
        states[row.state] += 1
        if row.cost:
            costs[row.currency or ""] = costs.get(row.currency or "", 0.0) + row.cost
    total = states.total()
    counts = ", ".join(f"{states[state]:,} {state}" for state in STATES if states[state])
    runs = f"{total:,} run{'' if total == 1 else 's'}: {counts}" if total else "No runs."
    return " · ".join([runs, *(money(amount, currency) for currency, amount in sorted(costs.items()))])


Columns = Mapping[str, Sequence[str]]


def _columns(rows: Sequence[Row]) -> Columns:
    """The columns that say something, by their heads."""
    columns: Columns = {
        "": [str(row.index) for row in rows],
        "prompt": [row.prompt for row in rows],
        "agent": [shown(row.agent, chars=NAME_CHARS) for row in rows],
        "attempt": [str(row.attempt) for row in rows],
        "state": [row.state for row in rows],
        "± lines": [lines_text(row) for row in rows],
        "cost": ["" if row.cost is None else money(row.cost, row.currency) for row in rows],
        "score": [score_text(row) for row in rows],
        "note": [row.error or ("applied" if row.applied else "") for row in rows],
    }
    silent = {"attempt"} if all(row.attempt == 1 for row in rows) else set()
    return {name: cells for name, cells in columns.items() if name not in silent and any(cells)}


def to_text(rows: Sequence[Row], limit: int = STATIC_ROWS) -> str:
    """The table as text, and its summary."""
    if not rows:
        return summary(rows)
    columns = _columns(rows[:limit])
    table = text_table([*columns], zip(*columns.values(), strict=True))
    return "\n".join([table, *_omitted(len(rows), limit), summary(rows)])


def _omitted(total: int, limit: int) -> list[str]:
    return [f"… {total - limit:,} more runs"] if total > limit else []


# ---- HTML

_LEFT, _RIGHT = "text-align:left", "text-align:right"
_NUMERIC = {"", "attempt", "± lines", "cost", "score"}
_BAD, _AMBER = "#d1242f", "#9a6700"
_COLOURS = {"done": "#2da44e", "failed": _BAD, "lost": _BAD, "cancelled": _AMBER, "skipped": _AMBER}
MARKS = {
    "queued": "○",
    "preparing": "◔",
    "running": "◐",
    "scoring": "◕",
    "done": "✓",
    "failed": "✕",
    "lost": "✕",
    "cancelled": "⊘",
    "skipped": "⊘",
}
"""The same as in the page (js/src/view/runs_cells.tsx)."""


def to_html(rows: Sequence[Row], limit: int = STATIC_ROWS) -> str:
    """The table as HTML, and its summary. Readable without any style."""
    notes = "<br>".join(map(escape, [*_omitted(len(rows), limit), summary(rows)]))
    if not rows:
        return f"<p>{notes}</p>"
    columns = _columns(rows[:limit])
    heads = "".join(f'<th scope="col" style="{_style(name)}">{escape(name)}</th>' for name in columns)
    lines = (
        "".join(_cell(name, text) for name, text in zip(columns, cells, strict=True))
        for cells in zip(*columns.values(), strict=True)
    )
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>\n{body}\n</tbody></table>"
    return f'<div class="acp-runs" style="overflow-x:auto">{table}\n<p>{notes}</p></div>'


def _style(name: str) -> str:
    return _RIGHT if name in _NUMERIC else _LEFT


def _cell(name: str, text: str) -> str:
    if name == "state":
        mark = f'<span style="color:{_COLOURS.get(text, "inherit")}">{MARKS[text]}</span>'
        return f'<td style="{_LEFT}">{mark} {text}</td>'
    short, whole = shown(text, chars=CELL_CHARS), shown(text, chars=TITLE_CHARS)
    title = "" if short == whole else f' title="{escape(whole)}"'
    inner = f"<code>{escape(short)}</code>" if _MATH.search(short) else escape(short)
    return f'<td style="{_style(name)}"{title}>{inner}</td>'


# ---- data


def to_data(rows: Sequence[Row]) -> str:
    """The rows as one line of JSON, with each prompt once. The last rows are left out if it is too long."""
    prompts = list(dict.fromkeys(row.prompt for row in rows))
    numbers = {prompt: number for number, prompt in enumerate(prompts)}
    kept = [_plain(row) | {"prompt": numbers[row.prompt]} for row in rows]
    data: dict[str, Any] = {"acp_runs": 1, "prompts": prompts, "runs": kept}
    line = msgspec.json.encode(data)
    while len(line) > DATA_BYTES and kept:
        del kept[len(kept) * DATA_BYTES // (len(line) + 1) :]
        data["prompts"] = prompts[: max((it["prompt"] for it in kept), default=-1) + 1]
        line = msgspec.json.encode(data | {"left_out": len(rows) - len(kept)})
    return line.decode()


def _plain(row: Row) -> dict[str, Any]:
    fields = {name: getattr(row, name) for name in KEPT}
    if row.score is not None and not math.isfinite(row.score):
        del fields["score"]
    return {name: value for name, value in fields.items() if value is not None}


def to_bundle(rows: Sequence[Row]) -> dict[str, str]:
    """What the file keeps: HTML, a text and the rows as data."""
    return {"text/html": to_html(rows), "text/plain": to_text(rows), RUNS_MIME: to_data(rows)}
