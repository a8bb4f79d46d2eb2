"""Answers a page that is reloaded while an agent's code blocks the main thread.

Such a page asks about the kernel and for the state of all widgets, on the main shell. Without an answer it
shows the static output until the code ends. Messages to our own widgets are handled as well, which only hand
them on. All other messages wait for the main thread.

Only for kernels that read the shell channel on a thread of its own (ipykernel 7). An older kernel reads it on
the main thread, so nothing can answer there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any

from ..log import logger
from .ipykernel_compat import INFO_TYPES, Frames, KernelMessage, Shell, hand_on, is_ours, shell_channel

_log = logger(__name__)

CONTROL = "jupyter.widget.control"
"""The target of the comm by which ipywidgets' page asks for the state of all widgets."""

READS = ("request_states", "request_state")
"""The requests for the state of all widgets, and of one."""


@contextmanager
def early_replies(kernel: Any) -> Iterator[None]:
    """Answer such messages at once, on the shell channel's thread; called on the main thread."""
    channel = shell_channel(kernel)
    if channel is None:
        yield
        return
    replies = _EarlyReplies(channel)
    stream = channel.stream
    stream._recv_callback = replies.receive  # not `on_recv`, which may only be called on the channel's thread
    try:
        yield
    finally:
        if stream._recv_callback == replies.receive:
            stream._recv_callback = replies.kernels


class _EarlyReplies:
    """The callback of the shell channel's stream while an agent's code runs."""

    def __init__(self, channel: Shell) -> None:
        self._channel = channel
        self._kernel = channel.kernel
        self.kernels: Callable[[Frames], Any] = channel.stream._recv_callback

    def receive(self, frames: Frames) -> Any:
        request = self._channel.request(frames, self._is_answered)
        if request is None:
            return self.kernels(frames)  # a coroutine, which the stream awaits
        self._channel.status("busy", request)
        try:
            copy_context().run(self._answer, request)
        except Exception:
            _log.warning("a reloaded page got no answer", exc_info=True)
        finally:
            self._channel.status("idle", request)
        return None

    def _is_answered(self, header: dict[str, Any], content: dict[str, Any]) -> bool:
        kind = header["msg_type"]
        if kind == "comm_open":
            return content.get("target_name") == CONTROL
        if kind == "comm_msg":
            comm, data = self._comm(content), content.get("data")
            is_blocked = header.get("subshell_id") is None  # a subshell handles its own, in their order
            reads = isinstance(data, dict) and data.get("method") in READS
            return comm is not None and (reads or (is_blocked and is_ours(comm)))
        return kind in INFO_TYPES

    def _answer(self, request: KernelMessage) -> None:
        self._kernel._shell_parent.set(request.message)  # in this context: the page looks for its own id
        if request.kind == "comm_msg":
            hand_on(self._comm(request.message["content"]), request.message)
        else:
            self._channel.call(request, self._channel.stream)

    def _comm(self, content: dict[str, Any]) -> Any:
        return self._kernel.comm_manager.comms.get(content.get("comm_id"))
