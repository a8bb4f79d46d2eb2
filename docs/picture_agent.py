"""The agent in README's pictures: it plays one scene, with the words of a script, real files, a real kernel.

Standard library only; it knows nothing of the package. `build_pictures.py` starts it, with the scene's name.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from typing import Any

Json = dict[str, Any]

PLAN = ("Look at the data", "Mend the cleaning", "Compare the months")
OLD, NEW = "df = df.dropna()\n", 'df["revenue"] = df.groupby("store")["revenue"].ffill()\n'
ANSWER = (
    "`clean.py` dropped every row with a gap, and **all of March's gaps** were in the two largest stores. "
    "I fill a gap with that store's last value instead:\n\n"
    "| month | before | now |\n|---|---|---|\n| February | 1 420 | 1 420 |\n| March | **310** | **1 590** |\n"
)

CODE = """\
by_month = sales.pivot_table("revenue", "month", "store", sort=False)
axes = by_month.plot.bar(stacked=True, figsize=(6.4, 2.5), rot=0)
axes.set(xlabel="", ylabel="revenue", ylim=(0, 2100))
axes.legend(ncols=3, loc="upper left")
plt.show()"""
FOUND = (
    "**Store A carries the growth**: from 610 in January to 905 in May, while B and C stay where they were. "
    "Only March breaks the trend: C fell to 120."
)

ids = itertools.count(1)


def send(message: Json) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def ask(method: str, params: Json) -> Any:
    """A request to the client, and its answer; what comes before that is not for this scene."""
    id = next(ids)
    send({"id": id, "method": method, "params": params})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == id and "method" not in message:
            return message.get("result")
    raise SystemExit


class Kernel:
    """The kernel's tools, through the MCP server that the client named."""

    def __init__(self, server: Json) -> None:
        env = {it["name"]: it["value"] for it in server["env"]}
        pipes: Json = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen([server["command"], *server["args"]], env=env, **pipes)
        about = {"protocolVersion": "2025-11-25", "capabilities": {}}
        self.ask("initialize", {**about, "clientInfo": {"name": "scripted", "version": "1"}})

    def call(self, tool: str, arguments: Json, call: Json) -> None:
        meta = {"callId": call["toolCallId"]}
        self.ask("tools/call", {"name": tool, "arguments": arguments, "_meta": meta})

    def ask(self, method: str, params: Json) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        id = next(ids)
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        print(json.dumps(message), file=self._process.stdin, flush=True)
        while json.loads(self._process.stdout.readline()).get("id") != id:
            pass


class Scene:
    """Sends the updates of one turn to the client."""

    def __init__(self, session: str, cwd: str, servers: list[Json]) -> None:
        self.session, self.cwd, self.servers = session, cwd, servers

    def send_update(self, update: str, /, **fields: Any) -> None:
        fields = {"sessionUpdate": update, **fields}
        send({"method": "session/update", "params": {"sessionId": self.session, "update": fields}})

    def plan(self, done: int) -> None:
        states = ["completed"] * done + ["in_progress"] + ["pending"] * len(PLAN)
        entries = zip(PLAN, states, strict=False)
        steps = [{"content": text, "priority": "medium", "status": state} for text, state in entries]
        self.send_update("plan", entries=steps)

    def tool(self, title: str, kind: str, **fields: Any) -> Json:
        call = {"toolCallId": f"call-{next(ids)}", "title": title, "kind": kind, **fields}
        self.send_update("tool_call", status="in_progress", **call)
        return call

    def done(self, call: Json, **fields: Any) -> None:
        self.send_update("tool_call_update", toolCallId=call["toolCallId"], status="completed", **fields)

    def play(self, name: str) -> None:
        if name == "kernel":
            self.look_at_data()
        else:
            self.mend()

    def look_at_data(self) -> None:
        self.send_update("session_info_update", title="How each store does")
        kernel = Kernel(self.servers[0])
        self.use(kernel, "inspect_variable", {"name": "sales", "rows": 3})
        drawing = {"code": CODE, "purpose": "Draw each store's revenue by month"}
        self.use(kernel, "run_code", drawing, asks=True)
        self.send_update("usage_update", used=12_800, size=200_000, cost={"amount": 0.04, "currency": "USD"})
        self.send_update("agent_message_chunk", content={"type": "text", "text": FOUND})

    def use(self, kernel: Kernel, tool: str, arguments: Json, *, asks: bool = False) -> None:
        name = f"mcp__{self.servers[0]['name']}__{tool}"
        call = self.tool(name, "other", rawInput=arguments, name=name)
        if asks:
            self.ask_for(call)
        kernel.call(tool, arguments, call)
        self.done(call)

    def ask_for(self, call: Json) -> None:
        options = [
            {"optionId": "once", "name": "Allow once", "kind": "allow_once"},
            {"optionId": "always", "name": "Always allow it", "kind": "allow_always"},
            {"optionId": "no", "name": "Reject", "kind": "reject_once"},
        ]
        question = {"sessionId": self.session, "toolCall": call, "options": options}
        ask("session/request_permission", question)

    def mend(self) -> None:
        self.send_update("session_info_update", title="Why March is low")
        self.plan(0)
        path = os.path.join(self.cwd, "clean.py")
        read = self.tool("Read clean.py", "read", locations=[{"path": path, "line": 1}])
        text = ask("fs/read_text_file", {"sessionId": self.session, "path": path})["content"]
        self.done(read)
        self.plan(1)
        self.edit(path, text)
        self.plan(3)
        self.send_update("usage_update", used=31_400, size=200_000, cost={"amount": 0.12, "currency": "USD"})
        self.send_update("agent_message_chunk", content={"type": "text", "text": ANSWER})

    def edit(self, path: str, text: str) -> None:
        after = text.replace(OLD, NEW)
        diff = {"type": "diff", "path": path, "oldText": text, "newText": after}
        where = [{"path": path, "line": text[: text.index(OLD)].count("\n") + 1}]
        call = self.tool("Edit clean.py", "edit", content=[diff], locations=where)
        self.ask_for(call)
        ask("fs/write_text_file", {"sessionId": self.session, "path": path, "content": after})
        self.done(call)


MODEL = {
    "id": "model",
    "name": "Model",
    "category": "model",
    "type": "select",
    "currentValue": "fast",
    "options": [{"value": "fast", "name": "Fast"}, {"value": "thorough", "name": "Thorough"}],
}
MODES = {
    "currentModeId": "ask",
    "availableModes": [{"id": "ask", "name": "Ask first"}, {"id": "plan", "name": "Plan only"}],
}


def answer(method: str, params: Json, opened: dict[str, Scene]) -> Json:
    if method == "initialize":
        can = {"loadSession": True, "sessionCapabilities": {"list": {}}}
        info = {"name": "scripted", "title": "Scripted agent", "version": "1"}
        prompts = {"promptCapabilities": {"embeddedContext": True}}
        return {"protocolVersion": 1, "agentInfo": info, "agentCapabilities": {**can, **prompts}}
    if method == "session/new":
        opened["s1"] = Scene("s1", params["cwd"], params["mcpServers"])
        return {"sessionId": "s1", "modes": MODES, "configOptions": [MODEL]}
    if method == "session/prompt":
        opened[params["sessionId"]].play(sys.argv[1])
        return {"stopReason": "end_turn"}
    return {}


def main() -> None:
    opened: dict[str, Scene] = {}
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            send({"id": message["id"], "result": answer(message["method"], message["params"], opened)})


if __name__ == "__main__":
    main()
