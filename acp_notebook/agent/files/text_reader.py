"""Read text files for an agent, whole or in part, exactly or not at all.

Independent of the protocol; does not ask for permission; `roots` resolves the paths. Blocks, so call it on a
thread.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from typing import BinaryIO

from msgspec import Struct

from .roots import BadRequest, NotFound, NotText, ResolvedPath, TooLarge, parent_of
from .safe_open import as_file_trouble, identity, reader
from .text_encoding import LONGEST_BOM, MAX_TEXT, mark, survey

MAX_SCAN = 8 * 2**30
"""Bytes that are read in search of a line: about ten seconds. A thread must not read for hours."""

CHUNK = 2**20
"""Bytes read at once: reading a part needs memory for a few of these, whatever the size of the file."""


class Bytes(Struct, frozen=True):
    """A whole file as it was at one moment."""

    data: bytes
    identity: tuple[int, ...]
    """Changes with every state of the file."""
    modified: float
    """Seconds since 1970."""


def read_text(place: ResolvedPath, line: int | None = None, limit: int | None = None) -> str:
    """At most `limit` lines of the text, from `line` on (the first is 1; 0 means the same).

    Lines end only at \\n, and keep their ends. Beyond the end, the result is "". Only the part that had to be
    read is checked to be text.
    """
    for name, number in (("line", line), ("limit", limit)):
        if number is not None and number < 0:
            raise BadRequest(f"{name} must not be negative ({number})")
    with as_file_trouble(place, "read"), parent_of(place) as folder, reader(folder, place) as file:
        if line is None and limit is None:
            size = os.fstat(file.fileno()).st_size
            if size > MAX_TEXT:
                raise TooLarge(_too_large(place, size))
            return _part(file, place, 1, None)
        return _part(file, place, line or 1, limit)


def read_bytes(place: ResolvedPath, most: int) -> Bytes:
    """The file's bytes, text or not; raises TooLarge beyond `most` bytes."""
    with as_file_trouble(place, "read"), parent_of(place) as folder, reader(folder, place) as file:
        status = os.fstat(file.fileno())
        data = file.read(most + 1)
        if len(data) > most:
            raise TooLarge(f"{place.shown} is too large ({status.st_size / 2**20:.1f} MB)")
        return Bytes(data, identity(status), status.st_mtime)


def peek(place: ResolvedPath) -> str | None:
    """The text that a write would replace; None if the file is missing, not text, or too long to show."""
    try:
        with as_file_trouble(place, "read"), parent_of(place) as folder, reader(folder, place) as file:
            return survey(file)[0]
    except NotFound:
        return None


def _part(file: BinaryIO, place: ResolvedPath, line: int, limit: int | None) -> str:
    kept: list[str] = []
    size, skip, left = 0, line - 1, limit
    for text in _texts(file, place):
        if skip:
            ends = text.count("\n")
            if ends < skip:
                skip -= ends
                continue
            text, skip = text[_after_line(text, skip) :], 0
        if left is not None:
            ends = text.count("\n")
            if ends >= left:
                text, left = text[: _after_line(text, left)], 0
            else:
                left -= ends
        kept.append(text)
        size += len(text)
        if size > MAX_TEXT:
            raise TooLarge(_too_large(place, os.fstat(file.fileno()).st_size))
        if left == 0:
            break
    return "".join(kept)


def _texts(file: BinaryIO, place: ResolvedPath) -> Iterator[str]:
    """Yield the text in pieces; raises NotText."""
    bom, codec = mark(file.read(LONGEST_BOM))
    decoder = codecs.getincrementaldecoder(codec)()
    done = file.seek(len(bom))
    data = b"more"
    while data:
        if done > MAX_SCAN:
            raise TooLarge(
                f"{place.shown} is too long to search for that line: more than {MAX_SCAN >> 30} GB"
            )
        data = file.read(CHUNK)
        waiting = len(decoder.getstate()[0])
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            offset = done - waiting + error.start
            raise NotText(
                f"{place.shown} is not {codec.upper()} text (byte {offset}): convert it to UTF-8 first"
            ) from None
        if "\0" in text:
            raise NotText(f"{place.shown} is binary, not text: it contains NUL characters")
        done += len(data)
        yield text


def _after_line(text: str, number: int) -> int:
    position = 0
    for _ in range(number):
        position = text.index("\n", position) + 1
    return position


def _too_large(place: ResolvedPath, size: int) -> str:
    most = f"at most {MAX_TEXT >> 20} MB in one response"
    return f"{place.shown} is too large ({size / 2**20:.1f} MB, {most}): read parts, with line and limit"
