"""Actions described from a tool call or a client request: all that it shows, and nothing else."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace
from msgspec.structs import replace as changed

from acp_notebook.agent.known_agents import quirks
from acp_notebook.agent.known_agents.quirks import SESSION_ID
from acp_notebook.core.actions import (
    Action,
    Command,
    Details,
    Edit,
    Fetch,
    FileAccess,
    NotebookWrite,
    Other,
    Write,
    action_to_plain,
    consume,
    is_covered_by,
)
from acp_notebook.core.describe import (
    DOES_NOT_FIT,
    MAX_PATHS,
    NOT_TEXT,
    SHOWN_CHARS,
    CommandContext,
    FileState,
    Phrases,
    describe,
    describe_command,
    describe_write,
    mentions,
    readable_command,
)
from acp_notebook.core.policy import PermissionRequest
from acp_notebook.core.records import Diff, Location, Text
from acp_notebook.core.snapshot import ToolCall
from acp_notebook.core.transcript import Transcript
from acp_notebook.wire import v1

CWD = "/work/project"
A = f"{CWD}/a.txt"
PLACE = CommandContext(CWD, CWD, lambda path: path)


def call(kind: str = "edit", **fields: Any) -> ToolCall:
    return ToolCall("k1", "t", "1", fields.pop("title", "a title"), kind, "pending", **fields)


def looks(files: Mapping[str, str]) -> Any:
    def look(path: str) -> FileState:
        whole = path if path.startswith("/") else f"{CWD}/{path}"
        return FileState(whole, None, files.get(whole), whole in files)

    return look


def actions(tool: ToolCall, phrases: Phrases | None = None, **files: str) -> tuple[Action, ...]:
    named = {f"{CWD}/{name}.txt": text for name, text in files.items()}
    return describe(tool, PLACE, looks(named), phrases=phrases or Phrases())


# ---- commands -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"command": "ls; pwd"}, Command("ls; pwd", CWD)),
        ({"cmd": "ls"}, Command("ls", CWD)),
        ({"command": "", "cmd": "ls"}, Command("ls", CWD)),
        ({"command": ["git", "push", "a b"]}, Command("git push 'a b'", CWD)),
        ({"command": "git", "args": ["push"]}, Command("git push", CWD)),
        ({"command": "ls", "cwd": "/work/sub"}, Command("ls", "/work/sub", elsewhere=True)),
        ({"command": "ls", "env": {"HOME": "/x", "CI": "1"}}, Command("ls", CWD, (("HOME", "/x"),))),
        ({"command": "ls", "description": "look", "timeout": 5}, Command("ls", CWD)),
    ],
)
@pytest.mark.parametrize("kind", ["execute", "other", "a_new_kind"])
def test_the_command_that_a_call_names(raw: Any, expected: Command, kind: str) -> None:
    assert actions(call(kind, raw_input=raw)) == (expected,)


@pytest.mark.parametrize(
    "raw",
    [
        *(
            None,
            {},
            [],
            "ls",
            {"command": ""},
            {"command": 5},
            {"command": ["rm", 5]},
            {"command": {"ls": 1}},
        ),
        *(
            {"command": "rm", "args": [5]},
            {"command": "ls", "cmd": "rm x"},
            {"command": "ls", "env": ["A=1"]},
        ),
        {"script": "rm -rf ~"},
    ],
    ids=json.dumps,
)
def test_an_unreadable_command_is_shown_unchanged_and_covers_nothing(raw: Any) -> None:
    [other] = actions(call("execute", raw_input=raw, title="ls -la"))
    assert isinstance(other, Other) and other.kind == "execute"
    assert raw in (None, {}, []) or json.loads(other.input or "") == raw
    assert consume([other], Command("ls -la", CWD)) is None


def test_input_beyond_the_command_is_shown_too() -> None:
    raw = {"command": "ls", "sudo": True}
    assert actions(call("execute", raw_input=raw)) == (Command("ls", CWD), Details('{\n  "sudo": true\n}'))


def test_agents_that_name_the_command_in_words() -> None:
    said = call("execute", title="ls -la", content=(Text("[in sub] (look around)"),))
    [unread] = actions(said)
    assert isinstance(unread, Other)
    gemini = Phrases(title="(.+)", folder=r"\[in ([^\]]+)\]")
    assert actions(said, gemini) == (Command("ls -la", f"{CWD}/sub", elsewhere=True),)
    [other] = actions(replace(said, kind="other"), gemini)
    assert isinstance(other, Other), "the title of a tool of another server is no command"
    kimi = Phrases(input_in_text=True)
    texts = (Text('{"command": "make test"}'), Text("Requesting approval to Running: make t…"))
    assert actions(call("execute", title="Bash", content=texts), kimi) == (Command("make test", CWD),)
    assert isinstance(actions(call("execute", content=texts[1:]), kimi)[0], Other)


def test_an_editors_command_is_not_a_shell_command() -> None:
    raw = {"command": "write", "path": "a.txt", "file_text": "new"}
    assert actions(call("other", raw_input=raw)) == (Write(A, None, None, "new"),)
    assert readable_command(raw) is None and readable_command({"command": ["ls", "-l"]}) == "ls -l"


# ---- writes -------------------------------------------------------------------------------------


def diff(new: str, old: str | None = None, path: str = "a.txt") -> tuple[Diff, ...]:
    return (Diff(path, new, old),)


@pytest.mark.parametrize(
    "tool",
    [
        call(content=diff("new")),
        call("other", content=diff("new")),
        call("read", content=diff("new")),
        call(raw_input={"file_path": "a.txt", "content": "new"}),
        call("other", raw_input={"path": A, "content": "new"}),
        call(content=diff("new"), raw_input={"path": "a.txt", "content": "new", "command": "create"}),
    ],
)
def test_a_text_that_a_call_shows(tool: ToolCall) -> None:
    [found] = actions(tool)
    assert found == Write(A, None, None, "new")
    [found] = actions(tool, a="old")
    assert found == Write(A, None, "old", "new"), "the truth about what is there, whatever the agent says"


@pytest.mark.parametrize(
    ("tool", "hidden"),
    [
        (call(content=diff("new"), raw_input={"path": "a.txt", "content": "other"}), '"content": "other"'),
        (call("execute", raw_input={"command": "python -", "content": "import os"}), '"import os"'),
        (call(raw_input={"path": "a.txt", "content": "one", "text": "two"}), '"text": "two"'),
        (call("read", raw_input={"path": "a.txt", "command": "rm a.txt", "cmd": "ls"}), '"rm a.txt"'),
        (call("read", raw_input={"path": "a.txt", "url": "https://example.com"}), "https://example.com"),
        (call("execute", raw_input={"command": "make", "path": "/etc/x"}), "/etc/x"),
        (call("other", content=diff("new"), raw_input={"path": "b.txt"}), "b.txt"),
        (call("fetch", raw_input={"url": "https://a.org", "file": "/etc/passwd"}), "/etc/passwd"),
        (call(content=diff("new"), raw_input=["rm -rf ~"]), "rm -rf ~"),
        (call(content=diff("new"), raw_input="rm -rf ~"), "rm -rf ~"),
        (call(content=diff("new"), raw_input={"command": ["rm", 5]}), "rm"),
        (call(raw_input={"path": "a.txt", "content": "new", "command": "rm -rf ~"}), "rm -rf ~"),
        (call(raw_input={"path": "a.txt", "content": "new", "file": {"run": "rm"}}), "rm"),
        (call("execute", raw_input={"command": "ls", "cwd": "/a", "workdir": "/b"}), "/b"),
        (call("execute", raw_input={"command": "ls", "cwd": {"in": "/b"}}), "/b"),
        (call("execute", raw_input={"command": "ls", "timeout": {"then": "rm"}}), "rm"),
        (call(content=diff("new"), raw_input={"edits": [{"path": "b.txt", "new": "evil"}]}), "evil"),
        (call(content=diff("new"), raw_input={"changes": {"a.txt": {}, "b.txt": "evil"}}), "evil"),
    ],
)
def test_input_that_no_action_shows_is_shown_separately(tool: ToolCall, hidden: str) -> None:
    *_, details = actions(tool)
    assert isinstance(details, Details) and hidden in details.input


LEAVES = st.sampled_from(["one", "two", "/etc/x", "a.txt", "make", "write"])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(LEAVES, inner, max_size=2)
)
NAMES = st.sampled_from(
    [
        *(
            "command",
            "cmd",
            "args",
            "cwd",
            "workdir",
            "env",
            "path",
            "file",
            "paths",
            "content",
            "text",
            "url",
        ),
        *("old_string", "new_string", "edits", "replace_all", "anything"),
    ]
)


@given(
    st.sampled_from(["execute", "edit", "other", "read", "fetch"]),
    VALUES | st.dictionaries(NAMES, VALUES, max_size=4),
    st.lists(st.builds(Diff, st.sampled_from(["a.txt", "b.txt"]), LEAVES, st.none() | LEAVES), max_size=1),
)
def test_every_word_of_an_input_is_in_sight(kind: str, raw: Any, diffs: list[Diff]) -> None:
    found = actions(call(kind, raw_input=raw, content=tuple(diffs)), a="one")
    drawn = json.dumps([action_to_plain(it) for it in found])
    for word in words_in(raw):
        assert word in drawn or word == "write", (word, found)


def words_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from words_in(inner)


def test_a_file_that_only_the_input_names_is_judged() -> None:
    tool = call("execute", raw_input={"command": "make", "path": "keep/x"})
    request = PermissionRequest(tool, (), actions(tool))
    assert request.paths == (f"{CWD}/keep/x",)


def test_a_path_in_the_input_is_always_shown() -> None:
    tool = call(content=diff("new"), locations=(Location("c.txt"),), raw_input={"file_path": "b.txt"})
    assert actions(tool)[1:] == (FileAccess("edit", f"{CWD}/c.txt"), FileAccess("edit", f"{CWD}/b.txt"))


@pytest.mark.parametrize(
    "tool",
    [
        call(content=diff("goodbye", "hello")),
        call(raw_input={"path": "a.txt", "old_string": "hello", "new_string": "goodbye"}),
        call("other", raw_input={"path": "a.txt", "before": "hello", "after": "goodbye"}),
        call(raw_input={"path": "a.txt", "edits": [{"old_text": "hello", "new_text": "goodbye"}]}),
    ],
)
def test_an_edit_is_shown_as_the_resulting_file(tool: ToolCall) -> None:
    [found] = actions(tool, a="hello from me\n")
    edits = (Edit("hello", "goodbye"),)
    assert found == Write(A, None, "hello from me\n", "goodbye from me\n", edits)
    [found] = actions(tool, a="hello hello")
    assert isinstance(found, Write) and not found.covers and found.note == DOES_NOT_FIT


def test_an_edit_of_the_whole_file_or_of_an_empty_one() -> None:
    assert actions(call(content=diff("new", "old")), a="old") == (Write(A, None, "old", "new"),)
    assert actions(call(content=diff("new", ""))) == (Write(A, None, None, "new"),)
    assert actions(call(content=diff("new", "")), a="") == (Write(A, None, "", "new"),)
    [found] = actions(call(content=diff("new", "")), a="old")
    assert isinstance(found, Write) and not found.covers


def test_several_edits_of_one_file_are_one_write() -> None:
    tool = call(content=(*diff("a2", "a1"), *diff("b2", "b1"), *diff("new", path="c.txt")))
    first, second = actions(tool, a="a1 b1")
    assert isinstance(first, Write) and first.new_text == "a2 b2"
    assert second == Write(f"{CWD}/c.txt", None, None, "new")


def test_files_that_are_only_named() -> None:
    assert actions(call(locations=(Location("a.txt"),))) == (FileAccess("edit", A),)
    assert actions(call("delete", raw_input={"path": "a.txt"})) == (FileAccess("delete", A),)
    [other] = actions(call("search", locations=(Location("a.txt"),)))
    assert other == Other("search", None, (A,))
    assert actions(call("fetch", raw_input={"url": "https://example.org"})) == (Fetch("https://example.org"),)
    for kind in ("read", "search", "think", "delete", "move"):
        named = actions(call(kind, raw_input={"path": "a.txt", "content": "new"}))
        assert not any(isinstance(it, Write) for it in named)


def test_a_planned_notebook_write_replaces_its_json() -> None:
    planned = NotebookWrite(f"{CWD}/n.ipynb", None, "# %%\n1", "# %%\n2")
    tool = call(content=diff("{}", path="n.ipynb"), locations=(Location(f"{CWD}/n.ipynb"),))
    assert describe(tool, PLACE, looks({}), {"n.ipynb": planned}) == (planned,)


def test_a_flood_of_paths_is_bounded_and_never_granted() -> None:
    looked: list[str] = []

    def look(path: str) -> FileState:
        looked.append(path)
        return FileState(path)

    flood = call(locations=tuple(Location(f"/a/{number}") for number in range(10 * MAX_PATHS)))
    found = describe(flood, PLACE, look)
    assert len(looked) == MAX_PATHS and len(found) == MAX_PATHS + 1
    assert isinstance(found[-1], Other)


def test_the_write_of_a_client_method() -> None:
    assert describe_write(FileState(A, "/real"), "x") == Write(A, "/real", None, "x")
    assert describe_write(FileState(A, exists=True), "x").note == NOT_TEXT
    long = describe_write(FileState(A), "x" * (SHOWN_CHARS + 1))
    assert long.new_text is None and "1,000,001 characters" in (long.note or "")
    assert long != describe_write(FileState(A), "y" * (SHOWN_CHARS + 1))


def test_whether_a_call_says_that_it_does_this() -> None:
    ls = call("execute", raw_input={"command": "ls"})
    wrapped = describe_command(("/bin/bash", "-c", f"cd '{CWD}' && ls"), CWD, {}, PLACE)
    assert wrapped is not None and mentions(ls, wrapped, PLACE)
    assert not mentions(ls, Command("rm x", CWD), PLACE) and not mentions(call("execute"), wrapped, PLACE)
    assert mentions(call(locations=(Location("a.txt"),)), Write(A), PLACE)
    assert not mentions(call(locations=(Location("b.txt"),)), Write(A), PLACE)
    assert not mentions(call("read", locations=(Location("a.txt"),)), Write(A), PLACE)


# ---- as real agents do it -----------------------------------------------------------------------


def recorded(name: str) -> Iterator[Any]:
    path = Path(__file__).parent.parent / "data" / "transcripts" / f"{name}.jsonl"
    for line in filter(None, path.read_text(encoding="utf-8").split("\n")):
        message = json.loads(line).get("msg")
        if isinstance(message, dict):
            yield message


class Played:
    """A recorded session: the described and allowed actions, and the client methods that followed."""

    def __init__(self, name: str) -> None:
        known = quirks.for_agent([name], name, None)
        self.phrases = Phrases(input_in_text=known.input_in_text, bookkeeping=known.bookkeeping)
        self.harmless = known.harmless_env
        self.files: dict[str, str] = {}
        self.asked: list[Action] = []
        self.allowed: list[Action] = []
        self.came: list[tuple[str, bool]] = []
        transcript, asked = Transcript(), {}
        for message in recorded(name):
            params = message.get("params") or {}
            raw = Raw(json.dumps(params).encode())
            match message:
                case {"method": "session/new"}:
                    self.place = CommandContext(
                        params["cwd"], params["cwd"], lambda path: path, {}, self.harmless
                    )
                case {"result": {"sessionId": str(session)}}:
                    pairs = {name: it.replace(SESSION_ID, session) for name, it in self.harmless.items()}
                    self.place = changed(self.place, harmless=pairs)
                case {"method": "session/update"}:
                    transcript.apply(v1.read_update(raw)[1])
                case {"method": "session/request_permission", "id": id}:
                    question = v1.requests.read_permission(raw)
                    transcript.apply(v1_asked(question.tool))
                    tool = transcript.tool(question.tool.id)
                    described = describe(tool, self.place, looks(self.files), phrases=self.phrases)
                    self.asked += described
                    asked[id] = described, {it.id for it in question.options if it.kind == "allow_once"}
                case {"result": {"outcome": {"optionId": option}}, "id": id} if option in asked[id][1]:
                    self.allowed += asked[id][0]
                case {"method": "fs/write_text_file" | "terminal/create"}:
                    self._came(params)

    def _came(self, params: Any) -> None:
        action: Action | None
        if "content" in params:
            action = describe_write(looks(self.files)(params["path"]), params["content"])
            self.files[params["path"]] = params["content"]
        else:
            env = {it["name"]: it["value"] for it in params.get("env", ())}
            args = tuple(params.get("args", ()))
            words = (params["command"], *args) if args else params["command"]
            action = describe_command(words, params.get("cwd") or self.place.cwd, env, self.place)
        assert action is not None
        left = consume(self.allowed, action)
        self.came.append((action.kind, left is not None))
        if left is not None:
            self.allowed = list(left)


def v1_asked(tool: Any) -> Any:
    return changed(tool, asked=True)


@pytest.mark.parametrize(
    ("name", "covered", "asked"),
    [
        ("claude-code-acp", {"edit": 3, "execute": 4}, {}),
        ("kimi-code", {"execute": 4}, {"edit": 5}),  # it asks for its commands, and writes without asking
        ("goose", {"edit": 4, "execute": 4}, {}),
    ],
)
def test_what_real_agents_asked_for_covers_what_they_then_did(
    name: str, covered: dict[str, int], asked: dict[str, int]
) -> None:
    played = Played(name)
    assert Counter(kind for kind, by_allow in played.came if by_allow) == covered
    assert Counter(kind for kind, by_allow in played.came if not by_allow) == asked


@pytest.mark.parametrize("name", ["claude-code-acp", "claude-agent-acp", "codex-acp", "goose", "kimi-code"])
def test_remembered_answers_hold_for_what_real_agents_send(name: str) -> None:
    asked = Played(name).asked
    assert any(isinstance(it, Command) for it in asked)
    assert not [it for it in asked if isinstance(it, Details) and it.matters]


def test_consumed_actions_of_real_agents_cover_nothing_else() -> None:
    for action in Played("claude-code-acp").allowed:
        other = replace_line(action) if isinstance(action, Command) else Write("/elsewhere", new_text="x")
        assert not is_covered_by(other, action)


def replace_line(action: Command) -> Command:
    return Command(f"{action.line};", action.cwd, action.env)


def test_a_call_without_a_raw_input_is_not_changed() -> None:
    tool = call("execute", content=(Text("{not json"),))
    assert actions(tool, Phrases(input_in_text=True)) == actions(replace(tool), Phrases())
