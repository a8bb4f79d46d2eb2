"""Write blocks as static HTML, one fragment for a cell's output. Stays readable if all styles are stripped.

Only `markdown_html.render` turns foreign text into markup; everything else is escaped here. Uses the page's
own colours, with borders, opacity and faint backgrounds that suit light and dark pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby

from ..escaping import Escaper
from ..snapshot import Item, TurnStart
from .blocks import Block, Check, Checklist, Code, Fold, Line, Link, Media, Prose, Quote, Tool
from .bounds import shortened
from .links import is_link
from .markdown_html import PRE, pre, render
from .outline import YOU, outline
from .truncate import Piece, fitted

REFERENCE = "In its own cell:"
REFERENCE_CHARS = 100
"""Characters of a prompt in a reference to its turn."""

_BOX = "overflow:hidden"

_VERBATIM = re.compile(r"(<pre\b.*?</pre>)", re.DOTALL)

_SPILLS = re.compile(r"\$|\\[(\[]|[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]{3}")
"""Text that can be drawn outside of its lines: formulas, which hosts typeset, and stacked combining marks."""

_FOREIGN_MATH = re.compile(
    r"\\(?=(?:href|url|style|class|cssId|data|require|[gex]?def|let|futurelet|(?:re)?new(?:command|environment)"
    r"|providecommand|mmlToken|bbox|enclose|includegraphics|html\w*|texttip|toggle|action)(?![A-Za-z]))"
)
"""TeX commands that could create links, styles or attributes, or redefine other commands."""

_BLUE, _GREY = "rgba(33,118,219", "rgba(127,127,127"
_QUOTE = f"border-left:3px solid {_BLUE},.8);padding:.4em .8em 0;margin:.8em 0;background:{_BLUE},.08)"
_QUIET = "opacity:.75"
_FOLD = f"margin:.5em 0;padding-left:.8em;border-left:3px solid {_GREY},.3)"
_CARD = f"margin:.5em 0;padding:.2em .8em;border:1px solid {_GREY},.35);border-radius:4px"
_PLAN = "list-style:none;padding-left:.4em;margin:.4em 0"
_AMBER, _DONE = "color:#9a6700", "color:#2da44e"
_STATUS_STYLES = {"failed": "color:#d1242f"} | dict.fromkeys(("rejected", "cancelled", "unfinished"), _AMBER)
_DIFF_STYLES = {"+": "background:rgba(46,160,67,.18)", "-": "background:rgba(248,81,73,.18)"}
_MARKS = {"completed": "☑", "in_progress": "◐", "pending": "☐"}
_OTHER_MARK = "▫"


def to_html(
    items: Sequence[Item], *, cwd: str | None = None, title: str | None = None, max_bytes: int | None = None
) -> str:
    """Export the items as one `<div>`. Over `max_bytes`, omits the oldest details, then the oldest parts."""
    escaper = Escaper(cwd)
    head = f"<p><strong>{escape(escaper.line(title))}</strong></p>\n" if title else ""
    start, end = f'<div class="acp-transcript">{head}', "</div>"
    blocks = list(outline(items, escaper))
    if max_bytes is None:
        return start + "".join(map(_line, blocks)).rstrip("\n") + end
    room = max_bytes - len((start + end).encode()) + 1  # the last line end is not written
    return start + fitted([Piece(block, _line) for block in blocks], room).rstrip("\n") + end


def to_reference(items: Sequence[Item], *, cwd: str | None = None) -> str:
    """A line that stands for a turn that is shown elsewhere in the same notebook."""
    turn = next((item for item in items if isinstance(item, TurnStart)), None)
    prompt = "" if turn is None else shortened(Escaper(cwd).line(turn.text), REFERENCE_CHARS)
    return _markup(Line("", f"{REFERENCE} {prompt}".rstrip()))


def _lines(blocks: Iterable[Block]) -> str:
    return "\n".join(map(_markup, blocks))


def _line(block: Block) -> str:
    """One line, except for verbatim text, so that a changed block is a changed line of the file."""
    parts = _VERBATIM.split(_markup(block))
    parts[::2] = [it.replace(">\n<", "><").replace("\n", " ") for it in parts[::2]]
    return "".join(parts) + "\n"


def _markup(block: Block) -> str:
    match block:
        case Prose(text, breaks):
            return prose(text, breaks=breaks)
        case Line(label, text):
            markup = _labelled(label, text)
            return f'<p style="{_BOX}">{_tame(markup)}</p>' if _SPILLS.search(text) else f"<p>{markup}</p>"
        case Code(text, language):
            return diff(text) if language == "diff" else pre(text)
        case Link():
            return f"<p>{_link(block)}</p>"
        case Media():
            return _media(block)
        case Checklist(checks):
            return f'<ul style="{_PLAN}">\n' + "".join(map(_check, checks)) + "</ul>"
        case Quote(label, blocks):
            body = _lines(blocks) or "<p>(empty)</p>"
            head = "" if label == YOU else f"<p>{_labelled(label)}</p>\n"
            return f'<blockquote style="{_QUOTE}">{head}{body}</blockquote>'
        case Fold(label, blocks, quiet):
            return _details(escape(label), blocks, style=f"{_FOLD};{_QUIET}" if quiet else _FOLD)
        case Tool():
            return _details(_tool_head(block), block.blocks, opened=block.open, style=_CARD)


def prose(text: str, *, breaks: bool = False) -> str:
    """Foreign markdown, in a box of its own if it could be drawn outside of its lines."""
    markup = render(text, breaks=breaks)
    return f'<div style="{_BOX}">{_tame(markup)}</div>' if _SPILLS.search(text) else markup


def _tame(markup: str) -> str:
    """Disable those commands in formulas: a word joiner after the backslash makes them plain text."""
    return _FOREIGN_MATH.sub("&#92;&#8288;", markup)


def _labelled(label: str, text: str = "") -> str:
    strong = f"<strong>{escape(label)}</strong>" if label else ""
    return " ".join(part for part in (strong, escape(text)) if part)


def _tool_head(tool: Tool) -> str:
    title = f"<code>{escape(tool.title)}</code>" if tool.code else f"<strong>{escape(tool.title)}</strong>"
    head = f'<span style="{_STATUS_STYLES.get(tool.status, _DONE)}">{tool.mark}</span> {title}'
    return f'{head} <span style="{_QUIET}">— {escape(tool.note)}</span>' if tool.note else head


def _details(summary: str, blocks: Sequence[Block], *, style: str, opened: bool = False) -> str:
    if not blocks:
        return f'<p style="{style}">{summary}</p>'
    attributes = (' open=""' if opened else "") + f' style="{style}"'
    return f"<details{attributes}><summary>{summary}</summary>\n{_lines(blocks)}</details>"


def diff(text: str) -> str:
    """A unified diff, with its lines coloured."""
    runs = groupby(text.split("\n"), lambda line: line[:1])
    lines = "".join(_diff_run(sign, "".join(f"{line}\n" for line in run)) for sign, run in runs)
    return f'<pre style="{PRE}">\n{lines}</pre>'


def _diff_run(sign: str, text: str) -> str:
    # Each block ends with its own line end, so that lines span the page and remain lines without styles.
    style = _DIFF_STYLES.get(sign)
    return f'<span style="display:block;{style}">{escape(text)}</span>' if style else escape(text)


def _link(link: Link) -> str:
    label = escape(link.label)
    if is_link(link.uri):
        shown = f'<a href="{escape(link.uri)}" target="_blank" rel="noopener noreferrer">{label}</a>'
    else:
        shown = label if link.uri == link.label else f"{label} <code>{escape(link.uri)}</code>"
    return shown + (f" ({escape(link.note)})" if link.note else "")


def _media(media: Media) -> str:
    uri, note = escape(media.uri), escape(media.note)
    if media.is_image:
        return f'<p><img src="{uri}" alt="{note}" style="max-width:100%"></p>'
    return f'<p><audio controls="" src="{uri}"></audio> {note}</p>'


def _check(check: Check) -> str:
    mark = _MARKS.get(check.status, _OTHER_MARK)
    return f"<li>{mark} {escape(check.text)}</li>\n"
