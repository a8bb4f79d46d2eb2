"""A model for the tests, on loopback and deterministic: as much of four APIs as real agents need.

Messages (of Claude Code) is what answers are made for; `model_apis` puts them into other words. Knows no
agent and keeps no state: a request is answered by the newest script in it, one step for each answer that
the model has given since. A script is JSON between << and >> in a prompt:

    say("text")          an answer, and with thought="…" what was thought before it; {prompts} in the text
                         becomes the number of scripts that the model has received so far, {result} what
                         the last tool gave, {pictures} how many pictures the model has seen;
                         times=N: the text N times, for more than fits into a prompt
    use("Write", {…})    a call of the tool that is offered under this name, or as mcp__…__Write
    do("write", …)       a call of whatever tool is offered for that: see `model_tools`
    kernel("wait", …)    a call of the kernel's tool of this name
    together(use(…), …)  several calls in one answer
    talk()               word after word, until nobody listens any more
    fail(400, "text")    an error of the API

Two steps or more make one turn of several answers: script(use(…), say("done")).
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, count
from typing import Any, NamedTuple

from tests.agents import model_apis as apis
from tests.agents.model_apis import Asked, halves
from tests.agents.model_tools import NoTool, Tool, chosen, example

Json = dict[str, Any]
Heard = Callable[[str], None]

PAUSE_S = 0.02
"""The pause between two words of talk(): many fit into a test without flooding it."""

_SCRIPTED = (
    '// @exec: {{"yield_time_ms": 120000}}\n'
    "const name = Object.keys(tools).find((it) => /^mcp__kernel_[0-9a-f]+__{}$/.test(it));\n"
    "for (const it of (await tools[name]({})).content) it.type == 'image' ? image(it) : text(it.text);"
)
"""codex: a script that calls a tool of the kernel's and shows all that it gives."""

_SCRIPT = re.compile(r"<<(\[.*?\])>>", re.DOTALL)


# ---- scripts: for the tests


def script(*steps: Json) -> str:
    """A prompt that makes the model do these steps in order; an argument in them may be another script."""
    text = json.dumps(steps).replace("<<", "\\u003c<").replace(">>", "\\u003e>")
    return f"Please do <<{text}>>"


def say(text: str, *, thought: str = "", times: int = 1) -> Json:
    return {"step": "say", "text": text, "thought": thought, "times": times}


def use(tool: str, arguments: Json) -> Json:
    return {"step": "use", "calls": [{"tool": tool, "input": arguments}]}


def kernel(tool: str, **arguments: Any) -> Json:
    """kernel("run_code", code=…): a call of a kernel tool, whatever the agent calls it."""
    return {"step": "use", "calls": [{"kernel": tool, "input": arguments}]}


def do(what: str, **details: str) -> Json:
    """do("write", path=…, text=…), do("read", path=…), do("run", line=…)."""
    return {"step": "use", "calls": [{"do": what, "details": details}]}


def together(*uses: Json) -> Json:
    return {"step": "use", "calls": [call for it in uses for call in it["calls"]]}


def talk() -> Json:
    return {"step": "talk"}


def fail(status: int, text: str) -> Json:
    return {"step": "fail", "status": status, "text": text}


# ---- what to answer


def next_step(asked: Asked) -> Json:
    """The step that is due."""
    if asked.schema is not None:
        return say(json.dumps(example(asked.schema, asked.schema)))
    if not asked.tools:
        return say("A title")  # a request of the agent itself, about the conversation
    answers = 0
    for message in reversed(asked.messages):
        answers += message["role"] == "assistant"
        if found := scripts(message):
            steps: list[Json] = json.loads(found[-1])
            return steps[answers] if answers < len(steps) else say("")
    return say("There is no script.")


def scripts(message: Json) -> list[str]:
    """The scripts in a message, if it is a prompt."""
    return _SCRIPT.findall(message["text"]) if message["role"] == "user" else []


def answer_to(asked: Asked, step: Json) -> Json:
    """The complete message that the model answers with."""
    number = len(asked.messages)  # ids that are unique in the conversation
    try:
        content = _calls(step, asked, number) if step["step"] == "use" else _words(step, asked)
    except NoTool as error:
        content, step = [{"type": "text", "text": str(error)}], say("")
    return {
        "id": f"msg_{number:04}",
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": content,
        "stop_reason": "tool_use" if step["step"] == "use" else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


def _calls(step: Json, asked: Asked, number: int) -> list[Json]:
    blocks = []
    for index, call in enumerate(step["calls"]):
        tool, given = _call(call, asked)
        id = f"toolu_{number:04}_{index}"
        block = {"type": "tool_use", "id": id, "name": tool.name, "input": given}
        free = {"free": True} if tool.free else {}
        blocks.append(block | free | ({"namespace": tool.namespace} if tool.namespace else {}))
    return blocks


def _call(call: Json, asked: Asked) -> tuple[Tool, Json]:
    if "do" in call:
        return chosen(call["do"], call["details"], asked.tools)
    return _named(call, asked) if "tool" in call else _of_kernel(call, asked)


def _named(call: Json, asked: Asked) -> tuple[Tool, Json]:
    whole = re.compile(rf"(.*__)?{call['tool']}")
    for tool in asked.tools:
        if whole.fullmatch(tool.name):
            return tool, call["input"]
    raise NoTool(f"no tool {call['tool']} among {', '.join(it.name for it in asked.tools)}")


def _of_kernel(call: Json, asked: Asked) -> tuple[Tool, Json]:
    """The kernel's tool: as claude and kimi, gemini-cli, opencode and copilot name it; codex has namespaces,
    or a script that calls tools."""
    whole = re.compile(
        rf"(mcp__kernel_[0-9a-f]+__|mcp_kernel_[0-9a-f]+_|kernel_[0-9a-f]+[_-]){call['kernel']}"
    )
    for tool in asked.tools:
        if whole.fullmatch(f"{tool.namespace}__{tool.name}" if tool.namespace else tool.name):
            return tool, call["input"]
    for tool in asked.tools:
        if tool.script:
            return tool, {"input": _SCRIPTED.format(call["kernel"], json.dumps(call["input"]))}
    raise NoTool(f"no kernel's {call['kernel']} among {', '.join(it.name for it in asked.tools)}")


def _words(step: Json, asked: Asked) -> list[Json]:
    received = sum(len(scripts(message)) for message in asked.messages)
    results = [result for message in asked.messages for result in message["results"]]
    filled = {"prompts": received, "pictures": asked.pictures, "result": (results or [""])[-1]}
    said = step.get("text", "")
    for name, value in filled.items():
        said = said.replace(f"{{{name}}}", str(value))
    text = {"type": "text", "text": said * step.get("times", 1)}
    if not step.get("thought"):
        return [text]
    return [{"type": "thinking", "thinking": step["thought"], "signature": apis.SIGNED}, text]


# ---- the same as a stream


def stream(answer: Json, more: Iterable[str] = ()) -> Iterator[Json]:
    """The events of an answer; `more` is text appended to its last block."""
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
            return {"text": ""}, [{"type": "text_delta", "text": it} for it in halves(text)]
        case {"type": "thinking", "thinking": text, "signature": signature}:
            deltas = [{"type": "thinking_delta", "thinking": it} for it in halves(text)]
            signed = {"type": "signature_delta", "signature": signature}
            return {"thinking": "", "signature": ""}, [*deltas, signed]
        case _:
            pieces = halves(json.dumps(block["input"]))
            return {"input": {}}, [{"type": "input_json_delta", "partial_json": it} for it in pieces]


# ---- the APIs


class Api(NamedTuple):
    """The format of an API."""

    read: Callable[[Json, str], Asked]
    whole: Callable[[Json], Json]
    stream: Callable[[Json, Iterable[str]], Iterator[Json]]
    named: bool = False
    """Whether its events have names."""
    done: bool = False
    """Whether its stream has an end marker."""


_APIS = {
    "/messages": Api(lambda body, _: apis.read_messages(body), lambda answer: answer, stream, named=True),
    "/chat/completions": Api(
        lambda body, _: apis.read_chat(body), apis.chat_answer, apis.chat_stream, done=True
    ),
    "/responses": Api(
        lambda body, _: apis.read_responses(body), apis.responses_answer, apis.responses_stream, named=True
    ),
    "enerateContent": Api(
        lambda body, path: apis.read_gemini(body, path.rpartition("/")[2].partition(":")[0]),
        apis.gemini_answer,
        apis.gemini_stream,
    ),
}


def api_of(path: str) -> Api | None:
    return next((api for end, api in _APIS.items() if path.endswith(end)), None)


# ---- HTTP


class _Handler(BaseHTTPRequestHandler):
    """HTTP/1.0: an answer ends with its connection."""

    server: _Server

    def do_GET(self) -> None:
        self._json(200, {"data": [], "has_more": False})  # /v1/models: none but those it knows itself

    def do_POST(self) -> None:
        with suppress(ConnectionError):  # the client has disconnected: that is how talk() ends
            self._answer()

    def _answer(self) -> None:
        body = json.loads(self._body())
        path = self.path.partition("?")[0]
        if path.endswith(("/count_tokens", ":countTokens")):
            return self._json(200, {"input_tokens": 10, "totalTokens": 10})
        api = api_of(path)
        if api is None:
            return self._json(404, {"error": {"message": f"there is no {path}"}})
        asked = api.read(body, path)
        step = next_step(asked)
        self.server.heard(path)
        if step["step"] == "fail":
            error = {"type": "invalid_request_error", "message": step["text"]}
            return self._json(step["status"], {"type": "error", "error": error})
        answer = answer_to(asked, step)
        if not (body.get("stream") or path.endswith(":streamGenerateContent")):
            return self._json(200, api.whole(answer))
        more = self._talk() if step["step"] == "talk" else ()
        self._events(api.stream(answer, more), named=api.named, done=api.done)

    def _body(self) -> bytes:
        if "chunked" not in (self.headers["Transfer-Encoding"] or ""):
            return self.rfile.read(int(self.headers["Content-Length"]))
        body = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        return body

    def _talk(self) -> Iterator[str]:
        for number in count(1):
            if self.server.closing.wait(PAUSE_S):
                return
            yield f"word{number} "

    def _events(self, events: Iterable[Json], *, named: bool, done: bool) -> None:
        self._head(200, "text/event-stream")
        for event in events:
            name = f"event: {event['type']}\n" if named else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
        if done:
            self.wfile.write(b"data: [DONE]\n\n")

    def _json(self, status: int, body: Json) -> None:
        self._head(status, "application/json")
        self.wfile.write(json.dumps(body).encode())

    def _head(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing into a test's output."""


class _Server(ThreadingHTTPServer):
    def __init__(self, heard: Heard) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.closing = threading.Event()
        self.heard = heard


@contextmanager
def serving(heard: Heard = lambda _: None) -> Iterator[str]:
    """Run the model; yields its URL. `heard` gets the path of each answered request."""
    with _Server(heard) as server:
        thread = threading.Thread(target=server.serve_forever, name="mock-model")
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.closing.set()
            server.shutdown()
            thread.join()
