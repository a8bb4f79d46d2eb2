"""An agent that keeps sessions in ways that no list should have: `python keeper.py HOW`.

Standard library only. "pages": 10,000 of them, 100 a page; "heap": 100,000 at once; "endless": always one
more; "circle": the same page for ever; "hollow": empty pages, and always one more; "odd": fields that are
missing, wrong or hostile. Sessions are loaded without a word about their title. "waiting": it sends the
history of a loaded session with the next request that names it, whatever that is.
"""

from __future__ import annotations

import json
import sys
from typing import Any

HOW = sys.argv[1]

HEARTBEAT = "_qwen/session/heartbeat"

HOSTILE = "<img src=x onerror=alert(1)>\u202e\x1b[31m\nrm -rf"

ODD: list[Any] = [
    {"sessionId": "bare", "cwd": "/w"},
    {"sessionId": "nulls", "cwd": "/w", "title": None, "updatedAt": None},
    {"sessionId": "wrong", "cwd": "/w", "title": ["no", "text"], "updatedAt": 1_700_000_000},
    {"sessionId": "hostile", "cwd": "/w", "title": HOSTILE, "updatedAt": "soon"},
    {"sessionId": "long", "cwd": "/w" * 5_000, "title": "t" * 1_000_000},
    {"cwd": "/nameless"},
    7,
]


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def kept(*numbers: int) -> list[Any]:
    return [{"sessionId": f"s{it}", "cwd": "/w", "title": f"number {it}"} for it in numbers]


def page(cursor: str | None) -> tuple[list[Any], str | None]:
    at = int(cursor or 0)
    match HOW:
        case "pages":
            return kept(*range(at, at + 100)), str(at + 100) if at < 9_900 else None
        case "heap":
            return kept(*range(100_000)), None
        case "endless":
            return kept(at), str(at + 1)
        case "circle":
            return kept(1, 2), "1"
        case "hollow":
            return [], str(at + 1)
    return ODD, ""


def say(id: str, kind: str, text: str) -> None:
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
    send(method="session/update", params={"sessionId": id, "update": update})


def main() -> None:
    waiting: set[str] = set()
    for line in sys.stdin:
        message = json.loads(line)
        id, params = message.get("id"), message.get("params") or {}
        session = params.get("sessionId", "")
        if session in waiting:
            waiting.remove(session)
            say(session, "user_message_chunk", "What did I say?")
            say(session, "agent_message_chunk", "This.")
        match message.get("method"):
            case "initialize":
                offered = {"loadSession": True, "sessionCapabilities": {"list": {}, "resume": {}}}
                if HOW == "waiting":
                    offered["_meta"] = {"qwen": {"methods": [HEARTBEAT]}}
                send(id=id, result={"protocolVersion": 1, "agentCapabilities": offered})
            case "session/new":
                send(id=id, result={"sessionId": "new"})
            case "session/list":
                found, following = page(params.get("cursor"))
                send(id=id, result={"sessions": found, "nextCursor": following})
            case "session/load" if HOW == "waiting":
                waiting.add(session)
                send(id=id, result={})
            case "session/prompt":
                say(session, "agent_message_chunk", "New.")
                send(id=id, result={"stopReason": "end_turn"})
            case _ if id is not None:
                send(id=id, result={})


if __name__ == "__main__":
    main()
