"""Truncates the texts of results, splits them into pages, and removes terminal sequences.

Pure. Knows nothing about runs and notebooks.
"""

from __future__ import annotations

import re

from .interface import READ_CHARS

HEAD_SHARE = 2 / 3
"""How much of a truncated text is its head, which says what it is; the tail often has the error."""

NUMBERS_CHARS = 60
"""Room for the numbers in the note at the end of a page."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_OVERWRITTEN = re.compile(r"[^\n\r]*\r(?!\n|$)")


def head_and_tail(text: str, chars: int = READ_CHARS, *, hint: str = "") -> str:
    """Truncate the text in the middle to `chars` characters, with a note and a hint how to get the rest."""
    if len(text) <= chars:
        return text
    note = f"\n… {len(text):,} characters in all, the middle is left out{hint and f': {hint}'} …\n"
    room = max(0, chars - len(note))
    head = int(room * HEAD_SHARE)
    tail = text[len(text) - (room - head) :] if room > head else ""
    return f"{text[:head]}{note}{tail}"[:chars]


def page(text: str, offset: int, chars: int = READ_CHARS, *, hint: str = "offset={}") -> str:
    """One page of the text from `offset`, with a hint how to get the next; `{}` in it is the next offset."""
    offset = min(max(0, offset), len(text))
    rest = len(text) - offset
    if rest <= chars:
        before = f"… from character {offset:,} of {len(text):,}:\n" if offset else ""
        return before + text[offset:]
    note = f"\n… {{}} of {len(text):,} characters; for more, {hint} …"
    end = offset + max(1, chars - len(note) - NUMBERS_CHARS)
    shown = f"characters {offset:,} to {end:,}"
    return f"{text[offset:end]}{note.replace('{}', shown, 1).replace('{}', str(end))}"


def plain(text: str) -> str:
    """Remove colours, and text that a progress bar has overwritten."""
    return plain_lines(text if "\x1b" not in text else _ESCAPES.sub("", text))


def plain_lines(text: str) -> str:
    """Remove text that was overwritten after a carriage return, except one at the very end."""
    return text if "\r" not in text else _OVERWRITTEN.sub("", text.replace("\r\n", "\n"))


def indented(text: str, by: str = "    ") -> str:
    return "\n".join(f"{by}{line}" if line else line for line in text.splitlines())
