"""What networks do, one by one: each has a named behaviour. `test_random_faults.py` mixes them."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.core.snapshot import Notice, Question
from tests.agent.remote.certificates import Authority, Certificate
from tests.agent.remote.conftest import Connect
from tests.agent.remote.fault_proxy import Fault, FaultProxy
from tests.agent.remote.outcome import is_marked, numbers
from tests.agent.remote.raw_http import Reply, Request
from tests.agent.remote.servers import Server, python_server, typescript_server
from tests.session.helpers import LIMIT_S, begun, notices
from tests.waiting import wait_until

FOREIGN_WORDS = ("process", "arguments", "stderr", "started again", "exited")
"""Words about an agent on this machine: none of them fits a server."""


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """A server that a test may restart."""
    server = python_server(tmp_path)
    try:
        yield server
    finally:
        server.stop()


def fits(text: str) -> bool:
    return not any(word in text for word in FOREIGN_WORDS)


def goes_on(session: acp.Session, server: Server, prompt: str = "and on") -> acp.Turn:
    """The next prompt is answered, and the agent received it once."""
    text = f"{prompt} {session.id}"
    turn = session.prompt(text, timeout=LIMIT_S)
    # A stream that broke before the server's first comment is known to be broken at the next comment.
    wait_until(lambda: turn.text == f"You said: {text}" or is_marked(turn), "it is complete or marked")
    assert server.ledger.prompts(text) == 1
    assert all(fits(notice) for notice in notices(session)), notices(session)
    return turn


def noticed(session: acp.Session, proxy: FaultProxy, before: int) -> bool:
    """Whether the client knows that its connections broke: it says so, or has made others."""
    return session.status == "disconnected" or proxy.accepted > before


# ---- laptop sleep, idle connections, restarts --------------------------------------------------


def test_after_a_sleep_the_next_prompt_finds_the_session(
    proxy: FaultProxy, python: Server, wire: str, connect: Connect
) -> None:
    """The connections are half open: the server, or a NAT on the way, has forgotten them."""
    timeouts.replace(remote_ping=0.5, remote_pong=2.0, remote_silence=2.0, remote_idle=0.5, remote_gap=5.0)
    session = connect(proxy.url(wire))
    goes_on(session, python, "before")
    before = proxy.accepted
    proxy.strike("half_open")
    wait_until(lambda: noticed(session, proxy, before), "the sleep is noticed")
    goes_on(session, python)
    assert [turn.stop_reason for turn in session.turns] == ["end_turn", "end_turn"]


def test_a_sleep_in_a_turn_ends_or_continues_it_but_never_hangs(
    proxy: FaultProxy, python: Server, wire: str, connect: Connect
) -> None:
    timeouts.replace(remote_ping=0.5, remote_pong=2.0, remote_silence=2.0, remote_gap=3.0, remote_post=5.0)
    session = connect(proxy.url(wire))
    prompt = f"words 40 20 {session.id}"
    turn = begun(session.start(prompt))
    proxy.strike("half_open")
    ended(turn)
    shown = numbers(turn)
    assert shown == sorted(set(shown)), "nothing twice"
    assert len(shown) == 40 or is_marked(turn)
    goes_on(session, python)
    assert python.ledger.prompts(prompt) == 1


def test_a_proxy_that_cuts_idle_connections_is_not_noticed(
    proxy: FaultProxy, python: Server, wire: str, connect: Connect
) -> None:
    session = connect(proxy.url(wire))
    for n in range(3):
        turn = goes_on(session, python, f"round {n}")
        assert turn.text == f"You said: round {n} {session.id}"
        before = proxy.accepted
        proxy.strike("cut")
        wait_until(partial(noticed, session, proxy, before), "the cut is noticed")
    assert [turn.status for turn in session.turns] == ["done"] * 3
    assert not any(map(is_marked, session.turns))


@pytest.mark.parametrize("moment", ["before the turn", "in the turn"])
def test_tool_calls_that_a_cut_swallows_are_filled_in(
    proxy: FaultProxy, python: Server, connect: Connect, moment: str
) -> None:
    """The Python SDK's server writes each second message to the stream that broke."""
    session = connect(proxy.url("http"))
    goes_on(session, python, "before")
    before = proxy.accepted
    prompt = f"act 400 {session.id}"
    turn = session.start(prompt) if moment == "in the turn" else None
    wait_until(lambda: turn is None or python.ledger.prompts(prompt) == 1, "the agent has the prompt")
    proxy.strike("cut")
    wait_until(partial(noticed, session, proxy, before), "the cut is noticed")
    turn = turn or session.start(prompt)
    ended(turn)
    assert [(it.title, it.status) for it in turn.tool_calls] == [
        ("rm -rf build", "completed"),
        ("git push --force", "completed"),
    ]
    assert turn.text == "Done."
    assert not is_marked(turn)
    assert not any(isinstance(it, Question) for it in turn.items), "nobody is asked about what is over"


def test_an_answer_that_a_cut_swallows_whole_is_filled_in(
    proxy: FaultProxy, python: Server, connect: Connect
) -> None:
    session = connect(proxy.url("http"))
    for n in range(2):
        before = proxy.accepted
        proxy.strike("cut")
        wait_until(partial(noticed, session, proxy, before), "the cut is noticed")
        turn = goes_on(session, python, f"round {n}")
        assert turn.text == f"You said: round {n} {session.id}"
        assert not is_marked(turn)


def test_the_reply_to_a_question_that_was_answered_in_an_outage_is_filled_in(
    proxy: FaultProxy, connect: Connect
) -> None:
    may_answer = threading.Event()

    def waits(_: Any) -> str:
        assert may_answer.wait(LIMIT_S)
        return "allow"

    session = connect(proxy.url("http"), permissions=waits)
    turn = session.start("ask")
    wait_until(lambda: bool(turn.tool_calls), "the question is there")
    proxy.strike("refuse", seconds=0.5)
    wait_until(lambda: session.status == "reconnecting", "the interruption is shown")
    may_answer.set()
    ended(turn)
    assert turn.text == "You chose y."
    assert not is_marked(turn)


def test_a_turn_whose_end_is_lost_does_not_say_that_its_answer_is(
    proxy: FaultProxy, python: Server, connect: Connect
) -> None:
    timeouts.replace(remote_gap=1.0)
    session = connect(proxy.url("http"))
    turn = begun(session.start(f"forget {session.id}"))
    proxy.strike("cut")
    with pytest.raises(acp.ConnectionLost, match="the end of the turn is probably lost"):
        turn.wait(LIMIT_S)
    (about,) = [it.title for it in turn.items if isinstance(it, Notice)]
    assert about == "The answer is as the agent has stored it so far"


def test_a_restarted_server_has_the_session_loaded_again(
    own_server: Server, wire: str, connect: Connect
) -> None:
    session = connect(own_server.url(wire))
    goes_on(session, own_server, "before")
    own_server.restart()
    goes_on(session, own_server, "after")
    assert len(own_server.ledger.entries("load")) == 1
    assert [turn.status for turn in session.turns] == ["done", "done"]
    (notice,) = notices(session)
    assert "onnected again" in notice or "econnected" in notice


def test_a_server_that_restarts_in_a_turn_fails_it_and_keeps_its_text(
    own_server: Server, wire: str, connect: Connect
) -> None:
    session = connect(own_server.url(wire))
    prompt = "words 2000 20"
    turn = begun(session.start(prompt))
    own_server.restart()
    with pytest.raises(acp.ConnectionLost) as caught:
        turn.wait(LIMIT_S)
    assert fits(str(caught.value))
    assert turn.status == "failed"
    shown = numbers(turn)
    assert shown == list(range(len(shown))) != []
    goes_on(session, own_server)
    assert own_server.ledger.prompts(prompt) == 1


def test_a_server_that_is_gone_for_good_is_an_error_within_the_limit(
    own_server: Server, wire: str, connect: Connect
) -> None:
    timeouts.replace(remote_reconnect=0.5)
    session = connect(own_server.url(wire))
    own_server.stop()
    with pytest.raises(acp.ConnectionLost) as caught:
        session.prompt("anybody?", timeout=LIMIT_S)
    assert fits(str(caught.value))
    own_server.start()
    goes_on(session, own_server)


# ---- a cut in the middle of a turn -------------------------------------------------------------


def test_a_cut_websocket_fails_its_turn_and_keeps_what_came(
    proxy: FaultProxy, python: Server, connect: Connect
) -> None:
    session = connect(proxy.url("ws"))
    prompt = f"words 200 10 {session.id}"
    turn = begun(session.start(prompt))
    proxy.strike("reset")
    with pytest.raises(acp.ConnectionLost) as caught:
        turn.wait(LIMIT_S)
    assert fits(str(caught.value))
    assert numbers(turn) == list(range(len(numbers(turn)))) != []
    goes_on(session, python)
    assert python.ledger.prompts(prompt) == 1
    assert session.turns[0].text == turn.text, "the load does not change what was shown"


@pytest.mark.parametrize("kind", ["cut", "reset", "truncate"])
def test_streams_that_are_cut_once_are_opened_again_and_a_gap_is_marked(
    proxy: FaultProxy, python: Server, connect: Connect, kind: Any
) -> None:
    timeouts.replace(remote_gap=3.0)
    session = connect(proxy.url("http"))
    prompt = f"words 100 10 {session.id}"
    proxy.arm(Fault(kind, after=6000))
    turn = session.start(prompt)
    ended(turn)
    assert proxy.struck.is_set()
    shown = numbers(turn)
    assert shown == sorted(set(shown)), "nothing twice"
    assert len(shown) == 100 or is_marked(turn)
    goes_on(session, python)
    assert python.ledger.prompts(prompt) == 1


@pytest.mark.parametrize("server", ["python", "typescript"])
def test_a_stream_that_is_cut_before_it_opens_here_may_lose_messages(
    server: str, request: pytest.FixtureRequest, connect: Connect
) -> None:
    """The server has a reader, and writes to it; its answer never arrived here."""
    timeouts.replace(remote_gap=3.0)
    running = request.getfixturevalue(server)
    with FaultProxy(running.port) as proxy:
        proxy.arm(Fault("cut", everywhere=False, only=lambda it: it.opens_session_stream))
        session = connect(proxy.url("http"))
        turn = session.start(f"words 30 5 {session.id}")
        ended(turn)
        assert proxy.struck.is_set()
        shown = numbers(turn)
        assert shown == sorted(set(shown)), "nothing twice"
        assert len(shown) == 30 or is_marked(turn)


@pytest.mark.parametrize("kind", ["cut", "reset", "truncate"])
def test_what_a_cut_lost_is_filled_in_from_the_agents_history(
    kind: Any, typescript: Server, connect: Connect
) -> None:
    """This server keeps the answer for the next stream; the Python SDK's may write that to the dead one."""
    with FaultProxy(typescript.port) as proxy:
        session = connect(proxy.url("http"))
        goes_on(session, typescript, "before")
        loads = len(typescript.ledger.entries("load"))
        proxy.arm(Fault(kind, after=1500, everywhere=False, only=lambda it: it.opens_session_stream))
        prompt = f"words 60 5 {session.id}"
        turn = session.start(prompt)
        ended(turn)
        assert proxy.struck.is_set()
        assert turn.status == "done", turn.error
        assert numbers(turn) == list(range(60)), "complete, nothing twice, all in order"
        assert not is_marked(turn)
        assert typescript.ledger.prompts(prompt) == 1
        assert len(typescript.ledger.entries("load")) > loads
        goes_on(session, typescript)
        assert [turn.status for turn in session.turns] == ["done"] * 3


def test_a_history_that_is_cut_itself_completes_nothing(typescript: Server, connect: Connect) -> None:
    with FaultProxy(typescript.port) as proxy:
        session = connect(proxy.url("http"))
        goes_on(session, typescript, "before")
        ours = {it.headers.get("acp-connection-id") for it in proxy.requests}
        proxy.arm(Fault("cut", after=1500, everywhere=False, only=lambda it: it.opens_session_stream))
        turn = session.start(f"words 100 10 {session.id}")
        assert proxy.struck.wait(LIMIT_S)

        def reads_history(request: Request) -> bool:
            return request.opens_session_stream and request.headers["acp-connection-id"] not in ours

        proxy.arm(Fault("cut", after=2000, everywhere=False, only=reads_history))
        ended(turn)
        assert proxy.struck.is_set()
        assert is_marked(turn)
        shown = numbers(turn)
        assert shown == sorted(set(shown)), "nothing twice"
        goes_on(session, typescript)


def test_a_quiet_server_that_thinks_is_not_marked(tmp_path: Path, connect: Connect) -> None:
    """It sends no comments: its streams are opened again, which must not look like a loss."""
    timeouts.replace(remote_silence=0.5)
    server = typescript_server(tmp_path, "--silent")
    try:
        with FaultProxy(server.port) as proxy:
            session = connect(proxy.url("http"))
            turn = session.prompt("think 3000", timeout=LIMIT_S)
            opened = [it for it in proxy.requests if it.opens_session_stream]
            assert len(opened) > 1, "it was opened again"
            assert turn.text == "I thought."
            assert not is_marked(turn)
            session.agent.close()
    finally:
        server.stop()


def test_a_silent_server_behind_a_black_hole_does_not_hang_the_turn(tmp_path: Path, connect: Connect) -> None:
    timeouts.replace(remote_silence=0.5, remote_doubt_silence=3.0, remote_post=5.0)
    server = python_server(tmp_path, "--silent")
    try:
        with FaultProxy(server.port) as proxy:
            session = connect(proxy.url("http"))
            turn = begun(session.start(f"words 40 20 {session.id}"))
            proxy.strike("half_open")
            ended(turn)
            shown = numbers(turn)
            assert shown == sorted(set(shown)), "nothing twice"
            assert len(shown) == 40 or is_marked(turn)
            goes_on(session, server)
            session.agent.close()
    finally:
        server.stop()


def test_the_system_watches_over_streams(proxy: FaultProxy, python: Server, connect: Connect) -> None:
    """A network that vanishes is an error of the socket, even if the server never sends a comment."""
    seen: list[socket.socket] = []
    with pytest.MonkeyPatch.context() as patch:
        real = socket.socket.setsockopt

        def setsockopt(self: socket.socket, level: int, name: int, value: Any) -> None:
            real(self, level, name, value)
            if (level, name) == (socket.SOL_SOCKET, socket.SO_KEEPALIVE):
                seen.append(self)

        patch.setattr(socket.socket, "setsockopt", setsockopt)
        session = connect(proxy.url("http"))
        goes_on(session, python)
    assert len(seen) == 2, "of the connection, and of the session"


def test_a_clean_end_of_the_stream_loses_nothing_on_a_server_that_keeps_events(
    typescript: Server, connect: Connect
) -> None:
    with FaultProxy(typescript.port) as proxy:
        session = connect(proxy.url("http"))
        prompt = f"words 100 10 {session.id}"
        proxy.arm(Fault("cut", after=6000))
        turn = session.prompt(prompt, timeout=LIMIT_S)
        assert proxy.struck.is_set()
        shown = numbers(turn)
        assert shown == sorted(set(shown))
        assert len(shown) == 100 or is_marked(turn)
        assert typescript.ledger.prompts(prompt) == 1


def test_a_turn_can_be_stopped_while_the_connection_is_down(proxy: FaultProxy, connect: Connect) -> None:
    timeouts.replace(cancel_grace=0.5)
    session = connect(proxy.url("http"))
    turn = begun(session.start("words 5000 10"))
    proxy.strike("refuse", seconds=LIMIT_S)
    wait_until(lambda: session.status == "reconnecting", "the interruption is shown")
    turn.cancel()
    ended(turn)
    assert turn.status == "abandoned"
    assert session.status == "reconnecting", "not that the agent ignores the cancel"
    proxy.heal()


def test_a_turn_that_is_given_up_does_not_hide_that_the_connection_is_only_interrupted(
    typescript: Server, connect: Connect
) -> None:
    """The user would read that the connection is lost, and "Connect again" would have nothing to do."""
    timeouts.replace(remote_gap=0.5)
    with FaultProxy(typescript.port) as proxy:
        session = connect(proxy.url("http"))
        turn = begun(session.start("words 5000 10"))
        proxy.strike("refuse", seconds=LIMIT_S)
        wait_until(lambda: session.status == "reconnecting", "the interruption is shown")
        with pytest.raises(acp.ConnectionLost):
            turn.wait(LIMIT_S)
        assert turn.status == "failed"
        assert session.status == "reconnecting"
        timeouts.replace(remote_gap=LIMIT_S)
        waiting = session.start(f"later {session.id}")
        wait_until(lambda: waiting.status == "running", "the next turn begins")
        assert session.status == "reconnecting"
        proxy.heal()
        wait_until(lambda: waiting.done, "the next turn ends")
        goes_on(session, typescript)
        assert session.status == "idle"
        session.agent.close()


# ---- names and certificates --------------------------------------------------------------------


def test_a_name_that_does_not_exist_is_named(wire: str) -> None:
    with pytest.raises(acp.ConnectionLost, match="DNS"):
        acp.connect(f"{wire}s://no-such-host.invalid/acp", cwd="/srv")


def test_a_port_where_nobody_listens_is_named(wire: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(acp.ConnectionLost, match="refused"):
        acp.connect(f"{wire}://127.0.0.1:{port}/acp", cwd="/srv")


def _tls(certificate: Certificate) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate.chain, certificate.key)
    return context


@pytest.mark.parametrize(
    ("names", "expired", "trusted", "reason"),
    [
        ((), True, True, "expired"),
        (("other.example",), False, True, "another name"),
        ((), False, False, "not trusted"),
    ],
)
def test_a_bad_certificate_is_named_and_nothing_is_sent(
    python: Server,
    authority: Authority,
    wire: str,
    names: tuple[str, ...],
    expired: bool,
    trusted: bool,
    reason: str,
) -> None:
    ca: dict[str, Any] = {"ca": authority.ca} if trusted else {}
    with FaultProxy(python.port, tls=_tls(authority.issue(*names, expired=expired))) as proxy:
        with pytest.raises(acp.ConnectionLost, match=reason):
            acp.connect(proxy.url(wire), cwd="/srv", headers={"X-Key": "secret-key-1"}, **ca)
        assert not proxy.requests


def test_the_authority_may_come_from_the_environment(
    python_tls: Server, authority: Authority, wire: Any, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.ca))
    session = connect(python_tls.url(wire))
    assert session.prompt("hello", timeout=LIMIT_S).text == "You said: hello"


def test_a_server_that_speaks_no_tls_is_named(python: Server, wire: Any) -> None:
    with pytest.raises(acp.ConnectionLost, match="TLS"):
        acp.connect(python.url(wire).replace("://", "s://"), cwd="/srv")


# ---- statuses ----------------------------------------------------------------------------------


class Tokens:
    """A function for headers= that counts its calls, and a rule that accepts only the newest token."""

    def __init__(self) -> None:
        self.calls = 0
        self.valid = "token-number-1"
        self.issues = True

    def __call__(self) -> str:
        self.calls += 1
        return self.valid if self.issues else "an-old-token"

    def rule(self, request: Request) -> Reply | None:
        return None if request.headers.get("x-key") == self.valid else Reply(401, body=b"expired")


def test_an_expired_token_in_a_session_is_renewed_once(
    proxy: FaultProxy, python: Server, connect: Connect
) -> None:
    tokens = Tokens()
    proxy.rule = tokens.rule
    session = connect(proxy.url("http"), headers={"X-Key": tokens})
    goes_on(session, python, "before")
    assert tokens.calls == 1
    tokens.valid = "token-number-2"
    goes_on(session, python, "after")
    assert tokens.calls == 2


def test_a_websocket_renews_its_token_with_each_connection(
    proxy: FaultProxy, python: Server, connect: Connect
) -> None:
    tokens = Tokens()
    proxy.rule = tokens.rule
    session = connect(proxy.url("ws"), headers={"X-Key": tokens})
    goes_on(session, python, "before")
    tokens.valid = "token-number-2"
    proxy.strike("cut")
    wait_until(lambda: noticed(session, proxy, 1), "the cut is noticed")
    goes_on(session, python, "after")
    assert tokens.calls == 2


def test_a_token_that_stays_invalid_is_an_error_and_not_a_loop(
    proxy: FaultProxy, wire: str, connect: Connect
) -> None:
    tokens = Tokens()
    proxy.rule = tokens.rule
    session = connect(proxy.url(wire), headers={"X-Key": tokens})
    tokens.valid, tokens.issues = "token-number-2", False
    if wire == "ws":
        proxy.strike("cut")
        wait_until(lambda: noticed(session, proxy, 1), "the cut is noticed")
    before, calls = len(proxy.requests), tokens.calls
    with pytest.raises(acp.ConnectionLost, match="401"):
        session.prompt("hello", timeout=LIMIT_S)
    assert tokens.calls - calls <= 3
    assert len(proxy.requests) - before <= 8


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_at_the_start_says_what_to_give(proxy: FaultProxy, wire: str, status: int) -> None:
    proxy.rule = lambda request: Reply(status, body=b"who are you?")
    with pytest.raises(acp.ConnectionLost, match=f"{status}") as caught:
        acp.connect(proxy.url(wire), cwd="/srv")
    assert fits(str(caught.value))
    assert len(proxy.requests) <= 2


def test_a_message_that_is_too_large_is_named_and_the_session_goes_on(
    proxy: FaultProxy, python: Server, connect: Connect
) -> None:
    session = connect(proxy.url("http"))
    proxy.rule = lambda request: Reply(413) if len(request.body) > 1 << 20 else None
    with pytest.raises(acp.Error, match="413"):
        session.prompt("z" * (2 << 20), timeout=LIMIT_S)
    goes_on(session, python)
    assert session.turns[0].status == "failed"


def test_too_many_requests_are_sent_again_when_the_server_says_if_the_user_wants_that(
    proxy: FaultProxy, python: Server, connect: Connect
) -> None:
    session = connect(proxy.url("http"), retry_rate_limits=1)
    refused = threading.Event()

    def rule(request: Request) -> Reply | None:
        if request.rpc != "session/prompt" or refused.is_set():
            return None
        refused.set()
        return Reply(429, {"Retry-After": "1"})

    proxy.rule = rule
    goes_on(session, python)
    assert refused.is_set()


@pytest.mark.parametrize("status", [429, 503])
def test_a_cancel_while_the_server_takes_no_prompt_ends_the_turn_at_once(
    proxy: FaultProxy, python: Server, connect: Connect, status: int
) -> None:
    session = connect(proxy.url("http"))
    refused = threading.Event()

    def rule(request: Request) -> Reply | None:
        if request.rpc != "session/prompt":
            return None
        refused.set()
        return Reply(status, {"Retry-After": "50"})

    proxy.rule = rule
    turn = session.start(f"hello {session.id}")
    assert refused.wait(LIMIT_S)
    turn.cancel()
    wait_until(lambda: turn.done, "the turn ends before the server's wait is over", 20.0)
    assert (turn.status, turn.stop_reason) == ("done", "cancelled")
    proxy.rule = None
    goes_on(session, python)
    assert python.ledger.prompts(f"hello {session.id}") == 0
    assert python.ledger.cancels(session.id) == 0, "the server never had this turn"


def test_a_cancel_while_the_prompt_waits_for_its_stream_ends_the_turn_at_once(
    proxy: FaultProxy, python: Server, connect: Connect
) -> None:
    session = connect(proxy.url("http"))
    refused = threading.Event()

    def rule(request: Request) -> Reply | None:
        if request.method != "GET":
            return None
        refused.set()
        return Reply(502)

    proxy.rule = rule
    proxy.strike("cut")
    assert refused.wait(LIMIT_S)
    turn = session.start(f"hello {session.id}")
    turn.cancel()
    wait_until(lambda: turn.done, "the turn ends while the streams are down", 20.0)
    assert (turn.status, turn.stop_reason) == ("done", "cancelled")
    proxy.rule = None
    goes_on(session, python)
    assert python.ledger.prompts(f"hello {session.id}") == 0


# ---- sessions that the server does not know yet ------------------------------------------------


class Unloaded:
    """A rule: 403 for the stream of a session until the server has got the request to load it."""

    def __init__(self, *, forever: bool = False) -> None:
        self.refused = 0
        self._forever = forever
        self._loaded: set[str] = set()

    def __call__(self, request: Request) -> Reply | None:
        if request.rpc == "session/load":
            self._loaded.add(request.headers["acp-connection-id"])
        known = request.headers.get("acp-connection-id") in self._loaded and not self._forever
        if not request.opens_session_stream or known:
            return None
        self.refused += 1
        return Reply(403, body=b"not your session")


def test_a_server_may_refuse_the_stream_of_a_session_until_it_is_loaded(
    proxy: FaultProxy, python: Server, connect: Connect
) -> None:
    tokens = Tokens()
    session = connect(proxy.url("http"), headers={"X-Key": tokens})
    goes_on(session, python, "before")
    session.agent.close()
    proxy.rule = rule = Unloaded()
    again = connect(proxy.url("http"), headers={"X-Key": tokens}, load=session.id)
    assert f"You said: before {session.id}" in again.to_text()
    goes_on(again, python, "after")
    assert rule.refused
    assert tokens.calls == 2, "one for each connection: only a 401 asks for another token"


def test_a_loaded_session_whose_stream_stays_refused_is_an_error(
    proxy: FaultProxy, python: Server, connect: Connect
) -> None:
    timeouts.replace(remote_stream=0.5)
    session = connect(proxy.url("http"))
    goes_on(session, python, "before")
    session.agent.close()
    proxy.rule = Unloaded(forever=True)
    with pytest.raises(acp.Error, match="no stream"):
        connect(proxy.url("http"), load=session.id)


@pytest.mark.parametrize("where", ["the connection's stream", "a new session's stream", "a prompt"])
def test_a_refusal_that_is_meant_ends_the_connection(proxy: FaultProxy, connect: Connect, where: str) -> None:
    tokens = Tokens()
    connections: list[Request] = []

    def rule(request: Request) -> Reply | None:
        if request.rpc == "initialize":
            connections.append(request)
        of_connection = request.method == "GET" and not request.opens_session_stream
        meant = {
            "the connection's stream": of_connection,
            "a new session's stream": request.opens_session_stream,
            "a prompt": request.rpc == "session/prompt",
        }
        return Reply(403, body=b"go away") if meant[where] else None

    proxy.rule = rule
    with pytest.raises(acp.ConnectionLost, match="403"):
        connect(proxy.url("http"), headers={"X-Key": tokens}).prompt("hello", timeout=LIMIT_S)
    # One for each connection, of which there may be several; a 403 asks for no other token.
    wait_until(lambda: tokens.calls == len(connections), "each connection has one token")


@pytest.mark.parametrize("after", ["86400", "999999999999", "-1", "nan", "Wed, 21 Oct 2065 07:28:00 GMT", ""])
def test_a_server_cannot_make_us_wait_for_hours(
    proxy: FaultProxy, python: Server, connect: Connect, after: str
) -> None:
    timeouts.replace(remote_reconnect=1.0)
    session = connect(proxy.url("http"))
    reply = Reply(429, {"Retry-After": after} if after else {})
    proxy.rule = lambda request: reply if request.rpc == "session/prompt" else None
    with pytest.raises(acp.Error, match="429"):
        session.prompt("hello", timeout=LIMIT_S)
    proxy.rule = None
    goes_on(session, python)


@pytest.mark.parametrize("what", ["a stream", "the WebSocket"])
@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_takes_no_connection_is_asked_again_when_it_says(
    proxy: FaultProxy, python: Server, connect: Connect, what: str, status: int
) -> None:
    times: list[float] = []

    def rule(request: Request) -> Reply | None:
        if what == "a stream" and not request.opens_session_stream:
            return None
        times.append(time.monotonic())
        return Reply(status, {"Retry-After": "1"}) if len(times) == 1 else None

    proxy.rule = rule
    session = connect(proxy.url("http" if what == "a stream" else "ws"))
    goes_on(session, python)
    first, second, *_ = times
    assert second - first >= 0.9


def test_a_websocket_that_is_refused_for_too_many_requests_says_so(proxy: FaultProxy) -> None:
    for after in ({}, {"Retry-After": "86400"}):
        proxy.rule = lambda request, after=after: Reply(429, after)
        with pytest.raises(acp.ConnectionLost, match="429") as caught:
            acp.connect(proxy.url("ws"), cwd="/srv", start_timeout=20.0)
        assert caught.value.may_pass


@pytest.mark.parametrize("seconds", [1.0, pytest.param(10.0, marks=pytest.mark.slow)])
def test_a_gateway_that_fails_for_a_while_loses_no_prompt_and_sends_none_twice(
    proxy: FaultProxy, python: Server, wire: str, connect: Connect, seconds: float
) -> None:
    """502 for some seconds, in which streams and connections break, too: the prompt waits."""
    session = connect(proxy.url(wire))
    goes_on(session, python, "before")
    before = proxy.accepted
    proxy.strike("refuse", seconds=seconds)
    wait_until(partial(noticed, session, proxy, before), "the cut is noticed")
    assert proxy.refuses or seconds < 10
    goes_on(session, python, "during")
    assert not proxy.refuses
    assert [turn.status for turn in session.turns] == ["done", "done"]


def test_a_gateway_that_fails_in_a_turn_does_not_end_it(
    proxy: FaultProxy, python: Server, connect: Connect
) -> None:
    timeouts.replace(remote_gap=3.0)
    session = connect(proxy.url("http"))
    prompt = f"words 150 10 {session.id}"
    turn = begun(session.start(prompt))
    proxy.strike("refuse", seconds=0.5)
    ended(turn)
    shown = numbers(turn)
    assert shown == sorted(set(shown))
    assert len(shown) == 150 or is_marked(turn)
    assert python.ledger.prompts(prompt) == 1
    goes_on(session, python)


@pytest.mark.parametrize("status", [404, 405, 426])
def test_an_address_without_streamable_http_hints_at_websocket(proxy: FaultProxy, status: int) -> None:
    proxy.rule = lambda request: Reply(status)
    with pytest.raises(acp.ConnectionLost, match=r"wss?://"):
        acp.connect(proxy.url("http"), cwd="/srv")


def ended(turn: acp.Turn) -> None:
    """Wait for the end of a turn, whatever it is."""
    wait_until(lambda: turn.done, "the turn ends", LIMIT_S)
