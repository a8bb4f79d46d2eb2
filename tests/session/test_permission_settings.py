"""The permissions, grants and checkpoints of a running session, changed by the user and by nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook.core.snapshot import Question
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S, begun
from tests.waiting import wait_until


def asked(session: acp.Session) -> Question:
    def open_questions() -> list[Question]:
        items = session.transcript.items
        return [it for it in items if isinstance(it, Question) and it.status == "open"]

    wait_until(lambda: bool(open_questions()), "a question is open", LIMIT_S)
    return open_questions()[0]


def answer(session: acp.Session, said: str) -> None:
    question = asked(session)
    session._loop.post(session._conversation.permissions.answer, question, said)


def choose(session: acp.Session, choice: str) -> None:
    """As the page does."""

    async def chosen() -> None:
        session._conversation.permission_settings.choose(choice)  # type: ignore[arg-type]

    session._loop.call(chosen())


def word(session: acp.Session) -> str:
    return session._conversation.permission_settings.word


# ---- who answers ------------------------------------------------------------------------------------


def test_the_permissions_change_from_one_turn_to_the_next(demo: Demo, tmp_path: Path) -> None:
    session = demo(permissions="reject", cwd=tmp_path)
    session.prompt("/edit a.txt text", timeout=LIMIT_S)
    assert not (tmp_path / "a.txt").exists()
    session.permissions = "allow"
    assert session.permissions == "allow"
    session.prompt("/edit a.txt text", timeout=LIMIT_S)
    assert (tmp_path / "a.txt").exists()
    changes = session.audit.where(what="setting").to_dicts()
    assert [(it["target"], it["by"], it["detail"]["before"]) for it in changes] == [
        ("allow", "code", "reject")
    ]


def test_they_change_during_a_turn(demo: Demo, tmp_path: Path) -> None:
    session = demo(permissions="allow", cwd=tmp_path)
    turn = begun(session.start("/slow 600"))
    session.permissions = lambda request: "reject"
    turn.cancel()
    session.prompt("/edit a.txt text", timeout=LIMIT_S)
    assert not (tmp_path / "a.txt").exists()
    assert word(session) == "function"


@pytest.mark.parametrize("wrong", ["yes", None, {"edits": "allow"}, 1])
def test_other_permissions_are_refused(demo: Demo, wrong: object) -> None:
    session = demo()
    with pytest.raises(acp.UsageError, match="permissions"):
        session.permissions = wrong  # type: ignore[assignment]
    assert session.permissions == "ask"


def test_a_page_can_return_to_what_python_has_set(demo: Demo) -> None:
    session = demo(permissions={"edit": "allow"})
    assert word(session) == "kinds"
    choose(session, "ask")
    assert session.permissions == "ask"
    choose(session, "given")
    assert dict(session.permissions) == {"edit": "allow"}  # type: ignore[arg-type]


def test_allowing_edits_is_bounded_to_the_folders_and_is_listed_as_a_grant(
    demo: Demo, tmp_path: Path
) -> None:
    session = demo(cwd=tmp_path)
    session._conversation.state.audience.page_came()
    choose(session, "edits")
    assert (word(session), session.permissions) == ("edits", "ask")
    assert [it.kind for it in session.grants] == ["edit"]
    session.prompt("/edit a.txt text", timeout=LIMIT_S)
    assert (tmp_path / "a.txt").exists()
    turn = session.start("/edit .git/hooks/pre-commit text")
    asked(session)
    turn.cancel()
    turn = session.start("/run echo hello")
    asked(session)
    turn.cancel()
    choose(session, "ask")
    assert (word(session), len(session.grants)) == ("ask", 0)


def test_an_answer_for_the_session_shows_as_allowing_edits(demo: Demo, tmp_path: Path) -> None:
    session = demo(cwd=tmp_path)
    session._conversation.state.audience.page_came()
    turn = session.start("/edit a.txt text")
    answer(session, "acp:session")
    turn.wait(LIMIT_S)
    assert word(session) == "edits"
    (grant,) = session.grants
    assert "Edit files in the folders of the session" in repr(session.grants)
    session.grants.revoke(grant)
    assert word(session) == "ask"
    turn = session.start("/edit a.txt other")
    assert asked(session)
    turn.cancel()


# ---- grants -----------------------------------------------------------------------------------------


def test_lasting_grants_of_the_agent_and_folder_are_listed_and_revoked(
    demo: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(tmp_path / "config"))
    (home := tmp_path / "home").mkdir()
    mine = acp.permissions().add(kind="edit", agent="demo", workspace=home)
    acp.permissions().add(kind="edit", agent="demo", workspace=tmp_path)
    acp.permissions().add(kind="edit", agent="python3", workspace=home)
    session = demo(cwd=home)
    assert [it.id for it in session.grants] == [mine.id]
    session.grants.revoke(mine.id)
    assert [it.id for it in session.grants] == []
    assert mine.id not in acp.permissions()
    assert len(acp.permissions()) == 2
    with pytest.raises(acp.UsageError, match="no grant of this session"):
        session.grants.revoke(mine.id)
    assert [it["outcome"] for it in session.audit.where(what="setting").to_dicts()] == ["revoked"]


def test_the_table_of_grants_shows_no_secret(demo: Demo, tmp_path: Path) -> None:
    session = demo(cwd=tmp_path, secrets=["very-secret-4711"])
    session._conversation.state.audience.page_came()
    turn = session.start("/run echo very-secret-4711")
    answer(session, "acp:session")
    turn.wait(LIMIT_S)
    text = repr(session.grants) + session.grants._repr_html_() + repr(session.audit.to_dicts())
    assert len(session.grants) == 1
    assert "very-secret-4711" not in text


# ---- undo -------------------------------------------------------------------------------------------


def test_undo_is_switched_between_turns(demo: Demo, tmp_path: Path) -> None:
    session = demo(permissions="allow", cwd=tmp_path, undo=False)
    assert session.undo is False
    session.undo = True
    seen = session.prompt("/run echo hello > made.txt", timeout=LIMIT_S)
    assert [Path(it.path).name for it in seen.also_changed] == ["made.txt"]
    session.undo = False
    unseen = session.prompt("/run echo hello > other.txt", timeout=LIMIT_S)
    assert [*unseen.also_changed] == []


def test_undo_is_not_switched_during_a_turn(demo: Demo) -> None:
    session = demo()
    turn = begun(session.start("/slow 600"))
    with pytest.raises(acp.UsageError, match="switch undo on or off when it is over"):
        session.undo = False
    turn.cancel()


def test_the_names_of_the_servers(demo: Demo) -> None:
    session = demo(mcp_servers=[{"name": "files", "url": "https://example.com/x?key=1"}])
    assert session.mcp_servers == ("files",)
