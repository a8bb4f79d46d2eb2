"""Session lists that are long, endless, circular or nonsense are bounded and reported."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest
from msgspec import UNSET

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.agent import session_store
from acp_notebook.core.intents import Sessions
from acp_notebook.frontend.panel.picker import MOST_ROWS, PanelOpener, Picker
from tests.session.helpers import agent

KEEPER = Path(__file__).parents[1] / "agents" / "keeper.py"


def listed(how: str, tmp_path: Path) -> acp.SessionTable:
    with agent(sys.executable, KEEPER, how, cwd=tmp_path, undo=False) as session:
        return session.agent.sessions()


def test_ten_thousand_sessions_are_listed_but_few_are_shown(tmp_path: Path) -> None:
    found = listed("pages", tmp_path)
    assert (len(found), len({it.id for it in found}), found.complete) == (10_000, 10_000, True)
    assert "… 9940 more" in repr(found)
    assert len(found._repr_html_()) < 100_000


@pytest.mark.parametrize(
    ("how", "most"),
    [("heap", 50), ("endless", 30), ("circle", 2), ("hollow", 0)],
)
def test_an_endless_list_is_cut_and_marked_incomplete(
    how: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_store, "MOST_SESSIONS", 50)
    monkeypatch.setattr(session_store, "MOST_PAGES", 30)
    found = listed(how, tmp_path)
    assert (len(found), found.complete) == (most, False)
    if most:
        assert "the list is incomplete: the agent did not send the rest" in repr(found)


def test_a_slow_list_is_not_waited_for_forever(tmp_path: Path) -> None:
    timeouts.replace(session_list=0)
    found = listed("endless", tmp_path)
    assert (len(found), found.complete) == (0, False)


def test_history_that_waits_for_a_request_is_loaded_before_the_next_prompt(tmp_path: Path) -> None:
    with agent(sys.executable, KEEPER, "waiting", cwd=tmp_path, undo=False, load="s1") as session:
        assert "This." in session.to_text()
        assert session.prompt("go on").text == "New."


def test_missing_invalid_or_hostile_fields_only_affect_themselves(tmp_path: Path) -> None:
    found = listed("odd", tmp_path)
    assert [it.id for it in found] == ["bare", "nulls", "wrong", "hostile", "long"]
    assert found.complete, 'some agents say "" for the end'
    assert {(it.title, it.updated_at) for it in found[:3]} == {(None, None)}
    for shown in (repr(found), found._repr_html_()):
        assert len(shown) < 10_000
        assert "\u202e" not in shown
        assert "\x1b" not in shown
    assert "<img" not in found._repr_html_()


@pytest.mark.parametrize("how", ["load", "resume"])
def test_the_listed_title_is_kept_if_the_agent_sends_none(how: str, tmp_path: Path) -> None:
    with agent(sys.executable, KEEPER, "circle", cwd=tmp_path, undo=False) as session:
        session.agent.sessions()
        opened = getattr(session.agent, how)("s2")
        assert opened.transcript.title == "number 2"
        other = getattr(session.agent, how)("s7")
        assert other.transcript.title is None, "the list does not contain that one"


def not_used(*_: object) -> NoReturn:
    raise AssertionError("no other agent is started")


def test_a_huge_page_of_the_list_is_cut_and_reported(tmp_path: Path) -> None:
    with agent(sys.executable, KEEPER, "heap", cwd=tmp_path, undo=False) as session:
        conversation, running = session._conversation, session.agent
        opener = PanelOpener(running._panel_of, partial(running._open_like, conversation), not_used)
        picker = Picker(conversation, running._host, opener, lambda message: None)
        answer = session._loop.call(picker._page(Sessions("r1")))
    assert answer.sessions is not UNSET and len(answer.sessions) == MOST_ROWS
    assert answer.left_out == session_store.MOST_SESSIONS - MOST_ROWS
