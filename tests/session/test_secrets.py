"""No error, repr or traceback shows a secret, whatever an agent sends."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.core.snapshot import Question, ToolCall
from tests.session.helpers import LIMIT_S, agent, begun
from tests.waiting import wait_until

BLABBING = Path(__file__).parents[1] / "agents" / "blabbing.py"
SECRET = "very-secret-4711"


def texts_of(error: acp.Error) -> list[object]:
    return [repr(error), *(getattr(error, name, None) for name in ("data", "stderr", "methods"))]


def test_a_secret_is_in_no_error_and_no_repr(tmp_path: Path) -> None:
    seen: list[object] = []
    with agent(sys.executable, BLABBING, cwd=tmp_path, env={"KEY": SECRET}, undo=False) as session:
        for prompt in ("error", "sign in", "die"):
            with pytest.raises(acp.Error) as raised:
                session.prompt(prompt, timeout=LIMIT_S)
            seen += texts_of(raised.value)
        seen += [acp.doctor(), session.agent.stderr]
        session.prompt("again", timeout=LIMIT_S)
        with pytest.raises(acp.AgentError) as refused:
            session.authenticate("way")
        running = session.agent
        wait_until(lambda: bool(running.stray), "its stray line is there")
        seen += [*texts_of(refused.value), running, running.stray, running.title, running.auth_methods]
        seen += [running.sessions(), acp.doctor(), running._host.agent.launch, session, session.transcript]
    texts = [str(it) for it in seen]
    assert all(SECRET not in it for it in texts)
    assert sum("[redacted]" in it for it in texts) > 8


def test_the_repr_of_a_queued_prompt_contains_no_secret(tmp_path: Path) -> None:
    with acp.connect("demo", cwd=tmp_path, env={"KEY": SECRET}, undo=False) as session:
        begun(session.start("/slow 600"))
        session.start(f"use {SECRET}")
        assert session.queue[0].text == f"use {SECRET}"
        assert SECRET not in repr(session.queue)
        assert "[redacted]" in repr(session.queue)


def test_policies_judge_the_unredacted_action(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable's value may be a folder's name, and part of a command may be secret."""
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(tmp_path / "config"))
    (config := tmp_path / "config").mkdir(mode=0o700)
    (folder := tmp_path / "alpha").mkdir()
    rule = f"[[permissions.rules]]\nsay = 'reject'\npath = {str(folder / 'keep')!r}\n"
    (config / "config.toml").write_text(rule)
    seen: list[ToolCall] = []

    def allow(request: Any) -> str:
        seen.append(request.tool)
        return "allow"

    env = {"TEAM_KEY": "alpha", "KEY": SECRET}
    with acp.connect("demo", cwd=folder, env=env, permissions=allow, undo=False) as session:
        assert "Wrote" in session.prompt("/edit a.txt text", timeout=LIMIT_S).text
        session.prompt(f"/run echo {SECRET}", timeout=LIMIT_S)
        assert [it.kind for it in seen] == ["edit", "execute"], "nothing is asked twice"
        assert seen[0].locations[0].path == str(folder / "a.txt")
        assert seen[1].raw_input == {"command": f"echo {SECRET}"}
        session.prompt("/edit keep/a.txt text", timeout=LIMIT_S)
        assert not (folder / "keep").exists(), "the rule is about this folder, whatever it is called here"
        questions = [it for it in session.transcript.items if isinstance(it, Question)]
        assert {offer.scope for it in questions for offer in it.offers if "echo" in offer.name} <= {"session"}
        for text in (session.to_text(), repr(session.transcript), repr(session.audit)):
            assert SECRET not in text


def test_a_setting_stays_in_the_text_but_a_secret_does_not(tmp_path: Path) -> None:
    env = {"DEBUG": "true", "MODE": "development", "LEVEL": "info", "KEY": SECRET}
    tape = tmp_path / "tape.jsonl"
    with acp.connect("demo", cwd=tmp_path, env=env, undo=False, record=tape) as session:
        session.prompt(f"info on development: {SECRET}", timeout=LIMIT_S)
        shown = session.to_text()
    for text in (shown, tape.read_text()):
        assert "info on development: [redacted]" in text
        assert SECRET not in text
