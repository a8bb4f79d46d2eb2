"""Measures one client in a process of its own: `python -m benchmarks.contenders NAME PROMPT`.

Prints JSON: the CPU seconds from the prompt to its last update, and the memory still in use afterwards.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import time
from typing import Any

SOURCE = [sys.executable, "-m", "benchmarks.source"]
BUFFER = 256 * 1024 * 1024


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


def ours(prompt: str) -> dict[str, float]:
    """Our whole client: transcript, patches, and a listener for them."""
    import acp_notebook as acp

    with acp.connect(SOURCE) as session:
        patches = 0

        def listen(_: object, made: Any) -> None:
            nonlocal patches
            patches += len(made)

        session._conversation.state.listen(listen)
        meter = Meter()
        turn = session.prompt(prompt)
        return meter.stop(len(turn.text))


def sdk(prompt: str) -> dict[str, float]:
    """The client of the official Python SDK, keeping only the text."""
    import acp

    class Client:
        def __init__(self) -> None:
            self.pieces: list[str] = []
            self.size = 0
            self.changed = asyncio.Event()

        async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
            self.pieces.append(update.content.text)
            self.size += len(update.content.text)
            self.changed.set()

        def on_connect(self, conn: Any) -> None:
            pass

    async def run() -> dict[str, float]:
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
            wanted = expected(prompt)
            meter = Meter()
            await connection.prompt(session_id=session.session_id, prompt=[acp.text_block(prompt)])
            while client.size < wanted:  # the prompt returns before all updates are handled
                client.changed.clear()
                await client.changed.wait()
            return meter.stop(len("".join(client.pieces)))

    return asyncio.run(run())


def bare(prompt: str) -> dict[str, float]:
    """A loop that decodes each message with msgspec and keeps only the text."""
    import msgspec

    from acp_notebook.wire.schema import SessionNotification

    fields = [("method", str, ""), ("params", SessionNotification | None, None)]
    decoder = msgspec.json.Decoder(msgspec.defstruct("Message", fields))
    with subprocess.Popen(SOURCE, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        request = {"id": 1, "method": "session/prompt", "params": {"prompt": [{"text": prompt}]}}
        meter = Meter()
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        pieces: list[str] = []
        for line in process.stdout:
            message: Any = decoder.decode(line)
            if message.params is None:
                break
            pieces.append(message.params.update.content.text)
        result = meter.stop(len("".join(pieces)))
        process.stdin.close()
    return result


def expected(prompt: str) -> int:
    what, number = prompt.split()
    count = int(number)
    return count if what == "one" else sum(len(f"word{n} ") for n in range(count))


CONTENDERS = {"ours": ours, "sdk": sdk, "bare": bare}


def measure(name: str, prompt: str) -> dict[str, float]:
    """Run a contender in its own process; fails if it did not receive everything."""
    command = [sys.executable, "-m", "benchmarks.contenders", name, prompt]
    output = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
    result: dict[str, float] = json.loads(output)
    if result["length"] != expected(prompt):
        raise SystemExit(f"{name} lost data: {result['length']} of {expected(prompt)} characters")
    return result


if __name__ == "__main__":
    print(json.dumps(CONTENDERS[sys.argv[1]](sys.argv[2])))
