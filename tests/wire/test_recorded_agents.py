"""Recordings of real agents, from bytes to transcripts: nothing unknown or lost, always the same."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from acp_notebook.agent.recordings import recording
from acp_notebook.core import events as ev
from acp_notebook.core.export import to_html, to_markdown, to_text
from acp_notebook.core.patches import Patch, State, coalesce, from_wire, to_wire
from acp_notebook.core.records import Text, UnknownContent
from acp_notebook.core.snapshot import Message, TurnStart
from acp_notebook.core.transcript import Transcript
from acp_notebook.wire import jsonrpc, v1
from acp_notebook.wire.jsonrpc import Garbage, Notification, Request, Response
from tests import schema

FOLDER = Path(__file__).parents[1] / "data" / "transcripts"
NAMES = sorted(path.stem for path in FOLDER.glob("*.jsonl"))

UNSTABLE_METHODS = {"session/fork", "session/set_model"}
"""Responses of agents that are not in the stable schema."""


class Session:
    def __init__(self) -> None:
        self.transcript = Transcript()
        self.patches: list[Patch] = []

    def apply(self, event: ev.Event) -> None:
        self.patches += self.transcript.apply(event)


class Replayed:
    """The transcript of a recording: the agent's messages from bytes, the client's from its actions."""

    def __init__(self, entries: list[recording.Entry]) -> None:
        self.sessions: list[Session] = []
        self._open: dict[str, Session] = {}
        self.events: list[tuple[Any, ev.Event]] = []
        self.received: dict[str, tuple[Any, str]] = {}
        """A message of each shape, with its method."""
        self._peer = jsonrpc.Peer()
        self._ids: dict[Any, int] = {}
        self._asked: dict[int, dict[str, Any]] = {}
        self._questions: dict[Any, str] = {}
        for entry in entries:
            if entry.direction == "c2a":
                self._sent(entry.message)
            else:
                self._received(entry)

    def session(self, id: str) -> Session:
        if id not in self._open:
            self._open[id] = Session()
            self.sessions.append(self._open[id])
        return self._open[id]

    def _sent(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            self._settled(message)
            return
        method, params = message["method"], message.get("params") or {}
        if "id" in message:
            ours, _ = self._peer.request(method, params)
            self._ids[message["id"]] = ours
            self._asked[ours] = params
        if method == "session/prompt":
            prompt = tuple(Text(block.get("text", "")) for block in params.get("prompt", ()))
            self.session(params["sessionId"]).apply(ev.TurnStarted(prompt))
        elif method == "session/cancel":
            self.session(params["sessionId"]).apply(ev.TurnCancelling())
        elif method == "session/load":
            self._open.pop(params["sessionId"], None)  # another one with the same id: its history is replayed

    def _settled(self, message: dict[str, Any]) -> None:
        session = self._questions.pop(message["id"], None)
        if session is not None:
            outcome = message.get("result", {}).get("outcome", {})
            settled = ev.QuestionSettled(str(message["id"]), outcome.get("optionId"), "user")
            self.session(session).apply(settled)

    def _received(self, entry: recording.Entry) -> None:
        message = entry.message
        if isinstance(message, dict) and "method" not in message:
            message = {**message, "id": self._ids[message["id"]]}
        data = str(entry.line).encode() if message is None else json.dumps(message).encode()
        (read,) = self._peer.receive(data + b"\n")
        if isinstance(read, Response | Request | Notification):
            self.received[json.dumps(shape(message))] = message, read.method
        self._take(read)

    def _take(self, read: jsonrpc.Incoming) -> None:
        match read:
            case Notification("session/update", params):
                id, event = v1.read_update(params)
                self.events.append((json.loads(bytes(params))["update"], event))
                self.session(str(id)).apply(event)
            case Request(id, "session/request_permission", params):
                asked = v1.requests.read_permission(params)
                session = self.session(asked.session_id)
                self._questions[id] = asked.session_id
                session.apply(asked.tool)
                session.apply(ev.QuestionAsked(str(id), asked.tool.id, asked.options, asked.raw))
            case Response(error=None):
                self._answered(read.method, self._asked[read.id], read.result)
            case Garbage():
                raise AssertionError(f"unreadable: {read}")

    def _answered(self, method: str, asked: dict[str, Any], result: Raw) -> None:
        match method:
            case "initialize":
                assert v1.read_initialize(result).protocol_version == v1.VERSION
            case "session/new":
                facts = v1.read_new_session(result)
                self._apply_all(facts.id, facts.events)
            case "session/load" | "session/resume":
                self._apply_all(asked["sessionId"], v1.read_session(result).events)
            case "session/set_config_option":
                self._apply_all(asked["sessionId"], (v1.read_config(result),))
            case "session/list":
                assert v1.read_sessions(result)[0]
            case "session/prompt":
                answer = v1.read_prompt_response(result)
                end = ev.TurnEnded("done", answer.stop_reason, usage=answer.usage, raw=answer.raw)
                self.session(asked["sessionId"]).apply(end)

    def _apply_all(self, id: str | None, events: tuple[ev.Event, ...]) -> None:
        for event in events:
            self.session(str(id)).apply(event)


def shape(value: Any) -> Any:
    """What the schema looks at: names, types and words; not the texts, of which there are thousands."""
    if isinstance(value, dict):
        return {name: shape(item) for name, item in sorted(value.items())}
    if isinstance(value, list):
        return [shape(item) for item in value]
    if isinstance(value, str):
        return value if value.replace("/", "_").isidentifier() and len(value) < 30 else ""
    return type(value).__name__


@cache
def replayed(name: str) -> Replayed:
    return Replayed(recording.load(FOLDER / f"{name}.jsonl"))


def summary(name: str) -> dict[str, Any]:
    items = [item for it in replayed(name).sessions for item in it.transcript.snapshot().items]
    messages = [item for item in items if isinstance(item, Message)]
    texts = "\0".join(message.text for message in messages)
    return {
        "sessions": len(replayed(name).sessions),
        **dict(sorted(Counter(type(item).__name__ for item in items).items())),
        "stops": dict(
            sorted(Counter(str(it.stop_reason) for it in items if isinstance(it, TurnStart)).items())
        ),
        "texts": hashlib.sha256(texts.encode()).hexdigest()[:12],
    }


GOLDEN: dict[str, dict[str, Any]] = {
    "claude-agent-acp": {
        "sessions": 5,
        "Message": 69,
        "Question": 7,
        "ToolCall": 20,
        "TurnStart": 50,
        "stops": {"None": 28, "cancelled": 6, "end_turn": 15, "refusal": 1},
        "texts": "2d831c638cfc",
    },
    "claude-agent-acp.rich": {
        "sessions": 2,
        "Message": 14,
        "Question": 3,
        "ToolCall": 5,
        "TurnStart": 8,
        "stops": {"cancelled": 2, "end_turn": 6},
        "texts": "5914661128fc",
    },
    "claude-code-acp": {
        "sessions": 5,
        "Message": 51,
        "Plan": 2,
        "Question": 9,
        "ToolCall": 20,
        "TurnStart": 42,
        "stops": {"None": 22, "cancelled": 5, "end_turn": 15},
        "texts": "e233c033c5b3",
    },
    "codex-acp": {
        "sessions": 1,
        "Message": 5,
        "Question": 3,
        "ToolCall": 3,
        "TurnStart": 3,
        "stops": {"cancelled": 1, "end_turn": 2},
        "texts": "3da8790b1dac",
    },
    "gemini-cli": {
        "sessions": 4,
        "Message": 57,
        "Question": 3,
        "ToolCall": 10,
        "TurnStart": 49,
        "stops": {"None": 29, "cancelled": 3, "end_turn": 17},
        "texts": "a1adab183472",
    },
    "goose": {
        "sessions": 1,
        "Message": 7,
        "Question": 9,
        "ToolCall": 9,
        "TurnStart": 7,
        "stops": {"end_turn": 7},
        "texts": "bcde9cdec881",
    },
    "kimi-code": {
        "sessions": 5,
        "Message": 63,
        "Plan": 1,
        "Question": 4,
        "ToolCall": 24,
        "TurnStart": 43,
        "stops": {"None": 22, "cancelled": 3, "end_turn": 17, "refusal": 1},
        "texts": "584086b121d9",
    },
    "ts-sdk-example": {
        "sessions": 1,
        "Message": 6,
        "Question": 2,
        "ToolCall": 4,
        "TurnStart": 2,
        "stops": {"end_turn": 2},
        "texts": "ef69d8045a0c",
    },
}


def test_every_recording_has_a_golden_summary() -> None:
    assert sorted(GOLDEN) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_produces_its_golden_transcript(name: str) -> None:
    assert summary(name) == GOLDEN[name]


@pytest.mark.parametrize("name", NAMES)
def test_agents_send_what_the_schema_allows(name: str) -> None:
    for message, method in replayed(name).received.values():
        if method not in UNSTABLE_METHODS:
            schema.validate(message, "a2c", method)


@pytest.mark.parametrize("name", NAMES)
def test_no_agent_sent_anything_unknown(name: str) -> None:
    for update, event in replayed(name).events:
        assert not isinstance(event, ev.UnknownReceived), update
        assert getattr(event, "raw", None) is None, update
        content = getattr(event, "content", ())
        for block in content if isinstance(content, tuple) else (content,):
            assert not isinstance(block, UnknownContent), update


@pytest.mark.parametrize("name", NAMES)
def test_the_patches_add_up_to_the_transcript(name: str) -> None:
    for session in replayed(name).sessions:
        state = State()
        for patch in coalesce(session.patches):
            state.apply(from_wire(json.loads(json.dumps(to_wire(patch)))))
        assert state.plain() == session.transcript.plain()


@pytest.mark.parametrize("name", NAMES)
def test_exports_are_deterministic_and_contain_the_agents_text(name: str) -> None:
    again = Replayed(recording.load(FOLDER / f"{name}.jsonl"))
    for session, twin in zip(replayed(name).sessions, again.sessions, strict=True):
        items = session.transcript.snapshot().items
        for write in (to_text, to_markdown, to_html):
            text = write(items, cwd=None)
            assert text == write(twin.transcript.snapshot().items, cwd=None)
        said = [
            it.text for it in items if isinstance(it, Message) and it.role == "agent" and it.text.isalnum()
        ]
        assert all(word in to_text(items, cwd=None) for word in said)


@pytest.mark.parametrize(
    ("name", "options", "modes", "commands", "costs"),
    [
        ("claude-agent-acp", ["mode", "model", "effort", "fast", "ultracode"], True, True, True),
        ("claude-code-acp", ["model"], True, True, False),
        ("codex-acp", ["model"], False, True, False),
        ("gemini-cli", ["model"], True, True, False),
        ("kimi-code", ["model", "mode"], True, True, False),
        ("ts-sdk-example", [], False, False, False),
    ],
)
def test_each_agents_options_and_introduction_are_known(
    name: str, options: list[str], modes: bool, commands: bool, costs: bool
) -> None:
    first = replayed(name).sessions[0].transcript.snapshot()
    assert [it.id for it in first.config][: len(options)] == options
    assert bool(first.modes or first.mode_option) == modes
    assert bool(first.commands) == commands
    assert (first.usage is not None and first.usage.cost is not None) == costs
    assert all(it.choices and it.value in it.values for it in first.config)
