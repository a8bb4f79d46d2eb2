"""What must not be seen is in no error and no repr, whatever an agent tells: tracebacks end in files, too."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import acp_notebook as acp
from tests.session.helpers import LIMIT_S, agent
from tests.waiting import wait_until

BLABBING = Path(__file__).parents[1] / "agents" / "blabbing.py"
SECRET = "very-secret-4711"


def told(error: acp.Error) -> list[object]:
    return [repr(error), *(getattr(error, name, None) for name in ("data", "stderr", "methods"))]


def test_a_secret_is_in_no_error_and_no_repr(tmp_path: Path) -> None:
    seen: list[object] = []
    with agent(sys.executable, BLABBING, cwd=tmp_path, env={"KEY": SECRET}, undo=False) as session:
        for prompt in ("error", "sign in", "die"):
            with pytest.raises(acp.Error) as raised:
                session.prompt(prompt, timeout=LIMIT_S)
            seen += told(raised.value)
        seen += [acp.doctor(), session.agent.stderr]
        session.prompt("again", timeout=LIMIT_S)
        with pytest.raises(acp.AgentError) as refused:
            session.authenticate("way")
        running = session.agent
        wait_until(lambda: bool(running.stray), "its stray line is there")
        seen += [*told(refused.value), running, running.stray, running.title, running.auth_methods]
        seen += [running.sessions(), acp.doctor(), running._host.launch, session, session.transcript]
    texts = [str(it) for it in seen]
    assert all(SECRET not in it for it in texts)
    assert sum("[redacted]" in it for it in texts) > 8


def test_a_secret_in_a_prompt_that_waits_is_not_in_its_repr(tmp_path: Path) -> None:
    with acp.connect("demo", cwd=tmp_path, env={"KEY": SECRET}, undo=False) as session:
        session.start("/slow 60")
        session.start(f"use {SECRET}")
        assert session.queue[0].text == f"use {SECRET}"
        assert SECRET not in repr(session.queue)
        assert "[redacted]" in repr(session.queue)
