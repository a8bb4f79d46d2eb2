"""How long the running turn has worked: its time without that in which it waited for the user."""

from __future__ import annotations

from collections.abc import Callable

from ...core import events as ev

WORTH_S = 0.5
"""A shorter wait is answered by a rule, and changes nothing that anybody sees."""


class WorkClock:
    """Follows the events of one session."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._began: float | None = None
        self._waits: set[str] = set()
        """What it waits for: questions, forms, a sign-in."""
        self._stopped = 0.0
        """When the first of the waits began."""

    def start(self) -> None:
        self._began = self._now()

    def see(self, event: ev.Event) -> bool:
        """Follow an event; returns whether pages should be told the new time."""
        match event:
            case ev.TurnStarted():
                self.start()
                return True
            case ev.TurnEnded():
                self._began = None
                return True
            case ev.QuestionAsked(id) | ev.ElicitationOpened(id):
                self._wait(id)
            case ev.QuestionSettled(id) | ev.ElicitationSettled(id):
                return self._go_on(id)
            case ev.SignInChanged(None):
                return self._go_on("sign-in")
            case ev.SignInChanged():
                self._wait("sign-in")
        return False

    @property
    def elapsed(self) -> float | None:
        """Seconds of work; None if no turn runs."""
        if self._began is None:
            return None
        return (self._stopped if self._waits else self._now()) - self._began

    def _wait(self, what: str) -> None:
        if not self._waits:
            self._stopped = self._now()
        self._waits.add(what)

    def _go_on(self, what: str) -> bool:
        if what not in self._waits:
            return False
        self._waits.remove(what)
        if self._waits or self._began is None:
            return False
        waited = self._now() - max(self._stopped, self._began)
        self._began += waited
        return waited >= WORTH_S
