"""The agent's methods: who the client is, its login, its prompts, and what it chooses.

How sessions come and go is in sessions.py; what a command does is in the scenes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from . import params as read
from .client import Client
from .commands import COMMANDS, Misuse, split
from .describe import describe_prompt
from .login import Login
from .outbox import Outbox
from .rpc import AUTH_REQUIRED, INVALID_REQUEST, Answer, Json, Peer, RpcError
from .scenes import load_all
from .sessions import Sessions
from .settings import Settings
from .turn import Turn, TurnCancelled

load_all()

VERSION = 1


class Agent:
    """One connection's agent."""

    def __init__(self, settings: Settings, stdout: Outbox, stderr: Outbox) -> None:
        self._settings = settings
        self._stderr = stderr
        self._client: Client | None = None
        self._login = Login(settings.login, settings.key)
        self.peer = Peer(stdout)
        self._sessions = Sessions(self.peer, settings, self._entering)
        self.peer.listeners["session/cancel"] = self.cancel
        self.peer.handlers.update(self._sessions.handlers())
        self.peer.handlers.update(
            {
                "initialize": self.initialize,
                "authenticate": self.authenticate,
                "session/prompt": self.prompt,
                "session/set_mode": self.set_mode,
                "session/set_config_option": self.set_config_option,
                "_demo/echo": self.echo,
            }
        )
        self.peer.listeners["_demo/note"] = self.note
        if self._login.wanted:
            self.peer.handlers["logout"] = self.logout
        if settings.options == "models":
            self.peer.handlers["session/set_model"] = self.set_model

    async def initialize(self, params: Json) -> Answer:
        if not isinstance(params.get("protocolVersion"), int):
            raise read.bad("protocolVersion must be a number")
        self._client = Client(params.get("clientCapabilities"))
        enabled = self._settings.capabilities
        media = not self._settings.text_only
        capabilities: Json = {
            "loadSession": "load" in enabled,
            "promptCapabilities": {"image": media, "audio": media, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": True},
            "sessionCapabilities": {name: {} for name in sorted(enabled - {"load"})},
            "_meta": {"demo": {"methods": ["_demo/echo", "_demo/note"]}},
        }
        if self._login.wanted:
            capabilities["auth"] = {"logout": {}}
        return Answer(
            {
                "protocolVersion": VERSION,
                "agentInfo": {"name": "acp-demo", "title": "Demo agent", "version": "1.0"},
                "agentCapabilities": capabilities,
                "authMethods": self._login.methods(self._client),
            }
        )

    async def authenticate(self, params: Json) -> Answer:
        await self._login.enter(read.text(params, "methodId"))
        return Answer({})

    async def logout(self, params: Json) -> Answer:
        self._login.leave()
        return Answer({})

    async def echo(self, params: Json) -> Answer:
        """An extension: a request beyond the protocol."""
        return Answer({"echo": params})

    def note(self, params: Json) -> None:
        """Another one: a notification, confirmed by one of our own."""
        self.peer.notify("_demo/noted", params)

    def _entering(self) -> Client:
        """Who wants a session; raises where the door is closed."""
        if self._client is None:
            raise RpcError(INVALID_REQUEST, "initialize comes first")
        if not self._login.inside:
            raise RpcError(AUTH_REQUIRED, "authentication required: call authenticate with demo-login")
        return self._client

    async def prompt(self, params: Json) -> Answer:
        self._entering()
        session, blocks = self._sessions.find(params), read.blocks(params)
        if session.turn:
            raise RpcError(INVALID_REQUEST, "a turn of this session is running: wait for it, or cancel it")
        turn = Turn(session, self.peer, self._client or Client(), self._stderr, self._settings.pace_s)
        turn.meta = read.meta(params)
        session.turn = turn
        try:
            session.remember_prompt(blocks)
            stop = await _play(turn, blocks)
        except TurnCancelled:
            stop = "cancelled"
        except asyncio.CancelledError:
            if not turn.cancelled.is_set():  # withdrawn by $/cancel_request, or the process ends
                raise
            stop = "cancelled"
        finally:
            session.turn = None
            turn.ended.set()
            session.save()
        added: Json = {"_meta": turn.answer_meta} if turn.answer_meta else {}
        return Answer({"stopReason": stop, **added}, turn.afterwards)

    def cancel(self, params: Json) -> None:
        turn = self._sessions.find(params).turn
        if turn:
            turn.cancel()

    async def set_mode(self, params: Json) -> Answer:
        session = self._sessions.find(params)
        _choose(session.options.choose, "mode", read.text(params, "modeId"))
        session.save()
        update = {"sessionUpdate": "config_option_update", "configOptions": session.options.config()}
        return Answer({}, (lambda: session.send(update)) if session.options.has_config else None)

    async def set_model(self, params: Json) -> Answer:
        session = self._sessions.find(params)
        _choose(session.options.choose, "model", read.text(params, "modelId"))
        session.save()
        return Answer({})

    async def set_config_option(self, params: Json) -> Answer:
        session, option = self._sessions.find(params), read.text(params, "configId")
        if not session.options.has_config:
            raise read.bad(f"there is no option {option!r}")
        _choose(session.options.choose, option, params.get("value"))
        session.save()
        update = {"sessionUpdate": "current_mode_update", "currentModeId": session.options.values["mode"]}
        return Answer(
            {"configOptions": session.options.config()},
            (lambda: session.send(update)) if option == "mode" else None,
        )


def _choose(choose: Callable[[str, object], None], option: str, value: object) -> None:
    try:
        choose(option, value)
    except ValueError as error:
        raise read.bad(str(error)) from error


async def _play(turn: Turn, blocks: list[Json]) -> str:
    """Play the scene that the prompt names, or describe the prompt; the stop reason."""
    name, args = split(blocks) or ("", "")
    command = COMMANDS.get(name)
    if command is None:
        await turn.say(describe_prompt(blocks, turn.session.options))
        return "end_turn"
    try:
        return await command.scene(turn, args) or "end_turn"
    except Misuse:
        await turn.say(f"Usage: `{command.usage}`")
        return "end_turn"
