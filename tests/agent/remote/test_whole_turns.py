"""Whole turns with the servers of both official SDKs: WebSocket, HTTP/1.1 and HTTP/2."""

from __future__ import annotations

import pytest

import acp_notebook as acp
from acp_notebook.core.snapshot import Message
from tests.agent.remote.conftest import THEIR_CWD, Connect, Peer
from tests.agent.remote.fault_proxy import FaultProxy
from tests.session.helpers import LIMIT_S, begun, notices
from tests.waiting import wait_until

BIG = 20_000_000


def words(count: int) -> str:
    return "".join(f"w{number} " for number in range(count))


def test_many_chunks_arrive_in_order_and_the_prompt_once(peer: Peer, connect: Connect) -> None:
    session = connect(peer.url, **peer.options)
    prompt = f"words 2000 0 {session.id}"
    turn = session.prompt(prompt, timeout=LIMIT_S)
    assert (turn.stop_reason, turn.text) == ("end_turn", words(2000))
    assert peer.ledger.prompts(prompt) == 1


def test_what_is_negotiated_is_what_these_tests_are_for(peer: Peer, connect: Connect) -> None:
    session = connect(peer.url, **peer.options)
    session.prompt("hello", timeout=LIMIT_S)
    assert session.agent._host.agent.wire == peer.wire


def test_the_agent_introduces_itself_and_has_no_process(peer: Peer, connect: Connect) -> None:
    session = connect(peer.url, **peer.options)
    assert (session.agent.title, session.agent.version, session.agent.pid) == ("Scenes", "1", None)
    (created,) = [it for it in peer.ledger.entries("session") if it["session"] == session.id]
    assert created["cwd"] == THEIR_CWD


@pytest.mark.parametrize(("permissions", "answer"), [("allow", "You chose y."), ("reject", "You chose n.")])
def test_a_permission_is_requested_and_its_answer_arrives(
    peer: Peer, connect: Connect, permissions: str, answer: str
) -> None:
    session = connect(peer.url, permissions=permissions, **peer.options)
    assert session.prompt("ask", timeout=LIMIT_S).text == answer


def test_a_cancel_reaches_the_agent_once(peer: Peer, connect: Connect) -> None:
    session = connect(peer.url, **peer.options)
    turn = begun(session.start("wait"))
    turn.cancel()
    turn.wait(LIMIT_S)
    assert (turn.status, turn.stop_reason, turn.text) == ("done", "cancelled", "I wait.")
    assert peer.ledger.cancels(session.id) == 1
    assert session.prompt("still there?", timeout=LIMIT_S).text == "You said: still there?"


def test_a_message_of_20_MB_arrives_and_one_of_2_MB_is_sent(peer: Peer, connect: Connect) -> None:
    session = connect(peer.url, **peer.options)
    assert len(session.prompt(f"big {BIG}", timeout=LIMIT_S).text) == BIG
    sent = "y" * (BIG // 10)
    assert session.prompt(sent, timeout=LIMIT_S).text == f"You said: {sent}"


def test_two_sessions_of_one_agent_keep_apart(peer: Peer, connect: Connect) -> None:
    first = connect(peer.url, **peer.options)
    second = first.agent.new_session()
    connections = len(peer.ledger.entries("connection"))
    turns = [first.start("words 60 2"), second.start("words 50 2")]
    for turn, count in zip(turns, (60, 50), strict=True):
        turn.wait(LIMIT_S)
        assert turn.text == words(count)
    assert second.agent is first.agent or second.agent.name == first.agent.name
    assert len(peer.ledger.entries("connection")) == connections


@pytest.mark.parametrize("working", [False, True])
def test_a_closed_session_leaves_no_stream(proxy: FaultProxy, connect: Connect, working: bool) -> None:
    """This agent cannot close sessions, so that nothing comes which would end the stream."""
    first = connect(proxy.url("http"))
    second = first.agent.new_session()
    second.prompt("hello", timeout=LIMIT_S)
    if working:
        begun(second.start("wait"))
    wait_until(lambda: streams(proxy) == 3, "the connection's and two sessions'")
    second.close()
    wait_until(lambda: streams(proxy) == 2, "the stream of the closed session ends")
    assert first.prompt("and on", timeout=LIMIT_S).text == "You said: and on"
    assert streams(proxy) == 2


def streams(proxy: FaultProxy) -> int:
    """How many streams the client reads."""
    return sum(link.request is not None and link.request.method == "GET" for link in set(proxy._links))


def test_a_stored_session_is_loaded_over_a_new_connection(peer: Peer, connect: Connect) -> None:
    session = connect(peer.url, **peer.options)
    session.prompt("words 5", timeout=LIMIT_S)
    session.agent.close()
    again = connect(peer.url, load=session.id, **peer.options)
    assert [item.text for item in again.transcript.items if isinstance(item, Message)] == [words(5)]
    assert again.prompt("more", timeout=LIMIT_S).text == "You said: more"


def test_closing_ends_the_connection_and_the_session_says_so(peer: Peer, connect: Connect) -> None:
    session = connect(peer.url, **peer.options)
    session.close()
    with pytest.raises(acp.SessionClosed):
        session.prompt("hello")
    assert not notices(session)


def test_characters_that_break_lines_elsewhere_arrive_as_they_are(peer: Peer, connect: Connect) -> None:
    """U+2028 and others end a line for some libraries, but not for SSE or JSON."""
    strange = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\r\nh\ri\tj\u0000k 🦊"
    session = connect(peer.url, **peer.options)
    assert session.prompt(strange, timeout=LIMIT_S).text == f"You said: {strange}"


def test_several_agents_on_one_server_are_separate_connections(peer: Peer, connect: Connect) -> None:
    sessions = [connect(peer.url, **peer.options) for _ in range(3)]
    turns = [session.start("wait") for session in sessions]
    for turn in turns:
        begun(turn)
    turns[1].cancel()
    turns[1].wait(LIMIT_S)
    assert [turn.done for turn in turns] == [False, True, False]
    for turn in (turns[0], turns[2]):
        turn.cancel()
    wait_until(lambda: all(turn.done for turn in turns), "every turn ends")


def test_loading_an_unknown_session_gives_the_agents_own_error(peer: Peer, connect: Connect) -> None:
    with pytest.raises(acp.AgentError) as caught:
        connect(peer.url, load="no-such-session", **peer.options)
    assert caught.value.code == -32002
