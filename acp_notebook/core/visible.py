"""Text from an agent, shown so that nothing in it can hide.

Pure, and it knows no markup. `shown` fits a value into one bounded line, for buttons, tables and messages.
`marked` keeps every line and every character, for what a question covers: it cuts nothing.
"""

from __future__ import annotations

import re

BLANK = re.compile(
    "[\u00a0\u034f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200a\u202f\u205f\u2800\u3000\u3164"
    "\ufe00-\ufe0f\uffa0]"
)
"""Characters that show nothing, or look like a space, and are not one."""

LONG_RUN = 8
"""Blanks in a row inside a line: more than this may push what follows out of sight."""

EMPTY_LINES = 3
"""Empty lines in a row: more than this may push what follows out of sight."""

_RUN = re.compile(rf"(?<=\S)[ \t]{{{LONG_RUN + 1},}}|^[ \t]{{65,}}", re.MULTILINE)
_EMPTY = re.compile(rf"(?:^[ \t]*\n){{{EMPTY_LINES + 1},}}", re.MULTILINE)


def shown(text: str, *, cwd: str | None = None, chars: int = 80) -> str:
    """One line in which every character is visible; cut in the middle, since either end may matter."""
    from .export.words import Words  # imported late: it brings the exporters along

    line = "".join(map(visible_char, Words(cwd).line(text)))
    if len(line) <= chars:
        return line
    head = (chars - 3) * 2 // 3
    return f"{line[:head]} … {line[len(line) - (chars - 3 - head) :]}"


def marked(text: str) -> str:
    """The whole text, line by line, with every hidden character and every long run of blanks spelled out."""
    text = text.replace("\r\n", "\n")
    text = _EMPTY.sub(lambda run: _note(run[0].count("\n"), "empty lines") + "\n", text)
    text = _RUN.sub(lambda run: _note(len(run[0]), "blanks"), text)
    return "".join(char if char in "\n\t" else visible_char(char) for char in text)


def visible_char(char: str) -> str:
    """The character, or its code point where a reader would not see it."""
    return char if char.isprintable() and not BLANK.match(char) else f"\u2039U+{ord(char):04X}\u203a"


def _note(count: int, what: str) -> str:
    return f"\u2039{count:,} {what}\u203a"
