"""The agent in README's pictures: it plays one scene, with the words of a script and real files.

Standard library only; it knows nothing of the package. `build_pictures.py` starts it.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from typing import Any

Json = dict[str, Any]

PLAN = ("Look at the data", "Mend the cleaning", "Compare the months")
OLD, NEW = "df = df.dropna()\n", 'df["revenue"] = df.groupby("store")["revenue"].ffill()\n'
ANSWER = (
    "`clean.py` dropped every row with a gap, and **all of March's gaps** were in the two largest stores. "
    "I fill a gap with that store's last value instead:\n\n"
    "| month | before | now |\n|---|---|---|\n| February | 1 420 | 1 420 |\n| March | **310** | **1 590** |\n"
)

ids = itertools.count(1)


def send(message: Json) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def ask(method: str, params: Json) -> Any:
    """A request to the client, and its answer; what comes before that is not for this scene."""
    id = next(ids)
    send({"id": id, "method": method, "params": params})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == id and "method" not in message:
            return message.get("result")
    raise SystemExit


class Scene:
    """One turn, as it is told to the client."""

    def __init__(self, session: str, cwd: str) -> None:
        self.session, self.cwd = session, cwd

    def tell(self, update: str, /, **fields: Any) -> None:
        told = {"sessionUpdate": update, **fields}
        send({"method": "session/update", "params": {"sessionId": self.session, "update": told}})

    def plan(self, done: int) -> None:
        states = ["completed"] * done + ["in_progress"] + ["pending"] * len(PLAN)
        entries = zip(PLAN, states, strict=False)
        told = [{"content": text, "priority": "medium", "status": state} for text, state in entries]
        self.tell("plan", entries=told)

    def tool(self, title: str, kind: str, **fields: Any) -> Json:
        call = {"toolCallId": f"call-{next(ids)}", "title": title, "kind": kind, **fields}
        self.tell("tool_call", status="in_progress", **call)
        return call

    def done(self, call: Json, **fields: Any) -> None:
        self.tell("tool_call_update", toolCallId=call["toolCallId"], status="completed", **fields)

    def play(self) -> None:
        self.tell("session_info_update", title="Why March is low")
        self.plan(0)
        path = os.path.join(self.cwd, "clean.py")
        read = self.tool("Read clean.py", "read", locations=[{"path": path, "line": 1}])
        text = ask("fs/read_text_file", {"sessionId": self.session, "path": path})["content"]
        self.done(read)
        self.plan(1)
        self.edit(path, text)
        self.plan(3)
        self.tell("usage_update", used=31_400, size=200_000, cost={"amount": 0.12, "currency": "USD"})
        self.tell("agent_message_chunk", content={"type": "text", "text": ANSWER})

    def edit(self, path: str, text: str) -> None:
        after = text.replace(OLD, NEW)
        diff = {"type": "diff", "path": path, "oldText": text, "newText": after}
        where = [{"path": path, "line": text[: text.index(OLD)].count("\n") + 1}]
        call = self.tool("Edit clean.py", "edit", content=[diff], locations=where)
        options = [
            {"optionId": "once", "name": "Allow once", "kind": "allow_once"},
            {"optionId": "always", "name": "Always allow edits", "kind": "allow_always"},
            {"optionId": "no", "name": "Reject", "kind": "reject_once"},
        ]
        question = {"sessionId": self.session, "toolCall": call, "options": options}
        ask("session/request_permission", question)
        ask("fs/write_text_file", {"sessionId": self.session, "path": path, "content": after})
        self.done(call)


MODEL = {
    "id": "model",
    "name": "Model",
    "category": "model",
    "type": "select",
    "currentValue": "fast",
    "options": [{"value": "fast", "name": "Fast"}, {"value": "thorough", "name": "Thorough"}],
}
MODES = {
    "currentModeId": "ask",
    "availableModes": [{"id": "ask", "name": "Ask first"}, {"id": "plan", "name": "Plan only"}],
}


def answer(method: str, params: Json, folders: dict[str, str]) -> Json:
    if method == "initialize":
        can = {"loadSession": True, "sessionCapabilities": {"list": {}}}
        info = {"name": "scripted", "title": "Scripted agent", "version": "1"}
        prompts = {"promptCapabilities": {"embeddedContext": True}}
        return {"protocolVersion": 1, "agentInfo": info, "agentCapabilities": {**can, **prompts}}
    if method == "session/new":
        folders["s1"] = params["cwd"]
        return {"sessionId": "s1", "modes": MODES, "configOptions": [MODEL]}
    if method == "session/prompt":
        Scene(params["sessionId"], folders[params["sessionId"]]).play()
        return {"stopReason": "end_turn"}
    return {}


def main() -> None:
    folders: dict[str, str] = {}
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            send({"id": message["id"], "result": answer(message["method"], message["params"], folders)})


if __name__ == "__main__":
    main()
