"""An agent whose answers are hard to draw: long streams of three shapes, and single heavy items.

Standard library only. Prompts: "stream SHAPE COUNT RATE" (COUNT numbered chunks of a shape of STREAMS, RATE a
second), "tools", "diff", "terminal", "image". Each chunk of a stream is its number in four hexadecimal
digits, so that a page can count the chunks in any markup; 20,000 chunks are 100 kB.
"""

from __future__ import annotations

import base64
import json
import random
import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any

SESSION = "panel-session"
DIGITS = 4

TOOLS = 200
DIFF_LINES = 5_000
OUTPUT_BYTES = 1_000_000
IMAGE_SIDE = 840
"""Random pixels do not compress: 840² pixels of three bytes are 2 MB."""

COLOURED = f"""
import sys
line = "".join(f"\\x1b[{{30 + n % 8}}mword{{n:02}}\\x1b[0m " for n in range(12))
sys.stdout.write((line + "\\n") * ({OUTPUT_BYTES} // (len(line) + 1)))
"""

STREAMS: dict[str, Callable[[int], str]] = {
    "paragraphs": lambda n: (
        ("\n\n" if n and n % 40 == 0 else "") + (f"*{n:04x}* " if n % 11 == 5 else f"{n:04x} ")
    ),
    "fence": lambda n: ("```python\n" if n == 0 else "\n" if n % 12 == 0 else "") + f"{n:04x} ",
    "paragraph": lambda n: f"{n:04x} ",
}
"""The text of chunk n: prose with many paragraphs; one open code fence; one endless paragraph."""


def send(**message: Any) -> None:
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    sys.stdout.buffer.flush()


def update(what: str, **fields: Any) -> None:
    send(method="session/update", params={"sessionId": SESSION, "update": {"sessionUpdate": what, **fields}})


def say(block: dict[str, Any]) -> None:
    update("agent_message_chunk", content=block, messageId="m1")


def stream(shape: str, count: int, rate: float) -> None:
    chunk = STREAMS[shape]
    began = time.monotonic()
    for n in range(count):
        time.sleep(max(0.0, began + n / rate - time.monotonic()))
        say({"type": "text", "text": chunk(n)})


def tools() -> None:
    """Calls of all kinds with a few lines of output or a small expanded diff."""
    for n in range(TOOLS):
        kind = ("edit", "execute", "read", "think", "other")[n % 5]
        diff = {
            "type": "diff",
            "path": f"/work/file{n}.py",
            "oldText": "a = 1\nb = 2\n" * 5,
            "newText": "a = 1\nb = 3\n" * 5,
        }
        text = {"type": "content", "content": {"type": "text", "text": "some output\n" * 20}}
        update(
            "tool_call",
            toolCallId=f"t{n}",
            title=f"Call {n}",
            kind=kind,
            status="completed",
            content=[diff if kind == "edit" else text],
            rawInput={"number": n},
        )


def diff() -> None:
    old = [f"line {n} of the file = {n * 7}" for n in range(DIFF_LINES)]
    new = [line.replace("file", "module") if n % 2 else line for n, line in enumerate(old)]
    change = {"type": "diff", "path": "/work/big.py", "oldText": "\n".join(old), "newText": "\n".join(new)}
    update("tool_call", toolCallId="t1", title="Edit", kind="edit", status="completed", content=[change])


def image() -> None:
    noise = random.Random(1)
    rows = b"".join(b"\0" + noise.randbytes(3 * IMAGE_SIDE) for _ in range(IMAGE_SIDE))
    header = struct.pack(">IIBBBBB", IMAGE_SIDE, IMAGE_SIDE, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b""))
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
    say({"type": "text", "text": "A picture:"})
    say({"type": "image", "mimeType": "image/png", "data": base64.b64encode(png).decode()})
    for n in range(200):  # the rest of the message must not cost as much as the image
        say({"type": "text", "text": f"{n:04x} "})
        time.sleep(1 / 100)


def requests() -> Iterator[dict[str, Any]]:
    yield from map(json.loads, sys.stdin)


def terminal(incoming: Iterator[dict[str, Any]]) -> None:
    """A command that the client runs, shown in a tool call."""

    def ask(method: str, **params: Any) -> dict[str, Any]:
        send(id=method, method=method, params={"sessionId": SESSION, **params})
        answer = next(message for message in incoming if message.get("id") == method)
        result: dict[str, Any] = answer["result"]
        return result

    limit = 2 * OUTPUT_BYTES
    made = ask("terminal/create", command=sys.executable, args=["-c", COLOURED], outputByteLimit=limit)
    content = [{"type": "terminal", "terminalId": made["terminalId"]}]
    update("tool_call", toolCallId="t1", title="Run", kind="execute", status="in_progress", content=content)
    ask("terminal/wait_for_exit", terminalId=made["terminalId"])
    update("tool_call_update", toolCallId="t1", status="completed")


def answer(prompt: str, incoming: Iterator[dict[str, Any]]) -> None:
    match prompt.split():
        case ["stream", shape, count, rate]:
            stream(shape, int(count), float(rate))
        case ["tools"]:
            tools()
        case ["diff"]:
            diff()
        case ["terminal"]:
            terminal(incoming)
        case ["image"]:
            image()


def main() -> None:
    incoming = requests()
    for request in incoming:
        match request.get("method"):
            case "initialize":
                result: dict[str, Any] = {"protocolVersion": 1}
            case "session/new":
                result = {"sessionId": SESSION}
            case "session/prompt":
                answer(request["params"]["prompt"][0]["text"], incoming)
                result = {"stopReason": "end_turn"}
            case _:
                continue
        send(id=request["id"], result=result)


if __name__ == "__main__":
    main()
