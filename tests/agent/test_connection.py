"""A connection keeps the order, answers every request once, and ends for all callers together."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import pytest
from msgspec import Raw

from acp_notebook import timeouts
from acp_notebook.agent import connection as module
from acp_notebook.agent.connection import DETAIL_CHARS, Connection, RequestRefused
from acp_notebook.agent.recordings import client_actions
from acp_notebook.agent.transport import LOCAL, Ending, MemoryTransport, Reach, memory_pair
from acp_notebook.errors import AgentDied, AgentError, ConnectionLost, ProtocolError, RecordingError
from acp_notebook.wire import jsonrpc, v1
from acp_notebook.wire.jsonrpc import Garbage
from tests import schema

LIMIT_S = 60.0
PING = v1.logout()


class Agent:
    """The other end: sends what a test wants, and keeps what it receives."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.transport = transport
        self.heard: asyncio.Queue[Any] = asyncio.Queue()
        self.ended: list[Ending] = []
        transport.start(self._receive, self.ended.append)

    def _receive(self, data: bytes) -> None:
        for line in data.splitlines():
            self.heard.put_nowait(json.loads(line))

    def say(self, *messages: Any) -> None:
        """All of them in one piece."""
        lines = [it if isinstance(it, bytes) else json.dumps(it).encode() for it in messages]
        self.transport.write(b"".join(line + b"\n" for line in lines))

    async def hear(self) -> Any:
        return await asyncio.wait_for(self.heard.get(), LIMIT_S)


class Handler:
    def __init__(self) -> None:
        self.log: list[Any] = []
        self.work: Callable[[str, Any], Awaitable[Any]] | None = None
        self.arrived = asyncio.Event()

    def updated(self, messages: Sequence[v1.Update]) -> None:
        self.log += [message.params for message in messages]

    def notified(self, method: str, params: Raw) -> None:
        self.log.append(method)
        self.arrived.set()
        if method == "raise":
            raise RuntimeError("a bug in the client")

    async def requested(self, method: str, params: Raw) -> Any:
        self.log.append(method)
        self.arrived.set()
        return await self.work(method, json.loads(bytes(params))) if self.work else {"done": method}

    def unreadable(self, line: Garbage) -> None:
        self.log.append(line)

    def ended(self, error: Exception) -> None:
        self.log.append(error)


class Tap(client_actions.ActionTap):
    path = None
    keeps_files = False

    def __init__(self) -> None:
        self.log: list[tuple[str, bytes]] = []

    def sent(self, data: bytes) -> None:
        self.log.append(("sent", data))

    def received(self, data: bytes) -> None:
        self.log.append(("received", data))

    def record_action(self, action: dict[str, Any]) -> None: ...

    def ended(self, ending: Ending | None, untaken: Sequence[int]) -> None:
        self.log.append(("ended", b""))

    def close(self) -> None:
        raise AssertionError("only its owner closes it")


Scene = Callable[[Connection, Agent, Handler], Coroutine[Any, Any, None]]


def play(scene: Scene, tap: Tap | None = None) -> None:
    async def main() -> None:
        ours, theirs = memory_pair()
        handler = Handler()
        connection = Connection(ours, handler, tap)
        agent = Agent(theirs)
        connection.start()
        await scene(connection, agent, handler)
        await connection.close()

    asyncio.run(asyncio.wait_for(main(), LIMIT_S))


def request(id: Any, method: str = "ask", params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def notification(method: str, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def result(id: Any, value: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": value}


CANCELLED = {"code": jsonrpc.CANCELLED, "message": "cancelled"}


async def settle() -> None:
    """Let pending work proceed: the pair is connected in memory, so it takes a few rounds."""
    for _ in range(20):
        await asyncio.sleep(0)


def test_notifications_and_responses_are_handled_in_order() -> None:
    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        for name in ("first", "second"):
            connection.ask(PING, lambda found, error, name=name: handler.log.append((name, error)))  # type: ignore[misc]
        agent.say(notification("a"), result(2), notification("b"), result(1), notification("c"))
        await settle()
        assert handler.log == ["a", ("second", None), "b", ("first", None), "c"]

    play(scene)


def test_the_agents_requests_run_concurrently() -> None:
    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        go_on = asyncio.Event()

        async def work(method: str, params: Any) -> Any:
            if method == "slow":
                await go_on.wait()
            return {"from": method}

        handler.work = work
        agent.say(request(0, "slow"), request("a", "fast"), notification("note"))
        assert await agent.hear() == result("a", {"from": "fast"})
        assert handler.log[0] == "note"  # a request never blocks the next messages
        go_on.set()
        assert await agent.hear() == result(0, {"from": "slow"})

    play(scene)


@pytest.mark.parametrize("id", [0, 1, "x", "", None])
@pytest.mark.parametrize("begun", [True, False])
def test_a_request_cancelled_by_the_agent_is_answered_as_cancelled(id: Any, begun: bool) -> None:
    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        cancelled = []

        async def work(method: str, params: Any) -> Any:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(method)
                raise

        handler.work = work
        withdrawal = notification("$/cancel_request", {"requestId": id})
        if begun:
            agent.say(request(id))
            await asyncio.wait_for(handler.arrived.wait(), LIMIT_S)
            agent.say(withdrawal)
        else:
            agent.say(request(id), withdrawal)
        assert await agent.hear() == {"jsonrpc": "2.0", "id": id, "error": CANCELLED}
        await settle()
        assert agent.heard.empty()
        assert cancelled == (["ask"] if begun else [])

    play(scene)


@pytest.mark.parametrize("params", [{"requestId": 99}, {"requestId": [1]}, {}, None, 5])
def test_cancelling_an_unknown_request_does_nothing(params: Any) -> None:
    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        agent.say(notification("$/cancel_request", params), request(1))
        assert await agent.hear() == result(1, {"done": "ask"})
        assert handler.log == ["ask"]

    play(scene)


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (RequestRefused(-32602, "bad", {"x": 1}), -32602),
        (RuntimeError("oops"), jsonrpc.INTERNAL_ERROR),
        (TimeoutError(), jsonrpc.INTERNAL_ERROR),
    ],
)
def test_an_exception_in_a_handler_is_an_error_response(failure: Exception, code: int) -> None:
    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        async def work(method: str, params: Any) -> Any:
            if method == "bad":
                raise failure
            return "good"

        handler.work = work
        agent.say(request(1, "bad"), request(2, "good"))
        answer = await agent.hear()
        assert (answer["id"], answer["error"]["code"]) == (1, code)
        schema.validate(answer, "c2a", "fs/read_text_file")
        assert await agent.hear() == result(2, "good")
        assert connection.error is None

    play(scene)


def test_an_unserialisable_result_is_an_error_response() -> None:
    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        async def work(method: str, params: Any) -> Any:
            return object()

        handler.work = work
        agent.say(request(1))
        answer = await agent.hear()
        assert (answer["id"], answer["error"]["code"]) == (1, jsonrpc.INTERNAL_ERROR)

    play(scene)


@pytest.mark.parametrize("ids", [[0, 1, 2], [None, None, None], ["a", "a", "a"]])
def test_a_flood_of_requests_is_refused_beyond_the_limit(
    monkeypatch: pytest.MonkeyPatch, ids: list[Any]
) -> None:
    monkeypatch.setattr(module, "MAX_OPEN_REQUESTS", 2)

    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        go_on = asyncio.Event()

        async def work(method: str, params: Any) -> Any:
            await go_on.wait()
            return "done"

        handler.work = work
        agent.say(*(request(id) for id in ids))
        refused = await agent.hear()
        assert refused["id"] == ids[2]
        assert "requests at once" in refused["error"]["message"]
        go_on.set()
        assert [await agent.hear(), await agent.hear()] == [result(ids[0], "done"), result(ids[1], "done")]
        agent.say(request(9))
        assert await agent.hear() == result(9, "done")

    play(scene)


def test_a_request_waits_for_its_own_response() -> None:
    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        asked = asyncio.ensure_future(connection.request(PING, LIMIT_S))
        message = await agent.hear()
        schema.validate(message, "c2a")
        agent.say(result(message["id"] + 1, "not this"), result(message["id"], {"x": 1}))
        assert json.loads(bytes(await asked)) == {"x": 1}

    play(scene)


@pytest.mark.parametrize(
    ("data", "detail"),
    [
        ({"details": "no key"}, " (no key)"),
        ({"reason": "no key", "suggestion": "sign in"}, " (no key; sign in)"),
        ({"message": "no key", "details": "no key"}, " (no key)"),
        ({"hint": {"key": "missing"}}, ' ({"hint": {"key": "missing"}})'),
        ("no\n  key", " (no key)"),
        (["no", "key"], ' (["no", "key"])'),
        ({"message": "Internal error"}, ""),
        ({}, ""),
        (None, ""),
        ("x" * 100_000, f" ({'x' * DETAIL_CHARS}…)"),
    ],
)
def test_an_error_response_is_raised_with_its_details(data: Any, detail: str) -> None:
    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        asked = asyncio.ensure_future(connection.request(PING))
        await agent.hear()
        error = {"code": -32603, "message": "Internal error", "data": data}
        agent.say({"jsonrpc": "2.0", "id": 1, "error": error})
        with pytest.raises(AgentError) as raised:
            await asked
        assert str(raised.value) == f"logout: Internal error{detail}"
        assert (raised.value.code, raised.value.data) == (-32603, data)

    play(scene)


def test_an_unreadable_response_is_a_protocol_error() -> None:
    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        asked = asyncio.ensure_future(connection.request(PING))
        await agent.hear()
        agent.say(b'{"jsonrpc":"2.0","id":1,"result":{oops')
        with pytest.raises(ProtocolError, match="logout"):
            await asked

    play(scene)


@pytest.mark.parametrize("by", ["cancel", "timeout"])
def test_an_abandoned_request_is_cancelled_and_its_late_response_dropped(by: str) -> None:
    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        asked = asyncio.ensure_future(connection.request(PING, 0.001 if by == "timeout" else None))
        id = (await agent.hear())["id"]
        if by == "cancel":
            asked.cancel()
        with pytest.raises(TimeoutError if by == "timeout" else asyncio.CancelledError):
            await asked
        withdrawal = await agent.hear()
        assert withdrawal == notification("$/cancel_request", {"requestId": id})
        schema.validate(withdrawal, "c2a")
        agent.say(result(id), notification("later"))
        await settle()
        assert handler.log == ["later"]
        connection.withdraw(id)
        await settle()
        assert agent.heard.empty()

    play(scene)


def test_an_unreadable_request_is_answered_with_a_parse_error() -> None:
    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        agent.say(b'{"jsonrpc":"2.0","id":"q","method":"ask","params":oops}')
        answer = await agent.hear()
        assert (answer["id"], answer["error"]["code"]) == ("q", jsonrpc.PARSE_ERROR)
        assert isinstance(handler.log[0], Garbage)

    play(scene)


def test_our_error_in_one_message_does_not_affect_the_next() -> None:
    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        asked = asyncio.ensure_future(connection.request(PING))
        await agent.hear()
        agent.say(notification("raise"), notification("after"), result(1, "here"))
        assert json.loads(bytes(await asked)) == "here"
        first, fault, after = handler.log
        assert (first, after) == ("raise", "after")
        assert "a bug in the client" in fault.why

    play(scene)


def test_an_error_while_reporting_an_error_does_not_affect_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(self: Handler, line: Garbage) -> None:
        raise RuntimeError("this too")

    monkeypatch.setattr(Handler, "unreadable", failing)

    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        agent.say(notification("raise"), b"garbage", notification("after"))
        await settle()
        assert handler.log == ["raise", "after"]

    play(scene)


def test_the_end_fails_open_requests_and_calls_the_handler_once() -> None:
    tap = Tap()

    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        connection.ask(PING, lambda found, error: handler.log.append(("open", error)))
        waiting = asyncio.ensure_future(connection.request(PING))
        cancelled = asyncio.Event()

        async def work(method: str, params: Any) -> Any:
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

        handler.work = work
        agent.say(request(5))
        await asyncio.wait_for(handler.arrived.wait(), LIMIT_S)
        await agent.transport.close()
        with pytest.raises(AgentDied, match="closed the connection") as died:
            await waiting
        await asyncio.wait_for(cancelled.wait(), LIMIT_S)
        error = connection.error
        assert error is died.value
        assert handler.log == ["ask", ("open", error), error]

        sent = len(tap.log)
        connection.notify(v1.cancel("s"))
        connection.ask(PING, lambda found, error: handler.log.append(("late", error)))
        with pytest.raises(AgentDied):
            await connection.request(PING)
        connection._receive(b'{"jsonrpc":"2.0","method":"late"}\n')
        await connection.close()
        await settle()
        ((_, late),) = handler.log[3:]
        assert (str(late), late.untaken, error.untaken) == (str(error), True, False)
        assert len(tap.log) == sent
        assert tap.log[sent - 1] == ("ended", b"")

    play(scene, tap)


@pytest.mark.parametrize(
    ("reach", "error", "words"),
    [
        (LOCAL, AgentDied, "stopped reading its input"),
        (Reach(is_ours=False, is_local=False), ConnectionLost, "the server takes no messages"),
    ],
)
def test_an_agent_that_does_not_read_its_input_is_given_up(
    reach: Reach, error: type[AgentDied], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_UNSENT", 100)

    async def main() -> None:
        ours, _ = memory_pair()  # nobody starts the other end
        handler = Handler()
        connection = Connection(ours, handler, reach=reach)
        connection.start()
        with contextlib.suppress(AgentDied):
            async with asyncio.timeout(LIMIT_S):
                while True:
                    connection.notify(v1.cancel("s"))
                    await asyncio.sleep(0)
                    if connection.error is not None:
                        raise connection.error
        assert type(connection.error) is error
        assert words in str(connection.error)
        assert handler.log == [connection.error]
        connection._receive(b'{"jsonrpc":"2.0","method":"late"}\n')
        assert handler.log == [connection.error]
        await connection.close()
        assert handler.log == [connection.error]

    asyncio.run(main())


def test_an_ending_contains_the_agents_last_output() -> None:
    error = module._error_of_ending(Ending("it ended", 3, "\n".join(f"line {n}" for n in range(50))))
    assert isinstance(error, AgentDied)
    assert error.exit_code == 3
    assert "line 49" in str(error)
    assert "line 10" not in str(error)
    assert "line 10" in error.stderr
    assert isinstance(module._error_of_ending(Ending("no", error=RecordingError("no"))), RecordingError)


def test_the_tap_sees_every_byte() -> None:
    tap = Tap()

    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        connection.notify(v1.cancel("s"))
        await agent.hear()
        agent.say(request(1), b"garbage")
        await agent.hear()

    play(scene, tap)
    assert [what for what, _ in tap.log] == ["sent", "received", "sent", "ended"]
    assert tap.log[1][1].endswith(b"garbage\n")
    assert json.loads(tap.log[2][1]) == result(1, {"done": "ask"})


# ---- errors that answer nothing in particular

NULL_ERROR = {"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "no such notification"}}
PROMPT = v1.prompt("s", ())


@pytest.mark.parametrize("begun", [False, True])
def test_an_error_without_an_id_does_not_fail_an_active_prompt(begun: bool) -> None:
    timeouts.replace(null_id=0.0, null_id_begun=0.0)

    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        asked = asyncio.ensure_future(connection.request(PROMPT))
        await agent.hear()
        agent.say(*[notification("a")] * begun, NULL_ERROR, notification("b"))
        await settle()
        assert not asked.done()
        assert any(isinstance(it, Garbage) and "no such notification" in it.why for it in handler.log)
        agent.say(result(1, {}))
        await asked

    play(scene)


@pytest.mark.parametrize("call", [PROMPT, PING])
def test_an_error_without_an_id_fails_a_silent_request(call: v1.Call) -> None:
    timeouts.replace(null_id=0.0)

    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        asked = asyncio.ensure_future(connection.request(call))
        await agent.hear()
        agent.say(NULL_ERROR)
        with pytest.raises(AgentError, match="no such notification"):
            await asked

    play(scene)


def test_an_invalid_request_is_answered_as_invalid() -> None:
    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        agent.say({"jsonrpc": "2.0", "id": 78, "method": 5})
        answer = await agent.hear()
        assert (answer["id"], answer["error"]["code"]) == (78, jsonrpc.INVALID_REQUEST)

    play(scene)


def test_a_reworded_error_shares_no_attributes_even_if_distributed_is_imported() -> None:
    pytest.importorskip("distributed", reason="it is installed with the extra `test`")
    error = AgentDied("the agent ended", exit_code=3)
    changed = error.reworded("it ended", untaken=True)
    assert (str(changed), changed.exit_code, changed.untaken) == ("it ended", 3, True)
    assert (str(error), error.untaken) == ("the agent ended", False)
