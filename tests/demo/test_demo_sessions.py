"""Sessions of the demo agent: several at once, modes and options, cancel, close, and the store."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from tests.demo.demo_client import FULL, WAIT_S, Demo, Starter, choosing, of_kind, text_of

COMMANDS = [
    *(
        "ask",
        "audio",
        "call",
        "calls",
        "cells",
        "client",
        "compact",
        "config",
        "cost",
        "cwd",
        "data",
        "deaf",
        "delegate",
        "die",
        "edit",
        "env",
    ),
    *(
        "error",
        "extension",
        "fail",
        "flood",
        "form",
        "hang",
        "help",
        "image",
        "kernel",
        "late",
        "link",
        "look",
        "markdown",
        "max",
    ),
    *(
        "mend",
        "mode",
        "nb",
        "notice",
        "open",
        "parallel",
        "pid",
        "plan",
        "plot",
        "ratelimit",
        "read",
        "refactor",
    ),
    *("refuse", "resource", "rework", "run", "serve", "sh", "slow", "sly", "spawn", "stderr", "stream"),
    *("think", "throttled", "title", "tools", "tour", "unfinished", "unknown", "usage", "withdraw"),
    "write",
]


def options_of(result: Any) -> Any:
    return {option["id"]: option for option in result["configOptions"]}


def test_a_new_session_announces_all_commands_after_its_response(shared: Demo, tmp_path: Path) -> None:
    shared.call("session/new", {"cwd": str(tmp_path), "mcpServers": []})
    commands = {command["name"]: command for command in shared.update()["availableCommands"]}
    assert list(commands) == COMMANDS
    assert commands["edit"]["input"] == {"hint": "PATH [TEXT]"}
    assert "input" not in commands["help"]
    assert all(command["description"] for command in commands.values())


def test_a_new_session_offers_modes_and_options(start: Starter, tmp_path: Path) -> None:
    demo = start(FULL)
    result = demo.call("session/new", {"cwd": str(tmp_path), "mcpServers": []}).response["result"]
    assert [mode["id"] for mode in result["modes"]["availableModes"]] == ["ask", "code", "plan"]
    options = options_of(result)
    assert list(options) == ["mode", "model", "thought_level", "verbose"]
    assert [group["group"] for group in options["model"]["options"]] == ["small", "large"]
    assert options["verbose"]["type"] == "boolean"


def test_boolean_options_are_only_for_clients_that_support_them(start: Starter, tmp_path: Path) -> None:
    result = start().call("session/new", {"cwd": str(tmp_path), "mcpServers": []}).response["result"]
    assert "verbose" not in options_of(result)


def test_without_config_there_are_only_modes(start: Starter, tmp_path: Path) -> None:
    demo = start(FULL, ACP_DEMO_CONFIG="0")
    result = demo.call("session/new", {"cwd": str(tmp_path), "mcpServers": []}).response["result"]
    assert "configOptions" not in result
    assert demo.update()["sessionUpdate"] == "available_commands_update"
    session = result["sessionId"]
    assert demo.call("session/set_mode", {"sessionId": session, "modeId": "plan"}).response["result"] == {}
    params = {"sessionId": session, "configId": "model", "value": "demo-max"}
    assert demo.call("session/set_config_option", params).response["error"]["code"] == -32602
    turn = demo.prompt(session, "/mode code")
    assert [update["sessionUpdate"] for update in turn.updates] == [
        "current_mode_update",
        "agent_message_chunk",
    ]
    assert demo.prompt(session, "/config model demo-max").text == "I have no config options."


def test_the_client_sets_a_mode_and_the_option_follows(shared: Demo, tmp_path: Path) -> None:
    session = shared.new(tmp_path)
    assert shared.call("session/set_mode", {"sessionId": session, "modeId": "plan"}).response["result"] == {}
    assert options_of(shared.update())["mode"]["currentValue"] == "plan"


def test_the_client_sets_an_option_and_gets_the_whole_list(shared: Demo, tmp_path: Path) -> None:
    session = shared.new(tmp_path)
    params: Any = {"sessionId": session, "configId": "model", "value": "demo-max"}
    options = options_of(shared.call("session/set_config_option", params).response["result"])
    assert options["model"]["currentValue"] == "demo-max"
    params = {"sessionId": session, "configId": "verbose", "type": "boolean", "value": True}
    options = options_of(shared.call("session/set_config_option", params).response["result"])
    assert options["verbose"]["currentValue"] is True
    assert options["model"]["currentValue"] == "demo-max"
    assert "model demo-max" in shared.prompt(session, "hello").text


def test_the_mode_can_be_set_as_an_option_too(shared: Demo, tmp_path: Path) -> None:
    params = {"sessionId": shared.new(tmp_path), "configId": "mode", "value": "code"}
    shared.call("session/set_config_option", params)
    assert shared.update() == {"sessionUpdate": "current_mode_update", "currentModeId": "code"}


@pytest.mark.parametrize(
    ("option", "value"),
    [("model", "other"), ("none", "x"), ("verbose", 1), ("model", True), ("mode", None), ("model", ["a"])],
)
def test_an_unknown_choice_is_invalid_params(shared: Demo, tmp_path: Path, option: Any, value: Any) -> None:
    params = {"sessionId": shared.new(tmp_path), "configId": option, "value": value}
    assert shared.call("session/set_config_option", params).response["error"]["code"] == -32602


def test_turns_of_two_sessions_run_at_the_same_time(shared: Demo, tmp_path: Path) -> None:
    slow, quick = shared.new(tmp_path), shared.new(tmp_path)
    shared.start_prompt(slow, "/slow 600", "slow")
    shared.update()
    assert shared.prompt(quick, "/refuse").stop == "refusal"
    shared.send("session/cancel", {"sessionId": slow})
    assert shared.until("slow").stop == "cancelled"


def test_a_second_prompt_in_a_running_turn_is_an_invalid_request(shared: Demo, tmp_path: Path) -> None:
    session = shared.new(tmp_path)
    shared.start_prompt(session, "/slow 600", "first")
    error = shared.prompt(session, "too early").response["error"]
    assert error["code"] == -32600
    assert "a turn of this session is running" in error["message"]
    shared.send("session/cancel", {"sessionId": session})
    assert shared.until("first").stop == "cancelled"


def test_a_cancel_right_after_its_prompt_is_not_lost(shared: Demo, tmp_path: Path) -> None:
    session = shared.new(tmp_path)
    shared.start_prompt(session, "/slow 600", "cancelled-at-once")
    shared.send("session/cancel", {"sessionId": session})
    assert shared.until("cancelled-at-once").stop == "cancelled"


def test_tool_and_message_ids_count_up_over_turns(shared: Demo, tmp_path: Path) -> None:
    session = shared.new(tmp_path)
    first, second = shared.prompt(session, "/tools 2"), shared.prompt(session, "/tools 1")
    calls = of_kind([*first.updates, *second.updates], "tool_call")
    assert [call["toolCallId"] for call in calls] == ["call_1", "call_2", "call_3"]


def test_a_closed_session_ends_its_turn_and_is_gone(shared: Demo, tmp_path: Path) -> None:
    session = shared.new(tmp_path)
    shared.start_prompt(session, "/slow 600", "closing")
    shared.update()
    shared.send("session/close", {"sessionId": session}, "close")
    answers: dict[str, Any] = {}
    while len(answers) < 2:
        message = shared.read()
        if "id" in message:
            answers[message["id"]] = message["result"]
    assert answers == {"closing": {"stopReason": "cancelled"}, "close": {}}
    assert shared.prompt(session, "hello").response["error"]["code"] == -32002


def test_a_session_that_hangs_can_be_closed(shared: Demo, tmp_path: Path) -> None:
    session = shared.new(tmp_path)
    shared.start_prompt(session, "/hang", "hangs-on")
    shared.update()
    assert shared.call("session/close", {"sessionId": session}).response["result"] == {}


# -- with a store


def test_a_store_adds_its_capabilities(start: Starter, tmp_path: Path) -> None:
    capabilities = start(initialize=False, ACP_DEMO_HOME=str(tmp_path)).initialize()["agentCapabilities"]
    assert capabilities["loadSession"] is True
    assert set(capabilities["sessionCapabilities"]) == {"list", "resume", "fork", "close", "delete"}


def test_capabilities_can_be_restricted_and_the_rest_is_not_served(start: Starter, tmp_path: Path) -> None:
    demo = start(initialize=False, ACP_DEMO_HOME=str(tmp_path), ACP_DEMO_CAPS="resume,list")
    capabilities = demo.initialize()["agentCapabilities"]
    assert capabilities["loadSession"] is False
    assert set(capabilities["sessionCapabilities"]) == {"list", "resume"}
    assert demo.call("session/close", {"sessionId": "x"}).response["error"]["code"] == -32601
    assert demo.call("session/load", {"sessionId": "x"}).response["error"]["code"] == -32601


def reopened(demo: Any, method: Any, session: Any, cwd: Any) -> Any:
    turn = demo.call(method, {"sessionId": session, "cwd": str(cwd), "mcpServers": []})
    assert demo.update()["sessionUpdate"] == "available_commands_update"
    return turn


@pytest.fixture
def past_session(start: Starter, tmp_path: Path) -> Any:
    """A store with one session in it, of a process that has ended."""
    home, cwd = tmp_path / "home", tmp_path / "work"
    cwd.mkdir()
    demo = start(FULL, ACP_DEMO_HOME=str(home))
    session = demo.new(cwd)
    turns = [demo.prompt(session, text) for text in ("/think hard", "/tools 1", "/plan", "/usage")]
    demo.call("session/set_mode", {"sessionId": session, "modeId": "code"})
    assert demo.close_stdin() == 0
    return home, cwd, session, turns


def test_load_replays_the_history_before_its_answer(start: Starter, past_session: Any) -> None:
    home, cwd, session, turns = past_session
    turn = reopened(start(FULL, ACP_DEMO_HOME=str(home)), "session/load", session, cwd)
    sent = [update for past in turns for update in past.updates]
    prompts = of_kind(turn.updates, "user_message_chunk")
    assert [update["content"]["text"] for update in prompts] == ["/think hard", "/tools 1", "/plan", "/usage"]
    rest = [update for update in turn.updates if update["sessionUpdate"] != "user_message_chunk"]
    assert rest == [update for update in sent if update["sessionUpdate"] != "usage_update"]
    assert turn.response["result"]["modes"]["currentModeId"] == "code"


def test_resume_replays_nothing_and_continues(start: Starter, past_session: Any) -> None:
    home, cwd, session, _ = past_session
    demo = start(FULL, ACP_DEMO_HOME=str(home))
    assert reopened(demo, "session/resume", session, cwd).updates == []
    call = of_kind(demo.prompt(session, "/tools 1").updates, "tool_call")[0]
    assert call["toolCallId"] == "call_2"  # call_1 was in the first life
    assert len(of_kind(reopened(demo, "session/load", session, cwd).updates, "tool_call")) == 2


def test_the_conversation_survives_a_death_in_mid_turn(start: Starter, tmp_path: Path) -> None:
    demo = start(ACP_DEMO_HOME=str(tmp_path))
    session = demo.new(tmp_path)
    demo.start_prompt(session, "/die", "dying")
    demo.process.wait(timeout=WAIT_S)
    turn = reopened(start(ACP_DEMO_HOME=str(tmp_path)), "session/load", session, tmp_path)
    assert text_of(turn.updates, "user_message_chunk") == "/die"


def test_a_streamed_message_and_a_late_chunk_are_in_the_history(start: Starter, tmp_path: Path) -> None:
    demo = start(ACP_DEMO_HOME=str(tmp_path))
    session = demo.new(tmp_path)
    demo.prompt(session, "/stream 3")
    demo.prompt(session, "/late")
    assert demo.update()["content"]["text"] == "This came late."
    turn = reopened(demo, "session/load", session, tmp_path)
    assert text_of(turn.updates) == "word1 word2 word3 On time.This came late."


def test_a_running_session_is_not_loaded(start: Starter, tmp_path: Path) -> None:
    demo = start(ACP_DEMO_HOME=str(tmp_path))
    session = demo.new(tmp_path)
    demo.start_prompt(session, "/slow 600", "slow")
    params = {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []}
    assert demo.call("session/load", params).response["error"]["code"] == -32600


@pytest.mark.parametrize("session", ["demo-99", "../demo-1", "demo-1/../demo-1", "", "demo-٣"])
@pytest.mark.parametrize("method", ["session/load", "session/resume", "session/delete"])
def test_a_session_that_is_not_stored_is_not_found(
    start: Starter, past_session: Any, method: Any, session: Any
) -> None:
    home, cwd, _, _ = past_session
    params = {"sessionId": session, "cwd": str(cwd), "mcpServers": []}
    demo = start(ACP_DEMO_HOME=str(home))
    assert demo.call(method, params).response["error"]["code"] == -32002


def test_sessions_are_listed_in_pages_newest_first(start: Starter, tmp_path: Path) -> None:
    demo = start(ACP_DEMO_HOME=str(tmp_path / "home"))
    made = [demo.new(tmp_path) for _ in range(23)]
    pages, cursor = [], None
    while True:
        params: Any = {"cursor": cursor} if cursor else {}
        result = demo.call("session/list", params).response["result"]
        pages.append([info["sessionId"] for info in result["sessions"]])
        cursor = result.get("nextCursor")
        if not cursor:
            break
    assert [len(page) for page in pages] == [10, 10, 3]
    assert [session for page in pages for session in page] == made[::-1]
    assert demo.call("session/list", {"cursor": "foreign"}).response["error"]["code"] == -32602


def test_a_full_last_page_has_no_cursor(start: Starter, tmp_path: Path) -> None:
    demo = start(ACP_DEMO_HOME=str(tmp_path / "home"))
    for _ in range(10):
        demo.new(tmp_path)
    result = demo.call("session/list", {}).response["result"]
    assert len(result["sessions"]) == 10
    assert "nextCursor" not in result


def test_sessions_are_listed_with_title_and_by_cwd(start: Starter, tmp_path: Path) -> None:
    demo = start(ACP_DEMO_HOME=str(tmp_path / "home"))
    one, two, three = demo.new("/one"), demo.new("/two"), demo.new("/two")
    demo.prompt(two, "first   words")
    demo.prompt(three, "/title A name")
    sessions = demo.call("session/list", {"cwd": "/two"}).response["result"]["sessions"]
    for session in sessions:
        datetime.fromisoformat(session.pop("updatedAt"))
    assert sessions == [
        {"sessionId": three, "cwd": "/two", "title": "A name"},
        {"sessionId": two, "cwd": "/two", "title": "first words"},
    ]
    everything = demo.call("session/list", {}).response["result"]["sessions"]
    assert everything[-1] == {"sessionId": one, "cwd": "/one", "title": None, "updatedAt": ANY}


def test_a_broken_file_is_not_listed(start: Starter, past_session: Any) -> None:
    home, _, session, _ = past_session
    (home / "demo-7.json").write_text("{broken")
    (home / "demo-8.json").write_text(json.dumps([1]))
    demo = start(ACP_DEMO_HOME=str(home))
    sessions = demo.call("session/list", {}).response["result"]["sessions"]
    assert [info["sessionId"] for info in sessions] == [session]


def test_a_deleted_session_is_gone_even_if_its_turn_ends_later(start: Starter, tmp_path: Path) -> None:
    home = tmp_path / "home"
    demo = start(ACP_DEMO_HOME=str(home))
    session = demo.new(tmp_path)
    demo.start_prompt(session, "/slow 600", "slow")
    demo.update()
    assert demo.call("session/delete", {"sessionId": session}).response["result"] == {}
    assert list(home.iterdir()) == []
    assert demo.call("session/delete", {"sessionId": session}).response["error"]["code"] == -32002


def test_a_closed_session_can_be_loaded_again(start: Starter, tmp_path: Path) -> None:
    demo = start(ACP_DEMO_HOME=str(tmp_path))
    session = demo.new(tmp_path)
    demo.prompt(session, "/ask", choosing("allow_once"))
    demo.call("session/close", {"sessionId": session})
    turn = reopened(demo, "session/load", session, tmp_path)
    assert text_of(turn.updates) == "You answered allow_once."


def test_two_agents_that_share_a_store_never_share_an_id(start: Starter, tmp_path: Path) -> None:
    demos = [start(ACP_DEMO_HOME=str(tmp_path)) for _ in range(2)]
    made = [demo.new(tmp_path) for demo in demos * 3]
    assert len(set(made)) == 6
