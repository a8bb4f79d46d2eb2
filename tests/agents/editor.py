"""An agent that changes files without the client: `python editor.py [NAME]`. A prompt is "PATH TEXT".

Standard library only. It asks first, about a call that names the path as the prompt does (relative, perhaps)
and writes without the client. With a NAME it introduces itself by that, and keeps each prompt as fast-agent
keeps its sessions.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

NAME = sys.argv[1] if len(sys.argv) > 1 else None
OPTIONS = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}]


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def edit(cwd: Path, prompt: str, number: int) -> None:
    name, _, text = prompt.partition(" ")
    call = {
        "toolCallId": f"c{number}",
        "title": f"Edit {name}",
        "kind": "edit",
        "rawInput": {"file_path": name},
    }
    send(method="session/update", params=update({"sessionUpdate": "tool_call", "status": "pending", **call}))
    asked = {"sessionId": "s", "toolCall": {"toolCallId": f"c{number}"}, "options": OPTIONS}
    send(id=number, method="session/request_permission", params=asked)
    sys.stdin.readline()
    (cwd / name).write_text(f"{text}\n")
    done = {"sessionUpdate": "tool_call_update", "toolCallId": f"c{number}", "status": "completed"}
    send(method="session/update", params=update(done))


def remember(cwd: Path, prompt: str) -> None:
    kept = cwd / ".fast-agent" / "sessions" / "one" / "history.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.open("a") as file:
        file.write(f"{json.dumps(prompt)}\n")


def update(change: dict[str, Any]) -> dict[str, Any]:
    return {"sessionId": "s", "update": change}


def main() -> None:
    cwd = Path()
    about = {"agentInfo": {"name": NAME, "version": "0.10.48"}} if NAME else {}
    for line in sys.stdin:
        message = json.loads(line)
        id, params = message.get("id"), message.get("params") or {}
        match message.get("method"):
            case "initialize":
                send(id=id, result={"protocolVersion": 1, "agentCapabilities": {}, **about})
            case "session/new":
                cwd = Path(params["cwd"])
                send(id=id, result={"sessionId": "s"})
            case "session/prompt":
                prompt = params["prompt"][0]["text"]
                edit(cwd, prompt, id)
                if NAME:
                    remember(cwd, prompt)
                send(id=id, result={"stopReason": "end_turn"})
            case _ if id is not None:
                send(id=id, result={})


if __name__ == "__main__":
    main()
