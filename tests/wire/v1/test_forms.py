"""The restricted JSON Schema of forms: every field type, and what agents make of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core.forms import KINDS, Field
from acp_notebook.core.records import Choice
from acp_notebook.wire import v1
from acp_notebook.wire.v1.forms import read_form
from tests.wire.examples import raw

RICH = Path(__file__).parents[2] / "data" / "transcripts" / "claude-agent-acp.rich.jsonl"


def field(schema: Any, name: str = "x", **more: Any) -> Field:
    (found,) = read_form({"type": "object", "properties": {name: schema}, **more}).fields
    return found


@pytest.mark.parametrize(
    ("schema", "read"),
    [
        (
            {
                "type": "string",
                "title": "T",
                "description": "D",
                "minLength": 1,
                "maxLength": 9,
                "pattern": "a",
            },
            Field("x", "string", "T", "D", least=1, most=9, pattern="a"),
        ),
        (
            {"type": "string", "format": "email", "default": "a@b.c"},
            Field("x", "string", format="email", default="a@b.c"),
        ),
        ({"type": "number", "minimum": 0, "maximum": 0.5}, Field("x", "number", least=0, most=0.5)),
        ({"type": "integer", "default": 3}, Field("x", "integer", default=3)),
        ({"type": "boolean", "default": False}, Field("x", "boolean", default=False)),
        (
            {"type": "string", "enum": ["a", "b"], "default": "b"},
            Field("x", "select", default="b", choices=(Choice("a", "a"), Choice("b", "b"))),
        ),
        (
            {"type": "string", "oneOf": [{"const": "a", "title": "A", "description": "first"}]},
            Field("x", "select", choices=(Choice("a", "A", "first"),)),
        ),
        (
            {"type": "string", "enum": ["a"], "enumNames": ["A"]},
            Field("x", "select", choices=(Choice("a", "A"),)),
        ),
        (
            {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string", "enum": ["a"]}},
            Field("x", "multiselect", least=1, most=2, choices=(Choice("a", "a"),)),
        ),
        (
            {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "default": ["a"]},
            Field("x", "multiselect", default=["a"], choices=(Choice("a", "A"),)),
        ),
    ],
)
def test_every_type_of_field(schema: dict[str, Any], read: Field) -> None:
    assert field(schema) == read


def test_required_fields() -> None:
    form = read_form({"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["b", 5]})
    assert [it.required for it in form.fields] == [False, True]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "hologram"},
        {"type": ["string", "null"]},
        {"type": "object", "properties": {}},
        {"type": "array"},
        {"type": "array", "items": {"type": "number", "enum": [1]}},
        {},
        None,
        7,
        "string",
    ],
)
def test_an_unknown_type_keeps_its_schema(schema: Any) -> None:
    assert field(schema) == Field("x", "unknown", raw=schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"minLength": "many", "maxLength": True, "pattern": 5, "format": ["email"], "title": 1},
        {"default": 5, "title": None, "description": " ", "maxLength": float("nan")},
    ],
)
def test_an_invalid_part_is_left_out(schema: dict[str, Any]) -> None:
    assert field({"type": "string", **schema}) == Field("x", "string")


def test_an_invalid_default_is_ignored() -> None:
    assert field({"type": "integer", "minimum": 5, "default": 3}).default is None
    assert field({"type": "string", "enum": ["a"], "default": "z"}).default is None


@pytest.mark.parametrize(
    ("name", "schema", "secret"),
    [
        ("x", {"format": "password"}, True),
        ("x", {"writeOnly": True}, True),
        ("api_key", {}, True),
        ("Password", {}, True),
        ("name", {}, False),
        ("token", {"enum": ["a"]}, False),
    ],
)
def test_secrets(name: str, schema: dict[str, Any], secret: bool) -> None:
    assert field({"type": "string", **schema}, name).secret is secret


def test_a_secret_has_no_default() -> None:
    assert field({"type": "string", "format": "password", "default": "hunter2"}).default is None


def test_a_form_too_big_to_be_filled_in_says_so() -> None:
    many = {f"f{at}": {"type": "string"} for at in range(1000)}
    form = read_form({"properties": many})
    assert (form.fields, form.problem) == ((), "the form has 1,000 fields; this client shows at most 200")
    choices = {"x": {"type": "string", "enum": [str(at) for at in range(5000)]}}
    assert "5,000 choices" in (read_form({"properties": choices}).problem or "")


def test_long_titles_are_cut() -> None:
    assert len(field({"type": "string", "title": "x" * 100_000}).label) == 201


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "enum", "oneOf", "items", "anyOf", "const", "title", "default"]), inner
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=5), json_like, max_size=4), json_like)
def test_any_schema_is_read(properties: dict[str, Any], required: Any) -> None:
    form = read_form({"properties": properties, "required": required, "title": required})
    assert [it.name for it in form.fields] == list(properties)
    assert all(it.type in (*KINDS, "unknown") for it in form.fields)


@pytest.mark.parametrize("schema", [{}, {"properties": None}, {"properties": []}, {"required": 5}])
def test_a_form_without_fields(schema: dict[str, Any]) -> None:
    assert read_form(schema).fields == ()


# ---- the request


def test_a_real_agents_question() -> None:
    lines = [json.loads(line) for line in RICH.read_text().splitlines()]
    (params,) = (
        it["msg"]["params"] for it in lines if it.get("msg", {}).get("method") == "elicitation/create"
    )
    asked = v1.requests.read_elicitation(raw(params))
    assert (asked.session_id, asked.tool_id) == (params["sessionId"], params["toolCallId"])
    assert (asked.request.message, asked.request.mode) == ("Which colour?", "form")
    assert [(it.name, it.type) for it in asked.request.fields] == [
        ("question_0", "select"),
        ("question_0_custom", "string"),
    ]


def test_an_address() -> None:
    params = {"mode": "url", "message": "m", "requestId": 3, "elicitationId": "e", "url": "https://a.example"}
    asked = v1.requests.read_elicitation(raw(params))
    assert (asked.session_id, asked.elicitation_id, asked.request.host) == (None, "e", "a.example")
    with pytest.raises(v1.Malformed, match="no url"):
        v1.requests.read_elicitation(raw({"mode": "url", "message": "m", "sessionId": "s"}))


def test_an_unknown_mode_keeps_its_raw_request() -> None:
    asked = v1.requests.read_elicitation(
        raw({"mode": "voice", "message": "m", "sessionId": "s", "tone": "soft"})
    )
    assert (asked.request.mode, asked.request.fields) == ("voice", ())
    assert asked.raw == {"mode": "voice", "message": "m", "sessionId": "s", "tone": "soft"}


def test_completion() -> None:
    assert v1.requests.read_elicitation_complete(raw({"elicitationId": "e"})) == "e"
