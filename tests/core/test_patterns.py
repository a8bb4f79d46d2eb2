"""Patterns that are compiled at their first use behave like compiled ones."""

from __future__ import annotations

import re

import pytest

from acp_notebook.core.patterns import pattern


def test_a_pattern_has_the_methods_of_a_compiled_one() -> None:
    number = pattern(r"(\d+) px", re.IGNORECASE)
    found = number.search("12 PX")
    assert found is not None
    assert found[1] == "12"
    assert number.sub("…", "1 px, 2 px") == "…, …"
    assert (number.pattern, number.groups) == (r"(\d+) px", 1)


def test_it_is_compiled_at_its_first_use() -> None:
    broken = pattern("(")
    with pytest.raises(re.error):
        broken.match("")
