"""Decide which addresses may become links. Independent of markup."""

from __future__ import annotations

import re

_LINK = re.compile(
    r"(?:https?://|mailto:)[^\s\x00-\x20\x7f-\x9f<>\"'`\\\u2028-\u202e\u2066-\u2069]+", re.IGNORECASE
)
"""Only schemes that open a page or a mail, and no character that could end or hide a part of the address."""


def is_link(uri: str) -> bool:
    return _LINK.fullmatch(uri) is not None
