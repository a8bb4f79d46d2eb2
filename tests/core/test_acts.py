"""An allow covers what its question named: that file, that line; and never anything beside it."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from acp_notebook.core.acts import (
    MAX_PATHS,
    Act,
    Command,
    acts_of,
    covers,
    line_of,
    names,
    remaining,
    shown,
)
from acp_notebook.core.events import ToolChanged
from acp_notebook.core.records import Diff, Location, Text
from acp_notebook.core.snapshot import ToolCall
from acp_notebook.core.transcript import Transcript
from acp_notebook.wire import v1

CWD = "/work/project"


def call(kind: str = "edit", id: str = "1", **fields: Any) -> ToolCall:
    return ToolCall(f"k{id}", "t", id, fields.pop("title", "a title"), kind, "pending", **fields)


def diff(path: str) -> tuple[Diff]:
    return (Diff(path, "new"),)


def at(*paths: str) -> tuple[Location, ...]:
    return tuple(Location(path) for path in paths)


def write(path: str) -> Act:
    return Act("edit", path)


def run(command: Command, folder: str | None = CWD) -> Act:
    return Act("execute", folder, command)


def covered(allowed: ToolCall, act: Act, *others: ToolCall, now: ToolCall | None = None) -> bool:
    found = covers([allowed], [now or allowed, *others], act, CWD)
    assert found in (None, allowed)
    return found is not None


# ---- what a call names ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "paths"),
    [
        (call(locations=at("/a", "/b", "/a")), ["/a", "/b"]),
        (call(content=diff("/a"), locations=at("/a")), ["/a"]),
        (call(content=diff("a.py")), [f"{CWD}/a.py"]),
        (call(raw_input={"file_path": "/a/../b"}), ["/b"]),
        (call(raw_input={"path": "./x//y"}), [f"{CWD}/x/y"]),
        (call(raw_input={"abs_path": "/a"}), ["/a"]),
        (call(raw_input={"filePath": "/a"}), ["/a"]),
        (call(raw_input={"files": ["/a", "b"]}), ["/a", f"{CWD}/b"]),
        (call(raw_input={"changes": {"/a": {}, "b": {}}}), ["/a", f"{CWD}/b"]),
        (call(raw_input={"path": "/hidden"}, locations=at("/seen")), ["/seen"]),
        (call(raw_input={"path": 5, "content": "x"}), [None]),
        (call(raw_input=["/a"]), [None]),
        (call(), [None]),
        (call("fetch", raw_input={"url": "https://example.org"}), [None]),
        (call("delete", locations=at("/a")), ["/a"]),
    ],
)
def test_the_paths_that_a_call_names(tool: ToolCall, paths: list[str | None]) -> None:
    assert acts_of(tool, CWD) == tuple(Act(tool.kind, path) for path in paths)


@pytest.mark.parametrize(
    ("raw_input", "act"),
    [
        ({"command": "ls; pwd"}, run("ls; pwd")),
        ({"cmd": "ls"}, run("ls")),
        ({"command": ["git", "push"]}, run(("git", "push"))),
        ({"command": "git", "args": ["push"]}, run(("git", "push"))),
        ({"command": "ls", "cwd": "sub"}, run("ls", f"{CWD}/sub")),
        ({"command": ["rm", 5]}, run(("\0",))),
        ({"command": "rm", "args": [5]}, run(("rm", "\0"))),
        ({"command": ""}, Act("execute")),
        ({}, Act("execute")),
        (None, Act("execute")),
    ],
)
def test_the_command_that_a_call_names(raw_input: Any, act: Act) -> None:
    assert acts_of(call("execute", raw_input=raw_input), CWD) == (act,)


def test_paths_are_resolved_before_they_are_normalised() -> None:
    asked: list[str] = []

    def resolve(path: str) -> str:
        asked.append(path)
        return "/elsewhere"

    assert acts_of(call(locations=at("link/../a")), CWD, resolve) == (write("/elsewhere"),)
    assert asked == [f"{CWD}/link/../a"]


def test_a_path_that_cannot_be_resolved_still_names_something() -> None:
    def resolve(path: str) -> str:
        raise ValueError("embedded null byte")

    nameless_but_for_that = call(raw_input={"path": "a\0b"})
    assert covers([nameless_but_for_that], [nameless_but_for_that], write(f"{CWD}/a"), CWD, resolve) is None


# ---- writes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "allowed",
    [
        call(locations=at("/work/project/a.py")),
        call(locations=at("a.py")),
        call(content=diff("./sub/../a.py")),
        call(raw_input={"file_path": "/work/project/a.py"}),
        call(content=diff("/work/project/b.py"), locations=at("a.py")),
        call("other", content=diff("a.py")),
        call("patch_of_a_new_kind", content=diff("a.py")),
    ],
)
def test_the_same_file_is_covered(allowed: ToolCall) -> None:
    assert covered(allowed, write(f"{CWD}/a.py"))


@pytest.mark.parametrize(
    "allowed",
    [
        call(locations=at("b.py")),
        call(locations=at(CWD)),
        call(locations=at("/work/project/a.py/")[:0], content=diff("/work/project/A.py")),
        call(content=diff("b.py"), raw_input={"path": "a.py"}),
        call(raw_input={"file_path": "a.pyc"}),
        call(raw_input={"path": "~/a.py"}),
        call("other", locations=at("a.py")),
        call("other", raw_input={"path": "a.py"}),
        call("other"),
        call("read", locations=at("a.py")),
        call("read", content=diff("a.py")),
        call("delete", content=diff("a.py")),
        call("move", locations=at("a.py")),
        call("execute", content=diff("a.py")),
        call("execute", raw_input={"command": "touch a.py"}),
        call("think", content=diff("a.py")),
    ],
)
def test_another_file_or_another_kind_is_not_covered(allowed: ToolCall) -> None:
    assert not covered(allowed, write(f"{CWD}/a.py"))


def test_symlinks_are_followed_on_both_sides_by_the_same_function() -> None:
    real = {f"{CWD}/link.py": "/real/a.py"}
    tool = call(locations=at("link.py"))

    def resolve(path: str) -> str:
        return real.get(path, path)

    assert covers([tool], [tool], write("/real/a.py"), CWD, resolve) is tool
    assert covers([tool], [tool], write(f"{CWD}/link.py"), CWD, resolve) is None


def test_a_call_that_names_nothing_covers_the_act_of_the_only_open_one() -> None:
    nameless = call()
    assert covered(nameless, write("/work/project/a.py"))
    assert covered(nameless, write("/work/project/a.py"), call("execute", "2"), call("read", "3"))
    assert not covered(nameless, write("/work/project/a.py"), call("edit", "2"))


def test_what_a_nameless_call_says_of_itself_later_can_only_narrow_it() -> None:
    later = call(locations=at("b.py"))
    assert not covered(call(), write(f"{CWD}/a.py"), now=later)
    assert covered(call(), write(f"{CWD}/b.py"), now=later)


def test_a_call_that_is_renamed_after_its_allow_covers_what_was_asked() -> None:
    asked, later = call(locations=at("a.py")), call(locations=at("b.py"))
    assert not covered(asked, write(f"{CWD}/b.py"), now=later)
    assert covered(asked, write(f"{CWD}/a.py"), now=later)
    asked = call("execute", raw_input={"command": "ls"})
    assert not covered(asked, run("rm -rf ~"), now=call("execute", raw_input={"command": "rm -rf ~"}))


def test_a_call_that_has_ended_covers_nothing_more() -> None:
    for tool, act in (
        (call(locations=at("a.py")), write(f"{CWD}/a.py")),
        (call("execute", raw_input={"command": "ls"}), run("ls")),
    ):
        assert covers([tool], [tool], act, CWD) is tool
        assert covers([tool], [], act, CWD) is None
        assert covers([], [tool], act, CWD) is None


@pytest.mark.parametrize("kind", ["read", "delete", "move", "other", "fetch", ""])
def test_only_writes_and_commands_come_to_us(kind: str) -> None:
    tool = call(kind, locations=at("a.py"))
    assert not covered(tool, Act(kind, f"{CWD}/a.py"))
    assert not covered(call("edit"), Act("edit"))
    assert not covered(call("execute"), Act("execute"))


def test_a_flood_of_paths_is_not_looked_at_to_its_end_and_then_never_granted() -> None:
    looked: list[str] = []

    def resolve(path: str) -> str:
        looked.append(path)
        return path

    flood = call(locations=at(*(f"/a/{number}" for number in range(10 * MAX_PATHS))))
    acts = acts_of(flood, CWD, resolve)
    assert len(looked) == MAX_PATHS and len(acts) == MAX_PATHS + 1 and acts[-1] == Act("edit")
    assert covered(flood, write("/a/5")) and not covered(flood, write(f"/a/{2 * MAX_PATHS}"))
    full = call(locations=at(*(f"/a/{number}" for number in range(MAX_PATHS))))
    assert len(acts_of(full, CWD)) == MAX_PATHS


def test_what_is_left_of_an_allow_that_was_used() -> None:
    named, nameless = call(locations=at("a.py")), call()
    assert remaining(named, write(f"{CWD}/a.py")) is named
    narrowed = remaining(nameless, write(f"{CWD}/a.py"))
    assert narrowed is not None and narrowed.id == nameless.id
    assert covered(narrowed, write(f"{CWD}/a.py")) and not covered(narrowed, write(f"{CWD}/b.py"))
    assert remaining(call("execute"), run("ls")) is None
    assert remaining(call("execute", raw_input={"command": "ls"}), run("ls")) is None


def test_whether_a_call_says_that_it_does_this() -> None:
    assert names(call(locations=at("a.py")), write(f"{CWD}/a.py"), CWD)
    assert not names(call(locations=at("b.py")), write(f"{CWD}/a.py"), CWD)
    assert not names(call("read", locations=at("a.py")), write(f"{CWD}/a.py"), CWD)
    assert not names(call(), write(f"{CWD}/a.py"), CWD) and not names(call(), Act("edit"), CWD)
    wrapped = run(("/bin/bash", "-c", f"cd '{CWD}' && ls"))
    assert names(call("execute", raw_input={"command": "ls"}), wrapped, CWD)
    assert not names(call("execute", raw_input={"command": "rm"}), wrapped, CWD)
    assert not names(call("execute"), wrapped, CWD)
    assert not names(call("other", raw_input={"command": "ls"}), wrapped, CWD)


def test_a_folder_that_is_a_link_may_be_spelled_as_it_was_given() -> None:
    def resolve(path: str) -> str:
        return path.replace("/link", "/real")

    tool = call("execute", raw_input={"command": "ls"})
    came = run(("bash", "-c", "cd '/link' && ls"), "/real")
    assert covers([tool], [tool], came, "/link", resolve) is tool
    assert covers([tool], [tool], run("cd /link && ls", "/other"), "/link", resolve) is None


# ---- commands -----------------------------------------------------------------------------------

LINE = "echo a; echo 'b c' 1>&2"

SAME: list[tuple[Any, Command]] = [
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
def test_the_same_line_is_covered_whichever_shell_is_around_it(asked: Any, came: Command) -> None:
    assert covered(call("execute", raw_input={"command": asked}), run(came))
    assert covered(call("execute", raw_input={"command": asked}), run(came, None))
    assert covered(call("other", raw_input={"command": asked}), run(came))


OTHERS: list[tuple[Any, Command]] = [
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
    ("ls", ("bash", "-c", "--", "ls")),
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
    (["ls", 5], "ls"),
    (["ls", 5], "ls 5"),
    ({"ls": 1}, "ls"),
]


def test_there_are_enough_of_them() -> None:
    assert len(OTHERS) >= 40


@pytest.mark.parametrize(("asked", "came"), OTHERS)
def test_another_line_is_not_covered(asked: Any, came: Command) -> None:
    assert not covered(call("execute", raw_input={"command": asked}), run(came))


@pytest.mark.parametrize("kind", ["read", "edit", "think", "fetch", "delete", "search", ""])
def test_calls_of_other_kinds_cover_no_command(kind: str) -> None:
    assert not covered(call(kind, raw_input={"command": "ls"}), run("ls"))
    assert not covered(call(kind), run("ls"))


def test_the_folder_must_be_the_same_too() -> None:
    here = call("execute", raw_input={"command": "make"})
    there = call("execute", raw_input={"command": "make", "cwd": "sub"})
    assert covered(here, run("make", None)) and covered(there, run("make", f"{CWD}/sub"))
    assert not covered(here, run("make", f"{CWD}/sub"))
    assert not covered(there, run("make", CWD))


def test_a_nameless_execute_call_covers_the_act_of_the_only_open_one() -> None:
    nameless = call("execute")
    assert covered(nameless, run("ls"))
    assert covered(nameless, run("ls"), call("edit", "2"))
    assert not covered(nameless, run("ls"), call("execute", "2"))
    assert not covered(call("other"), run("ls"))


def test_a_question_that_gave_the_line_as_text_covers_it_beside_other_open_calls() -> None:
    asked = call("execute", content=(Text("Requesting approval to Running: ls -la"),))
    later = call("execute", raw_input={"command": "ls -la"})
    beside = call("execute", "2", raw_input={"command": "rm x"})
    assert covered(asked, run("ls -la"), beside, now=later)
    assert not covered(asked, run("ls -la"), beside)
    assert not covered(asked, run("rm x"), beside, now=later)
    assert not covered(asked, run("rm x"), now=later)
    assert not covered(asked, run("-la"), beside, now=call("execute", raw_input={"command": "-la"}))


@given(st.text(max_size=12), st.text(max_size=12))
def test_two_lines_are_the_same_only_if_every_character_is(asked: str, came: str) -> None:
    tool = call("execute", raw_input={"command": asked or "ls"})
    if covered(tool, run(came)):
        assert came == (asked or "ls")


@given(st.lists(st.text(alphabet="abc ;$'\"\\=-\n", max_size=5), min_size=1, max_size=4))
def test_words_as_a_line_are_the_same_words_again(words: list[str]) -> None:
    line = line_of(tuple(words))
    assert line is None or tuple(shlex.split(line)) == tuple(words)


# ---- as real agents do it -----------------------------------------------------------------------


def recorded(name: str) -> Iterator[Any]:
    path = Path(__file__).parent.parent / "data" / "transcripts" / f"{name}.jsonl"
    for line in filter(None, path.read_text(encoding="utf-8").split("\n")):
        message = json.loads(line).get("msg")
        if isinstance(message, dict):
            yield message


def played(name: str) -> Iterator[tuple[list[ToolCall], list[ToolCall], Act, str]]:
    """For each act that came: the calls as they were when they were allowed, those that are open, the act."""
    transcript, cwd = Transcript(), ""
    ids: set[str] = set()
    asked: dict[Any, tuple[ToolCall, set[str]]] = {}
    allowed: list[ToolCall] = []
    for message in recorded(name):
        params = message.get("params") or {}
        raw = Raw(json.dumps(params).encode())
        match message:
            case {"method": "session/new"}:
                cwd = params["cwd"]
            case {"method": "session/update"}:
                event = v1.read_update(raw)[1]
                transcript.apply(event)
                ids |= {event.id} if isinstance(event, ToolChanged) else set()
            case {"method": "session/request_permission", "id": id}:
                question = v1.read_permission(raw)
                transcript.apply(question.tool)
                allows = {it.id for it in question.options if it.kind == "allow_once"}
                asked[id] = (transcript.tool(question.tool.id), allows)
            case {"result": {"outcome": {"optionId": option}}, "id": id} if option in asked[id][1]:
                allowed.append(asked[id][0])
            case {"method": "fs/write_text_file" | "terminal/create"}:
                tools = [transcript.tool(it) for it in ids]
                still_open = [it for it in tools if it.status in ("pending", "in_progress")]
                yield allowed, still_open, came(params), cwd


def came(params: Any) -> Act:
    if "content" in params:
        return Act("edit", params["path"])
    args = params.get("args")
    return Act("execute", params.get("cwd"), (params["command"], *args) if args else params["command"])


@pytest.mark.parametrize(
    ("name", "kinds", "unprompted"),
    [
        ("claude-code-acp", {"edit": 3, "execute": 4}, 0),
        ("kimi-code", {"execute": 4}, 5),  # it asked for its commands, and wrote without asking
    ],
)
def test_what_real_agents_asked_for_covers_what_they_then_did(
    name: str, kinds: dict[str, int], unprompted: int
) -> None:
    acts = list(played(name))
    found = [(act, covers(allowed, still_open, act, cwd)) for allowed, still_open, act, cwd in acts]
    assert Counter(act.kind for act, by in found if by is not None) == kinds
    assert all(by is None or by.kind == act.kind for act, by in found)
    assert sum(by is None for _, by in found) == unprompted


def test_what_claude_asked_for_covers_nothing_else() -> None:
    for allowed, still_open, act, cwd in played("claude-code-acp"):
        other = write(f"{act.path}x") if act.kind == "edit" else run(f"{act.command};", act.path)
        assert covers(allowed, still_open, other, cwd) is None


# ---- for people ---------------------------------------------------------------------------------


def test_texts_are_shown_on_one_line_with_everything_visible_and_both_ends() -> None:
    assert shown("a\nb\x1b[31m\u202e") == "a ⏎ b\u2039U+001B\u203a[31m\u2039U+202E\u203a"
    assert shown("a\u00a0b\ue000") == "a\u2039U+00A0\u203ab\u2039U+E000\u203a"
    long = shown("start " + "x" * 500 + "; rm -rf ~", chars=40)
    assert len(long) <= 40 and long.startswith("start ") and long.endswith("; rm -rf ~")
    assert run(("ls", "a b")).target == "ls 'a b'"
    assert write("/a").target == "/a" and Act("other").target == ""
