"""Files attached to a prompt: small text is embedded where the agent takes it, others are links."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.agent.files.attachments import EMBEDDED_BYTES
from acp_notebook.core.snapshot import TurnStart
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S, agent
from tests.session.test_notebook_files import book, code, image
from tests.session.test_undo_notebooks import Pages

FORGETFUL = Path(__file__).parents[1] / "agents" / "forgetful.py"


def brought(session: acp.Session, *parts: Any) -> list[Any]:
    """The content of the prompt besides its text."""
    turn = session.prompt("see", *parts, timeout=LIMIT_S)
    (start,) = (it for it in turn.items if isinstance(it, TurnStart))
    return list(start.prompt[1:])


@pytest.mark.parametrize(
    ("name", "text", "mime_type"),
    [
        ("etl.py", "x = 1\n", "text/x-python"),
        ("a b.md", "# é\r\n", "text/markdown"),
        ("app.ts", "let x;", "text/plain"),  # the system's type for it is a video
        ("Makefile", "", "text/plain"),
        ("data.json", "{}", "application/json"),
        ("full.txt", "x" * EMBEDDED_BYTES, "text/plain"),
    ],
)
def test_a_small_text_file_is_embedded_in_the_prompt(
    demo: Demo, tmp_path: Path, name: str, text: str, mime_type: str
) -> None:
    (tmp_path / name).write_bytes(text.encode())
    [block] = brought(demo(cwd=tmp_path), Path(name))
    assert block == acp.Resource((tmp_path / name).as_uri(), text=text, mime_type=mime_type)


@pytest.mark.parametrize(
    ("name", "data", "mime_type"),
    [
        ("long.txt", b"x" * (EMBEDDED_BYTES + 1), "text/plain"),
        ("latin.txt", b"caf\xe9", "text/plain"),
        ("nul.csv", b"a\0b", "text/csv"),
        ("p.png", b"\x89PNG\r\n\x1a\n", "image/png"),
        ("unknown", b"\xff\xfe\xfd", None),
    ],
)
def test_long_and_binary_files_are_links_with_type_and_size(
    demo: Demo, tmp_path: Path, name: str, data: bytes, mime_type: str | None
) -> None:
    (tmp_path / name).write_bytes(data)
    [block] = brought(demo(cwd=tmp_path), Path(name))
    assert block == acp.ResourceLink((tmp_path / name).as_uri(), name, mime_type=mime_type, size=len(data))


def test_an_agent_without_embedded_resources_gets_links_silently(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    with agent(sys.executable, FORGETFUL, cwd=tmp_path) as session:
        turn = session.prompt("see", Path("a.py"), timeout=LIMIT_S)
        sent = json.loads(turn.text.partition("blocks, ")[2])
        assert sent == {
            "type": "resource_link",
            "uri": (tmp_path / "a.py").as_uri(),
            "name": "a.py",
            "mimeType": "text/x-python",
            "size": 6,
        }
        assert not session.notices


def test_special_files_are_links_and_nothing_hangs(demo: Demo, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    blocks = brought(demo(cwd=tmp_path), Path("pipe"), tmp_path, Path("missing"), Path("/dev/zero"))
    assert [type(it) for it in blocks] == [acp.ResourceLink] * 4
    assert [it.size for it in blocks] == [None] * 4


def test_a_link_by_the_user_stays_a_link(demo: Demo, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    link = acp.ResourceLink((tmp_path / "a.py").as_uri(), "a.py")
    assert brought(demo(cwd=tmp_path), link) == [link]


def test_a_notebook_is_sent_as_agents_read_it(demo: Demo, tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(book(code("a", "one", image()), code("b", "two")))
    assert path.stat().st_size > EMBEDDED_BYTES
    [block] = brought(demo(cwd=tmp_path), Path("a.ipynb"))
    assert isinstance(block, acp.Resource) and block.text is not None
    assert block.mime_type == "application/x-ipynb+json"
    assert "one" in block.text and "iVBOR" not in block.text


def test_the_open_notebook_is_sent_as_in_its_page(demo: Demo, tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(book(code("a", "saved")))
    session = demo(cwd=tmp_path)
    pages = Pages(path)
    session._conversation.workspace.open_notebooks = pages
    pages.notebook["cells"][0]["source"] = "not saved yet"
    [block] = brought(session, path)
    assert isinstance(block, acp.Resource) and block.text is not None
    assert "not saved yet" in block.text and '"saved"' not in block.text


def test_no_stale_text_of_a_long_open_notebook_is_sent(demo: Demo, tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(book(code("a", "saved")))
    session = demo(cwd=tmp_path)
    pages = Pages(path)
    session._conversation.workspace.open_notebooks = pages
    pages.notebook["cells"][0]["source"] = "x" * EMBEDDED_BYTES
    [block] = brought(session, path)
    assert isinstance(block, acp.ResourceLink)
    assert block.mime_type == "application/x-ipynb+json"


def test_attached_notebooks_count_as_read_but_previewed_ones_do_not(demo: Demo, tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(book(code("a", "one")))
    session = demo(cwd=tmp_path, permissions="allow")
    bases = session._conversation.services.notebooks._bases
    session.preview("see", path)
    assert not bases
    session.prompt("see", path, timeout=LIMIT_S)
    assert list(bases) == [str(path)]


def test_the_preview_has_the_sizes_of_embedded_and_linked_files(demo: Demo, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n" * 100)
    (tmp_path / "b.bin").write_bytes(b"\0" * 70_000)
    preview = demo(cwd=tmp_path).preview("see", Path("a.py"), Path("b.bin"))
    assert preview.size == 3 + 600 + len((tmp_path / "b.bin").as_uri())
    assert "600 bytes" in repr(preview)
    assert "bytes, to 70,000 bytes" in repr(preview)
    assert "bytes, to 70,000 bytes" in preview._repr_html_()


def test_a_replay_in_a_folder_without_the_file_is_the_same_prompt(demo: Demo, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("x = 1\n")
    recording = tmp_path / "r.jsonl"
    with acp.connect("demo", cwd=project, record=recording) as session:
        session.prompt("see", Path("a.py"), timeout=LIMIT_S)
    with acp.connect(cassette=recording) as replayed:
        replayed.prompt("see", Path("a.py"), timeout=LIMIT_S)
    with acp.connect(cassette=recording) as replayed, pytest.raises(acp.CassetteMismatch):
        replayed.prompt("see", Path("b.py"), timeout=LIMIT_S)
    (project / "a.py").write_text("x = 2\n")
    with acp.connect(cassette=recording, cwd=project) as replayed, pytest.raises(acp.CassetteMismatch):
        replayed.prompt("see", Path("a.py"), timeout=LIMIT_S)
