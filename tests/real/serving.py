"""Real agents that serve over the network: started on loopback, with the mock model behind them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.agent.remote.certificates import Authority
from tests.waiting import wait_until

KEY = "a-secret-key-for-tests-7f3a"
STOP_S = 10.0
INITIALIZE_MS = 60_000
"""qwen serve starts its agent as a process of its own: its 10 s are too short on a busy machine."""


@dataclass(frozen=True)
class Serving:
    """An agent that listens."""

    port: int
    tls: bool
    cwd: Path
    options: dict[str, Any] = field(default_factory=dict)
    """What `acp.connect` needs: headers, and the authority of its certificate."""
    longest_answer: int = 1 << 30
    """The agent itself cuts a longer one."""

    def url(self, wire: str) -> str:
        return f"{wire}{'s' if self.tls else ''}://127.0.0.1:{self.port}/acp"


@contextmanager
def goose(program: str, env: dict[str, str], folder: Path) -> Iterator[Serving]:
    """`goose serve`, with TLS and a secret key."""
    authority = Authority(folder)
    certificate = authority.issue()
    port = _free_port()
    tls = ["--tls", "--tls-cert-path", str(certificate.chain), "--tls-key-path", str(certificate.key)]
    command = [program, "serve", "--port", str(port), *tls]
    with _process(command, env | {"GOOSE_SERVER__SECRET_KEY": KEY}, folder, port) as cwd:
        yield Serving(port, True, cwd, {"headers": {"X-Secret-Key": KEY}, "ca": authority.ca})


@contextmanager
def qwen(program: str, env: dict[str, str], folder: Path) -> Iterator[Serving]:
    """`qwen serve`, with a bearer token. It serves one folder."""
    port = _free_port()
    command = [program, "serve", "--port", str(port), "--no-web", "--require-auth"]
    command += ["--workspace", str(folder / "workspace"), "--initialize-timeout-ms", str(INITIALIZE_MS)]
    log = folder / "server.log"
    with _process(command, env | {"QWEN_SERVER_TOKEN": KEY}, folder, port) as cwd:
        # It listens first, and answers a WebSocket with 406 until then.
        wait_until(lambda: "WebSocket transport enabled" in log.read_text(), "qwen serves WebSockets")
        yield Serving(port, False, cwd, {"headers": {"Authorization": f"Bearer {KEY}"}}, 10_000_000)


@contextmanager
def _process(command: list[str], env: dict[str, str], folder: Path, port: int) -> Iterator[Path]:
    cwd = folder / "workspace"
    cwd.mkdir()
    subprocess.run(["git", "init", "--quiet", str(cwd)], check=True)
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            wait_until(lambda: process.poll() is not None or _listens(port), f"{command[0]} listens")
            assert process.poll() is None, (folder / "server.log").read_text()
            yield cwd
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(STOP_S)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
