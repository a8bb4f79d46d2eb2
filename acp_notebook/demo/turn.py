"""One turn: what a scene may do while a prompt is being answered.

It knows how things are sent, not what any command does; the text is up to the scenes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from .blocks import chunk, text_block
from .client import Client
from .outbox import Outbox
from .rpc import Json, Peer
from .session import Session

CHUNK = 24
"""Characters a chunk holds at least: small enough that a sentence streams in several."""

OPTIONS: dict[str, Json] = {
    # Ids differ from kinds, so that a client that mixes them up is found out.
    "allow_once": {"optionId": "yes", "name": "Allow once", "kind": "allow_once"},
    "allow_always": {"optionId": "yes-always", "name": "Allow for this session", "kind": "allow_always"},
    "reject_once": {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    "reject_always": {"optionId": "no-never", "name": "Reject for this session", "kind": "reject_always"},
}


class TurnCancelled(Exception):
    """The client answered a question with ``cancelled``: the turn ends, with that stop reason."""


def chunks_of(text: str) -> list[str]:
    """Pieces of CHUNK characters and a bit, cut after spaces and line ends; joined, they are the text."""
    pieces, start = [], 0
    for position, character in enumerate(text):
        if character in " \n" and position + 1 - start >= CHUNK:
            pieces.append(text[start : position + 1])
            start = position + 1
    return [*pieces, text[start:]] if start < len(text) else pieces


class Tool:
    """A tool call that was announced; every change is an update of it."""

    def __init__(self, turn: Turn, call: Json) -> None:
        self._turn = turn
        self.call = call

    async def update(self, **fields: Any) -> None:
        await self._turn.send(
            {"sessionUpdate": "tool_call_update", "toolCallId": self.call["toolCallId"], **fields}
        )

    async def start(self, **fields: Any) -> None:
        await self.update(status="in_progress", **fields)

    async def complete(self, **fields: Any) -> None:
        await self.update(status="completed", **fields)

    async def fail(self, reason: str, **fields: Any) -> None:
        await self.update(
            status="failed", content=[{"type": "content", "content": text_block(reason)}], **fields
        )


class Turn:
    """The running answer to one prompt."""

    def __init__(self, session: Session, peer: Peer, client: Client, stderr: Outbox, pace_s: float) -> None:
        self.session, self.peer, self.client, self.stderr = session, peer, client, stderr
        self.stubborn = False  # session/cancel is heard, and not obeyed
        self.cancelled = asyncio.Event()
        self.ended = asyncio.Event()
        self.afterwards: Callable[[], None] | None = None
        self.meta: Json = {}  # what the client added to the prompt
        self.answer_meta: Json = {}  # what is added to its answer
        self._task = asyncio.current_task()
        self._pace_s = pace_s

    def cancel(self) -> None:
        if self.cancelled.is_set():
            return
        self.cancelled.set()
        if self._task and not self.stubborn:
            self._task.cancel()

    async def send(self, update: Json) -> None:
        self.session.send(update)
        await self._breathe()

    async def send_texts(self, message: str, texts: list[str]) -> None:
        self.session.send_texts(message, texts)
        await self._breathe()

    async def say(self, text: str, *, kind: str = "agent_message_chunk") -> None:
        """One message, streamed."""
        message = self.session.next_id("msg")
        for piece in chunks_of(text):
            await self.send(chunk(text_block(piece), message, kind))

    async def think(self, text: str) -> None:
        await self.say(text, kind="agent_thought_chunk")

    async def show(self, block: Json) -> None:
        """A content block as a message of its own."""
        await self.send(chunk(block, self.session.next_id("msg")))

    async def tool(self, title: str, kind: str, **fields: Any) -> Tool:
        call = {"toolCallId": self.session.next_id("call"), "title": title, "kind": kind, "status": "pending"}
        call.update(fields)
        await self.send({"sessionUpdate": "tool_call", **call})
        return Tool(self, call)

    async def ask(self, tool: Tool, *kinds: str) -> str:
        """The kind of the option that the client chose; an option that was not offered is a reject."""
        answer = await self.peer.request("session/request_permission", self.question(tool, *kinds))
        outcome = answer.get("outcome")
        if not isinstance(outcome, dict) or outcome.get("outcome") != "selected":
            raise TurnCancelled
        offered = {OPTIONS[kind]["optionId"]: kind for kind in kinds}
        return offered.get(str(outcome.get("optionId")), "reject_once")

    def question(self, tool: Tool, *kinds: str) -> Json:
        return {
            "sessionId": self.session.id,
            "toolCall": tool.call,
            "options": [OPTIONS[kind] for kind in kinds],
        }

    async def allowed(self, tool: Tool) -> bool:
        """Whether a tool may go on: asked once, and remembered by its kind if the answer was "always"."""
        kind = tool.call["kind"]
        if kind in self.session.grants:
            return True
        answer = await self.ask(tool, "allow_once", "allow_always", "reject_once")
        if answer == "allow_always":
            self.session.grants.add(kind)
        return answer.startswith("allow")

    async def _breathe(self) -> None:
        """Wait for a slow client, and let the loop see a cancel."""
        await self.peer.outbox.room()
        await asyncio.sleep(self._pace_s)
