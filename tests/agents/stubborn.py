"""An agent that ends turns late, and does not always open a session: `python stubborn.py FOLDER`.

Standard library only. "wait" is answered when the next session is asked for, anything else at once;
"s98" is a word for that session, open or not. A session in the folder that FOLDER/full names is refused;
while there is a FOLDER/slow, none is answered, and FOLDER/asked shows that one was requested.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

FULL, SLOW, ASKED = (Path(sys.argv[1], name) for name in ("full", "slow", "asked"))
waiting: list[tuple[Any, str]] = []
opened = 0


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def say(session: str, text: str) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    send(method="session/update", params={"sessionId": session, "update": update})


def end_late() -> None:
    while waiting:
        id, session = waiting.pop()
        say(session, "late ")
        send(id=id, result={"stopReason": "end_turn"})


def new_session(id: Any, cwd: str) -> None:
    global opened
    end_late()
    while SLOW.exists():
        ASKED.touch()
        time.sleep(0.01)
    if FULL.exists() and FULL.read_text() == cwd:
        send(id=id, error={"code": -1, "message": "there is no room"})
        return
    opened += 1
    # The newest first: an id that one session had before the restart is another's after it.
    send(id=id, result={"sessionId": f"s{100 - opened}"})


def prompt(id: Any, session: str, text: str) -> None:
    say(session, f"{text} {os.getpid()} ")
    if text == "s98":
        say(text, "too early ")
    if text == "wait":
        waiting.append((id, session))
    else:
        send(id=id, result={"stopReason": "end_turn"})


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        id, params = message.get("id"), message.get("params") or {}
        match message.get("method"):
            case "initialize":
                send(id=id, result={"protocolVersion": 1})
            case "session/new":
                new_session(id, params["cwd"])
            case "session/prompt":
                prompt(id, params["sessionId"], params["prompt"][0]["text"])


if __name__ == "__main__":
    main()
