"""A connection keeps the order, answers every request once, and ends for everybody at once."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from msgspec import Raw

from acp_notebook.agent import connection as module
from acp_notebook.agent.connection import Connection, RequestRefused
from acp_notebook.agent.transport import Ending, MemoryTransport, memory_pair
from acp_notebook.errors import AgentDied, AgentError, ProtocolError, RecordingError
from acp_notebook.wire import jsonrpc, v1
from acp_notebook.wire.jsonrpc import Garbage
from tests import schema

LIMIT_S = 60.0
PING = v1.logout()


class Agent:
    """The far end: says what it is told to say, and keeps what it hears."""

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

    def notified(self, method: str, params: Raw) -> None:
        self.log.append(method)
        self.arrived.set()
        if method == "raise":
            raise RuntimeError("a fault of ours")

    async def requested(self, method: str, params: Raw) -> Any:
        self.log.append(method)
        self.arrived.set()
        return await self.work(method, json.loads(bytes(params))) if self.work else {"done": method}

    def unreadable(self, line: Garbage) -> None:
        self.log.append(line)

    def ended(self, error: Exception) -> None:
        self.log.append(error)


class Tap:
    def __init__(self) -> None:
        self.log: list[tuple[str, bytes]] = []

    def sent(self, data: bytes) -> None:
        self.log.append(("sent", data))

    def received(self, data: bytes) -> None:
        self.log.append(("received", data))

    def record_action(self, deed: dict[str, Any]) -> None: ...

    def ended(self) -> None:
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
    """Let everything that can go on go on: the pair is joined in memory, so it takes a few rounds."""
    for _ in range(20):
        await asyncio.sleep(0)


def test_notifications_and_answers_are_handled_in_the_order_of_their_arrival() -> None:
    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        for name in ("first", "second"):
            connection.ask(PING, lambda found, error, name=name: handler.log.append((name, error)))  # type: ignore[misc]
        agent.say(notification("a"), result(2), notification("b"), result(1), notification("c"))
        await settle()
        assert handler.log == ["a", ("second", None), "b", ("first", None), "c"]

    play(scene)


def test_requests_of_the_agent_run_beside_each_other_and_are_answered_as_they_end() -> None:
    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        go_on = asyncio.Event()

        async def work(method: str, params: Any) -> Any:
            if method == "slow":
                await go_on.wait()
            return {"from": method}

        handler.work = work
        agent.say(request(0, "slow"), request("a", "fast"), notification("note"))
        assert await agent.hear() == result("a", {"from": "fast"})
        assert handler.log[0] == "note"  # a request never holds up what follows it
        go_on.set()
        assert await agent.hear() == result(0, {"from": "slow"})

    play(scene)


@pytest.mark.parametrize("id", [0, 1, "x", "", None])
@pytest.mark.parametrize("begun", [True, False])
def test_a_request_that_the_agent_takes_back_is_cancelled_and_answered_so(id: Any, begun: bool) -> None:
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
def test_taking_back_what_is_not_open_does_nothing(params: Any) -> None:
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
def test_a_handler_that_raises_is_an_error_answer_and_the_connection_goes_on(
    failure: Exception, code: int
) -> None:
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


def test_a_result_that_cannot_be_written_is_an_error_answer() -> None:
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


def test_a_request_waits_for_its_own_answer() -> None:
    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        asked = asyncio.ensure_future(connection.request(PING, LIMIT_S))
        message = await agent.hear()
        schema.validate(message, "c2a")
        agent.say(result(message["id"] + 1, "not this"), result(message["id"], {"x": 1}))
        assert json.loads(bytes(await asked)) == {"x": 1}

    play(scene)


def test_an_error_answer_is_raised_with_its_details() -> None:
    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        asked = asyncio.ensure_future(connection.request(PING))
        await agent.hear()
        error = {"code": -32603, "message": "Internal error", "data": {"details": "no key"}}
        agent.say({"jsonrpc": "2.0", "id": 1, "error": error})
        with pytest.raises(AgentError, match=r"logout: Internal error \(no key\)") as raised:
            await asked
        assert (raised.value.code, raised.value.data) == (-32603, {"details": "no key"})

    play(scene)


def test_an_answer_that_cannot_be_read_is_a_protocol_error() -> None:
    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        asked = asyncio.ensure_future(connection.request(PING))
        await agent.hear()
        agent.say(b'{"jsonrpc":"2.0","id":1,"result":{oops')
        with pytest.raises(ProtocolError, match="logout"):
            await asked

    play(scene)


@pytest.mark.parametrize("by", ["cancel", "timeout"])
def test_a_request_that_we_give_up_is_taken_back_and_its_late_answer_is_dropped(by: str) -> None:
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


def test_a_fault_of_ours_in_one_message_does_not_cost_the_next_ones() -> None:
    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        asked = asyncio.ensure_future(connection.request(PING))
        await agent.hear()
        agent.say(notification("raise"), notification("after"), result(1, "here"))
        assert json.loads(bytes(await asked)) == "here"
        first, fault, after = handler.log
        assert (first, after) == ("raise", "after")
        assert "a fault of ours" in fault.why

    play(scene)


def test_a_fault_in_telling_of_a_fault_does_not_cost_the_next_messages_either(
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


def test_the_end_fails_what_is_open_then_tells_the_handler_once_and_nothing_follows() -> None:
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


def test_an_agent_that_does_not_read_its_input_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_UNSENT", 100)

    async def main() -> None:
        ours, _ = memory_pair()  # nobody starts the other end
        handler = Handler()
        connection = Connection(ours, handler)
        connection.start()
        with contextlib.suppress(AgentDied):
            async with asyncio.timeout(LIMIT_S):
                while True:
                    connection.notify(v1.cancel("s"))
                    await asyncio.sleep(0)
                    if connection.error is not None:
                        raise connection.error
        assert "does not read" in str(connection.error)
        assert handler.log == [connection.error]
        connection._receive(b'{"jsonrpc":"2.0","method":"late"}\n')
        assert handler.log == [connection.error]
        await connection.close()
        assert handler.log == [connection.error]

    asyncio.run(main())


def test_an_ending_says_what_the_agent_said_last() -> None:
    error = module._error_of_ending(Ending("it ended", 3, "\n".join(f"line {n}" for n in range(50))))
    assert isinstance(error, AgentDied)
    assert error.exit_code == 3
    assert "line 49" in str(error)
    assert "line 10" not in str(error)
    assert "line 10" in error.stderr
    assert isinstance(module._error_of_ending(Ending("no", mismatch=True)), RecordingError)


def test_every_byte_goes_by_the_tap() -> None:
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
def test_an_error_with_the_id_null_fails_no_prompt_that_lives(
    begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "NULL_ID_S", 0.0)
    monkeypatch.setattr(module, "NULL_ID_BEGUN_S", 0.0)

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
def test_an_error_with_the_id_null_fails_a_request_that_nothing_comes_for(
    call: v1.Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "NULL_ID_S", 0.0)

    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        asked = asyncio.ensure_future(connection.request(call))
        await agent.hear()
        agent.say(NULL_ERROR)
        with pytest.raises(AgentError, match="no such notification"):
            await asked

    play(scene)


def test_a_request_that_is_no_valid_one_is_answered_so() -> None:
    async def scene(connection: Connection, agent: Agent, handler: Handler) -> None:
        agent.say({"jsonrpc": "2.0", "id": 78, "method": 5})
        answer = await agent.hear()
        assert (answer["id"], answer["error"]["code"]) == (78, jsonrpc.INVALID_REQUEST)

    play(scene)
