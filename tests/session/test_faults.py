"""Whatever an agent does, a turn ends with its result or a clear error, and later turns work."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.core.records import UnknownContent
from acp_notebook.core.snapshot import Message, Unknown
from tests.waiting import gone, wait_until

FAULTY = Path(__file__).parents[1] / "agents" / "faulty.py"

LIMIT_S = 60.0
"""The timeout of each fault, even on a slow machine."""


def faulty(start: str = "", **options: object) -> acp.Session:
    return acp.connect([sys.executable, str(FAULTY), start], permissions="allow", **options)  # type: ignore[arg-type]


@pytest.fixture
def session() -> Iterator[acp.Session]:
    with faulty() as session:
        yield session


@pytest.mark.parametrize(
    "fault",
    [
        "log lines",
        "42",
        "null",
        "broken JSON",
        "unknown notification",
        "stray answer",
        "unknown session",
        "no params",
        "1 MB of stderr",
        "10,000 requests",
    ],
)
def test_noise_does_not_affect_later_messages(session: acp.Session, fault: str) -> None:
    turn = session.prompt(fault, timeout=LIMIT_S)
    assert turn.text == "before after"
    assert turn.stop_reason == "end_turn"
    assert session.prompt("42", timeout=LIMIT_S).text == "before after"


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("batch", "before one two after"),
        ("lone surrogate", "before \ufffd after"),
        ("broken UTF-8", "before \ufffd after"),
        ("nested raw input", "before deep after"),
        ("_meta like parameters", "before meta after"),
        ("extra fields", "before extra after"),
        ("20 MB line", "before " + "x" * 20_000_000 + "after"),
    ],
)
def test_odd_messages_are_read_as_far_as_possible(session: acp.Session, fault: str, text: str) -> None:
    assert session.prompt(fault, timeout=LIMIT_S).text == text


@pytest.mark.parametrize(
    ("fault", "answer"),
    [
        ("string ids", '{"outcome": {"optionId": "yes", "outcome": "selected"}}'),
        ("id 0", '{"outcome": {"optionId": "yes", "outcome": "selected"}}'),
        ("id null", '{"outcome": {"optionId": "yes", "outcome": "selected"}}'),
        ("unknown method", '{"code": -32601, "message": "this client has no fs/read_mind"}'),
        ("method of its own", '{"code": -32601, "message": "this client has no cursor/do_things"}'),
    ],
)
def test_requests_are_answered_with_their_own_id(session: acp.Session, fault: str, answer: str) -> None:
    assert session.prompt(fault, timeout=LIMIT_S).text == f"before {answer} after"


def test_an_unreadable_permission_request_is_refused(
    session: acp.Session,
) -> None:
    text = session.prompt("bad permission", timeout=LIMIT_S).text
    assert '"code": -32602' in text
    assert text.endswith("after")


@pytest.mark.parametrize(
    ("fault", "what"),
    [
        ("unknown update", "teleport"),
        ("update is no object", "session/update"),
        ("deep nesting", "unreadable message (nested deeper than 100 levels)"),
        ("broken JSON", "unreadable message"),
    ],
)
def test_unknown_messages_are_kept_and_shown(session: acp.Session, fault: str, what: str) -> None:
    turn = session.prompt(fault, timeout=LIMIT_S)
    kept = [item for item in turn.items if isinstance(item, Unknown)]
    assert len(kept) == 1
    assert kept[0].what.startswith(what)
    assert kept[0].what in turn.to_text()
    assert turn.text == "before after"


def test_unknown_content_is_kept_in_its_place(session: acp.Session) -> None:
    turn = session.prompt("unknown content", timeout=LIMIT_S)
    (message,) = (item for item in turn.items if isinstance(item, Message))
    assert message.content[1] == UnknownContent({"type": "smell", "note": "roses"})
    assert turn.text == "before after"


def test_nan_is_read_as_null(session: acp.Session) -> None:
    (call,) = session.prompt("NaN", timeout=LIMIT_S).tool_calls
    assert call.raw_input == {"x": None, "y": None}


def test_an_unknown_kind_and_status_are_kept_and_closed_at_the_end(session: acp.Session) -> None:
    (call,) = session.prompt("unknown kind and status", timeout=LIMIT_S).tool_calls
    assert (call.kind, call.status) == ("teleport", "unfinished")


def test_fields_of_the_wrong_type_take_their_defaults(session: acp.Session) -> None:
    (call,) = session.prompt("wrong types", timeout=LIMIT_S).tool_calls
    assert (call.kind, call.content) == ("other", ())
    assert [location.path for location in call.locations] == ["/ok"]
    assert call.raw, "the message itself is kept"


def test_an_update_before_its_call_shows_the_tool(session: acp.Session) -> None:
    (call,) = session.prompt("update before call", timeout=LIMIT_S).tool_calls
    assert (call.id, call.status) == ("t1", "completed")


@pytest.mark.parametrize("fault", ["error is text", "error without code", "error with id null"])
def test_an_error_of_any_shape_is_an_error_with_its_text(session: acp.Session, fault: str) -> None:
    timeouts.replace(null_id_begun=0.5)
    with pytest.raises(acp.AgentError, match="boom"):
        session.prompt(fault, timeout=LIMIT_S)
    assert session.turns[-1].status == "failed"
    assert session.prompt("42", timeout=LIMIT_S).text == "before after"


@pytest.mark.parametrize("fault", ["unreadable answer", "answer too deep", "answer without a stop reason"])
def test_an_unreadable_response_fails_the_turn_instead_of_hanging(session: acp.Session, fault: str) -> None:
    with pytest.raises(acp.ProtocolError, match="session/prompt"):
        session.prompt(fault, timeout=LIMIT_S)
    assert session.prompt("42", timeout=LIMIT_S).text == "before after"


def test_a_string_id_and_an_unknown_stop_reason_are_accepted(session: acp.Session) -> None:
    assert session.prompt("answer with a string id", timeout=LIMIT_S).stop_reason == "end_turn"
    assert session.prompt("unknown stop reason", timeout=LIMIT_S).stop_reason == "bored"


def test_updates_after_the_response_stay_with_their_turn(session: acp.Session) -> None:
    turn = session.prompt("late", timeout=LIMIT_S)
    wait_until(lambda: turn.text == "before after", "the late chunk is there")
    session.prompt("42", timeout=LIMIT_S)
    assert turn.text == "before after"


def test_updates_before_the_session_exists_are_kept() -> None:
    with faulty("early") as session:
        (message,) = (item for item in session.transcript.items if isinstance(item, Message))
        assert message.text == "early "
        assert session.prompt("42", timeout=LIMIT_S).text == "before after"


# ---- death ----------------------------------------------------------------------------------------


def test_death_in_mid_turn_is_an_error_with_exit_code_and_stderr(session: acp.Session) -> None:
    with pytest.raises(acp.AgentDied, match="exited with code 9") as caught:
        session.prompt("die", timeout=LIMIT_S)
    assert caught.value.exit_code == 9
    assert caught.value.stderr == "last words\n"
    assert "last words" in str(caught.value)
    assert session.turns[-1].text == "before "
    assert session.status == "dead"


def test_the_next_prompt_restarts_a_dead_agent(session: acp.Session) -> None:
    with pytest.raises(acp.AgentDied):
        session.prompt("die", timeout=LIMIT_S)
    assert session.prompt("42", timeout=LIMIT_S).text == "before after"
    assert "restarted" in session.to_text()


def test_a_grandchild_that_holds_stdout_does_not_delay_the_end(session: acp.Session) -> None:
    turn = session.start("die with a grandchild")
    with pytest.raises(acp.AgentDied):
        turn.wait(LIMIT_S)
    pids = [int(pid) for pid in turn.text.removeprefix("before ").split()]
    assert len(pids) == 2
    wait_until(lambda: all(map(gone, pids)), "the grandchildren are gone")


def test_an_agent_that_closes_its_output_counts_as_dead(session: acp.Session) -> None:
    with pytest.raises(acp.AgentDied, match="closed its output"):
        session.prompt("close stdout", timeout=LIMIT_S)


def test_an_agent_that_closes_its_input_still_answers_and_can_be_closed(session: acp.Session) -> None:
    assert session.prompt("close stdin", timeout=LIMIT_S).text == "before after"


def test_an_agent_that_never_reads_blocks_nothing() -> None:
    session = faulty("no reading")
    pid = session.agent.pid
    turn = session.start("x" * 2_000_000)
    wait_until(lambda: turn.status == "running", "the prompt is on its way")
    with pytest.raises(acp.Timeout):
        turn.wait(0.2)
    session.close()
    assert turn.stop_reason == "cancelled"
    assert pid is not None
    assert gone(pid)


def test_an_agent_that_ignores_the_end_of_its_input_is_ended() -> None:
    session = faulty("ignore-eof")
    pid = session.agent.pid
    session.close()
    assert pid is not None
    assert gone(pid)


@pytest.mark.parametrize("wrapped", [False, True])
def test_closing_leaves_no_grandchild_even_behind_a_shell(wrapped: bool) -> None:
    command = [sys.executable, str(FAULTY)]
    if wrapped:
        command = ["sh", "-c", f"{sys.executable} {FAULTY}; true"]
    session = acp.connect(command)
    pids = [int(pid) for pid in session.prompt("grandchildren", timeout=LIMIT_S).text.split()[1:]]
    assert len(pids) == 2
    assert not any(map(gone, pids))
    session.close()
    assert all(map(gone, [*pids, session.agent.pid or 0]))


# ---- start ----------------------------------------------------------------------------------------


def test_an_unsupported_version_is_refused_with_both_versions() -> None:
    with pytest.raises(acp.ProtocolError, match=r"version 99 .* version 1"):
        faulty("version")


def test_authentication_required_says_so() -> None:
    with pytest.raises(acp.AuthenticationRequired, match="sign in") as caught:
        faulty("auth")
    assert caught.value.code == -32000


def test_an_agent_that_prints_its_usage_and_exits_shows_it() -> None:
    with pytest.raises(acp.AgentDied, match="usage: faulty") as caught:
        faulty("usage")
    assert caught.value.exit_code == 2


def test_a_banner_before_the_first_message_is_kept_and_harmless() -> None:
    with faulty("not an agent") as session:
        assert any("Welcome" in line for line in session.agent.stray)


def test_an_agent_that_never_introduces_itself_ends_with_a_named_timeout() -> None:
    with pytest.raises(acp.Timeout, match="start_timeout"):
        faulty("deaf", start_timeout=0.5)


def test_a_missing_command_and_a_missing_folder_are_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(acp.AgentNotFound, match="no command 'no-such-agent'"):
        acp.connect("no-such-agent --acp")
    with pytest.raises(acp.AgentNotFound, match="Did you mean 'demo'"):
        acp.connect("dmeo")
    with pytest.raises(acp.UsageError, match="is not a folder"):
        acp.connect("demo", cwd=tmp_path / "nowhere")
    with pytest.raises(acp.UsageError, match="name an agent"):
        acp.connect()
    plain_file = tmp_path / "agent"
    plain_file.write_text("no program")
    os.chmod(plain_file, 0o755)
    with pytest.raises(acp.Error):
        acp.connect([str(plain_file)])


def test_an_unknown_notification_is_kept_and_shown(session: acp.Session) -> None:
    session.prompt("unknown notification", timeout=LIMIT_S)
    (found,) = [it for it in session.transcript.items if isinstance(it, Unknown)]
    assert (found.what, found.content) == ("_mine/hello", [1, 2])
