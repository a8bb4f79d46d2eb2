"""What a run did, and two runs side by side, as static HTML. Stays readable if all styles are stripped.

Everything that an agent, a prompt or a score said is escaped, or goes through the markdown renderer, which
lets no HTML through. Uses the page's own colours, as `html` does, and no media queries: two columns become
one where there is no room for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ..changes import FileChange, lines_of_diff
from ..escaping import Escaper
from ..fan_out.rows import Comparison, Row, Side
from ..fan_out.table import lines_text, money, score_text
from ..snapshot import Item
from ..visible import shown
from .html import diff, prose, to_html

TRANSCRIPT_BYTES = 400_000
"""The limit of a transcript in an open row, which is sent again while its run goes on."""

FILES = 100
"""The most files that are shown with their diffs."""

ANSWER_CHARS = 50_000

_GREY = "rgba(127,127,127"
_COLUMNS = "display:grid;gap:.8em;grid-template-columns:repeat(auto-fit,minmax(min(100%,300px),1fr))"
_COLUMN = f"min-width:0;overflow:hidden;padding:.2em .8em;border:1px solid {_GREY},.35);border-radius:4px"
_BAD = "color:#d1242f"


def details_html(
    row: Row, items: Sequence[Item], files: Sequence[FileChange], *, cwd: str | None = None
) -> str:
    """An open row: why it did not end well, what the score says, the transcript, the changed files."""
    escaper = Escaper(cwd)
    parts = []
    if row.error:
        parts.append(f'<p style="{_BAD}"><strong>{row.state}</strong> {escape(escaper.line(row.error))}</p>')
    if row.score_text:
        parts.append(f"<p><strong>Score</strong> {escape(escaper.line(row.score_text))}</p>")
    if items:
        parts.append(to_html(items, cwd=cwd, max_bytes=TRANSCRIPT_BYTES))
    elif row.text:
        parts.append(_answer(row.text, escaper))
    if files:
        body = "".join(_file_name(it.path, escaper) + _file_diff(it, escaper) for it in files[:FILES])
        title = f"Patch: {len(files):,} file{'' if len(files) == 1 else 's'} {lines_text(row)}".rstrip()
        parts.append(f"<details><summary>{escape(title)}</summary>{body}{_more_files(len(files))}</details>")
    return "\n".join(parts) or "<p>Nothing yet.</p>"


def changes_html(files: Sequence[FileChange]) -> str:
    """The files that were applied or undone, with their diffs."""
    parts = []
    for file in files[:FILES]:
        state = f" <small>{escape(file.state)}</small>" if file.state else ""
        parts.append(f"<p><code>{escape(Escaper(None).path(file.path))}</code>{state}</p>")
        parts.append(_file_diff(file, Escaper(None)))
    return f'<div class="acp-changes">{"".join(parts)}{_more_files(len(files))}</div>'


def _more_files(total: int) -> str:
    return f"<p>… {total - FILES:,} more files</p>" if total > FILES else ""


def _file_name(path: str, escaper: Escaper) -> str:
    return f"<p><code>{escape(escaper.path(path))}</code></p>"


def _file_diff(file: FileChange, escaper: Escaper) -> str:
    lines = lines_of_diff(file)
    note = f"<p>{escape(escaper.line(file.note))}</p>" if file.note else ""
    if not lines:
        return note or f"<p>{'binary, ' if file.binary else ''}{escape(file.action)}</p>"
    return diff("\n".join(map(escaper.exact, lines))) + note


def _answer(text: str, escaper: Escaper) -> str:
    cut = f"<p>… {len(text) - ANSWER_CHARS:,} more characters</p>" if len(text) > ANSWER_CHARS else ""
    return prose(escaper.prose(text[:ANSWER_CHARS])) + cut


# ---- side by side


def comparison_html(comparison: Comparison, *, cwd: str | None = None) -> str:
    """Two runs side by side: their answers, then what each has changed, file by file."""
    sides = (comparison.left, comparison.right)
    escaper = Escaper(cwd)
    same = set(comparison.same)
    parts = [_columns([_head(it.row) + _said(it, escaper) for it in sides])]
    for path in comparison.paths[:FILES]:
        parts.append(_file_name(path, escaper))
        found = [next((it for it in side.files if it.path == path), None) for side in sides]
        if path in same and found[0] is not None:
            parts.append("<p>Both made the same change.</p>" + _file_diff(found[0], escaper))
            continue
        diffs = ["<p>unchanged</p>" if it is None else _file_diff(it, escaper) for it in found]
        parts.append(_columns([_label(side.row) + it for side, it in zip(sides, diffs, strict=True)]))
    parts.append(_more_files(len(comparison.paths)) if comparison.paths else "<p>Neither changed a file.</p>")
    body = "\n".join(filter(None, parts))
    return f'<div class="acp-comparison">{body}</div>'


def comparison_text(comparison: Comparison) -> str:
    """The same in short: a line for each run."""
    return "\n".join(f"{_name(it.row)}: {_facts(it.row)}" for it in (comparison.left, comparison.right))


def _name(row: Row) -> str:
    attempt = f", attempt {row.attempt}" if row.attempt > 1 else ""
    return f"{row.index} · {shown(row.agent)}{attempt}"


def _facts(row: Row) -> str:
    score = score_text(row)
    cost = "" if row.cost is None else money(row.cost, row.currency)
    facts = [row.state, lines_text(row), f"score {score}" if score else "", cost]
    return " · ".join(filter(None, facts))


def _head(row: Row) -> str:
    return f"<p><strong>{escape(_name(row))}</strong> <small>{escape(_facts(row))}</small></p>"


def _label(row: Row) -> str:
    return f"<p><small>{escape(_name(row))}</small></p>"


def _said(side: Side, escaper: Escaper) -> str:
    why = f'<p style="{_BAD}">{escape(escaper.line(side.row.error))}</p>' if side.row.error else ""
    return why + (
        _answer(side.text, escaper) if side.text.strip() else "<p>No answer.</p>" if not why else ""
    )


def _columns(cells: Sequence[str]) -> str:
    boxes = "".join(f'<div style="{_COLUMN}">{it}</div>' for it in cells)
    return f'<div style="{_COLUMNS}">{boxes}</div>'
