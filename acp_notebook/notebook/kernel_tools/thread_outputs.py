"""Captures what a function shows on a thread of its own: displays, and text on stdout and stderr.

Displays by the publisher's hooks, which are thread-local. Text by the attribute `write` of ipykernel's
streams, which depends on the thread that reads it: other threads, and the main thread, write as before. In a
process without a kernel, the text goes where the process writes.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from .outputs import Outputs, StreamName
from .type_checks import loaded

_by_thread: dict[int, Outputs] = {}
"""The outputs of the threads that run a function."""


@contextmanager
def captured_here(outputs: Outputs, shell: Any) -> Iterator[None]:
    """Send what this thread shows to `outputs`."""
    _install()
    me = threading.get_ident()
    publisher = getattr(shell, "display_pub", None)

    def published(message: dict[str, Any]) -> dict[str, Any] | None:
        if message["header"]["msg_type"] not in ("display_data", "update_display_data"):
            return message
        content = message["content"]
        outputs.display(content["data"], content["metadata"])
        return None

    _by_thread[me] = outputs
    if publisher is not None:
        publisher.register_hook(published)
    try:
        yield
    finally:
        del _by_thread[me]
        if publisher is not None:
            publisher.unregister_hook(published)


def _install() -> None:
    """Let ipykernel's streams look at the thread that writes; once in a process, when a function needs it.

    As a property of the class, because IPython and our own captures set `write` on the stream object.
    """
    stream_class: Any = loaded("ipykernel.iostream", "OutStream")
    if stream_class is None or isinstance(vars(stream_class).get("write"), property):
        return
    original = stream_class.write

    def read(self: Any) -> Callable[[str], Any]:
        outputs = _by_thread.get(threading.get_ident())
        if outputs is not None:
            return partial(_write, outputs, "stderr" if self is sys.stderr else "stdout")
        return vars(self).get("write") or partial(original, self)

    def assign(self: Any, write: Any) -> None:
        vars(self)["write"] = write

    def delete(self: Any) -> None:
        del vars(self)["write"]

    stream_class.write = property(read, assign, delete)


def _write(outputs: Outputs, name: StreamName, text: str) -> int:
    outputs.write(name, text)
    return len(text)
