"""Line diffs and merges lose nothing, whatever the bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core import line_diff
from acp_notebook.core.line_diff import edits, groups, merge, split, with_undone

texts = st.lists(
    st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\n", b"\xff\n", b"long line\n", b"end"]), max_size=12
).map(b"".join)


def patched(before: bytes, after: bytes) -> bytes:
    """The text after, made of the one before and what the edits say."""
    old, new = split(before), split(after)
    made, at = [], 0
    for a, b, c, d in edits(old, new):
        made += old[at:a] + new[c:d]
        at = b
    return b"".join(made + old[at:])


@given(texts, texts)
def test_edits_turn_one_text_into_the_other(before: bytes, after: bytes) -> None:
    assert patched(before, after) == after


@given(texts, texts)
def test_edits_of_very_long_texts_do_so_too(before: bytes, after: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_diff, "MATCH_LIMIT", 4)
        assert patched(before, after) == after


def test_a_long_text_is_anchored_at_unique_lines() -> None:
    old = [b"%d\n" % number for number in range(5_000)]
    new = [b"first\n", *old[1:2_500], b"middle\n", *old[2_500:4_999], b"last\n"]
    assert [tuple(it) for it in edits(old, new)] == [
        (0, 1, 0, 1),
        (2_500, 2_500, 2_500, 2_501),
        (4_999, 5_000, 5_000, 5_001),
    ]


@given(texts, texts)
def test_undoing_all_hunks_restores_the_text_before(before: bytes, after: bytes) -> None:
    old, new = split(before), split(after)
    found = groups(old, new)
    everything = frozenset(range(len(found)))
    assert b"".join(with_undone(old, new, found, everything)) == before
    assert b"".join(with_undone(old, new, found, frozenset())) == after


@given(texts, texts)
def test_a_merge_with_an_unchanged_side_is_the_other_side(base: bytes, other: bytes) -> None:
    assert merge(base, base, other) == other
    assert merge(base, other, base) == other
    assert merge(base, other, other) == other


@given(texts, texts, texts)
def test_a_merge_is_symmetric(base: bytes, ours: bytes, theirs: bytes) -> None:
    assert merge(base, ours, theirs) == merge(base, theirs, ours)


@pytest.mark.parametrize(
    ("ours", "theirs", "merged"),
    [
        (b"A\nb\nc\nd\ne\n", b"a\nb\nc\nd\nE\n", b"A\nb\nc\nd\nE\n"),
        (b"a\nX\nb\nc\nd\ne\n", b"a\nb\nc\nd\n", b"a\nX\nb\nc\nd\n"),
        (b"A\nb\nc\nd\ne\n", b"Z\nb\nc\nd\ne\n", None),
        (b"A\nb\nc\nd\ne\n", b"a\nB\nc\nd\ne\n", None),
        (b"a\nX\nb\nc\nd\ne\n", b"a\nY\nb\nc\nd\ne\n", None),
        (b"a\nb\nc\nd\n\0\n", b"A\nb\nc\nd\ne\n", None),
    ],
    ids=["apart", "insert and delete", "the same line", "lines that touch", "the same place", "binary"],
)
def test_merging(ours: bytes, theirs: bytes, merged: bytes | None) -> None:
    assert merge(b"a\nb\nc\nd\ne\n", ours, theirs) == merged
