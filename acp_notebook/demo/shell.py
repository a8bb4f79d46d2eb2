"""Run a shell command: in the client's terminal where there is one, else as a process group of our own.

It asks no permission; however it ends, by an exit or a cancel, nothing is left running.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
from typing import NamedTuple

from .rpc import ClientError, Json
from .turn import Tool, Turn

OUTPUT_LIMIT = 1 << 16
"""Bytes of output that are kept, from the end: a model would not read more."""


class ShellTrouble(Exception):
    """The command could not be run, or not be followed to its end; the message says why."""


class Outcome(NamedTuple):
    """What came of a command; a command killed by a signal has no exit code."""

    code: int | None
    signal: str | None
    output: str
    truncated: bool

    def raw(self) -> Json:
        return {
            "exitCode": self.code,
            "signal": self.signal,
            "output": self.output,
            "truncated": self.truncated,
        }


async def execute(turn: Turn, tool: Tool, line: str) -> Outcome:
    try:
        return await (_in_terminal if turn.client.terminal else _by_itself)(turn, tool, line)
    except ClientError as error:
        raise ShellTrouble(f"the client cannot run it: {error}") from error
    except OSError as error:
        raise ShellTrouble(f"cannot run it: {error.strerror or type(error).__name__}") from error


async def _in_terminal(turn: Turn, tool: Tool, line: str) -> Outcome:
    """In a terminal of the client, which shows its output live."""
    session = {"sessionId": turn.session.id}
    created = await turn.peer.request(
        "terminal/create",
        {
            **session,
            "command": "/bin/sh",
            "args": ["-c", line],
            "cwd": turn.session.cwd,
            "outputByteLimit": OUTPUT_LIMIT,
        },
    )
    terminal = {**session, "terminalId": str(created.get("terminalId"))}
    try:
        await tool.start(content=[{"type": "terminal", "terminalId": terminal["terminalId"]}])
        ended = await turn.peer.request("terminal/wait_for_exit", terminal)
        shown = await turn.peer.request("terminal/output", terminal)
    finally:
        # Not awaited: release also kills, and a cancelled turn has to end without another answer.
        turn.peer.start_request("terminal/release", terminal)
    return Outcome(
        ended.get("exitCode"),
        ended.get("signal"),
        str(shown.get("output", "")),
        shown.get("truncated") is True,
    )


async def _by_itself(turn: Turn, tool: Tool, line: str) -> Outcome:
    """As a child with its own session, so that all it starts can be killed together.

    Not asyncio's subprocess: a cancel while that one starts kills the shell, and leaves the shell's children.
    """
    process = subprocess.Popen(
        line,
        shell=True,
        cwd=turn.session.cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        ended = _end_of(process)
        await tool.start()
        output = await ended
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # the latter: macOS, ended group
            os.killpg(process.pid, signal.SIGKILL)
    code = process.returncode
    return Outcome(
        code=None if code < 0 else code,
        signal=signal.Signals(-code).name if code < 0 else None,
        output=output[-OUTPUT_LIMIT:].decode("utf-8", "replace"),
        truncated=len(output) > OUTPUT_LIMIT,
    )


def _end_of(process: subprocess.Popen[bytes]) -> asyncio.Future[bytes]:
    """All output of a process, once it has ended; the thread also reaps a process that was given up."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[bytes] = loop.create_future()

    def settle(output: bytes) -> None:
        if not ended.done():
            ended.set_result(output)

    def wait() -> None:
        output, _ = process.communicate()
        with contextlib.suppress(RuntimeError):  # the loop is closed: the agent is ending
            loop.call_soon_threadsafe(settle, output)

    threading.Thread(target=wait, daemon=True).start()
    return ended
