"""Chat Completions, Responses and Gemini in the words of Messages, and answers of Messages in theirs.

Knows the forms only: what is answered is `mock_model`'s. A request is read into `Asked`; an answer is a
message of Messages (blocks of text, thinking, tool_use), and goes out whole or as the events of a stream.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from tests.agents.model_tools import Tool

Json = dict[str, Any]

SIGNED = "c2lnbmVk"
"""The signature of a thought; nobody checks it."""


@dataclass(frozen=True)
class Asked:
    """A request: the messages in order, with alternating roles, and the available tools."""

    messages: list[Json]
    """Each has a role (user, assistant), its `text`, and the `results` of tools."""
    tools: list[Tool]
    model: str
    schema: Mapping[str, Any] | None = None
    """The JSON schema that the answer must have."""
    pictures: int = 0
    """How many pictures the whole conversation has."""


def halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]


def _merged(said: Iterable[tuple[str, str, str]]) -> list[Json]:
    """Convert (role, text, result) … to messages, joining consecutive parts of one role."""
    messages: list[Json] = []
    for role, text, result in said:
        if not messages or messages[-1]["role"] != role:
            messages.append({"role": role, "text": "", "results": []})
        messages[-1]["text"] += f"{text}\n" if text else ""
        messages[-1]["results"] += [result] if result else []
    return messages


def _text(content: Any) -> str:
    """The text of content in any form: a string, a list of parts, one part."""
    match content:
        case str():
            return content
        case list():
            return "\n".join(filter(None, map(_text, content)))
        case {"text": str(text)}:
            return text
        case {"content": inner} | {"output": inner} | {"parts": inner}:
            return _text(inner)
    return ""


def _pictures(content: Any) -> int:
    """How many pictures there are in whatever content is made of."""
    match content:
        case list():
            return sum(map(_pictures, content))
        case {"type": "image" | "image_url" | "input_image"} | {"inlineData": _} | {"inline_data": _}:
            return 1
        case dict():
            return sum(map(_pictures, content.values()))
    return 0


def _json_schema(body: Any) -> Mapping[str, Any] | None:
    schema = body.get("schema") or body.get("json_schema", {}).get("schema") if body else None
    return schema or ({"type": "object"} if body and "json" in str(body.get("type")) else None)


# ---- Messages


def read_messages(body: Json) -> Asked:
    tools = [Tool(it["name"], it.get("input_schema") or {}) for it in body.get("tools") or () if "name" in it]
    said = chain.from_iterable(map(_messages_said, body["messages"]))
    wanted = _json_schema((body.get("output_config") or {}).get("format") or body.get("output_format"))
    return Asked(_merged(said), tools, body["model"], wanted, _pictures(body["messages"]))


def _messages_said(message: Json) -> Iterator[tuple[str, str, str]]:
    content = message["content"]
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        if block.get("type") == "tool_result":
            yield message["role"], "", _text(block.get("content")) or " "
        else:
            yield message["role"], block.get("text", ""), ""


# ---- Chat Completions


def read_chat(body: Json) -> Asked:
    functions = (it.get("function", it) for it in body.get("tools") or ())
    tools = [Tool(it["name"], it.get("parameters") or {}) for it in functions if "name" in it]
    said = (_chat_said(it) for it in body["messages"] if it["role"] in ("user", "assistant", "tool"))
    wanted = _json_schema(body.get("response_format"))
    return Asked(_merged(said), tools, body["model"], wanted, _pictures(body["messages"]))


def _chat_said(message: Json) -> tuple[str, str, str]:
    text = _text(message.get("content"))
    return ("user", "", text or " ") if message["role"] == "tool" else (message["role"], text, "")


def chat_stream(answer: Json, more: Iterable[str] = ()) -> Iterator[Json]:
    """The chunks of an answer; `more` is appended text."""
    tool = answer["stop_reason"] == "tool_use"
    blocks = (_chat_pieces(block, index) for index, block in enumerate(answer["content"]))
    for delta in chain(chain.from_iterable(blocks), ({"content": it} for it in more)):
        yield _chat(answer, "chat.completion.chunk", delta={"role": "assistant", **delta})
    yield _chat(answer, "chat.completion.chunk", delta={}, finish_reason="tool_calls" if tool else "stop")


def chat_answer(answer: Json) -> Json:
    """The answer in one piece."""
    text = "".join(block.get("text", "") for block in answer["content"])
    calls = [_chat_call(it, json.dumps(it["input"])) for it in answer["content"] if it["type"] == "tool_use"]
    message = {"role": "assistant", "content": text or None} | ({"tool_calls": calls} if calls else {})
    return _chat(answer, "chat.completion", message=message, finish_reason="tool_calls" if calls else "stop")


def _chat_pieces(block: Json, index: int) -> list[Json]:
    match block:
        case {"type": "text", "text": text}:
            return [{"content": it} for it in halves(text)]
        case {"type": "thinking", "thinking": text}:
            return [{"reasoning_content": it} for it in halves(text)]
        case _:
            filled = [{"function": {"arguments": it}} for it in halves(json.dumps(block["input"]))]
            return [{"tool_calls": [{"index": index, **it}]} for it in (_chat_call(block, ""), *filled)]


def _chat_call(block: Json, arguments: str) -> Json:
    return {
        "id": block["id"],
        "type": "function",
        "function": {"name": block["name"], "arguments": arguments},
    }


def _chat(answer: Json, kind: str, finish_reason: str | None = None, **choice: Json) -> Json:
    choices = [{"index": 0, "finish_reason": finish_reason, **choice}]
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15} if finish_reason else None
    head = {"id": answer["id"], "object": kind, "created": 0, "model": answer["model"]}
    return {**head, "choices": choices, "usage": usage}


# ---- Responses


def read_responses(body: Json) -> Asked:
    given = body["input"] if isinstance(body["input"], list) else [{"role": "user", "content": body["input"]}]
    # codex puts them there for its newer models.
    more = [it["tools"] for it in given if it.get("type") == "additional_tools"]
    tools = [tool for offered in (body.get("tools") or (), *more) for tool in _responses_tools(offered)]
    said = chain.from_iterable(map(_responses_said, given))
    wanted = _json_schema((body.get("text") or {}).get("format"))
    return Asked(_merged(said), tools, body["model"], wanted, _pictures(given))


def _responses_tools(offered: Iterable[Json], namespace: str = "") -> Iterator[Tool]:
    for it in offered:
        match it:
            case {"type": "function", "name": name}:
                yield Tool(name, it.get("parameters") or {}, namespace=namespace)
            case {"type": "custom", "name": name}:
                yield Tool(name, {}, True, namespace, "JavaScript" in it.get("description", ""))
            case {"type": "namespace", "name": name, "tools": inner}:
                yield from _responses_tools(inner, name)


def _responses_said(item: Json) -> Iterator[tuple[str, str, str]]:
    match item:
        case {"role": "user" | "assistant" as role, "content": content}:
            yield role, _text(content), ""
        case {"type": "function_call_output" | "custom_tool_call_output", "output": output}:
            yield "user", "", _text(output) or " "
        case {"type": "function_call" | "custom_tool_call" | "local_shell_call"}:
            yield "assistant", "", ""


def responses_answer(answer: Json) -> Json:
    items = [_responses_item(block, answer, index) for index, block in enumerate(answer["content"])]
    return _response(answer, items, "completed")


def responses_stream(answer: Json, more: Iterable[str] = ()) -> Iterator[Json]:
    empty = _response(answer, [], "in_progress")
    items = responses_answer(answer)["output"]
    yield {"type": "response.created", "response": empty}
    for index, item in enumerate(items):
        yield from _responses_pieces(item, index, more if index == len(items) - 1 else ())
    yield {"type": "response.completed", "response": _response(answer, items, "completed")}


def _responses_pieces(item: Json, index: int, more: Iterable[str]) -> Iterator[Json]:
    where = {"item_id": item["id"], "output_index": index}
    empty = {"content": [], "arguments": "", "input": "", "summary": []}
    begun = {name: empty.get(name, value) for name, value in item.items()}
    yield {"type": "response.output_item.added", "output_index": index, "item": begun}
    if item["type"] == "message":
        part = item["content"][0]
        at = {**where, "content_index": 0}
        yield {"type": "response.content_part.added", **at, "part": {**part, "text": ""}}
        for piece in chain(halves(part["text"]), more):
            yield {"type": "response.output_text.delta", **at, "delta": piece}
        yield {"type": "response.output_text.done", **at, "text": part["text"]}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _responses_item(block: Json, answer: Json, index: int) -> Json:
    id = f"item_{answer['id']}_{index}"
    match block:
        case {"type": "text", "text": text}:
            part = {"type": "output_text", "text": text, "annotations": []}
            return {"type": "message", "id": id, "role": "assistant", "content": [part]}
        case {"type": "thinking", "thinking": text}:
            summary = [{"type": "summary_text", "text": text}]
            return {"type": "reasoning", "id": id, "summary": summary, "encrypted_content": SIGNED}
        case {"type": "tool_use", "free": True}:
            call = {"type": "custom_tool_call", "input": block["input"]["input"]}
        case _:
            call = {"type": "function_call", "arguments": json.dumps(block["input"])}
    space = {"namespace": it} if (it := block.get("namespace")) else {}
    return {"id": id, "call_id": block["id"], "name": block["name"], "status": "completed", **call, **space}


def _response(answer: Json, items: list[Json], status: str) -> Json:
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    head = {"id": answer["id"], "object": "response", "created_at": 0, "model": answer["model"]}
    return {**head, "status": status, "output": items, "usage": {**usage, **details}}


# ---- Gemini


def read_gemini(body: Json, model: str) -> Asked:
    declared = chain.from_iterable(it.get("functionDeclarations") or () for it in body.get("tools") or ())
    tools = [
        Tool(it["name"], it.get("parametersJsonSchema") or it.get("parameters") or {}) for it in declared
    ]
    said = chain.from_iterable(map(_gemini_said, body.get("contents") or ()))
    how = body.get("generationConfig") or {}
    as_json = "json" in (how.get("responseMimeType") or "")
    wanted = how.get("responseJsonSchema") or how.get("responseSchema") or {"type": "object"}
    seen = _pictures(body.get("contents") or [])
    return Asked(_merged(said), tools, model, wanted if as_json else None, seen)


def _gemini_said(content: Json) -> Iterator[tuple[str, str, str]]:
    role = "assistant" if content.get("role") == "model" else "user"
    for part in content.get("parts") or ():
        match part:
            case {"functionResponse": {"response": response}}:
                yield "user", "", _text(response) or json.dumps(response)
            case _:
                yield role, part.get("text") or "", ""


def gemini_answer(answer: Json) -> Json:
    return _gemini([_gemini_part(it) for it in answer["content"]], "STOP")


def gemini_stream(answer: Json, more: Iterable[str] = ()) -> Iterator[Json]:
    for block in answer["content"]:
        text = block.get("text")
        pieces = [_gemini_part(block)] if text is None else [{"text": it} for it in halves(text)]
        yield from (_gemini([it]) for it in pieces)
    yield from (_gemini([{"text": it}]) for it in more)
    yield _gemini([{"text": ""}], "STOP")


def _gemini_part(block: Json) -> Json:
    match block:
        case {"type": "text", "text": text}:
            return {"text": text}
        case {"type": "thinking", "thinking": text}:
            return {"text": text, "thought": True}
    call = {"id": block["id"], "name": block["name"], "args": block["input"]}
    return {"functionCall": call, "thoughtSignature": SIGNED}


def _gemini(parts: list[Json], reason: str | None = None) -> Json:
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}}
    if reason is None:
        return {"candidates": [candidate]}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    return {"candidates": [{**candidate, "finishReason": reason}], "usageMetadata": usage}
