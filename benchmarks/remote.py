"""Agents elsewhere: what a chunk costs over WebSocket and HTTP, and how soon the first one is there.

The peer is the official Python SDK's own remote client. `python -m benchmarks.remote NAME ADDRESS` measures
one client in a process of its own; ADDRESS is "stdio" or a URL.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .contenders import LIMIT_S, SOURCE, Meter, expected

CHUNKS = 20_000
TURNS = 30
"""Turns of one chunk, of which the median counts."""
RUNS = 3
WIRES = {"stdio": "stdio", "ws": "WebSocket", "http": "HTTP"}
LONG = f"chunks {CHUNKS}"

Row = tuple[str, float, str, float, float | None]
"""What was measured, our seconds, the peer's name, its seconds, and the largest acceptable ratio."""

CPU_AIM = 0.5
LATENCY_LIMIT_S = 0.01
"""Nobody notices less. The SDK's client needs less still: its user's code runs on the loop, ours on another
thread, which hands the prompt over."""


def ours(address: str) -> dict[str, float]:
    """Our whole client: transcript, patches, and a listener for them."""
    import acp_notebook as acp
    from acp_notebook.core.events import MessageChunk

    with acp.connect(SOURCE if address == "stdio" else address, cwd="/", undo=False) as session:
        heard: list[float] = []
        stop = session._conversation.state.on(MessageChunk, lambda _: heard.append(time.perf_counter()))
        waits = []
        for _ in range(TURNS):
            heard.clear()
            began = time.perf_counter()
            session.prompt("chunks 1")
            waits.append(heard[0] - began)
        stop()
        session._conversation.state.listen(lambda *_: None)
        meter = Meter()
        turn = session.prompt(LONG)
        return meter.stop(len(turn.text)) | {"first": statistics.median(waits)}


def sdk(address: str) -> dict[str, float]:
    """The SDK's clients, keeping only the text."""
    import acp

    class Client:
        def __init__(self) -> None:
            self.size = 0
            self.heard = 0.0
            self.changed = asyncio.Event()

        async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
            self.heard = self.heard or time.perf_counter()
            self.size += len(update.content.text)
            self.changed.set()

        async def received(self, size: int) -> None:
            while self.size < size:  # the prompt returns before all updates are handled
                self.changed.clear()
                await self.changed.wait()

        def on_connect(self, conn: Any) -> None:
            pass

    async def measured(client: Client, connection: Any) -> dict[str, float]:
        await connection.initialize(protocol_version=1)
        session = (await connection.new_session(cwd="/", mcp_servers=[])).session_id
        waits = []
        for _ in range(TURNS):
            client.size, client.heard = 0, 0.0
            began = time.perf_counter()
            await connection.prompt(session_id=session, prompt=[acp.text_block("chunks 1")])
            await client.received(expected("chunks 1"))
            waits.append(client.heard - began)
        client.size = 0
        meter = Meter()
        await connection.prompt(session_id=session, prompt=[acp.text_block(LONG)])
        await client.received(expected(LONG))
        return meter.stop(client.size) | {"first": statistics.median(waits)}

    async def run() -> dict[str, float]:
        client: Any = Client()
        if address == "stdio":
            async with acp.spawn_agent_process(client, *SOURCE, env=dict(os.environ)) as (connection, _):
                return await measured(client, connection)
        if address.startswith("ws"):
            from acp.ws.client import create_websocket_stream

            transport = await create_websocket_stream(address)
        else:
            from acp.http.client import create_http_stream

            transport = create_http_stream(address)
        connection = acp.connect_to_agent(client, transport)
        try:
            return await measured(client, connection)
        finally:
            await connection.close()

    return asyncio.run(run())


CONTENDERS = {"ours": ours, "sdk": sdk}


def measure(name: str, address: str) -> dict[str, float]:
    """Run a contender in its own process; fails if it did not receive everything."""
    command = [sys.executable, "-m", "benchmarks.remote", name, address]
    run = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, timeout=LIMIT_S)
    result: dict[str, float] = json.loads(run.stdout)
    if result["length"] != expected(LONG):
        raise SystemExit(f"{name} lost data: {result['length']} of {expected(LONG)} characters")
    return result


@contextmanager
def servers() -> Iterator[dict[str, str]]:
    """The addresses of each wire, while the server runs."""
    command = [sys.executable, "-m", "benchmarks.remote_source"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            ports = json.loads(process.stdout.readline())
            yield {"stdio": "stdio"} | {wire: f"{wire}://127.0.0.1:{ports[wire]}/acp" for wire in ports}
        finally:
            process.kill()


def rows() -> Iterator[Row]:
    """The contenders alternate, and the best run of each counts: the least disturbed."""
    with servers() as addresses:
        for wire, name in WIRES.items():
            runs = [{who: measure(who, addresses[wire]) for who in CONTENDERS} for _ in range(RUNS)]
            best = {
                who: {it: min(run[who][it] for run in runs) for it in ("cpu", "first")} for who in CONTENDERS
            }
            cpu, first = ({who: best[who][it] for who in best} for it in ("cpu", "first"))
            yield f"CPU a chunk, {name}", cpu["ours"] / CHUNKS, "SDK", cpu["sdk"] / CHUNKS, CPU_AIM
            yield f"first chunk after the prompt, {name}", first["ours"], "SDK", first["sdk"], None
            yield f"first chunk after the prompt, {name}", first["ours"], "limit", LATENCY_LIMIT_S, 1


if __name__ == "__main__":
    print(json.dumps(CONTENDERS[sys.argv[1]](sys.argv[2])))
