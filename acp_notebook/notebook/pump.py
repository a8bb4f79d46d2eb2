"""The pump: handles a page's messages while one of our cells blocks the kernel's main thread.

Independent of what the cell waits for; all waits of a shell share one pump. While it is held, the pump
handles messages of widgets and of a reloading page at once. It passes all others to the kernel's own
callback, which queues them behind the running cell, as it does while a cell awaits. So the pump keeps no
message, loses none, and the waits may end in any order.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import Context, copy_context
from typing import Any

from .figures import figures_set_aside
from .interrupts import Gate
from .ipykernel_compat import COMM_TYPES, POLLIN, Frames, KernelMessage, Shell, flush, has_message


class Pump:
    """Receives a shell's messages in place of the kernel's own callback for as long as it has a holder."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self._holders = 0
        self._kernels: Callable[[Frames], Any] = shell.stream._recv_callback
        self._ours = self._receive  # one bound method, so that `is` recognises it
        self._context = copy_context()
        shell.kernel.log.addFilter(self._is_worth_logging)

    def _is_worth_logging(self, record: logging.LogRecord) -> bool:
        """Filter out one harmless error: a kernel that is restarted while a cell waits cannot send the reply
        of that cell, which ipykernel would log as an error in the server's terminal."""
        error = record.exc_info[1] if record.exc_info else None
        return not (type(error).__name__ == "ZMQError" and self.shell.stream.closed())

    @contextmanager
    def held(self) -> Iterator[None]:
        self.hold()
        try:
            yield
        finally:
            self.release()

    # An interrupt may cut either of these two short. That is safe: without holders, our callback only passes
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
        # Other code that replaced our callback may restore it later: then it passes messages on.
        if not self._holders and not stream.closed() and stream._recv_callback is self._ours:
            stream.on_recv(self._kernels, copy=stream._recv_copy)

    def turn(self, seconds: float, bell: int | None = None) -> None:
        """Wait up to this many seconds for a message, and handle it. `bell`: a file descriptor that ends the
        wait early when it is readable."""
        stream = self.shell.stream
        if stream.closed():  # the kernel shuts down
            time.sleep(seconds)
        elif has_message(stream.socket, seconds, bell):
            flush(stream, POLLIN, limit=1)

    def _receive(self, frames: Frames) -> Any:
        request = self.shell.request(frames) if self._holders else None
        if request is None:
            return self._kernels(frames)  # may be a coroutine, which the stream awaits
        return self._handle(request)

    def _handle(self, request: KernelMessage) -> None:
        self.shell.status("busy", request)
        try:
            with Gate() as gate:
                self._handler_context().run(self._call, request, gate)
            self.shell.flush()
        finally:
            self.shell.status("idle", request)  # ipywidgets sends nothing more until it sees this

    def _call(self, request: KernelMessage, gate: Gate) -> None:
        kernel = self.shell.kernel
        before = kernel._parent_ident["shell"], kernel.get_parent("shell")
        kernel.set_parent(request.identities, request.message, channel="shell")
        try:
            if request.kind in COMM_TYPES:
                with self._figures():
                    gate.run(lambda: self.shell.call(request))
            else:
                self.shell.call(request)
        except Exception:  # as in the kernel: log the handler's error and let the cell continue
            kernel.log.exception("Exception in message handler:")
        finally:
            kernel.set_parent(*before, channel="shell")

    def _figures(self) -> AbstractContextManager[None]:
        """Hide the waiting cell's figures, except on a subshell's thread: other code may be using them."""
        return (
            nullcontext()
            if self.shell.subshell
            else figures_set_aside(getattr(self.shell.kernel, "shell", None))
        )

    def _handler_context(self) -> Context:
        """A copy of the cell's context, so that only the handler sees a changed parent request."""
        shell_context: Context | None = None
        if self.shell.subshell is None:
            shell_context = getattr(self.shell.kernel, "_shell_context", None)  # since 7.1
        return (shell_context if shell_context is not None else self._context).copy()
