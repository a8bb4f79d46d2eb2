"""Completion in the magics: what is offered at the cursor."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import acp_notebook
from acp_notebook.core.records import Command
from acp_notebook.frontend.magics.completion import (
    Completions,
    CompletionSources,
    CursorContext,
    complete,
    cursor_context,
)


class Hostile:
    def __dir__(self) -> list[str]:
        raise RuntimeError


@pytest.fixture
def known(tmp_path: Path) -> CompletionSources:
    (tmp_path / "data.csv").touch()
    (tmp_path / "my file.txt").touch()
    (tmp_path / ".hidden").touch()
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "etl.py").touch()
    return CompletionSources(
        agents=("demo",),
        sessions=("session", "other"),
        commands=(Command("tour", ""), Command("tools", ""), Command("help", "")),
        variables={"df": "text", "_1": 0, "dog": Hostile()},
        cells={3: "x = 1\ny", 12: "df.head()"},
        cwd=tmp_path,
    )


def at_the_end(cell: str) -> CursorContext | None:
    lines = cell.split("\n")
    return cursor_context(cell, len(lines) - 1, len(lines[-1]))


@pytest.mark.parametrize(
    ("cell", "fragment", "texts"),
    [
        ("%acp_agent ", "", ["demo"]),
        ("x = 1\n  %acp_agent de", "de", ["demo"]),
        ("%acp_agent demo --re", "--re", ["--resume"]),
        ("%acp_agent demo --permissions a", "a", ["ask", "allow"]),
        ("%acp_agent demo --as ", "", []),
        ("%acp_agent demo -- --re", "--re", []),
        ("%%acp ", "", ["session", "other"]),
        ("%%acp o", "o", ["other"]),
        ("%%acp\n/to", "/to", ["/tour", "/tools"]),
        ("\n%%acp other\n\n/h", "/h", ["/help"]),
        ("%acp /to", "/to", ["/tour", "/tools"]),
        ("%acp see /to", "", []),
        ("%%acp\nlook at @d", "@d", ["@df", "@dog", "@data.csv"]),
        ("%acp @df.start", "@df.start", ["@df.startswith"]),
        ("%acp @dog.", "@dog.", []),
        ("%acp @cell:", "@cell:", ["@cell:last", "@cell:12", "@cell:3"]),
        ("%acp @e", "@e", ["@error"]),
        ("%acp @my", "@my", []),
        ('%acp @"my f', '@"my f', ['@"my file.txt"']),
        ("%acp @src/", "@src/", ["@src/etl.py"]),
        ("%acp @s", "@s", ["@src/"]),
        ("%acp @.h", "@.h", ["@.hidden"]),
        ("%acp @nowhere/", "@nowhere/", []),
        ("%acp @~nobody_at_all/", "@~nobody_at_all/", []),
    ],
)
def test_the_offered_completions(
    known: CompletionSources, cell: str, fragment: str, texts: list[str]
) -> None:
    place = at_the_end(cell)
    assert place is not None
    found = complete(place, known)
    assert found.texts == texts
    assert found.fragment == fragment or not texts
    assert cell.endswith(found.fragment)


def test_frames_and_figures_come_first_modules_and_our_own_objects_last(tmp_path: Path) -> None:
    frame = type("DataFrame", (), {"__module__": "pandas.core.frame"})
    figure = type("Figure", (), {"__module__": "matplotlib.figure"})
    session = type("Session", (), {"__module__": "acp_notebook.api.session"})
    (tmp_path / "b.py").touch()
    modules = {"acp": acp_notebook, "pd": os}
    variables: dict[str, Any] = modules | {"session": session(), "a": 1, "B": 2, "fig": figure()}
    variables |= {"Model": Hostile, "zoo": frame(), "b": frame()}
    known = CompletionSources((), (), (), variables, {3: "x = 1"}, tmp_path)
    assert complete(CursorContext("acp", "see @"), known).texts == [
        *("@b", "@zoo", "@fig", "@a", "@B", "@Model"),
        *("@error", "@cell:last", "@cell:3", "@b.py"),
        *("@pd", "@acp", "@session"),
    ]


@pytest.mark.parametrize(
    "cell", ["@d", "print(", "%%acpx\n@d", "%acpx @d", "%%time\nx\n@d", "x = '%acp @d'", ""]
)
def test_other_cells_are_left_alone(cell: str) -> None:
    assert at_the_end(cell) is None


def test_only_the_text_before_the_cursor_counts(known: CompletionSources) -> None:
    place = cursor_context("%acp /tools @df", 0, len("%acp /to"))
    assert place is not None
    assert complete(place, known) == Completions("/to", ["/tour", "/tools"])
