"""An agent that forgets its sessions on request: `python forgetful.py [CAN,…] [HOW]`.

Standard library only. CAN: "load", "resume": what it offers. HOW it answers a load of a session that it
forgot: it "finds" it again, "refuses", or "pretends": answers {} and still does not know it. The prompt
"forget" makes it forget; "fail" and "work, fail" end in errors; any other is answered with the session's id,
the number of blocks and the last of them, or the context. Its option "model" takes what it does not list,
but for "bad".
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

CAN = sys.argv[1].split(",") if len(sys.argv) > 1 else []
HOW = sys.argv[2] if len(sys.argv) > 2 else "finds"
ERROR = json.loads(os.environ.get("LOST", '{"code": -32602, "message": "Session not found: s1"}'))

CONTEXT = "acp:conversation"
"""In the first block: an earlier session's conversation."""

known: set[str] = set()
made = 0
model = "listed"


class Refused(Exception):
    pass


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def options() -> dict[str, Any]:
    listed = [{"value": "listed", "name": "Listed"}]
    option = {"id": "model", "name": "Model", "type": "select", "currentValue": model, "options": listed}
    return {"configOptions": [option]}


def answer(method: str, params: dict[str, Any]) -> Any:
    global made, model
    id = params.get("sessionId", "")
    match method:
        case "initialize":
            offered: dict[str, Any] = {"resume": {}} if "resume" in CAN else {}
            return {
                "protocolVersion": 1,
                "agentCapabilities": {"loadSession": "load" in CAN, "sessionCapabilities": offered},
            }
        case "session/new":
            made += 1
            known.add(f"s{made}")
            return {"sessionId": f"s{made}", **options()}
        case "session/load" | "session/resume":
            if HOW == "refuses":
                raise Refused(ERROR)
            known.update({id} if HOW == "finds" else ())
            return {}
    if id not in known:
        raise Refused(ERROR)
    if method == "session/set_config_option":
        if params["value"] == "bad":
            raise Refused({"code": -32602, "message": "no such model"})
        model = params["value"]
        return options()
    if method == "session/prompt":
        blocks = params["prompt"]
        text = blocks[-1].get("text")
        if text == "forget":
            known.discard(id)
            blocks = blocks[-1:]
        if text == "fail":
            raise Refused({"code": -32603, "message": "the browser session was not found"})
        if text == "work, fail":
            say(id, "working")
            raise Refused(ERROR)
        say(id, f"{id}: {len(blocks)} blocks, {json.dumps(blocks[0 if CONTEXT in str(blocks[0]) else -1])}")
        return {"stopReason": "end_turn"}
    return None


def say(id: str, text: str) -> None:
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    send(method="session/update", params={"sessionId": id, "update": update})


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        try:
            send(id=message["id"], result=answer(message["method"], message.get("params", {})))
        except Refused as refused:
            send(id=message["id"], error=refused.args[0])
