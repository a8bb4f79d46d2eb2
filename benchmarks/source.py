"""The agent that all contenders listen to: it answers a prompt with what the prompt says, at full speed.

Standard library only. Prompts: "chunks N", "one N" (a message of N bytes).
"""

from __future__ import annotations

import json
import sys
from typing import Any

SESSION = "bench-session"


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"


def chunk(text: str) -> bytes:
    update = {
        "sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": text},
        "messageId": "m1",
    }
    return line(method="session/update", params={"sessionId": SESSION, "update": update})


def tool(number: int) -> bytes:
    update = {
        "sessionUpdate": "tool_call",
        "toolCallId": f"t{number}",
        "title": "Read",
        "status": "completed",
    }
    return line(method="session/update", params={"sessionId": SESSION, "update": update})


def answers(prompt: str) -> bytes:
    what, number = prompt.split()
    if what == "one":
        return chunk("x" * int(number))
    return b"".join(chunk(f"word{n} ") for n in range(int(number)))


def main() -> None:
    for request in map(json.loads, sys.stdin):
        match request.get("method"):
            case "initialize":
                result: dict[str, Any] = {"protocolVersion": 1}
            case "session/new":
                result = {"sessionId": SESSION}
            case "session/prompt":
                sys.stdout.buffer.write(answers(request["params"]["prompt"][0]["text"]))
                result = {"stopReason": "end_turn"}
            case _:
                continue
        sys.stdout.buffer.write(line(id=request["id"], result=result))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
