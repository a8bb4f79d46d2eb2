"""Methods beyond the protocol and `_meta`, with an agent written with the TypeScript SDK."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from tests.real.conftest import Starter
from tests.real.test_real_agents import LIMIT_S
from tests.waiting import wait_until

pytestmark = pytest.mark.real_agent


def called(session: acp.Session, method: str, params: Any = None) -> Any:
    """What the agent got from a method of ours."""
    given = json.dumps(params or {}, separators=(",", ":"))  # the agent splits at spaces
    return json.loads(session.prompt(f"call {method} {given}", timeout=LIMIT_S).text)


def test_requests_and_notifications_reach_the_agent(extending: Starter) -> None:
    session = extending()
    given = {"a": [1, {"b": None}], "ü": "ü"}
    assert session.agent.request("_ts/echo", given) == {"echo": given}
    noted: list[Any] = []
    session.agent.handlers["_ts/noted"] = noted.append
    session.agent.notify("_ts/note", {"n": 1})
    wait_until(lambda: noted == [{"n": 1}], "the notification comes back")


def test_its_errors_have_their_codes(extending: Starter) -> None:
    session = extending()
    with pytest.raises(acp.AgentError, match="as you wished") as raised:
        session.agent.request("_ts/fail")
    assert (raised.value.code, raised.value.data) == (7, {"why": "a test"})
    with pytest.raises(acp.AgentError) as raised:
        session.agent.request("_ts/nothing")
    assert raised.value.code == -32601
    with pytest.raises(acp.Timeout):
        session.agent.request("_ts/hang", timeout=0.2)
    assert session.agent.request("_ts/echo") == {"echo": {}}


def test_handlers_answer_it(extending: Starter) -> None:
    session = extending()
    calling: list[str] = []
    session.agent.on("_ts/calling")(lambda params: calling.append(params["method"]))

    @session.agent.on("_ts/sum")
    async def total(params: Any) -> Any:
        await asyncio.sleep(0)
        return {"sum": sum(params["numbers"])}

    @session.agent.on("_ts/bad")
    def bad(params: Any) -> Any:
        raise acp.ExtensionError("no such row", code=-32602, data={"row": params["row"]})

    over = threading.Event()
    session.agent.on("_ts/hangs")(lambda params: over.wait(LIMIT_S))
    assert called(session, "_ts/sum", {"numbers": [1, 2]}) == {"result": {"sum": 3}}
    assert called(session, "_ts/bad", {"row": 5}) == {
        "code": -32602,
        "message": "no such row",
        "data": {"row": 5},
    }
    assert called(session, "_ts/nobody")["code"] == -32601
    timeouts.replace(extension_handler=0.2)
    try:
        late = called(session, "_ts/hangs")
        assert (late["code"], "within 0.2 s" in late["message"]) == (-32603, True)
    finally:
        over.set()
    wait_until(lambda: calling == ["_ts/sum", "_ts/bad", "_ts/nobody", "_ts/hangs"], "all were announced")
    assert [entry.outcome for entry in session.audit.where(kind="extension")] == [
        "done",
        "failed",
        "failed",
        "failed",
    ]


def test_meta_goes_both_ways(extending: Starter) -> None:
    session = extending(meta={"traceparent": "00-1"}, capabilities={"mine": {"x": 1}})
    assert session.agent.capabilities.meta == {"ts": {"echo": True}}
    assert session.agent.meta is not None
    assert session.agent.meta["ts/announced"]["mine"] == {"x": 1}
    assert session.meta == {"ts/opened": {"traceparent": "00-1"}}
    turn = session.prompt("hello", meta={"run": 1}, timeout=LIMIT_S)
    assert turn.meta == {"ts/received": {"run": 1}}
    assert turn.items[-1].meta == {"ts/n": 1}
