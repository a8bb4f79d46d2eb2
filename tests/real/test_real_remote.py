"""Real agents that serve over the network: goose with TLS and a key, qwen-code with a bearer token."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.core.snapshot import Question
from tests.agents.mock_model import do, say, script, talk
from tests.real import serving
from tests.real.conftest import installed
from tests.real.serving import Serving
from tests.session.helpers import begun
from tests.waiting import wait_until

pytestmark = [pytest.mark.real_agent, pytest.mark.slow]

LIMIT_S = 120.0
BIG = 20_000_000
TOO_BIG = 30_000_000

SERVERS: dict[str, Callable[..., AbstractContextManager[Serving]]] = {
    "goose": serving.goose,
    "qwen": serving.qwen,
}


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest, model: str, tmp_path: Path) -> Iterator[Serving]:
    """Each agent, started once for each test, with a home of its own."""
    command, env = installed(request.param, model, tmp_path)
    with SERVERS[request.param](command[0], env, tmp_path) as running:
        yield running


@pytest.fixture(params=["ws", "http"])
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


Connect = Callable[..., acp.Session]


@pytest.fixture
def connect(server: Serving, wire: str) -> Iterator[Connect]:
    opened: list[acp.Session] = []

    def open_session(**more: Any) -> acp.Session:
        options = {"cwd": str(server.cwd), "permissions": "allow"} | server.options | more
        opened.append(acp.connect(server.url(wire), **options))
        return opened[-1]

    yield open_session
    for session in opened:
        session.agent.close()


def test_a_whole_turn_with_a_permission(connect: Connect, server: Serving) -> None:
    session = connect()
    assert session.prompt(script(say("Hello.")), timeout=LIMIT_S).text == "Hello."
    turn = session.prompt(script(do("run", line="echo hi > made.txt"), say("done")), timeout=LIMIT_S)
    assert turn.text.endswith("done")
    assert [item.by for item in turn.items if isinstance(item, Question)] == ["policy"]
    assert (server.cwd / "made.txt").read_text() == "hi\n"


def test_a_rejected_command_is_not_run(connect: Connect, server: Serving) -> None:
    session = connect(permissions="reject")
    session.prompt(script(do("run", line="echo hi > made.txt"), say("done")), timeout=LIMIT_S)
    assert not (server.cwd / "made.txt").exists()


def test_a_turn_is_cancelled_and_the_next_one_works(connect: Connect) -> None:
    session = connect()
    turn = begun(session.start(script(talk())))
    turn.cancel()
    wait_until(lambda: turn.done, "the turn ends", LIMIT_S)
    assert turn.status in ("cancelled", "done")  # goose says that a cancelled turn ended
    assert session.prompt(script(say("Again.")), timeout=LIMIT_S).text == "Again."


def test_a_session_is_loaded_over_a_new_connection(connect: Connect) -> None:
    session = connect()
    session.prompt(script(say("Remember this.")), timeout=LIMIT_S)
    session.agent.close()
    again = loaded(connect, session.id)
    # Some answer before they have sent the history.
    wait_until(lambda: "Remember this." in again.to_text(), "the history is there", LIMIT_S)
    assert again.prompt(script(say("Yes.")), timeout=LIMIT_S).text == "Yes."


def loaded(connect: Connect, id: str) -> acp.Session:
    """The session of another connection. qwen refuses to load one until it has closed it."""
    found: list[acp.Session] = []

    def is_loaded() -> bool:
        try:
            found.append(connect(load=id))
        except acp.AgentError as error:
            if "retry after close completes" not in str(error):
                raise
        return bool(found)

    wait_until(is_loaded, "the session can be loaded", LIMIT_S)
    return found[0]


def test_two_sessions_at_once_keep_apart(connect: Connect) -> None:
    first = connect()
    second = first.agent.new_session()
    talking = begun(first.start(script(talk())))
    assert second.prompt(script(say("Meanwhile.")), timeout=LIMIT_S).text == "Meanwhile."
    assert not talking.done
    talking.cancel()
    wait_until(lambda: talking.done, "the turn ends", LIMIT_S)


def test_an_answer_of_20_MB_arrives(connect: Connect, server: Serving) -> None:
    turn = connect().prompt(script(say("x" * 1000, times=BIG // 1000)), timeout=LIMIT_S)
    assert len(turn.text) == min(BIG, server.longest_answer)


def test_a_prompt_that_is_too_large_for_the_server_is_named(connect: Connect) -> None:
    session = connect()
    with pytest.raises(acp.Error, match="larger than") as caught:
        session.prompt("y" * TOO_BIG, timeout=LIMIT_S)
    assert "larger" in str(caught.value)
    assert session.prompt(script(say("Small.")), timeout=LIMIT_S).text == "Small."


def test_a_wrong_key_is_named(server: Serving, wire: str) -> None:
    options = server.options | {"headers": {"Authorization": "Bearer wrong", "X-Secret-Key": "wrong"}}
    with pytest.raises(acp.ConnectionLost, match="401"):
        acp.connect(server.url(wire), cwd=str(server.cwd), **options)
