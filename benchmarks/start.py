"""How long a user waits for the first answer: connect() and the first chunk, against the bare minimum.

The minimum is a Python child that answers initialize and session/new, or a prompt, and a parent that only
reads lines. All in new processes, because the first time is what counts. Run: `python -m benchmarks.start`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from .contenders import SOURCE
from .table import Line

AIM = 2
CHUNK_LIMIT_S = 0.1
"""What people notice. A bare child answers within a fraction of a millisecond, but makes no checkpoint."""

LIMIT_S = 60

DEMO = [sys.executable, "-m", "acp_notebook.demo"]

RUNS = 5
"""Each side runs this often, in turns; the best run counts (the least disturbed)."""

OURS = """
import time
import acp_notebook as acp
acp.connect
began = time.perf_counter()
session = acp.connect({agent!r})
connected = time.perf_counter()
next(event for event in session.stream("chunks 1") if type(event).__name__ == "MessageChunk")
print(connected - began, time.perf_counter() - connected)
session.close()
"""

LEAST = """
import json, subprocess, time
began = time.perf_counter()
child = subprocess.Popen({agent!r}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

def ask(id, method, params):
    request = dict(jsonrpc="2.0", id=id, method=method, params=params)
    child.stdin.write(json.dumps(request).encode() + b"\\n")
    child.stdin.flush()
    return json.loads(child.stdout.readline())

ask(1, "initialize", dict(protocolVersion=1))
ask(2, "session/new", dict(cwd="/", mcpServers=[]))
connected = time.perf_counter()
ask(3, "session/prompt", dict(sessionId="bench-session", prompt=[dict(type="text", text="chunks 1")]))
print(connected - began, time.perf_counter() - connected)
child.stdin.close()
"""


def rows() -> Iterator[Line]:
    """The step, our time, that of the minimum, and the ratio."""
    programs = [OURS.format(agent=agent) for agent in (SOURCE, "demo")]
    programs += [LEAST.format(agent=agent) for agent in (SOURCE, DEMO)]
    rounds = [[_seconds(program) for program in programs] for _ in range(RUNS)]
    (ours, chunk), (demo, _), (least, its_chunk), (demo_alone, _) = (
        map(min, zip(*side, strict=True)) for side in zip(*rounds, strict=True)
    )
    child = f"a bare child {_ms(least)}"
    yield "connect(), without its imports", _ms(ours), child, ours / least, AIM
    row = 'connect("demo"), without its imports'
    yield row, _ms(demo), f"the demo agent alone {_ms(demo_alone)}", demo / demo_alone, AIM
    yield row, _ms(demo), child, demo / least, None  # which does not even import asyncio
    row = "the first chunk of a session, after its prompt"
    yield row, _ms(chunk), f"limit {_ms(CHUNK_LIMIT_S)}", chunk / CHUNK_LIMIT_S, 1
    yield row, _ms(chunk), f"a bare child {_ms(its_chunk)}", chunk / its_chunk, None


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.2g} ms" if seconds < 0.01 else f"{seconds * 1e3:.0f} ms"


def _seconds(program: str) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", program]
        output = subprocess.run(
            command, stdout=subprocess.PIPE, check=True, text=True, cwd=folder, timeout=LIMIT_S
        ).stdout
    connected, chunk = map(float, output.split()[-2:])
    return connected, chunk


if __name__ == "__main__":
    print(json.dumps(list(rows()), ensure_ascii=False))
