"""The slash commands of the demo agent that neither write files nor run commands."""

from __future__ import annotations

import base64
import io
import os
import signal
import struct
import sys
import wave
import zlib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.demo.demo_client import FULL, WAIT_S, Demo, Ended, Play, Starter, choosing, of_kind, text_of


@pytest.fixture
def play(shared: Demo, tmp_path: Path) -> Any:
    """Play one command in a session of its own."""
    return lambda text, answer=None: shared.prompt(shared.new(tmp_path), text, answer)


def kinds(turn: Any) -> Any:
    return [update["sessionUpdate"] for update in turn.updates]


def block(turn: Any) -> Any:
    (update,) = turn.updates
    return update["content"]


# -- content


def test_help_lists_every_advertised_command(shared: Demo, tmp_path: Path) -> None:
    shared.call("session/new", {"cwd": str(tmp_path), "mcpServers": []})
    commands = shared.update()["availableCommands"]
    text = shared.prompt(shared.new(tmp_path), "/help").text
    for command in commands:
        assert f"- `/{command['name']}" in text
        assert command["description"] in text


def test_the_built_in_agent_has_the_scenes_of_the_guide_and_no_probes(tmp_path: Path) -> None:
    built_in = Demo({}, [sys.executable, "-m", "acp_notebook.demo"])
    try:
        built_in.initialize(FULL)
        text = built_in.prompt(built_in.new(tmp_path), "/help").text
    finally:
        built_in.kill()
    assert all(f"- `/{name}" in text for name in ("tour", "ask", "write", "sh", "form", "nb", "refactor"))
    assert not any(f"- `/{name}" in text for name in ("pid", "hang", "ratelimit", "client", "unknown"))


def test_markdown_is_rich(play: Play) -> None:
    text = play("/markdown").text
    for sign in ("# ", "```python", "|:--", "- [x]", "$$", "> ", "<script>", "日本語"):
        assert sign in text


def test_image_is_a_png_of_64_by_64(play: Play) -> None:
    content = block(play("/image"))
    data = base64.b64decode(content["data"], validate=True)
    assert (content["type"], content["mimeType"]) == ("image", "image/png")
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (64, 64)
    start = data.index(b"IDAT") + 4
    assert len(zlib.decompress(data[start:-16])) == 64 * (1 + 64 * 3)


def test_audio_is_a_wav(play: Play) -> None:
    content = block(play("/audio"))
    assert (content["type"], content["mimeType"]) == ("audio", "audio/wav")
    with wave.open(io.BytesIO(base64.b64decode(content["data"], validate=True))) as sound:
        assert (sound.getframerate(), sound.getnframes(), sound.getnchannels()) == (8000, 800, 1)


def test_link_is_a_resource_link(play: Play) -> None:
    assert block(play("/link"))["type"] == "resource_link"


def test_resource_is_an_embedded_text(play: Play) -> None:
    content = block(play("/resource"))
    assert content["type"] == "resource"
    assert content["resource"]["text"].startswith("# Notes")


def test_stream_sends_exactly_this_many_chunks_of_one_message(play: Play) -> None:
    turn = play("/stream 1000")
    assert [update["content"]["text"] for update in turn.updates] == [f"word{n} " for n in range(1, 1001)]
    assert len({update["messageId"] for update in turn.updates}) == 1


def test_stream_pads_its_chunks(play: Play) -> None:
    assert {len(update["content"]["text"]) for update in play("/stream 20 50").updates} == {50}


def test_stream_can_be_cancelled(shared: Demo, tmp_path: Path) -> None:
    session = shared.new(tmp_path)
    shared.start_prompt(session, "/stream 100000000", "streaming")
    shared.update()
    shared.send("session/cancel", {"sessionId": session})
    with shared.unchecked():  # very many equal chunks: checking each takes longer than sending it
        assert shared.until("streaming").stop == "cancelled"


# -- progress


def test_plan_progresses_to_its_end(play: Play) -> None:
    turn = play("/plan")
    plans = of_kind(turn.updates, "plan")
    assert [[entry["status"] for entry in plan["entries"]] for plan in plans] == [
        ["in_progress", "pending", "pending"],
        ["completed", "in_progress", "pending"],
        ["completed", "completed", "in_progress"],
        ["completed", "completed", "completed"],
    ]


@pytest.mark.parametrize("thought", ["", "about the weather"])
def test_think_thinks_before_it_answers(play: Play, thought: Any) -> None:
    turn = play(f"/think {thought}")
    assert thought in text_of(turn.updates, "agent_thought_chunk") != ""
    assert turn.text == "I have thought about it."
    assert kinds(turn)[0] == "agent_thought_chunk"


def test_slow_ticks_as_long_as_requested(play: Play) -> None:
    assert play("/slow 0.2").text == "tick1 tick2 tick3 tick4 "


def test_hang_obeys_no_cancel_and_lets_other_sessions_work(shared: Demo, tmp_path: Path) -> None:
    session = shared.new(tmp_path)
    shared.start_prompt(session, "/hang", "hang")
    assert shared.update()["content"]["text"] == "I hang."
    shared.send("session/cancel", {"sessionId": session})
    shared.send("$/cancel_request", {"requestId": "hang"})
    assert shared.prompt(shared.new(tmp_path), "/cwd").text == str(tmp_path)
    assert shared.prompt(session, "hello").response["error"]["code"] == -32600  # it still runs


def test_deaf_sends_late_chunks_once_it_is_cancelled(start: Starter, tmp_path: Path) -> None:
    demo = start()
    session = demo.new(tmp_path)
    demo.start_prompt(session, "/deaf", "deaf")
    assert demo.update()["content"]["text"] == "I do not listen. "
    other = demo.prompt(demo.new(tmp_path), "/refuse")
    assert other.text == "I refuse."  # silence from the deaf one
    demo.send("session/cancel", {"sessionId": session})
    demo.send("$/cancel_request", {"requestId": "deaf"})
    assert [demo.update()["content"]["text"] for _ in range(3)] == ["late1 ", "late2 ", "late3 "]
    assert demo.close_stdin() == 0


def test_late_sends_one_chunk_after_the_answer(shared: Demo, tmp_path: Path) -> None:
    assert shared.prompt(shared.new(tmp_path), "/late").text == "On time."
    assert shared.update()["content"]["text"] == "This came late."


# -- tools


def test_tools_go_from_pending_to_completed(play: Play) -> None:
    turn = play("/tools 3")
    calls = of_kind(turn.updates, "tool_call", "tool_call_update")
    assert [(call["toolCallId"], call["status"]) for call in calls] == [
        (f"call_{n}", status) for n in (1, 2, 3) for status in ("pending", "completed")
    ]
    assert calls[0]["kind"] == "read"


def test_parallel_calls_are_interleaved(play: Play) -> None:
    calls = of_kind(play("/parallel").updates, "tool_call", "tool_call_update")
    assert [call["toolCallId"][-1] + call["status"][0] for call in calls] == [
        *("1p", "2p", "3p"),
        *("1i", "2i", "3i"),
        *("3c", "2c", "1c"),
    ]


@pytest.mark.parametrize(
    ("where", "line", "cell"), [("", None, None), (" 7", 7, None), (" abc", None, "abc")]
)
def test_look_names_a_location(play: Play, tmp_path: Path, where: str, line: object, cell: object) -> None:
    call, _ = of_kind(play(f"/look a.py{where}").updates, "tool_call", "tool_call_update")
    (place,) = call["locations"]
    assert (place["path"], place.get("line")) == (str(tmp_path / "a.py"), line)
    assert call["rawInput"].get("cell_id") == cell


def test_fail_fails_with_a_reason(play: Play) -> None:
    last = of_kind(play("/fail").updates, "tool_call_update")[-1]
    assert last["status"] == "failed"
    assert last["content"][0]["content"]["text"] == "404: not found"


def test_unfinished_leaves_a_tool_in_progress(play: Play) -> None:
    turn = play("/unfinished")
    assert turn.stop == "end_turn"
    assert of_kind(turn.updates, "tool_call_update")[-1]["status"] == "in_progress"


@pytest.mark.parametrize("kind", ["allow_once", "allow_always", "reject_once", "reject_always"])
def test_ask_offers_every_kind_and_says_what_was_answered(play: Play, kind: Any) -> None:
    turn = play("/ask", choosing(kind))
    (request,) = turn.requests
    assert [option["kind"] for option in request["params"]["options"]] == [
        *("allow_once", "allow_always", "reject_once", "reject_always")
    ]
    assert request["params"]["toolCall"]["toolCallId"] == "call_1"
    assert turn.text == f"You answered {kind}."
    status = of_kind(turn.updates, "tool_call_update")[-1]["status"]
    assert status == ("completed" if kind.startswith("allow") else "failed")


def test_an_option_that_was_not_offered_is_a_reject(play: Play) -> None:
    answer = {"result": {"outcome": {"outcome": "selected", "optionId": "invented"}}}
    assert play("/ask", lambda request: answer).text == "You answered reject_once."


def test_a_cancelled_question_ends_the_turn(play: Play) -> None:
    turn = play("/ask", choosing("cancelled"))
    assert (turn.stop, turn.text) == ("cancelled", "")


def test_a_question_that_the_client_refuses_is_an_error_of_the_prompt(play: Play) -> None:
    turn = play("/ask", lambda request: {"error": {"code": -32601, "message": "no questions"}})
    assert turn.response["error"] == {"code": -32603, "message": "the client answered -32601: no questions"}


def test_a_cancel_while_a_question_is_open_ends_the_turn_without_more_updates(
    shared: Demo, tmp_path: Path
) -> None:
    session = shared.new(tmp_path)
    shared.start_prompt(session, "/ask", "asking")
    while shared.read().get("method") != "session/request_permission":
        pass
    shared.send("session/cancel", {"sessionId": session})
    turn = shared.until("asking")
    assert (turn.stop, turn.updates) == ("cancelled", [])


def test_withdraw_withdraws_its_question(shared: Demo, tmp_path: Path) -> None:
    shared.start_prompt(shared.new(tmp_path), "/withdraw", "withdrawing")
    while (asked := shared.read()).get("method") != "session/request_permission":
        pass
    withdrawn = shared.read()
    assert (withdrawn["method"], withdrawn["params"]) == ("$/cancel_request", {"requestId": asked["id"]})
    shared.write(b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32800,"message":"ok"}}' % asked["id"])
    assert "got the error -32800" in shared.until("withdrawing").text


# -- endings


def test_refuse_and_max_end_with_their_stop_reasons(play: Play) -> None:
    assert play("/refuse").stop == "refusal"
    assert play("/max").stop == "max_tokens"


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("/error", -32603, "the demo failed on purpose"),
        ("/error 429", 429, "the demo failed on purpose"),
        ("/error -32000 please log in", -32000, "please log in"),
    ],
)
def test_error_responds_with_a_json_rpc_error(play: Play, command: Any, code: Any, message: Any) -> None:
    assert play(command).response["error"] == {"code": code, "message": message}


@pytest.mark.parametrize(("command", "code"), [("/die", 3), ("/die 42", 42)])
def test_die_leaves_some_text_three_lines_on_stderr_and_its_exit_code(
    start: Starter, tmp_path: Path, command: Any, code: Any
) -> None:
    demo = start()
    demo.start_prompt(demo.new(tmp_path), command, "dying")
    assert demo.update()["content"]["text"] == "I am about to die."
    assert demo.update()["status"] == "pending"
    with pytest.raises(Ended):
        demo.read()
    assert demo.process.wait(timeout=WAIT_S) == code
    demo.join()
    assert demo.stderr.count(b"\n") == 3
    assert demo.stderr.endswith(b"demo: giving up\n")


def test_stderr_writes_exactly_this_many_bytes_then_answers(start: Starter, tmp_path: Path) -> None:
    demo = start()
    assert demo.prompt(demo.new(tmp_path), "/stderr 1000003").text == "Wrote 1000003 bytes to stderr."
    assert demo.close_stdin() == 0
    demo.join()
    assert len(demo.stderr) == 1_000_003


# -- state


def test_usage_has_a_cost(play: Play) -> None:
    update = of_kind(play("/usage").updates, "usage_update")[0]
    assert (update["used"], update["size"], update["cost"]["currency"]) == (12_345, 200_000, "USD")


def test_notice_comes_in_each_severity(play: Play) -> None:
    notices = of_kind(play("/notice").updates, "notice")
    assert [notice["severity"] for notice in notices] == ["info", "warning", "error"]


def test_compact_streams_a_summary(play: Play) -> None:
    updates = of_kind(play("/compact").updates, "compaction_update", "compaction_summary_chunk")
    assert [update.get("status") for update in updates] == ["in_progress", None, None, "completed"]
    assert {update["compactionId"] for update in updates} == {"compact_1"}


@pytest.mark.parametrize("command", ["/notice", "/compact"])
def test_a_missing_client_capability_is_reported_and_not_used(
    start: Starter, tmp_path: Path, command: Any
) -> None:
    demo = start()
    turn = demo.prompt(demo.new(tmp_path), command)
    assert set(kinds(turn)) == {"agent_message_chunk"}
    assert turn.text.startswith("Your client takes no ")


def test_title_names_the_session(play: Play) -> None:
    assert of_kind(play("/title A  good name").updates, "session_info_update")[0]["title"] == "A  good name"


def test_mode_is_reported_both_ways(play: Play) -> None:
    turn = play("/mode plan")
    assert of_kind(turn.updates, "current_mode_update")[0]["currentModeId"] == "plan"
    options = {o["id"]: o for o in of_kind(turn.updates, "config_option_update")[0]["configOptions"]}
    assert options["mode"]["currentValue"] == "plan"


@pytest.mark.parametrize(
    ("option", "value", "expected"), [("model", "demo-max", "demo-max"), ("verbose", "true", True)]
)
def test_config_changes_an_option(play: Play, option: Any, value: Any, expected: Any) -> None:
    (update,) = of_kind(play(f"/config {option} {value}").updates, "config_option_update")
    options = {o["id"]: o for o in update["configOptions"]}
    assert options[option]["currentValue"] == expected


@pytest.mark.parametrize("command", ["/mode sleep", "/config none x", "/config model none"])
def test_an_unknown_choice_is_reported_and_changes_nothing(play: Play, command: Any) -> None:
    turn = play(command)
    assert turn.text.startswith("No: ")
    assert set(kinds(turn)) == {"agent_message_chunk"}


@pytest.mark.parametrize(
    "command",
    [
        "/stream",
        "/stream many",
        "/stream -1",
        "/slow soon",
        "/slow inf",
        "/edit",
        "/run",
        "/title",
        "/config model",
        *("/env", "/error bad", "/stderr", "/tools x", "/tools 1 x", "/cost 1 1 x", "/die x"),
    ],
)
def test_misuse_is_answered_with_the_usage(play: Play, command: Any) -> None:
    turn = play(command)
    assert turn.text.startswith(f"Usage: `{command.split()[0]} ")
    assert turn.stop == "end_turn"


# -- trouble and probes


def test_unknown_sends_messages_outside_the_schema(start: Starter, tmp_path: Path) -> None:
    demo = start(FULL)
    session = demo.new(tmp_path)
    with demo.unchecked():
        updates = demo.prompt(session, "/unknown").updates
    assert updates[0]["sessionUpdate"] == "demo_unknown_update"
    assert updates[1]["content"]["type"] == "hologram"
    assert (updates[2]["kind"], updates[2]["status"]) == ("teleport", "paused")
    assert updates[3]["status"] == "beamed"


def test_our_schema_check_finds_messages_outside_the_schema(start: Starter, tmp_path: Path) -> None:
    demo = start(FULL)
    session = demo.new(tmp_path)
    demo.start_prompt(session, "/unknown", "unknown")
    for _ in range(4):
        with pytest.raises(jsonschema.ValidationError):
            demo.read()
    assert demo.until("unknown").stop == "end_turn"


def test_env_reports_a_variable_of_its_process(play: Play) -> None:
    assert play("/env ACP_DEMO_PROBE").text == "a value"
    assert play("/env ACP_DEMO_NO_SUCH").text == "not set"


def test_pid_is_its_own(shared: Demo, play: Play) -> None:
    assert play("/pid").text == f"pid {shared.process.pid}"


@pytest.mark.parametrize("command", ["/spawn", "/spawn hold"])
def test_spawn_starts_two_children_one_in_its_own_session(
    start: Starter, tmp_path: Path, command: Any
) -> None:
    demo = start()
    word, *pids = demo.prompt(demo.new(tmp_path), command).text.split()
    near, far = map(int, pids)
    try:
        assert word == "pids"
        assert os.getsid(near) == os.getsid(demo.process.pid)
        assert os.getsid(far) == far
        assert demo.close_stdin() == 0
        os.kill(near, 0)  # both outlive the agent
        os.kill(far, 0)
    finally:
        os.kill(near, signal.SIGKILL)
        os.kill(far, signal.SIGKILL)


# -- the tour


def test_the_tour_shows_everything_in_one_turn(play: Play, tmp_path: Path) -> None:
    turn = play("/tour", choosing("allow_once"))
    assert turn.stop == "end_turn"
    assert turn.asked == ["session/request_permission"]
    assert set(kinds(turn)) == {
        "session_info_update",
        "agent_thought_chunk",
        "agent_message_chunk",
        "plan",
        "tool_call",
        "tool_call_update",
        "notice",
        "usage_update",
    }
    calls = of_kind(turn.updates, "tool_call")
    assert [call["kind"] for call in calls] == ["read", "search", "edit", "execute"]
    assert calls[2]["content"][0]["path"] == str(tmp_path / "stats.py")
    contents = {update["content"]["type"] for update in of_kind(turn.updates, "agent_message_chunk")}
    assert contents == {"text", "image", "resource_link", "resource"}
    assert list(tmp_path.iterdir()) == []


def test_the_tour_continues_after_a_reject(play: Play) -> None:
    turn = play("/tour", choosing("reject_once"))
    assert "You rejected the change" in turn.text
    assert turn.text.endswith("`/help` lists the single commands.")


def test_the_tour_sends_no_notice_to_a_client_without_support(start: Starter, tmp_path: Path) -> None:
    demo = start()
    assert not of_kind(demo.prompt(demo.new(tmp_path), "/tour", choosing("allow_once")).updates, "notice")


def test_the_tour_is_the_same_every_time(start: Starter, tmp_path: Path) -> None:
    first, second = (
        demo.prompt(demo.new(tmp_path), "/tour", choosing("allow_once"))
        for demo in (start(FULL), start(FULL))
    )
    assert first.updates == second.updates


def test_a_pace_changes_nothing_but_the_speed(start: Starter, tmp_path: Path) -> None:
    demo = start(ACP_DEMO_PACE="0.001")
    assert demo.prompt(demo.new(tmp_path), "/refuse").text == "I refuse."
