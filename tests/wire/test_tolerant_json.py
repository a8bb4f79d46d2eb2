"""JSON as agents really write it becomes plain objects that are safe to write anywhere."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.wire import tolerant_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.just("\ud800x"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_what_is_read_can_be_written_as_strict_utf_8_json(value: Any) -> None:
    read = tolerant_json.loads(json.dumps(value).encode())
    json.dumps(read, allow_nan=False, ensure_ascii=False).encode("utf-8")


@given(st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)))
def test_valid_json_is_read_unchanged(value: Any) -> None:
    assert tolerant_json.loads(json.dumps(value).encode()) == value


@given(st.binary())
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        tolerant_json.loads(data)
    except tolerant_json.Unreadable as error:
        assert str(error)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"NaN", None),
        (b"[Infinity, -Infinity, 1]", [None, None, 1]),
        (b"1e400", None),
        (b"-1e400", None),
        (b"1.5", 1.5),
        (b"9" * 30, int("9" * 30)),
        (b"9" * 5000, None),
        (rb'"\ud83d\ude42"', "🙂"),
        (rb'"\ude42\ud83d"', "\ufffd\ufffd"),
        (rb'{"\ud800": {"\udfff": []}}', {"\ufffd": {"\ufffd": []}}),
        (b'"\xed\xa0\x80"', "\ufffd\ufffd\ufffd"),
        (b'"caf\xc3\xa9 \xff"', "café \ufffd"),
    ],
)
def test_json_is_repaired(data: bytes, value: Any) -> None:
    assert tolerant_json.loads(data) == value


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def test_the_nesting_limit_is_exact() -> None:
    tolerant_json.loads(nested(tolerant_json.MAX_NESTING))
    with pytest.raises(tolerant_json.Unreadable, match="nested"):
        tolerant_json.loads(nested(tolerant_json.MAX_NESTING + 1))


@pytest.mark.parametrize("length", [500, 50_000])
@pytest.mark.parametrize("kind", [bytes, bytearray])
@pytest.mark.parametrize(("begin", "end"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_the_nesting_limit_is_exact_in_data_of_any_length(
    length: int, kind: type[bytes | bytearray], begin: bytes, end: bytes
) -> None:
    text = b'"' + b"x" * length + b'"'
    most = tolerant_json.MAX_NESTING
    tolerant_json.check_nesting(kind(begin * most + text + end * most))
    tolerant_json.check_nesting(kind(b"[" + (text + b",[],{},") * most + b"1]"))
    with pytest.raises(tolerant_json.Unreadable, match="nested"):
        tolerant_json.check_nesting(kind(begin * (most + 1) + text + end * (most + 1)))


def test_many_adjacent_brackets_are_not_deep() -> None:
    assert tolerant_json.loads(b"[" + b"[]," * 10_000 + b"1]")[-1] == 1


@pytest.mark.parametrize("text", [r"\"", r"\\", "[", "{", r"\u005b", "}"])
def test_brackets_in_a_string_do_not_nest(text: str) -> None:
    tolerant_json.check_nesting(b'["' + text.encode() * 1000 + b'", ' + b"[]," * 200 + b"1]")


@pytest.mark.parametrize(
    "text", ["x" * 3_000_000, '\\"' * 1_500_000, "\\n" * 1_500_000], ids=["long", "quotes", "escapes"]
)
@pytest.mark.parametrize("end", ['"', ""], ids=["closed", "open"])
def test_a_long_text_costs_no_memory_and_linear_time(text: str, end: str) -> None:
    data = ("[]" * 200 + '"' + text + end).encode()
    tracemalloc.start()
    try:
        tolerant_json.check_nesting(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < len(data)
