"""Servers of the official SDKs, one of each for all tests of a worker, and sessions that must leave nothing.

After every test no task is left on the loop of the package, and no connection of a session is open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.agent import loop
from tests.agent.remote.certificates import Authority
from tests.agent.remote.fault_proxy import FaultProxy
from tests.agent.remote.ledger import Ledger
from tests.agent.remote.servers import Server, python_server, typescript_server
from tests.patience import be_patient
from tests.waiting import wait_until

THEIR_CWD = "/srv/project"
"""A folder of the server: it does not exist here."""


@dataclass(frozen=True)
class Peer:
    """A server and the wire to it."""

    url: str
    ledger: Ledger
    wire: str
    """What is negotiated: the version of HTTP, or "WebSocket"."""
    options: dict[str, Any] = field(default_factory=dict)


Connect = Callable[..., acp.Session]


@pytest.fixture(autouse=True)
def patience() -> None:
    be_patient()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("remote")


@pytest.fixture(scope="session")
def authority(folder: Path) -> Authority:
    return Authority(folder)


def _running(server: Server) -> Iterator[Server]:
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def python(folder: Path) -> Iterator[Server]:
    yield from _running(python_server(folder))


@pytest.fixture(scope="session")
def python_tls(folder: Path, authority: Authority) -> Iterator[Server]:
    """With TLS, and so with HTTP/2."""
    yield from _running(python_server(folder, certificate=authority.issue(), name="python-tls"))


@pytest.fixture(scope="session")
def typescript(folder: Path) -> Iterator[Server]:
    """Strict about headers, and behind a load balancer that is strict about cookies."""
    yield from _running(typescript_server(folder, "--sticky", "--most", str(64 << 20)))


PEERS = ("python ws", "python http", "python_tls ws", "python_tls http", "typescript ws", "typescript http")


@pytest.fixture(params=PEERS)
def peer(request: pytest.FixtureRequest) -> Peer:
    """Every server over every wire; HTTP with TLS is HTTP/2."""
    name, wire = request.param.split()
    server = request.getfixturevalue(name)
    assert isinstance(server, Server)
    ca = {"ca": request.getfixturevalue("authority").ca} if name == "python_tls" else {}
    version = "HTTP/2" if name == "python_tls" else "HTTP/1.1"
    return Peer(server.url(wire), server.ledger, version if wire == "http" else "WebSocket", ca)


@pytest.fixture(params=["ws", "http"])
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def proxy(python: Server) -> Iterator[FaultProxy]:
    """Between our client and the Python SDK's server."""
    with FaultProxy(python.port) as running:
        yield running


def _tasks() -> set[asyncio.Task[Any]]:
    async def others() -> set[asyncio.Task[Any]]:
        return asyncio.all_tasks() - {asyncio.current_task()}

    return loop.call(others())


@pytest.fixture
def connect() -> Iterator[Connect]:
    """`acp.connect` with a folder of the server; closes every session, and looks for tasks that remain."""
    before = _tasks()
    opened: list[acp.Session] = []

    def open_session(url: str, **options: Any) -> acp.Session:
        session = acp.connect(url, **({"cwd": THEIR_CWD, "permissions": "allow"} | options))
        opened.append(session)
        return session

    yield open_session
    for session in opened:
        session.agent.close()
    wait_until(lambda: _tasks() <= before, "no task of a closed session is left")
