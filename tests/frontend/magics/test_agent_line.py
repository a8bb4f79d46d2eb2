"""The line after %acp_agent may name the address of a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook.frontend.magics.agent_line import open_session, parse_request, split_line
from tests.agent.remote.servers import Server, python_server

CWD = "/srv/project"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = python_server(tmp_path)
    try:
        yield running
    finally:
        running.stop()


@pytest.mark.parametrize("wire", ["ws", "http"])
def test_the_line_takes_an_address(server: Server, wire: str) -> None:
    request = parse_request(split_line(f"{server.url(wire)} --cwd {CWD} --as remote --permissions allow"))
    assert request.name == "remote"
    session = open_session(request)
    try:
        assert session.prompt("hello", timeout=60).text == "You said: hello"
        assert server.ledger.entries("session")[0]["cwd"] == CWD
    finally:
        session.agent.close()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("wss://agents.example/acp", "cwd= is missing"),
        ("ws://agents.example/acp --cwd /srv", "not encrypted"),
        ("https://user:word@agents.example/acp --cwd /srv", "a user or a password"),
        ("wss://agents.example/acp --cwd /srv -- --verbose", "args= are for a command"),
    ],
)
def test_an_address_that_cannot_be_used_says_why(line: str, reason: str) -> None:
    with pytest.raises(acp.UsageError, match=reason):
        open_session(parse_request(split_line(line)))
