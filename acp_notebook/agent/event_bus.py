"""Passes the events of a session to handlers of their type, and to listeners of all events.

An event without a handler costs one lookup. Runs on the loop thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..core import events as ev
from ..core.patches import Patch

E = TypeVar("E", bound=ev.BaseEvent)

Listener = Callable[[ev.Event, Sequence[Patch]], None]


class EventBus:
    """Holds the subscriptions of one session."""

    def __init__(self) -> None:
        self.listeners: tuple[Listener, ...] = ()
        self._handlers: dict[type[ev.BaseEvent], tuple[Callable[[Any], None], ...]] = {}

    def on(self, kind: type[E], handler: Callable[[E], None]) -> Callable[[], None]:
        """Call the handler for every event of this type. The returned function unsubscribes."""
        self._handlers[kind] = (*self._handlers.get(kind, ()), handler)

        def stop() -> None:
            left = tuple(it for it in self._handlers.get(kind, ()) if it is not handler)
            if left:
                self._handlers[kind] = left
            else:
                self._handlers.pop(kind, None)

        return stop

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call the listener for every event, with its patches. The returned function unsubscribes."""
        self.listeners += (listener,)

        def stop() -> None:
            self.listeners = tuple(it for it in self.listeners if it is not listener)

        return stop

    def subscribers(self, kind: type[ev.BaseEvent]) -> int:
        """The number of handlers for this type, without listeners."""
        return len(self._handlers.get(kind, ()))

    def emit(self, event: ev.Event, patches: Sequence[Patch]) -> None:
        for handler in self._handlers.get(type(event), ()):
            handler(event)
        for listener in self.listeners:
            listener(event, patches)
