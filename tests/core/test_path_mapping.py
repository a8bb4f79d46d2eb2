"""Paths are found whole inside any text, and translated to another root."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core.path_mapping import PathMapping

MOVED = PathMapping({"/tmp/a b": "/x/ü", "/home/u": "/root", "/tmp/a b/sub": "/z", "/": "/never"})


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("see /tmp/a b/f.py", "see /x/ü/f.py"),
        ("/tmp/a b", "/x/ü"),
        ("(/tmp/a b), `/home/u`.", "(/x/ü), `/root`."),
        ("/tmp/a b/sub/q /tmp/a b/subway", "/z/q /x/ü/subway"),
        ("file:///tmp/a%20b/f.py", f"file:///x/{quote('ü')}/f.py"),
        (json.dumps({"path": "/tmp/a b/f"}), json.dumps({"path": "/x/ü/f"}, ensure_ascii=False)),
        ("--file=/home/u/x:/home/u", "--file=/root/x:/root"),
    ],
)
def test_a_path_is_mapped(there: str, here: str) -> None:
    assert MOVED.text(there) == here


@pytest.mark.parametrize(
    "text",
    [
        "/tmp/a bc",
        "/tmp/a b.txt",
        "/x/tmp/a b",
        "x/home/u",
        "./home/u",
        "/home/user",
        "/tmp",
        "/",
        "~/home/u",
    ],
)
def test_a_similar_path_is_left_alone(text: str) -> None:
    assert MOVED.text(text) == text


def test_every_text_in_a_value_is_mapped_names_included() -> None:
    value = {"/home/u": ["/home/u", 1, None, {"uri": "file:///home/u/x"}]}
    assert MOVED.value(value) == {"/root": ["/root", 1, None, {"uri": "file:///root/x"}]}


def test_unmoved_folders_protect_their_contents() -> None:
    assert not PathMapping({"/a": "/a"}).moves
    assert PathMapping({"/a": "/b", "/a/keep": "/a/keep"}).text("/a/keep/x /a/x") == "/a/keep/x /b/x"


@given(
    st.lists(st.sampled_from(["/tmp/a b", "/home/u", "/f.py", " ", "x", "and", "."]), max_size=8),
    st.lists(st.integers(0, 60), max_size=6),
)
def test_pieces_make_the_same_text_however_it_was_split(parts: list[str], cuts: list[int]) -> None:
    text = "".join(parts)
    marks = sorted(min(cut, len(text)) for cut in cuts)
    pieces = [text[a:b] for a, b in zip([0, *marks], [*marks, len(text)], strict=True)]
    moved = MOVED.pieces(pieces)
    assert len(moved) == len(pieces)
    assert "".join(moved) == MOVED.text(text)
