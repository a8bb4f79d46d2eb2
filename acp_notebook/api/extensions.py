"""What users give for extensions, checked: names of methods, handlers, and plain JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from ..agent.handler_threads import Handler
from ..core.plain_json import plain_object
from ..core.records import Json
from ..errors import UsageError
from ..wire import v1


class Handlers(MutableMapping[str, Handler]):
    """The handlers of extension methods by name. Changes take effect at once."""

    def __init__(self, handlers: dict[str, Handler]) -> None:
        self._handlers = handlers

    def __getitem__(self, method: str) -> Handler:
        return self._handlers[method]

    def __setitem__(self, method: str, handler: Handler) -> None:
        self._handlers[checked_method(method)] = _checked_handler(method, handler)

    def __delitem__(self, method: str) -> None:
        del self._handlers[method]

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._handlers))

    def __len__(self) -> int:
        return len(self._handlers)

    def __repr__(self) -> str:
        return f"<handlers of {', '.join(self) or 'no methods'}>"


def checked_handlers(handlers: Mapping[str, Handler] | None) -> dict[str, Handler]:
    if handlers is not None and not isinstance(handlers, Mapping):
        raise UsageError(f"handlers must map names of methods to functions, not {type(handlers).__name__}")
    made: dict[str, Handler] = {}
    Handlers(made).update(handlers or {})
    return made


def checked_method(method: Any) -> str:
    if not isinstance(method, str) or not method:
        raise UsageError(f"the name of a method is text, not {method!r:.80}")
    if (reason := v1.owner(method)) is not None:
        raise UsageError(
            f"{method!r} cannot be a method of your own: {reason}. Begin its name with an underscore, "
            f"as in '_example.com/{method.rpartition('/')[2]}'"
        )
    return method


def checked_object(value: Any, what: str) -> dict[str, Json]:
    """Plain JSON of the user; raises UsageError that names what is not JSON."""
    try:
        return plain_object(value, what)
    except ValueError as error:
        raise UsageError(str(error)) from None


def checked_meta(meta: Mapping[str, Json] | None) -> dict[str, Json] | None:
    return None if meta is None else checked_object(meta, "meta")


def _checked_handler(method: str, handler: Any) -> Handler:
    if not callable(handler):
        raise UsageError(f"the handler of {method} must be a function, not {type(handler).__name__}")
    made: Handler = handler
    return made
