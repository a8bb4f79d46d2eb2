"""What we use of ipykernel's insides, each piece probed before it is used.

Knows nothing of waiting. Imports no part of Jupyter: what is not loaded does not run here.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

Frames = list[Any]
"""A message as ZMQ brings it: identities, a delimiter, a signature, then the parts."""

POLLIN, POLLOUT = 1, 2  # as zmq has them; they are part of ZMQ's binary interface

COMM_TYPES = ("comm_open", "comm_msg", "comm_close")
INFO_TYPES = ("comm_info_request", "kernel_info_request")  # a page that is reloaded asks these

KNOWN_HANDLERS = ("ipykernel.", "comm.")
"""Handlers from elsewhere may wait for the loop, which stands still: their messages are not touched."""

STREAM_PARTS = ("on_recv", "flush", "closed", "socket", "io_loop", "_recv_callback", "_recv_copy")
KERNEL_PARTS = ("session", "shell_handlers", "set_parent", "get_parent", "_parent_ident", "_publish_status")


class ProbeFailed(Exception):
    """This kernel is built in another way than we know."""


@dataclass(frozen=True)
class Request:
    """A message for the kernel, of a kind that can be handled while a cell runs."""

    kind: str
    identities: list[bytes]
    message: dict[str, Any]


@dataclass(frozen=True)
class Shell:
    """A shell of a kernel, the main one as a rule: the stream of its messages, and who handles them."""

    kernel: Any
    stream: Any
    handlers: Mapping[str, Callable[..., Any]]
    subshell: str | None = None
    """The id of a subshell, which has a thread of its own."""

    @property
    def is_here(self) -> bool:
        """Whether the calling code is run by this shell: its messages can be read here and now."""
        if self.subshell is None and threading.current_thread() is not threading.main_thread():
            return False  # signals, too, can be dealt with on the main thread only
        try:
            return asyncio.get_running_loop() is self.stream.io_loop.asyncio_loop
        except RuntimeError:
            return False

    def request(self, frames: Frames) -> Request | None:
        """The message, if it can be handled while a cell runs; None for all others, broken ones included."""
        session, copy = self.kernel.session, self.stream._recv_copy
        try:
            identities, parts = session.feed_identities(frames, copy=copy)
            # Reading the header alone is no reading: of a message read twice, the second is refused.
            kind = session.deserialize(parts, content=False, copy=copy)["header"]["msg_type"]
            if kind not in self.handlers:
                return None
            return Request(kind, identities, session.deserialize(parts, content=True, copy=copy))
        except Exception:  # whatever it is, the kernel's own callback has the words for it
            return None

    def call(self, request: Request) -> None:
        """Run the kernel's own handler of this message."""
        result = self.handlers[request.kind](self._answers, request.identities, request.message)
        if inspect.iscoroutine(result):
            # ipykernel's handlers of INFO_TYPES are coroutines that wait for nothing.
            with suppress(StopIteration):
                result.send(None)
                result.close()

    def status(self, state: str, request: Request) -> None:
        """Publish busy or idle for this message."""
        self.kernel._publish_status(state, "shell", parent=request.message)

    def flush(self) -> None:
        """Send what is still queued: a ZMQStream sends when its loop turns."""
        for output in (sys.stdout, sys.stderr):
            if output is not None:
                output.flush()
        if not has_subshells(self.kernel):
            flush(self.stream, POLLOUT)

    @property
    def _answers(self) -> Any:
        """Where answers on the shell channel are sent to."""
        if not has_subshells(self.kernel):
            return self.stream
        return self.kernel.shell_channel_thread.manager.get_subshell_to_shell_channel_socket(self.subshell)


def flush(stream: Any, flag: int, limit: int | None = None) -> None:
    """Do what a stream has to do now, perhaps within another flush of it: ipykernel 6 has one after errors.

    A flush that did something marks the stream as done for this turn of its loop. The outer one would then
    read nothing more, see that there is something to read, and go round for ever.
    """
    done = getattr(stream, "_flushed", None)
    try:
        stream.flush(flag, limit=limit)
    finally:
        if done is not None:
            stream._flushed = done


def running_kernel() -> Any | None:
    """The ipykernel kernel of this process; None in a fork of it."""
    base = sys.modules.get("ipykernel.kernelbase")
    try:
        if base is None or not base.Kernel.initialized():
            return None
        kernel = base.Kernel.instance()
        home = getattr(kernel.iopub_thread, "_master_pid", os.getpid())
    except Exception:  # foreign code, perhaps half imported: then there is no kernel that we could use
        return None
    return kernel if home == os.getpid() else None


def request_of(kernel: Any) -> dict[str, Any]:
    """The request that the calling code is part of, an execute_request as a rule; empty if there is none."""
    try:
        parent = kernel.get_parent("shell")
    except Exception:  # foreign code; ipykernel 7.0 raises LookupError in a thread
        return {}
    return parent if isinstance(parent, dict) else {}


def probe(kernel: Any) -> Shell:
    """The shell that runs the calling code, else the main one.

    Raises ProbeFailed if anything that the pump touches is not there.
    """
    _require(kernel, KERNEL_PARTS, "the kernel")
    subshell = subshell_here(kernel)
    stream = _main_stream(kernel) if subshell is None else _subshells_stream(kernel, subshell)
    _require(stream, STREAM_PARTS, "the shell's stream")
    _require(stream.io_loop, ("asyncio_loop", "add_callback"), "the shell's loop")
    if stream.closed() or not callable(stream._recv_callback):
        raise ProbeFailed("the shell's stream is not read by anyone")
    known = ((kind, kernel.shell_handlers.get(kind)) for kind in COMM_TYPES + INFO_TYPES)
    handlers = {kind: handler for kind, handler in known if _is_known(handler)}
    if "comm_msg" not in handlers:
        raise ProbeFailed("comm messages are not handled by ipykernel itself")
    return Shell(kernel, stream, handlers, subshell)


def main_loop(kernel: Any) -> Any:
    """The loop that turns on the main thread while no cell runs; raises ProbeFailed."""
    loop = getattr(_main_stream(kernel), "io_loop", None)
    _require(loop, ("add_callback",), "the shell's loop")
    return loop


def has_subshells(kernel: Any) -> bool:
    return bool(getattr(kernel, "_supports_kernel_subshells", False))


def subshell_here(kernel: Any) -> str | None:
    """The id of the subshell whose thread this is: up to 7.3, callbacks of widgets run in one."""
    if not has_subshells(kernel) or threading.current_thread() is threading.main_thread():
        return None
    try:
        found: str | None = kernel.shell_channel_thread.manager.subshell_id_from_thread_id(
            threading.get_ident()
        )
    except Exception:  # RuntimeError: it is some other thread
        return None
    return found


def keep_subshell(comm: Any) -> None:
    """Have messages to this comm handled in the subshell that the front end chose.

    ipykernel 7.4 sends them to the shell that last used the comm, mostly the main one, which a cell holds.
    """
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = _chosen_subshell


def _chosen_subshell(_data: Any, chosen: str | None) -> str | None:
    return chosen


def _main_stream(kernel: Any) -> Any:
    ask = getattr(sys.modules.get("ipykernel.eventloops"), "get_shell_stream", None)  # since 7.1
    try:
        if ask is not None:
            return ask(kernel)
        if has_subshells(kernel):  # 7.0
            return kernel.shell_channel_thread.manager._shell_channel_to_main.to_stream
        return kernel.shell_stream
    except AttributeError as error:
        raise ProbeFailed(f"the shell's stream is not where it was ({error})") from None


def _subshells_stream(kernel: Any, id: str) -> Any:
    try:
        return kernel.shell_channel_thread.manager.get_shell_channel_to_subshell_pair(id).to_stream
    except (AttributeError, KeyError) as error:
        raise ProbeFailed(f"the subshell's stream is not where it was ({error})") from None


def _require(thing: Any, parts: tuple[str, ...], what: str) -> None:
    missing = [part for part in parts if not hasattr(thing, part)]
    if missing:
        raise ProbeFailed(f"{what} has no {', '.join(missing)}")


def _is_known(handler: Any) -> bool:
    return callable(handler) and str(getattr(handler, "__module__", "")).startswith(KNOWN_HANDLERS)
