"""docs/troubleshooting.md lists every error message of the package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.messages import messages

PAGE = Path(__file__).parents[2] / "docs" / "troubleshooting.md"


def documented() -> set[str]:
    """The messages that the page has a row for."""
    return set(re.findall(r"^\| `+(.*?)`+ \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("error, texts", messages().items())
def test_every_message_is_explained(error: str, texts: set[str]) -> None:
    missing = sorted(flat(text) for text in texts if flat(text) not in documented())
    assert not missing, f"docs/troubleshooting.md has no row for {error}: {missing}"


def test_no_row_explains_a_removed_message() -> None:
    every = {flat(text) for texts in messages().values() for text in texts}
    assert not documented() - every


def flat(text: str) -> str:
    return " ".join(text.split())
