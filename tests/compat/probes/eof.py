"""The agent exits when its stdin is closed, without being killed."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import uuid
from typing import IO

from acp_notebook.agent.processes.environment import agent_environment
from tests.compat.outcome import Found
from tests.compat.processes import MARK, family, kill
from tests.compat.subject import START_S, Subject
from tests.waiting import wait_until

END_S = 10.0

INTRODUCTION = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": 1, "clientCapabilities": {}},
}


def probe(subject: Subject) -> None:
    mark = uuid.uuid4().hex
    env = agent_environment(os.environ, {**subject.env, MARK: mark}, False)
    process = subprocess.Popen(
        subject.command,
        cwd=subject.cwd,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    everything = f"{MARK}={mark}".encode()
    too_long = threading.Timer(START_S, process.kill)
    too_long.start()
    try:
        _opened(process, str(subject.cwd))
        too_long.cancel()
        assert process.stdin is not None
        process.stdin.close()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            raise Found("defect", f"still runs {END_S:g} s after its stdin was closed; we end it") from None
        try:
            wait_until(lambda: not family(everything), "its children end", END_S)
        except AssertionError:
            raise Found("defect", "ends, and leaves processes behind; we end them") from None
    finally:
        too_long.cancel()
        kill(family(everything))
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _opened(process: subprocess.Popen[bytes], cwd: str) -> None:
    """Start the agent and open a session; an agent that does not answer is killed after a while."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(INTRODUCTION).encode() + b"\n")
    process.stdin.flush()
    _answer(process.stdout, 1)
    opened = {"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": cwd, "mcpServers": []}}
    process.stdin.write(json.dumps(opened).encode() + b"\n")
    process.stdin.flush()
    _answer(process.stdout, 2)


def _answer(stdout: IO[bytes], id: int) -> None:
    for line in stdout:
        try:
            if json.loads(line).get("id") == id:
                return
        except (ValueError, AttributeError):
            continue  # a line that is not a message
    raise Found("defect", "ends before it has answered")
