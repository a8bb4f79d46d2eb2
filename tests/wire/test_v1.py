"""Version 1: every message of the official schema is read, and all that we send conforms."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from acp_notebook.agent.launch import CAPABILITIES
from acp_notebook.core import events as ev
from acp_notebook.core import records as rec
from acp_notebook.core.requests import AuthMethod, SessionInfo
from acp_notebook.wire import jsonrpc, lenient_types, v1
from acp_notebook.wire import schema as s
from acp_notebook.wire.v1 import updates
from tests import schema
from tests.wire.examples import (
    BLOCKS,
    CONFIG,
    FULL,
    NOTES,
    SESSION,
    TEXT,
    TOOL,
    UNSTABLE,
    minimal,
    params,
    raw,
)

KINDS = schema.update_kinds()
MINIMAL = {kind: minimal(kind, KINDS[kind].get("required", [])) for kind in FULL if kind in KINDS}
OPTIONAL = [
    (kind, name)
    for kind, definition in KINDS.items()
    for name in definition["properties"]
    if name not in definition.get("required", ()) and name != "_meta"
]

HELLO = rec.Text("hello", NOTES)

EVENTS: dict[str, ev.Event] = {
    "user_message_chunk": ev.MessageChunk("user", HELLO, "m1"),
    "agent_message_chunk": ev.MessageChunk(
        "agent", rec.ResourceLink("file:///a.py", "a.py", "A", "a file", "text/x-python", 3, NOTES), "m1"
    ),
    "agent_thought_chunk": ev.MessageChunk(
        "thought", rec.Resource("file:///a.py", "x = 1", None, "text/x-python", NOTES), "m1"
    ),
    "tool_call": ev.ToolChanged(
        id="t1",
        title="Edit a.py",
        kind="edit",
        status="in_progress",
        content=(HELLO, rec.Diff("/a.py", "new", "old"), rec.Terminal("term1")),
        locations=(rec.Location("/a.py", 3),),
        raw_input={"path": "/a.py"},
        raw_output=["done"],
        name="edit",
        created=True,
    ),
    "plan": ev.PlanReplaced((rec.PlanEntry("think", "high", "pending"),)),
    "available_commands_update": ev.CommandsReplaced((rec.Command("init", "begin", "where"),)),
    "current_mode_update": ev.ModeChanged("plan"),
    "config_option_update": ev.ConfigReplaced(
        (
            rec.ConfigOption(
                "model",
                "Model",
                "select",
                "m1",
                (rec.Choice("m1", "One", "the first"), rec.Choice("m2", "Two")),
                "which",
                "model",
            ),
            rec.ConfigOption("mode", "Mode", "select", "plan", (rec.Choice("plan", "Plan", group="Group"),)),
            rec.ConfigOption("web", "Web", "boolean", True, (), "search", "model_config"),
        )
    ),
    "session_info_update": ev.InfoChanged("A title", "2026-01-02T03:04:05Z"),
    "usage_update": ev.UsageChanged(rec.Usage(10, 100, rec.Cost(0.5, "USD"))),
    "notice": ev.NoticeGiven("warning", "Careful", "it is hot"),
    "compaction_update": ev.CompactionChanged("c1", "failed", (HELLO,), "too long"),
    "compaction_summary_chunk": ev.CompactionChunk("c1", HELLO),
}
EVENTS = {kind: replace(event, meta={"x": 1}) for kind, event in EVENTS.items()}
_call = EVENTS["tool_call"]
assert isinstance(_call, ev.ToolChanged)
EVENTS["tool_call_update"] = replace(_call, created=False)


def read(update: Any) -> ev.Event:
    session, event = v1.read_update(params(update))
    assert session == SESSION
    return event


def kept(event: ev.Event) -> Any:
    return getattr(event, "raw", None)


def without_raw(event: ev.Event) -> ev.Event:
    return replace(event, raw=None)


def tolerantly(update: Any) -> ev.Event:
    """Force the slow path, which a valid update normally does not take."""
    notification = lenient_types.read(
        s.SessionNotification, {"sessionId": SESSION, "update": update, "new": 1}
    )
    return updates._with_meta(updates._event(notification.update), notification)


# ---- the schema and we know the same -----------------------------------------------------------


def test_every_kind_of_update_in_the_schema_has_an_example_and_an_event() -> None:
    assert set(KINDS) == set(FULL) == set(EVENTS)


def test_the_updates_after_which_a_message_continues_are_those_of_the_events() -> None:
    assert {name for name, event in EVENTS.items() if event.is_aside} == v1.ASIDE


@pytest.mark.parametrize("update", [*FULL.values(), *MINIMAL.values()])
def test_the_examples_are_valid(update: Any) -> None:
    message = {"jsonrpc": "2.0", "method": "session/update"}
    schema.validate({**message, "params": {"sessionId": SESSION, "update": update}}, "a2c")


@pytest.mark.parametrize("kind", FULL)
def test_the_full_examples_leave_no_field_out(kind: str) -> None:
    assert set(FULL[kind]) == {*KINDS[kind]["properties"], "sessionUpdate"}


# ---- updates -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FULL)
def test_a_full_update_is_read_completely(kind: str) -> None:
    assert read(FULL[kind]) == EVENTS[kind]


@pytest.mark.parametrize("kind", FULL)
def test_a_minimal_update_is_read_without_a_raw_message(kind: str) -> None:
    event = read(MINIMAL[kind])
    assert type(event) is type(EVENTS[kind])
    assert kept(event) is None


@pytest.mark.parametrize("kind", FULL)
def test_an_unknown_field_keeps_the_raw_message_and_the_rest_is_read(kind: str) -> None:
    update = {**FULL[kind], "brandNew": {"x": [1]}}
    event = read(update)
    assert kept(event) == update
    assert without_raw(event) == EVENTS[kind]


@pytest.mark.parametrize("update", [*FULL.values(), *MINIMAL.values(), *UNSTABLE])
def test_both_ways_of_reading_agree(update: Any) -> None:
    assert tolerantly(update) == read(update)


@pytest.mark.parametrize("wrong", [5, "x", True, ["x"], {"x": 1}], ids=repr)
@pytest.mark.parametrize(("kind", "name"), OPTIONAL)
def test_an_optional_field_of_a_wrong_type_takes_its_default(kind: str, name: str, wrong: Any) -> None:
    update = {**FULL[kind], name: wrong}
    message = {
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": {"sessionId": SESSION, "update": update},
    }
    if schema.is_valid(message, "a2c"):
        return
    event = read(update)
    if kept(event) is None:  # a kind or a status that nobody knows is still one
        assert name in ("kind", "status")
        return
    assert kept(event) == update
    missing = without_raw(read({key: value for key, value in FULL[kind].items() if key != name}))
    empty = {name: () for name in ("content", "locations", "summary") if getattr(event, name, None) == ()}
    assert without_raw(event) == replace(missing, **empty)


@pytest.mark.parametrize(("kind", "name"), OPTIONAL)
def test_null_is_the_same_as_missing(kind: str, name: str) -> None:
    if kind == "session_info_update":
        return  # there it clears: see below
    with_null = read({**FULL[kind], name: None})
    assert without_raw(with_null) == read({key: value for key, value in FULL[kind].items() if key != name})


def test_null_clears_a_title() -> None:
    assert read({"sessionUpdate": "session_info_update", "title": None}) == ev.InfoChanged(title=None)
    assert read({"sessionUpdate": "session_info_update"}) == ev.InfoChanged()


@pytest.mark.parametrize(
    ("kind", "name", "attribute"),
    [
        ("tool_call", "content", "content"),
        ("tool_call_update", "locations", "locations"),
        ("plan", "entries", "entries"),
        ("available_commands_update", "availableCommands", "commands"),
        ("config_option_update", "configOptions", "options"),
        ("compaction_update", "summary", "summary"),
    ],
)
def test_unreadable_list_entries_are_left_out(kind: str, name: str, attribute: str) -> None:
    update = copy.deepcopy(FULL[kind])
    first, *rest = update[name]
    update[name] = [5, {}, first, None, "x", *rest, []]
    event = read(update)
    assert kept(event) == update
    found = getattr(event, attribute)
    assert tuple(it for it in found if it != rec.UnknownContent({})) == getattr(EVENTS[kind], attribute)


@pytest.mark.parametrize("kind", ["user_message_chunk", "agent_message_chunk", "agent_thought_chunk"])
def test_unknown_content_is_kept(kind: str) -> None:
    smell = {"type": "smell", "note": "roses"}
    event = read({"sessionUpdate": kind, "content": smell})
    assert isinstance(event, ev.MessageChunk)
    assert event.content == rec.UnknownContent(smell)


def test_unknown_content_of_a_tool_call_is_kept_in_its_place() -> None:
    inner, outer = {"type": "smell"}, {"type": "chart", "data": [1]}
    content = [{"type": "content", "content": inner}, outer, {"type": "terminal", "terminalId": "t"}]
    event = read({"sessionUpdate": "tool_call_update", "toolCallId": "t1", "content": content})
    assert isinstance(event, ev.ToolChanged)
    assert event.content == (rec.UnknownContent(inner), rec.UnknownContent(outer), rec.Terminal("t"))


@pytest.mark.parametrize(
    ("block", "record"),
    [
        (BLOCKS[1], rec.Image("aGk=", "image/png", "file:///a.png", NOTES)),
        (BLOCKS[2], rec.Audio("aGk=", "audio/wav", NOTES)),
        (BLOCKS[5], rec.Resource("file:///a.bin", None, "aGk=", "image/png")),
    ],
)
def test_content_is_read_completely(block: Any, record: rec.Content) -> None:
    assert read({"sessionUpdate": "agent_message_chunk", "content": block}) == ev.MessageChunk(
        "agent", record
    )


@pytest.mark.parametrize(
    ("update", "event"),
    list(
        zip(
            UNSTABLE,
            [
                ev.PlanReplaced((rec.PlanEntry("think", "high", "pending"),), "p1"),
                ev.PlanReplaced((), "p1", text="# Plan"),
                ev.PlanReplaced((), "p1", uri="file:///plan.md"),
                ev.PlanRemoved("p1"),
            ],
            strict=True,
        )
    ),
)
def test_unstable_plans_are_read(update: Any, event: ev.Event) -> None:
    assert read(update) == event


def test_choices_of_invalid_types_are_dropped() -> None:
    options = [
        {"value": "a", "name": 5, "description": 6},
        {"value": 7},
        "x",
        {"group": "g", "options": "no"},
    ]
    event = read(
        {"sessionUpdate": "config_option_update", "configOptions": [{**CONFIG[0], "options": options}]}
    )
    assert isinstance(event, ev.ConfigReplaced)
    assert event.options[0].choices == (rec.Choice("a", "5"),)


@pytest.mark.parametrize(
    "update",
    [
        {"sessionUpdate": "teleport", "to": "Mars"},
        {"sessionUpdate": 5},
        {"sessionUpdate": ["x"]},
        {"x": 1},
        {"sessionUpdate": "agent_message_chunk"},
        {"sessionUpdate": "plan_update", "plan": {"type": "song"}},
        [],
        "x",
        None,
    ],
    ids=repr,
)
def test_an_unknown_update_is_kept(update: Any) -> None:
    event = read(update)
    assert isinstance(event, ev.UnknownReceived)
    assert event.raw == update
    assert isinstance(event.what, str)


@pytest.mark.parametrize("value", [None, 5, [], {}, {"sessionId": 5, "update": FULL["notice"]}], ids=repr)
def test_an_update_without_a_session_is_kept(value: Any) -> None:
    session, event = v1.read_update(raw(value))
    assert session is None
    assert isinstance(event, ev.UnknownReceived)
    assert event.raw == value


def test_an_update_that_is_not_json_is_kept_in_part() -> None:
    session, event = v1.read_update(msgspec.Raw(b'{"x":' + b"[" * 500))
    assert session is None
    assert isinstance(event, ev.UnknownReceived)
    assert event.raw.startswith('{"x":[')
    assert len(event.raw) <= 400


@pytest.mark.parametrize("number", ["1e400", "9" * 30, "9" * 4000, "9" * 6000, "NaN"])
def test_numbers_of_any_size_can_be_written_again(number: str) -> None:
    text = json.dumps({"sessionId": SESSION, "update": {**FULL["tool_call"], "rawInput": [7]}})
    _, event = v1.read_update(
        msgspec.Raw(text.replace('"rawInput": [7]', f'"rawInput": [{number}]').encode())
    )
    assert isinstance(event, ev.ToolChanged)
    json.dumps(event.raw_input, allow_nan=False)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """An update with something in it replaced, at any depth."""
    update = copy.deepcopy(draw(st.sampled_from([*FULL.values(), *UNSTABLE])))
    for _ in range(draw(st.integers(1, 3))):
        at: Any = update
        while True:
            places = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not places:
                break
            place = draw(st.sampled_from(places))
            if isinstance(at[place], dict | list) and draw(st.booleans()):
                at = at[place]
                continue
            at[place] = copy.deepcopy(draw(JSON | st.sampled_from([TEXT, TOOL, BLOCKS, {"type": "new"}])))
            break
    return update


@settings(max_examples=300, deadline=None)
@given(damaged() | JSON)
def test_no_update_raises_and_none_is_lost(update: Any) -> None:
    data = params(update)
    session, event = v1.read_update(data)
    assert session == SESSION
    if isinstance(event, ev.UnknownReceived):
        assert msgspec.json.encode(event.raw) == msgspec.json.encode(update)


# ---- what we send ----------------------------------------------------------------------------------

MCP_SERVERS: list[dict[str, Any]] = [
    {"name": "a", "command": "/bin/a", "args": ["-x"], "env": [{"name": "K", "value": "v"}]},
    {"type": "http", "name": "b", "url": "http://127.0.0.1/", "headers": [{"name": "K", "value": "v"}]},
    {"type": "sse", "name": "c", "url": "http://127.0.0.1/", "headers": []},
]
SENDABLE: list[rec.Content] = [
    rec.Text("x"),
    rec.Text("x", NOTES),
    rec.Text("x", {"audience": "wrong", "priority": 1, "unknown": True}),
    rec.Image("aGk=", "image/png"),
    rec.Image("aGk=", "image/png", "file:///a.png", NOTES),
    rec.Audio("aGk=", "audio/wav", NOTES),
    rec.ResourceLink("file:///a", "a"),
    rec.ResourceLink("file:///a", "a", "A", "b", "text/plain", 0, NOTES),
    rec.Resource("file:///a", "text"),
    rec.Resource("file:///a", "", None, "text/plain", NOTES),
    rec.Resource("file:///a", None, "aGk="),
]
REQUESTS: list[v1.Call] = [
    v1.initialize(CAPABILITIES, name="acp_notebook", title="acp_notebook", version="1"),
    v1.initialize({}, name="n", title="", version=""),
    v1.authenticate("key"),
    v1.logout(),
    v1.new_session("/w", ()),
    v1.new_session("/w", MCP_SERVERS, ["/x", "/y"]),
    v1.load_session("s", "/w", ()),
    v1.load_session("s", "/w", MCP_SERVERS, ["/x"]),
    v1.resume_session("s", "/w", ()),
    v1.resume_session("s", "/w", MCP_SERVERS, ["/x"]),
    v1.list_sessions(None, None),
    v1.list_sessions("/w", "next"),
    v1.close_session("s"),
    v1.delete_session("s"),
    v1.set_mode("s", "plan"),
    v1.set_config("s", "model", "m1"),
    v1.set_config("s", "web", True),
    v1.set_config("s", "web", False),
    v1.prompt("s", SENDABLE),
    v1.prompt("s", ()),
]
NOTIFICATIONS: list[v1.Call] = [v1.cancel("s"), v1.cancel_request(7)]


@pytest.mark.parametrize("call", REQUESTS, ids=lambda call: call[0])
def test_all_our_requests_are_valid(call: v1.Call) -> None:
    _, data = jsonrpc.Peer().request(*call)
    schema.validate(json.loads(data), "c2a")


@pytest.mark.parametrize("call", NOTIFICATIONS, ids=lambda call: call[0])
def test_all_our_notifications_are_valid(call: v1.Call) -> None:
    schema.validate(json.loads(jsonrpc.Peer.notification(*call)), "c2a")


def test_we_can_call_every_method_of_an_agent() -> None:
    assert {method for method, _ in REQUESTS} == schema.methods("agent", "Request")
    ours = schema.methods("agent", "Notification") | schema.methods("protocol", "Notification")
    assert {method for method, _ in NOTIFICATIONS} == ours


def test_we_know_every_method_that_an_agent_can_call() -> None:
    assert (
        set(v1.requests.AGENT_REQUESTS)
        == schema.methods("client", "Request")
        == schema.methods("client", "Response")
    )
    assert schema.methods("client", "Notification") == {"session/update", "elicitation/complete"}


@pytest.mark.parametrize("content", [rec.Diff("a", "b"), rec.Terminal("t"), rec.UnknownContent({})])
def test_content_that_only_agents_send_is_not_sent(content: rec.Content) -> None:
    with pytest.raises(TypeError, match=type(content).__name__):
        v1.prompt("s", [content])


def test_content_that_came_from_an_agent_can_be_sent_back_unchanged() -> None:
    for block in BLOCKS:
        event = read({"sessionUpdate": "agent_message_chunk", "content": block})
        assert isinstance(event, ev.MessageChunk)
        sent = json.loads(msgspec.json.encode(v1.prompt("s", [event.content])[1]))
        assert sent["prompt"] == [block]


# ---- what agents ask, and our answers -----------------------------------------------------------------

FORM = {
    "message": "who?",
    "mode": "form",
    "sessionId": SESSION,
    "toolCallId": "t1",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}
EXCHANGES: list[tuple[str, dict[str, Any], s.Wire]] = [
    (
        "session/request_permission",
        {
            "sessionId": SESSION,
            "toolCall": TOOL,
            "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}],
        },
        v1.requests.permission_response("y"),
    ),
    (
        "session/request_permission",
        {"sessionId": SESSION, "toolCall": {"toolCallId": "t1"}, "options": []},
        v1.requests.permission_response(None),
    ),
    ("fs/read_text_file", {"sessionId": SESSION, "path": "/a"}, s.ReadTextFileResponse(content="")),
    (
        "fs/read_text_file",
        {"sessionId": SESSION, "path": "/a", "line": 1, "limit": 2},
        s.ReadTextFileResponse(content="x\n"),
    ),
    ("fs/write_text_file", {"sessionId": SESSION, "path": "/a", "content": ""}, s.Empty()),
    (
        "terminal/create",
        {
            "sessionId": SESSION,
            "command": "ls",
            "args": ["-l"],
            "env": [{"name": "K", "value": "v"}],
            "cwd": "/",
            "outputByteLimit": 10,
        },
        s.CreateTerminalResponse(terminal_id="t"),
    ),
    ("terminal/create", {"sessionId": SESSION, "command": "ls"}, s.CreateTerminalResponse(terminal_id="t")),
    (
        "terminal/output",
        {"sessionId": SESSION, "terminalId": "t"},
        s.TerminalOutputResponse(output="", truncated=False),
    ),
    (
        "terminal/output",
        {"sessionId": SESSION, "terminalId": "t"},
        s.TerminalOutputResponse(output="x", truncated=True, exit_status=s.TerminalExitStatus(exit_code=0)),
    ),
    (
        "terminal/wait_for_exit",
        {"sessionId": SESSION, "terminalId": "t"},
        s.TerminalExitStatus(exit_code=None, signal="SIGKILL"),
    ),
    ("terminal/wait_for_exit", {"sessionId": SESSION, "terminalId": "t"}, s.TerminalExitStatus(exit_code=0)),
    ("terminal/kill", {"sessionId": SESSION, "terminalId": "t"}, s.Empty()),
    ("terminal/release", {"sessionId": SESSION, "terminalId": "t"}, s.Empty()),
    ("elicitation/create", FORM, s.CreateElicitationResponse(action="accept", content={"name": "x", "n": 1})),
    (
        "elicitation/create",
        {
            "message": "go",
            "mode": "url",
            "requestId": 3,
            "elicitationId": "e1",
            "url": "https://example.org/",
        },
        s.CreateElicitationResponse(action="decline"),
    ),
    ("elicitation/create", FORM, s.CreateElicitationResponse(action="cancel")),
]


@pytest.mark.parametrize(
    ("method", "asked", "answer"), EXCHANGES, ids=lambda it: it if isinstance(it, str) else ""
)
def test_an_agents_request_is_read_and_our_response_is_valid(method: str, asked: Any, answer: s.Wire) -> None:
    schema.validate({"jsonrpc": "2.0", "id": 0, "method": method, "params": asked}, "a2c")
    asked_as, answered_as = v1.requests.AGENT_REQUESTS[method]
    assert json.loads(msgspec.json.encode(msgspec.json.decode(raw(asked), type=asked_as))) == asked
    assert isinstance(answer, answered_as)
    schema.validate(json.loads(jsonrpc.Peer.result(0, answer)), "c2a", method)


def test_there_is_an_example_of_every_request() -> None:
    assert {method for method, _, _ in EXCHANGES} == set(v1.requests.AGENT_REQUESTS)


@pytest.mark.parametrize("id", [0, "a", None])
@pytest.mark.parametrize("data", [None, {"x": 1}, "text"])
def test_our_error_responses_are_valid(id: jsonrpc.Id, data: Any) -> None:
    answer = jsonrpc.Peer.error(id, jsonrpc.RpcError(jsonrpc.CANCELLED, "cancelled", data))
    schema.validate(json.loads(answer), "c2a", "fs/read_text_file")


def test_a_permission_request_is_read_with_its_tool_call() -> None:
    asked = v1.requests.read_permission(raw(EXCHANGES[0][1]))
    assert asked.session_id == SESSION
    assert asked.tool == replace(_call, created=False, meta=ev.UNSET)
    assert asked.options == (rec.Option("y", "Yes", "allow_once"),)
    assert asked.raw is None


def test_a_permission_request_keeps_unknown_kinds_and_drops_broken_options() -> None:
    options = [{"optionId": "a", "name": "A", "kind": "allow_sometimes"}, {"name": "no id"}, 5]
    value = {"sessionId": SESSION, "toolCall": {"toolCallId": "t"}, "options": options, "new": 1}
    asked = v1.requests.read_permission(raw(value))
    assert asked.options == (rec.Option("a", "A", "allow_sometimes"),)
    assert asked.raw == asked.tool.raw == value


@pytest.mark.parametrize(
    "value",
    [None, {}, {"sessionId": SESSION, "options": []}, {"sessionId": SESSION, "toolCall": {}, "options": []}],
)
def test_a_permission_request_without_its_essentials_is_malformed(value: Any) -> None:
    with pytest.raises(v1.Malformed):
        v1.requests.read_permission(raw(value))


@pytest.mark.parametrize("id", [0, 3, "a", None])
def test_a_cancelled_request_is_named_by_its_id(id: Any) -> None:
    assert v1.requests.read_cancel_request(raw({"requestId": id})) == id


# ---- answers of agents --------------------------------------------------------------------------------


def test_an_introduction_is_read_completely() -> None:
    result = {
        "protocolVersion": 1,
        "agentInfo": {"name": "a", "title": "A", "version": "2"},
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": True},
            "sessionCapabilities": {
                name: {} for name in ("list", "resume", "close", "delete", "additionalDirectories")
            },
            "auth": {"logout": {}},
            "_meta": {"vendor": True, "own": {"methods": ["_own/do", 7]}, "other": {"methods": "_x/y"}},
        },
        "_meta": {"x": 1},
        "authMethods": [
            {"id": "k", "name": "Key"},
            {
                "id": "t",
                "name": "T",
                "description": "d",
                "type": "terminal",
                "args": ["-l"],
                "env": {"A": "b"},
            },
        ],
    }
    schema.validate({"jsonrpc": "2.0", "id": 1, "result": result}, "a2c", "initialize")
    facts = v1.read_initialize(raw(result))
    can = facts.capabilities
    assert all(getattr(can, name) for name in can.__struct_fields__ if name != "fork")
    assert not can.fork
    assert can.methods == ("_own/do",)
    assert can.meta == result["agentCapabilities"]["_meta"]  # type: ignore[index]
    assert facts.meta == {"x": 1}
    assert (facts.name, facts.title, facts.version, facts.raw) == ("a", "A", "2", None)
    assert facts.auth_methods == (
        AuthMethod("k", "Key"),
        AuthMethod("t", "T", "d", "terminal", ("-l",), {"A": "b"}),
    )


@pytest.mark.parametrize("no", [None, False])
def test_a_capability_that_is_null_or_false_is_not_offered(no: Any) -> None:
    can = {"sessionCapabilities": {"list": no, "resume": no, "close": no}, "auth": {"logout": no}}
    facts = v1.read_initialize(raw({"protocolVersion": 1, "agentCapabilities": can}))
    assert not any(getattr(facts.capabilities, name) for name in facts.capabilities.__struct_fields__)


@pytest.mark.parametrize("capabilities", [None, 5, [], {"loadSession": "yes", "promptCapabilities": 3}])
def test_unreadable_capabilities_are_not_offered(capabilities: Any) -> None:
    facts = v1.read_initialize(raw({"protocolVersion": 1, "agentCapabilities": capabilities}))
    assert not any(getattr(facts.capabilities, name) for name in facts.capabilities.__struct_fields__)
    assert facts.raw is not None


MODES = {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A", "description": "d"}]}


def test_config_options_win_over_modes() -> None:
    facts = v1.read_new_session(raw({"sessionId": "s", "configOptions": CONFIG, "modes": MODES}))
    assert facts.id == "s"
    assert facts.events == (replace(EVENTS["config_option_update"], meta=None),)


def test_modes_are_read_without_config_options() -> None:
    facts = v1.read_session(raw({"modes": MODES, "configOptions": None}))
    assert facts.events == (ev.ModesReplaced((rec.Mode("a", "A", "d"),), "a"),)


def test_the_models_of_older_agents_are_an_option() -> None:
    models = {
        "currentModelId": "b",
        "availableModels": [
            {"modelId": "a", "name": "A", "description": "d"},
            {"modelId": "b"},
            {"name": "x"},
            5,
        ],
    }
    facts = v1.read_session(raw({"models": models}))
    choices = (rec.Choice("a", "A", "d"), rec.Choice("b", "b"))
    option = rec.ConfigOption("model", "Model", "select", "b", choices, category="model", set_by="model")
    assert facts.events == (ev.ConfigReplaced((option,)),)
    select = {"type": "select", "id": "m", "name": "M", "currentValue": "x", "options": []}
    (only,) = v1.read_session(raw({"models": models, "configOptions": [select]})).events
    assert isinstance(only, ev.ConfigReplaced)
    assert [it.id for it in only.options] == ["m"]


@pytest.mark.parametrize("models", [None, 5, [], {"currentModelId": "a"}, {"availableModels": "no"}])
def test_unreadable_models_are_ignored(models: object) -> None:
    assert v1.read_session(raw({"models": models})).events == ()


@pytest.mark.parametrize("result", [None, {}])
def test_the_response_to_load_may_be_empty(result: Any) -> None:
    assert v1.read_session(raw(result)).events == ()


@pytest.mark.parametrize("result", [None, {}, {"sessionId": 5}, []])
def test_a_new_session_needs_an_id(result: Any) -> None:
    with pytest.raises(v1.Malformed):
        v1.read_new_session(raw(result))


def test_unreadable_sessions_are_not_listed() -> None:
    one = {"sessionId": "s", "cwd": "/w", "title": "T", "updatedAt": "2026", "additionalDirectories": ["/x"]}
    found, following = v1.read_sessions(raw({"sessions": [one, {"sessionId": "t"}, 5], "nextCursor": "n"}))
    assert found == (SessionInfo("s", "/w", "T", "2026", ("/x",)),)
    assert following == "n"


def answers() -> Iterator[tuple[Any, str, rec.TokenUsage | None]]:
    yield {"stopReason": "end_turn"}, "end_turn", None
    yield {"stopReason": "brand_new", "new": 1}, "brand_new", None
    tokens = {
        "totalTokens": 6,
        "inputTokens": 1,
        "outputTokens": 2,
        "thoughtTokens": 3,
        "cachedReadTokens": 4,
    }
    yield (
        {"stopReason": "end_turn", "usage": {**tokens, "cachedWriteTokens": 5}},
        "end_turn",
        rec.TokenUsage(6, 1, 2, 3, 4, 5),
    )
    yield {"stopReason": "refusal", "usage": "much"}, "refusal", None


@pytest.mark.parametrize(("result", "reason", "usage"), list(answers()))
def test_the_end_of_a_turn_is_read(result: Any, reason: str, usage: rec.TokenUsage | None) -> None:
    answer = v1.read_prompt_response(raw(result))
    assert (answer.stop_reason, answer.usage) == (reason, usage)


def test_the_response_to_a_changed_option_is_the_whole_list() -> None:
    expected = replace(EVENTS["config_option_update"], meta=None)
    assert v1.read_config(raw({"configOptions": CONFIG})) == expected
