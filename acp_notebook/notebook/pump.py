"""The pump: handles a page's messages while a cell of ours holds the kernel's main thread.

Knows nothing of what is waited for. There is one per kernel, whoever waits. While it is held, the messages
of widgets and of a page that is being reloaded are handled at once. All others go straight to the kernel's
own callback, which queues them behind the running cell, as it does with those that come while a cell awaits:
so none is kept here, none can be lost, and it does not matter in which order the waits end.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from typing import Any

from .interrupts import Gate
from .ipykernel_compat import COMM_TYPES, POLLIN, Frames, Request, Shell, flush


class Pump:
    """Stands between a shell's stream and the kernel's own callback for as long as anyone holds it."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self._holders = 0
        self._kernels: Callable[[Frames], Any] = shell.stream._recv_callback
        self._ours = self._receive  # one object, to be known again
        self._context = copy_context()
        shell.kernel.log.addFilter(self._worth_logging)

    def _worth_logging(self, record: logging.LogRecord) -> bool:
        """A kernel that is restarted while a cell waits cannot send that cell's reply any more: ipykernel
        logs that as an error, in the server's terminal, and there is nothing to be done about it."""
        error = record.exc_info[1] if record.exc_info else None
        return not (type(error).__name__ == "ZMQError" and self.shell.stream.closed())

    @contextmanager
    def held(self) -> Iterator[None]:
        self.hold()
        try:
            yield
        finally:
            self.release()

    # Either of these two may be cut short by an interrupt: a callback of ours that nobody holds only passes
    # messages on.

    def hold(self) -> None:
        stream = self.shell.stream
        self._context = copy_context()
        if stream._recv_callback is not self._ours and not self._holders:
            self._kernels = stream._recv_callback
            stream.on_recv(self._ours, copy=stream._recv_copy)
        self._holders += 1

    def release(self) -> None:
        self._holders -= 1
        stream = self.shell.stream
        # One who took our callback's place may put it back later: then it passes messages on.
        if not self._holders and not stream.closed() and stream._recv_callback is self._ours:
            stream.on_recv(self._kernels, copy=stream._recv_copy)

    def turn(self, seconds: float) -> None:
        """Wait at most so long for a message, and read it."""
        stream = self.shell.stream
        if stream.closed():  # the kernel shuts down
            time.sleep(seconds)
        elif stream.socket.poll(max(1, round(seconds * 1000)), POLLIN):
            flush(stream, POLLIN, limit=1)

    def _receive(self, frames: Frames) -> Any:
        request = self.shell.request(frames) if self._holders else None
        if request is None:
            return self._kernels(frames)  # perhaps a coroutine, which the stream sees to
        return self._handle(request)

    def _handle(self, request: Request) -> None:
        self.shell.status("busy", request)
        try:
            with Gate() as gate:
                self._handler_context().run(self._call, request, gate)
            self.shell.flush()
        finally:
            self.shell.status("idle", request)  # ipywidgets sends no more before it has seen this

    def _call(self, request: Request, gate: Gate) -> None:
        kernel = self.shell.kernel
        before = kernel._parent_ident["shell"], kernel.get_parent("shell")
        kernel.set_parent(request.identities, request.message, channel="shell")
        try:
            if request.kind in COMM_TYPES:
                gate.run(lambda: self.shell.call(request))
            else:
                self.shell.call(request)
        except Exception:  # as the kernel does: a handler's error is logged, the cell goes on
            kernel.log.exception("Exception in message handler:")
        finally:
            kernel.set_parent(*before, channel="shell")

    def _handler_context(self) -> Context:
        """Where the parent is the request of the running cell, and can be changed for the handler only."""
        shell_context: Context | None = None
        if self.shell.subshell is None:
            shell_context = getattr(self.shell.kernel, "_shell_context", None)  # since 7.1
        return (shell_context if shell_context is not None else self._context).copy()
