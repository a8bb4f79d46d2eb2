"""The answer to a prompt that is no command: what came in, in words.

It interprets nothing: it counts, quotes and names.
"""

from __future__ import annotations

from typing import Any

from .options import Options
from .rpc import Json

QUOTE = 80
"""Characters of the prompt that are echoed: enough to recognise it."""


def describe_prompt(blocks: list[Json], options: Options) -> str:
    said = " ".join(" ".join(block["text"] for block in blocks if block["type"] == "text").split())
    quoted = said if len(said) <= QUOTE else said[: QUOTE - 1] + "…"
    parts = [f"You said: “{quoted}”." if said else "Hello! You sent no text."]
    if said.startswith("/"):
        parts.append(f"I know no command `{said.split()[0]}`.")
    parts.append("I got:\n\n" + "\n".join(f"- {describe_block(block)}" for block in blocks))
    if options.values["verbose"]:
        chosen = ", ".join(f"{name} {value}" for name, value in options.values.items())
        parts.append(f"Chosen: {chosen}.")
    parts.append("I am a scripted demo agent, without a model: `/help` lists what I can do.")
    return "\n\n".join(parts)


def describe_block(block: Json) -> str:
    match block["type"]:
        case "text":
            return f"text of {len(block['text'])} characters"
        case "image" | "audio" as kind:
            return f"{kind} of {block.get('mimeType')}, {_bytes(block.get('data'))} bytes"
        case "resource_link":
            return f"link to {block.get('uri')} ({block.get('name')})"
        case "resource":
            return _describe_resource(block.get("resource"))
        case unknown:
            return f"a block of the type {unknown}, which I do not know"


def _describe_resource(resource: Any) -> str:
    if not isinstance(resource, dict):
        return "an empty resource"
    if isinstance(resource.get("text"), str):
        return f"resource {resource.get('uri')}, text of {len(resource['text'])} characters"
    return f"resource {resource.get('uri')}, {_bytes(resource.get('blob'))} bytes"


def _bytes(data: Any) -> int:
    """The size of what base64 text holds, without decoding it."""
    return len(data) * 3 // 4 - data.count("=", -2) if isinstance(data, str) else 0
