"""Sessions and sign-in in the panel: a page's request is done, or refused with a reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.frontend.panel import session_panel as panel_module
from tests.frontend.panel.test_session_panel import LIMIT_S, Output, Stage, TurnWidget, Widget
from tests.waiting import wait_until


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Stage]:
    monkeypatch.setattr(panel_module, "SessionWidget", Widget)
    monkeypatch.setattr(panel_module, "TurnWidget", TurnWidget)
    monkeypatch.setattr(panel_module, "CellOutput", Output)
    env = {"ACP_DEMO_HOME": str(tmp_path), "ACP_DEMO_AUTH": "trouble", "SECRET": "hunter22"}
    session = acp.connect("demo", cwd=tmp_path, env=env, auth="demo-login")
    stage = Stage(session)
    stage.hello()
    yield stage
    session.agent.close()


def picked(stage: Stage, **intent: Any) -> dict[str, Any]:
    rid = f"r{len(stage.widget.sent)}"
    stage.say(rid=rid, **intent)
    return stage.until("picked", lambda it: it["rid"] == rid)


def test_sessions_are_listed_by_pages_without_secrets(stage: Stage) -> None:
    for number in range(11):
        stage.session.agent.new_session().prompt(f"hunter22 {number}", timeout=LIMIT_S)
    first = picked(stage, t="sessions")
    assert len(first["sessions"]) == 10
    assert first["sessions"][0]["title"] == "[redacted] 10"
    assert (first["sessions"][0]["open"], first["sessions"][0]["here"]) == (True, False)
    second = picked(stage, t="sessions", cursor=first["cursor"])
    assert [it["here"] for it in second["sessions"]] == [False, True]
    assert second["cursor"] is None
    assert "unknown cursor" in picked(stage, t="sessions", cursor="nonsense")["error"]


def test_another_session_is_opened_only_once(stage: Stage) -> None:
    agent = stage.session.agent
    other = agent.new_session()
    other.prompt("a story", timeout=LIMIT_S)
    other.close()
    opened = picked(stage, t="open", how="load", id=other.id)
    assert opened["model"]
    (_, loaded) = agent.open_sessions
    assert "a story" in loaded.to_text()
    assert picked(stage, t="open", how="load", id=other.id)["model"] == opened["model"]
    assert len(agent.open_sessions) == 2
    assert picked(stage, t="open", how="fork", id=other.id)["id"] == agent.open_sessions[-1].id
    assert picked(stage, t="open", how="new")["id"] == agent.open_sessions[-1].id
    assert "there is no session" in picked(stage, t="open", how="load", id="demo-4711")["error"]
    stage.say(t="open", rid="x", how="load")
    stage.until("refused", lambda it: "which session" in it["what"])


def test_a_session_is_deleted(stage: Stage) -> None:
    other = stage.session.agent.new_session()
    assert picked(stage, t="delete", id=other.id)["deleted"] == other.id
    assert other.status == "closed"
    assert [it["id"] for it in picked(stage, t="sessions")["sessions"]] == [stage.session.id]


def test_signing_out_and_in_again_by_clicks_of_two_pages(stage: Stage) -> None:
    stage.say(t="sign_out")
    turn = stage.session.start("hello")
    wait_until(lambda: stage.session.transcript.sign_in is not None, "a sign-in is wanted", LIMIT_S)
    stage.say(t="sign_in", method="nonsense")
    stage.until("refused", lambda it: "no sign-in method" in it["what"])
    stage.say(t="sign_in", method="demo-refuse")
    stage.until("patches", lambda it: "the password is wrong" in str(it))
    stage.say(t="sign_in", method="demo-hang")
    stage.until("patches", lambda it: "'trying': 'demo-hang'" in str(it))
    stage.say(t="sign_in", method=None)
    stage.until("patches", lambda it: "it was stopped" in str(it))
    stage.say(t="signed_in")
    stage.until("patches", lambda it: "still requires" in str(it))
    for _ in range(2):
        stage.say(t="sign_in", method="demo-login")
    assert turn.wait(LIMIT_S).stop_reason == "end_turn"
    assert stage.session.transcript.sign_in is None


def test_what_a_waiting_cell_leaves_in_the_file(stage: Stage) -> None:
    stage.panel.show_sign_in()
    shown = stage.until("static", lambda it: it["turn"] == "sign-in")
    assert shown["bundle"]["text/plain"] == "demo: signed in."
