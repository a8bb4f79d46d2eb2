"""An MCP server on stdio with one tool, `query`, which answers with what it was asked.

Standard library only.
"""

from __future__ import annotations

import json
import sys
from typing import Any

TOOL: dict[str, Any] = {
    "name": "query",
    "description": "Answers with what it was asked.",
    "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
    "_meta": {"anthropic/alwaysLoad": True},  # claude-agent-acp hides tools behind a search
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            info = {"name": "search", "version": "1"}
            version = params.get("protocolVersion", "2025-06-18")
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            text = f"asked: {params['arguments'].get('q')}"
            return {"content": [{"type": "text", "text": text}]}
        case "ping":
            return {}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message["method"], message.get("params") or {})
        no = {"error": {"code": -32601, "message": "no such method"}}
        reply = {"jsonrpc": "2.0", "id": message["id"], **(no if result is None else {"result": result})}
        print(json.dumps(reply), flush=True)
