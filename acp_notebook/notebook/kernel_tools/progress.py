"""What a function reports of its progress, and how it learns that it was cancelled."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Protocol

from ...core.records import AskedSession

TEXT_CHARS = 200
"""Of what a function says about its progress."""


class Report(Protocol):
    """The `report` parameter of a function."""

    def __call__(self, fraction: float | None = None, text: str | None = None) -> None: ...


class Progress:
    """Holds what a function reported last. `changed` is called on the function's thread."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.fraction: float | None = None
        self.text: str | None = None
        self.session: AskedSession | None = None
        self.is_cancelled = False
        """The next report raises CancelledError."""

    def report(self, fraction: float | None = None, text: str | None = None) -> None:
        """Report progress: `fraction` from 0 to 1, None if unknown, and a few words.

        Raises asyncio.CancelledError if the call was cancelled.
        """
        if self.is_cancelled:
            raise asyncio.CancelledError("the call was cancelled")
        if fraction is not None:
            fraction = float(fraction)
            fraction = None if math.isnan(fraction) else min(1.0, max(0.0, fraction))
        self.fraction = fraction
        self.text = None if text is None else str(text)[:TEXT_CHARS]
        self._changed()

    def answered_by(self, session: AskedSession) -> None:
        """Which session answers the call, and in which turn."""
        self.session = session
        self._changed()
