"""Detect how a text is encoded: its codec, byte order mark and line ends.

UTF-8, or UTF-16 and UTF-32 with a byte order mark; never guesses another encoding. Does not access files.
"""

from __future__ import annotations

import codecs
from typing import BinaryIO

from msgspec import Struct

MAX_TEXT = 32 * 2**20
"""The limit in bytes for a whole file, in characters for a part: no agent can use more in one message."""

MAX_BEFORE = 4 * 2**20
"""The longest old text, in bytes, that is kept for a diff: nobody reads a longer one."""

_BOMS = (  # UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

LONGEST_BOM = 4


class TextEncoding(Struct, frozen=True):
    """The encoding, byte order mark and line ends of a text file."""

    codec: str = "utf-8"
    bom: bytes = b""
    crlf: bool = False
    """Every line ends in CRLF."""
    doubled: bool = False
    """The text itself begins with a second mark, so one in a new text is not a copy of the first."""

    def fitted(self, text: str) -> str:
        """The text without a copied byte order mark, and with the line ends of this encoding."""
        text = text.removeprefix("\ufeff") if self.bom and not self.doubled else text
        return text.replace("\n", "\r\n") if self.crlf and "\r" not in text else text


def survey(file: BinaryIO) -> tuple[str | None, TextEncoding]:
    """The text if it can be shown, and its encoding, which is detected at the start of a very long file."""
    data = file.read(MAX_TEXT + 1)
    bom, codec = mark(data)
    try:
        text = codecs.getincrementaldecoder(codec)().decode(data[len(bom) :], final=len(data) <= MAX_TEXT)
    except UnicodeDecodeError:
        return None, TextEncoding()
    if "\0" in text:
        return None, TextEncoding()
    ends = text.count("\n")
    crlf = ends > 0 and ends == text.count("\r\n")
    form = TextEncoding(codec, bom, crlf, doubled=text.startswith("\ufeff"))
    return (text if len(data) <= MAX_BEFORE else None), form


def mark(data: bytes) -> tuple[bytes, str]:
    return next(((bom, codec) for bom, codec in _BOMS if data.startswith(bom)), (b"", "utf-8"))
