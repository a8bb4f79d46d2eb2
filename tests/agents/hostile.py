"""An agent that says hostile texts, all of them in one turn: `python hostile.py TEXTS.json`.

Each text goes into messages, thoughts, tool calls, paths, commands, plans, options, modes, slash commands,
the session's title and the stop reason; not into notices. Standard library only. At the end it asks; then
it says "after" and ends the turn.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TEXTS: list[str] = [it["text"] for it in json.loads(Path(sys.argv[1]).read_text())]

FORMULAS = (
    r"$\href{javascript:window.__hit=1}{x}$",
    r"$$\href{data:text/html,<script>parent.__hit=1</script>}{x}$$",
    r"$\style{position:fixed;inset:0;background:url(https://evil.example/x)}{x}$",
    r"$\class{acp-panel}{x}$ $\cssId{jp-main-dock-panel}{x}$",
    r"$\require{html}\href{javascript:window.__hit=1}{y}$",
    r"$\unicode[monospace;background:url(https://evil.example/y)]{65}$",
    r"$\def\x{\x\x}\x$",
)
"""Attacks on a typesetter."""


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


def contents(text: str) -> list[dict[str, Any]]:
    """All content of messages and tool calls, with the text in each field."""
    return [
        block(text),
        {"type": "image", "data": text, "mimeType": text},
        {"type": "image", "data": text, "mimeType": "image/png"},
        {"type": "image", "data": "PHN2ZyBvbmxvYWQ9Il9faGl0PTEiPg==", "mimeType": "image/svg+xml"},
        {"type": "audio", "data": text, "mimeType": text},
        {"type": "resource_link", "uri": text, "name": text, "title": text, "description": text},
        {"type": "resource", "resource": {"uri": text, "text": text, "mimeType": text}},
        {"type": text, "text": text},
    ]


def report(session: str, number: int, text: str) -> None:
    for at, content in enumerate(contents(text)):
        update(session, "agent_message_chunk", content=content, messageId=f"m{number}-{at}")
    # Again in two pieces, so that one of them starts in the middle of the trick.
    for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
        update(session, "agent_message_chunk", content=block(piece), messageId=f"p{number}")
    update(session, "agent_thought_chunk", content=block(text), messageId=f"t{number}")
    call = {"toolCallId": f"c{number}", "title": text, "kind": "execute" if number % 2 else text}
    diff = {"type": "diff", "path": text, "oldText": f"{text}\nold", "newText": f"{text}\nnew"}
    inside = [{"type": "content", "content": it} for it in contents(text)]
    update(
        session,
        "tool_call",
        **call,
        status="failed",  # so that it is open
        content=[*inside, diff, {"type": "terminal", "terminalId": text}],
        locations=[{"path": text, "line": 1}, {"path": text}],
        rawInput={"command": text, text: [text]},
        rawOutput={text: text},
    )
    update(session, "plan", entries=[{"content": it, "priority": it, "status": it} for it in (text, "low")])
    update(session, text, text=text)
    update(session, "session_info_update", title=text)


def ask(session: str, number: int, texts: list[str]) -> None:
    """A question whose options are the texts."""
    call = {"toolCallId": f"c{number}", "title": texts[0], "kind": texts[0], "status": "pending"}
    options = [{"optionId": f"o{at}", "name": text, "kind": text} for at, text in enumerate(texts)]
    allow = {"optionId": "yes", "name": "Go on", "kind": "allow_once"}
    params = {"sessionId": session, "toolCall": call, "options": [*options, allow]}
    send(method="session/request_permission", id=f"ask{number}", params=params)
    while read().get("id") != f"ask{number}":
        pass


def prompted(session: str) -> None:
    commands = [
        {"name": text, "description": text, "input": {"hint": text}} for text in TEXTS if "\n" not in text
    ]
    update(session, "available_commands_update", availableCommands=commands)
    for number, text in enumerate(TEXTS):
        report(session, number, text)
    for number, text in enumerate(FORMULAS):
        update(session, "agent_message_chunk", content=block(text), messageId=f"f{number}")
    ask(session, len(TEXTS), TEXTS)
    update(session, "agent_message_chunk", content=block("after"), messageId="after")


def main() -> None:
    while True:
        message = read()
        method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
        if method == "initialize":
            names = {"name": TEXTS[0], "title": TEXTS[4], "version": TEXTS[1]}
            send(id=id, result={"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": names})
        elif method == "session/new":
            modes = [{"id": f"m{at}", "name": text} for at, text in enumerate(TEXTS)]
            send(
                id=id,
                result={"sessionId": "hostile", "modes": {"currentModeId": "m0", "availableModes": modes}},
            )
        elif method == "session/prompt":
            prompted(params["sessionId"])
            send(id=id, result={"stopReason": TEXTS[0]})
        elif id is not None:
            send(id=id, error={"code": -32601, "message": TEXTS[0]})


if __name__ == "__main__":
    main()
