"""HTTP/1.1 and WebSocket as bytes: what a proxy reads, and what a server that breaks the rules writes."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from contextlib import suppress
from dataclasses import dataclass, field

WEBSOCKET_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


@dataclass(frozen=True)
class Request:
    """A request by HTTP/1.1 as the proxy read it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""

    @property
    def opens_session_stream(self) -> bool:
        return self.method == "GET" and "acp-session-id" in self.headers

    @property
    def rpc(self) -> str:
        """The method of the JSON-RPC message, "" for an answer or anything else."""
        with suppress(ValueError):
            message = json.loads(self.body)
            return str(message.get("method", "")) if isinstance(message, dict) else ""
        return ""


@dataclass(frozen=True)
class Reply:
    """An answer in place of the server's."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def encoded(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} Because", f"Content-Length: {len(self.body)}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        return "\r\n".join([*lines, "", ""]).encode() + self.body


def parse_head(head: bytes) -> Request:
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.split(":", 1) for line in lines if line)
    return Request(method, path, {name.strip().lower(): value.strip() for name, value in pairs})


def chunked(data: bytes) -> bytes:
    """A part of a body whose length is not known in advance."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def frame(payload: bytes, opcode: int = 1) -> bytes:
    """A WebSocket frame of a server."""
    size = len(payload)
    if size < 126:
        return bytes([0x80 | opcode, size]) + payload
    if size < 1 << 16:
        return bytes([0x80 | opcode, 126]) + struct.pack(">H", size) + payload
    return bytes([0x80 | opcode, 127]) + struct.pack(">Q", size) + payload


def upgrade(request: Request, *headers: str) -> bytes:
    """The answer that accepts a WebSocket."""
    key = request.headers["sec-websocket-key"].encode()
    accept = base64.b64encode(hashlib.sha1(key + WEBSOCKET_GUID).digest()).decode()
    lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"]
    return "\r\n".join([*lines, f"Sec-WebSocket-Accept: {accept}", *headers, "", ""]).encode()
