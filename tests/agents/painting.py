"""An agent whose texts try to draw over their surroundings: `python painting.py`.

For a prompt that is a number it says a few of them before and after a question, and in the question's own
call. Standard library only. When the question is answered it ends the turn.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

RULE = r"\Rule{60em}{60em}{60em}"

FORMULAS = (
    r"x\smash{\raise 20em{\rlap{\color{red}{" + RULE + r"}}}}",
    r"x\smash{\lower 20em{\rlap{\color{red}{" + RULE + r"}}}}",
    r"\llap{\smash{\raise 4em{" + RULE + r"}}}x",
    r"\rlap{\smash{\lower 4em{\text{rm -rf / rm -rf / rm -rf / rm -rf / rm -rf /}}}}x",
    r"\vphantom{x}\kern -40em\smash{" + RULE + r"}",
    r"\hspace{-40em}\smash{\Huge{\raise 3em{\text{Allow}}}}",
    r"\mathrlap{\smash{\raise 6em{\fbox{\text{Allow this? Reject}}}}}x",
    r"\begin{array}{c}\\[-60em]\text{above}\end{array}",
    r"\underset{\lower 30em{\text{below}}}{x}",
)
STACK = "Z" + "\u0335\u0321\u0336\u031b\u0340\u0341\u0358\u0315\u0360\u0488\u0489" * 40

TEXTS = (
    *(f"${it}$" for it in FORMULAS),
    *(f"$${it}$$" for it in FORMULAS),
    " ".join([STACK] * 30),
    "# " + STACK * 3,
    "x" * 20_000,
    "|" + "|".join(["W" * 90] * 40) + "|\n|" + "|".join(["-"] * 40) + "|",
    "\ufdfd" * 200,
    "```\n" + "\n".join([STACK] * 3) + "\n```",
    "\x1b[100A\x1b[200C\x1b[41mover it all\x1b[0m",
    '<div style="position:fixed;inset:0;background:red;z-index:99999">x</div>',
    "![x](data:image/svg+xml;base64,PHN2ZyB3aWR0aD0iOTk5OTkiIGhlaWdodD0iOTk5OTkiLz4=)",
)


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(session: str, what: str, /, **fields: Any) -> None:
    send(method="session/update", params={"sessionId": session, "update": {"sessionUpdate": what, **fields}})


def read() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    message: dict[str, Any] = json.loads(line)
    return message


def block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def say(session: str, text: str, id: str) -> None:
    update(session, "agent_message_chunk", content=block(text), messageId=id)


EACH = 4
"""In one turn: all of them are near the end, which browsers draw with the least care."""


def ask(session: str, texts: Sequence[str]) -> None:
    inside = [{"type": "content", "content": block(text)} for text in texts]
    call = {
        "toolCallId": f"call {texts[0]}",
        "title": f"Run {STACK}",
        "kind": "execute",
        "status": "in_progress",
        "content": inside,
        "rawInput": {"command": f"ls {STACK}"},
    }
    options = [
        {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
        {"optionId": "no", "name": f"Reject {STACK}", "kind": "reject_once"},
    ]
    params = {"sessionId": session, "toolCall": call, "options": options}
    send(method="session/request_permission", id="ask", params=params)


def prompted(session: str, number: int) -> None:
    texts = TEXTS[number * EACH : (number + 1) * EACH]
    for at, text in enumerate(texts):
        say(session, text, f"before{number}-{at}")
    say(session, f"An honest message, number {number}.", f"honest{number}")
    ask(session, texts)
    for at, text in enumerate(texts):
        say(session, text, f"behind{number}-{at}")
    say(session, "All said.", f"last{number}")
    while read().get("id") != "ask":
        pass


def main() -> None:
    while True:
        message = read()
        method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
        if method == "initialize":
            send(id=id, result={"protocolVersion": 1, "agentCapabilities": {}})
        elif method == "session/new":
            send(id=id, result={"sessionId": "painting"})
        elif method == "session/prompt":
            prompted(params["sessionId"], int(params["prompt"][0]["text"]))
            send(id=id, result={"stopReason": "end_turn"})
        elif id is not None:
            send(id=id, error={"code": -32601, "message": "unknown"})


if __name__ == "__main__":
    main()
