"""An agent that notes each prompt in a file: `python counting.py LOG`. Standard library only.

A line of the file is the agent's pid and the prompt. "sleep N" then waits N seconds or until it is cancelled;
"limit N" is refused by a rate limit until it was noted N times; "spend N" does something that costs N USD,
and then meets a rate limit. `python counting.py LOG N` does that with every prompt, in EUR.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from pathlib import Path
from typing import Any

LOG = Path(sys.argv[1])
SESSION = "s1"
buffer = b""
cancelled = False


def send(**message: Any) -> None:
    os.write(1, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def messages(seconds: float | None) -> list[dict[str, Any]]:
    """The messages that arrive within this time."""
    global buffer
    if not select.select([0], [], [], seconds)[0]:
        return []
    data = os.read(0, 65536)
    if not data:
        raise SystemExit
    *lines, buffer = (buffer + data).split(b"\n")
    return [json.loads(line) for line in lines]


def note(prompt: str) -> int:
    """Enter the prompt's first line; return how often it was entered."""
    prompt = prompt.splitlines()[0]
    with open(LOG, "a") as file:
        file.write(f"{os.getpid()} {prompt}\n")
    return sum(line.split(" ", 1)[1].strip() == prompt for line in LOG.read_text().splitlines())


def play(id: Any, prompt: str) -> None:
    count = note(prompt)
    kind, _, rest = prompt.partition(" ")
    if kind == "limit" and count < int(rest):
        send(id=id, error={"code": 429, "message": "rate limit, retry after 0.2 s"})
        return
    currency = "USD"
    if len(sys.argv) > 2:
        kind, rest, currency = "spend", sys.argv[2], "EUR"
    if kind == "spend":
        update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "half of it"})
        update(sessionUpdate="tool_call", toolCallId="t", title="did it", kind="edit", status="completed")
        update(
            sessionUpdate="usage_update", used=1, size=9, cost={"amount": float(rest), "currency": currency}
        )
        send(id=id, error={"code": 429, "message": "rate limit, retry after 0.2 s"})
        return
    reason = wait(float(rest.split()[0])) if kind == "sleep" else "end_turn"
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": f"did {prompt}"})
    send(id=id, result={"stopReason": reason})


def update(**fields: Any) -> None:
    send(method="session/update", params={"sessionId": SESSION, "update": fields})


def wait(seconds: float) -> str:
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        if any(it.get("method") == "session/cancel" for it in messages(left)):
            return "cancelled"
    return "end_turn"


while True:
    for message in messages(None):
        match message.get("method"):
            case "initialize":
                send(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
            case "session/new":
                send(id=message["id"], result={"sessionId": SESSION})
            case "session/prompt":
                play(message["id"], message["params"]["prompt"][0]["text"])
            case _ if "id" in message:
                send(id=message["id"], result=None)
