"""An agent that misbehaves, one fault a prompt: `python faulty.py [START-FAULT]`.

Standard library only. After each fault it says "after" and ends the turn, where the fault lets it.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

START = sys.argv[1] if len(sys.argv) > 1 else ""


def raw(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def send(**message: Any) -> None:
    raw(json.dumps({"jsonrpc": "2.0", **message}))


def update(session: str, **fields: Any) -> None:
    send(method="session/update", params={"sessionId": session, "update": fields})


def say(session: str, text: str, **more: Any) -> None:
    update(session, sessionUpdate="agent_message_chunk", content={"type": "text", "text": text}, **more)


def read() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        if START == "ignore-eof":
            time.sleep(600)
        sys.exit(0)
    message: dict[str, Any] = json.loads(line)
    return message


def ask(method: str, id: Any, **params: Any) -> dict[str, Any]:
    """Ask the client and wait for its answer, by id and type."""
    send(method=method, id=id, params=params)
    while True:
        message = read()
        if "method" not in message and message["id"] == id and type(message["id"]) is type(id):
            return message


def report(session: str, answer: dict[str, Any]) -> None:
    say(session, json.dumps(answer.get("result", answer.get("error")), sort_keys=True) + " ")


PERMISSION: dict[str, Any] = {
    "toolCall": {"toolCallId": "t1"},
    "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}],
}


def chunk(session: str, text_as_json: str) -> str:
    return (
        f'{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{session}","update":'
        f'{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":{text_as_json}}}}}}}}}'
    )


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def tool(session: str, **fields: Any) -> None:
    update(session, sessionUpdate="tool_call", toolCallId="t1", title="a tool", **fields)


def grandchild(*, own_session: bool) -> int:
    return subprocess.Popen(["sleep", "600"], start_new_session=own_session).pid


def flood(count: int) -> None:
    for number in range(count):
        send(method="nope", id=number, params={})
    for _ in range(count):
        read()


def in_a_batch(session: str) -> str:
    return "[" + chunk(session, '"one "') + ",42," + chunk(session, '"two "') + "]"


Fault = Callable[[str, Any], Any]

FAULTS: dict[str, Fault] = {
    "log lines": lambda s, _: raw("INFO starting\n\n   \nWARN {not json}\n\x1b[31mred\x1b[0m"),
    "42": lambda s, _: raw("42"),
    "null": lambda s, _: raw("null"),
    "batch": lambda s, _: raw(in_a_batch(s)),
    "broken JSON": lambda s, _: raw('{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":'),
    "NaN": lambda s, _: tool(s, rawInput={"x": math.nan, "y": -math.inf}),
    "lone surrogate": lambda s, _: raw(chunk(s, '"\\ud83d "')),
    "broken UTF-8": lambda s, _: (
        sys.stdout.flush(),
        os.write(1, chunk(s, '"\udcff "').encode("utf-8", "surrogateescape") + b"\n"),
    ),
    "deep nesting": lambda s, _: raw(chunk(s, '"deep "').replace('"type"', f'"x":{nested(20_000)},"type"')),
    "nested raw input": lambda s, _: raw(chunk(s, '"deep "').replace('"type"', f'"x":{nested(90)},"type"')),
    "string ids": lambda s, _: report(s, ask("session/request_permission", "a-1", sessionId=s, **PERMISSION)),
    "id 0": lambda s, _: report(s, ask("session/request_permission", 0, sessionId=s, **PERMISSION)),
    "id null": lambda s, _: report(s, ask("session/request_permission", None, sessionId=s, **PERMISSION)),
    "unknown method": lambda s, _: report(s, ask("fs/read_mind", 1, sessionId=s, path="/etc/passwd")),
    "method of its own": lambda s, _: report(s, ask("cursor/do_things", 1)),
    "unknown notification": lambda s, _: send(method="_mine/hello", params=[1, 2]),
    "bad permission": lambda s, _: report(s, ask("session/request_permission", 1, sessionId=s, options=3)),
    "stray answer": lambda s, _: send(id=99_999, result={}),
    "unknown session": lambda s, _: say("no-such-session", "lost?"),
    "unknown update": lambda s, _: update(s, sessionUpdate="teleport", where="mars"),
    "update is no object": lambda s, _: send(method="session/update", params={"sessionId": s, "update": 7}),
    "no params": lambda s, _: send(method="session/update"),
    "unknown content": lambda s, _: update(
        s, sessionUpdate="agent_message_chunk", content={"type": "smell", "note": "roses"}
    ),
    "unknown kind and status": lambda s, _: tool(s, kind="teleport", status="dreaming"),
    "wrong types": lambda s, _: tool(
        s, kind=7, status=None, locations=[{"path": 3}, {"path": "/ok"}], content="x"
    ),
    "update before call": lambda s, _: update(
        s, sessionUpdate="tool_call_update", toolCallId="t1", status="completed"
    ),
    "_meta like parameters": lambda s, _: say(
        s, "meta ", _meta={"sessionId": "x", "update": {}, "content": 1}
    ),
    "extra fields": lambda s, _: say(s, "extra ", timestamp=12, sessionUpdateX="y"),
    "1 MB of stderr": lambda s, _: sys.stderr.write(("e" * 99 + "\n") * 10_000),
    "20 MB line": lambda s, _: say(s, "x" * 20_000_000),
    "10,000 requests": lambda s, _: flood(10_000),
}


def prompt(id: Any, session: str, text: str) -> None:
    say(session, "before ")
    match text:
        case "error is text":
            send(id=id, error="boom")
        case "error without code":
            send(id=id, error={"message": "boom"})
        case "error with id null":
            send(id=None, error={"code": -32700, "message": "boom"})
        case "answer with a string id":
            send(id=str(id), result={"stopReason": "end_turn"})
        case "unreadable answer":
            raw(f'{{"jsonrpc":"2.0","id":{id},"result":{{"stopReason":"end_')
        case "answer too deep":
            raw(f'{{"jsonrpc":"2.0","id":{id},"result":{nested(5000)}}}')
        case "answer without a stop reason":
            send(id=id, result={})
        case "unknown stop reason":
            send(id=id, result={"stopReason": "bored"})
        case "late":
            send(id=id, result={"stopReason": "end_turn"})
            say(session, "after")
            return
        case "die":
            sys.stderr.write("last words\n")
            sys.stderr.flush()
            os._exit(9)
        case "die with a grandchild":
            say(session, f"{grandchild(own_session=False)} {grandchild(own_session=True)}")
            os._exit(9)
        case "grandchildren":
            say(session, f"{grandchild(own_session=False)} {grandchild(own_session=True)}")
            send(id=id, result={"stopReason": "end_turn"})
        case "close stdout":
            os.close(1)
            time.sleep(600)
        case "close stdin":
            os.close(0)
            say(session, "after")
            send(id=id, result={"stopReason": "end_turn"})
            time.sleep(600)
        case "hang":
            time.sleep(600)
        case "ignore cancel":
            while True:
                time.sleep(0.05)
                say(session, ".")
        case _:
            FAULTS[text](session, id)
            say(session, "after")
            send(id=id, result={"stopReason": "end_turn"})


def answer(message: dict[str, Any]) -> None:
    method, id = message.get("method"), message.get("id")
    match method:
        case "initialize":
            version = 99 if START == "version" else 1
            send(id=id, result={"protocolVersion": version})
        case "session/new":
            if START == "auth":
                send(id=id, error={"code": -32000, "message": "Authentication required"})
                return
            if START == "early":
                say("s1", "early ")
            send(id=id, result={"sessionId": "s1", "_meta": {"sessionId": "not-this"}})
        case "session/prompt":
            params = message["params"]
            prompt(id, params["sessionId"], params["prompt"][0]["text"])
        case None | "session/cancel" | "$/cancel_request":
            pass
        case _:
            send(id=id, error={"code": -32601, "message": "method not found"})


def main() -> None:
    match START:
        case "usage":
            sys.stderr.write("usage: faulty [-h]\n")
            sys.exit(2)
        case "not an agent":
            raw("Welcome to my shell!")
        case "deaf":
            time.sleep(600)
    while True:
        message = read()
        answer(message)
        if START == "no reading" and message.get("method") == "session/new":
            time.sleep(600)


if __name__ == "__main__":
    main()
