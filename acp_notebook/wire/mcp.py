"""The MCP messages of a tool server: reads parameters, writes results. Does no I/O and knows no tools.

Only what agents use: initialize, ping, tools/list, tools/call, progress, cancelled, list_changed. Results are
text and images: some agents drop structured content and links, or lose the text next to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from ..core.records import Image, Text
from .jsonrpc import Id

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Newest first. The part of MCP that we use is the same in all of them."""

INITIALIZED = "notifications/initialized"
CANCELLED = "notifications/cancelled"
PROGRESS = "notifications/progress"
LIST_CHANGED = "notifications/tools/list_changed"

CALL_ID_KEYS = ("claudecode/toolUseId", "callId")
"""Where agents put, in `_meta`, the id of their tool call that makes the MCP call (claude-code-acp and
claude-agent-acp; codex-acp)."""


class Malformed(ValueError):
    """The parameters cannot be read; the message says why."""


class ToolRequest(Struct, frozen=True):
    """One `tools/call`."""

    name: str
    arguments: Mapping[str, Any] = {}
    call_id: str | None = None
    """The id of the agent's tool call, if the agent sends it."""
    progress_token: int | str | None = None


class _Initialize(Struct):
    protocolVersion: str = ""


class _Call(Struct):
    name: str
    arguments: dict[str, Any] | None = None
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class _Cancelled(Struct):
    requestId: int | str | UnsetType = UNSET


_initialize = msgspec.json.Decoder(_Initialize)
_call = msgspec.json.Decoder(_Call)
_cancelled = msgspec.json.Decoder(_Cancelled)


def read_version(params: Raw) -> str:
    """The version to use: the client's, if we support it, else our newest."""
    try:
        asked = _initialize.decode(params).protocolVersion
    except (msgspec.DecodeError, ValueError):
        asked = ""
    return asked if asked in VERSIONS else VERSIONS[0]


def read_call(params: Raw) -> ToolRequest:
    """Read the parameters of `tools/call`; raises Malformed."""
    try:
        call = _call.decode(params)
    except (msgspec.DecodeError, ValueError) as error:
        raise Malformed(f"tools/call: {error}") from None
    meta = call.meta or {}
    token = meta.get("progressToken")
    call_id = next((it for key in CALL_ID_KEYS if isinstance(it := meta.get(key), str) and it), None)
    valid = isinstance(token, int | str) and not isinstance(token, bool)
    return ToolRequest(call.name, call.arguments or {}, call_id, token if valid else None)


def read_cancelled(params: Raw) -> Id | UnsetType:
    try:
        return _cancelled.decode(params).requestId
    except (msgspec.DecodeError, ValueError):
        return UNSET


def introduction(
    version: str, *, name: str, title: str, our_version: str, instructions: str
) -> dict[str, Any]:
    return {
        "protocolVersion": version,
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": name, "title": title, "version": our_version},
        "instructions": instructions,
    }


def result(blocks: Iterable[Text | Image], *, failed: bool = False) -> dict[str, Any]:
    content = [_block(block) for block in blocks]
    return {"content": content, "isError": True} if failed else {"content": content}


def _block(block: Text | Image) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    return {"type": "image", "data": block.data, "mimeType": block.mime_type}


def progress(token: int | str, seconds: float, message: str) -> dict[str, Any]:
    return {"progressToken": token, "progress": seconds, "message": message}
