"""The figures that every test run checks: a chunk against a bare loop, imports against asyncio's.

Takes some seconds. Both sides of a ratio are measured in turns, and the best run of each counts, so that
other work of the machine changes them little. Run: `python -m benchmarks.guard`.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

CHUNK_AIM = 3.5
IMPORT_AIM = 2.5
IMPORT_LIMIT_S = 0.150
LIMIT_S = 60
CHUNKS = 10_000
ROUNDS = 8
IMPORTS = 3
CONNECT = "import acp_notebook; acp_notebook.connect"


class Ratio(NamedTuple):
    """Seconds of CPU on both sides."""

    ours: float
    peer: float

    @property
    def value(self) -> float:
        return self.ours / self.peer


def chunk() -> Ratio:
    """A chunk in a warm session, with transcript and patches, against a loop that decodes and keeps text."""
    command = [sys.executable, "-m", "benchmarks.guard", "chunk"]
    run = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, timeout=LIMIT_S)
    ours, peer = json.loads(run.stdout)
    return Ratio(ours, peer)


def imports() -> Ratio:
    """What connect() imports against `import asyncio, msgspec`."""
    nothing, ours, peer = _imports("pass", CONNECT, "import asyncio, msgspec")
    return Ratio(ours - nothing, peer - nothing)


def _imports(*statements: str) -> list[float]:
    rounds = [[import_cpu(it) for it in statements] for _ in range(IMPORTS + 1)]
    return [min(costs) for costs in zip(*rounds[1:], strict=True)]  # the first one writes the byte code


def import_cpu(statement: str, folder: Path | None = None) -> float:
    """CPU seconds of a new interpreter that runs the statement, with the byte code of an installation.

    It begins in `folder`, where it looks for packages first. It ends at once: to take down what was imported
    is no part of an import, and a kernel does it once in its life.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    variables = {name: it for name, it in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", f"{statement}; import os; os._exit(0)"]
    subprocess.run(command, check=True, env=variables, cwd=folder, timeout=LIMIT_S)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _chunk() -> tuple[float, float]:
    import acp_notebook as acp

    from .contenders import SOURCE, WARM_UP, BareLoop

    def cpu(run: Callable[[str], Any]) -> float:
        began = time.process_time()
        run(f"chunks {CHUNKS}")
        return (time.process_time() - began) / CHUNKS

    ours, peer = [], []
    with acp.connect(SOURCE) as session, BareLoop() as bare:
        session._conversation.state.listen(lambda *_: None)
        session.prompt(WARM_UP)
        bare.prompt(WARM_UP)
        for _ in range(ROUNDS):
            ours.append(cpu(session.prompt))
            peer.append(cpu(bare.prompt))
    return min(ours), min(peer)


if __name__ == "__main__":
    if sys.argv[1:] == ["chunk"]:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            print(json.dumps(_chunk()))
    else:
        for name, ratio, aim in (("a chunk", chunk(), CHUNK_AIM), ("imports", imports(), IMPORT_AIM)):
            print(f"{name}: {ratio.ours * 1e6:.1f} µs, {ratio.value:.2f} of the peer's (aim ≤ {aim:g})")
