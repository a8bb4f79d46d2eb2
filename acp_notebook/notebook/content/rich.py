"""Describe any other object by its rich notebook representation, else by its repr.

Looks up the methods on the class, as Python does for special methods: objects that have every attribute have
no rich representation.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any

from ...core.records import Content
from ...log import logger
from .bounds import LINE_CHARS, TEXT_CHARS, brief
from .labels import Label
from .pictures import picture, sniff

_log = logger(__name__)

FORMS = {
    "image/png": "_repr_png_",
    "image/jpeg": "_repr_jpeg_",
    "text/markdown": "_repr_markdown_",
    "text/html": "_repr_html_",
    "text/latex": "_repr_latex_",
}
"""In order of preference."""

HTML_CHARS = 10 * TEXT_CHARS
"""How much HTML is read: much of it is tags, which are not sent."""


def take(value: Any, label: Label) -> tuple[Content, ...] | None:
    bundle = _bundle(value)
    for mime_type, method in FORMS.items():
        form = bundle.get(mime_type) or _call(value, method)
        found = _content(form, mime_type, value, label)
        if found is not None:
            return found
    plain = bundle.get("text/plain")
    text = plain if isinstance(plain, str) else _repr(value)
    return (label.resource(f"{label.heading(_kind(value))}\n\n{text}"),)


def _repr(value: Any) -> str:
    """The object's repr, even if it fails; `bounded` cuts a long one later."""
    try:
        return repr(value)
    except Exception as error:  # the object's own code
        return f"(its repr fails with {type(error).__name__})"


def _content(form: Any, mime_type: str, value: Any, label: Label) -> tuple[Content, ...] | None:
    if isinstance(form, tuple) and form:
        form = form[0]  # the second element is metadata
    if mime_type.startswith("image/"):
        data = _bytes(form)
        kind = sniff(data)
        return picture(data, kind, label, _kind(value)) if kind == mime_type else None
    if not isinstance(form, str) or not form.strip():
        return None
    if mime_type == "text/html":
        form, mime_type = _text_of(form), "text/plain"
    return (label.resource(f"{label.heading(_kind(value))}\n\n{form}", mime_type),)


def _kind(value: Any) -> str:
    return brief(f"{type(value).__module__}.{type(value).__qualname__}", LINE_CHARS)


def _bundle(value: Any) -> Mapping[str, Any]:
    found = _call(value, "_repr_mimebundle_")
    if isinstance(found, tuple) and found:
        found = found[0]
    return found if isinstance(found, Mapping) else {}


def _call(value: Any, method: str) -> Any:
    function = getattr(type(value), method, None)
    if not callable(function):
        return None
    try:
        return function(value)
    except Exception:  # the next form may work
        _log.debug("an object cannot show itself in this form", exc_info=True)
        return None


def _bytes(form: Any) -> bytes:
    if isinstance(form, bytes):
        return form
    try:
        return base64.b64decode(form) if isinstance(form, str) else b""
    except ValueError:
        return b""


# ---- HTML as text


SILENT = frozenset({"script", "style", "head", "template"})
BREAKING = frozenset(
    {"br", "dd", "div", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "li", "p", "pre", "table", "tr"}
)


class _TextExtractor(HTMLParser):
    """Collects the visible text of HTML, with line breaks and tabs for its structure."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in SILENT:
            self._silent += 1
        elif tag in BREAKING:
            self.words.append("\n")
        elif tag in ("td", "th"):
            self.words.append("\t")

    def handle_endtag(self, tag: str) -> None:
        if tag in SILENT:
            self._silent = max(0, self._silent - 1)

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.words.append(data)


def _text_of(html: str) -> str:
    parser = _TextExtractor()
    parser.feed(html[:HTML_CHARS])
    parser.close()
    lines = (
        "\t".join(" ".join(it.split()) for it in line.split("\t")).strip()
        for line in "".join(parser.words).split("\n")
    )
    return "\n".join(line for line in lines if line)
