"""@-mentions: what is one, what is text, and what each brings along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import acp_notebook as acp
from acp_notebook.frontend.magics.mentions import MentionSources, found, looked_up, parts_of
from acp_notebook.notebook.content import Named


class Thing:
    size = 3

    @property
    def broken(self) -> int:
        raise RuntimeError("no luck")


def places(cwd: Path, error: BaseException | None = None, **variables: Any) -> MentionSources:
    cells = {"3": "x = 1", "last": "y = 2"}
    return MentionSources(variables, cells.get, lambda: error, cwd)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("why is @df slow?", ["df"]),
        ("@df, @fig. And (@a.b): **@c**; “@d”", ["df", "fig", "a.b", "c", "d"]),
        ("@df\n@fig\nexplain", ["df", "fig"]),
        ("see @src/etl.py and @~/notes.md, @./x @/abs/y", ["src/etl.py", "~/notes.md", "./x", "/abs/y"]),
        ('@"my file.txt" @cell:3 @cell:last @error!', ["my file.txt", "cell:3", "cell:last", "error"]),
        ("@df's columns, @x_ and @_", ["df", "x_", "_"]),
        ("me@example.org git@host:x/y.git \\@no @@no a/@b", []),
        ("`@df` and ``a ` @df`` but `open @df", ["df"]),
        ("`never closed\n\n@df `", ["df"]),
        ("```python\n@df\n```\n@fig", ["fig"]),
        ("~~~\n@df\n```\n@df\n~~~\n@fig", ["fig"]),
        ("```\n@df", []),
        ("@cache\ndef f(): ...", []),
        ("@a.b(1)  # why\n@cache\n    class A: ...\n@df", ["df"]),
        ("@ alone, and @", []),
    ],
)
def test_what_is_a_mention(text: str, names: list[str]) -> None:
    assert list(found(text)) == names


@given(st.text(alphabet='`~@a. \n(d"ef', max_size=60))
def test_any_text_can_be_searched(text: str) -> None:
    assert all(name and "\n" not in name for name in found(text))


@pytest.mark.parametrize("unit", ["`", "`` ` ", "```\n", "@a(", "@a()\n", "`a\n", "\n "])
def test_a_flood_takes_no_more_than_its_length(unit: str) -> None:
    list(found(unit * 50_000 + " ".join("`" * at for at in range(300))))


def test_the_text_goes_as_it_stands_and_each_thing_once(tmp_path: Path) -> None:
    thing = Thing()
    text = "what is @t, @t.size and again @t?"
    assert parts_of(text, places(tmp_path, t=thing)) == [text, Named("t", thing), Named("t.size", 3)]


@pytest.mark.parametrize(
    "text",
    [
        "use @property instead, or @staticmethod.",
        "what does @app.route('/x') do?",
        "import x from '@scope/package' and \"@angular/core\"",
    ],
)
def test_what_looks_like_code_is_text_unless_something_has_that_name(tmp_path: Path, text: str) -> None:
    assert parts_of(text, places(tmp_path)) == [text]


def test_what_looks_like_code_is_brought_along_where_something_has_that_name(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    here = places(tmp_path, max=1, app=Thing(), frame=2)
    text = "why is @max so, and @app.size() and '@frame' and '@a.py' and \"@cell:3\"?"
    things = [Named("max", 1), Named("app.size", 3), Named("frame", 2), tmp_path / "a.py"]
    assert parts_of(text, here)[1:5] == things and len(parts_of(text, here)) == 6
    with pytest.raises(acp.UsageError, match="@frme: no such variable or file"):
        parts_of("@frme() and @frme", here)


def test_files_are_relative_to_the_sessions_folder(tmp_path: Path) -> None:
    (tmp_path / "a b.py").touch()
    assert looked_up("a b.py", places(tmp_path)) == tmp_path / "a b.py"
    assert looked_up(str(tmp_path), places(Path("/"))) == tmp_path


def test_a_variable_goes_before_a_file_and_a_file_before_a_missing_attribute(tmp_path: Path) -> None:
    (tmp_path / "t").touch()
    (tmp_path / "t.csv").touch()
    here = places(tmp_path, t=Thing())
    assert isinstance(looked_up("t", here), Named)
    assert looked_up("t.csv", here) == tmp_path / "t.csv"


def test_paths_and_content_in_variables_go_as_they_are(tmp_path: Path) -> None:
    image = acp.Image("aGk=", "image/png")
    here = places(tmp_path, p=Path("/x"), i=image)
    assert (looked_up("p", here), looked_up("i", here)) == (Path("/x"), image)


def test_cells_and_the_error(tmp_path: Path) -> None:
    error = ValueError("x")
    here = places(tmp_path, error)
    assert looked_up("cell:3", here) == acp.Resource("python:cell:3", text="x = 1", mime_type="text/x-python")
    assert looked_up("cell:last", here).text == "y = 2"
    assert looked_up("error", here) == Named("error", error)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("frme", "@frme: no such variable or file; did you mean @frame?"),
        ("nothing/like.it", "no such variable or file (in backticks"),
        ("error", "there has been no error yet"),
        ("cell:9", "no such cell"),
        ("cell:x", "no such cell"),
        ("cell:²", "no such cell"),
        ("thing.broken", "RuntimeError: no luck"),
        ("thing.none", "no such variable or file"),
        ("x\0y", "no such variable or file"),
        ("~nobody_at_all/x", "no such variable or file"),
        ("y" * 5000, "no such variable or file"),
    ],
)
def test_what_is_not_there_is_one_clear_line(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(acp.UsageError) as caught:
        looked_up(name, places(tmp_path, frame=1, thing=Thing()))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
