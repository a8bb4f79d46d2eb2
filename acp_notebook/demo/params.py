"""Checks on the params of a request: each returns the value, or raises -32602 with what is wrong.

It knows which shapes are wanted, not what they are for.
"""

from __future__ import annotations

import os

from .rpc import INVALID_PARAMS, Json, RpcError


def bad(message: str) -> RpcError:
    return RpcError(INVALID_PARAMS, message)


def text(params: Json, key: str) -> str:
    value = params.get(key)
    if not isinstance(value, str):
        raise bad(f"{key} must be a string")
    return value


def optional_text(params: Json, key: str) -> str | None:
    return None if params.get(key) is None else text(params, key)


def directory(params: Json) -> str:
    cwd = text(params, "cwd")
    if not os.path.isabs(cwd):
        raise bad("cwd must be an absolute path")
    return cwd


def servers(params: Json, *, required: bool) -> list[Json]:
    """The MCP servers of a session."""
    value = params.get("mcpServers", None if required else [])
    if not isinstance(value, list):
        raise bad("mcpServers must be a list")
    return [it for it in value if isinstance(it, dict)]


def blocks(params: Json) -> list[Json]:
    prompt = params.get("prompt")
    if not isinstance(prompt, list):
        raise bad("prompt must be a list of content blocks")
    for block in prompt:
        if not isinstance(block, dict) or not isinstance(block.get("type"), str):
            raise bad("each content block must be an object with a type")
        if block["type"] == "text" and not isinstance(block.get("text"), str):
            raise bad("a text block must have a text")
    return prompt


def meta(params: Json) -> Json:
    """What the client added beyond the protocol."""
    value = params.get("_meta")
    return value if isinstance(value, dict) else {}
