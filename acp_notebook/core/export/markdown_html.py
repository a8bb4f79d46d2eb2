"""Render foreign markdown as safe HTML: no raw HTML, no remote images, only links to the web and to mail.

Independent of blocks. The parser is markdown-it with `html` off, which escapes all text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from .links import is_link

MAX_NESTING = 40
"""Block levels that are rendered; markdown-it drops deeper ones, so a deeper text is shown verbatim."""
MAX_CHARS = 100_000
"""A longer message is data, not prose, and is shown verbatim."""
PRE = "margin:.4em 0;padding:.5em .8em;overflow-x:auto;background:rgba(127,127,127,.1);font-family:monospace"
"""The style of verbatim text: a faint background that suits light and dark pages."""
_FENCED = f"display:block;{PRE}"
HEADING_SHIFT = 2
"""An agent's headings rank below those of the notebook."""


_PLAIN_TEXT = re.compile(r"[^\W\d_](?:[^\W_]|[ ,;?])*(?:\.[ ]?)?")
"""One line of words, without anything that has a meaning in markdown."""


def is_plain(text: str) -> bool:
    """Whether the text needs no parsing, because it contains no markdown. This matters for an agent that
    alternates between thoughts and messages: it leaves a hundred thousand messages of one word each."""
    return _PLAIN_TEXT.fullmatch(text) is not None


class _WebLinksOnly(MarkdownIt):
    """Leaves a link as plain text if `is_link` does not allow it."""

    def validateLink(self, url: str) -> bool:
        return is_link(url)


def render(text: str, *, breaks: bool = False) -> str:
    """Render the text as HTML, or verbatim in a <pre> if it is too deeply nested or too long."""
    if len(text) > MAX_CHARS:
        return pre(text)
    if is_plain(text):
        return f"<p>{text.strip()}</p>"
    parser = _WITH_BREAKS if breaks else _PLAIN
    try:
        tokens = parser.parse(text)
        if too_deep(tokens):
            return pre(text)
        return str(parser.renderer.render(tokens, parser.options, {})).rstrip("\n")
    except RecursionError:
        return pre(text)


def pre(text: str) -> str:
    # HTML drops a newline right after <pre>: add one to keep the text as it is.
    return f'<pre style="{PRE}">\n{escape(text)}</pre>'


def too_deep(tokens: Sequence[Token]) -> bool:
    """Whether markdown-it has reached the level at which it starts to drop text."""
    return any(token.level >= MAX_NESTING - 1 for token in tokens)


def parser(*, breaks: bool = False) -> MarkdownIt:
    """A parser for CommonMark with tables and strikethrough; raw HTML is text."""
    options = {"html": False, "xhtmlOut": False, "maxNesting": MAX_NESTING, "breaks": breaks}
    return _WebLinksOnly("commonmark", options).enable(["table", "strikethrough"])


def _html_parser(breaks: bool) -> MarkdownIt:
    made = parser(breaks=breaks)
    made.core.ruler.push("acp_safe", _make_safe)
    return made


def _make_safe(state: StateCore) -> None:
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + HEADING_SHIFT, 6)}"
        elif token.type in ("fence", "code_block"):
            token.info = ""  # it would become a class, for which the page may have a style
            token.attrSet("style", _FENCED)
        elif token.children:
            token.children = list(_safe_inline(token.children))


def _safe_inline(tokens: Sequence[Token]) -> Iterator[Token]:
    """Links open in a new tab; an image becomes a link, because loading it would reveal the reader to its
    server."""
    depth = 0
    for token in tokens:
        depth += token.nesting if token.type.startswith("link_") else 0
        if token.type == "image":
            yield from _image(token, inside_link=depth > 0)
            continue
        if token.type == "link_open":
            _open_in_new_tab(token)
        yield token


def _image(token: Token, *, inside_link: bool) -> Iterator[Token]:
    source = str(token.attrs.get("src", ""))
    text = Token("text", "", 0, content=f"image: {token.content or source}")
    if inside_link:
        yield text
        return
    link = Token("link_open", "a", 1, attrs={"href": source})
    _open_in_new_tab(link)
    yield from (link, text, Token("link_close", "a", -1))


def _open_in_new_tab(link: Token) -> None:
    link.attrSet("target", "_blank")
    link.attrSet("rel", "noopener noreferrer")


_PLAIN = _html_parser(breaks=False)
_WITH_BREAKS = _html_parser(breaks=True)
