"""Reads the updates of one session on a connection of its own, and does nothing that an agent asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from msgspec import Raw

from .. import timeouts
from ..core.events import Event
from ..log import logger
from ..wire import v1
from ..wire.jsonrpc import METHOD_NOT_FOUND, Garbage
from .connection import RequestRefused
from .transport import LinkChange, MessagesLost, Silent

_log = logger(__name__)


class AsideReader:
    """Collects the events of one session (a `connection.Handler`)."""

    def __init__(self, session: str) -> None:
        self.events: list[Event] = []
        self.has_gap = False
        """Whether events may be lost: this connection is on the same network as the one that broke."""
        self._session = session

    def link_changed(self, change: LinkChange) -> None:
        self.has_gap |= isinstance(change, MessagesLost | Silent)

    def updated(self, messages: Sequence[v1.Update]) -> None:
        for session, events in v1.read_updates(messages, self._failed):
            if session == self._session:
                self.events.extend(events)

    def _failed(self, message: v1.Update, error: Exception) -> None:
        _log.warning("an update could not be read", exc_info=error)

    def notified(self, method: str, params: Raw) -> None:
        if method == "session/update":
            session, event = v1.read_update(params)
            if session == self._session:
                self.events.append(event)

    async def requested(self, method: str, params: Raw) -> Any:
        raise RequestRefused(METHOD_NOT_FOUND, f"this connection has no {method}")

    def unreadable(self, line: Garbage) -> None:
        """Nothing depends on it: what cannot be read is missing in the history."""

    def ended(self, error: Exception) -> None:
        """The open request has failed, and whoever waits for it knows."""

    async def quiet(self) -> None:
        """Wait until nothing has come for `history_quiet`: some agents send it after their answer."""
        limits = timeouts.get()
        for _ in range(int(limits.history_at_most / limits.history_quiet)):
            count = len(self.events)
            await asyncio.sleep(limits.history_quiet)
            if len(self.events) == count:
                return
