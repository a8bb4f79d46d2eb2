"""Which MCP tool a call uses: sure only where the agent names its tools, whatever titles say."""

from __future__ import annotations

from typing import Any

import pytest

from acp_notebook.agent.known_agents import quirks
from acp_notebook.core.actions import McpCall
from acp_notebook.core.mcp_calls import Naming, mcp_call
from acp_notebook.core.snapshot import ToolCall

SURE = McpCall("kernel", "run_code", sure=True)
UNSURE = McpCall("kernel", "run_code")


def call(title: str = "", **fields: Any) -> ToolCall:
    return ToolCall(
        **{
            "key": "k",
            "turn": None,
            "id": "1",
            "title": title,
            "kind": "other",
            "status": "pending",
            **fields,
        }
    )


def naming(agent: str, *servers: str) -> Naming:
    known = quirks.for_agent([agent], agent, None)
    return Naming(known.tool_name_in_meta, known.mcp_in_input, known.own_servers, servers)


INPUT = {"server": "kernel", "tool": "run_code", "arguments": {"code": "1"}}


@pytest.mark.parametrize(
    ("agent", "tool", "found"),
    [
        # as real agents name it
        ("claude-code-acp", call(meta={"claudeCode": {"toolName": "mcp__kernel__run_code"}}), SURE),
        ("claude-agent-acp", call("mcp__kernel__run_code", name="mcp__kernel__run_code"), SURE),
        ("codex-acp", call("mcp.kernel.run_code", kind="execute", raw_input=INPUT), SURE),
        ("qwen-code", call("{}", kind="read", meta={"toolName": "mcp__kernel__run_code"}), SURE),
        ("kimi", call("mcp__kernel__run_code"), UNSURE),
        ("gemini", call("run_code (kernel MCP Server)"), UNSURE),
        ("opencode", call("kernel_run_code"), UNSURE),
        ("copilot", call("kernel-run_code"), UNSURE),
        ("other", call("kernel/run_code"), UNSURE),
        # none
        ("claude-code-acp", call("Write", meta={"claudeCode": {"toolName": "mcp__acp__Write"}}), None),
        ("claude-agent-acp", call("ls", name="Bash"), None),
        ("opencode", call("kernels_run_code"), None),
        ("other", call("Read file"), None),
        ("other", call("kernel"), None),
        ("other", call(raw_input={"server": "kernel", "tool": "run_code", "more": 1}), None),
    ],
)
def test_how_agents_name_the_tools_of_servers(agent: str, tool: ToolCall, found: McpCall | None) -> None:
    assert mcp_call(tool, naming(agent, "kernel")) == found


@pytest.mark.parametrize(
    ("agent", "tool"),
    [
        # a title that lies: a model words it, or the server whose tool it is
        ("claude-agent-acp", call("mcp__kernel__run_code")),
        ("claude-agent-acp", call("mcp__kernel__run_code", name="mcp__evil__x")),
        ("claude-agent-acp", call("mcp__kernel__run_code", name="Task", kind="think")),
        ("gemini", call("run_code (kernel MCP Server) (evil MCP Server)")),
        ("gemini", call("run_code (kernel MCP Server)", kind="execute")),
        # arguments like those of another agent's calls
        ("claude-agent-acp", call("mcp.kernel.run_code", name="mcp__evil__x", raw_input=INPUT)),
        ("copilot", call("mcp.kernel.run_code", raw_input=INPUT)),
        ("codex-acp", call("mcp.evil.x", raw_input=INPUT)),
        ("codex-acp", call("mcp.kernel.run_code", raw_input={**INPUT, "command": "rm"})),
        # what another agent means by a field
        ("other", call(meta={"toolName": "mcp__kernel__run_code"})),
        ("other", call(meta={"claudeCode": {"toolName": "mcp__kernel__run_code"}})),
        # two names
        ("claude-agent-acp", call(name="mcp__kernel__run_code", meta={"claudeCode": {"toolName": "Bash"}})),
        # a name that can be read in two ways
        ("claude-agent-acp", call(name="mcp__kernel__run__code")),
        ("claude-agent-acp", call(name="mcp__kernel___run_code")),
        ("claude-agent-acp", call(name="mcp____run_code")),
        ("claude-agent-acp", call(name="mcp__kernel__")),
        ("claude-agent-acp", call(name="MCP__kernel__run_code")),
        ("claude-agent-acp", call(name="x mcp__kernel__run_code")),
        ("claude-agent-acp", call(name="mcp__kernel__run_code\n")),
    ],
)
def test_a_forgeable_name_is_not_sure(agent: str, tool: ToolCall) -> None:
    assert mcp_call(tool, naming(agent)) != SURE
