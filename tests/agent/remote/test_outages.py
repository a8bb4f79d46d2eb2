"""What a user does while the network is down: it reaches the agent, or is said not to have reached it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.agent import loop
from acp_notebook.agent.transport import Interrupted, Restored
from tests.agent.remote.conftest import Connect
from tests.agent.remote.fault_proxy import FaultProxy
from tests.agent.remote.raw_http import Reply
from tests.agent.remote.servers import Server, python_server
from tests.session.helpers import LIMIT_S, begun, notices
from tests.waiting import wait_until


@pytest.fixture
def typescript_proxy(typescript: Server) -> Iterator[FaultProxy]:
    """Before a server that keeps what it says for a stream that is opened again."""
    with FaultProxy(typescript.port) as running:
        yield running


def go_down(proxy: FaultProxy, session: acp.Session) -> None:
    proxy.strike("refuse", seconds=LIMIT_S)
    wait_until(lambda: session.status == "reconnecting", "the interruption is shown")


# ---- stopping ----------------------------------------------------------------------------------


def test_a_stop_in_an_outage_reaches_the_agent_when_the_network_is_back(
    typescript_proxy: FaultProxy, typescript: Server, connect: Connect
) -> None:
    proxy = typescript_proxy
    timeouts.replace(cancel_grace=0.1, restart_grace=0.1)
    session = connect(proxy.url("http"))
    prompt = f"words 5000 10 {session.id}"
    turn = begun(session.start(prompt))
    go_down(proxy, session)
    turn.cancel()
    wait_until(lambda: turn.done, "the turn is abandoned")
    waiting = session.start(f"next {session.id}")
    before = len(proxy.requests)
    wait_until(lambda: len(proxy.requests) > before + 4, "it is tried some more times")
    timeouts.replace(restart_grace=LIMIT_S)
    proxy.heal()
    wait_until(lambda: waiting.done, "the next turn ends", LIMIT_S)
    assert typescript.ledger.cancels(session.id) == 1
    answered = [it["text"] for it in typescript.ledger.entries("answer") if session.id in it["text"]]
    assert answered == [prompt, f"next {session.id}"], "the agent has ended the stopped turn first"
    assert "cancelled turn" not in "".join(notices(session)), "the agent is not to blame"
    assert session.status == "idle"
    session.agent.close()


def test_a_stop_that_was_lost_with_the_connection_is_repeated_before_the_next_prompt(
    proxy: FaultProxy, python: Server, connect: Connect
) -> None:
    timeouts.replace(cancel_grace=0.1, restart_grace=0.1, remote_reconnect=1.0)
    session = connect(proxy.url("http"))
    turn = begun(session.start(f"words 5000 10 {session.id}"))
    go_down(proxy, session)
    turn.cancel()
    wait_until(lambda: turn.done, "the turn is abandoned")
    wait_until(lambda: session.status == "disconnected", "the connection is given up")
    proxy.heal()
    session.prompt(f"next {session.id}", timeout=LIMIT_S)
    said = python.ledger.path.read_text().splitlines()
    of_session = [it for it in said if session.id in it and ('"cancel"' in it or '"prompt"' in it)]
    assert ['"cancel"' in it for it in of_session] == [False, True, False], of_session


def test_a_stop_in_an_outage_lets_the_session_be_closed(proxy: FaultProxy, connect: Connect) -> None:
    timeouts.replace(cancel_grace=0.1)
    session = connect(proxy.url("http"))
    turn = begun(session.start("words 5000 10"))
    go_down(proxy, session)
    turn.cancel()
    waiting = session.start("never sent")
    wait_until(lambda: turn.done, "the turn is abandoned")
    session.close()
    with pytest.raises(acp.SessionClosed):
        waiting.wait(LIMIT_S)


# ---- settings ----------------------------------------------------------------------------------


@pytest.fixture
def with_modes(tmp_path: Path) -> Iterator[Server]:
    """A server whose agent takes a moment to set a mode."""
    server = python_server(tmp_path, "--modes", "0.5")
    try:
        yield server
    finally:
        server.stop()


def set_mode(session: acp.Session, mode: str) -> Future[None]:
    """Set the mode on a thread; the result is that of the setting."""
    done: Future[None] = Future()

    def work() -> None:
        try:
            session.mode = mode
            done.set_result(None)
        except acp.Error as error:
            done.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return done


def test_a_mode_whose_answer_is_lost_is_set_again(with_modes: Server, connect: Connect) -> None:
    timeouts.replace(remote_setting=0.1)
    with FaultProxy(with_modes.port) as proxy:
        session = connect(proxy.url("http"))
        setting = set_mode(session, "auto")
        wait_until(lambda: with_modes.ledger.entries("asked for mode") != [], "the agent is setting it")
        proxy.strike("reset")
        timeouts.replace(remote_setting=5.0)
        setting.result(LIMIT_S)
        assert session.mode == with_modes.ledger.mode(session.id) == "auto"
        session.agent.close()


def test_a_mode_that_may_be_set_is_shown_as_the_agent_has_it(with_modes: Server, connect: Connect) -> None:
    """Whatever is asked, no answer comes: the mode that is shown is restored on a new connection."""
    timeouts.replace(remote_setting=0.1)
    with FaultProxy(with_modes.port) as proxy:
        session = connect(proxy.url("http"))
        proxy.rule = lambda it: Reply(202) if it.rpc == "session/set_mode" else None
        setting = set_mode(session, "auto")
        wait_until(lambda: any(it.rpc == "session/set_mode" for it in proxy.requests), "it is asked for")
        proxy.strike("reset")
        with pytest.raises(acp.ConnectionLost, match="unknown whether the setting has changed"):
            setting.result(LIMIT_S)
        proxy.rule = None
        wait_until(lambda: any("onnected again" in it for it in notices(session)), "it is renewed")
        goes_on = session.prompt(f"on {session.id}", timeout=LIMIT_S)
        assert goes_on.text == f"You said: on {session.id}"
        assert session.mode == with_modes.ledger.mode(session.id) == "ask"
        session.agent.close()


# ---- a backend that accepts connections and says nothing ---------------------------------------


@pytest.fixture
def hole() -> Iterator[int]:
    """The port of a server that accepts connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0), backlog=50) as listener:
        yield int(listener.getsockname()[1])


def test_a_backend_that_says_nothing_is_tried_again(
    proxy: FaultProxy, python: Server, connect: Connect, hole: int
) -> None:
    """A load balancer sends us there, for a while."""
    timeouts.replace(remote_connect=0.3)
    session = connect(proxy.url("ws"))
    proxy.forward_to(hole)
    before = proxy.accepted
    proxy.strike("cut")
    wait_until(lambda: proxy.accepted > before, "it connects again")
    waiting = session.start(f"waiting {session.id}")
    wait_until(lambda: proxy.accepted > before + 2, "it is tried again")
    proxy.forward_to(python.port)
    timeouts.replace(remote_connect=LIMIT_S)
    wait_until(lambda: waiting.done, "the prompt is answered", LIMIT_S)
    assert waiting.text == f"You said: waiting {session.id}"
    assert python.ledger.prompts(f"waiting {session.id}") == 1


def test_a_backend_that_goes_on_saying_nothing_is_a_lost_connection(
    proxy: FaultProxy, connect: Connect, hole: int
) -> None:
    timeouts.replace(remote_connect=0.2, remote_reconnect=1.0)
    session = connect(proxy.url("ws"))
    before = proxy.accepted
    proxy.forward_to(hole)
    proxy.strike("cut")
    wait_until(lambda: proxy.accepted > before, "it connects again")
    with pytest.raises(acp.ConnectionLost, match="did not answer in time"):
        session.prompt("anybody?", timeout=LIMIT_S)
    assert session.status == "disconnected"


def test_a_start_that_takes_too_long_again_is_a_lost_connection(
    proxy: FaultProxy, connect: Connect, hole: int
) -> None:
    timeouts.replace(remote_reconnect=1.0)
    session = connect(proxy.url("ws"), start_timeout=3.0)
    before = proxy.accepted
    proxy.forward_to(hole)
    proxy.strike("cut")
    wait_until(lambda: proxy.accepted > before, "it connects again")
    with pytest.raises(acp.ConnectionLost, match="within 3 s"):
        session.prompt("anybody?", timeout=LIMIT_S)
    assert session.status == "disconnected"


# ---- what is shown -----------------------------------------------------------------------------


def test_an_interruption_that_ends_while_sessions_are_reopened_is_no_longer_shown(
    proxy: FaultProxy, connect: Connect
) -> None:
    """One session is open already, and its stream breaks and recovers while another one is being loaded."""
    session = connect(proxy.url("http"))
    host = session.agent._host

    async def while_reopening() -> None:
        async with host.agent.starting:
            host.interruptions.link_changed(Interrupted("it broke"))
            host.interruptions.link_changed(Restored())
            assert session.status == "reconnecting", "for all that is known here, it is being reopened"

    loop.call(while_reopening())
    wait_until(lambda: session.status == "idle", "the status follows")


def test_a_prompt_that_was_refused_is_not_said_to_be_worked_on(
    proxy: FaultProxy, python: Server, connect: Connect
) -> None:
    calls = []

    def token() -> str:
        calls.append(1)
        if len(calls) > 1:
            raise RuntimeError("no more tokens")
        return "token-number-1"

    session = connect(proxy.url("http"), headers={"X-Key": token})
    proxy.rule = lambda request: Reply(401, body=b"expired")
    with pytest.raises(acp.ConnectionLost) as caught:
        session.prompt(f"refused {session.id}", timeout=LIMIT_S)
    assert "nothing was done" in str(caught.value)
    assert "may still be working" not in str(caught.value)
    assert python.ledger.prompts(f"refused {session.id}") == 0
