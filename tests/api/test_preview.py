"""session.preview() shows exactly what would be sent, with its size, and sends nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook.api.preview import Preview
from acp_notebook.core.snapshot import TurnStart
from acp_notebook.demo.blocks import gradient_png


@pytest.fixture
def session(tmp_path: Path) -> Iterator[acp.Session]:
    session = acp.connect("demo", cwd=tmp_path)
    yield session
    session.agent.close()


def test_what_is_previewed_is_what_is_sent(session: acp.Session) -> None:
    parts = ("see", {"a": 1}, gradient_png(), Path("etl.py"), ValueError("x"))
    empty = session.to_text()
    preview = session.preview(*parts)
    assert session.to_text() == empty
    session.prompt(*parts, timeout=60)
    starts = [it for it in session.transcript.items if isinstance(it, TurnStart)]
    assert [it.prompt for it in starts] == [preview.content]


def test_an_empty_prompt_cannot_be_previewed(session: acp.Session) -> None:
    with pytest.raises(acp.UsageError, match="empty"):
        session.preview(" ")


def test_the_display_names_each_block_and_its_size() -> None:
    content = (acp.Text("café"), acp.Image("aGk=", "image/png"), acp.ResourceLink("file:///x", "x"))
    preview = Preview(content, ("something was left out",))
    assert preview.size == 5 + 4 + 9
    lines = repr(preview).split("\n")
    assert lines[1].split() == ["1", "text", "5", "bytes", "café"]
    assert lines[-2:] == ["3 blocks, 18 bytes; nothing has been sent", "! something was left out"]
    assert 'src="data:image/png;base64,aGk="' in preview._repr_html_()


def test_the_displayed_html_is_inert() -> None:
    evil = "<script>alert(1)</script>"
    content = (acp.Text(evil), acp.Image('"onerror="x', "image/svg+xml"), acp.Resource(evil, text=evil))
    html = Preview(content, (evil,))._repr_html_()
    assert "<script" not in html
    assert "onerror" not in html
