"""A model for the tests, on loopback and deterministic: as much of two APIs as real agents need.

Messages (of Claude Code) is what answers are made for; for Chat Completions (of most others) they are put
into other words. Knows no agent and keeps no state: a request is answered by the newest script in it, one
step for each answer that the model has given since. A script is JSON between << and >> in a prompt:

    say("text")          an answer, and with thought="…" what was thought before it; {prompts} in the text
                         becomes the number of scripts that the model has been told so far
    use("Write", {…})    a call of the tool that is offered under this name, or as mcp__…__Write
    together(use(…), …)  several calls in one answer
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
    return {"step": "use", "calls": [{"tool": tool, "input": arguments}]}


def together(*uses: Json) -> Json:
    return {"step": "use", "calls": [call for it in uses for call in it["calls"]]}


def talk() -> Json:
    return {"step": "talk"}


def fail(status: int, text: str) -> Json:
    return {"step": "fail", "status": status, "text": text}


# ---- what to answer


def tools_of(request: Json) -> list[str]:
    """The names of the tools that are offered; Chat Completions packs them in once more."""
    return [tool.get("function", tool)["name"] for tool in request.get("tools") or ()]


def next_step(request: Json) -> Json:
    """The step that is due."""
    if not tools_of(request):
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
    content = _calls(step, request, number) if step["step"] == "use" else _words(step, request)
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


def _calls(step: Json, request: Json, number: int) -> list[Json]:
    offered = tools_of(request)
    blocks = []
    for index, call in enumerate(step["calls"]):
        name = next(filter(re.compile(rf"(.*__)?{call['tool']}").fullmatch, offered))
        id = f"toolu_{number:04}_{index}"
        blocks.append({"type": "tool_use", "id": id, "name": name, "input": call["input"]})
    return blocks


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


# ---- the same for Chat Completions


def chat_stream(answer: Json, more: Iterable[str] = ()) -> Iterator[Json]:
    """The chunks of an answer."""
    tool = answer["stop_reason"] == "tool_use"
    blocks = (_chat_pieces(block, index) for index, block in enumerate(answer["content"]))
    for delta in chain(chain.from_iterable(blocks), ({"content": it} for it in more)):
        yield _chat(answer, "chat.completion.chunk", delta={"role": "assistant", **delta})
    yield _chat(answer, "chat.completion.chunk", delta={}, finish_reason="tool_calls" if tool else "stop")


def chat_answer(answer: Json) -> Json:
    """The answer in one piece, for a side question: words only."""
    text = "".join(block.get("text", "") for block in answer["content"])
    message = {"role": "assistant", "content": text}
    return _chat(answer, "chat.completion", message=message, finish_reason="stop")


def _chat_pieces(block: Json, index: int) -> list[Json]:
    match block:
        case {"type": "text", "text": text}:
            return [{"content": it} for it in _halves(text)]
        case {"type": "thinking", "thinking": text}:
            return [{"reasoning_content": it} for it in _halves(text)]
        case _:
            named = {
                "id": block["id"],
                "type": "function",
                "function": {"name": block["name"], "arguments": ""},
            }
            filled = [{"function": {"arguments": it}} for it in _halves(json.dumps(block["input"]))]
            return [{"tool_calls": [{"index": index, **it}]} for it in (named, *filled)]


def _chat(answer: Json, kind: str, finish_reason: str | None = None, **choice: Json) -> Json:
    choices = [{"index": 0, "finish_reason": finish_reason, **choice}]
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15} if finish_reason else None
    head = {"id": answer["id"], "object": kind, "created": 0, "model": answer["model"]}
    return {**head, "choices": choices, "usage": usage}


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
        more = self._talk() if step["step"] == "talk" else ()
        chat = self.path.endswith("/chat/completions")
        if not request.get("stream"):
            self._json(200, chat_answer(answer) if chat else answer)
        elif chat:
            self._events(chain(map(json.dumps, chat_stream(answer, more)), ["[DONE]"]))
        else:
            self._events(f"{json.dumps(it)}\nevent: {it['type']}" for it in stream(answer, more))

    def _talk(self) -> Iterator[str]:
        for number in count(1):
            if self.server.closing.wait(PAUSE_S):
                return
            yield f"word{number} "

    def _events(self, events: Iterable[str]) -> None:
        self._head(200, "text/event-stream")
        with suppress(ConnectionError):  # nobody listens any more: that is how talk() ends
            for event in events:
                self.wfile.write(f"data: {event}\n\n".encode())

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
