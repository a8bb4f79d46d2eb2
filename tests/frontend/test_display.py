"""What front ends are given that are neither JupyterLab nor a headless run: Voilà and marimo."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook.notebook.widget import SessionWidget
from tests.notebook.kernels import Front, started

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def voila(tmp_path: Path) -> Iterator[Front]:
    """A kernel as Voilà starts it, which runs cells as nbclient does."""
    with started(Path(sys.executable), tmp_path, env={"SERVER_SOFTWARE": "voila/0.5.13"}) as front:
        yield front


def shown(front: Front, cell: str) -> list[dict[str, object]]:
    result = front.run(cell)
    assert result.content["status"] == "ok", result.content
    return [it["content"]["data"] for it in result.messages if it["msg_type"] == "display_data"]


def test_voila_gets_the_panel_and_is_not_waited_for(voila: Front) -> None:
    (panel,) = shown(voila, "import acp_notebook as acp\nsession = acp.connect('demo')\nsession")
    assert WIDGET_VIEW in panel
    (turn,) = shown(voila, "session.prompt('/edit a.txt hello');")  # no page yet: nobody can answer
    assert WIDGET_VIEW not in turn and "reject" in str(turn["text/plain"]).lower()
    voila.run("session.close()")


def test_marimo_gets_the_session_s_widget() -> None:
    with acp.connect("demo") as session:
        assert isinstance(session._display_(), SessionWidget)


def test_a_cell_of_marimo_does_not_wait_for_a_click_that_cannot_come() -> None:
    with acp.connect("demo") as session:
        session._display_()
        session._loop.post(session._conversation.state.audience.page_came)
        turn = session.prompt("/edit a.txt hello", timeout=60)
        assert turn.stop_reason == "end_turn" and len(turn.changes) == 0
        assert session._conversation.state.audience.can_answer, "after the cell, the panel can be answered"
