"""An allow covers what its question described, in full, once: that command, that text in that file."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core.actions import (
    Action,
    Command,
    Details,
    Edit,
    Fetch,
    FileAccess,
    MetadataChange,
    NotebookWrite,
    Other,
    Write,
    action_from_plain,
    action_to_plain,
    applied,
    brief,
    command,
    consume,
    is_covered_by,
    judged_env,
    real_path,
    real_paths,
)
from acp_notebook.core.shell import line_of
from acp_notebook.core.visible import marked, shown

CWD = "/work/project"
VISIBLE = Path(__file__).parents[1] / "data" / "visible.json"
Words = str | tuple[str, ...]


def unchanged(path: str) -> str:
    return path


def run(words: Words, folder: str = CWD, **env: str) -> Command | None:
    return command(words, folder, tuple(sorted(env.items())), resolve=unchanged)


def covered(asked: Any, came: Words, folder: str = CWD) -> bool:
    words = tuple(asked) if isinstance(asked, list) else asked
    allowed, wanted = run(words), run(came, folder)
    return allowed is not None and wanted is not None and is_covered_by(wanted, allowed)


# ---- commands -----------------------------------------------------------------------------------

LINE = "echo a; echo 'b c' 1>&2"

SAME: list[tuple[Any, Words]] = [
    (LINE, LINE),
    (LINE, ("bash", "-c", LINE)),
    (LINE, ("/bin/bash", "-lc", LINE)),
    (LINE, ("/usr/bin/zsh", "-l", "-i", "-c", LINE)),
    (LINE, ("/usr/local/bin/dash", "-c", LINE)),
    (LINE, ("sh", "-ilc", LINE)),
    (LINE, ("bash", "--noprofile", "--norc", "-c", LINE)),
    (LINE, ("/bin/bash", "-c", f"cd '{CWD}' && {LINE}")),
    (LINE, f"cd {CWD} && {LINE}"),
    (["bash", "-lc", LINE], ("/bin/sh", "-c", LINE)),
    (["bash", "-lc", LINE], LINE),
    (["git", "push", "a b"], ("git", "push", "a b")),
    ("git push 'a b'", ("git", "push", "a b")),
    ("ls", ("ls",)),
    ("a\nb", "a\nb"),
]


@pytest.mark.parametrize(("asked", "came"), SAME)
def test_the_same_line_is_covered_with_any_shell_around_it(asked: Any, came: Words) -> None:
    assert covered(asked, came)


OTHERS: list[tuple[Any, Words]] = [
    ("ls", "ls; rm -rf ~"),
    ("ls", "ls;rm -rf ~"),
    ("ls", "ls && rm x"),
    ("ls", "ls || rm x"),
    ("ls", "ls | sh"),
    ("ls", "ls & rm x"),
    ("ls", "ls\nrm x"),
    ("ls", "ls\rrm x"),
    ("ls", "ls $(rm x)"),
    ("ls", "ls `rm x`"),
    ("ls", "ls > ~/.bashrc"),
    ("ls", "ls < /etc/shadow"),
    ("ls", "ls -la"),
    ("ls -la", "ls"),
    ("ls", " ls"),
    ("ls", "ls "),
    ("ls", "LS"),
    ("ls", "l\u0455"),  # a Cyrillic letter
    ("ls", "ls\u200b"),
    ("ls", "\u202els"),
    ("ls", "ls\0"),
    ("ls", "/tmp/ls"),
    ("ls", "./ls"),
    ("ls", "PATH=/tmp ls"),
    ("ls", "sudo ls"),
    ("ls", "env ls"),
    ("ls", "exec ls"),
    ("ls", "rm -rf ls"),
    ("ls", ("rm", "-rf", "ls")),
    ("ls", ("ls", "; rm x")),
    ("ls", ("ls", "")),
    ("ls", ("sh", "ls")),
    ("ls", ("sh", "-s", "ls")),
    ("ls", ("/tmp/bash", "-c", "ls")),
    ("ls", ("./bash", "-c", "ls")),
    ("ls", ("/work/bin/bash", "-c", "ls")),
    ("ls", ("mybash", "-c", "ls")),
    ("ls", ("bash\n", "-c", "ls")),
    ("ls", ("bash", "-c", "rm", "ls")),
    ("ls", ("bash", "-c", "ls", "rm")),
    ("ls", ("bash", "-c", "ls; rm x")),
    ("ls", ("bash", "-x", "-c", "ls")),
    ("ls", ("bash", "--rcfile", "/tmp/x", "-c", "ls")),
    ("ls", ("bash", "--init-file=/tmp/x", "-ic", "ls")),
    ("ls", ("bash", "-o", "allexport", "-c", "ls")),
    ("ls", ("bash", "-c", "-c", "ls")),
    ("ls", ("bash", "--", "-c", "ls")),
    ("ls", ("bash", "-c", "--", "--", "ls")),
    ("ls", ("env", "bash", "-c", "ls")),
    ("ls", ("python", "-c", "ls")),
    ("ls", ("bash", "-c", "cd '/elsewhere' && ls")),
    ("ls", ("bash", "-c", f"cd '{CWD}/sub' && ls")),
    ("ls", ("bash", "-c", f"cd '{CWD}' ; ls")),
    ("ls", ("bash", "-c", f"cd '{CWD}' && rm x; ls")),
    ("ls", f"cd '{CWD}' && cd '{CWD}' && ls"),
    ("ls", f"cd '{CWD}'$(rm x) && ls"),
    ("ls", f'cd "{CWD}$(rm x)" && ls'),
    ("-x", ("bash", "-c", "-x")),
    ("ls *", ("ls", "*")),
    ("echo $HOME", ("echo", "$HOME")),
    ("a; b", ("a;", "b")),
    ("A=b ls", ("A=b", "ls")),
    (["ls", "-la"], "ls  -la"),
    (["ls", ";", "pwd"], "ls ; pwd"),
]


@pytest.mark.parametrize(("asked", "came"), OTHERS)
def test_another_line_is_not_covered(asked: Any, came: Words) -> None:
    assert not covered(asked, came)


def test_the_folder_and_the_environment_must_be_the_same_too() -> None:
    make = run("make")
    assert make is not None
    assert not covered("make", "make", f"{CWD}/sub")
    for other in (run("make", MAKEFILES="/tmp/x"), run("make", HOME="/tmp")):
        assert other is not None
        assert not is_covered_by(other, make) and not is_covered_by(make, other)
        assert is_covered_by(other, other)


def test_a_cd_elsewhere_counts_only_if_nothing_runs_after_a_failure() -> None:
    assert run(("bash", "-c", "cd '/there' && make")) == Command("make", "/there")
    assert run("cd /there && make && make install") == Command("make && make install", "/there")
    for line in ("cd /there && make; ls", "cd /there && make || ls", "cd there && make", "cd /there; make"):
        assert run(line) == Command(line, CWD)


def test_a_folder_that_is_a_link_may_be_spelled_as_it_was_given() -> None:
    given = command("cd '/link' && a; b", "/real", (), resolve=unchanged, spellings=["/link"])
    assert given == Command("a; b", "/real")


def test_invalid_commands() -> None:
    for words in ("", "  ", "a\0b", (), ("",), ("ls", "\0")):
        assert run(words) is None


@given(st.text(max_size=12), st.text(max_size=12))
def test_two_lines_are_the_same_only_if_every_character_is(asked: str, came: str) -> None:
    if covered(asked or "ls", came):
        assert came == (asked or "ls")


@given(st.lists(st.text(alphabet="abc ;$'\"\\=-\n", max_size=5), min_size=1, max_size=4))
def test_words_as_a_line_are_the_same_words_again(words: list[str]) -> None:
    line = line_of(tuple(words))
    assert line is None or tuple(shlex.split(line)) == tuple(words)


# ---- environments -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pair",
    [
        *(("PATH", "/tmp"), ("LD_PRELOAD", "/tmp/x.so"), ("HOME", "/tmp"), ("XDG_CONFIG_HOME", "/tmp")),
        *(("MAKEFILES", "/tmp/x"), ("GIT_DIR", "x"), ("GIT_PAGER", "sh"), ("PAGER", "less"), ("EDITOR", "x")),
        *(
            ("LANG", "/tmp/locale"),
            ("LC_ALL", "../x"),
            ("TERM", "a/b"),
            ("TZ", ":/tmp/x"),
            ("NO_COLOR", "$(x)"),
        ),
        *(("ANYTHING", ""), ("lang", "C"), ("LOCPATH", "/tmp"), ("PYTHONPATH", "."), ("CLAUDECODE", "2")),
    ],
)
def test_every_other_variable_counts(pair: tuple[str, str]) -> None:
    assert judged_env(dict([pair]), {}, {"CLAUDECODE": "1"}) == (pair,)


def test_variables_that_change_nothing_do_not_count() -> None:
    harmless = {
        "NO_COLOR": "1",
        "TERM": "xterm-256color",
        "CI": "true",
        "LANG": "C.UTF-8",
        "LC_ALL": "de_DE@euro",
    }
    harmless |= {
        "COLUMNS": "80",
        "PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "TZ": "UTC",
        "PYTHONUNBUFFERED": "",
    }
    assert judged_env(harmless, {}, {}) == ()
    assert judged_env({"CLAUDECODE": "1"}, {}, {"CLAUDECODE": "1"}) == ()
    assert judged_env({"HOME": "/home/me"}, {"HOME": "/home/me"}, {}) == ()
    assert judged_env({"B": "2", "A": "1"}, {"A": "2"}, {}) == (("A", "1"), ("B", "2"))


# ---- writes -------------------------------------------------------------------------------------

A = f"{CWD}/a.txt"


def write(new: str, old: str | None = None, path: str = A, **fields: Any) -> Write:
    return Write(path, None, old, new, **fields)


def edit(*edits: tuple[str, str], everywhere: bool = False) -> Write:
    return write("shown", "shown", edits=tuple(Edit(old, new, everywhere) for old, new in edits))


def test_a_whole_text_is_covered_in_place_of_the_shown_old_text() -> None:
    assert is_covered_by(write("new"), write("new"))
    assert is_covered_by(write("new\r\n", "old\r\n"), write("new\n", "old\r\n")), "the file keeps its CRLF"
    assert not is_covered_by(write("new\r\n"), write("new\n"))
    assert not is_covered_by(write("a\r\nb\n", "old\n"), write("a\nb\n", "old\n"))
    assert not is_covered_by(write("a\r\nb\n", "old\r\n"), write("a\nb\n", "old\r\n"))
    assert not is_covered_by(write("new and more"), write("new"))
    assert not is_covered_by(write("new", path=f"{CWD}/b.txt"), write("new"))
    assert not is_covered_by(write("new", "mine"), write("new")), "the file appeared since"
    assert not is_covered_by(write("new", "mine"), write("new", "old")), "the file changed since"
    assert not is_covered_by(write("new", note="not text"), write("new"))


def test_the_real_path_counts_not_the_name() -> None:
    link = Write(A, "/real/a.txt", None, "new")
    assert is_covered_by(write("new", path="/real/a.txt"), link)
    assert not is_covered_by(write("new"), link)


def test_an_edit_is_covered_if_it_gives_the_written_text() -> None:
    allowed = edit(("hello", "goodbye"))
    assert is_covered_by(write("goodbye from me\n", "hello from me\n"), allowed)
    assert not is_covered_by(write("goodbye", "hello from me\n"), allowed), "the rest would be lost"
    assert not is_covered_by(write("goodbye from you\n", "hello from me\n"), allowed)
    assert not is_covered_by(write("goodbye hello", "hello hello"), allowed), "which of the two?"
    assert is_covered_by(write("goodbye goodbye", "hello hello"), edit(("hello", "goodbye"), everywhere=True))
    assert is_covered_by(write("a2 b2", "a1 b1"), edit(("a1", "a2"), ("b1", "b2")))
    assert not is_covered_by(write("a2 b1", "a1 b1"), edit(("a1", "a2"), ("b1", "b2")))
    assert not is_covered_by(write("goodbye"), allowed), "there is no file"


def test_a_text_that_is_too_long_to_show_is_covered_by_its_hash() -> None:
    def long(note: str) -> Write:
        return Write(A, note=note)

    assert is_covered_by(long("2,000,000 characters (SHA-256 x)"), long("2,000,000 characters (SHA-256 x)"))
    assert not is_covered_by(
        long("2,000,000 characters (SHA-256 y)"), long("2,000,000 characters (SHA-256 x)")
    )
    assert not is_covered_by(Write(A), Write(A)) and not is_covered_by(write("x"), long("1"))


def test_an_edit_that_does_not_match_the_file_covers_nothing() -> None:
    assert not is_covered_by(write("new", "old"), write("new", "old", covers=False))


def test_a_notebook_is_covered_by_its_cells_and_metadata() -> None:
    def book(new: str = "# %%\n2", *metadata: MetadataChange, **fields: Any) -> NotebookWrite:
        return NotebookWrite("/n.ipynb", None, "# %%\n1", new, metadata, **fields)

    hidden = MetadataChange("cell 1", "tags", None, '["hide"]')
    assert is_covered_by(book(), book(note="a note does not count"))
    assert not is_covered_by(book(), book("# %%\n3"))
    assert not is_covered_by(book("# %%\n2", hidden), book())
    assert is_covered_by(book("# %%\n2", hidden), book("# %%\n2", hidden))
    assert not is_covered_by(NotebookWrite("/n.ipynb", note="1"), NotebookWrite("/n.ipynb", note="2"))


OUR_OWN: list[Action] = [
    Command("ls", CWD),
    write("x"),
    NotebookWrite("/n.ipynb", None, "a", "b"),
]


@pytest.mark.parametrize("wanted", OUR_OWN, ids=lambda it: it.type)
@pytest.mark.parametrize(
    "named",
    [
        FileAccess("edit", A),
        FileAccess("read", A),
        Other("execute"),
        Other("edit"),
        Fetch("ls"),
        Details("{}"),
    ],
    ids=lambda it: it.type,
)
def test_a_file_that_is_only_named_covers_no_client_method(wanted: Action, named: Action) -> None:
    assert not is_covered_by(wanted, named)


def test_each_action_is_covered_once() -> None:
    actions = (Command("ls", CWD), Details("{}"), Command("ls", CWD), write("x"))
    left = consume(actions, Command("ls", CWD))
    assert left == (Details("{}"), Command("ls", CWD), write("x"))
    left = consume(left, Command("ls", CWD))
    assert left == (Details("{}"), write("x"))
    assert consume(left, Command("ls", CWD)) is None


@given(
    st.text(alphabet="ab\r\n", max_size=8),
    st.text(alphabet="ab", max_size=3),
    st.text(alphabet="xy", max_size=3),
)
def test_an_edit_that_applies_changes_one_place_only(text: str, old: str, new: str) -> None:
    made = applied([Edit(old, new)], text)
    if made is not None:
        at = text.index(old)
        assert made == text[:at] + new + text[at + len(old) :], "line ends stay, too"


# ---- as JSON, and for people ----------------------------------------------------------------------

ALL: list[Action] = [
    *OUR_OWN,
    Command("ls", CWD, (("HOME", "/tmp"),)),
    Write(A, "/real", "old", "new", note="why"),
    NotebookWrite("/n.ipynb", "/m.ipynb", "a", "b", (MetadataChange("notebook", "kernelspec", "1", "2"),)),
    FileAccess("delete", A, "/real"),
    Fetch("https://example.org"),
    Other("other", "{}"),
    Details("{}"),
]


@pytest.mark.parametrize("action", ALL, ids=lambda it: it.type)
def test_a_plain_action_can_be_read_back(action: Action) -> None:
    assert action_from_plain(action_to_plain(action)) == action


def test_a_settled_question_keeps_no_texts() -> None:
    assert brief(action_to_plain(write("new", "old"))) == {"type": "write", "path": A}


def test_the_real_paths_of_an_action() -> None:
    assert real_path(Write("/a", "/b")) == "/b" and real_path(Command("ls", CWD)) == CWD
    assert real_paths(Other("other", None, ("/a", "/b"))) == ("/a", "/b") and real_paths(Fetch("x")) == ()


def test_texts_are_shown_on_one_line_with_everything_visible_and_both_ends() -> None:
    assert shown("a\nb\x1b[31m\u202e") == "a ⏎ b\u2039U+001B\u203a[31m\u2039U+202E\u203a"
    assert shown("a\u00a0b\ue000") == "a\u2039U+00A0\u203ab\u2039U+E000\u203a"
    long = shown("start " + "x" * 500 + "; rm -rf ~", chars=40)
    assert len(long) <= 40 and long.startswith("start ") and long.endswith("; rm -rf ~")
    assert Command("ls", CWD, (("A", "1"),)).text == "A=1 ls"


@pytest.mark.parametrize(("text", "expected"), json.loads(VISIBLE.read_text()))
def test_nothing_can_be_pushed_out_of_sight(text: str, expected: str) -> None:
    newline = "\n" * text.endswith("\n")  # a diff shows whether a file ends with one
    assert marked(text) == expected + newline


@given(st.text(max_size=40))
def test_every_visible_character_of_a_text_stays(text: str) -> None:
    kept = [char for char in text if char.isprintable() and not char.isspace()]
    found = iter(marked(text))
    assert all(char in found for char in kept)
