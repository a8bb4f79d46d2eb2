"""Detect how a file's JSON is formatted, and format new parts of it in the same way.

Independent of notebooks, except that the default is nbformat's own layout.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from json.encoder import encode_basestring, encode_basestring_ascii

import msgspec
from msgspec import Struct

from ..records import Json

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_OPENING = re.compile(r'\{(?:[ \t]*(\r?\n)([ \t]*))?"(?:[^"\\]|\\.)*"([ \t]*:[ \t]*)')
_COMPACT_COMMA = re.compile(r'[0-9\]}"](, ?)"')


class JsonLayout(Struct, frozen=True):
    """The line ends, indentation, separators and escaping of a JSON file."""

    newline: str = "\n"
    indent: str | None = " "
    """None: everything on one line."""
    comma: str = ","
    colon: str = ": "
    ascii: bool = False
    """Whether non-ASCII characters are escaped."""

    @classmethod
    def of(cls, text: str, at: int) -> JsonLayout:
        """Detect the layout of the object that begins at this position."""
        ascii = text.isascii() and "\\u" in text
        opening = _OPENING.match(text, at)
        if opening is None:
            return cls(ascii=ascii)
        newline, indent, colon = opening.groups()
        if newline is not None:
            return cls(newline, indent, ",", colon, ascii)
        comma = _COMPACT_COMMA.search(text, at)
        return cls("\n", None, comma.group(1) if comma else ",", colon, ascii)

    def joined(self, parts: Sequence[str], brackets: str, depth: int) -> str:
        """Join formatted values (or members) into a list (or an object) at this depth."""
        if not parts:
            return brackets
        opening, between, closing = self.around(brackets, depth)
        return f"{opening}{between.join(parts)}{closing}"

    def around(self, brackets: str, depth: int) -> tuple[str, str, str]:
        """What is before, between and after the values of a list (or an object) at this depth."""
        opening, closing = brackets[0], brackets[1]
        if self.indent is None:
            return opening, self.comma, closing
        inner, outer = (self.newline + self.indent * level for level in (depth + 1, depth))
        return opening + inner, f",{inner}", outer + closing

    def member(self, key: str, value: str) -> str:
        return f"{dump(key, self)}{self.colon}{value}"


STANDARD = JsonLayout()


def dump(value: Json, style: JsonLayout, depth: int = 0) -> str:
    """Format a value as JSON at this depth.

    A lone surrogate is escaped, because it cannot be encoded.
    """
    quote = encode_basestring_ascii if style.ascii else encode_basestring
    if style.indent is None:
        text = json.dumps(value, separators=(style.comma, style.colon), ensure_ascii=style.ascii)
    else:
        text = _dump_indented(value, style.indent, style.colon, quote, style.newline + style.indent * depth)
    return text if style.ascii else escaped(text)


def dump_sorted(value: Json, *, floats: bool) -> str:
    """Format a value in the standard layout with sorted keys: many times faster if it contains no floats.

    msgspec writes floats in another form than Python does, and NaN as null.
    """
    if floats:
        return dump(_sorted(value), STANDARD)
    try:
        return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=1).decode()
    except (UnicodeEncodeError, OverflowError):  # a lone surrogate, or an integer of more than 64 bits
        return dump(_sorted(value), STANDARD)


def _sorted(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) if isinstance(item, dict | list) else item for item in value]
    return value


def _dump_indented(value: Json, indent: str, colon: str, quote: Callable[[str], str], outer: str) -> str:
    """Like `json.dumps` with an indent, but faster, because it uses no generators."""
    if isinstance(value, str):
        return quote(value)
    if not isinstance(value, dict | list):
        return "null" if value is None else str(value) if type(value) is int else json.dumps(value)
    inner = outer + indent
    if isinstance(value, dict):
        parts = [
            f"{quote(name)}{colon}{_dump_indented(it, indent, colon, quote, inner)}"
            for name, it in value.items()
        ]
        return f"{{{inner}{f',{inner}'.join(parts)}{outer}}}" if parts else "{}"
    try:
        parts = list(map(quote, value))  # lines of text, mostly
    except TypeError:
        parts = [_dump_indented(it, indent, colon, quote, inner) for it in value]
    return f"[{inner}{f',{inner}'.join(parts)}{outer}]" if parts else "[]"


def escaped(text: str) -> str:
    return text if text.isascii() else _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
