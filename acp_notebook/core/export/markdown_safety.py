r"""Confine foreign markdown to its own part of a markdown document.

Independent of blocks. Escapes raw HTML (one "<!--" would hide the rest of the conversation), turns remote
images into links, and closes open code blocks. Everything else stays as it was written.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Sequence
from itertools import dropwhile, pairwise, takewhile

from markdown_it.token import Token

from .markdown_html import MAX_CHARS, is_plain, parser, too_deep

TAB = 4
"""CommonMark's tab stop."""

_SIGN = re.compile(
    r"\\[!-/:-@\[-`{-~]"  # an escaped character has no meaning
    r"|(?P<ticks>`+)"
    r"|<(?:https?://|mailto:)[^\s<>]*>"  # an autolink
    r"|(?P<html><(?=[A-Za-z/!?]))"
    r"|(?P<image>!(?=\[))",
    re.IGNORECASE,
)
_HTML = re.compile(r"<(?=[A-Za-z/!?])")
_INDENTED = re.compile(r" {0,3}\t| {4}")
_TICKS = re.compile(r"`+")
_CLOSING = re.compile(r" {0,3}(`+|~+)[ \t]*")

_blocks = parser()
_blocks.core.ruler.enableOnly(["normalize", "block"])


def fenced(text: str, language: str = "") -> str:
    """Text as a code block whose fence is longer than any in the text."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def confined(text: str) -> str:
    """Markdown that cannot affect what follows it; a code block if that cannot be ensured."""
    if len(text) > MAX_CHARS:
        return fenced(text)
    if is_plain(text):
        return text
    text = _from_margin(text)
    try:
        tokens = _blocks.parse(text)
    except RecursionError:
        return fenced(text)
    if too_deep(tokens):
        return fenced(text)
    lines = _without_tabs(text.split("\n"), tokens)
    code = _code_lines(tokens)
    return "\n".join(_confined_lines(lines, tokens, code)) + _missing_fence(lines, tokens)


def _from_margin(text: str) -> str:
    """Remove the indentation of the first line: indented, it would belong to a preceding list."""
    lines = list(dropwhile(lambda line: not line.strip(" \t"), text.split("\n"))) or [""]
    if not _INDENTED.match(lines[0]):
        return "\n".join([lines[0].lstrip(" "), *lines[1:]])
    code = list(takewhile(lambda line: _INDENTED.match(line) or not line.strip(" \t"), lines))
    dedented = "\n".join(_INDENTED.sub("", line, count=1) for line in code).rstrip()
    return "\n".join([fenced(dedented), "", *lines[len(code) :]])


def _without_tabs(lines: list[str], tokens: Sequence[Token]) -> list[str]:
    """Expand tabs outside of code blocks: in a quote a tab is narrower, which may change a line."""
    kept = {
        number
        for token in tokens
        if token.type == "fence" and token.level == 0 and token.map
        for number in range(*token.map)
        if lines[number].strip()[:1] not in ("`", "~")  # else it might close the block
    }
    return [line if number in kept else line.expandtabs(TAB) for number, line in enumerate(lines)]


def _code_lines(tokens: Sequence[Token]) -> set[int]:
    return {
        number
        for token in tokens
        if token.type in ("fence", "code_block") and token.map
        for number in range(*token.map)
    }


def _confined_lines(lines: list[str], tokens: Sequence[Token], code: set[int]) -> list[str]:
    done: dict[int, str] = {}
    for before, token in pairwise(tokens):
        # The cells of a table are separate although they share a line, so backticks do not pair across them.
        if token.type == "inline" and token.map and before.type not in ("th_open", "td_open"):
            start, end = token.map
            done.update(enumerate(_escaped("\n".join(lines[start:end]), spans=True).split("\n"), start))
    return [
        line if number in code else done[number] if number in done else _escaped(line, spans=False)
        for number, line in enumerate(lines)
    ]


def _escaped(text: str, *, spans: bool) -> str:
    """Put a backslash before raw HTML and images. `spans`: backticks may pair to code spans."""
    closing = _closing_ticks(text) if spans else {}
    parts: list[str] = []
    at = 0
    while (sign := _SIGN.search(text, at)) is not None:
        parts.append(text[at : sign.start()])
        end = _span_end(sign, closing) if sign["ticks"] else sign.end()
        parts.append(_escaped_sign(sign, text[sign.start() : end]))
        at = end
    return "".join(parts) + text[at:]


def _escaped_sign(sign: re.Match[str], text: str) -> str:
    if sign["html"] or sign["image"]:
        return "\\" + text
    # A code span over several lines is void if one of them begins an HTML block: blocks are parsed first.
    return _HTML.sub(r"\\<", text) if "\n" in text else text


def _closing_ticks(text: str) -> dict[int, deque[int]]:
    """The start positions of the runs of backticks, by length."""
    runs: dict[int, deque[int]] = defaultdict(deque)
    for run in _TICKS.finditer(text):
        runs[len(run[0])].append(run.start())
    return runs


def _span_end(opening: re.Match[str], closing: dict[int, deque[int]]) -> int:
    length = len(opening["ticks"])
    starts = closing.get(length, deque())
    while starts and starts[0] < opening.end():
        starts.popleft()
    return starts[0] + length if starts else opening.end()


def _missing_fence(lines: list[str], tokens: Sequence[Token]) -> str:
    if not tokens or tokens[-1].type != "fence" or tokens[-1].map is None:
        return ""
    last = tokens[-1]
    start, end = last.map or (0, 0)
    closing = _CLOSING.fullmatch(lines[end - 1]) if end - 1 > start else None
    if closing is not None and closing[1].startswith(last.markup):
        return ""
    return f"\n{last.markup}"
