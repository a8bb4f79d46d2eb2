"""A session whose older turns are in the spool behaves like one that has them in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook.core import items as items_module
from acp_notebook.core.export import to_html, to_markdown
from acp_notebook.core.records import Image, Text
from acp_notebook.core.snapshot import Snapshot, TurnStart, item_from_plain
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S

PROMPTS = ("first", "/tool", "/edit vat.py rate = 0.25", "/think", "last")


@pytest.fixture(autouse=True)
def nothing_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items_module, "KEPT_BYTES", 0)


@pytest.fixture
def long(demo: Demo, tmp_path: Path) -> acp.Session:
    """A session of which only the newest turn is in memory."""
    (tmp_path / "vat.py").write_text("rate = 0.2\n")
    session = demo(permissions="allow", cwd=str(tmp_path))
    for prompt in PROMPTS:
        session.start(prompt).wait(LIMIT_S)
    assert in_memory(session) == 1
    return session


def in_memory(session: acp.Session) -> int:
    """How many turns are in memory."""
    return session._conversation.state.read(lambda it: sum(key is not None for key in it._items.by_turn))


def test_the_transcript_and_the_exports_have_every_turn(long: acp.Session) -> None:
    seen: list[Snapshot] = [long.transcript]
    prompts = [it.prompt[0].text for it in seen[0].items if isinstance(it, TurnStart)]  # type: ignore[union-attr]
    assert prompts == [*PROMPTS]
    for form in (long.to_markdown(), long.to_html(), long._export("markdown").text):
        assert all(prompt in form for prompt in PROMPTS)
    plain = long._conversation.state.read(lambda it: it.plain()["items"])
    assert [item_from_plain(item) for item in plain] == [*seen[0].items]
    assert long.to_markdown() == to_markdown(seen[0].items, cwd=long.cwd)
    assert long.to_html() == to_html(seen[0].items, cwd=long.cwd)


def test_old_turns_can_be_read_and_stay_where_they_are(long: acp.Session) -> None:
    assert all(turn.status == "done" and turn.text for turn in long.turns)
    assert long.turns[2].tool_calls[0].status == "completed"
    assert in_memory(long) == 1


def test_an_old_turn_can_be_undone_and_redone(long: acp.Session, tmp_path: Path) -> None:
    edited = long.turns[2]
    edited.revert()
    assert (tmp_path / "vat.py").read_text() == "rate = 0.2\n"
    assert [change.state for change in edited.changes] == ["undone"]
    long.start("one more").wait(LIMIT_S)
    assert in_memory(long) == 1
    assert [change.state for change in edited.changes] == ["undone"]
    edited.redo()
    assert (tmp_path / "vat.py").read_text() == "rate = 0.25\n"


def test_the_images_of_earlier_prompts_are_only_in_the_transcript(demo: Demo) -> None:
    session = demo()
    session.start("look", Image("aGk=", "image/png")).wait(LIMIT_S)
    for prompt in ("second", "third"):
        session.start(prompt).wait(LIMIT_S)
    first = session.turns[0]
    assert first._run.content == (Text("look"),)
    start = first.items[0]
    assert isinstance(start, TurnStart) and Image("aGk=", "image/png") in start.prompt
