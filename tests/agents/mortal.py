"""An agent that logs its life to a file, and dies on request: `python mortal.py FOLDER`.

Standard library only. FOLDER/life has a line for each start and each prompt that was read. "mute" dies
without a word, "loud" after one; "limit" meets a rate limit once, "work" says something before that. While
there is a FOLDER/hurry, it closes its input and ends as soon as a session is open.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
numbers = itertools.count()


def note(what: str) -> None:
    with (FOLDER / "life").open("a") as life:
        life.write(f"{what}\n")


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def say(session: str, text: str) -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    send(method="session/update", params={"sessionId": session, "update": update})


def opened(id: Any) -> None:
    hurried = (FOLDER / "hurry").exists()
    if hurried:
        os.close(0)
    send(id=id, result={"sessionId": f"s{next(numbers)}"})
    if hurried:
        os._exit(4)


def limited() -> bool:
    met = FOLDER / "met"
    if met.exists():
        return False
    met.touch()
    return True


def prompt(id: Any, session: str, text: str) -> None:
    note(text)
    if text in ("loud", "work"):
        say(session, "I begin.")
    if text in ("mute", "loud"):
        os._exit(3)
    if text in ("limit", "work") and limited():
        error = {"code": 429, "message": "rate limit", "data": {"retry_after": wait()}}
        send(id=id, error=error)
        return
    say(session, f"I am {os.getpid()}")
    send(id=id, result={"stopReason": "end_turn"})


def wait() -> float:
    """The wait that it requests."""
    return float((FOLDER / "wait").read_text())


def main() -> None:
    note("start")
    for line in sys.stdin:
        message = json.loads(line)
        id, params = message.get("id"), message.get("params") or {}
        match message.get("method"):
            case "initialize":
                send(id=id, result={"protocolVersion": 1})
            case "session/new":
                opened(id)
            case "session/prompt":
                prompt(id, params["sessionId"], params["prompt"][0]["text"])


if __name__ == "__main__":
    main()
