"""Makes every character of an agent's text visible.

Pure; knows no markup. `shown` fits a value into one line of limited length, for buttons, tables and messages.
`marked` keeps every line and every character, for what a question covers.
"""

from __future__ import annotations

import unicodedata

from .escaping import Escaper
from .patterns import pattern

BLANK = pattern(
    "[\u00a0\u034f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200a\u202f\u205f\u2800\u3000\u3164"
    "\ufe00-\ufe0f\uffa0\U00016fe4\U0001d159\U000e0000-\U000e0fff]"
)
"""Characters that are invisible, or look like a space."""

LONG_RUN = 8
"""More consecutive blanks inside a line may push the rest out of sight."""

INDENT = 40
"""More columns of indentation may do the same; a tab counts as four."""

EMPTY_LINES = 3
"""More consecutive empty lines may do the same."""

MARKS = 4
"""More combining marks on one letter are drawn over the lines around it."""

_BLANK_LINE = pattern(r"[ \t\r]*")
_SPACES = pattern(r"[ \t]+")
_PLAIN = pattern(r"[!-~]+(?: [!-~]+)*")


def shown(text: str, *, cwd: str | None = None, chars: int = 80) -> str:
    """Format a text as one line with every character visible; cut in the middle, as both ends may matter."""
    if cwd is None and len(text) <= chars and _PLAIN.fullmatch(text):
        return text
    line = "".join(map(visible_char, Escaper(cwd).line(text)))
    if len(line) <= chars:
        return line
    head = (chars - 3) * 2 // 3
    return f"{line[:head]} … {line[len(line) - (chars - 3 - head) :]}"


def marked(text: str) -> str:
    """Format the whole text with every hidden character and every long run of blanks spelled out.

    The panel's `text/visible.ts` does the same; `tests/data/visible.json` tests both.
    """
    lines = text.removesuffix("\n").split("\n")
    drawn: list[str] = []
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and _BLANK_LINE.fullmatch(lines[end]):
            end += 1
        if end - at > EMPTY_LINES:
            drawn.append(_note(end - at, "empty line"))
        else:
            drawn += map(_marked_line, lines[at:end])
        drawn += map(_marked_line, lines[end : end + 1])
        at = end + 1
    return "\n".join(drawn) + "\n" * text.endswith("\n")


def marked_line(text: str) -> str:
    """The same for a name, a path or a value, as one line."""
    return "\u23ce".join(map(_marked_line, text.split("\n")))


def _marked_line(line: str) -> str:
    if _PLAIN.fullmatch(line):
        return line
    drawn: list[str] = []
    at = 0
    while at < len(line):
        if spaces := _SPACES.match(line, at):
            run = spaces[0]
            drawn.append(_marked_blanks(run, leads=at == 0, ends=line[at + len(run) :] in ("", "\r")))
        else:
            run = _run(line, at)
            drawn.append(_marked_run(run, line, at))
        at += len(run)
    return "".join(drawn)


def _marked_blanks(run: str, *, leads: bool, ends: bool) -> str:
    tabs = run.count("\t")
    if leads and not ends and len(run) + 3 * tabs <= INDENT:
        return run
    if not tabs and not ends and len(run) <= LONG_RUN:
        return run
    if len(run) <= LONG_RUN:
        return run.replace("\t", "\u21e5").replace(" ", "\u00b7")
    return _note(len(run), "space" if not tabs else "tab" if tabs == len(run) else "blank")


def _run(line: str, at: int) -> str:
    """The character at this position, with the following ones that are marked together with it."""
    char = line[at]
    end = at + 1
    if _is_mark(char):
        while end < len(line) and _is_mark(line[end]):
            end += 1
    elif visible_char(char) != char:
        while end < len(line) and line[end] == char:
            end += 1
    return line[at:end]


def _marked_run(run: str, line: str, at: int) -> str:
    char = run[0]
    if _is_mark(char):
        return run if len(run) <= MARKS else _note(len(run), "combining mark")
    if char == "\ufe0f" and at and unicodedata.category(line[at - 1]) == "So":
        return run  # the emoji form of the symbol before it
    if run == "\r" and at + 1 == len(line):
        return "\u240d"
    one = visible_char(char)
    if one == char or len(run) < 4:
        return one * len(run)
    return f"{one[:-1]} \u00d7 {len(run):,}\u203a"


def _is_mark(char: str) -> bool:
    return unicodedata.category(char).startswith("M") and not BLANK.match(char)


def visible_char(char: str) -> str:
    """The character, or its code point if a reader would not see it."""
    return char if char.isprintable() and not BLANK.match(char) else f"\u2039U+{ord(char):04X}\u203a"


def _note(count: int, what: str) -> str:
    return f"\u2039{count:,} {what}{'' if count == 1 else 's'}\u203a"
