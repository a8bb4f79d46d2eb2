"""A model for the tests: the Messages API on loopback, deterministic, as much of it as Claude Code needs.

Knows no agent and keeps no state: a request is answered by the newest script in it, one step for each
answer that the model has given since. A script is JSON between << and >> in a prompt:

    say("text")          an answer, and with thought="…" what was thought before it; {prompts} in the text
                         becomes the number of scripts that the model has been told so far
    use("Write", {…})    a call of the tool that is offered under this name, or as mcp__…__Write
    talk()               word after word, until nobody listens any more
    fail(400, "text")    an error of the API

Two steps or more make one turn of several answers: script(use(…), say("done")).
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, count
from typing import Any

Json = dict[str, Any]

PAUSE_S = 0.02
"""Between two words of talk(): many come in the time of a test, and none floods it."""

_SCRIPT = re.compile(r"<<(\[.*?\])>>", re.DOTALL)


# ---- scripts: for the tests


def script(*steps: Json) -> str:
    """A prompt that makes the model do these, one after the other."""
    return f"Please do <<{json.dumps(steps)}>>"


def say(text: str, *, thought: str = "") -> Json:
    return {"step": "say", "text": text, "thought": thought}


def use(tool: str, arguments: Json) -> Json:
    return {"step": "use", "tool": tool, "input": arguments}


def talk() -> Json:
    return {"step": "talk"}


def fail(status: int, text: str) -> Json:
    return {"step": "fail", "status": status, "text": text}


# ---- what to answer


def next_step(request: Json) -> Json:
    """The step that is due."""
    if not request.get("tools"):
        return say("A title")  # a side question of the agent's own, about the conversation
    answers = 0
    for message in reversed(request["messages"]):
        answers += message["role"] == "assistant"
        if found := scripts(message):
            steps: list[Json] = json.loads(found[-1])
            return steps[answers] if answers < len(steps) else say("")
    return say("There is no script.")


def scripts(message: Json) -> list[str]:
    """The scripts in a message, if it is a prompt."""
    content: str | list[Json] = message["content"] if message["role"] == "user" else ""
    texts = [content] if isinstance(content, str) else [it["text"] for it in content if it["type"] == "text"]
    return _SCRIPT.findall("\n".join(texts))


def answer_to(request: Json, step: Json) -> Json:
    """The whole message that the model answers with."""
    number = len(request["messages"])  # makes ids that no other answer of the conversation has
    content = [_call(step, request["tools"], number)] if step["step"] == "use" else _words(step, request)
    return {
        "id": f"msg_{number:04}",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": content,
        "stop_reason": "tool_use" if step["step"] == "use" else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


def _call(step: Json, offered: list[Json], number: int) -> Json:
    wanted = re.compile(rf"(.*__)?{step['tool']}")
    name = next(tool["name"] for tool in offered if wanted.fullmatch(tool["name"]))
    return {"type": "tool_use", "id": f"toolu_{number:04}", "name": name, "input": step["input"]}


def _words(step: Json, request: Json) -> list[Json]:
    told = sum(len(scripts(message)) for message in request["messages"])
    text = {"type": "text", "text": step.get("text", "").replace("{prompts}", str(told))}
    if not step.get("thought"):
        return [text]
    return [{"type": "thinking", "thinking": step["thought"], "signature": "c2lnbmVk"}, text]


# ---- the same as a stream


def stream(answer: Json, more: Iterable[str] = ()) -> Iterator[Json]:
    """The events of an answer; `more` is text that comes after what its last block has."""
    yield {"type": "message_start", "message": {**answer, "content": [], "stop_reason": None}}
    for index, block in enumerate(answer["content"]):
        empty, deltas = _in_pieces(block)
        yield {"type": "content_block_start", "index": index, "content_block": {**block, **empty}}
        for delta in chain(deltas, ({"type": "text_delta", "text": it} for it in more)):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}


def _in_pieces(block: Json) -> tuple[Json, list[Json]]:
    """The fields of a block that are empty at first, and the deltas that fill them."""
    match block:
        case {"type": "text", "text": text}:
            return {"text": ""}, [{"type": "text_delta", "text": it} for it in _halves(text)]
        case {"type": "thinking", "thinking": text, "signature": signature}:
            deltas = [{"type": "thinking_delta", "thinking": it} for it in _halves(text)]
            signed = {"type": "signature_delta", "signature": signature}
            return {"thinking": "", "signature": ""}, [*deltas, signed]
        case _:
            halves = _halves(json.dumps(block["input"]))
            return {"input": {}}, [{"type": "input_json_delta", "partial_json": it} for it in halves]


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]


# ---- HTTP


class _Handler(BaseHTTPRequestHandler):
    """HTTP/1.0: an answer ends with its connection."""

    server: _Server

    def do_GET(self) -> None:
        self._json(200, {"data": [], "has_more": False})  # /v1/models: none but those it knows itself

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.startswith("/v1/messages/count_tokens"):
            return self._json(200, {"input_tokens": 10})
        step = next_step(request)
        if step["step"] == "fail":
            error = {"type": "invalid_request_error", "message": step["text"]}
            return self._json(step["status"], {"type": "error", "error": error})
        answer = answer_to(request, step)
        if not request.get("stream"):
            return self._json(200, answer)
        self._events(stream(answer, self._talk() if step["step"] == "talk" else ()))

    def _talk(self) -> Iterator[str]:
        for number in count(1):
            if self.server.closing.wait(PAUSE_S):
                return
            yield f"word{number} "

    def _events(self, events: Iterator[Json]) -> None:
        self._head(200, "text/event-stream")
        with suppress(ConnectionError):  # nobody listens any more: that is how talk() ends
            for event in events:
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def _json(self, status: int, body: Json) -> None:
        self._head(status, "application/json")
        self.wfile.write(json.dumps(body).encode())

    def _head(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: a test's output is its own."""


class _Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.closing = threading.Event()


@contextmanager
def serving() -> Iterator[str]:
    """The model, at the URL that this gives."""
    with _Server() as server:
        thread = threading.Thread(target=server.serve_forever, name="mock-model")
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.closing.set()
            server.shutdown()
            thread.join()
