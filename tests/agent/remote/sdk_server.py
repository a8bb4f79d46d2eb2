"""The Python SDK's own server (`acp.http.asgi`) on hypercorn, with an agent for the tests behind it.

Run it as a script: it listens on loopback and prints its port. WebSocket, HTTP/1.1, and with a certificate
HTTP/2. The first word of a prompt selects a scene:

    words N [MS]    N numbered words, each a chunk, MS milliseconds apart
    big BYTES       one chunk of that size
    act MS          runs two commands, and says "Done." in between, each after MS milliseconds
    ask             requests a permission, and says what was chosen
    wait            says something, then waits for the cancel
    forget          the answer to this prompt never comes
    think MS        says nothing for so long, then something

Any other prompt is repeated.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import uuid
from pathlib import Path
from typing import Any, cast

import acp
import acp.http.server
from acp import schema
from acp.http.asgi import AcpAsgiApp
from acp.http.server import AcpServer
from hypercorn.asyncio import serve
from hypercorn.config import Config

from tests.agent.remote.ledger import Ledger

MOST_BYTES = 64 << 20
"""hypercorn's own limit of a message is 16 MiB."""


KEEPALIVE_S = 0.3
"""Between two comments on a stream: 15 s would make each test of a silent stream last longer than that."""

NEVER_S = 1e6

MOST_KEPT = 1000
"""Characters of a chunk in the ledger, which is read often."""


class SceneAgent:
    """One for each connection; what must outlive the connection is in the ledger."""

    def __init__(self, client: acp.Client, ledger: Ledger, *, modes: float | None = None) -> None:
        """`modes`: how many seconds it takes to set one of its modes; None if it has none."""
        self._modes = modes
        self._client = client
        self._ledger = ledger
        self._cancelled: dict[str, asyncio.Event] = {}

    def on_connect(self, client: acp.Client) -> None:
        self._client = client

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
        self._ledger.add("connection")
        return acp.InitializeResponse(
            protocol_version=protocol_version,
            agent_info=schema.Implementation(name="scenes", title="Scenes", version="1"),
            agent_capabilities=schema.AgentCapabilities(load_session=True),
        )

    async def new_session(self, cwd: str, **_: Any) -> acp.NewSessionResponse:
        session = uuid.uuid4().hex
        self._ledger.add("session", session=session, cwd=cwd)
        return acp.NewSessionResponse(session_id=session, modes=self._mode_state(session))

    async def load_session(self, session_id: str, cwd: str, **_: Any) -> acp.LoadSessionResponse:
        history = self._ledger.history(session_id)
        if history is None:
            raise acp.RequestError.resource_not_found(session_id)
        self._ledger.add("load", session=session_id)
        for update in history:
            await self._client.session_update(session_id, cast(Any, _parsed(update)))
        return acp.LoadSessionResponse(modes=self._mode_state(session_id))

    async def set_session_mode(self, mode_id: str, session_id: str, **_: Any) -> acp.SetSessionModeResponse:
        self._ledger.add("asked for mode", session=session_id, mode=mode_id)
        await asyncio.sleep(self._modes or 0)
        self._ledger.add("mode", session=session_id, mode=mode_id)
        return acp.SetSessionModeResponse()

    def _mode_state(self, session: str) -> schema.SessionModeState | None:
        if self._modes is None:
            return None
        modes = [schema.SessionMode(id=it, name=it.title()) for it in ("ask", "auto")]
        return schema.SessionModeState(current_mode_id=self._ledger.mode(session), available_modes=modes)

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> acp.PromptResponse:
        text = getattr(prompt[0], "text", "")
        self._ledger.add("prompt", session=session_id, text=text[:MOST_KEPT])
        self._record(session_id, "user_message_chunk", text)
        self._cancelled[session_id] = asyncio.Event()
        first, *more = text.split() or [""]
        scene = getattr(self, f"_{first}", None) or self._echo
        stop_reason = await scene(session_id, text, *more)
        self._ledger.add("answer", session=session_id, text=text[:MOST_KEPT])
        return acp.PromptResponse(stop_reason=cast(Any, stop_reason or "end_turn"))

    async def cancel(self, session_id: str, **_: Any) -> None:
        self._ledger.add("cancel", session=session_id)
        if session_id in self._cancelled:
            self._cancelled[session_id].set()

    # ---- scenes

    async def _words(self, session: str, text: str, count: str, pause: str = "0", *_: str) -> str | None:
        for number in range(int(count)):
            await self._say(session, f"w{number} ")
            if float(pause) and await self._is_cancelled(session, float(pause) / 1000):
                return "cancelled"
        return None

    async def _act(self, session: str, text: str, pause: str, *_: str) -> None:
        for number, title in enumerate(["rm -rf build", "", "git push --force"]):
            await asyncio.sleep(float(pause) / 1000)
            if not title:
                await self._say(session, "Done.")
                continue
            call = {"sessionUpdate": "tool_call", "toolCallId": f"{text} {number}", "title": title}
            self._ledger.add("update", session=session, update=call)
            await self._client.session_update(session, _parsed(call))

    async def _big(self, session: str, text: str, size: str) -> None:
        await self._client.session_update(session, acp.update_agent_message_text("x" * int(size)))

    async def _ask(self, session: str, *_: str) -> str:
        options = [
            schema.PermissionOption(option_id="n", name="No", kind="reject_once"),
            schema.PermissionOption(option_id="y", name="Yes", kind="allow_once"),
        ]
        call = schema.ToolCallUpdate(tool_call_id="t1", title="Delete it", kind="delete", status="pending")
        answer = await self._client.request_permission(session_id=session, tool_call=call, options=options)
        if isinstance(answer.outcome, schema.AllowedOutcome):
            await self._say(session, f"You chose {answer.outcome.option_id}.")
            return "end_turn"
        return "cancelled"

    async def _wait(self, session: str, *_: str) -> str:
        await self._say(session, "I wait.")
        await self._cancelled[session].wait()
        return "cancelled"

    async def _forget(self, session: str, *_: str) -> None:
        await self._say(session, "I forget.")
        await asyncio.Event().wait()

    async def _think(self, session: str, text: str, pause: str, *_: str) -> None:
        await asyncio.sleep(float(pause) / 1000)
        await self._say(session, "I thought.")

    async def _echo(self, session: str, text: str, *_: str) -> None:
        await self._say(session, f"You said: {text}")

    # ---- helpers

    async def _is_cancelled(self, session: str, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._cancelled[session].wait(), seconds)
        except TimeoutError:
            return False
        return True

    async def _say(self, session: str, text: str) -> None:
        self._record(session, "agent_message_chunk", text)
        await self._client.session_update(session, acp.update_agent_message_text(text))

    def _record(self, session: str, kind: str, text: str) -> None:
        content = {"type": "text", "text": text[:MOST_KEPT]}
        self._ledger.add("update", session=session, update={"sessionUpdate": kind, "content": content})


def _parsed(update: dict[str, Any]) -> Any:
    if update["sessionUpdate"] == "tool_call":
        id, title = update["toolCallId"], update["title"]
        return acp.start_tool_call(id, title, kind="execute", status="completed")
    text = update["content"]["text"]
    if update["sessionUpdate"] == "user_message_chunk":
        return acp.update_user_message_text(text)
    return acp.update_agent_message_text(text)


class Loadable:
    """Makes a stored session known to a connection as soon as its stream is requested.

    The SDK 0.12.1 knows a session only from the answer to `session/new`: after a load, it answers 404 to
    everything that names the session.
    """

    def __init__(self, app: AcpAsgiApp, server: AcpServer, ledger: Ledger) -> None:
        self._app, self._server, self._ledger = app, server, ledger

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
            connection = self._server.registry.get(headers.get("acp-connection-id", ""))
            session = headers.get("acp-session-id")
            if connection and session and not connection.has_session(session) and self._stores(session):
                connection.ensure_session_stream(session)
        await self._app(scope, receive, send)

    def _stores(self, session: str) -> bool:
        return self._ledger.history(session) is not None


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("ledger", type=Path)
    arguments.add_argument("--port", type=int, default=0)
    arguments.add_argument("--chain")
    arguments.add_argument("--key")
    arguments.add_argument("--loadable", action="store_true")
    arguments.add_argument("--silent", action="store_true", help="no comments on its streams")
    arguments.add_argument("--modes", type=float, help="has modes, and takes so many seconds to set one")
    chosen = arguments.parse_args()
    acp.http.server.SSE_KEEPALIVE_INTERVAL_SECONDS = NEVER_S if chosen.silent else KEEPALIVE_S
    ledger = Ledger(chosen.ledger)
    server = AcpServer(lambda client: cast(Any, SceneAgent(cast(Any, client), ledger, modes=chosen.modes)))
    app: Any = AcpAsgiApp(server)
    listener = socket.create_server(("127.0.0.1", chosen.port))
    config = Config()
    config.bind = [f"fd://{listener.fileno()}"]
    config.certfile, config.keyfile = chosen.chain, chosen.key
    config.accesslog = config.errorlog = None
    config.websocket_max_message_size = MOST_BYTES
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
    asyncio.run(serve(Loadable(app, server, ledger) if chosen.loadable else app, config))


if __name__ == "__main__":
    main()
