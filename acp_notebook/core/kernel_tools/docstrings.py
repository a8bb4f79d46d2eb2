"""Reads a docstring: what the function does, and what it says about each parameter. Pure.

Understands the sections of Google ("Args:") and NumPy ("Parameters" and a rule), and `:param name:` fields.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence

DOC_CHARS = 4_000
"""Characters of a docstring that a model gets."""

_GOOGLE = re.compile(r"(?:Args|Arguments|Parameters):\s*")
_GOOGLE_ITEM = re.compile(r"(\s+)\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_NUMPY_ITEM = re.compile(r"(\w+)\s*(?::.*)?")
_FIELD = re.compile(r"\s*:param\s+(?:[^:]*\s)?(\w+):\s*(.*)")


def description_of(doc: str | None) -> str:
    """The docstring without indentation, cut to a length that a model reads."""
    text = inspect.cleandoc(doc or "").strip()
    return text if len(text) <= DOC_CHARS else f"{text[:DOC_CHARS].rstrip()} …"


def first_line(text: str) -> str:
    return text.partition("\n")[0].strip()


def parameter_descriptions(doc: str | None) -> dict[str, str]:
    """What the docstring says about each parameter, as one line each."""
    lines = inspect.cleandoc(doc or "").splitlines()
    found: dict[str, list[str]] = {}
    for at, line in enumerate(lines):
        if _GOOGLE.fullmatch(line):
            found |= _google(lines[at + 1 :])
        elif line == "Parameters" and at + 1 < len(lines) and set(lines[at + 1]) == {"-"}:
            found |= _numpy(lines[at + 2 :])
        elif field := _FIELD.fullmatch(line):
            found[field[1]] = [field[2], *_indented(lines[at + 1 :])]
    return {name: " ".join(" ".join(said).split()) for name, said in found.items() if any(said)}


def _google(lines: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    indent, name = None, ""
    for line in lines:
        if line.strip() and not line.startswith((" ", "\t")):
            break
        item = _GOOGLE_ITEM.fullmatch(line)
        if item and indent in (None, item[1]):
            indent, name = item[1], item[2]
            found[name] = [item[3]]
        elif name:
            found[name].append(line)
    return found


def _numpy(lines: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    name = ""
    for at, line in enumerate(lines):
        if at + 1 < len(lines) and lines[at + 1] and set(lines[at + 1]) == {"-"}:
            break  # the heading of the next section
        item = _NUMPY_ITEM.fullmatch(line)
        if item:
            name = item[1]
            found[name] = []
        elif name:
            found[name].append(line)
    return found


def _indented(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if not line.startswith((" ", "\t")):
            return
        yield line
