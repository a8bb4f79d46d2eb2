"""What an agent asked and what it then does through MCP: an allow covers just that, once, in its own session.

The attacks: an agent that asks for one thing and calls another, or calls it twice, or elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from acp_notebook import timeouts
from acp_notebook.agent.agent_state import AgentState
from acp_notebook.agent.kernel_tools import catalog
from acp_notebook.agent.kernel_tools.cards import KernelCards
from acp_notebook.agent.kernel_tools.gate import SessionGate
from acp_notebook.agent.kernel_tools.service import KernelService
from acp_notebook.agent.known_agents.quirks import Quirks
from acp_notebook.agent.permissions.permission_manager import PermissionManager
from acp_notebook.agent.session_state import SessionState
from acp_notebook.agent.turn_queue import TurnRun
from acp_notebook.core import events as ev
from acp_notebook.core.actions import Action
from acp_notebook.core.describe import CommandContext, FileState, Phrases, describe
from acp_notebook.core.mcp_calls import Naming
from acp_notebook.core.policy import PermissionRequest, Policy
from acp_notebook.core.records import Option, Text
from acp_notebook.core.requests import AgentFacts, RequestPermission
from acp_notebook.core.rules import NO_JUDGE, Judge, Rule, Rules
from acp_notebook.core.snapshot import Question, ToolCall
from acp_notebook.wire.mcp import ToolRequest
from tests.agent.kernel_tools.fake_kernel import FakeKernel

LIMIT_S = 60.0
FOLDER = "/project"
OPTIONS = (
    Option("once", "Once", "allow_once"),
    Option("always", "Always", "allow_always"),
    Option("no", "No", "reject_once"),
)
CLAUDE = Naming(meta=("claudeCode", "toolName"), servers=("kernel",), kernel="kernel")
UNIQUE = Naming(meta=("claudeCode", "toolName"), servers=("kernel_3f9a2c",), kernel="kernel_3f9a2c")
"""As sessions name the server."""
OPENCODE = Naming(servers=("kernel",), title=True, kernel="kernel")


@pytest.fixture(autouse=True)
def own_grants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(tmp_path))
    timeouts.replace(tool_own_call=0.02)


def run(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    @wraps(test)
    def runs(*args: Any, **kwargs: Any) -> None:
        async def main() -> None:
            await asyncio.wait_for(asyncio.ensure_future(test(*args, **kwargs)), LIMIT_S)

        asyncio.run(main())

    return runs


class NoEditor:
    async def edit(self, request: ToolRequest, edits: Sequence[catalog.Edit]) -> str:
        raise AssertionError("not used here")


class FakeDescriber:
    def __init__(self, naming: Naming) -> None:
        self.place = CommandContext(FOLDER, FOLDER, lambda path: path)
        self.phrases = Phrases(naming=naming)

    async def call(self, tool: ToolCall) -> tuple[Action, ...]:
        return describe(tool, self.place, FileState, phrases=self.phrases)


class Work:
    """An agent in a session whose user allows what the agent asks (`answer`) and rejects what we ask."""

    def __init__(
        self,
        *,
        answer: str = "once",
        policy: Policy | None = None,
        judge: Judge = NO_JUDGE,
        naming: Naming = CLAUDE,
        **options: Any,
    ) -> None:
        self.state = SessionState(AgentState("agent", AgentFacts(1), Quirks(), identity="agent"), FOLDER)
        self.state.id = "s1"
        self.state.running = TurnRun((), "t1")
        self.answer = answer
        self.ours = "reject"
        self.requests: list[PermissionRequest] = []
        self.permissions = PermissionManager(
            self.state, policy or self._policy, [FOLDER], FakeDescriber(naming), judge
        )
        self.cards = KernelCards()
        rewrite = self.state.rewrite
        self.state.rewrite = lambda event: self.cards.seen(rewrite(event))
        self.kernel = FakeKernel()
        gate = SessionGate(
            self.permissions,
            self.state.auditor,
            self.cards,
            self.state.apply,
            self.state.calls.open,
            lambda: naming,
            lambda: self.state.accepts_actions,
        )
        self.service = KernelService(self.kernel, gate, NoEditor(), **options)

    def _policy(self, request: PermissionRequest) -> str:
        self.requests.append(request)
        return self.answer if request.options == OPTIONS else self.ours

    def update(self, id: str, **fields: Any) -> None:
        self.state.apply(ev.ToolChanged(id, **fields))

    async def ask(self, id: str, tool: str = "run_code", **fields: Any) -> str | None:
        """The agent's own question, as claude names its tools."""
        meta = {"claudeCode": {"toolName": f"mcp__kernel__{tool}"}}
        asked = ev.ToolChanged(id, **{"meta": meta, **fields})
        return await self.permissions.handle_request(RequestPermission("s1", asked, OPTIONS))

    async def mcp(self, name: str = "run_code", id: str | None = None, /, **arguments: Any) -> bool:
        """The MCP call; whether it was done."""
        result = await self.service.call(ToolRequest(name, arguments, id))
        return not result.failed

    @property
    def ran(self) -> list[str]:
        return [it.state.code for it in self.kernel.runs]

    def questions(self) -> list[Question]:
        items = self.state.read(lambda transcript: transcript.snapshot()).items
        return [item for item in items if isinstance(item, Question)]


# ---- a server of the agent's own with our name ---------------------------------------------------


@pytest.mark.parametrize("tool", ["list_variables", "interrupt", "run_code", "run_cells", "edit_notebook"])
@run
async def test_a_server_that_the_agent_calls_kernel_itself_is_asked_about(tool: str) -> None:
    """Attack: the agent's configuration, or a project's, has a server of that name. We allow the reads of our
    own, and what our own asks about later; about a call of another one nothing asks later."""
    agent = Work(answer="no", naming=UNIQUE)
    assert await agent.ask("1", tool, raw_input={}) == "no"
    (request,) = agent.requests
    assert request.mcp is not None and request.mcp.tool == tool


@run
async def test_an_allow_for_another_servers_code_is_none_for_ours() -> None:
    agent = Work(naming=UNIQUE)
    assert await agent.ask("1", raw_input={"code": "x = 1"}) == "once"
    assert not await agent.mcp("run_code", None, code="x = 1")
    assert agent.ran == []


@run
async def test_a_rule_that_allows_our_tools_allows_no_other_servers() -> None:
    rules = Rules(rules=(Rule(say="allow", server="kernel", tool="run_code"),))
    agent = Work(policy="ask", naming=UNIQUE, judge=Judge(own=rules))
    assert await agent.ask("1", raw_input={"code": "x = 1"}) != "once"
    named = {"claudeCode": {"toolName": "mcp__kernel_3f9a2c__run_code"}}
    assert await agent.ask("2", raw_input={"code": "x = 1"}, meta=named) == "once"


# ---- one allow, one code, once ------------------------------------------------------------------


@run
async def test_what_was_allowed_runs_once_and_the_user_is_asked_once() -> None:
    agent = Work()
    assert await agent.ask("1", raw_input={"code": "x = 1"}) == "once"
    assert await agent.mcp("run_code", "1", code="x = 1")
    assert not await agent.mcp("run_code", "1", code="x = 1")
    assert agent.ran == ["x = 1"]
    assert [it.options == OPTIONS for it in agent.requests] == [True, False]


@pytest.mark.parametrize(
    "code",
    ["x = 2", "x = 1 ", "x = 1\n", "x = 1\0", "x\u00a0= 1", "\u0445 = 1", "x = 1  # \u202e", ""],
    ids=repr,
)
@pytest.mark.parametrize("id", ["1", "2", None])
@run
async def test_other_code_is_asked_about_however_it_resembles(code: str, id: str | None) -> None:
    agent = Work()
    await agent.ask("1", raw_input={"code": "x = 1"})
    assert not await agent.mcp("run_code", id, code=code)
    assert agent.ran == [] and agent.requests[-1].code == code


@run
async def test_arguments_that_a_tool_does_not_know_change_nothing() -> None:
    agent = Work()
    await agent.ask("1", raw_input={"code": "x = 1", "Code": "y", "code ": "z"})
    assert not await agent.mcp("run_code", None, **{"code": "evil()", "Code": "x = 1", "code ": "x = 1"})
    assert await agent.mcp("run_code", None, code="x = 1", wait_s="5", extra=True)
    assert agent.ran == ["x = 1"]


@run
async def test_two_calls_at_once_use_an_allow_up() -> None:
    agent = Work()
    await agent.ask("1", raw_input={"code": "x = 1"})
    done = await asyncio.gather(*(agent.mcp("run_code", None, code="x = 1") for _ in range(5)))
    assert sorted(done) == [False] * 4 + [True] and agent.ran == ["x = 1"]


@run
async def test_an_input_that_is_shown_only_after_the_answer_covers_nothing() -> None:
    agent = Work()
    await agent.ask("1", raw_input={"code": "x = 1"})
    agent.update("1", raw_input={"code": "evil()"})
    assert not await agent.mcp("run_code", "1", code="evil()")
    await agent.ask("2")  # no code: it is asked about when it is known
    agent.update("2", raw_input={"code": "evil()"})
    assert not await agent.mcp("run_code", "2", code="evil()")
    assert agent.ran == []


@run
async def test_an_id_that_is_used_again_is_another_call() -> None:
    agent = Work()
    await agent.ask("1", raw_input={"code": "x = 1"})
    assert await agent.mcp("run_code", "1", code="x = 1")
    agent.update("1", status="completed")
    agent.answer = "no"
    await agent.ask("1", raw_input={"code": "x = 1"})
    assert not await agent.mcp("run_code", "1", code="x = 1")
    assert agent.ran == ["x = 1"]


@run
async def test_an_allow_ends_with_its_call_and_with_its_turn() -> None:
    agent = Work()
    await agent.ask("1", raw_input={"code": "x = 1"})
    agent.update("1", status="completed")
    assert not await agent.mcp("run_code", None, code="x = 1")
    await agent.ask("2", raw_input={"code": "x = 1"})
    agent.state.apply(ev.TurnEnded("done", "end_turn"))
    agent.permissions.turn_started()
    agent.state.apply(ev.TurnStarted((), "t2"))
    assert not await agent.mcp("run_code", "2", code="x = 1")
    assert agent.ran == []


@run
async def test_nothing_is_begun_for_a_turn_that_is_being_cancelled() -> None:
    agent = Work()
    await agent.ask("1", raw_input={"code": "x = 1"})
    assert agent.state.running is not None
    agent.state.running.cancelling = True
    agent.state.apply(ev.TurnCancelling())
    assert not await agent.mcp("run_code", "1", code="x = 1")
    assert agent.ran == []


@run
async def test_what_was_rejected_is_not_done() -> None:
    agent = Work(answer="no")
    assert await agent.ask("1", raw_input={"code": "x = 1"}) == "no"
    assert not await agent.mcp("run_code", "1", code="x = 1")
    assert agent.ran == []


@run
async def test_an_allow_in_one_session_is_none_in_another() -> None:
    """opencode sends the calls of one session over the connection of another."""
    one, other = Work(), Work()
    await one.ask("1", raw_input={"code": "x = 1"})
    assert not await other.mcp("run_code", "1", code="x = 1")
    other.state.running = None
    other.ours = "allow"
    assert not await other.mcp("run_code", "1", code="x = 1")  # no turn runs there
    assert one.ran == other.ran == []


@run
async def test_an_allow_for_code_is_none_for_cells_of_that_code_nor_the_other_way() -> None:
    agent = Work()
    await agent.ask("1", raw_input={"code": "x = 1", "cells": ["aaaa1111"]})
    assert not await agent.mcp("run_cells", "1", cells=["aaaa1111"])
    await agent.ask("2", "run_cells", raw_input={"cells": ["aaaa1111"], "code": "x = 2"})
    assert not await agent.mcp("run_code", "2", code="x = 2")
    assert not await agent.mcp("run_cells", "2", cells=["aaaa1111"])
    assert agent.kernel.runs == []


@pytest.mark.parametrize("title", ["kernel_run_code", "mcp__kernel__run_code", "Run: x = 1", "run_code"])
@run
async def test_a_title_covers_nothing(title: str) -> None:
    agent = Work(naming=OPENCODE)
    await agent.ask("1", title=title, kind="other", meta=None)
    assert not await agent.mcp("run_code", None, code="x = 1")
    assert agent.ran == []


@pytest.mark.parametrize("tool", ["list_variables", "read_notebook", "wait"])
@run
async def test_a_title_of_a_read_is_not_believed_of_a_call_with_another_input(tool: str) -> None:
    """Attack: opencode titles a task with words of the model's; as a read it would be allowed unasked."""
    agent = Work(naming=OPENCODE, answer="no")
    raw = {"description": f"kernel_{tool}", "prompt": "delete everything", "subagent_type": "general"}
    assert await agent.ask("1", title=f"kernel_{tool}", kind="other", meta=None, raw_input=raw) == "no"
    assert len(agent.requests) == 1
    policy = Work(naming=OPENCODE, policy="ask")
    assert await policy.ask("1", title=f"kernel_{tool}", kind="other", meta=None, raw_input=raw) == "no"
    honest = await policy.ask("2", title=f"kernel_{tool}", kind="other", meta=None, raw_input={})
    assert honest == "once"


# ---- always -------------------------------------------------------------------------------------


@run
async def test_an_agents_always_for_one_code_does_not_allow_all_code() -> None:
    """Attack: its button said nothing of that."""
    agent = Work(answer="always")
    assert await agent.ask("1", raw_input={"code": "x = 1"}) == "always"
    agent.ours = "ask"  # nobody is there: what was remembered answers, or it is a reject
    assert not await agent.mcp("run_code", "2", code="evil()")
    assert agent.ran == []


# ---- rules and policies -------------------------------------------------------------------------

NO_CODE = Judge(own=Rules(rules=(Rule(say="reject", server="kernel", tool="run_code"),)))


@run
async def test_a_rule_against_a_tool_counts_also_where_the_agent_named_it_otherwise() -> None:
    agent = Work(judge=NO_CODE, naming=Naming(servers=("kernel_1",), kernel="kernel_1"))
    await agent.ask("1", title="kernel_1_run_code", meta=None, raw_input={"code": "x = 1"})
    agent.ours = "allow"
    assert not await agent.mcp("run_code", "1", code="x = 1")
    assert agent.ran == []


@run
async def test_a_look_that_needs_code_is_rejected_where_code_is() -> None:
    agent = Work(judge=NO_CODE)
    agent.ours = "allow"
    assert not await agent.mcp("inspect_variable", name="odd")
    assert await agent.mcp("inspect_variable", name="df")
    assert agent.ran == []


@run
async def test_a_rule_for_looking_at_variables_runs_no_code() -> None:
    """Attack: the user allowed a read, and a read it is."""
    looks = Rules(rules=(Rule(say="allow", server="kernel", tool="inspect_variable"),))
    agent = Work(policy="ask", judge=Judge(own=looks))
    assert await agent.mcp("inspect_variable", name="df")
    assert not await agent.mcp("inspect_variable", name="odd")
    assert agent.ran == []


@run
async def test_a_look_runs_no_code_where_the_tool_that_runs_code_is_denied() -> None:
    agent = Work(denied=("run_code",))
    agent.ours = "allow"
    assert await agent.mcp("inspect_variable", name="odd")  # what can be said without
    assert agent.ran == [] and agent.requests == []


READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("list_variables", {}),
    ("inspect_variable", {"name": "df"}),
    ("read_notebook", {}),
    ("read_output", {"cell": "[1]"}),
)


@pytest.mark.parametrize(
    "policy, allowed",
    [
        ("ask", True),
        ("allow", True),
        ("reject", False),
        ({"read": "reject"}, False),
        ({"execute": "reject"}, True),
        ({"read": "ask"}, True),
    ],
    ids=str,
)
@run
async def test_a_policy_that_rejects_reads_rejects_those_of_the_kernel(policy: Any, allowed: bool) -> None:
    agent = Work(policy=policy)
    for name, arguments in READS:
        assert await agent.mcp(name, **arguments) is allowed, name
    assert agent.questions() == []


@pytest.mark.parametrize(
    "policy, runs",
    [
        ("allow", True),
        ("reject", False),
        ("ask", False),  # nobody is there
        ({"execute": "allow"}, True),
        ({"execute": "allow", "other": "reject"}, True),
        ({"execute": "reject", "other": "allow"}, False),
        ({"other": "allow", "read": "allow", "edit": "allow"}, False),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["other", "read", "execute", "think"])
@run
async def test_code_is_judged_as_code_whatever_the_agent_calls_it(policy: Any, runs: bool, kind: str) -> None:
    agent = Work(policy=policy)
    meta = {"claudeCode": {"toolName": "mcp__kernel__run_code"}}
    agent.update("1", kind=kind, meta=meta, raw_input={"code": "x = 1"}, created=True)
    assert await agent.mcp("run_code", "1", code="x = 1") is runs
    assert agent.ran == ["x = 1"] * runs


# ---- cards --------------------------------------------------------------------------------------


@run
async def test_a_question_about_another_call_of_that_id_shows_what_it_is_about() -> None:
    """Attack: the id of a run is used again, so that the next question stands on a card without words."""
    agent = Work()
    await agent.ask("1", raw_input={"code": "x = 1"})
    assert await agent.mcp("run_code", "1", code="x = 1")
    plan = (Text("Delete the data"),)
    await agent.ask("1", meta=None, title="Leave plan mode", kind="switch_mode", content=plan)
    shown = agent.state.read(lambda transcript: transcript.tool("1"))
    assert (shown.title, shown.kind, shown.content) == ("Leave plan mode", "switch_mode", plan)


@run
async def test_a_run_is_not_shown_on_the_card_of_a_command() -> None:
    agent = Work()
    agent.update("1", title="Bash", kind="execute", raw_input={"command": "ls"}, created=True)
    agent.ours = "allow"
    assert await agent.mcp("run_code", "1", code="x = 1")
    shown = agent.state.read(lambda transcript: transcript.tool("1"))
    assert (shown.title, shown.content) == ("Bash", ())
