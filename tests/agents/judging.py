"""An agent that judges: it tries to write, looks for b.txt, and says so. Standard library only."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

SESSION = "s1"


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def request(method: str, params: dict[str, Any]) -> dict[str, Any]:
    send(id="r1", method=method, params={"sessionId": SESSION, **params})
    for line in sys.stdin:
        message: dict[str, Any] = json.loads(line)
        if message.get("id") == "r1":
            return message
    raise SystemExit


def verdict() -> str:
    written = request("fs/write_text_file", {"path": f"{os.getcwd()}/c.txt", "content": "x"})
    there = "b.txt is there" if os.path.exists("b.txt") else "there is no b.txt"
    rights = "could not write" if "error" in written else "could write"
    said = json.dumps({"score": 8, "reason": f"{there}, and the judge {rights}"})
    return f'I was told to end with {{"score": …}}.\n{said}'


def answer(method: str) -> Any:
    match method:
        case "initialize":
            return {"protocolVersion": 1, "agentCapabilities": {}}
        case "session/new":
            return {"sessionId": SESSION}
        case "session/prompt":
            content = {"type": "text", "text": verdict()}
            update = {"sessionUpdate": "agent_message_chunk", "content": content}
            send(method="session/update", params={"sessionId": SESSION, "update": update})
            return {"stopReason": "end_turn"}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        send(id=message["id"], result=answer(message["method"]))
