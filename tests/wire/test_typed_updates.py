"""An update that is decoded in one step is the same event as one that is decoded in two."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_notebook.core import events as ev
from acp_notebook.wire import jsonrpc, v1
from acp_notebook.wire.jsonrpc import Garbage, Notification, Peer, Request

TEXT = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hé"}, "messageId": "m"}
THOUGHT = {**TEXT, "sessionUpdate": "agent_thought_chunk"}
CALL = {
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


@pytest.mark.parametrize(
    "update",
    [
        *(TEXT, THOUGHT, CALL, LINE, {**LINE, "status": "completed"}, {**LINE, "title": "Run"}),
        *({**LINE, "content": []}, {**LINE, "rawInput": None}, {**TEXT, "_meta": {"b": 2}}),
    ],
)
def test_both_ways_give_the_same_event(update: dict[str, Any]) -> None:
    (typed,) = Peer().receive_typed(line(update), v1.decode_update)
    (raw,) = Peer().receive(line(update))
    assert isinstance(typed, v1.UpdateMessage)
    assert isinstance(raw, Notification)
    assert v1.read_update(typed.params) == v1.read_update(raw.params)


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
    typed = list(Peer().receive_typed(data, v1.decode_update))
    plain = list(Peer().receive(data))
    assert [type(it) for it in typed] == [type(it) for it in plain]
    assert isinstance(typed[0], Notification | Request | Garbage)


def test_consecutive_updates_of_a_session_and_type_come_together() -> None:
    data = (
        line(TEXT)
        + line(THOUGHT)
        + line(CALL)
        + line(LINE)
        + line(LINE).replace(b'"s"', b'"other"')
        + line(TEXT)
    )
    messages = [it for it in Peer().receive_typed(data, v1.decode_update) if isinstance(it, v1.UpdateMessage)]
    kinds = [(session, [type(event) for event in events]) for session, events in v1.read_updates(messages)]
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
    received = [it for piece in pieces for it in peer.receive_typed(piece, v1.decode_update)]
    assert received == list(Peer().receive_typed(data, v1.decode_update))


def test_a_long_line_that_arrives_in_pieces_has_the_same_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonrpc, "MAX_LINE", len(line(TEXT)) - 1)  # without its end
    for text, kind in (
        (TEXT["content"], v1.UpdateMessage),
        ({"type": "text", "text": "much longer"}, Garbage),
    ):
        data = line({**TEXT, "content": text}) + line(TEXT)
        for size in (1, 50, 1000):
            peer = Peer()
            pieces = [data[at : at + size] for at in range(0, len(data), size)]
            received = [it for piece in pieces for it in peer.receive_typed(piece, v1.decode_update)]
            assert [type(it) for it in received] == [kind, v1.UpdateMessage]
