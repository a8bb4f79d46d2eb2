"""An agent with methods of its own, for tests of extensions: `python extending.py`. Standard library only.

    _x/echo {…}                        answers with its parameters
    _x/seen {}                         the parameters of `initialize`, and of the requests about sessions
    _x/hang {}                         answers only when it is cancelled; _x/cancelled: how often it was
    _x/fail {}                         an error with a code and data
    _x/die {}                          the process ends
    _x/call {method, params, times}    requests of the client, all at once; the answers as a list
    _x/withdraw {method, params}       a request of the client that is withdrawn at once; the answer
    _x/tell {method, params, times}    notifications to the client

A prompt is a JSON list of updates. With the argument "early", it requests `_x/early` before a session opens.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
from concurrent.futures import Future
from typing import Any

Json = dict[str, Any]

numbers = itertools.count()
output = threading.Lock()
answers: dict[str, Future[Json]] = {}
hanging: dict[Any, threading.Event] = {}
seen: dict[str, list[Json]] = {}
cancelled = 0


class Failure(Exception):
    pass


def send(**message: Any) -> None:
    with output:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def start(method: str, params: Any) -> tuple[str, Future[Json]]:
    id, answer = f"a{next(numbers)}", Future[Json]()
    answers[id] = answer
    send(id=id, method=method, params=params)
    return id, answer


def answered(answer: Future[Json]) -> Json:
    message = answer.result()
    return {name: message[name] for name in ("result", "error") if name in message}


def serve(id: Any, method: str, params: Json) -> None:
    try:
        send(id=id, result=perform(id, method, params))
    except Failure:
        send(id=id, error={"code": 7, "message": "as you wished", "data": {"why": "a test"}})
    except LookupError:
        send(id=id, error={"code": -32601, "message": "Method not found"})


def perform(id: Any, method: str, params: Json) -> Any:
    global cancelled
    match method:
        case "initialize":
            can = {"_meta": {"x": ["echo"]}, "sessionCapabilities": {"resume": {}}}
            return {"protocolVersion": 1, "agentCapabilities": can, "_meta": {"from": "initialize"}}
        case "session/new" | "session/resume":
            meta: Json = {"from": method}
            if "early" in sys.argv:
                meta["early"] = answered(start("_x/early", {"n": 1})[1])
            named = {"sessionId": f"s{len(seen[method])}"} if method == "session/new" else {}
            return {**named, "_meta": meta}
        case "session/prompt":
            for update in json.loads(params["prompt"][0]["text"]):
                send(method="session/update", params={"sessionId": params["sessionId"], "update": update})
            return {"stopReason": "end_turn", "_meta": {"from": "prompt", "got": params.get("_meta")}}
        case "_x/echo":
            return params
        case "_x/seen":
            return seen
        case "_x/hang":
            hanging[id] = threading.Event()
            hanging[id].wait()
            cancelled += 1
            raise Failure
        case "_x/cancelled":
            return cancelled
        case "_x/fail":
            raise Failure
        case "_x/die":
            os._exit(3)
        case "_x/call":
            given = params["method"], params.get("params")
            started = [start(*given) for _ in range(params.get("times", 1))]
            return [answered(answer) for _, answer in started]
        case "_x/withdraw":
            request, answer = start(params["method"], params.get("params"))
            send(method="$/cancel_request", params={"requestId": request})
            return answered(answer)
        case "_x/tell":
            for number in range(params.get("times", 1)):
                send(method=params["method"], params={**(params.get("params") or {}), "n": number})
            return {}
    raise LookupError


def hear(method: str, params: Json) -> None:
    if method == "$/cancel_request" and params["requestId"] in hanging:
        hanging.pop(params["requestId"]).set()
    elif method == "_x/note":
        send(method="_x/noted", params=params)


for line in sys.stdin:
    message = json.loads(line)
    if "method" not in message:
        answers.pop(message["id"]).set_result(message)
    elif "id" in message:
        seen.setdefault(message["method"], []).append(message["params"])
        arguments = message["id"], message["method"], message["params"]
        threading.Thread(target=serve, args=arguments, daemon=True).start()
    else:
        hear(message["method"], message["params"])
