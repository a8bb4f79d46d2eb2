"""The kernel's tools, in a real kernel with a real session whose agent only calls tools (`tool_caller`).

The peers: the official `mcp` package's server, which lists the same variables behind the same proxy; IPython
itself, in the same kernel; and a session without tools.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from acp_notebook.agent.kernel_tools import proxy

from .tool_caller import Caller

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 3
"""Ours and the peer in turn; the best round counts, the least disturbed one."""
CALLS = 300
RUNS = 50
CONNECTS = 3
VARIABLES = 10
"""Of a small notebook. What it takes to list them is the same for both servers."""
MANY = 10_000
LIST_AIM = 0.5
COST_AIM = 1.05
"""None, but for the noise."""
START_S = 60

NAMESPACE = {f"name_{number}": list(range(number)) for number in range(VARIABLES)}

SETUP = """
import json, os, statistics, sys, tempfile, time
os.environ["ACP_NOTEBOOK_HEADLESS"] = "1"
os.environ["PYTHONPATH"] = os.getcwd()
import acp_notebook as acp
from benchmarks.kernel_tools import NAMESPACE
globals().update(NAMESPACE)
del NAMESPACE
agent = [sys.executable, "-m", "benchmarks.tool_caller"]
folder = tempfile.TemporaryDirectory()  # empty: no time is taken for what could be undone
session = acp.connect(agent, tools=True, permissions="allow", cwd=folder.name)

def called(tool, count, **arguments):
    "Seconds of a call, while this cell waits for the turn."
    turn = session.start(f"{tool} {count} {json.dumps(arguments)}")
    return statistics.median(json.loads(turn.wait().text))

def timed(function, count):
    times = []
    for _ in range(count):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return statistics.median(times)

def report(**values):
    print(json.dumps(values))
"""

ARGUMENTS = {"pattern": "name_*"}

LIST = f"""
cpu = time.process_time()
ours = called("list_variables", {CALLS}, **{ARGUMENTS})
report(ours=ours, cpu=(time.process_time() - cpu) / {CALLS})
"""

CODE = f"""
shell = get_ipython()
cell = lambda: shell.run_cell("1+1;", store_history=False)
report(ours=called("run_code", {RUNS}, code="1+1"), peer=timed(cell, {RUNS}))
"""

MANY_VARIABLES = f"""
for number in range({MANY}):
    globals()[f"many_{{number}}"] = number / 2
names = lambda: get_ipython().run_line_magic("who_ls", "")
report(ours=called("list_variables", 20, limit=50), peer=timed(names, 5))
"""


class Row(NamedTuple):
    what: str
    ours: float
    peers: str
    peer: float
    aim: float | None = None


def rows() -> Iterator[Row]:
    with kernel() as run:
        ours, peer = [], []
        for _ in range(ROUNDS):
            ours.append(run(LIST))
            peer.append(listed_by_mcp())
        mine, its = lowest(ours), lowest(peer)
        yield Row(f"list_variables, {VARIABLES} of them", mine["ours"], "mcp", its["ours"], LIST_AIM)
        yield Row("… CPU of the server", mine["cpu"], "mcp", its["cpu"])
        mine = lowest([run(CODE) for _ in range(ROUNDS)])
        yield Row("1+1 by run_code", mine["ours"], "run_cell", mine["peer"])
        mine = run(MANY_VARIABLES)
        yield Row(f"list_variables, {MANY:,} of them", mine["ours"], "%who_ls", mine["peer"])
    yield Row("CPU to connect, tools on but not used", *connecting(), COST_AIM)


def lowest(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {name: min(it[name] for it in rounds) for name in rounds[0]}


# ---- a kernel


@contextmanager
def kernel() -> Iterator[Any]:
    """Yields a function that runs code in a new kernel and returns the values that it reports."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(START_S, "python3", cwd=str(ROOT), stderr=subprocess.DEVNULL)

    def run(code: str) -> dict[str, float]:
        printed: list[str] = []

        def output(message: dict[str, Any]) -> None:
            content = message["content"]
            if message["msg_type"] == "stream":
                printed.append(content["text"])
            assert message["msg_type"] != "error", f"{content['ename']}: {content['evalue']}"

        client.execute_interactive(code, output_hook=output, allow_stdin=False, timeout=START_S)
        values: dict[str, float] = json.loads("".join(printed) or "{}")
        return values

    try:
        run(SETUP)
        yield run
        run("session.close(); folder.cleanup()")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


# ---- the `mcp` package's server, in a process of its own


def listed_by_mcp() -> dict[str, float]:
    """Seconds of a call, and those of the server's CPU."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s")
        serving = subprocess.Popen([sys.executable, "-m", "benchmarks.kernel_tools", "serve", path])
        try:
            while not path.exists():
                assert serving.poll() is None, "the peer's server has ended"
                time.sleep(0.01)
            env = {"ACP_KERNEL_SOCKET": str(path), "ACP_KERNEL_TOKEN": "t"}
            caller = Caller([sys.executable, "-I", "-S", proxy.__file__], env)
            cpu = float(caller.call("cpu", {})[1])
            times = [caller.call("list_variables", ARGUMENTS)[0] for _ in range(CALLS)]
            cpu = float(caller.call("cpu", {})[1]) - cpu
            caller.close()
            return {"ours": statistics.median(times), "cpu": cpu / CALLS}
        finally:
            serving.kill()
            serving.wait()


async def serve(path: str) -> None:
    import anyio
    import mcp_types as types
    from mcp.server.lowlevel import Server
    from mcp.shared.message import SessionMessage

    from acp_notebook.notebook.kernel_tools.variables import Names, list_variables

    schema = {"type": "object", "properties": {"pattern": {"type": "string"}}}
    names = Names()

    async def listed(context: Any, params: Any) -> Any:
        tools = [types.Tool(name=name, inputSchema=schema) for name in ("list_variables", "cpu")]
        return types.ListToolsResult(tools=tools)

    async def called(context: Any, params: Any) -> Any:
        if params.name == "cpu":
            text = str(time.process_time())
        else:
            text = list_variables(names.visible(NAMESPACE, {}, params.arguments["pattern"]))
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    server = Server("kernel", on_list_tools=listed, on_call_tool=called)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()  # the token
        into, received = anyio.create_memory_object_stream[Any](0)
        send, out = anyio.create_memory_object_stream[Any](0)

        async def read() -> None:
            while line := await reader.readline():
                await into.send(SessionMessage(types.jsonrpc_message_adapter.validate_json(line)))

        async def write() -> None:
            async for message in out:
                data = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                writer.write(data.encode() + b"\n")

        async with anyio.create_task_group() as group:
            group.start_soon(read)
            group.start_soon(write)
            await server.run(received, send, server.create_initialization_options())

    await asyncio.start_unix_server(connected, path)
    await asyncio.Event().wait()


# ---- before the first use


def connecting() -> tuple[float, str, float]:
    """CPU seconds of a process that connects, prompts and closes: with tools, and without."""
    with_tools, without = [], []
    for _ in range(CONNECTS):
        with_tools.append(connected("on"))
        without.append(connected("off"))
    return min(with_tools), "tools=False", min(without)


def connected(tools: str) -> float:
    command = [sys.executable, "-m", "benchmarks.kernel_tools", "connect", tools]
    output = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, cwd=ROOT).stdout
    return float(output)


def connect(tools: bool) -> None:
    import acp_notebook as acp

    with acp.connect([sys.executable, "-m", "benchmarks.source"], tools=tools) as session:
        session.prompt("chunks 1")
    print(time.process_time())


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", path]:
            asyncio.run(serve(path))
        case ["connect", tools]:
            connect(tools == "on")
