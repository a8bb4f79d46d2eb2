"""The kept output of a command: whole characters, within the limit, in bounded memory."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.agent.terminals.output import DEFAULT_BYTES, MAX_BYTES, Batch, OutputTail, bounded

# One, two, three and four bytes; a character that joins with the one before it.
TEXT = st.text(alphabet="aé€😀\u0301\n\0", max_size=40)
LIMIT = st.integers(0, 60)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[begin:end] for begin, end in pairwise(places)]


CUTS = st.lists(st.integers(0, 200), max_size=12)


@given(TEXT, LIMIT, CUTS)
def test_any_split_and_limit_keeps_the_longest_fitting_tail(text: str, limit: int, cuts: list[int]) -> None:
    output = OutputTail(limit)
    decoded = "".join(output.feed(piece) for piece in pieces(text.encode(), cuts)) + output.finish()
    kept, cut = output.text()
    assert decoded == text
    fitting = [text[at:] for at in range(len(text) + 1) if len(text[at:].encode()) <= limit]
    assert kept == fitting[0]
    assert cut == (len(text.encode()) > limit)


@given(st.binary(max_size=60), LIMIT, CUTS)
def test_bytes_are_decoded_the_same_however_split(data: bytes, limit: int, cuts: list[int]) -> None:
    output = OutputTail(limit)
    decoded = "".join(output.feed(piece) for piece in pieces(data, cuts)) + output.finish()
    assert decoded == data.decode("utf-8", "replace")
    kept, cut = output.text()
    assert decoded.endswith(kept)
    assert len(kept.encode()) <= limit
    assert cut == (kept != decoded)


def test_an_incomplete_character_waits_for_the_rest() -> None:
    output = OutputTail(100)
    euro = "€".encode()
    assert output.feed(b"a" + euro[:1]) == "a"
    assert output.text() == ("a", False)
    assert output.feed(euro[1:2]) == ""
    assert output.feed(euro[2:] + b"b" + euro[:2]) == "€b"
    assert output.finish() == "\ufffd"
    assert output.finish() == ""
    assert output.text() == ("a€b\ufffd", False)


def test_a_limit_of_zero_keeps_nothing_and_says_so() -> None:
    output = OutputTail(0)
    assert output.text() == ("", False)
    assert output.feed(b"x") == "x"
    assert output.text() == ("", True)


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        (None, DEFAULT_BYTES),
        (0, 0),
        (1, 1),
        (MAX_BYTES, MAX_BYTES),
        (MAX_BYTES + 1, MAX_BYTES),
        (2**64, MAX_BYTES),
    ],
)
def test_a_limit_is_never_unbounded(asked: int | None, kept: int) -> None:
    assert bounded(asked) == kept


def test_memory_is_bounded_by_the_limit_and_not_by_the_output() -> None:
    limit = 1_000_000
    chunk = ("line of output ä€\n" * 4000).encode()[: 64 * 1024]
    output, batch = OutputTail(limit), Batch()
    tracemalloc.start()
    try:
        for _ in range(100_000_000 // len(chunk) + 1):
            batch.add(output.feed(chunk))
        current, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    kept, cut = output.text()
    assert cut
    assert limit - 3 <= len(kept.encode()) <= limit
    assert current < 4 * limit
    assert peak < 6 * limit


# ---- batches


@given(st.lists(TEXT, max_size=20), st.integers(1, 50))
def test_a_batch_has_the_newest_text_and_the_number_of_dropped_characters(
    texts: list[str], limit: int
) -> None:
    batch = Batch(limit)
    for text in texts:
        batch.add(text)
    whole = "".join(texts)
    taken, dropped = batch.take()
    assert taken == whole[max(0, len(whole) - limit) :]
    assert dropped == len(whole) - len(taken)
    assert batch.take() == ("", 0)
