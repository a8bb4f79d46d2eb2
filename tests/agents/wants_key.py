#!/usr/bin/env python3
"""An agent that reads its key from the environment, and names a sign-in that it does not implement.

With the argument "declares" it also declares the variable. What it answers contains the key.
With a key that begins with "fatal" it does not start.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

NAME = "ANTHROPIC_API_KEY"
KEY = os.environ.get(NAME, "wrong")
OUTSIDE = {"id": "outside", "name": "Log in outside", "description": "Run `agent /login` in the terminal"}
DECLARED = {"id": "by-key", "name": "By key", "type": "env_var", "vars": [{"name": NAME, "label": "Key"}]}

if KEY.startswith("fatal"):
    raise SystemExit("no such key")


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def refuse(id: Any, code: int, text: str, details: str = "") -> None:
    send(id=id, error={"code": code, "message": text, "data": {"details": details}})


def say(text: str) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    send(method="session/update", params={"sessionId": "s", "update": update})


def prompted(id: Any, text: str) -> None:
    if KEY.startswith("wrong"):
        say("Please run /login. ")  # as some agents do before the error
        refuse(id, -32000, "Authentication required")
        return
    if text == "die":
        print(f"the key was {KEY}", file=sys.stderr, flush=True)
        os._exit(3)
    if text == "fail":
        refuse(id, -32603, f"the key {KEY} is bad", KEY)
        return
    for part in (KEY[:5], KEY[5:9], KEY[9:]) if text == "parts" else (KEY,):
        say(part)
    call = {"sessionUpdate": "tool_call", "toolCallId": text, "title": f"Use {KEY}", "rawInput": {"k": KEY}}
    send(method="session/update", params={"sessionId": "s", "update": {**call, "status": "completed"}})
    send(id=id, result={"stopReason": "end_turn"})


for line in sys.stdin:
    asked = json.loads(line)
    method, id = asked.get("method"), asked.get("id")
    if method == "initialize":
        ways = [OUTSIDE, DECLARED] if "declares" in sys.argv else [OUTSIDE]
        can: dict[str, Any] = {"auth": {"logout": {}}}
        send(id=id, result={"protocolVersion": 1, "authMethods": ways, "agentCapabilities": can})
    elif method == "logout":
        send(id=id, result={})
    elif method == "authenticate":
        refuse(id, -32603, "Internal error", "Method not implemented.")
    elif method == "session/new":
        send(id=id, result={"sessionId": "s"})
    elif method == "session/prompt":
        prompted(id, asked["params"]["prompt"][0]["text"])
    elif id is not None:
        refuse(id, -32601, "there is no such method")
