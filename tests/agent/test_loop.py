"""The loop thread at the interpreter's exit."""

from __future__ import annotations

import subprocess
import sys

import pytest

LIMIT_S = 30.0

ABANDONED = """
import asyncio, threading
from acp_notebook.agent import loop

begun = threading.Event()

async def numbers():
    try:
        yield 1
        yield 2
    finally:
        await asyncio.sleep(0)
        print("closed")

async def reads():
    stream = numbers()
    await anext(stream)
    begun.set()
    {wait}

loop.submit(reads())
begun.wait()
"""


@pytest.mark.parametrize("wait", ["await asyncio.sleep(1000)", "kept = stream", "loop.kept = stream"])
def test_a_generator_that_nobody_closed_is_closed_at_exit(wait: str) -> None:
    """Libraries leave some: in a task that is cancelled at exit, just before, or in their own objects."""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", ABANDONED.format(wait=wait)],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    assert (done.stderr, done.stdout) == ("", "closed\n")
