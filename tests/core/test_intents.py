"""What a page may ask of the kernel: each message is an intent, or is refused with a reason."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core.intents import (
    Ack,
    Again,
    Answer,
    BadIntent,
    Bye,
    Cancel,
    Complete,
    Config,
    Doc,
    Edit,
    Elicit,
    Examples,
    Hello,
    Intent,
    Mode,
    Move,
    Picture,
    Preview,
    Prompt,
    Restart,
    Resync,
    SendNow,
    parse,
)
from tests.core.strategies import json_values

GOOD: list[tuple[dict[str, Any], Intent]] = [
    ({"t": "hello", "view": "v"}, Hello("v")),
    ({"t": "hello", "view": "v", "document": True, "host": "notebook"}, Hello("v", True, "notebook")),
    ({"t": "bye", "view": "v"}, Bye("v")),
    ({"t": "resync", "have": 3}, Resync(3)),
    ({"t": "ack", "seq": 3}, Ack(3)),
    ({"t": "answer", "question": "k1", "option": "yes"}, Answer("k1", "yes")),
    ({"t": "elicit", "elicitation": "k1", "action": "decline"}, Elicit("k1", "decline")),
    (
        {"t": "elicit", "elicitation": "k1", "action": "accept", "values": {"a": ["x"], "b": 1.5, "c": None}},
        Elicit("k1", "accept", {"a": ["x"], "b": 1.5, "c": None}),
    ),
    ({"t": "cancel"}, Cancel()),
    ({"t": "cancel", "turn": "t1"}, Cancel("t1")),
    ({"t": "prompt", "text": "hi"}, Prompt("hi")),
    (
        {"t": "prompt", "text": "", "images": [{"data": "aGk=", "mime_type": "image/png"}]},
        Prompt("", (Picture("aGk=", "image/png"),)),
    ),
    ({"t": "edit", "turn": "t2", "text": "hi"}, Edit("t2", "hi")),
    ({"t": "send_now", "turn": "t2"}, SendNow("t2")),
    ({"t": "again", "turn": "t2"}, Again("t2")),
    ({"t": "move", "turn": "t2", "to": 0}, Move("t2", 0)),
    ({"t": "mode", "mode": "plan"}, Mode("plan")),
    ({"t": "config", "id": "model", "value": "big"}, Config("model", "big")),
    ({"t": "config", "id": "verbose", "value": True}, Config("verbose", True)),
    ({"t": "restart"}, Restart()),
    ({"t": "complete", "rid": "1", "fragment": "@d", "view": "v"}, Complete("1", "@d", "v")),
    ({"t": "preview", "rid": "1", "text": "see @d", "view": "v"}, Preview("1", "see @d", "v")),
    ({"t": "examples", "rid": "1", "view": "v"}, Examples("1", "v")),
    ({"t": "hello", "view": "v", "live": True, "path": "a.ipynb"}, Hello("v", live=True, path="a.ipynb")),
    ({"t": "doc", "view": "v", "rid": "r", "text": "{}"}, Doc("v", "r", "{}")),
    (
        {"t": "doc", "view": "v", "rid": "r", "text": "", "part": 1, "of": 2, "now": 5},
        Doc("v", "r", "", 1, 2, 5.0),
    ),
]

BAD: list[Any] = [
    {"t": "complete", "rid": "1", "fragment": "d"},
    {"t": "complete", "rid": "1", "fragment": "@" * 501},
    {"t": "complete", "fragment": "@"},
    {"t": "preview", "rid": "1", "text": "@" * 20_001},
    {"t": "examples"},
    {"t": "doc", "view": "v", "rid": "r"},
    {"t": "doc", "view": "v", "rid": "r", "text": "", "part": 1, "of": 1},
    {"t": "doc", "view": "v", "rid": "r", "text": "", "part": -1, "of": 1},
    {"t": "doc", "view": "v", "rid": "r", "text": "", "part": 0, "of": 10**9},
    None,
    [],
    "hello",
    {},
    {"t": "fly"},
    {"t": "edit", "turn": "t2", "text": " "},
    {"t": "edit", "text": "hi"},
    {"t": "send_now"},
    {"t": "elicit", "elicitation": "k1", "action": "hack"},
    {"t": "elicit", "elicitation": "k1", "action": "accept", "values": {"a": {"deep": 1}}},
    {"t": "elicit", "elicitation": "k1", "action": "accept", "values": []},
    {"t": "move", "turn": "t2", "to": "up"},
    {"t": "hello"},
    {"t": "hello", "view": 1},
    {"t": "hello", "view": "v", "document": "yes"},
    {"t": "ack", "seq": "3"},
    {"t": "ack", "seq": 1.5},
    {"t": "answer", "question": "k1"},
    {"t": "answer", "question": "k1", "option": None},
    {"t": "prompt", "text": ["hi"]},
    {"t": "prompt", "text": " \n"},
    {"t": "prompt", "text": "", "images": []},
    {"t": "prompt", "text": "hi", "images": [{"data": "aGk=", "mime_type": "image/svg+xml"}]},
    {"t": "prompt", "text": "hi", "images": [{"data": "<b>", "mime_type": "image/png"}]},
    {"t": "prompt", "text": "hi", "images": [{"data": "aGk", "mime_type": "image/png"}]},
    {"t": "prompt", "text": "hi", "images": [{"data": "aGk=é", "mime_type": "image/png"}]},
    {"t": "prompt", "text": "hi", "images": ["aGk="]},
    {"t": "mode"},
    {"t": "mode", "mode": None},
    {"t": "config", "id": "model", "value": 1},
    {"t": "config", "id": "model"},
]


@pytest.mark.parametrize(("message", "intent"), GOOD, ids=lambda it: str(it)[:40])
def test_a_message_is_parsed_to_its_intent(message: dict[str, Any], intent: Intent) -> None:
    assert parse(message) == intent


def test_fields_of_a_newer_page_are_ignored() -> None:
    assert parse({"t": "ack", "seq": 3, "mood": "good"}) == Ack(3)


@pytest.mark.parametrize("message", BAD, ids=str)
def test_an_invalid_message_is_refused_with_a_reason(message: Any) -> None:
    with pytest.raises(BadIntent, match=r"\w"):
        parse(message)


words = st.sampled_from(
    ["hello", "bye", "resync", "ack", "answer", "cancel", "prompt", "mode", "config", "restart", "fly"]
)
names = st.sampled_from(
    [
        *("view", "have", "seq", "question", "option", "turn", "text", "document", "host"),
        *("images", "mode", "id", "value"),
    ]
)


@given(words, st.dictionaries(names, json_values))
def test_any_message_is_an_intent_or_refused(word: str, fields: dict[str, Any]) -> None:
    try:
        intent = parse({"t": word, **fields})
    except BadIntent:
        return
    assert type(intent).__name__.lower() == word
