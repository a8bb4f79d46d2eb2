"""The pauses between attempts to reach a server again: short at first, then longer, for a bounded time."""

from __future__ import annotations

import asyncio
import random

from .. import timeouts

FIRST_PAUSE_S = 0.2
"""A server that cut an idle stream is there at once."""

LONGEST_PAUSE_S = 5.0
"""People who watch "Reconnecting" wait no longer than this for a server that is back."""


class Backoff:
    """Counts the attempts since something broke."""

    def __init__(self) -> None:
        self._attempts = 0
        self._until: float | None = None

    async def pause(self, requested: float | None = None) -> bool:
        """Wait before the next attempt. Returns False, without waiting, if it is time to give up.

        `requested`: the pause that the server asks for.
        """
        now = asyncio.get_running_loop().time()
        if self._until is None:
            self._until = now + timeouts.get().remote_reconnect
        pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0**self._attempts)
        # Not exactly: the clients of a server that restarts must not all come at once.
        pause = pause * random.uniform(0.75, 1.0) if requested is None else requested
        self._attempts += 1
        if now + pause > self._until:
            return False
        await asyncio.sleep(pause)
        return True
