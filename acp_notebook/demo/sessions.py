"""How sessions come and go: new, load, resume, fork, list, close, delete.

It does not know what happens inside a turn, nor who may enter: it asks.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

from . import params as read
from .client import Client
from .commands import advertised
from .options import Options
from .rpc import INVALID_REQUEST, NOT_FOUND, Answer, Handler, Json, Peer, RpcError
from .session import Session
from .settings import Settings
from .store import Store


class Sessions:
    """The live sessions of this process, and the store behind them, if there is one."""

    def __init__(self, peer: Peer, settings: Settings, entering: Callable[[], Client]) -> None:
        self._peer = peer
        self._settings = settings
        self._entering = entering
        self._store = Store(settings.home) if settings.home else None
        self._live: dict[str, Session] = {}
        self._made = 0

    def handlers(self) -> dict[str, Handler]:
        """The methods that are served: exactly those that are advertised, and session/new."""
        optional: dict[str, Handler] = {
            "load": self.load,
            "resume": self.resume,
            "fork": self.fork,
            "list": self.list,
            "close": self.close,
            "delete": self.delete,
        }
        enabled = {
            f"session/{name}": optional[name] for name in optional if name in self._settings.capabilities
        }
        return {"session/new": self.new, **enabled}

    def find(self, params: Json) -> Session:
        """The live session that a request is about."""
        session_id = read.text(params, "sessionId")
        if session_id not in self._live:
            raise _unknown(session_id)
        return self._live[session_id]

    async def new(self, params: Json) -> Answer:
        client = self._entering()
        servers = read.servers(params, required=True)
        session = Session(self._peer, read.directory(params), self._options(client), store=self._store)
        session.servers = servers
        self._made += 1
        session.id = self._store.create(session.record()) if self._store else f"demo-{self._made}"
        self._live[session.id] = session
        return Answer({"sessionId": session.id, **session.options.state()}, lambda: _announce(session))

    async def load(self, params: Json) -> Answer:
        servers = read.servers(params, required=True)
        session = self._reopen(params)
        session.servers = servers
        session.replay()
        return Answer(session.options.state(), lambda: _announce(session))

    async def resume(self, params: Json) -> Answer:
        servers = read.servers(params, required=False)
        session = self._reopen(params)
        session.servers = servers
        return Answer(session.options.state(), lambda: _announce(session))

    async def fork(self, params: Json) -> Answer:
        """Another session with the same history: of one that runs a turn, what it has said so far."""
        client, cwd, session_id = self._entering(), read.directory(params), read.text(params, "sessionId")
        live = self._live.get(session_id)
        try:
            record = copy.deepcopy(live.record() if live else self._kept().read(session_id))
        except KeyError as error:
            raise _unknown(session_id) from error
        record["title"] = f"{record.get('title') or session_id} (fork)"
        session = Session(self._peer, cwd, self._options(client), store=self._store, record=record)
        session.id = self._kept().create(session.record())
        session.servers = read.servers(params, required=False)
        self._live[session.id] = session
        return Answer({"sessionId": session.id, **session.options.state()}, lambda: _announce(session))

    async def list(self, params: Json) -> Answer:
        self._entering()
        cursor, cwd = read.optional_text(params, "cursor"), read.optional_text(params, "cwd")
        try:
            found, following = self._kept().page(cursor, cwd)
        except ValueError as error:
            raise read.bad("unknown cursor") from error
        return Answer({"sessions": found, **({"nextCursor": following} if following else {})})

    async def close(self, params: Json) -> Answer:
        session = self.find(params)
        del self._live[session.id]
        await _end_turn(session)
        if session.kernel is not None:
            await session.kernel.close()
        return Answer({})

    async def delete(self, params: Json) -> Answer:
        session_id = read.text(params, "sessionId")
        session = self._live.pop(session_id, None)
        try:
            self._kept().delete(session_id)
        except KeyError as error:
            raise _unknown(session_id) from error
        if session:
            session.forget()
            await _end_turn(session)
        return Answer({})

    def _reopen(self, params: Json) -> Session:
        client, cwd, session_id = self._entering(), read.directory(params), read.text(params, "sessionId")
        live = self._live.get(session_id)
        if live and live.turn:
            raise RpcError(INVALID_REQUEST, "a turn of this session is running: cancel it first")
        try:
            record = self._kept().read(session_id)
        except KeyError as error:
            raise _unknown(session_id) from error
        session = Session(self._peer, cwd, self._options(client), store=self._store, record=record)
        session.id = session_id
        self._live[session_id] = session
        return session

    def _options(self, client: Client) -> Options:
        return Options(booleans=client.booleans, kind=self._settings.options)

    def _kept(self) -> Store:
        if self._store is None:  # no handler that needs it is served without a store
            raise RpcError(NOT_FOUND, "nothing is stored")
        return self._store


def _unknown(session_id: str) -> RpcError:
    return RpcError(NOT_FOUND, f"there is no session {session_id!r}")


def _announce(session: Session) -> None:
    session.send({"sessionUpdate": "available_commands_update", "availableCommands": advertised()})


async def _end_turn(session: Session) -> None:
    """Cancel what runs, and wait for it, unless it is one that never ends."""
    turn = session.turn
    if turn:
        turn.cancel()
        if not turn.stubborn:
            await turn.ended.wait()
