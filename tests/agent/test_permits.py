"""What was allowed covers what is done; what is asked about is what would be done."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from acp_notebook.agent.auditing import Auditor
from acp_notebook.agent.permissions.permits import Denied, Permits
from acp_notebook.core import events as ev
from acp_notebook.core.acts import Act
from acp_notebook.core.facts import PermissionAsked
from acp_notebook.core.policy import PermissionRequest
from acp_notebook.core.records import Diff, Option, Text
from acp_notebook.core.redaction import Redactor
from acp_notebook.core.rules import NO_JUDGE, Judge, Rule, Rules
from acp_notebook.core.snapshot import ToolCall
from acp_notebook.core.transcript import Transcript

LIMIT_S = 60.0
FOLDER = "/project"
OPTIONS = (
    Option("once", "Once", "allow_once"),
    Option("always", "For this session", "allow_always"),
    Option("no", "No", "reject_once"),
)


class Conversation:
    """As much of one as permits need; a turn is running in it."""

    cwd = FOLDER
    running = SimpleNamespace(cancelling=False)
    host = SimpleNamespace(launch=SimpleNamespace(identity="agent", replay=None, redactor=Redactor()))

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.apply = self.transcript.apply

    def read(self, reader: Any) -> Any:
        return reader(self.transcript)

    read_calls = read


class Work:
    """What an agent does, and how its questions and ours are answered ("ask": nobody is there)."""

    def __init__(self, answer: str = "always", ours: str = "ask", judge: Judge = NO_JUDGE) -> None:
        conversation: Any = Conversation()
        self.conversation = conversation
        auditor = Auditor(lambda: ("s1", "t1"))
        self.permits = Permits(self.conversation, self._policy, [FOLDER], auditor, judge)
        self.answer, self.ours = answer, ours
        self.seen: list[ToolCall] = []

    def _policy(self, request: PermissionRequest) -> str:
        self.seen.append(request.tool)
        return self.answer if request.options == OPTIONS else self.ours

    async def call(self, id: str, **fields: Any) -> None:
        self.conversation.apply(ev.ToolChanged(id, created=True, status="pending", **fields))

    async def ask(self, id: str) -> str | None:
        return await self.permits.asked(PermissionAsked("s1", ev.ToolChanged(id), OPTIONS))

    async def run(self, line: str) -> None:
        named = {"command": line}
        await self.permits.permit(
            Act("execute", FOLDER, line),
            lambda id: ev.ToolChanged(id, title=line, kind="execute", raw_input=named, created=True),
        )

    async def end(self, id: str) -> None:
        self.conversation.apply(ev.ToolChanged(id, status="completed"))


@pytest.fixture(autouse=True)
def own_grants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(tmp_path))


def test_always_for_a_question_that_named_nothing_is_for_the_command_that_it_turned_out_to_be() -> None:
    async def work() -> None:
        agent = Work()
        await agent.call("a", title="Bash", kind="execute")
        await agent.ask("a")
        await agent.run("make test")
        await agent.end("a")
        agent.permits.turn_started()
        await agent.run("make test")  # the agent does not ask any more
        with pytest.raises(Denied):
            await agent.run("make install")

    asyncio.run(asyncio.wait_for(work(), LIMIT_S))


def test_once_for_a_question_that_named_nothing_is_for_one_command() -> None:
    async def work() -> None:
        agent = Work("once")
        await agent.call("a", title="Bash", kind="execute")
        await agent.ask("a")
        await agent.run("make test")
        with pytest.raises(Denied):
            await agent.run("make test")

    asyncio.run(asyncio.wait_for(work(), LIMIT_S))


def test_always_for_one_call_is_not_for_a_later_question_under_the_same_id() -> None:
    async def work() -> None:
        agent = Work("always")
        await agent.call("a", title="Bash", kind="execute")
        await agent.ask("a")
        await agent.run("make test")
        agent.answer = "once"
        await agent.ask("a")
        await agent.run("make install")
        with pytest.raises(Denied):
            await agent.run("make install")

    asyncio.run(asyncio.wait_for(work(), LIMIT_S))


def test_our_allow_of_a_command_is_for_one_that_runs_also_while_it_runs() -> None:
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
        ("pwd", "cd sub && pwd", False),  # where that leads is the environment's to say
        ("pwd", "pwd", False),
        ("rm a; rm b", f"cd '{FOLDER}/sub' && rm a; rm b", False),  # without the folder, b is another file
        ("rm a || rm b", f"cd '{FOLDER}/sub' && rm a || rm b", False),
        ("rm a & rm b", f"cd '{FOLDER}/sub' && rm a & rm b", False),
    ],
)
def test_a_shell_may_go_by_itself_to_the_folder_that_its_call_named(
    named: str, line: str, covered: bool
) -> None:
    async def work() -> None:
        agent = Work("once")
        await agent.call("a", kind="execute", raw_input={"command": named, "cwd": f"{FOLDER}/sub"})
        await agent.ask("a")
        if covered:
            return await agent.run(line)
        with pytest.raises(Denied):
            await agent.run(line)

    asyncio.run(asyncio.wait_for(work(), LIMIT_S))


def test_a_question_that_cuts_the_command_does_not_hide_what_the_call_has_shown() -> None:
    async def work() -> None:
        agent = Work()
        whole = Text('{"command": "make test; make install"}')
        await agent.call("a", title="Bash", kind="execute", content=(whole,))
        asked = ev.ToolChanged("a", content=(Text("Running: make …"),))
        await agent.permits.asked(PermissionAsked("s1", asked, OPTIONS))
        (tool,) = agent.seen
        assert tool.content == (whole, Text("Running: make …"))

    asyncio.run(asyncio.wait_for(work(), LIMIT_S))


def test_our_question_about_a_call_of_the_agents_shows_what_would_be_written() -> None:
    async def work() -> None:
        agent = Work()
        path = f"{FOLDER}/a.txt"
        pretended = Diff(path, "harmless", None)
        await agent.call("a", title="Write", kind="edit", content=(pretended, Text("{…}")))
        real = Diff(path, "real", "old")
        with pytest.raises(Denied):
            await agent.permits.permit(Act("edit", path), lambda id: ev.ToolChanged(id, content=(real,)))
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
def test_a_rule_rejects_what_a_call_does_whatever_it_calls_itself(
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
