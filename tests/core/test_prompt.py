"""What the user passes becomes prompt content; what the agent cannot take is converted visibly."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core.prompt import content_of, fitted
from acp_notebook.core.records import (
    Audio,
    Content,
    Diff,
    Image,
    Resource,
    ResourceLink,
    Terminal,
    Text,
    UnknownContent,
    plain,
)
from acp_notebook.core.requests import Capabilities

ALL = Capabilities(image=True, audio=True, embedded_context=True)
NONE = Capabilities()


def test_text_paths_and_content_in_their_order() -> None:
    image = Image("aGk=", "image/png")
    content, files = content_of(["look:", image, Path("a b.py"), Path("/etc/hosts")], "/w")
    assert content == (
        Text("look:"),
        image,
        ResourceLink("file:///w/a%20b.py", "a b.py"),
        ResourceLink("file:///etc/hosts", "hosts"),
    )
    assert files == {2: Path("/w/a b.py"), 3: Path("/etc/hosts")}


def test_the_root_folder_has_a_name_too() -> None:
    assert content_of([Path("/")], "/w")[0] == (ResourceLink("file:///", "/"),)


@pytest.mark.parametrize("parts", [[], [""], ["  \n", Text("")]])
def test_an_empty_prompt_is_refused(parts: list[Any]) -> None:
    with pytest.raises(ValueError, match="empty"):
        content_of(parts, "/w")


def test_content_without_text_is_a_prompt() -> None:
    assert len(content_of(["", Image("aGk=", "image/png")], "/w")[0]) == 2


@pytest.mark.parametrize("part", [5, None, b"x", ["x"], Diff("a", "b"), Terminal("t"), UnknownContent({})])
def test_an_object_that_cannot_be_sent_is_refused_by_type(part: Any) -> None:
    with pytest.raises(ValueError, match=type(part).__name__):
        content_of(["x", part], "/w")


def test_a_resource_without_contents_is_refused() -> None:
    with pytest.raises(ValueError, match="neither text nor blob"):
        content_of([Resource("file:///a")], "/w")


ODD_TEXT = st.text(st.characters(codec=None)) | st.just("x\ud800y")


@given(ODD_TEXT)
def test_whatever_is_sent_is_utf_8(text: str) -> None:
    parts = [
        "x" + text,
        Text(text),
        Image("aGk=", text, text),
        ResourceLink(text, text, text, text),
        Resource(text, text),
        Path(os.fsdecode(b"/a\xff.py")),
    ]
    content, _ = content_of(parts, "/w")
    json.dumps([plain(block) for block in content], ensure_ascii=False).encode("utf-8")
    msgspec.json.encode([plain(block) for block in content])


def test_a_file_name_that_is_not_utf_8_keeps_its_uri() -> None:
    (link,) = content_of([Path(os.fsdecode(b"/a\xff.py"))], "/w")[0]
    assert link == ResourceLink("file:///a%FF.py", "a\ufffd.py")


EVERYTHING: tuple[Content, ...] = (
    Text("x"),
    Image("aGk=", "image/png"),
    Audio("aGk=", "audio/wav"),
    ResourceLink("file:///a", "a"),
    Resource("file:///b.py", "y = 1"),
    Resource("file:///dir/c.bin", None, "aGk=", "application/zip"),
)


def test_an_agent_that_accepts_everything_gets_everything() -> None:
    assert fitted(EVERYTHING, ALL) == (EVERYTHING, ())


def test_other_agents_get_text_and_links_with_a_note_on_each_change() -> None:
    content, notes = fitted(EVERYTHING, NONE)
    assert [type(block) for block in content] == [Text, Text, Text, ResourceLink, Text, ResourceLink]
    assert "y = 1" in plain(content[4])["text"]
    assert content[5] == ResourceLink("file:///dir/c.bin", "c.bin", mime_type="application/zip")
    assert len(notes) == 4
    assert all(
        what in note for what, note in zip(["image/png", "audio/wav", "b.py", "c.bin"], notes, strict=True)
    )


@pytest.mark.parametrize(
    ("can", "changed"),
    [
        (Capabilities(image=True), {2, 4, 5}),
        (Capabilities(audio=True), {1, 4, 5}),
        (Capabilities(embedded_context=True), {1, 2}),
    ],
)
def test_only_unsupported_content_is_changed(can: Capabilities, changed: set[int]) -> None:
    content, notes = fitted(EVERYTHING, can)
    assert {at for at, block in enumerate(content) if block != EVERYTHING[at]} == changed
    assert len(notes) == len(changed)
