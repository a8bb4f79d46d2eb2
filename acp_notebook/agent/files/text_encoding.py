"""How a text is put into bytes: its encoding, byte order mark and line ends, told from the bytes.

UTF-8, or UTF-16 and UTF-32 with a byte order mark; no other encoding is guessed. Knows no file system.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import BinaryIO

MAX_TEXT = 32 * 2**20
"""Bytes of a file that is read whole, characters of a part: no agent has a use for more in one message."""

MAX_BEFORE = 4 * 2**20
"""Bytes of an old text that is kept for a diff: nobody reads a longer one."""

_BOMS = (  # UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

LONGEST_BOM = 4


@dataclass(frozen=True, slots=True)
class TextEncoding:
    """How a text is put into bytes."""

    codec: str = "utf-8"
    bom: bytes = b""
    crlf: bool = False
    """Every line ends in CRLF."""
    doubled: bool = False
    """The text itself begins with a mark: then one in a new text is no copy of ours."""

    def fitted(self, text: str) -> str:
        text = text.removeprefix("\ufeff") if self.bom and not self.doubled else text
        return text.replace("\n", "\r\n") if self.crlf and "\r" not in text else text


def survey(file: BinaryIO) -> tuple[str | None, TextEncoding]:
    """The text if it can be shown, and its form, which a very long file tells by its beginning."""
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
