"""Quirks apply to the agents that need them; each is proved by a recording of its agent."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

import acp_notebook as acp
from acp_notebook.agent.known_agents import quirks
from acp_notebook.agent.known_agents.quirks import TABLE, Entry, Quirks
from acp_notebook.agent.recordings import recording
from acp_notebook.agent.terminals.agent_terminals import AgentTerminals
from acp_notebook.core import events as ev
from acp_notebook.core.records import Terminal
from acp_notebook.core.snapshot import TerminalRun
from acp_notebook.core.transcript import Transcript
from acp_notebook.wire import v1

LIMIT_S = 60.0
FOLDER = Path(__file__).parents[2] / "data" / "transcripts"


def test_every_entry_says_why() -> None:
    assert all(len(entry.reason) > 60 and entry.quirks != Quirks() for entry in TABLE)


@pytest.mark.parametrize(
    "command",
    [
        ["claude-code-acp"],
        ["/usr/local/bin/claude-code-acp"],
        ["npx", "-y", "@zed-industries/claude-code-acp@0.16.2"],
        ["node", "/opt/claude-code-acp.js"],
    ],
)
def test_an_agent_is_known_by_any_word_of_its_command(command: list[str]) -> None:
    assert quirks.before_start(command).env == {"CLAUDECODE": None}


@pytest.mark.parametrize("command", [["demo"], ["my-claude-code-acp-wrapper"], ["x", "--claude-code-acp"]])
def test_other_agents_get_only_the_general_quirks(command: list[str]) -> None:
    found = quirks.before_start(command)
    assert (found.env, found.missing_reads_empty) == ({}, False)
    assert found.terminals_in_meta


def test_an_agent_is_known_by_what_it_calls_itself() -> None:
    assert quirks.for_agent(["some-wrapper"], "gemini-cli", "0.61.0").missing_reads_empty
    assert not quirks.for_agent(["some-wrapper"], "kimi", "0.61.0").missing_reads_empty


def test_an_agent_without_a_name_is_known_by_a_method_that_it_offers() -> None:
    method = quirks.QWEN_HEARTBEAT
    assert quirks.for_agent(["https://x"], None, None, [method]).history_method == method
    assert quirks.for_agent(["https://x"], None, None, ["_qwen/other"]).history_method is None


@pytest.mark.parametrize(
    ("command", "lasts"),
    [
        (["claude-code-acp"], "in this folder"),
        (["npx", "-y", "@agentclientprotocol/claude-agent-acp"], "until the session ends"),
        (["kimi", "acp"], "until the session ends"),
        (["gemini", "--acp"], "until the session ends"),
        (["goose", "acp"], "in all folders"),
        (["codex-acp"], "in all folders"),
    ],
)
def test_the_duration_of_an_agents_own_always_is_known(command: list[str], lasts: str) -> None:
    assert lasts in (quirks.before_start(command).always_lasts or "")
    assert quirks.before_start(["demo"]).always_lasts is None


@pytest.mark.parametrize(
    ("version", "holds"),
    [
        ("1.2.0", True),
        ("1.9.9-beta.2", True),
        ("v1.2", False),
        ("1.1.9", False),
        ("2.0.0", False),
        (None, True),
    ],
)
def test_an_entry_applies_to_its_versions_and_to_unknown_ones(version: str | None, holds: bool) -> None:
    entry = Entry("x", Quirks(), "", since=(1, 2, 0), before=(2,))
    assert entry.applies_to(["x"], version) is holds


@given(st.lists(st.integers(0, 10**6), min_size=1), st.sampled_from(["", "-rc.1", "+build", " (abc)"]))
def test_version_numbers_are_parsed(numbers: list[int], rest: str) -> None:
    assert quirks.version_of(".".join(map(str, numbers)) + rest) == tuple(numbers)


@given(st.text())
def test_any_version_text_is_accepted(text: str) -> None:
    assert all(number >= 0 for number in quirks.version_of(text))


def test_a_variable_is_withheld_unless_the_user_set_it() -> None:
    inherited = {"CLAUDECODE": "1", "PATH": "/bin"}
    command = ["claude-code-acp"]
    assert quirks.environment(inherited, command, {}) == {"PATH": "/bin"}
    assert quirks.environment(inherited, command, {"CLAUDECODE": "1"}) == inherited
    assert quirks.environment(inherited, ["other"], {}) == inherited


# ---- from recordings


def recorded(name: str, direction: str) -> list[dict[str, Any]]:
    entries = recording.load(FOLDER / f"{name}.jsonl")
    return [it.message for it in entries if it.direction == direction and isinstance(it.message, dict)]


def prompts(name: str) -> list[str]:
    asked = (it for it in recorded(name, "c2a") if it.get("method") == "session/prompt")
    return [it["params"]["prompt"][0]["text"] for it in asked]


def ran(turn: acp.Turn) -> list[tuple[Any, ...]]:
    """The terminals of a turn, each cited by a tool call."""
    cited = [it.terminal_id for call in turn.tool_calls for it in call.content if isinstance(it, Terminal)]
    found = [it for it in turn.items if isinstance(it, TerminalRun)]
    assert [it.id for it in found] == cited
    return [(it.command, it.output, it.status, it.exit_code) for it in found]


def test_codex_commands_are_terminals_with_the_reported_output() -> None:
    def policy(request: acp.PermissionRequest) -> str:
        return "reject" if "no.txt" in request.tool.title else "allow"

    with acp.connect(cassette=FOLDER / "codex-acp.jsonl", permissions=policy) as session:
        slow, quick, rejected = [ran(session.prompt(it)) for it in prompts("codex-acp")]
    loop = "for i in 1 2 3; do echo line $i; sleep 0.6; done; exit 3"
    assert slow == [(loop, "line 2\nline 3\n", "exited", 3)], "its first line codex loses itself"
    assert quick == [("printf '%s-%s' 42 seen", "42-seen", "exited", 0)], "sent at its end, in one piece"
    assert rejected == []


def test_claude_commands_are_terminals_too(tmp_path: Path) -> None:
    terminals = AgentTerminals(lambda _: False)
    transcript = Transcript()
    transcript.apply(ev.TurnStarted(()))
    for message in recorded("claude-agent-acp.rich", "a2c"):
        if message.get("method") == "session/update" and "toolCallId" in message["params"]["update"]:
            _, event = v1.read_update(Raw(json.dumps(message["params"]).encode()))
            assert isinstance(event, ev.ToolChanged)
            transcript.apply_all(terminals.expand(event))
    assert list(terminals.on_turn_ended()) == [], "each has ended"
    shown = [it for it in transcript.snapshot().items if isinstance(it, TerminalRun)]
    assert [(it.output.splitlines()[0][:13], it.exit_code) for it in shown] == [
        ("mock-shell-ok", 0),
        ("Exit code 3", 3),
        ("The user does", None),
    ]
    assert shown[1].command == "echo about-to-fail; exit 3"


GEMINI = """
import json, sys

recorded = json.loads(sys.argv[1])

def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") in ("initialize", "session/new"):
        send({"id": message["id"], "result": recorded[message["method"]]})
    elif message.get("method") == "session/prompt":
        session = message["params"]["sessionId"]
        asked = {**recorded["fs/read_text_file"], "sessionId": session, "path": sys.argv[2]}
        send({"id": 0, "method": "fs/read_text_file", "params": asked})
        prompted = message["id"]
    elif message.get("id") == 0:
        said = {"type": "text", "text": json.dumps(message.get("result", message.get("error")))}
        update = {"sessionUpdate": "agent_message_chunk", "content": said}
        send({"method": "session/update", "params": {"sessionId": session, "update": update}})
        send({"id": prompted, "result": {"stopReason": "end_turn"}})
"""


def gemini(name: str, path: Path) -> list[str]:
    """An agent that introduces itself like gemini, or by another name, and reads like gemini."""
    asked = {it["id"]: it["method"] for it in recorded("gemini-cli", "c2a")[:4] if "method" in it}
    said = recorded("gemini-cli", "a2c")
    responses = {
        asked[it["id"]]: it["result"] for it in reversed(said) if it.get("id") in asked and "result" in it
    }
    responses["initialize"] = {**responses["initialize"], "agentInfo": {"name": name, "version": "0.61.0"}}
    responses["fs/read_text_file"] = next(
        it["params"] for it in said if it.get("method") == "fs/read_text_file"
    )
    return [sys.executable, "-c", GEMINI, json.dumps(responses), str(path)]


def test_gemini_reads_a_missing_file_as_an_empty_one_and_others_do_not(tmp_path: Path) -> None:
    missing, there = tmp_path / "missing.txt", tmp_path / "there.txt"
    there.write_text("here\n")
    heard = []
    for name, path in (("gemini-cli", missing), ("gemini-cli", there), ("other", missing)):
        with acp.connect(gemini(name, path), cwd=tmp_path) as session:
            heard.append(json.loads(session.prompt("go", timeout=LIMIT_S).text))
    assert heard[:2] == [{"content": ""}, {"content": "here\n"}]
    assert heard[2]["code"] == -32002
    assert not missing.exists()


# ---- terminals that agents report


def tool(**meta: Any) -> ev.ToolChanged:
    return ev.ToolChanged("call", meta=meta)


def events(terminals: AgentTerminals, *calls: ev.ToolChanged) -> list[ev.Event]:
    return [it for call in calls for it in terminals.expand(call) if not isinstance(it, ev.ToolChanged)]


def test_output_of_an_unannounced_terminal_creates_it() -> None:
    output = {"terminal_id": "x", "data": "hi"}
    assert events(AgentTerminals(lambda _: False), tool(terminal_output_delta=output)) == [
        ev.TerminalChanged("x", status="running"),
        ev.TerminalOutput("x", "hi"),
    ]


def test_a_terminal_that_is_never_ended_ends_with_its_call_or_with_the_turn() -> None:
    terminals = AgentTerminals(lambda _: False)
    begun = tool(terminal_info={"terminal_id": "x"})
    ended = ev.TerminalChanged("x", status="exited")
    assert events(terminals, begun, ev.ToolChanged("call", status="failed"))[-1] == ended
    assert list(terminals.on_turn_ended()) == []
    events(terminals, begun)
    assert list(terminals.on_turn_ended()) == [ev.TerminalChanged("x", status="killed")]
    assert list(terminals.on_turn_ended()) == []


def test_reports_about_our_own_terminals_are_ignored() -> None:
    terminals = AgentTerminals(lambda id: id == "term-1")
    forged = tool(terminal_output={"terminal_id": "term-1", "data": "all tests passed"})
    assert events(terminals, forged) == []


@pytest.mark.parametrize(
    "meta",
    [
        *(None, 1, "x", [], {"terminal_info": None}, {"terminal_output": {"data": "x"}}),
        *({"terminal_output": {"terminal_id": 1, "data": "x"}}, {"terminal_exit": {"terminal_id": None}}),
        {"terminal_output": {"terminal_id": "x", "data": None}},
    ],
)
def test_invalid_reports_are_ignored(meta: Any) -> None:
    assert events(AgentTerminals(lambda _: False), ev.ToolChanged("call", meta=meta)) == []


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("ls -l", "ls -l"),
        (["bash", "-lc", "ls | wc"], "ls | wc"),
        (["ls", "a b"], "ls 'a b'"),
        ([], None),
        (7, None),
    ],
)
def test_the_command_is_shown_as_one_would_type_it(command: Any, shown: str | None) -> None:
    terminals = AgentTerminals(lambda _: False)
    events(terminals, tool(terminal_info={"terminal_id": "x"}))
    expected = [] if shown is None else [ev.TerminalChanged("x", command=shown)]
    assert events(terminals, ev.ToolChanged("call", raw_input={"command": command})) == expected


REPORTS_TERMINALS = """
import json, sys

def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def update(**fields):
    update = {"toolCallId": "call", **fields}
    send({"method": "session/update", "params": {"sessionId": "s", "update": update}})

for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        send({"id": message["id"], "result": {"protocolVersion": 1, "agentCapabilities": {}}})
    elif message.get("method") == "session/new":
        send({"id": message["id"], "result": {"sessionId": "s"}})
    elif message.get("method") == "session/prompt":
        shown = [{"type": "terminal", "terminalId": "x"}]
        info = {"terminal_info": {"terminal_id": "x"}}
        update(sessionUpdate="tool_call", title="ls", kind="execute", content=shown, _meta=info)
        for word in ("one ", "two"):
            output = {"terminal_output": {"terminal_id": "x", "data": word}}
            update(sessionUpdate="tool_call_update", _meta=output)
        send({"id": message["id"], "result": {"stopReason": "end_turn"}})
"""


def test_a_recording_contains_reported_output_once_and_replays_it(tmp_path: Path) -> None:
    record = tmp_path / "recording.jsonl"
    with acp.connect([sys.executable, "-c", REPORTS_TERMINALS], cwd=tmp_path, record=record) as session:
        first = session.prompt("go", timeout=LIMIT_S)
    assert ran(first) == [("", "one two", "killed", None)]
    assert not [
        it for it in recording.read(record).entries if it.direction == "did" and "terminal" in str(it)
    ]
    with acp.connect(cassette=record, cwd=tmp_path) as session:
        assert ran(session.prompt("go", timeout=LIMIT_S)) == ran(first)


def test_geminis_token_counts_are_read() -> None:
    answers = [
        Raw(json.dumps(it["result"]).encode()) for it in recorded("gemini-cli", "a2c") if "result" in it
    ]
    ends = [it for it in answers if b"stopReason" in bytes(it)]
    usages = [v1.read_prompt_response(it, usage_in_meta=True).usage for it in ends]
    assert {it.total for it in usages if it is not None} >= {120}
    assert [v1.read_prompt_response(it).usage for it in ends] == [None] * len(ends)
    assert quirks.for_agent(["x"], "gemini-cli", "0.61.0").usage_in_meta
    assert not quirks.for_agent(["x"], "other", "0.61.0").usage_in_meta


@pytest.mark.parametrize(
    "meta",
    [None, 7, {}, {"quota": []}, {"quota": {"token_count": {"input_tokens": "9", "output_tokens": -1}}}],
)
def test_invalid_token_counts_are_ignored(meta: Any) -> None:
    answer = Raw(json.dumps({"stopReason": "end_turn", "_meta": meta}).encode())
    assert v1.read_prompt_response(answer, usage_in_meta=True).usage is None
