"""An agent that reports what it was given: `python telling.py [http] [sse]`, its MCP transports.

Standard library only. A prompt "env NAME" is answered with that variable, "servers" with the MCP servers of
the session, anything else with nothing. "backwards env NAME" says it in reverse: what must not be seen is
taken out of what an agent says, and so a test could not see what it was given.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

SERVERS: dict[str, Any] = {}


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def say(session: str, text: str) -> None:
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    send(method="session/update", params={"sessionId": session, "update": update})


def answer(method: str, params: dict[str, Any]) -> Any:
    session = params.get("sessionId", f"s{len(SERVERS)}")
    match method:
        case "initialize":
            mcp = {name: name in sys.argv for name in ("http", "sse")}
            can = {"loadSession": True, "mcpCapabilities": mcp, "sessionCapabilities": {"resume": {}}}
            return {"protocolVersion": 1, "agentCapabilities": can}
        case "session/new" | "session/load" | "session/resume":
            SERVERS[session] = params["mcpServers"]
            return {"sessionId": session} if method == "session/new" else {}
        case "session/prompt":
            text = params["prompt"][0]["text"]
            word, _, rest = text.removeprefix("backwards ").partition(" ")
            value = {"env": os.environ.get(rest, ""), "servers": json.dumps(SERVERS[session])}.get(word, "")
            say(session, value[::-1] if text.startswith("backwards") else value)
            return {"stopReason": "end_turn"}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        send(id=message["id"], result=answer(message["method"], message.get("params", {})))
