"""Where sessions of an agent share a server, a call belongs to the session that makes it."""

from __future__ import annotations

import asyncio

from acp_notebook.agent.kernel_tools.listener import Listener
from acp_notebook.agent.kernel_tools.shared import UNKNOWN, SharedTools
from acp_notebook.core.snapshot import ToolCall
from acp_notebook.wire.mcp import ToolRequest
from tests.agent.kernel_tools.mcp_client import EchoTools, by_socket
from tests.agent.kernel_tools.test_listener import ended, run

REQUEST = ToolRequest("echo", {"code": "1"})


class Member:
    """A session that makes the call, or does not; `late`: its tool call comes after the MCP call."""

    def __init__(self, *, makes_call: bool = False, in_turn: bool = True, late: bool = False) -> None:
        self.tools = EchoTools()
        self.is_in_turn = in_turn
        self._makes_call = makes_call
        self._told = asyncio.Event()
        if not late:
            self._told.set()

    def announce_call(self) -> None:
        self._told.set()

    async def own_call(self, request: ToolRequest) -> ToolCall | None:
        await self._told.wait()
        return ToolCall("k", None, "call", "kernel_1_echo", "other", "pending") if self._makes_call else None


async def shared(*members: Member) -> SharedTools:
    tools = SharedTools("kernel_1", Listener)
    for member in members:
        await tools.join(member)
    return tools


def calls(*members: Member) -> list[int]:
    return [len(it.tools.calls) for it in members]


@run
async def test_a_call_goes_to_the_session_whose_tool_call_makes_it() -> None:
    idle, other, own = Member(in_turn=False), Member(), Member(makes_call=True)
    tools = await shared(idle, other, own)
    assert not (await tools.call(REQUEST)).failed
    assert calls(idle, other, own) == [0, 0, 1]
    for member in (idle, other, own):
        tools.leave(member)


@run
async def test_a_change_of_the_list_reaches_the_connection_and_all_members_count() -> None:
    one, other = Member(), Member()
    tools = await shared(one, other)
    other.tools.also = "other_one"
    assert [it["name"] for it in tools.listed()] == ["echo", "other_one"]
    listener = await tools.join(one)
    assert isinstance(listener, Listener)
    client = await by_socket(listener.path, listener.token)
    client.ask("ping")
    await client.hear()
    tools.tools_changed()
    assert (await client.hear())["method"] == "notifications/tools/list_changed"
    client.writer.close()
    for member in (one, other):
        tools.leave(member)


@run
async def test_its_tool_call_may_come_later() -> None:
    other, own = Member(), Member(makes_call=True, late=True)
    tools = await shared(other, own)
    call = asyncio.ensure_future(tools.call(REQUEST))
    await asyncio.sleep(0)
    own.announce_call()
    assert not (await call).failed
    assert calls(other, own) == [0, 1]
    for member in (other, own):
        tools.leave(member)


@run
async def test_without_a_tool_call_it_is_the_only_session_in_a_turn_or_nobody() -> None:
    """Attack: a call without a tool call must not get the permissions of another session's policy."""
    idle, one, two = Member(in_turn=False), Member(), Member()
    tools = await shared(idle, one)
    assert not (await tools.call(REQUEST)).failed
    await tools.join(two)
    (refused,) = (await tools.call(REQUEST)).blocks
    assert getattr(refused, "text", "") == UNKNOWN
    assert calls(idle, one, two) == [0, 1, 0]
    for member in (idle, one, two):
        tools.leave(member)


@run
async def test_it_listens_until_the_last_session_leaves() -> None:
    one, two = Member(makes_call=True), Member()
    tools = await shared(one, two)
    listener = await tools.join(one)
    assert listener is await tools.join(two) and isinstance(listener, Listener)
    tools.leave(two)
    client = await by_socket(listener.path, listener.token)
    assert await client.tool("echo", code="1") == '{"code": "1"}'
    tools.leave(one)
    assert await ended(client)
    assert await tools.join(two) is not listener
    tools.leave(two)
