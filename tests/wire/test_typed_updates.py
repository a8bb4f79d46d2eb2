"""An update that is decoded in one step is the same event as one that is decoded in two."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from acp_notebook.core import events as ev
from acp_notebook.wire import jsonrpc, v1
from acp_notebook.wire.jsonrpc import Garbage, Notification, Peer, Request
from acp_notebook.wire.v1 import updates

TEXT: dict[str, Any] = {
    "sessionUpdate": "agent_message_chunk",
    "content": {"type": "text", "text": "hé"},
    "messageId": "m",
}
THOUGHT = {**TEXT, "sessionUpdate": "agent_thought_chunk"}
CALL: dict[str, Any] = {
    "sessionUpdate": "tool_call_update",
    "toolCallId": "t",
    "title": None,
    "content": [{"type": "content", "content": {"type": "text", "text": "x"}}],
    "_meta": {"a": 1},
}


def line(update: Any, **more: Any) -> bytes:
    params = {"sessionId": "s", "update": update}
    return (
        json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params, **more}).encode() + b"\n"
    )


LINE = {it: CALL[it] for it in ("sessionUpdate", "toolCallId", "content")}


UPDATES = (updates.FlatUpdate, updates.UpdateMessage)


def receive(data: bytes, peer: Peer | None = None) -> list[Any]:
    """The messages one by one; those that came together as if they had not."""
    received = (peer or Peer()).receive_typed(data, v1.typed_updates)
    return [it for part in received for it in (part if isinstance(part, list) else [part])]


@pytest.mark.parametrize(
    "update",
    [
        *(TEXT, THOUGHT, CALL, LINE, {**LINE, "status": "completed"}, {**LINE, "title": "Run"}),
        *({**LINE, "content": []}, {**LINE, "rawInput": None}, {**TEXT, "_meta": {"b": 2}}),
    ],
)
def test_both_ways_give_the_same_event(update: dict[str, Any]) -> None:
    (raw,) = Peer().receive(line(update))
    assert isinstance(raw, Notification)
    session, event = v1.read_update(raw.params)
    for count in (1, 3):
        typed = receive(line(update) * count)
        assert all(isinstance(it, UPDATES) for it in typed)
        assert [*v1.read_updates(typed, fail)] == [(session, [event] * count)]


@pytest.mark.parametrize(
    "data",
    [
        line({**TEXT, "unknown": 1}),
        line(TEXT, jsonrpc="1.0"),
        line({**TEXT, "_meta": json.loads("[" * 150 + "]" * 150)}),
        line({**TEXT, "content": {"type": "text", "text": "x"}}).replace(b'"x"', b'"\\ud800"'),
        line(TEXT, id=7),
        b"not JSON\n",
    ],
)
def test_other_messages_are_read_as_without_the_type(data: bytes) -> None:
    typed = receive(data)
    plain = list(Peer().receive(data))
    assert [type(it) for it in typed] == [type(it) for it in plain]
    assert isinstance(typed[0], Notification | Request | Garbage)


def fail(message: v1.Update, error: Exception) -> None:
    raise AssertionError(f"{message} cannot be read") from error


def test_a_bug_in_reading_one_update_loses_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    data = line(TEXT) + line(CALL) + line(TEXT)
    messages = [it for it in receive(data) if isinstance(it, UPDATES)]
    failed: list[tuple[v1.Update, str]] = []
    monkeypatch.setattr(updates, "tool_event", lambda update: 1 / 0)
    kinds = [
        (session, [type(event) for event in events])
        for session, events in v1.read_updates(messages, lambda it, error: failed.append((it, str(error))))
    ]
    assert kinds == [("s", [ev.MessageChunk, ev.MessageChunk])]
    assert failed == [(messages[1], "division by zero")]


NESTED = json.loads("[" * 150 + "]" * 150)
CONTENT = LINE["content"][0]


@pytest.mark.parametrize(
    "update",
    [
        *({**TEXT, "_meta": NESTED}, {**LINE, "_meta": NESTED}),
        *({**LINE, "rawInput": NESTED}, {**LINE, "rawOutput": NESTED}),
        {**TEXT, "content": {**TEXT["content"], "_meta": NESTED}},
        {**TEXT, "content": {**TEXT["content"], "annotations": {"_meta": NESTED}}},
        {**LINE, "content": [{**CONTENT, "_meta": NESTED}]},
        {**LINE, "content": [CONTENT, {**CONTENT, "content": {**CONTENT["content"], "_meta": NESTED}}]},
        {**LINE, "locations": [{"path": "/a", "_meta": NESTED}]},
        {"sessionUpdate": "plan", "entries": [], "_meta": NESTED},
    ],
)
def test_a_part_of_any_form_may_not_be_nested_too_deeply(update: dict[str, Any]) -> None:
    """Wherever it is, and whether it was looked for before or after the line was decoded."""
    for text in ("x", "x" * 2000):
        (received,) = receive(line(update, params={"sessionId": text, "update": update}))
        assert isinstance(received, Garbage)
        assert "nested" in received.why


def test_a_deep_line_is_refused_before_it_is_decoded() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    (received,) = receive(line(TEXT).replace(b'"m"', deep))
    assert isinstance(received, Garbage)


def test_consecutive_updates_of_a_session_and_type_come_together() -> None:
    data = (
        line(TEXT)
        + line(THOUGHT)
        + line(CALL)
        + line(LINE)
        + line(LINE).replace(b'"s"', b'"other"')
        + line(TEXT)
    )
    messages = [it for it in receive(data) if isinstance(it, UPDATES)]
    kinds = [
        (session, [type(event) for event in events]) for session, events in v1.read_updates(messages, fail)
    ]
    assert kinds == [
        ("s", [ev.MessageChunk, ev.MessageChunk]),
        ("s", [ev.ToolChanged, ev.ToolChanged]),
        ("other", [ev.ToolChanged]),
        ("s", [ev.MessageChunk]),
    ]


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_lines_that_arrive_in_pieces_are_the_same_messages(size: int) -> None:
    data = (
        line(TEXT) + line(CALL) + line({**CALL, "unknown": 1}) + line(TEXT, id=7) + b"not JSON\n" + line(LINE)
    )
    peer = Peer()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    received = [it for piece in pieces for it in receive(piece, peer)]
    assert received == receive(data)


def test_a_long_line_that_arrives_in_pieces_has_the_same_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonrpc, "MAX_LINE", len(line(TEXT)) - 1)  # without its end
    for text, kind in (
        (TEXT["content"], updates.FlatUpdate),
        ({"type": "text", "text": "much longer"}, Garbage),
    ):
        data = line({**TEXT, "content": text}) + line(TEXT)
        for size in (1, 50, 1000):
            peer = Peer()
            pieces = [data[at : at + size] for at in range(0, len(data), size)]
            received = [it for piece in pieces for it in receive(piece, peer)]
            assert [type(it) for it in received] == [kind, updates.FlatUpdate]


SPREAD = line(TEXT).replace(b'"params"', b'\n"params"')  # one value in two lines
BESIDE = line(TEXT)[:-1] + line(TEXT)  # two values in one line


@pytest.mark.parametrize(
    "odd",
    [
        *(SPREAD, BESIDE, SPREAD + BESIDE, BESIDE + SPREAD, BESIDE + b"\n", b"\n" + SPREAD),
        *(line(TEXT)[:-1] + b"\r\n", b" " + line(LINE), line(TEXT)[:-1] + b" \n", b"\n\n", b"{}\n", b"[]\n"),
        *(line(TEXT).replace(b"}}", b"}\n}"), line(TEXT).replace(b'{"type', b'\n{"type'), b"\0\n"),
        *(line({**TEXT, "unknown": 1}), line(TEXT, id=7), line(CALL), line({**TEXT, "messageId": None})),
    ],
)
def test_lines_that_are_read_together_are_the_same_messages(odd: bytes) -> None:
    for data in (odd, line(TEXT) + odd, odd + line(LINE), line(TEXT) * 3 + odd + line(THOUGHT) * 3):
        one_by_one, peer = list[Any](), Peer()
        for each in data.splitlines(keepends=True):
            one_by_one += receive(each, peer)
        for start in (0, 1, len(data) // 2, len(data) - 1):
            peer = Peer()
            assert receive(data[:start], peer) + receive(data[start:], peer) == one_by_one


@pytest.mark.parametrize("limit", [1000, 1_000_000])
def test_no_nesting_exhausts_the_stack(limit: int) -> None:
    """Not even with a recursion limit that does not protect it."""
    deep = b"[" * 1_000_000 + b"]" * 1_000_000
    update = b'{"content":%b,"sessionUpdate":"agent_message_chunk"}' % deep  # its type comes last
    data = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%b}}\n' % update
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        received = receive(data * 2)
    finally:
        sys.setrecursionlimit(before)
    assert [type(it) for it in received] == [Garbage] * 2
