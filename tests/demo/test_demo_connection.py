"""The demo agent as a JSON-RPC peer: initialize, login, bad input, cancellation of requests, its end."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.demo.demo_client import WAIT_S, Alive, Demo, Ended, Starter, text_block


def code_of(response: dict[str, Any]) -> int:
    return int(response["error"]["code"])


def test_initialize_reports_name_and_capabilities(start: Starter) -> None:
    result = start(initialize=False).initialize()
    assert result["protocolVersion"] == 1
    assert result["agentInfo"] == {"name": "acp-demo", "title": "Demo agent", "version": "1.0"}
    assert result["authMethods"] == []
    capabilities = result["agentCapabilities"]
    assert capabilities["promptCapabilities"] == {"image": True, "audio": True, "embeddedContext": True}
    assert capabilities["mcpCapabilities"] == {"http": True, "sse": True}
    assert capabilities["loadSession"] is False
    assert capabilities["sessionCapabilities"] == {"close": {}}


def test_another_protocol_version_is_answered_with_version_one(start: Starter) -> None:
    answered = start(initialize=False).call("initialize", {"protocolVersion": 7}).response
    assert answered["result"]["protocolVersion"] == 1


def test_a_session_before_initialize_is_an_invalid_request(start: Starter, tmp_path: Path) -> None:
    demo = start(initialize=False)
    turn = demo.call("session/new", {"cwd": str(tmp_path), "mcpServers": []})
    assert code_of(turn.response) == -32600


def test_with_auth_a_session_needs_a_login(start: Starter, tmp_path: Path) -> None:
    demo = start(initialize=False, ACP_DEMO_AUTH="1")
    assert [method["id"] for method in demo.initialize()["authMethods"]] == ["demo-login"]
    params = {"cwd": str(tmp_path), "mcpServers": []}
    assert code_of(demo.call("session/new", params).response) == -32000
    assert code_of(demo.call("authenticate", {"methodId": "other"}).response) == -32602
    assert demo.call("authenticate", {"methodId": "demo-login"}).response["result"] == {}
    assert demo.new(tmp_path) == "demo-1"
    assert demo.call("logout", {}).response["result"] == {}
    assert code_of(demo.call("session/new", params).response) == -32000


def test_without_auth_there_is_nothing_to_authenticate_with(start: Starter) -> None:
    assert code_of(start().call("authenticate", {"methodId": "demo-login"}).response) == -32602


@pytest.mark.parametrize("method", ["session/fork", "_private", "session/load", "session/list", "logout"])
def test_a_method_that_is_not_served_is_not_found(shared: Demo, method: Any) -> None:
    assert code_of(shared.call(method, {}).response) == -32601


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/new", {"mcpServers": []}),
        ("session/new", {"cwd": "relative", "mcpServers": []}),
        ("session/new", {"cwd": "/"}),
        ("session/prompt", {"prompt": []}),
        ("session/set_mode", {"sessionId": 5, "modeId": "ask"}),
        ("initialize", {}),
    ],
)
def test_bad_params_are_reported_as_such(shared: Demo, method: Any, params: Any) -> None:
    assert code_of(shared.call(method, params).response) == -32602


@pytest.mark.parametrize("prompt", [None, "text", [5], [{"text": "x"}], [{"type": "text"}]])
def test_a_prompt_that_is_not_a_list_of_blocks_is_bad_params(
    shared: Demo, tmp_path: Path, prompt: Any
) -> None:
    session = shared.new(tmp_path)
    turn = shared.call("session/prompt", {"sessionId": session, "prompt": prompt})
    assert code_of(turn.response) == -32602


def test_params_that_are_not_an_object_are_bad_params(shared: Demo) -> None:
    shared.write(b'{"jsonrpc":"2.0","id":"list","method":"session/new","params":[1]}')
    assert code_of(shared.until("list").response) == -32602


@pytest.mark.parametrize("method", ["session/prompt", "session/set_mode", "session/close"])
def test_an_unknown_session_is_not_found(shared: Demo, method: Any) -> None:
    params = {"sessionId": "none", "prompt": [], "modeId": "ask"}
    assert code_of(shared.call(method, params).response) == -32002


@pytest.mark.parametrize("line", [b"{broken", b'"\xff\xfe"', b"[" * 100_000])
def test_a_broken_line_is_a_parse_error_without_an_id(shared: Demo, line: Any) -> None:
    shared.write(line)
    answer = shared.read()
    assert (answer["id"], code_of(answer)) == (None, -32700)


@pytest.mark.parametrize("line", [b"42", b"null", b"[]", b'{"id": null}'])
def test_json_that_is_not_a_message_is_an_invalid_request(shared: Demo, line: Any) -> None:
    shared.write(line)
    assert code_of(shared.read()) == -32600


def test_unknown_notifications_stray_answers_and_empty_lines_are_ignored(
    shared: Demo, tmp_path: Path
) -> None:
    shared.send("session/strange", {"x": 1})
    shared.send("session/cancel", {"sessionId": "none"})
    shared.send("$/cancel_request", {"requestId": "never sent"})
    shared.write(b'{"jsonrpc":"2.0","id":12345,"result":{}}')
    shared.write(b"")
    assert shared.new(tmp_path)  # the next message is the answer to this


@pytest.mark.parametrize("request_id", [0, "a-string", -5])
def test_an_id_is_returned_unchanged(shared: Demo, tmp_path: Path, request_id: Any) -> None:
    shared.send("session/new", {"cwd": str(tmp_path), "mcpServers": []}, request_id)
    assert shared.read()["id"] == request_id
    assert shared.update()["sessionUpdate"] == "available_commands_update"


def test_a_cancelled_request_is_answered_as_cancelled(shared: Demo, tmp_path: Path) -> None:
    session = shared.new(tmp_path)
    shared.start_prompt(session, "/slow 600", "slow-one")
    assert shared.update()["content"]["text"] == "tick1 "
    shared.send("$/cancel_request", {"requestId": "slow-one"})
    assert code_of(shared.until("slow-one").response) == -32800
    assert shared.prompt(session, "/cwd").text == str(tmp_path)  # the session is free again


def test_it_exits_with_zero_when_stdin_ends_even_in_the_middle_of_a_turn(
    start: Starter, tmp_path: Path
) -> None:
    demo = start()
    demo.start_prompt(demo.new(tmp_path), "/hang", "hanging")
    assert demo.update()["content"]["text"] == "I hang."
    assert demo.close_stdin() == 0
    with pytest.raises(Ended):  # and no answer is invented for the prompt
        demo.read()
    demo.join()
    assert demo.stderr == b""


def test_stdin_that_ends_without_a_newline_is_still_answered(start: Starter) -> None:
    demo = start(initialize=False)
    assert demo.process.stdin is not None
    demo.process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}')
    assert demo.close_stdin() == 0
    demo.strict = False
    assert demo.read()["result"]["protocolVersion"] == 1


def test_stdin_that_ends_kills_the_command_it_runs(start: Starter, tmp_path: Path) -> None:
    demo, alive = start(), Alive(tmp_path)
    demo.start_prompt(demo.new(tmp_path), f"/run {alive.line('sleep 300')}", "running")
    demo.allow_first_question()
    alive.wait_until_up()
    assert demo.close_stdin() == 0
    alive.wait_until_gone()


def test_a_sigterm_ends_it_and_the_command_it_runs(start: Starter, tmp_path: Path) -> None:
    demo, alive = start(), Alive(tmp_path)
    demo.start_prompt(demo.new(tmp_path), f"/run {alive.line('sleep 300')}", "running")
    demo.allow_first_question()
    alive.wait_until_up()
    demo.process.send_signal(signal.SIGTERM)
    assert demo.process.wait(timeout=WAIT_S) == 128 + signal.SIGTERM
    alive.wait_until_gone()


def test_a_client_that_does_not_read_does_not_keep_it_from_exiting(start: Starter, tmp_path: Path) -> None:
    demo = start()
    session = demo.new(tmp_path)
    demo.start_prompt(session, "/stream 100000000", "endless")
    assert demo.update()["content"]["text"] == "word1 "
    assert demo.close_stdin() == 0


def test_the_package_imports_only_the_standard_library_and_itself() -> None:
    package = Path(__file__).parents[2] / "acp_notebook" / "demo"
    sources = "\n".join(path.read_text() for path in package.rglob("*.py"))
    for foreign in ("msgspec", "acp_notebook.", "from ...", "import acp", "anywidget"):
        lines = [line for line in sources.splitlines() if line.lstrip().startswith(("import ", "from "))]
        assert not [line for line in lines if foreign in line]


def test_a_plain_prompt_is_described_in_several_chunks_of_one_message(shared: Demo, tmp_path: Path) -> None:
    session = shared.new(tmp_path)
    prompt = [
        text_block("What is in here?"),
        {"type": "image", "mimeType": "image/png", "data": "AAAAAA=="},
        {"type": "resource_link", "uri": "file:///etl.py", "name": "etl.py"},
        {"type": "resource", "resource": {"uri": "file:///a.csv", "text": "1,2"}},
        {"type": "resource", "resource": {"uri": "file:///b.bin", "blob": "AAAA"}},
        {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
    ]
    turn = shared.call("session/prompt", {"sessionId": session, "prompt": prompt})
    assert turn.stop == "end_turn"
    assert len(turn.updates) > 2
    assert len({update["messageId"] for update in turn.updates}) == 1
    for words in (
        "“What is in here?”",
        "text of 16 characters",
        "image of image/png, 4 bytes",
        "link to file:///etl.py (etl.py)",
        "resource file:///a.csv, text of 3 characters",
        "resource file:///b.bin, 3 bytes",
        "audio of audio/wav, 3 bytes",
        "`/help`",
    ):
        assert words in turn.text


def test_a_long_prompt_is_quoted_shortened(shared: Demo, tmp_path: Path) -> None:
    text = shared.prompt(shared.new(tmp_path), "x" * 1000).text
    assert "x" * 79 + "…" in text
    assert "x" * 80 not in text


def test_an_unknown_slash_command_is_described_as_one(shared: Demo, tmp_path: Path) -> None:
    assert "I know no command `/nonsense`." in shared.prompt(shared.new(tmp_path), "/nonsense at all").text
