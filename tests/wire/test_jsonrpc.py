"""Any bytes become messages: nothing raises, and no request goes unanswered."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from acp_notebook.wire import jsonrpc
from acp_notebook.wire.jsonrpc import (
    INVALID_REQUEST,
    Garbage,
    Incoming,
    Notification,
    Peer,
    Request,
    Response,
    RpcError,
    Unaddressed,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
IDS = st.none() | st.integers() | st.text(max_size=5) | st.booleans() | st.floats() | st.lists(st.none())
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0"),
        "id": IDS | st.integers(0, 4) | st.integers(0, 4).map(str),
        "method": st.text(max_size=5) | st.none(),
        "params": JSON,
        "result": JSON,
        "error": JSON | st.fixed_dictionaries({}, optional={"code": IDS, "message": JSON, "data": JSON}),
    },
)
LINES = st.one_of(
    MESSAGES.map(lambda message: json.dumps(message).encode()),
    st.lists(MESSAGES | JSON, max_size=3).map(lambda batch: json.dumps(batch).encode()),
    MESSAGES.map(lambda message: json.dumps(message).encode()[:-1]),
    st.binary(max_size=40),
)
STREAMS = st.lists(LINES, max_size=6).map(b"\n".join)


def asked(count: int = 3) -> Peer:
    peer = Peer()
    for number in range(count):
        peer.request(f"method {number + 1}", {})
    return peer


def received(*messages: Any, open_requests: int = 0) -> list[Incoming]:
    lines = [it if isinstance(it, bytes) else json.dumps(it).encode() for it in messages]
    return list(asked(open_requests).receive(b"".join(line + b"\n" for line in lines)))


def only(*messages: Any, open_requests: int = 0) -> Incoming:
    (message,) = received(*messages, open_requests=open_requests)
    return message


def comparable(message: Incoming) -> Any:
    """Raw has no equality of its own."""
    return [
        type(message).__name__,
        *(
            bytes(value) if isinstance(value, Raw) else repr(value)
            for value in (getattr(message, name) for name in message.__struct_fields__)
        ),
    ]


# ---- any bytes ----------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(STREAMS | st.binary(), st.lists(st.integers(0, 300), max_size=6))
def test_any_bytes_split_anywhere_give_the_same_messages(stream: bytes, cuts: list[int]) -> None:
    stream += b"\n"
    whole = [comparable(message) for message in asked().receive(stream)]
    peer, at = asked(), [0, *sorted(cuts), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(at)]
    assert [comparable(message) for piece in pieces for message in peer.receive(piece)] == whole


@settings(max_examples=100, deadline=None)
@given(STREAMS)
def test_a_message_after_any_bytes_still_arrives(stream: bytes) -> None:
    messages = list(asked().receive(stream + b'\n{"jsonrpc":"2.0","method":"last"}\n'))
    assert isinstance(messages[-1], Notification)
    assert messages[-1].method == "last"


def test_an_unfinished_line_is_not_a_message_yet() -> None:
    peer = Peer()
    assert list(peer.receive(b'{"jsonrpc":"2.0",')) == []
    (message,) = peer.receive(b'"method":"x"}\n')
    assert isinstance(message, Notification)


@pytest.mark.parametrize("line", [b"", b"  ", b"\r", b"\t \r"])
def test_blank_lines_are_ignored(line: bytes) -> None:
    assert received(line) == []


def test_crlf_ends_a_line_too() -> None:
    assert isinstance(only(b'{"jsonrpc":"2.0","method":"x"}\r'), Notification)


# ---- requests and ids -----------------------------------------------------------------------


@pytest.mark.parametrize("id", [0, 1, -5, "a", "", "0", None, 10**30])
def test_the_response_repeats_a_requests_id_with_its_type(id: Any) -> None:
    message = only({"jsonrpc": "2.0", "id": id, "method": "x", "params": {"y": 1}})
    assert isinstance(message, Request)
    assert message.id == id
    assert type(message.id) is type(id)
    assert bytes(message.params) == b'{"y": 1}'
    assert json.loads(Peer.result(message.id, {"z": 2})) == {"jsonrpc": "2.0", "id": id, "result": {"z": 2}}


@pytest.mark.parametrize("id", [True, 1.5, [1], {"a": 1}])
def test_an_invalid_id_is_ignored(id: Any) -> None:
    assert isinstance(only({"jsonrpc": "2.0", "id": id, "method": "x"}), Notification)
    assert isinstance(only({"jsonrpc": "2.0", "id": id, "result": 1}, open_requests=2), Garbage)


def test_a_request_without_params_has_null_params() -> None:
    message = only({"jsonrpc": "2.0", "id": 1, "method": "x"})
    assert isinstance(message, Request)
    assert bytes(message.params) == b"null"


def test_requests_are_numbered_and_every_line_is_one_message() -> None:
    peer = Peer()
    sent = [peer.request("a", {"t": "x\ny"}), peer.request("b", None)]
    assert [id for id, _ in sent] == [1, 2]
    for id, data in sent:
        assert data.endswith(b"\n")
        assert data.count(b"\n") == 1
        assert json.loads(data)["id"] == id


def test_lone_surrogates_are_sent_as_replacement_characters() -> None:
    assert json.loads(Peer.result(1, {"\ud800": ["a\udfff"]}))["result"] == {"\ufffd": ["a\ufffd"]}


def test_an_error_is_sent_with_its_data_if_any() -> None:
    assert json.loads(Peer.error(1, RpcError(-1, "no")))["error"] == {"code": -1, "message": "no"}
    assert json.loads(Peer.error(1, RpcError(-1, "no", [2])))["error"]["data"] == [2]


# ---- answers --------------------------------------------------------------------------------


@pytest.mark.parametrize("id", [2, "2", 2.0])
def test_a_response_finds_its_request_by_number_or_string(id: Any) -> None:
    message = only({"jsonrpc": "2.0", "id": id, "result": {"ok": True}}, open_requests=3)
    assert isinstance(message, Response)
    assert (message.id, message.method) == (2, "method 2")
    assert bytes(message.result) in (b'{"ok": true}', b'{"ok":true}')
    assert message.error is None


def test_a_second_response_to_one_request_is_garbage() -> None:
    answer = {"jsonrpc": "2.0", "id": 1, "result": 1}
    first, second = received(answer, answer, open_requests=1)
    assert isinstance(first, Response)
    assert isinstance(second, Garbage)
    assert second.id is UNSET


@pytest.mark.parametrize("id", [4, "4", "x", "٢", "9" * 5000, -1, None])
def test_a_response_to_no_request_is_garbage(id: Any) -> None:
    assert isinstance(only({"jsonrpc": "2.0", "id": id, "result": 1}, open_requests=3), Garbage)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"error": "boom"}, RpcError(jsonrpc.INTERNAL_ERROR, "boom")),
        ({"error": 5}, RpcError(jsonrpc.INTERNAL_ERROR, "5")),
        ({"error": ["a"]}, RpcError(jsonrpc.INTERNAL_ERROR, '["a"]')),
        ({"error": {"code": -1, "message": "no", "data": {"x": 1}}}, RpcError(-1, "no", {"x": 1})),
        ({"error": {"code": "E1", "message": "no"}}, RpcError(jsonrpc.INTERNAL_ERROR, "no")),
        ({"error": {"code": True, "message": "no"}}, RpcError(jsonrpc.INTERNAL_ERROR, "no")),
        ({"error": {"code": 7}}, RpcError(7, '{"code":7}')),
        ({"error": {"code": -1, "message": "no", "extra": 1}}, RpcError(-1, "no")),
        ({"error": {"code": -1, "message": "no"}, "result": 1}, RpcError(-1, "no")),
        ({"error": None, "result": 1}, None),
        ({"error": None}, None),
        ({"result": 1}, None),
        ({"result": None}, None),
        ({}, None),
    ],
)
def test_errors_of_every_shape_are_read(fields: dict[str, Any], error: RpcError | None) -> None:
    message = only({"jsonrpc": "2.0", "id": 1, **fields}, open_requests=1)
    assert isinstance(message, Response)
    assert message.error == error
    assert message.unreadable is None


def test_a_missing_result_is_null() -> None:
    message = only({"jsonrpc": "2.0", "id": 1}, open_requests=1)
    assert isinstance(message, Response)
    assert bytes(message.result) == b"null"


def test_an_error_without_an_id_keeps_its_error() -> None:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "what?"}}
    for open_requests in range(3):
        message = only(error, open_requests=open_requests)
        assert isinstance(message, Unaddressed)
        assert message.error == RpcError(-32700, "what?")


def test_a_request_with_an_invalid_method_needs_a_response() -> None:
    message = only({"jsonrpc": "2.0", "id": 78, "method": 5})
    assert isinstance(message, Garbage)
    assert (message.id, message.code) == (78, INVALID_REQUEST)


# ---- odd lines --------------------------------------------------------------------------------


def test_a_batch_is_its_messages_in_order() -> None:
    batch = [
        {"jsonrpc": "2.0", "method": "a"},
        {"jsonrpc": "2.0", "id": 1, "result": 5},
        7,
        {"jsonrpc": "2.0", "id": "q", "method": "b"},
    ]
    messages = received(batch, open_requests=1)
    assert [type(message) for message in messages] == [Notification, Response, Garbage, Request]


@pytest.mark.parametrize("line", [b"42", b"null", b'"text"', b"true", b"log: hello", b"{", b"\xff\xfe"])
def test_a_line_that_is_not_a_message_is_garbage(line: bytes) -> None:
    message = only(line)
    assert isinstance(message, Garbage)
    assert message.head == line.decode("utf-8", "replace")
    assert message.id is UNSET


def test_garbage_keeps_only_the_beginning_of_a_line() -> None:
    message = only(b"x" * 100_000)
    assert isinstance(message, Garbage)
    assert len(message.head) < 1000


@pytest.mark.parametrize(
    ("params", "read"),
    [
        (b'{"x":NaN,"y":-Infinity}', {"x": None, "y": None}),
        (rb'{"x":"\ud800"}', {"x": "\ufffd"}),
        (rb'{"\udfff":1}', {"\ufffd": 1}),
        (b'{"x":"\xff"}', {"x": "\ufffd"}),
    ],
)
def test_invalid_json_is_repaired(params: bytes, read: Any) -> None:
    message = only(b'{"jsonrpc":"2.0","id":1.0,"method":"x","params":' + params + b',"a":NaN}')
    assert isinstance(message, Request)
    assert message.id == 1
    assert json.loads(bytes(message.params)) == read


@pytest.mark.parametrize("deep", [b"[" * 5000 + b"]" * 5000, b'{"a":' * 5000 + b"1" + b"}" * 5000])
def test_a_request_that_is_nested_too_deeply_can_still_be_refused(deep: bytes) -> None:
    message = only(b'{"jsonrpc":"2.0","id":"q","method":"x","params":' + deep + b"}")
    assert isinstance(message, Garbage)
    assert message.id == "q"
    assert "nested" in message.why


def test_brackets_in_strings_do_not_nest() -> None:
    message = only({"jsonrpc": "2.0", "method": "x", "params": {"text": '[{"\\' * 1000}})
    assert isinstance(message, Notification)


# ---- unreadable, but owed ----------------------------------------------------------------------


def test_an_unreadable_response_fails_its_request() -> None:
    message = only(b'{"jsonrpc":"2.0","id":2,"result":{"x":oops}}', open_requests=3)
    assert isinstance(message, Response)
    assert (message.id, message.method, message.error) == (2, "method 2", None)
    assert message.unreadable is not None


@pytest.mark.parametrize("id", ["7", '"abc"', "null", "0"])
def test_an_unreadable_request_is_garbage_with_its_id(id: str) -> None:
    message = only(f'{{"jsonrpc":"2.0","id":{id},"method":"x","params":oops}}'.encode())
    assert isinstance(message, Garbage)
    assert message.id == json.loads(id)


@pytest.mark.parametrize("id", ["007", '"a\x01"', "٣", "1.5", "[1]"])
def test_an_unreadable_id_is_ignored(id: str) -> None:
    message = only(f'{{"jsonrpc":"2.0","id":{id},"method":"x","params":oops}}'.encode())
    assert isinstance(message, Garbage)
    assert message.id is UNSET


def test_an_id_inside_the_params_of_an_unreadable_notification_is_not_answered() -> None:
    message = only(b'{"jsonrpc":"2.0","method":"x","params":{"id":3,"y":oops}}')
    assert isinstance(message, Garbage)
    assert message.id is UNSET


def test_an_unreadable_line_that_is_not_json_rpc_gets_no_response() -> None:
    message = only(b'log: {"id":1,"result":oops}', open_requests=1)
    assert isinstance(message, Garbage)
    assert message.id is UNSET


# ---- long lines ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 3, 7, 64, 10_000])
def test_a_line_that_is_too_long_is_dropped_and_its_request_fails(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(jsonrpc, "MAX_LINE", 200)
    peer = asked(2)
    stream = b'{"jsonrpc":"2.0","id":1,"result":"' + b"x" * 500 + b'"}\n{"jsonrpc":"2.0","id":2,"result":1}\n'
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    first, second = (message for piece in pieces for message in peer.receive(piece))
    assert isinstance(first, Response)
    assert first.id == 1
    assert "200 bytes" in str(first.unreadable)
    assert isinstance(second, Response)
    assert second.unreadable is None
