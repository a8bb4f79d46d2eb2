"""The agent for all contenders: it sends the chunks that the prompt asks for, at full speed.

Standard library only. Prompts: "chunks N", "after CALLS N" (N chunks after so many tool calls), "tools N"
(updates of tool calls with 1 kB of content), "one N" (a message of N bytes), "work N BYTES" (N tool calls of
BYTES each and an answer), "edit N" (changes N files), "terminal N" (a command in the client's terminal that
writes N MB), "paced N RATE" (N chunks, RATE a second; each contains its number and the time at which it was
sent).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Generator, Iterator
from itertools import count
from pathlib import Path
from typing import Any

SESSION = "bench-session"
CLOCK_MS = 1_000_000
"""The clock in paced chunks wraps around here, which keeps them about as short as real ones."""

A_PIECE = 10_000


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"


def chunk(text: str) -> bytes:
    update = {
        "sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": text},
        "messageId": "m1",
    }
    return line(method="session/update", params={"sessionId": SESSION, "update": update})


def many(chunks: int) -> Iterator[bytes]:
    """Chunks in pieces that are made faster than a client reads them, and need little memory."""
    before, after = chunk("word# ").split(b"#")
    for start in range(0, chunks, A_PIECE):
        yield b"".join(b"%b%d%b" % (before, n, after) for n in range(start, min(start + A_PIECE, chunks)))


def tool(number: int) -> bytes:
    update = {
        "sessionUpdate": "tool_call",
        "toolCallId": f"t{number}",
        "title": "Read",
        "status": "completed",
    }
    return line(method="session/update", params={"sessionId": SESSION, "update": update})


def tool_updates(number: int) -> Iterator[bytes]:
    """Updates of 50 calls that only this prompt has: late updates of old calls take another way."""
    turn = next(_turns)
    return (tool_update(f"t{turn}-{n % 50}", n) for n in range(number))


def tool_update(id: str, number: int) -> bytes:
    content = {"type": "content", "content": {"type": "text", "text": f"{number:<1000}"}}
    update = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": id,
        "status": "in_progress",
        "content": [content],
    }
    return line(method="session/update", params={"sessionId": SESSION, "update": update})


def work(calls: int, size: int) -> Iterator[bytes]:
    """A turn as agents have them: calls that begin, end and show something, between short texts."""
    turn = next(_turns)
    for n in range(calls):
        call = {"toolCallId": f"call-{turn}-{n}"}
        started = {
            **call,
            "sessionUpdate": "tool_call",
            "title": f"Read module_{n}.py",
            "kind": "read",
            "status": "in_progress",
            "rawInput": {"path": f"/work/module_{n}.py", "limit": 200},
        }
        text = f"line of module {n} in turn {turn}\n"
        ended = {
            **call,
            "sessionUpdate": "tool_call_update",
            "status": "completed",
            "content": [
                {
                    "type": "content",
                    "content": {"type": "text", "text": (text * (size // len(text) + 1))[:size]},
                }
            ],
        }
        for update in (started, ended):
            yield line(method="session/update", params={"sessionId": SESSION, "update": update})
    yield b"".join(chunk(f"word{n} ") for n in range(100))


_turns = count(1)


def edit(files: int) -> Iterator[bytes]:
    """Change the first files of the working directory with a tool of the agent's own, 100 in each call."""
    paths = sorted(Path().rglob("*.py"))[:files]
    for start in range(0, len(paths), 100):
        some = paths[start : start + 100]
        update = {
            "sessionUpdate": "tool_call",
            "toolCallId": f"edit-{next(_turns)}",
            "title": "Rename",
            "kind": "edit",
            "status": "in_progress",
            "locations": [{"path": str(path.absolute())} for path in some],
        }
        yield line(method="session/update", params={"sessionId": SESSION, "update": update})
        for path in some:
            path.write_text(path.read_text().replace("file", "module"))
        update |= {"sessionUpdate": "tool_call_update", "status": "completed"}
        yield line(method="session/update", params={"sessionId": SESSION, "update": update})


def writer(megabytes: int) -> list[str]:
    """A command that writes this much, in lines of 100 bytes."""
    return [
        sys.executable,
        "-c",
        f"import sys\nfor _ in range({megabytes}): sys.stdout.write(('x' * 99 + '\\n') * 10_000)",
    ]


def in_terminal(command: list[str]) -> Iterator[bytes]:
    """Run the command in a terminal of the client, and wait for its end."""
    created = yield from asked("terminal/create", command=command[0], args=command[1:])
    yield from asked("terminal/wait_for_exit", terminalId=created["terminalId"])
    yield from asked("terminal/release", terminalId=created["terminalId"])


def asked(method: str, **params: Any) -> Generator[bytes, None, Any]:
    """Send a request, and return its result."""
    yield line(id=method, method=method, params={"sessionId": SESSION, **params})
    while (answer := json.loads(sys.stdin.readline())).get("id") != method:
        pass
    return answer["result"]


def answers(prompt: str) -> Iterator[bytes]:
    what, number, *more = prompt.split()
    if what == "terminal":
        yield from in_terminal(writer(int(number)))
        yield chunk("done")
        return
    if what == "tools":
        yield b"".join(tool_updates(int(number))) + chunk("done")
    elif what == "one":
        yield chunk("x" * int(number))
    elif what == "after":
        yield b"".join(tool(n) for n in range(int(number)))
        yield from many(int(more[0]))
    elif what == "edit":
        yield from edit(int(number))
    elif what == "work":
        yield b"".join(work(int(number), int(more[0])))
    elif what == "paced":
        yield from paced(int(number), float(more[0]))
    else:
        yield b"".join(chunk(f"word{n} ") for n in range(int(number)))


def paced(number: int, rate: float) -> Iterator[bytes]:
    began = time.monotonic()
    for n in range(number):
        time.sleep(max(0.0, began + n / rate - time.monotonic()))
        yield chunk(f"{n}@{int(time.time() * 1000) % CLOCK_MS} ")


def main() -> None:
    for request in map(json.loads, iter(sys.stdin.readline, "")):
        match request.get("method"):
            case "initialize":
                result: dict[str, Any] = {"protocolVersion": 1}
            case "session/new":
                result = {"sessionId": SESSION}
            case "session/prompt":
                for answer in answers(request["params"]["prompt"][0]["text"]):
                    sys.stdout.buffer.write(answer)
                    sys.stdout.buffer.flush()
                result = {"stopReason": "end_turn"}
            case _:
                continue
        sys.stdout.buffer.write(line(id=request["id"], result=result))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
