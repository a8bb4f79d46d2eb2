"""An allow for a call of the kernel's tools covers that code, once; calls are tied by id, else by content."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from acp_notebook.core.actions import (
    CallFunction,
    Command,
    KernelCall,
    McpCall,
    Other,
    RunCells,
    RunCode,
    action_from_plain,
    action_to_plain,
    consume,
)
from acp_notebook.core.describe import CommandContext, FileState, Phrases, describe
from acp_notebook.core.export.text import actions_text
from acp_notebook.core.grants import CODE, Grant, matches, offers, problem
from acp_notebook.core.kernel_tools.calls import matching_call
from acp_notebook.core.mcp_calls import Naming
from acp_notebook.core.policy import PermissionRequest, word_for
from acp_notebook.core.rules import Judge, Rule, Rules
from acp_notebook.core.snapshot import ToolCall

CLAUDE = Naming(meta=("claudeCode", "toolName"), servers=("kernel",), kernel="kernel")
GEMINI = Naming(servers=("kernel",), title=True, kernel="kernel")
UNKNOWN = Naming(servers=("kernel",), kernel="kernel")
PLACE = CommandContext("/w", "/w", lambda path: path)


def call(id: str = "1", title: str = "", tool: str | None = None, **fields: Any) -> ToolCall:
    meta = None if tool is None else {"claudeCode": {"toolName": f"mcp__kernel__{tool}"}}
    given: dict[str, Any] = {"kind": "other", "status": "pending", "meta": meta, **fields}
    return ToolCall("k" + id, None, id, title, **given)


def described(tool: ToolCall, naming: Naming) -> tuple[Any, ...]:
    return describe(tool, PLACE, FileState, phrases=Phrases(naming=naming))


SURE = McpCall("kernel", "run_code", sure=True)


# ---- what a call describes ----------------------------------------------------------------------


def test_a_call_that_is_surely_ours_is_described_by_its_code() -> None:
    tool = call(tool="run_code", raw_input={"code": "x = 1", "purpose": "Set x", "wait_s": 5})
    assert described(tool, CLAUDE) == (SURE, RunCode("x = 1", "Set x"))


def test_a_read_and_what_shows_no_code_are_described_as_such() -> None:
    assert described(call(tool="list_variables"), CLAUDE)[1] == KernelCall("list_variables")
    assert described(call(tool="run_code"), CLAUDE)[1] == KernelCall("run_code", later=True)
    edit = call(tool="edit_notebook", raw_input={"edits": []})
    assert described(edit, CLAUDE)[1] == KernelCall("edit_notebook", later=True)


def test_codex_shows_the_arguments_below_server_and_tool() -> None:
    raw = {"server": "kernel", "tool": "run_code", "arguments": {"code": "1"}}
    naming = Naming(input=True, kernel="kernel")
    assert described(call(title="mcp.kernel.run_code", raw_input=raw), naming) == (SURE, RunCode("1"))


@pytest.mark.parametrize("title", ["list_variables (kernel MCP Server)", "mcp__kernel__list_variables"])
def test_a_title_that_a_model_words_allows_nothing_by_itself(title: str) -> None:
    """Attack: a command whose title says that it only reads."""
    tool = call(title=title, kind="execute", raw_input={"command": "rm -rf ~"})
    for naming in (UNKNOWN, GEMINI):
        found = described(tool, naming)
        assert any(isinstance(it, Command) and it.line == "rm -rf ~" for it in found)
        assert not any(isinstance(it, KernelCall) for it in found)


def test_a_title_is_believed_where_the_agent_itself_makes_it() -> None:
    tool = call(title="list_variables (kernel MCP Server)")
    assert described(tool, GEMINI)[1] == KernelCall("list_variables")
    assert isinstance(described(tool, UNKNOWN)[1], Other)


def test_another_server_of_that_tool_name_is_not_ours() -> None:
    tool = call(meta={"claudeCode": {"toolName": "mcp__other__list_variables"}})
    assert not any(isinstance(it, KernelCall) for it in described(tool, CLAUDE))
    off = Naming(meta=("claudeCode", "toolName"))
    assert not any(isinstance(it, KernelCall) for it in described(call(tool="list_variables"), off))


# ---- what an allow covers -----------------------------------------------------------------------


def test_an_allow_for_one_code_is_none_for_another_and_none_twice() -> None:
    left = consume((SURE, RunCode("x = 1", "Set x")), RunCode("x = 1"))
    assert left == (SURE,)
    assert consume(left, RunCode("x = 1")) is None
    assert consume((RunCode("x = 1"),), RunCode("x = 1 ")) is None
    assert consume((RunCode("x = 1"),), RunCells((("a", "x = 1"),))) is None
    assert consume((KernelCall("run_code", later=True),), RunCode("x = 1")) is None


def test_cells_are_covered_with_their_sources_and_order() -> None:
    allowed = RunCells((("a", "1"), ("b", "2")))
    assert consume((allowed,), RunCells((("a", "1"), ("b", "2")))) == ()
    assert consume((allowed,), RunCells((("b", "2"), ("a", "1")))) is None
    assert consume((allowed,), RunCells((("a", "1"), ("b", "3")))) is None


def test_code_can_be_granted_for_the_session_and_no_longer() -> None:
    (offer,) = offers(SURE, RunCode("1"), cwd="/w")
    assert (offer.scope, offer.kind, offer.name) == ("session", CODE, "Allow all code in this session")
    grant = offer.grant(id="1", agent="a", workspace="/w")
    assert matches(grant, "a", "/w", RunCode("other")) and matches(grant, "a", "/w", RunCells(()))
    assert not matches(grant, "a", "/w", Command("ls", "/w"))
    assert not matches(grant, "b", "/w", RunCode("1"))
    lasting = Grant(id="1", agent="a", kind=CODE, scope="always")
    assert problem(lasting) is not None and not matches(lasting, "a", "/w", RunCode("1"))


def test_a_grant_for_a_command_does_not_reach_the_kernel() -> None:
    grant = Grant(id="1", agent="a", kind="execute", scope="session", workspace="/w", command="1")
    assert not matches(grant, "a", "/w", RunCode("1"))


def test_policies_and_rules_see_the_code() -> None:
    request = PermissionRequest(call(kind="execute"), (), (SURE, RunCode("import os")))
    assert request.kind == "execute" and request.code == "import os" and request.command is None
    assert word_for({"execute": "reject"}, request) == "reject"
    by_tool = Judge(own=Rules(rules=(Rule(say="allow", server="kernel", tool="run_code"),)))
    assert by_tool.judged("ask", "execute", request.actions)[0] == "allow"
    by_path = Judge(own=Rules(rules=(Rule(say="allow", path="/"),)))
    assert by_path.judged("ask", "execute", request.actions)[0] == "ask"
    cells = PermissionRequest(call(), (), (RunCells((("a", "1"), ("b", "2"))),))
    assert cells.code == "1\n\n2"


def test_actions_survive_the_file() -> None:
    for action in (
        RunCode("1", "why"),
        RunCode("1"),
        RunCells((("a", "1"),)),
        KernelCall("wait", later=True),
    ):
        assert action_from_plain(action_to_plain(action)) == action


# ---- which of the agent's calls it is -----------------------------------------------------------


def test_the_id_counts_unless_the_call_is_plainly_another() -> None:
    code = call("1", tool="run_code", raw_input={"code": "1"})
    other = call("2", tool="list_variables")
    found = matching_call([code, other], CLAUDE, "run_code", {"code": "2"}, "1")
    assert found is code  # which code it may run is not decided by the id
    assert matching_call([code, other], CLAUDE, "run_code", {"code": "1"}, "2") is None


def test_without_an_id_name_and_arguments_count() -> None:
    one = call("1", tool="run_code", raw_input={"code": "1"})
    two = call("2", tool="run_code", raw_input={"code": "2"})
    assert matching_call([one, two], CLAUDE, "run_code", {"code": "2"}, None) is two
    assert matching_call([one, two], CLAUDE, "run_code", {"code": "3"}, None) is None
    assert matching_call([one, two], CLAUDE, "run_code", {"code": "2"}, "gone") is two


def test_a_call_without_arguments_counts_if_it_is_the_only_one() -> None:
    silent = call("1", title="run_code (kernel MCP Server)")
    assert matching_call([silent], GEMINI, "run_code", {"code": "1"}, None) is silent
    again = call("2", title="run_code (kernel MCP Server)")
    assert matching_call([silent, again], GEMINI, "run_code", {"code": "1"}, None) is None


# ---- functions

SEND = CallFunction("send", (("to", '"Ada"'), ("text", '"' + "x" * 100 + '"')), "function-1")


def test_a_call_of_a_function_is_covered_by_the_same_call_of_the_same_function() -> None:
    assert consume((SEND,), SEND) == ()
    assert consume((SEND,), replace(SEND, identity="function-2")) is None
    assert consume((SEND,), replace(SEND, arguments=SEND.arguments[:1])) is None
    assert consume((RunCode(SEND.text),), SEND) is None


def test_a_grant_for_a_function_ends_with_the_session_and_covers_nothing_else() -> None:
    (offer,) = offers(SURE, SEND, cwd="/w")
    assert (offer.name, offer.scope) == ("Allow send in this session", "session")
    grant = offer.grant(id="g", agent="a", workspace="/w")
    assert matches(grant, "a", "/w", replace(SEND, arguments=()))
    assert not matches(grant, "a", "/w", replace(SEND, identity="function-2"))
    assert not matches(grant, "a", "/w", RunCode("1"))
    assert problem(replace(grant, scope="workspace")) is not None
    assert offers(SURE, replace(SEND, identity=""), cwd="/w") == ()


def test_a_question_about_a_function_shows_each_argument_in_full() -> None:
    text = actions_text((SURE, SEND))
    assert "Call: send" in text and 'to: "Ada"' in text and "x" * 100 in text
    assert "kernel/" not in text
    assert action_from_plain(action_to_plain(SEND)) == replace(SEND, identity="")
