"""@-mentions: what counts as one, and what each attaches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import acp_notebook as acp
from acp_notebook.frontend.magics.mentions import MentionSources, candidate_names, look_up, prompt_parts
from acp_notebook.notebook.content import Named


class Thing:
    size = 3

    @property
    def broken(self) -> int:
        raise RuntimeError("no luck")


def sources(cwd: Path, error: BaseException | None = None, **variables: Any) -> MentionSources:
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
        # What js/lab/src/prompts.ts makes of a hostile name and id.
        ("Cell of `a ~/.ssh/id_rsa x .ipynb` (id `c /etc/passwd`):\n```\n@df\n```", []),
        ("`never closed\n\n@df `", ["df"]),
        ("```python\n@df\n```\n@fig", ["fig"]),
        ("~~~\n@df\n```\n@df\n~~~\n@fig", ["fig"]),
        ("```\n@df", []),
        ("@cache\ndef f(): ...", []),
        ("@a.b(1)  # why\n@cache\n    class A: ...\n@df", ["df"]),
        ("@ alone, and @", []),
    ],
)
def test_mentions_are_recognised(text: str, names: list[str]) -> None:
    assert list(candidate_names(text)) == names


@given(st.text(alphabet='`~@a. \n(d"ef', max_size=60))
def test_any_text_can_be_searched(text: str) -> None:
    assert all(name and "\n" not in name for name in candidate_names(text))


@pytest.mark.parametrize("unit", ["`", "`` ` ", "```\n", "@a(", "@a()\n", "`a\n", "\n "])
def test_searching_takes_linear_time(unit: str) -> None:
    list(candidate_names(unit * 50_000 + " ".join("`" * at for at in range(300))))


def test_the_text_is_sent_unchanged_and_each_object_once(tmp_path: Path) -> None:
    thing = Thing()
    text = "what is @t, @t.size and again @t?"
    assert prompt_parts(text, sources(tmp_path, t=thing)) == [text, Named("t", thing), Named("t.size", 3)]


@pytest.mark.parametrize(
    "text",
    [
        "use @property instead, or @staticmethod.",
        "what does @app.route('/x') do?",
        "import x from '@scope/package' and \"@angular/core\"",
    ],
)
def test_code_is_text_unless_an_object_has_that_name(tmp_path: Path, text: str) -> None:
    assert prompt_parts(text, sources(tmp_path)) == [text]


def test_code_is_a_mention_if_an_object_has_that_name(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    here = sources(tmp_path, max=1, app=Thing(), frame=2)
    text = "why is @max so, and @app.size() and '@frame' and '@a.py' and \"@cell:3\"?"
    things = [Named("max", 1), Named("app.size", 3), Named("frame", 2), tmp_path / "a.py"]
    assert prompt_parts(text, here)[1:5] == things and len(prompt_parts(text, here)) == 6
    with pytest.raises(acp.UsageError, match="@frme: no such variable or file"):
        prompt_parts("@frme() and @frme", here)


def test_files_are_relative_to_the_sessions_folder(tmp_path: Path) -> None:
    (tmp_path / "a b.py").touch()
    assert look_up("a b.py", sources(tmp_path)) == tmp_path / "a b.py"
    assert look_up(str(tmp_path), sources(Path("/"))) == tmp_path


def test_variables_precede_files_and_files_missing_attributes(tmp_path: Path) -> None:
    (tmp_path / "t").touch()
    (tmp_path / "t.csv").touch()
    here = sources(tmp_path, t=Thing())
    assert isinstance(look_up("t", here), Named)
    assert look_up("t.csv", here) == tmp_path / "t.csv"


def test_paths_and_content_in_variables_are_sent_unchanged(tmp_path: Path) -> None:
    image = acp.Image("aGk=", "image/png")
    here = sources(tmp_path, p=Path("/x"), i=image)
    assert (look_up("p", here), look_up("i", here)) == (Path("/x"), image)


def test_cells_and_the_error(tmp_path: Path) -> None:
    error = ValueError("x")
    here = sources(tmp_path, error)
    assert look_up("cell:3", here) == acp.Resource("python:cell:3", text="x = 1", mime_type="text/x-python")
    assert look_up("cell:last", here).text == "y = 2"
    assert look_up("error", here) == Named("error", error)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("frme", "@frme: no such variable or file; did you mean @frame?"),
        ("nothing/like.it", "no such variable or file (write"),
        ("error", "no cell has raised an error yet"),
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
def test_an_unknown_name_is_one_clear_line(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(acp.UsageError) as caught:
        look_up(name, sources(tmp_path, frame=1, thing=Thing()))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
