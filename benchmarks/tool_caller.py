"""Calls a tool of an MCP server many times and takes the time of each call, as the client and as an agent.

Standard library only. As a module it is an agent: it answers the prompt "NAME COUNT ARGUMENTS" with the times
of COUNT calls of that tool, as JSON. A call that needs a question is first
announced to the client, as agents do.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

from .source import SESSION, line

Json = dict[str, Any]

ASKED = ("run_code", "run_cells", "edit_notebook")


class Caller:
    """An MCP server over stdio, started and greeted."""

    def __init__(self, command: list[str], env: dict[str, str], name: str = "kernel") -> None:
        self.name = name
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self._id = 0
        about = {"protocolVersion": "2025-11-25", "capabilities": {}}
        self.ask("initialize", {**about, "clientInfo": {"name": "benchmark", "version": "1"}})
        self._send({"method": "notifications/initialized"})
        self.ask("tools/list", {})

    def ask(self, method: str, params: Json) -> Json:
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})
        assert self._process.stdout is not None
        while True:
            answer: Json = json.loads(self._process.stdout.readline())
            if answer.get("id") == self._id:
                result: Json = answer["result"]
                return result

    def call(self, tool: str, arguments: Json, call_id: str | None = None) -> tuple[float, str]:
        """Seconds, and the text of the result."""
        meta = {} if call_id is None else {"_meta": {"callId": call_id}}
        began = time.perf_counter()
        result = self.ask("tools/call", {"name": tool, "arguments": arguments, **meta})
        took = time.perf_counter() - began
        assert not result.get("isError"), result
        return took, str(result["content"][0]["text"])

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _send(self, message: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line(**message))
        self._process.stdin.flush()


def answer(message: Json) -> None:
    sys.stdout.buffer.write(line(**message))
    sys.stdout.buffer.flush()


def update(kind: str, **fields: Any) -> None:
    update = {"sessionUpdate": kind, **fields}
    answer({"method": "session/update", "params": {"sessionId": SESSION, "update": update}})


def called(caller: Caller, prompt: str) -> list[float]:
    tool, count, arguments = prompt.split(maxsplit=2)
    given, times = json.loads(arguments), []
    for number in range(int(count)):
        id = f"{tool}-{time.monotonic_ns()}-{number}"
        if tool in ASKED:
            title = f"mcp__{caller.name}__{tool}"
            update("tool_call", toolCallId=id, title=title, rawInput=given, status="in_progress")
        times.append(caller.call(tool, given, id)[0])
        if tool in ASKED:
            update("tool_call_update", toolCallId=id, status="completed")
    return times


def main() -> None:
    """The caller is started at the first prompt, so that a session may also be opened for nothing."""
    server: Json = {}
    caller: Caller | None = None
    for request in map(json.loads, sys.stdin):
        match request.get("method"):
            case "initialize":
                result: Json = {"protocolVersion": 1}
            case "session/new":
                [server] = request["params"]["mcpServers"]
                result = {"sessionId": SESSION}
            case "session/prompt":
                if caller is None:
                    env = {it["name"]: it["value"] for it in server["env"]}
                    caller = Caller([server["command"], *server["args"]], env, server["name"])
                times = called(caller, request["params"]["prompt"][0]["text"])
                update("agent_message_chunk", content={"type": "text", "text": json.dumps(times)})
                result = {"stopReason": "end_turn"}
            case _:
                continue
        answer({"id": request["id"], "result": result})
    if caller is not None:
        caller.close()


if __name__ == "__main__":
    main()
