"""The processes that an agent started, found by the mark in their environment. Knows no agent."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from tests.waiting import gone

MARK = "ACP_NOTEBOOK_AGENT"


def mark_of(pid: int) -> bytes:
    return next((it for it in _environment(str(pid)) if it.startswith(MARK.encode())), b"")


def family(mark: bytes) -> set[int]:
    """All running processes with this mark."""
    if not mark:
        return set()
    marked = {int(it) for it in os.listdir("/proc") if it.isdigit() and mark in _environment(it)}
    return {pid for pid in marked if not gone(pid)}


def running(line: str) -> set[int]:
    """The processes with this text in their command line."""
    return {int(it) for it in os.listdir("/proc") if it.isdigit() and line.encode() in _command(it)}


def kill(pids: set[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _environment(pid: str) -> list[bytes]:
    return _read(pid, "environ").split(b"\0")


def _command(pid: str) -> bytes:
    return _read(pid, "cmdline").replace(b"\0", b" ")


def _read(pid: str, name: str) -> bytes:
    try:
        return Path("/proc", pid, name).read_bytes()
    except OSError:
        return b""  # gone, or not ours
