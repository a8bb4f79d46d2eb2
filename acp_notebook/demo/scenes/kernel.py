"""Scenes that use the notebook's kernel through MCP, as any agent does: variables, code, figures, cells."""

from __future__ import annotations

import json

from ..blocks import text_block
from ..commands import Misuse, command
from ..mcp import McpServer, McpTrouble, started
from ..rpc import Json
from ..turn import Turn

OFF = (
    "I cannot see your kernel: the tools are off. In a notebook they are on by default; "
    '`acp.connect("demo", tools=True)` asks for them.'
)

FIGURE = """\
import matplotlib.pyplot as plt

{name}.select_dtypes("number").plot(subplots=True, figsize=(7, 4), title="{name}")
plt.tight_layout()
plt.show()"""

PLAIN_FIGURE = """\
import math
import matplotlib.pyplot as plt

steps = [step / 10 for step in range(100)]
plt.figure(figsize=(7, 3))
plt.plot(steps, [math.sin(step) for step in steps])
plt.title("A sine, for want of a data frame")
plt.show()"""


@command("data", "Look at the variables of your kernel, or at one of them", "[NAME]")
async def data(turn: Turn, args: str) -> None:
    server = await kernel_server(turn)
    if server is None:
        return
    name = args.strip()
    if name:
        result = await use(turn, server, "inspect_variable", {"name": name})
    else:
        result = await use(turn, server, "list_variables", {})
    text = text_of(result)
    await turn.say(text if "| --- |" in text else f"```text\n{text}\n```")  # a frame is formatted as Markdown


@command("plot", "Draw a figure in your kernel, of a data frame if there is one", "[NAME]")
async def plot(turn: Turn, args: str) -> None:
    server = await kernel_server(turn)
    if server is None:
        return
    name = args.strip() or await _frame(server)
    code = FIGURE.format(name=name) if name else PLAIN_FIGURE
    result = await use(
        turn, server, "run_code", {"code": code, "purpose": f"Draw {name or 'a sine'}"}, ask=True
    )
    if result.get("isError"):
        await turn.say(f"The figure could not be drawn:\n\n```text\n{text_of(result)}\n```")
        return
    pictures = sum(it.get("type") == "image" for it in result.get("content", []))
    await turn.say(f"I drew it in your kernel and got {pictures} picture{'s' * (pictures != 1)} back.")


@command("cells", "Add a cell to your notebook and run it", "[CODE]")
async def cells(turn: Turn, args: str) -> None:
    server = await kernel_server(turn)
    if server is None:
        return
    source = args or "# Added by the demo agent\nsum(range(10))"
    edit = {"op": "insert", "source": source, "after": "bottom"}
    result = await use(turn, server, "edit_notebook", {"edits": [edit]})
    if result.get("isError"):
        await turn.say(f"Your notebook is unchanged: {text_of(result)}")
        return
    id = text_of(result).split()[-1]
    result = await use(turn, server, "run_cells", {"cells": [id]})
    if result.get("isError"):
        await turn.say(
            f"I added a cell at the end of your notebook; it did not run:\n\n```text\n{text_of(result)}\n```"
        )
        return
    await turn.say("I added a cell at the end of your notebook and ran it.")


@command("call", "Call one of your functions (@session.tool), or list them", "[NAME] [ARGUMENTS AS JSON]")
async def call(turn: Turn, args: str) -> None:
    server = await kernel_server(turn)
    if server is None:
        return
    name, _, given = args.strip().partition(" ")
    if not name:
        listed = await use(turn, server, "call_function", {})
        await turn.say(f"```text\n{text_of(listed)}\n```")
        return
    try:
        arguments = json.loads(given or "{}")
    except ValueError as error:
        raise Misuse(f"The arguments are no JSON: {error}") from error
    result = await use(turn, server, "call_function", {"name": name, "arguments": arguments})
    while text_of(result).startswith("running "):
        run = text_of(result).split(" · ")[1]
        result = await server.call("wait", {"run": run})
    pictures = sum(it.get("type") == "image" for it in result.get("content", []))
    got = f" and {pictures} picture{'s' * (pictures > 1)}" if pictures else ""
    outcome = "It failed" if result.get("isError") else f"I got this back{got}"
    await turn.say(f"{outcome}:\n\n```text\n{text_of(result)}\n```")


@command("delegate", "Ask another session that is a tool of this one", "NAME PROMPT")
async def delegate(turn: Turn, args: str) -> None:
    name, _, prompt = args.strip().partition(" ")
    if not name or not prompt.strip():
        raise Misuse
    server = await kernel_server(turn)
    if server is None:
        return
    result = await use(turn, server, name, {"prompt": prompt.strip()})
    while text_of(result).startswith(("running ", "Waiting for the user's permission")):
        result = await server.call("wait", {"run": _run_of(text_of(result))})
    if result.get("isError"):
        await turn.say(f"I got no answer:\n\n```text\n{text_of(result)}\n```")
        return
    _, _, answer = text_of(result).partition("\n")
    said = answer.rpartition("\nkernel: ")[0]
    quoted = "\n".join(f"> {line}" for line in said.splitlines())
    await turn.say(f"{name} answered:\n\n{quoted}")


def _run_of(text: str) -> str:
    """The run that a result says to wait for."""
    return text.partition("wait(run='")[2].partition("'")[0]


async def kernel_server(turn: Turn) -> McpServer | None:
    """The kernel's server, started when it is first used; says so if there is none."""
    session = turn.session
    if session.kernel is None:
        named = [it for it in session.servers if str(it.get("name", "")).startswith("kernel_")]
        found = named[-1] if named else None
        if found is None or "command" not in found:
            await turn.say(OFF)
            return None
        try:
            session.kernel = await started(found)
        except McpTrouble as trouble:
            await turn.say(f"{trouble}.")
            return None
    return session.kernel


async def use(
    turn: Turn,
    server: McpServer,
    name: str,
    arguments: Json,
    *,
    ask: bool = False,
    really: Json | None = None,
) -> Json:
    """Call a tool, and show that as a tool call. `ask`: as agents do that ask about every tool."""
    title = f"mcp__{server.name}__{name}"
    tool = await turn.tool(title, "other", name=title, rawInput=arguments)
    if ask and not await turn.allowed(tool):
        await tool.fail("rejected")
        return {"isError": True, "content": [text_block("you rejected it")]}
    await tool.start()
    try:
        result = await server.call(
            name, arguments if really is None else really, call_id=tool.call["toolCallId"]
        )
    except McpTrouble as trouble:
        await tool.fail(str(trouble))
        return {"isError": True, "content": [text_block(str(trouble))]}
    content = [{"type": "content", "content": it} for it in result.get("content", [])]
    await tool.update(status="failed" if result.get("isError") else "completed", content=content)
    return result


async def _frame(server: McpServer) -> str:
    """The first data frame there is."""
    listed = await server.call("list_variables", {})
    lines = [line for line in text_of(listed).splitlines() if "DataFrame" in line]
    return lines[0].split(":")[0].strip() if lines else ""


def text_of(result: Json) -> str:
    return "\n".join(str(it["text"]) for it in result.get("content", []) if it.get("type") == "text")
