"""An agent that does what its prompt says: `python scripted.py`. Standard library only.

A prompt is a JSON list of steps, done in order; the answers of the client are sent back as a JSON list in the
agent's message:
    ["update", {…}]            a session/update
    ["ask", {toolCall}]        session/request_permission, with `options` of the tool call taken out of it
    ["call", METHOD, {…}]      any other request to the client
    ["touch", LINK, TARGET]    LINK becomes a symbolic link to TARGET, by the agent itself
    ["write", PATH, TEXT]      a file, by the agent itself; without TEXT it is deleted
    ["run", LINE]              a command, by the agent itself
    ["await", PATH]            go on when the test has created this file

"{CWD}" in it is the working directory of the agent.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

OPTIONS = [
    {"optionId": "once", "name": "Allow", "kind": "allow_once"},
    {"optionId": "always", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]
session = "s1"
requests = 0


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def update(**fields: Any) -> None:
    send(method="session/update", params={"sessionId": session, "update": fields})


def request(method: str, params: dict[str, Any]) -> Any:
    global requests
    requests += 1
    id = f"r{requests}"
    send(id=id, method=method, params={"sessionId": session, **params})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == id:
            return message.get("result", {"error": (message.get("error") or {}).get("message")})
    raise SystemExit


def perform(step: list[Any]) -> Any:
    match step:
        case ["update", fields]:
            update(**fields)
        case ["ask", dict(tool)]:
            options = tool.pop("options", OPTIONS)
            asked = request("session/request_permission", {"toolCall": tool, "options": options})
            return asked.get("outcome", {}).get("optionId", "cancelled")
        case ["call", method, params]:
            return request(method, params)
        case ["write", path, None]:
            os.unlink(path)
        case ["write", path, text]:
            with open(path, "w") as file:
                file.write(text)
        case ["run", line]:
            return subprocess.run(line, shell=True).returncode
        case ["await", path]:
            while not os.path.exists(path):
                time.sleep(0.005)
        case ["touch", link, target]:
            if os.path.lexists(link):
                os.unlink(link)
            os.symlink(target, link)
    return None


def answer(method: str, params: dict[str, Any]) -> Any:
    match method:
        case "initialize":
            return {"protocolVersion": 1, "agentCapabilities": {}}
        case "session/new":
            return {"sessionId": session}
        case "session/prompt":
            steps = params["prompt"][0]["text"].replace("{CWD}", os.getcwd())
            results = [perform(step) for step in json.loads(steps)]
            content = {"type": "text", "text": json.dumps(results)}
            update(sessionUpdate="agent_message_chunk", content=content)
            return {"stopReason": "end_turn"}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        send(id=message["id"], result=answer(message["method"], message.get("params", {})))
