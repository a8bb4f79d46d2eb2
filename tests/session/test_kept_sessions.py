"""Lists of sessions that are long, endless, in a circle or full of nonsense: bounded, and told as such."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook.agent import session_store
from acp_notebook.frontend.panel.picker import MOST_ROWS, Picker
from tests.session.helpers import agent

KEEPER = Path(__file__).parents[1] / "agents" / "keeper.py"


def listed(how: str, tmp_path: Path) -> acp.SessionTable:
    with agent(sys.executable, KEEPER, how, cwd=tmp_path, undo=False) as session:
        return session.agent.sessions()


def test_ten_thousand_sessions_are_all_there_and_few_are_shown(tmp_path: Path) -> None:
    found = listed("pages", tmp_path)
    assert (len(found), len({it.id for it in found}), found.complete) == (10_000, 10_000, True)
    assert "… 9940 more" in repr(found)
    assert len(found._repr_html_()) < 100_000


@pytest.mark.parametrize(
    ("how", "most"),
    [("heap", 50), ("endless", 30), ("circle", 2), ("hollow", 0)],
)
def test_a_list_without_an_end_is_left_and_not_called_complete(
    how: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_store, "MOST_SESSIONS", 50)
    monkeypatch.setattr(session_store, "MOST_PAGES", 30)
    found = listed(how, tmp_path)
    assert (len(found), found.complete) == (most, False)
    if most:
        assert "this is the beginning of the agent's list: its end did not come" in repr(found)


def test_an_agent_that_takes_its_time_for_each_page_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_store, "LIST_S", 0)
    found = listed("endless", tmp_path)
    assert (len(found), found.complete) == (0, False)


def test_fields_that_are_missing_wrong_or_hostile_cost_nothing_but_themselves(tmp_path: Path) -> None:
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
def test_the_title_that_the_list_told_is_kept_where_the_agent_tells_none(how: str, tmp_path: Path) -> None:
    with agent(sys.executable, KEEPER, "circle", cwd=tmp_path, undo=False) as session:
        session.agent.sessions()
        opened = getattr(session.agent, how)("s2")
        assert opened.transcript.title == "number 2"
        other = getattr(session.agent, how)("s7")
        assert other.transcript.title is None, "of that one the list told nothing"


def test_a_page_of_the_agents_that_no_browser_could_show_is_cut_and_that_is_told(tmp_path: Path) -> None:
    with agent(sys.executable, KEEPER, "heap", cwd=tmp_path, undo=False) as session:
        picker = Picker(session._conversation, session.agent, lambda message: None)
        told = session._loop.call(picker._page(None))
    assert len(told["sessions"]) == MOST_ROWS
    assert told["left_out"] == session_store.MOST_SESSIONS - MOST_ROWS
