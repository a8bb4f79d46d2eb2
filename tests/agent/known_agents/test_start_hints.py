"""A failed start shows the last lines of stderr and what to do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook.agent.known_agents import start_hints

FAILS = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        answer = {"result": {"protocolVersion": 1, "agentCapabilities": {}}}
    else:
        print("this cannot be used with root privileges", file=sys.stderr, flush=True)
        answer = {"error": {"code": -32603, "message": "Internal error", "data": {"message": "Query closed"}}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""


@pytest.mark.parametrize(
    ("stderr", "advice"),
    [
        ("Error: cannot be used with root/sudo privileges", "another user than root"),
        ("You are not logged in. Please run /login", "sign in first"),
        ("OPENAI_API_KEY is missing: missing API key", "give the agent its key"),
        ("This package requires Node.js 22", "newer Node"),
        ("all is well", None),
    ],
)
def test_known_causes_have_a_hint(stderr: str, advice: str | None) -> None:
    found = start_hints.hint(stderr)
    assert found is None if advice is None else advice in str(found)


def test_a_session_that_cannot_be_opened_shows_stderr(tmp_path: Path) -> None:
    with pytest.raises(acp.AgentError) as raised:
        acp.connect([sys.executable, "-c", FAILS], cwd=tmp_path, undo=False)
    text = str(raised.value)
    assert "Internal error (Query closed)" in text
    assert "cannot be used with root privileges" in text
    assert "hint: start the kernel as another user" in text
    report = str(acp.doctor())
    assert "its last start failed" in report
    assert "start the kernel as another user" in report
    start_hints.last.clear()


def test_an_agent_that_hangs_at_its_start_shows_stderr(tmp_path: Path) -> None:
    hangs = "import sys; print('Please log in', file=sys.stderr, flush=True); sys.stdin.read()"
    with pytest.raises(acp.Timeout) as raised:
        acp.connect([sys.executable, "-c", hangs], cwd=tmp_path, undo=False, start_timeout=2)
    assert "it printed on stderr:\n  Please log in\nhint: sign in first" in str(raised.value)
    start_hints.last.clear()


def test_a_relative_command_is_started_from_where_it_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from acp_notebook.agent.known_agents.launchers import find_command

    (tmp_path / "agent").write_text("#!/bin/sh\n")
    (tmp_path / "agent").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert find_command("./agent", None) == str(tmp_path / "agent")
