"""Server-sent events, in pieces of any size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.agent.remote.sse import Event, EventParser, EventTooLong

STREAM = (
    b': hello\r\n\r\ndata: {"a":1}\n\nid: 7\r\ndata:x\r\ndata: y\r\n\r\nevent: m\rdata: z\xe2\x80\xa8z\r\r'
    b"retry: 5\n\ndata\n\n"
)
EVENTS = [Event(b'{"a":1}', None), Event(b"x\ny", "7"), Event("z\u2028z".encode(), None), Event(b"", None)]


@given(st.lists(st.integers(1, len(STREAM) - 1)))
def test_the_pieces_do_not_matter(cuts: list[int]) -> None:
    parser = EventParser(1000)
    ends = [*sorted(set(cuts)), len(STREAM)]
    starts = [0, *ends[:-1]]
    found = [event for a, b in zip(starts, ends, strict=True) for event in parser.feed(STREAM[a:b])]
    assert found == EVENTS
    assert parser.has_comments
    assert not parser.inside


@pytest.mark.parametrize("data", [b"data: " + b"x" * 2000, b"data: x\n" * 2000, b"x" * 2000])
def test_memory_is_bounded(data: bytes) -> None:
    parser = EventParser(1000)
    with pytest.raises(EventTooLong):
        for at in range(0, len(data), 100):
            list(parser.feed(data[at : at + 100]))


def test_an_event_without_an_id_does_not_have_that_of_the_one_before() -> None:
    """qwen-code numbers updates but not answers: with its id, an answer would be a repetition."""
    parser = EventParser(1000)
    found = list(parser.feed(b"id: 1\ndata: update\n\ndata: answer\n\nid: 2\ndata: update\n\n"))
    assert found == [Event(b"update", "1"), Event(b"answer", None), Event(b"update", "2")]


def test_a_cut_event_is_known_to_be_one() -> None:
    parser = EventParser(1000)
    assert list(parser.feed(b'data: {"a"')) == []
    assert parser.inside


@pytest.mark.parametrize("id", [b"x" * 1001, "caf\u00e9".encode(), b"a\x01b", b"\xff", b"a\0b"])
def test_an_id_that_is_long_or_strange_numbers_nothing(id: bytes) -> None:
    """It would be sent back in a header."""
    (event,) = EventParser(1 << 20).feed(b"id: " + id + b"\ndata: {}\n\n")
    assert event == Event(b"{}", "")


def test_an_id_of_printable_characters_is_kept() -> None:
    id = b"aZ-09_~!" * 125
    (event,) = EventParser(1 << 20).feed(b"id: " + id + b"\ndata: {}\n\n")
    assert event == Event(b"{}", id.decode())


def test_unknown_fields_and_a_byte_order_mark_are_ignored_as_the_standard_says() -> None:
    parser = EventParser(1000)
    stream = b"\xef\xbb\xbfdata: {}\nfoo: bar\nx-trace_1\n\n"
    found = [event for byte in stream for event in parser.feed(bytes([byte]))]
    assert found == [Event(b"{}", None)]
    assert not parser.is_damaged


@pytest.mark.parametrize(
    "line", [b'"sessionId":"s"}}', b"\xff\xfe", b"\x00data: {}", b"d at: {}", b'date": 1}']
)
def test_a_line_that_no_server_writes_is_damage(line: bytes) -> None:
    parser = EventParser(1000)
    list(parser.feed(b"data: {}\n\n" + line + b"\n\n"))
    assert parser.is_damaged
