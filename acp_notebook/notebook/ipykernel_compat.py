"""Access to the internals of ipykernel that this package needs, each probed before use.

Imports nothing of Jupyter: a module that is not loaded cannot be running this kernel.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from msgspec import Struct

from ..log import logger

_log = logger(__name__)

Frames = list[Any]
"""A message as ZMQ delivers it: identities, a delimiter, a signature, then the parts."""

Accepts = Callable[[dict[str, Any], dict[str, Any]], bool]
"""Decides by a message's header and content."""

POLLIN, POLLOUT = 1, 2  # zmq's own values; they are part of ZMQ's binary interface

COMM_TYPES = ("comm_open", "comm_msg", "comm_close")
INFO_TYPES = ("comm_info_request", "kernel_info_request")  # sent by a page after a reload

KNOWN_HANDLERS = ("ipykernel.", "comm.")
"""Handlers of other packages may wait for the event loop, which is blocked; their messages stay queued."""

STREAM_PARTS = ("on_recv", "flush", "closed", "socket", "io_loop", "_recv_callback", "_recv_copy")
KERNEL_PARTS = ("session", "shell_handlers", "set_parent", "get_parent", "_parent_ident", "_publish_status")


class ProbeFailed(Exception):
    """This kernel has an internal structure that we do not support."""


class KernelMessage(Struct, frozen=True):
    """A message to the kernel that can be handled while a cell runs."""

    kind: str
    identities: list[bytes]
    message: dict[str, Any]


class Shell(Struct, frozen=True):
    """A shell of a kernel, usually the main one: its message stream and its handlers."""

    kernel: Any
    stream: Any
    handlers: Mapping[str, Callable[..., Any]]
    subshell: str | None = None
    """The id of a subshell, which runs on its own thread; None for the main shell."""

    @property
    def is_here(self) -> bool:
        """Whether this shell runs the calling code, so that its messages can be read here and now."""
        if self.subshell is None and threading.current_thread() is not threading.main_thread():
            return False  # signals are handled on the main thread only
        try:
            return asyncio.get_running_loop() is self.stream.io_loop.asyncio_loop
        except RuntimeError:
            return False

    def request(self, frames: Frames, accepts: Accepts | None = None) -> KernelMessage | None:
        """Decode a message that can be handled while a cell runs; None for all others and for broken ones."""
        session, copy = self.kernel.session, self.stream._recv_copy
        try:
            identities, parts = session.feed_identities(frames, copy=copy)
            # Deserializing without content does not count as reading; a message read twice is refused.
            message = session.deserialize(parts, content=False, copy=copy)
            kind = message["header"]["msg_type"]
            if kind not in self.handlers:
                return None
            if accepts is not None and not accepts(message["header"], session.unpack(message["content"])):
                return None
            return KernelMessage(kind, identities, session.deserialize(parts, content=True, copy=copy))
        except Exception:  # the kernel's own callback reports whatever is wrong with it
            _log.debug("a message is left to the kernel", exc_info=True)
            return None

    def call(self, request: KernelMessage, reply_on: Any = None) -> None:
        """Run the kernel's own handler for this message. `reply_on`: another stream for the reply."""
        socket = self._reply_socket if reply_on is None else reply_on
        result = self.handlers[request.kind](socket, request.identities, request.message)
        if inspect.iscoroutine(result):
            # ipykernel's handlers for INFO_TYPES are coroutines that never actually wait.
            with suppress(StopIteration):
                result.send(None)
                result.close()

    def status(self, state: str, request: KernelMessage) -> None:
        """Publish busy or idle for this message."""
        self.kernel._publish_status(state, "shell", parent=request.message)

    def flush(self) -> None:
        """Send what is still queued: a ZMQStream sends only when its loop runs."""
        for output in (sys.stdout, sys.stderr):
            if output is not None:
                output.flush()
        if not has_subshells(self.kernel):
            flush(self.stream, POLLOUT)

    @property
    def _reply_socket(self) -> Any:
        """The socket or stream for replies on the shell channel."""
        if not has_subshells(self.kernel):
            return self.stream
        return self.kernel.shell_channel_thread.manager.get_subshell_to_shell_channel_socket(self.subshell)


def flush(stream: Any, flag: int, limit: int | None = None) -> None:
    """Flush a stream, possibly inside another flush of the same stream: ipykernel 6 flushes after errors.

    A flush that did something marks the stream as flushed for this iteration of its loop. The outer flush
    would then read nothing, see that there is something to read, and loop forever.
    """
    done = getattr(stream, "_flushed", None)
    try:
        stream.flush(flag, limit=limit)
    finally:
        if done is not None:
            stream._flushed = done


def has_message(socket: Any, seconds: float, bell: int | None = None) -> bool:
    """Wait until the socket has a message, but no longer than this, nor than until `bell` is readable."""
    poller = sys.modules["zmq"].Poller()  # loaded: the socket is one of its own
    poller.register(socket, POLLIN)
    if bell is not None:
        poller.register(bell, POLLIN)
    return any(ready is socket for ready, _ in poller.poll(max(1, round(seconds * 1000))))


def running_kernel() -> Any | None:
    """The ipykernel kernel of this process; None in a forked child."""
    base = sys.modules.get("ipykernel.kernelbase")
    try:
        if base is None or not base.Kernel.initialized():
            return None
        kernel = base.Kernel.instance()
        home = getattr(kernel.iopub_thread, "_master_pid", os.getpid())
    except Exception:  # foreign code, perhaps half imported: there is no kernel that we could use
        _log.debug("the kernel cannot be used", exc_info=True)
        return None
    return kernel if home == os.getpid() else None


def request_of(kernel: Any) -> dict[str, Any]:
    """The request that runs the calling code, usually an execute_request; empty if there is none."""
    try:
        parent = kernel.get_parent("shell")
    except Exception:  # foreign code; ipykernel 7.0 raises LookupError in a thread
        _log.debug("the kernel does not report its request", exc_info=True)
        return {}
    return parent if isinstance(parent, dict) else {}


def in_a_cell(shell: Any) -> bool:
    """Whether a cell, or an agent's code, has started and not ended; it may be awaiting something."""
    level: int = getattr(getattr(shell, "builtin_trap", None), "_nested_level", 0)
    return level > 0


def probe(kernel: Any) -> Shell:
    """Return the shell that runs the calling code, else the main one.

    Raises ProbeFailed if anything that the pump uses is missing.
    """
    _require(kernel, KERNEL_PARTS, "the kernel")
    subshell = subshell_here(kernel)
    stream = _main_stream(kernel) if subshell is None else _subshells_stream(kernel, subshell)
    _require(stream, STREAM_PARTS, "the shell's stream")
    _require(stream.io_loop, ("asyncio_loop", "add_callback"), "the shell's loop")
    if stream.closed() or not callable(stream._recv_callback):
        raise ProbeFailed("nothing reads the shell's stream")
    handlers = _known_handlers(kernel, COMM_TYPES + INFO_TYPES)
    if "comm_msg" not in handlers:
        raise ProbeFailed("another package than ipykernel handles comm messages")
    return Shell(kernel, stream, handlers, subshell)


def shell_channel(kernel: Any) -> Shell | None:
    """The channel that brings the messages of all shells; None if no thread of its own reads it."""
    stream = getattr(kernel, "shell_stream", None)
    try:
        if not has_subshells(kernel) or stream is _main_stream(kernel):
            return None
        _require(kernel, ("_shell_parent", "comm_manager"), "the kernel")
        _require(stream, STREAM_PARTS, "the shell channel's stream")
    except ProbeFailed:
        return None
    return Shell(kernel, stream, _known_handlers(kernel, COMM_TYPES + INFO_TYPES))


def main_loop(kernel: Any) -> Any:
    """The loop that runs on the main thread between cells; raises ProbeFailed."""
    loop = getattr(_main_stream(kernel), "io_loop", None)
    _require(loop, ("add_callback", "call_later", "asyncio_loop"), "the shell's loop")
    return loop


def has_subshells(kernel: Any) -> bool:
    return bool(getattr(kernel, "_supports_kernel_subshells", False))


def subshell_here(kernel: Any) -> str | None:
    """The id of the subshell whose thread this is: up to ipykernel 7.3, widget callbacks run in one."""
    if not has_subshells(kernel) or threading.current_thread() is threading.main_thread():
        return None
    try:
        found: str | None = kernel.shell_channel_thread.manager.subshell_id_from_thread_id(
            threading.get_ident()
        )
    except Exception:  # RuntimeError: this thread belongs to no subshell
        _log.debug("this thread belongs to no subshell", exc_info=True)
        return None
    return found


def keep_subshell(comm: Any) -> None:
    """Make the kernel handle messages to this comm in the subshell that the front end chose.

    ipykernel 7.4 sends them to the shell that last used the comm, mostly the main one, which a cell blocks.
    """
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = _chosen_subshell


def _chosen_subshell(_data: Any, chosen: str | None) -> str | None:
    return chosen


def handle_without_events(comm: Any) -> None:
    """Make messages to this comm trigger no `pre_execute` and `post_execute`.

    They are for the user's code. matplotlib draws and closes every open figure on `post_execute`: on a
    subshell's thread, in the middle of the code that makes it; on the main thread, while its cell waits.
    """
    if callable(getattr(comm, "handle_msg", None)) and hasattr(comm, "_msg_callback"):
        comm.handle_msg = partial(hand_on, comm)


def is_ours(comm: Any) -> bool:
    """Whether it is a comm of this package's widgets, whose messages may be handled on any thread."""
    handler = getattr(comm, "handle_msg", None)
    return isinstance(handler, partial) and handler.func is hand_on


def hand_on(comm: Any, message: dict[str, Any]) -> None:
    """Call the comm's own callback, and trigger no events."""
    if comm._msg_callback:
        comm._msg_callback(message)


def _main_stream(kernel: Any) -> Any:
    get_stream = getattr(sys.modules.get("ipykernel.eventloops"), "get_shell_stream", None)  # since 7.1
    try:
        if get_stream is not None:
            return get_stream(kernel)
        if has_subshells(kernel):  # 7.0
            return kernel.shell_channel_thread.manager._shell_channel_to_main.to_stream
        return kernel.shell_stream
    except AttributeError as error:
        raise ProbeFailed(f"the shell's stream is not where earlier versions have it ({error})") from None


def _subshells_stream(kernel: Any, id: str) -> Any:
    try:
        return kernel.shell_channel_thread.manager.get_shell_channel_to_subshell_pair(id).to_stream
    except (AttributeError, KeyError) as error:
        raise ProbeFailed(f"the subshell's stream is not where earlier versions have it ({error})") from None


def _require(thing: Any, parts: tuple[str, ...], what: str) -> None:
    missing = [part for part in parts if not hasattr(thing, part)]
    if missing:
        raise ProbeFailed(f"{what} has no {', '.join(missing)}")


def _known_handlers(kernel: Any, kinds: tuple[str, ...]) -> dict[str, Callable[..., Any]]:
    found = ((kind, kernel.shell_handlers.get(kind)) for kind in kinds)
    return {kind: handler for kind, handler in found if _is_known(handler)}


def _is_known(handler: Any) -> bool:
    return callable(handler) and str(getattr(handler, "__module__", "")).startswith(KNOWN_HANDLERS)
