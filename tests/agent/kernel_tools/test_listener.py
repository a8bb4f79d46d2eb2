"""Only the session's own agent reaches the tools: same user, right token, bounded; and calls end with it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from acp_notebook import timeouts
from acp_notebook.agent import temporary_folders
from acp_notebook.agent.kernel_tools import listener as module
from acp_notebook.agent.kernel_tools import server as server_module
from acp_notebook.agent.kernel_tools.listener import Listener, Unavailable
from acp_notebook.agent.kernel_tools.server import McpConnection
from tests.agent.kernel_tools.mcp_client import LIMIT_S, Client, EchoTools, by_proxy, by_socket

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}


def run(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def runs(*args: Any, **kwargs: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), LIMIT_S))

    return runs


@asynccontextmanager
async def listening(tools: EchoTools) -> AsyncIterator[Listener]:
    listener = Listener(lambda send: McpConnection(tools, send))
    await listener.start()
    try:
        yield listener
    finally:
        listener.close()


async def ended(client: Client) -> bool:
    """The other side closed it, without a word."""
    try:
        return await asyncio.wait_for(client.reader.read(), LIMIT_S) == b""
    except ConnectionResetError:
        return True
    finally:
        client.writer.close()


# ---- the tools are there for who proves the token -----------------------------------------------


@run
async def test_an_agent_reaches_the_tools_through_the_proxy() -> None:
    async with listening(EchoTools()) as listener:
        client = await by_proxy(listener.path, listener.token)
        answer = await client.request("initialize", **HELLO)
        assert answer["result"]["protocolVersion"] == "2025-11-25"
        assert answer["result"]["instructions"] == "how to use them"
        client.notify("notifications/initialized")
        listed = await client.request("tools/list")
        assert [it["name"] for it in listed["result"]["tools"]] == ["echo"]
        assert await client.tool("echo", text="é\u2028") == '{"text": "\\u00e9\\u2028"}'
        client.writer.close()
        assert await asyncio.wait_for(client.process.wait(), LIMIT_S) == 0


@run
async def test_a_listener_that_pauses_keeps_its_agent_and_takes_nobody_else() -> None:
    async with listening(EchoTools()) as listener:
        path = listener.path
        client = await by_proxy(path, listener.token)
        await client.request("ping")
        unproved = Client(*await asyncio.open_unix_connection(path))
        while len(listener._connections) < 2:
            await asyncio.sleep(0)
        listener.pause()
        assert not os.path.exists(path)
        assert await ended(unproved)
        with pytest.raises(OSError):
            await by_socket(path, listener.token)
        assert (await client.request("ping"))["result"] == {}
        await listener.start()
        another = await by_proxy(path, listener.token)  # at the same path, with the same token
        for it in (client, another):
            assert (await it.request("ping"))["result"] == {}
            it.writer.close()
            await asyncio.wait_for(it.process.wait(), LIMIT_S)


@run
async def test_the_proxy_ends_when_the_kernel_closes() -> None:
    async with listening(EchoTools()) as listener:
        client = await by_proxy(listener.path, listener.token)
        await client.request("ping")
        listener.close()
        assert await asyncio.wait_for(client.process.wait(), LIMIT_S) == 1
        client.writer.close()


@run
async def test_a_megabyte_passes_in_both_directions() -> None:
    async with listening(EchoTools()) as listener:
        client = await by_proxy(listener.path, listener.token)
        text = await client.tool("echo", text="x" * 1_000_000)
        assert len(text) == 1_000_000 + len('{"text": ""}')
        client.writer.close()
        await client.process.wait()


@run
async def test_the_socket_is_in_a_folder_that_only_the_user_can_enter() -> None:
    async with listening(EchoTools()) as listener:
        folder = Path(listener.path).parent
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert len(os.fsencode(listener.path)) <= module.MAX_PATH
        server = listener.server("kernel")
        assert server.args[:2] == ("-I", "-S") and os.path.isabs(server.command)
        assert set(server.env) == {"ACP_KERNEL_SOCKET", "ACP_KERNEL_TOKEN"}
        assert listener.token not in repr(server)
    assert not folder.exists()


@run
async def test_a_long_folder_for_temporary_files_is_no_hindrance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setattr(temporary_folders, "_runtime", lambda: str(deep))
    async with listening(EchoTools()) as listener:
        assert listener.path.startswith("/tmp/")
        client = await by_socket(listener.path, listener.token)
        assert (await client.request("ping"))["result"] == {}
        client.writer.close()


@run
async def test_a_system_without_such_sockets_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "AF_UNIX")
    with pytest.raises(Unavailable, match='tools="http"'):
        await Listener(lambda send: McpConnection(EchoTools(), send)).start()


# ---- attacks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said", ["", "wrong", "x" * 43, '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}']
)
@run
async def test_who_does_not_know_the_token_hears_nothing(said: str) -> None:
    tools = EchoTools()
    async with listening(tools) as listener:
        client = await by_socket(listener.path, said)
        client.ask("tools/call", name="echo", arguments={})
        assert await ended(client)
        assert listener.refused == 1 and tools.calls == []


@pytest.mark.parametrize(
    "change",
    [
        lambda token: token + b"\r",
        lambda token: b" " + token,
        lambda token: token[:-1],
        lambda token: token + b"\0",
        lambda token: b"\xff\xfe" + token,
        lambda token: token.swapcase(),
        lambda token: b"Bearer " + token,
    ],
    ids=range(7),
)
@run
async def test_a_token_that_is_nearly_right_is_wrong(change: Callable[[bytes], bytes]) -> None:
    tools = EchoTools()
    async with listening(tools) as listener:
        client = Client(*await asyncio.open_unix_connection(listener.path))
        client.writer.write(change(listener.token.encode()) + b"\n")
        client.ask("tools/call", name="echo", arguments={})
        assert await ended(client)
        assert tools.calls == []


@run
async def test_a_token_may_come_in_pieces_and_what_follows_it_at_once() -> None:
    async with listening(EchoTools()) as listener:
        client = Client(*await asyncio.open_unix_connection(listener.path))
        for byte in listener.token.encode():
            client.writer.write(bytes([byte]))
            await client.writer.drain()
        client.writer.write(b"\n")
        assert (await client.request("ping"))["result"] == {}
        client.writer.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"\xff\xfe\x00",
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo\xff"}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ' + b"[" * 100_000,
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": 5}}',
        b'{"jsonrpc": "2.0", "id": {}, "method": "tools/call", "params": {"name": "echo"}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": 5}',
        b"[]",
        b"null",
        b"\0" * 1000,
    ],
    ids=range(10),
)
@run
async def test_what_is_no_message_does_no_harm(sent: bytes) -> None:
    async with listening(EchoTools()) as listener:
        client = await by_socket(listener.path, listener.token)
        client.send(sent)
        client.send({"id": "after", "method": "ping"})
        while (answer := await client.hear())["id"] != "after":
            assert "error" in answer or "result" in answer
        client.writer.close()


@run
async def test_messages_in_one_list_are_served_one_by_one() -> None:
    tools = EchoTools()
    async with listening(tools) as listener:
        client = await by_socket(listener.path, listener.token)
        call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "hold"}}
        flood = [{**call, "id": number} for number in range(server_module.MAX_OPEN_CALLS + 1)]
        client.send(json.dumps([*flood, {**call, "id": 0}]).encode())
        answers = [await client.hear(), await client.hear()]
        assert [it["error"]["code"] for it in answers] == [-32603, -32600]  # too many; an id that is open
        assert len(tools.calls) <= server_module.MAX_OPEN_CALLS
        client.writer.close()
        await tools.cancelled.wait()


@run
async def test_nothing_is_served_once_the_session_is_closed() -> None:
    tools = EchoTools()
    async with listening(tools) as listener:
        client = await by_socket(listener.path, listener.token)
        assert (await client.request("ping"))["result"] == {}
        held = await by_socket(listener.path, listener.token)
        held.ask("tools/call", name="hold", arguments={})
        await tools.held.wait()
        listener.close()
        client.ask("tools/call", name="echo", arguments={})
        assert await ended(client) and await ended(held)
        await tools.cancelled.wait()
        assert [it.name for it in tools.calls] == ["hold"]


@run
async def test_a_token_is_worth_nothing_once_its_session_is_closed_and_in_another_session() -> None:
    async with listening(EchoTools()) as old, listening(EchoTools()) as other:
        token = old.token
        client = await by_socket(other.path, token)
        assert await ended(client)
        old.close()
        with pytest.raises(OSError):
            await by_socket(old.path, token)


@run
async def test_a_token_without_an_end_is_not_read_for_ever() -> None:
    async with listening(EchoTools()) as listener:
        client = Client(*await asyncio.open_unix_connection(listener.path))
        client.writer.write(b"x" * 10_000)
        assert await ended(client)


@run
async def test_who_says_nothing_is_sent_away() -> None:
    timeouts.replace(tool_hello=0.05)
    async with listening(EchoTools()) as listener:
        client = Client(*await asyncio.open_unix_connection(listener.path))
        assert await ended(client)


@run
async def test_another_user_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    uid = os.getuid()
    async with listening(EchoTools()) as listener:
        monkeypatch.setattr(os, "getuid", lambda: uid + 1)
        client = await by_socket(listener.path, listener.token)
        assert await ended(client)
        monkeypatch.undo()


@run
async def test_connections_are_bounded() -> None:
    async with listening(EchoTools()) as listener:
        clients = [await by_socket(listener.path, listener.token) for _ in range(module.MAX_CONNECTIONS)]
        for client in clients:
            assert (await client.request("ping"))["result"] == {}
        late = await by_socket(listener.path, listener.token)
        assert await ended(late)
        clients[0].writer.close()
        await clients[0].writer.wait_closed()
        for client in clients[1:]:
            client.writer.close()


@run
async def test_a_line_without_an_end_is_thrown_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "MAX_LINE", 1000)
    tools = EchoTools()
    async with listening(tools) as listener:
        client = await by_socket(listener.path, listener.token)
        client.send(b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"x": "' + b"y" * 5000)
        assert (await client.hear())["error"]["code"] == -32700
        assert (await client.request("ping"))["result"] == {}
        assert tools.calls == []
        client.writer.close()


@run
async def test_an_agent_that_does_not_read_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_UNSENT", 100_000)
    async with listening(EchoTools()) as listener:
        client = await by_socket(listener.path, listener.token)
        transport = client.writer.transport
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        for _ in range(40):
            client.ask("tools/call", name="echo", arguments={"text": "x" * 50_000})
        with pytest.raises((ConnectionError, AssertionError, asyncio.IncompleteReadError)):
            await client.writer.drain()
            transport.resume_reading()
            for _ in range(40):
                assert await client.hear() is not None


# ---- calls --------------------------------------------------------------------------------------


@run
async def test_calls_run_next_to_each_other_and_an_id_that_is_open_is_refused() -> None:
    tools = EchoTools()
    async with listening(tools) as listener:
        client = await by_socket(listener.path, listener.token)
        held = client.ask("tools/call", name="hold", arguments={})
        await tools.held.wait()
        assert await client.tool("echo", n=1) == '{"n": 1}'
        client.send({"id": held, "method": "tools/call", "params": {"name": "echo"}})
        assert (await client.hear())["error"]["code"] == -32600
        tools.go.set()
        assert (await client.hear())["id"] == held
        client.writer.close()


@run
async def test_a_cancelled_call_ends_without_an_answer_and_unknown_ids_are_ignored() -> None:
    tools = EchoTools()
    async with listening(tools) as listener:
        client = await by_socket(listener.path, listener.token)
        held = client.ask("tools/call", name="hold", arguments={})
        await tools.held.wait()
        client.notify("notifications/cancelled", requestId="other")
        client.notify("notifications/cancelled")
        assert (await client.request("ping"))["result"] == {} and not tools.cancelled.is_set()
        client.notify("notifications/cancelled", requestId=held)
        await tools.cancelled.wait()
        assert (await client.request("ping"))["result"] == {}
        client.writer.close()


@run
async def test_a_proxy_killed_in_mid_call_ends_the_call_and_the_next_one_is_served() -> None:
    tools = EchoTools()
    async with listening(tools) as listener:
        client = await by_proxy(listener.path, listener.token)
        client.ask("tools/call", name="hold", arguments={})
        await tools.held.wait()
        client.process.kill()
        await tools.cancelled.wait()
        await client.process.wait()
        again = await by_proxy(listener.path, listener.token)
        assert await again.tool("echo") == "{}"
        again.writer.close()
        await again.process.wait()


@run
async def test_a_call_with_a_token_tells_that_it_goes_on() -> None:
    timeouts.replace(tool_progress=0.01)
    tools = EchoTools()
    async with listening(tools) as listener:
        client = await by_socket(listener.path, listener.token)
        client.ask("tools/call", name="hold", arguments={}, _meta={"progressToken": 0})
        first, second = await client.hear(), await client.hear()
        assert first["method"] == second["method"] == "notifications/progress"
        assert first["params"]["progressToken"] == 0
        assert second["params"]["progress"] > first["params"]["progress"]
        assert second["params"]["message"] == "0.02 s, 40 %"
        tools.go.set()
        client.writer.close()


@run
async def test_what_mcp_has_beyond_tools_is_answered_at_once() -> None:
    async with listening(EchoTools()) as listener:
        client = await by_socket(listener.path, listener.token)
        for method in ("prompts/list", "resources/list", "server/discover", "x" * 1000):
            assert (await client.request(method))["error"]["code"] == -32601
        assert (await client.request("tools/call", arguments={}))["error"]["code"] == -32602
        assert (await client.request("tools/call", name="fail"))["error"]["code"] == -32603
        assert (await client.request("tools/call", name="no"))["result"]["isError"] is True
        picture = await client.request("tools/call", name="picture")
        assert picture["result"]["content"][1] == {"type": "image", "data": "AAAA", "mimeType": "image/png"}
        client.writer.close()


@pytest.mark.parametrize("asked, spoken", [("2025-06-18", "2025-06-18"), ("2026-07-28", "2025-11-25")])
@run
async def test_the_version_is_the_agents_or_our_newest(asked: str, spoken: str) -> None:
    async with listening(EchoTools()) as listener:
        client = await by_socket(listener.path, listener.token)
        answer = await client.request("initialize", **{**HELLO, "protocolVersion": asked})
        assert answer["result"]["protocolVersion"] == spoken
        client.writer.close()


@run
async def test_the_id_of_the_agents_own_call_is_read_from_where_agents_put_it() -> None:
    tools = EchoTools()
    async with listening(tools) as listener:
        client = await by_socket(listener.path, listener.token)
        metas: list[dict[str, Any]] = [
            {"claudecode/toolUseId": "toolu_1"},
            {"callId": "c2"},
            {"callId": 3},
            {},
        ]
        for meta in metas:
            await client.request("tools/call", name="echo", _meta=meta)
        assert [it.call_id for it in tools.calls] == ["toolu_1", "c2", None, None]
        client.writer.close()
