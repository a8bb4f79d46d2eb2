"""Measures one client in a process of its own: `python -m benchmarks.contenders NAME PROMPT [COUNT]`.

Prints JSON: the CPU seconds from the prompt to its last update, and the memory still in use afterwards. The
prompt is sent COUNT times in one session after a short one, and the best CPU time counts: that of a single
prompt varies by a factor of up to 1.8, with the same instructions and the same reads of the pipe. Each
contender works in an empty folder of its own, so that no checkpoint of the user's files is measured.

The SDK is no contender for a command's output: it only passes the agent's request on to the program that uses
it, which has to run the command itself.
"""

from __future__ import annotations

import asyncio
import codecs
import collections
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .source import writer

DONE = "done"
"""The text of the chunk after the last tool call update, or after a command."""

SOURCE = [sys.executable, str(Path(__file__).with_name("source.py"))]
LIMIT_S = 120
BUFFER = 256 * 1024 * 1024
WARM_UP = "chunks 2000"


def resident() -> int:
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Meter:
    """Measures from its creation to `stop`."""

    def __init__(self) -> None:
        self._memory = resident()
        self._cpu = time.process_time()

    def stop(self, length: int) -> dict[str, float]:
        cpu = time.process_time() - self._cpu
        return {"cpu": cpu, "memory": resident() - self._memory, "length": length}


Results = list[dict[str, float]]


def first(prompt: str, count: int) -> Results:
    """Our whole client, as in `warm`. The prompt is the session's first."""
    assert count == 1, "a session has one first prompt"
    return _ours([prompt])


def warm(prompt: str, count: int) -> Results:
    """Our whole client: transcript, patches, and a listener for them."""
    return _ours([WARM_UP] + [prompt] * count)[1:]


def _ours(prompts: list[str]) -> Results:
    import acp_notebook as acp

    with acp.connect(SOURCE, permissions="allow") as session:
        patches = 0

        def listen(_: object, made: Any) -> None:
            nonlocal patches
            patches += len(made)

        session._conversation.state.listen(listen)
        return [_measured(lambda prompt=each: len(session.prompt(prompt).text)) for each in prompts]  # type: ignore[misc]


def _measured(run: Callable[[], int]) -> dict[str, float]:
    meter = Meter()
    return meter.stop(run())


def sdk(prompt: str, count: int) -> Results:
    """The client of the official Python SDK, keeping only the text."""
    import acp

    class Client:
        def __init__(self) -> None:
            self.clear()
            self.changed = asyncio.Event()

        def clear(self) -> None:
            self.pieces: list[str] = []
            self.size = 0

        async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
            if update.session_update == "agent_message_chunk":
                self.pieces.append(update.content.text)
                self.size += len(update.content.text)
            self.changed.set()

        def on_connect(self, conn: Any) -> None:
            pass

    async def run() -> Results:
        client = Client()
        options = {"limit": BUFFER}
        async with acp.spawn_agent_process(
            client,  # type: ignore[arg-type]
            *SOURCE,
            env=dict(os.environ),
            transport_kwargs=options,
        ) as (connection, _):
            await connection.initialize(protocol_version=1)
            session = await connection.new_session(cwd="/", mcp_servers=[])

            async def measured(prompt: str) -> dict[str, float]:
                client.clear()
                wanted = expected(prompt)
                meter = Meter()
                await connection.prompt(session_id=session.session_id, prompt=[acp.text_block(prompt)])
                while client.size < wanted:  # the prompt returns before all updates are handled
                    client.changed.clear()
                    await client.changed.wait()
                return meter.stop(len("".join(client.pieces)))

            await measured(WARM_UP)
            return [await measured(prompt) for _ in range(count)]

    return asyncio.run(run())


class BareLoop:
    """Decodes each message with msgspec, and keeps only its text by message, or its content by call."""

    def __init__(self) -> None:
        import msgspec

        from acp_notebook.wire.schema import SessionNotification

        fields = [("method", str, ""), ("params", SessionNotification | None, None)]
        self._decode: Any = msgspec.json.Decoder(msgspec.defstruct("Message", fields)).decode
        self._process = subprocess.Popen(SOURCE, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def prompt(self, prompt: str) -> int:
        """Return the length of all text that was received."""
        process, decode = self._process, self._decode
        assert process.stdin is not None
        assert process.stdout is not None
        request = {"id": 1, "method": "session/prompt", "params": {"prompt": [{"text": prompt}]}}
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        messages: dict[str, list[str]] = {}
        calls: dict[str, Any] = {}
        for line in process.stdout:
            message = decode(line)
            if message.params is None:
                break
            update = message.params.update
            if hasattr(update, "message_id"):
                messages.setdefault(update.message_id, []).append(update.content.text)
            else:
                calls[update.tool_call_id] = update.content
        return sum(len("".join(pieces)) for pieces in messages.values())

    def __enter__(self) -> BareLoop:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def bare(prompt: str, count: int) -> Results:
    if prompt.startswith("terminal "):
        megabytes = int(prompt.split()[1])
        return [_measured(lambda: read_output(megabytes)) for _ in range(count)]
    with BareLoop() as loop:
        loop.prompt(WARM_UP)
        return [_measured(lambda: loop.prompt(prompt)) for _ in range(count)]


def read_output(megabytes: int) -> int:
    """A loop that reads the output of the command, decodes it, and keeps the newest megabyte."""
    kept: collections.deque[str] = collections.deque(maxlen=16)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with subprocess.Popen(writer(megabytes), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while data := os.read(process.stdout.fileno(), 65_536):
            kept.append(decoder.decode(data))
    return len(DONE)


def expected(prompt: str) -> int:
    what, number = prompt.split()
    count = int(number)
    if what in ("tools", "terminal"):
        return len(DONE)
    return count if what == "one" else sum(len(f"word{n} ") for n in range(count))


CONTENDERS = {"first": first, "warm": warm, "sdk": sdk, "bare": bare}


def measure(name: str, prompt: str, count: int = 1) -> dict[str, float]:
    """Run a contender in its own process; fails if it did not receive everything."""
    command = [sys.executable, "-m", "benchmarks.contenders", name, prompt, str(count)]
    run = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, timeout=LIMIT_S)
    results: Results = json.loads(run.stdout)
    for result in results:
        if result["length"] != expected(prompt):
            raise SystemExit(f"{name} lost data: {result['length']} of {expected(prompt)} characters")
    return {"cpu": min(it["cpu"] for it in results), "memory": results[0]["memory"]}


if __name__ == "__main__":
    name, prompt, count = (*sys.argv[1:], "1")[:3]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        print(json.dumps(CONTENDERS[name](prompt, int(count))))
