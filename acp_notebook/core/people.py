"""The names of people who share a notebook, as their pages claim them.

Pure. A page can claim any name, so a name is shown and never decided by.
"""

from __future__ import annotations

from .visible import shown

NAME_CHARS = 60
"""How much of a name to show."""

READ_CHARS = 300
"""How much of it to look at."""

NAMELESS = "somebody without a name"

_QUOTES = str.maketrans(dict.fromkeys('\u201c\u201d\u201e\u201f\u2033"', "'"))
"""A name is shown in quotation marks, which it must not end."""


def claimed_name(text: str) -> str:
    """One short line with every character visible and without quotation marks."""
    return shown(text[:READ_CHARS].translate(_QUOTES).strip(), chars=NAME_CHARS) or NAMELESS
