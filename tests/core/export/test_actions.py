"""An open question as text: it hides no more than the page does."""

from __future__ import annotations

import pytest

from acp_notebook.core.actions import Action, Command, Fetch, FileAccess, McpCall, RunCells, Write
from acp_notebook.core.export.text import actions_text

CWD = "/work/project"


def text_of(action: Action) -> str:
    return actions_text((action,), cwd=CWD)


@pytest.mark.parametrize(
    "hidden", ["a\u00a0b", "a\u3000b", "a\u2800b", "a\U000e0100b", "a\u202eb", "a" + " " * 60 + "b"]
)
@pytest.mark.parametrize(
    "make",
    [
        lambda text: Command("ls", CWD, (("HOME", text),)),
        lambda text: Command("ls", f"/elsewhere/{text}"),
        lambda text: Write(f"{CWD}/{text}", None, None, "x"),
        lambda text: Write(f"{CWD}/x", f"{CWD}/{text}", None, "x"),
        lambda text: FileAccess("delete", f"{CWD}/{text}"),
        lambda text: Fetch(f"https://example.org/{text}"),
        lambda text: McpCall("server", text),
        lambda text: RunCells(((text, "1"),)),
    ],
)
def test_hidden_characters_are_spelled_out_in_every_field(make: object, hidden: str) -> None:
    assert callable(make)
    assert "\u2039" in text_of(make(hidden)) and hidden not in text_of(make(hidden))


def test_blanks_at_the_end_of_a_name_are_visible() -> None:
    assert "a.txt\u00b7" in text_of(Write(f"{CWD}/a.txt ", None, None, "x"))
    assert "HOME=\u00b7" in text_of(Command("ls", CWD, (("HOME", " "),)))


def test_lines_of_a_value_stay_apart() -> None:
    shown = text_of(Command("ls", CWD, (("HOME", "a\n\n  b"),)))
    assert "HOME=a\u23ce\u23ce  b" in shown


def test_paths_in_the_folder_are_relative() -> None:
    assert "Delete: a/b.txt" in text_of(FileAccess("delete", f"{CWD}/a/b.txt"))
    assert "notes.txt \u2192 .git/config" in text_of(
        Write(f"{CWD}/notes.txt", f"{CWD}/.git/config", None, "x")
    )
