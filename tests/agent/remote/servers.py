"""Starts the servers of the official SDKs as processes on loopback. Knows nothing of our client."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.agent.remote.certificates import Certificate
from tests.agent.remote.ledger import Ledger

ROOT = Path(__file__).parents[3]
TS_SERVER = Path(__file__).with_name("ts_server.mjs")
STOP_S = 10.0


class Server:
    """A server process. `restart` ends it at once and starts it on the same port, with the same ledger."""

    def __init__(self, command: list[str], ledger: Ledger, *, tls: bool = False) -> None:
        self.ledger = ledger
        self._command = command
        self._tls = tls
        self.port = 0
        self.start()

    def start(self) -> None:
        command = [*self._command, "--port", str(self.port)]
        with self.ledger.path.with_suffix(".log").open(
            "ab"
        ) as log:  # hypercorn logs each write to a dead socket
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, env=dict(os.environ)
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"{command} did not start"
        self.port = json.loads(line)["port"]

    def url(self, wire: str) -> str:
        return f"{wire}{'s' if self._tls else ''}://127.0.0.1:{self.port}/acp"

    def stop(self) -> None:
        self._process.kill()
        self._process.wait(STOP_S)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def restart(self) -> None:
        self.stop()
        self.start()


def python_server(
    folder: Path,
    *options: str,
    certificate: Certificate | None = None,
    loadable: bool = True,
    name: str = "python",
) -> Server:
    """The Python SDK's server. `loadable=False`: exactly as the SDK has it."""
    ledger = Ledger(folder / f"{name}.jsonl")
    command = [sys.executable, "-m", "tests.agent.remote.sdk_server", str(ledger.path), *options]
    if certificate is not None:
        command += ["--chain", str(certificate.chain), "--key", str(certificate.key)]
    if loadable:
        command.append("--loadable")
    return Server(command, ledger, tls=certificate is not None)


def typescript_server(folder: Path, *options: str, name: str = "typescript") -> Server:
    """The TypeScript SDK's server, from the packages of js/."""
    ledger = Ledger(folder / f"{name}.jsonl")
    node = shutil.which("node")
    assert node is not None, "dev.py installs it"
    return Server([node, str(TS_SERVER), str(ledger.path), *options], ledger)
