"""Content blocks, and the small picture and sound that the demo shows.

Everything is computed from constants: no file, no clock, no chance.
"""

from __future__ import annotations

import base64
import struct
import zlib

from .rpc import Json

SIDE = 64
RATE = 8000


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def chunk(block: Json, message: str, kind: str = "agent_message_chunk") -> Json:
    """The update that adds a block to a message."""
    return {"sessionUpdate": kind, "content": block, "messageId": message}


def fenced(text: str, language: str = "") -> Json:
    """A text block with a code fence that the text cannot close."""
    fence = "```"
    while fence in text:
        fence += "`"
    ending = "" if text.endswith("\n") or not text else "\n"
    return text_block(f"{fence}{language}\n{text}{ending}{fence}")


def image_block() -> Json:
    return {"type": "image", "mimeType": "image/png", "data": base64.b64encode(gradient_png()).decode()}


def audio_block() -> Json:
    return {"type": "audio", "mimeType": "audio/wav", "data": base64.b64encode(beep_wav()).decode()}


def link_block() -> Json:
    return {
        "type": "resource_link",
        "uri": "https://agentclientprotocol.com/",
        "name": "agentclientprotocol.com",
        "title": "The Agent Client Protocol",
        "description": "What this agent and its client speak",
        "mimeType": "text/html",
    }


def resource_block() -> Json:
    return {
        "type": "resource",
        "resource": {
            "uri": "demo:///notes.md",
            "mimeType": "text/markdown",
            "text": "# Notes\n\nAn embedded resource carries its text along.\n",
        },
    }


def gradient_png() -> bytes:
    """Red grows to the right, green downwards."""
    step = 256 // SIDE
    rows = (
        b"\0" + bytes(value for x in range(SIDE) for value in (x * step, y * step, 160)) for y in range(SIDE)
    )
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
    return b"".join(
        [
            b"\x89PNG\r\n\x1a\n",
            _png_part(b"IHDR", header),
            _png_part(b"IDAT", zlib.compress(b"".join(rows), 9)),
            _png_part(b"IEND", b""),
        ]
    )


def _png_part(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def beep_wav() -> bytes:
    """A tenth of a second of a 500 Hz square wave, mono, 8 bit."""
    half_period = RATE // 1000
    samples = bytes(160 if (position // half_period) % 2 else 96 for position in range(RATE // 10))
    layout = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, RATE, RATE, 1, 8)
    data = struct.pack("<4sI", b"data", len(samples)) + samples
    return struct.pack("<4sI4s", b"RIFF", 4 + len(layout) + len(data), b"WAVE") + layout + data
