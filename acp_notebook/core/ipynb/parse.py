"""Parse a notebook and remember where each part is in the text, so that it can be copied unchanged.

Covers JSON and the basics of nbformat 4 (cells with ids, types and sources) and the position of each field;
independent of agents, outputs and merging. Unchanged parts are later copied from the text, never serialised
again, so they stay the same to the byte, whichever program wrote them.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from ..records import Json
from .cell_ids import assign_ids
from .errors import Invalid
from .json_layout import STANDARD, JsonLayout, dump

TYPES = ("code", "markdown", "raw")

IDS_SINCE = 5
"""The first minor version of nbformat 4 in which cells have ids."""

Span = tuple[int, int]
"""The start and end of a value in the text."""

_BLANK = re.compile(r"[ \t\n\r]*")
_COMMA = re.compile(r"[ \t\n\r]*,[ \t\n\r]*")
_KEY = re.compile(r'[ \t\n\r]*"([^"\\\x00-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*')
_BOM = codecs.BOM_UTF8.decode()
_DECODER = json.JSONDecoder()


class Cell(Struct, frozen=True, gc=False):
    """One cell, with its position in the text."""

    id: str
    """The id from the file if it is valid and unique, else one derived from the content."""
    own_id: bool
    """Whether the id is from the file."""
    type: str
    source: str
    fields: dict[str, Json]
    span: Span

    @property
    def raw_id(self) -> str:
        """The id exactly as the document has it, even if nbformat does not allow it; else `id`."""
        value = self.fields.get("id")
        return value if isinstance(value, str) and value else self.id

    @property
    def metadata(self) -> dict[str, Json]:
        value = self.fields.get("metadata")
        return value if isinstance(value, dict) else {}

    @property
    def outputs(self) -> list[Json]:
        value = self.fields.get("outputs")
        return value if isinstance(value, list) and self.type == "code" else []

    @property
    def attachments(self) -> dict[str, Json]:
        value = self.fields.get("attachments")
        return value if isinstance(value, dict) else {}


class Notebook(Struct, frozen=True):
    """A notebook and its text (without byte order mark). `fields` are all but the cells."""

    text: str
    bom: bool
    fields: dict[str, Json]
    spans: dict[str, Span]
    cells: tuple[Cell, ...]

    @property
    def style(self) -> JsonLayout:
        """How the JSON is formatted; found on demand, because only a write needs it."""
        return JsonLayout.of(self.text, self.text.index("{"))

    @property
    def metadata(self) -> dict[str, Json]:
        value = self.fields.get("metadata")
        return value if isinstance(value, dict) else {}

    @property
    def minor(self) -> int:
        minor: int = self.fields["nbformat_minor"]
        return minor

    @property
    def has_ids(self) -> bool:
        return self.minor >= IDS_SINCE

    def spans_of(self, cell: Cell) -> dict[str, Span]:
        """The positions of the cell's fields; found on demand, because few cells need it."""
        return _Walk(self.text, cell.span[0]).fields()[1]

    @property
    def data(self) -> bytes:
        """The file's bytes."""
        return (codecs.BOM_UTF8 if self.bom else b"") + self.text.encode()


Data = bytes | str | Mapping[str, Any]
"""A notebook as a file's bytes, as text, or as plain JSON (from the open document)."""


def read(data: Data, *, copied: Mapping[int, Cell] | None = None) -> Notebook:
    """Parse a notebook; raises `Invalid` with the position of the error.

    `copied` are cells of another notebook by the position (after a byte order mark) to which their text was
    copied: they are not decoded again.
    """
    text = _text(data)
    bom = text.startswith(_BOM)
    text = text.removeprefix(_BOM)
    try:
        walk = _Walk(text, copied=copied)
        fields, spans, cells = walk.notebook()
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise Invalid(f"not JSON: {error.msg} at {where}", line=error.lineno, column=error.colno) from None
    except RecursionError:
        raise Invalid("not a notebook: its JSON is nested too deeply") from None
    except Invalid:
        raise
    except ValueError as error:  # a number with thousands of digits
        raise Invalid(f"JSON that cannot be read: {error}") from None
    _check_version(fields)
    return Notebook(text, bom, fields, spans, _cells(cells))


def _text(data: Data) -> str:
    if isinstance(data, Mapping):
        try:
            return f"{dump(dict(data), STANDARD)}\n"
        except (TypeError, ValueError, RecursionError) as error:
            raise Invalid(f"not JSON: {error}") from None
    if isinstance(data, str):
        try:
            if not data.isascii():
                data.encode()
        except UnicodeEncodeError as error:
            line = data.count("\n", 0, error.start) + 1
            raise Invalid(f"not valid text: lone surrogate in line {line}", line=line) from None
        return data
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Invalid(f"not UTF-8: byte {data[error.start]:#04x} in line {line}", line=line) from None


_Found = tuple[dict[str, Json], Span]


class _Walk:
    """Walks through the text once; `json` decodes the values, and this records their positions.

    Decodes each cell as a whole: to walk through its fields takes ten times as long.
    """

    def __init__(self, text: str, at: int = 0, copied: Mapping[int, Cell] | None = None) -> None:
        self._text = text
        self._read = _DECODER.raw_decode
        self._at = at
        self._copied = copied or {}

    def notebook(self) -> tuple[dict[str, Json], dict[str, Span], list[_Found]]:
        fields: dict[str, Json] = {}
        spans: dict[str, Span] = {}
        cells: list[_Found] | None = None
        if self._peek() != "{":
            self._value()  # raises the better error if the text is not JSON at all
            raise Invalid("not a notebook: it is not a JSON object")
        for key in self._members():
            began = self._at
            if key == "cells" and self._peek() == "[":
                cells = self._cells()
            else:
                fields[key] = self._value()
            spans[key] = began, self._at
        if self._peek():
            self._fail("Extra data")
        if "worksheets" in fields:
            raise Invalid(
                "a notebook in an old format (nbformat 3); convert it with `jupyter nbconvert --to notebook`"
            )
        if cells is None:
            raise Invalid("not a notebook: it has no list of cells")
        return fields, spans, cells

    def _cells(self) -> list[_Found]:
        self._at += 1
        if self._peek() == "]":
            self._at += 1
            return []
        self._peek()
        found = [self._cell(0)]
        while comma := _COMMA.match(self._text, self._at):
            self._at = comma.end()
            found.append(self._cell(len(found)))
        if not self._ended("]"):
            raise AssertionError("a comma was read before")
        return found

    def _cell(self, index: int) -> _Found:
        start = self._at
        if (same := self._copied.get(start)) is not None:
            self._at = start + same.span[1] - same.span[0]
            return same.fields, (start, self._at)
        cell, self._at = self._read(self._text, start)
        if not isinstance(cell, dict):
            raise Invalid(f"cells[{index}] is not a JSON object", cell=index)
        return cell, (start, self._at)

    def fields(self) -> tuple[dict[str, Json], dict[str, Span]]:
        """The fields of the object that begins here, and their positions."""
        fields: dict[str, Json] = {}
        spans: dict[str, Span] = {}
        for key in self._members():
            began = self._at
            fields[key] = self._value()
            spans[key] = began, self._at
        return fields, spans

    def _members(self) -> Iterator[str]:
        """Yield the keys of an object; the consumer must read the value of each before the next."""
        self._at += 1
        if self._peek() == "}":
            self._at += 1
            return
        while True:
            plain = _KEY.match(self._text, self._at)
            if plain is None:
                yield self._key()
            else:
                self._at = plain.end()
                yield plain.group(1)
            if self._ended("}"):
                return

    def _key(self) -> str:
        """Read a key that contains escapes; fail if there is none."""
        if self._peek() != '"':
            self._fail("Expecting property name enclosed in double quotes")
        key: str = self._value()
        if self._peek() != ":":
            self._fail("Expecting ':' delimiter")
        self._at += 1
        self._peek()
        return key

    def _ended(self, closing: str) -> bool:
        sign = self._peek()
        if sign != closing and sign != ",":
            self._fail("Expecting ',' delimiter")
        self._at += 1
        return sign == closing

    def _value(self) -> Json:
        value, self._at = self._read(self._text, self._at)
        return value

    def _peek(self) -> str:
        """The next character that is not whitespace; "" at the end."""
        sign = self._text[self._at : self._at + 1]
        if sign > " ":
            return sign
        blank = _BLANK.match(self._text, self._at)
        assert blank is not None
        self._at = blank.end()
        return self._text[self._at : self._at + 1]

    def _fail(self, message: str) -> None:
        raise json.JSONDecodeError(message, self._text, self._at)


def _check_version(fields: dict[str, Json]) -> None:
    major, minor = fields.get("nbformat"), fields.get("nbformat_minor")
    if type(major) is not int or type(minor) is not int or minor < 0:
        raise Invalid("not a notebook: nbformat and nbformat_minor must be numbers, such as 4 and 5")
    if major != 4:
        raise Invalid(f"a notebook in nbformat {major}; only nbformat 4 is supported")


def _cells(found: list[_Found]) -> tuple[Cell, ...]:
    sources = [source_of(fields, index) for index, (fields, _) in enumerate(found)]
    types = [type_of(fields, index) for index, (fields, _) in enumerate(found)]
    ids = assign_ids([fields.get("id") for fields, _ in found], list(zip(types, sources, strict=True)))
    return tuple(
        Cell(id, fields.get("id") == id, type, source, fields, span)
        for id, type, source, (fields, span) in zip(ids, types, sources, found, strict=True)
    )


def type_of(fields: Mapping[str, Json], index: int) -> str:
    value = fields.get("cell_type")
    if not isinstance(value, str):
        raise Invalid(f"cells[{index}] has no cell_type", cell=index)
    return value


def source_of(fields: Mapping[str, Json], index: int) -> str:
    text = joined(fields.get("source"))
    if text is None:
        raise Invalid(f"cells[{index}]: its source is neither text nor a list of lines", cell=index)
    return text


def joined(value: Json) -> str | None:
    """nbformat's "multiline string" as one text; None if the value is not one."""
    if isinstance(value, str):
        return value
    try:
        return "".join(value) if isinstance(value, list) else None
    except TypeError:  # not a list of strings
        return None
