"""An agent written with the official Python SDK: our peer for interoperability. Run it as a script.

The first word of the prompt says what to do; without a known one, it repeats what it received.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

import acp
from acp import schema


class SdkAgent:
    def __init__(self) -> None:
        self._cancelled = asyncio.Event()
        self._opened = 0

    def on_connect(self, client: acp.Client) -> None:
        self._client = client

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(
            protocol_version=protocol_version,
            agent_info=schema.Implementation(name="sdk-agent", title="An SDK agent", version="0.1"),
        )

    async def new_session(self, cwd: str, **_: Any) -> acp.NewSessionResponse:
        self._opened += 1
        return acp.NewSessionResponse(session_id=f"sdk-{self._opened}")

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> acp.PromptResponse:
        self._cancelled.clear()
        word = prompt[0].text.split()[0]
        scene = {"tool": self._tool, "permission": self._permission, "wait": self._wait}.get(word)
        if scene is not None:
            stop_reason = await scene(session_id)
        else:
            await self._say(session_id, "I got " + ", ".join(_described(block) for block in prompt))
            stop_reason = "end_turn"
        usage = schema.Usage(total_tokens=7, input_tokens=4, output_tokens=3)
        return acp.PromptResponse(stop_reason=cast(Any, stop_reason), usage=usage)

    async def cancel(self, session_id: str, **_: Any) -> None:
        self._cancelled.set()

    async def _say(self, session: str, text: str) -> None:
        await self._client.session_update(session, acp.update_agent_message_text(text))

    async def _tool(self, session: str) -> str:
        diff = acp.tool_diff_content("/x.py", "new\n", "old\n")
        for update in (
            acp.update_agent_thought_text("Which file?"),
            acp.start_edit_tool_call("t1", "Edit it", "/x.py", "new"),
            acp.update_tool_call("t1", status="completed", content=[diff]),
            acp.update_plan([acp.plan_entry("Edit", status="completed")]),
        ):
            await self._client.session_update(session, update)
        await self._say(session, "Edited.")
        return "end_turn"

    async def _permission(self, session: str) -> str:
        options = [
            schema.PermissionOption(option_id="n", name="No", kind="reject_once"),
            schema.PermissionOption(option_id="y", name="Yes", kind="allow_once"),
        ]
        call = schema.ToolCallUpdate(tool_call_id="t1", title="Delete it", kind="delete", status="pending")
        answer = await self._client.request_permission(session_id=session, tool_call=call, options=options)
        outcome = answer.outcome
        if isinstance(outcome, schema.AllowedOutcome):
            await self._say(session, f"You chose {outcome.option_id}.")
            return "end_turn"
        return "cancelled"

    async def _wait(self, session: str) -> str:
        await self._say(session, "I wait.")
        await self._cancelled.wait()
        return "cancelled"


def _described(block: Any) -> str:
    return f"{block.type} {getattr(block, 'text', None) or getattr(block, 'uri', None)}"


if __name__ == "__main__":
    asyncio.run(acp.run_agent(cast(acp.Agent, SdkAgent())))
