"""An agent that leaks its secret (the variable KEY) in names, titles, errors, on stderr and stdout.

Standard library only. A prompt "error" is answered with an error, "sign in" with one that wants a sign-in,
"die" with its death, anything else with nothing.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

KEY = os.environ["KEY"]

FACTS: dict[str, Any] = {
    "protocolVersion": 1,
    "agentInfo": {"name": "blabbing", "title": f"It is {KEY}", "version": f"1 {KEY}"},
    "agentCapabilities": {"sessionCapabilities": {"list": {}}},
    "authMethods": [{"id": "way", "name": f"With {KEY}", "description": f"So {KEY}"}],
}


def answer(message: dict[str, Any]) -> dict[str, Any]:
    match message["method"], message.get("params", {}):
        case "initialize", _:
            return {"result": FACTS}
        case "session/new", _:
            return {"result": {"sessionId": "s1"}}
        case "session/list", _:
            return {"result": {"sessions": [{"sessionId": "s0", "cwd": "/tmp", "title": f"Title {KEY}"}]}}
        case "session/prompt", {"prompt": [{"text": "error"}]}:
            return {
                "error": {"code": -32603, "message": f"no {KEY}", "data": {"details": KEY, "more": [KEY]}}
            }
        case "session/prompt", {"prompt": [{"text": "sign in"}]}:
            return {"error": {"code": -32000, "message": f"no {KEY}"}}
        case "session/prompt", {"prompt": [{"text": "die"}]}:
            print(f"boom {KEY}", file=sys.stderr, flush=True)
            os._exit(3)
        case "session/prompt", _:
            return {"result": {"stopReason": "end_turn"}}
    return {"error": {"code": -32601, "message": f"no {KEY}"}}


print(f"stray {KEY}", flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(message)}), flush=True)
