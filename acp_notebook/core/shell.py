"""Shell lines: from the words of a process to the line that means the same, and back to one spelling.

Pure. Two spellings of a command are equal only where they certainly run the same thing: a known shell around
a line is taken off, and so is a `cd` to the folder in which the command runs anyway.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence

_SHELL = re.compile(r"(?:(?:/usr/local|/opt/homebrew|/usr)?/bin/)?(?:sh|bash|zsh|dash)")
"""By name, or where systems keep them: a "bash" anywhere else may be any program."""

_SHELL_FLAG = re.compile(r"-[li]+|--login|--noprofile|--norc")
_SHELL_LINE_FLAG = re.compile(r"-[li]*c")

_CD = re.compile(r"cd (?P<folder>'(?:[^']|'\\'')*'|[\w@%+=:,./-]+) && (?P<line>.+)", re.DOTALL)

_GOES_ON = re.compile(r"[;\n]|\|\||(?<!&)&(?!&)")
"""In a line that goes on, in the wrong folder, after a `cd` that failed. Of a pipe, nothing would run."""

_MERGED_OUTPUT = re.compile(r"(?<=\s)[12]?>&[12](?=\s|$)")
"""2>&1 has an "&" that ends no command."""

Resolve = Callable[[str], str]
"""The real path of an absolute one; raises OSError or ValueError where there is none."""


def line_of(words: Sequence[str]) -> str | None:
    """The shell line that runs these words; None if there is none (no program, a NUL)."""
    if not words or not words[0].strip() or any("\0" in word for word in words):
        return None
    return _inside_shell(words) or " ".join((_quoted_program(words[0]), *map(shlex.quote, words[1:])))


def is_line(line: str) -> bool:
    return bool(line.strip()) and "\0" not in line


def without_cd(line: str, cwd: str, spellings: Sequence[str], resolve: Resolve) -> tuple[str, str]:
    """The line without a leading `cd FOLDER &&`, and the folder in which the rest of it runs.

    `spellings` are ways to write `cwd`. A `cd` elsewhere is taken off only where nothing would run if it
    failed, and where no link leads to the folder: it could lead elsewhere by the time the line runs.
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
    """In a line, a=b is an assignment, not a program."""
    return f"'{word}'" if "=" in word and shlex.quote(word) == word else shlex.quote(word)


def _inside_shell(words: Sequence[str]) -> str | None:
    """The line of `sh -c LINE`; anything after the line would change its meaning."""
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
