"""Runs user scripts as processes: their output, their exit, what they leave behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.demo_agent import STARTUP

ROOT = Path(__file__).parents[2]

LIMIT_S = 90.0
"""A script that takes longer counts as hanging."""

NOISE = ("asyncio", "Task was destroyed", "never awaited", "never retrieved", "ResourceWarning", "ignored in")

BEGIN = """
import os, signal, sys, threading
import acp_notebook as acp

def say(*words):
    print(*words, flush=True)

def begun(turn):
    while not turn.text:
        threading.Event().wait(0.01)
    return turn

def children(session):
    "The agent and two that it started; printed for the test to look for."
    say(session.agent.pid, *session.prompt("/spawn").text.split()[1:])
"""


FORK_WARNING = "ignore:This process:DeprecationWarning"
"""Since 3.12, Python warns about a fork with threads, which is intended here."""


class Script:
    """A running script. Its first line of output has the pids that must not outlive it."""

    def __init__(self, body: str, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-X", "dev", "-W", FORK_WARNING, *options, "-c", STARTUP + BEGIN + body],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,  # a line read ahead would be lost to `communicate`
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )

    def pids(self) -> list[int]:
        return [int(word) for word in self.line().split()]

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode().rstrip("\n")

    def end(self) -> tuple[int, str, str]:
        """Wait until it exits: its exit code, the rest of its output, its stderr."""
        out, errors = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, out.decode(), errors.decode()


@contextmanager
def script(body: str, *options: str) -> Iterator[Script]:
    running = Script(body, *options)
    try:
        yield running
    finally:
        running.process.kill()
        running.process.communicate()


def noise(errors: str) -> list[str]:
    """Noise on stderr that a user should never see."""
    return [word for word in NOISE if word in errors]
