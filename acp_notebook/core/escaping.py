"""Make foreign text readable: show hidden characters, and remove the working directory.

Independent of items and markup. Every text in a document goes through one of the methods of `Escaper`; `cwd`
becomes ".", and paths in it become relative.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from .patterns import pattern

_ESCAPES = pattern(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
"""Terminal sequences (ECMA-48): colours and cursor moves are meaningless in a document."""

_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f"
_HIDDEN = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    r"\ufeff\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Invisible and direction-changing characters, which can make a command look like another one."""

_CONTROL = pattern(f"[{_CONTROLS}]")
_DECEIVING = pattern(f"[{_CONTROLS}{_HIDDEN}]")
_SURROGATE = pattern("[\ud800-\udfff]")

_PATH_BEFORE = r"(?<![\w.~/\\-])"
_PATH_AFTER = r"(?![\w@+~-]|\.\w)"
"""The boundaries of a whole path: /a/b does not occur in /x/a/b, /a/bc or /a/b.txt."""


def _code_point(match: re.Match[str]) -> str:
    return f"\u2039U+{ord(match[0]):04X}\u203a"


def _newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


class Escaper:
    """Makes foreign text readable, for one working directory."""

    def __init__(self, cwd: str | None) -> None:
        # If the working directory is the root, every path would become relative: then none is changed.
        self._cwd = (cwd or "").rstrip("/\\")
        self._pattern = _cwd_pattern(self._cwd) if self._cwd else None

    def line(self, text: str) -> str:
        """Escape a title, name or command: one line, with every character visible."""
        return self._one_line(self._relative(text))

    def code(self, text: str) -> str:
        """Escape a tool's output: remove terminal sequences, show hidden characters."""
        return self._visible(_newlines(_ESCAPES.sub("", self._relative(text))), _DECEIVING)

    def exact(self, text: str) -> str:
        """Escape a file's contents: every character is visible."""
        return self._visible(self._relative(text), _DECEIVING)

    def prose(self, text: str) -> str:
        """Escape a message: change only control characters and the working directory."""
        # Direction marks and joiners are part of many written languages, so they stay.
        return self._visible(_newlines(_ESCAPES.sub("", self.without_cwd(text))), _CONTROL)

    def without_cwd(self, text: str) -> str:
        """Replace only the working directory, by "."."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: "." + (match["inside"] or ""), text)

    def path(self, path: str) -> str:
        """A path or file URI, relative to the working directory if it is inside."""
        return self._one_line(self.relative_path(path))

    def relative_path(self, path: str) -> str:
        """The same, with every character as it is."""
        bare = path.removeprefix("file://") if path.startswith("file:///") else path
        for base in _spellings(self._cwd):
            if bare == base:
                return "."
            if bare.startswith((base + "/", base + "\\")):
                return bare[len(base) :].lstrip("/\\") or "."
        return path

    def _one_line(self, text: str) -> str:
        # Strip only blanks and tabs: str.strip() would also remove characters that must be visible.
        lines = (line.strip(" \t") for line in _newlines(text).split("\n"))
        shown = " \u23ce ".join(line for line in lines if line)
        return self._visible(shown.replace("\t", " "), _DECEIVING)

    def _relative(self, text: str) -> str:
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: "" if match["inside"] else ".", text)

    @staticmethod
    def _visible(text: str, hidden: re.Pattern[str]) -> str:
        # A lone surrogate cannot be encoded: the whole output would fail.
        return _SURROGATE.sub("\ufffd", hidden.sub(_code_point, text))


def _spellings(cwd: str) -> tuple[str, ...]:
    """The directory as a path and as part of a URI."""
    return tuple(dict.fromkeys((cwd, quote(cwd, errors="replace")))) if cwd else ()


def _cwd_pattern(cwd: str) -> re.Pattern[str]:
    names = "|".join(re.escape(name) for name in _spellings(cwd))
    # "inside" consumes the slash only before a plain name: "./-rf" must not become an option.
    inside = r"(?P<inside>[/\\](?=\w|\.\w))"
    return re.compile(rf"{_PATH_BEFORE}(?:file://)?(?:{names})(?:{inside}|(?=[/\\])|{_PATH_AFTER})")
