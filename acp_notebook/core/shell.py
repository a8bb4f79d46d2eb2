"""Converts the arguments of a process to a shell line, and shell lines to one normal form.

Pure. Two forms of a command are equal only if they certainly run the same thing: a known shell around a line
is removed, and so is a `cd` to the folder in which the command runs anyway.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence

from .patterns import pattern

_SHELL = pattern(r"(?:(?:/usr/local|/opt/homebrew|/usr)?/bin/)?(?:sh|bash|zsh|dash)")
"""By name, or in a system folder: a "bash" in any other folder may be any program."""

_SHELL_FLAG = pattern(r"-[li]+|--login|--noprofile|--norc")
_SHELL_LINE_FLAG = pattern(r"-[li]*c")

_CD = pattern(r"cd (?P<folder>'(?:[^']|'\\'')*'|[\w@%+=:,./-]+) && (?P<line>.+)", re.DOTALL)

_GOES_ON = pattern(r"[;\n]|\|\||(?<!&)&(?!&)")
"""Operators after which a line continues in the wrong folder although a `cd` failed; a pipe does not."""

_MERGED_OUTPUT = pattern(r"(?<=\s)[12]?>&[12](?=\s|$)")
"""The "&" in 2>&1 does not end a command."""

Resolve = Callable[[str], str]
"""Returns the real path of a path that is absolute or starts with "~"; raises OSError or ValueError."""


def line_of(words: Sequence[str]) -> str | None:
    """The shell line that runs these words; None if they cannot be run (no program, a NUL)."""
    if not words or not words[0].strip() or any("\0" in word for word in words):
        return None
    return _inside_shell(words) or " ".join((_quoted_program(words[0]), *map(shlex.quote, words[1:])))


def is_line(line: str) -> bool:
    return bool(line.strip()) and "\0" not in line


def without_cd(line: str, cwd: str, spellings: Sequence[str], resolve: Resolve) -> tuple[str, str]:
    """The line without a leading `cd FOLDER &&`, and the folder in which the rest runs.

    `spellings` are other ways to write `cwd`. A `cd` to another folder is removed only if nothing would run
    after it failed, and if the path contains no link, which could point elsewhere when the line runs.
    """
    cd = _CD.fullmatch(line)
    if cd is None:
        return line, cwd
    folder = _unquoted(cd["folder"])
    if folder in (cwd, *spellings):
        return cd["line"], cwd
    if not folder.startswith("/") or _GOES_ON.search(_MERGED_OUTPUT.sub("", cd["line"])):
        return line, cwd
    try:
        return (cd["line"], folder) if resolve(folder) == folder else (line, cwd)
    except (OSError, ValueError):
        return line, cwd


def _quoted_program(word: str) -> str:
    """Quote the program; also if it contains "=", because a=b is an assignment in a shell line."""
    return f"'{word}'" if "=" in word and shlex.quote(word) == word else shlex.quote(word)


def _inside_shell(words: Sequence[str]) -> str | None:
    """Extract LINE from `sh -c LINE`; None if arguments follow, because they change its meaning."""
    shell, *flags = words
    if not _SHELL.fullmatch(shell) or len(flags) < 2:
        return None
    line = flags.pop()
    dashes = flags[-1] == "--"
    *before, line_flag = flags[:-1] if dashes else flags
    if not _SHELL_LINE_FLAG.fullmatch(line_flag) or not all(map(_SHELL_FLAG.fullmatch, before)):
        return None
    is_flag = not dashes and line.startswith(("-", "+"))
    return None if is_flag or not line.strip() else line


def _unquoted(word: str) -> str:
    return word[1:-1].replace("'\\''", "'") if word.startswith("'") else word
