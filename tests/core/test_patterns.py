"""Patterns of agents: they mean what they mean elsewhere, and never take long."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook.core.patterns import matches

PATTERNS = [
    "",
    "a",
    "ab",
    "^a",
    "b$",
    "^ab$",
    "a|b",
    "^(a|b)$",
    "^(?:a|b)*$",
    "^a*$",
    "^a+$",
    "^a?b$",
    "a{2}",
    "^a{2,}$",
    "^a{1,2}$",
    "^a{0}$",
    "^(ab){2}$",
    "^(a|ab)(c|bcd)?$",
    "[ab]",
    "^[^ab]$",
    "^[a-c]+$",
    "^[\\w.-]+$",
    "\\d",
    "^\\D$",
    "\\s",
    "^\\S+$",
    "\\bab\\b",
    "a\\B",
    ".",
    "^.b$",
    "^\\.$",
    "^[\\]a]$",
    "^[-a]$",
    "^[a-]$",
    "a{",
    "a{x}",
    "a{,2}",
    "^\\x61\\u0062$",
    "(?<name>a)b",
    "^a*?b$",
    "(a*)*b",
    "(|a)+b",
    "^(a|)$",
    "^\\/$",
    "^(([a-c])+)?$",
    "a||b",
    "(^a|b$)",
]

texts = st.text("abc-. \n/]1{,2}x", max_size=8)


@given(st.sampled_from(PATTERNS), texts)
@settings(max_examples=500)
def test_they_find_what_the_standard_library_finds(pattern: str, text: str) -> None:
    # "$" before a last line end, named groups and empty counts are the library's own.
    theirs = pattern.replace("$", r"\Z").replace("(?<", "(?P<").replace("a{,2}", r"a\{,2}")
    assert matches(pattern, text) == (re.search(theirs, text, re.ASCII) is not None)


pieces = st.recursive(
    st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "^", "$", r"\w"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda it: f"({it[0]}|{it[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}"])).map(
            lambda it: f"(?:{it[0]}){it[1]}"
        ),
    ),
    max_leaves=6,
)


@given(pieces, st.text("abc", max_size=6))
def test_any_pattern_finds_what_the_standard_library_finds(pattern: str, text: str) -> None:
    assert matches(pattern, text) in (re.search(pattern, text, re.ASCII) is not None, None)


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|aa)+$", "^(a*)*$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*)(.*)(.*)(.*)(.*)[b]"]
)
def test_what_backtracks_for_ever_elsewhere_is_decided(pattern: str) -> None:
    assert matches(pattern, "a" * 2000 + "!") is False


@pytest.mark.parametrize(
    "pattern",
    [
        "(?=a)",
        "(?!a)",
        "(?<=a)b",
        "(?<!a)b",
        "(a)\\1",
        "(?i)a",
        "a**",
        "*a",
        "(a",
        "a)",
        "[a",
        "[b-a]",
        "\\p{L}",
        "\\u12",
        "\\",
        "(?<a",
        "a{9999}",
        "((a{99}){99}){99}",
        "(" * 999,
        "a" * 1001,
    ],
)
def test_what_it_does_not_know_cannot_be_told(pattern: str) -> None:
    assert matches(pattern, "a") is None


def test_what_takes_too_long_cannot_be_told() -> None:
    assert matches("(a{1,30}){1,30}b", "a" * 100_000) is None
