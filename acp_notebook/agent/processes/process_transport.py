"""A transport over a child process: read and write it, see it end, leave nothing of it behind.

Knows nothing of messages (bytes only), nor of how processes are found and signalled (`guardian.Tree`), nor
of who outlives a killed kernel to do that (`guardian_client`).

The end goes one way only, in `_finish`, whatever began it: the process exited, it closed its output, or
`close` was called. The first of these is reported; the whole tree is ended in each case.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import Literal

from ..transport import CLOSED, Ended, Ending, Receive
from .child import Child, Command
from .guardian import new_token
from .guardian_client import guardian
from .pipes import ReadPipe, WritePipe
from .ring import Ring
from .terminate import Terminator

__all__ = ["Command", "ProcessTransport"]

EOF_GRACE_S = 1.0
"""Well-behaved agents exit at once when stdin ends; several real ones never do."""

TERM_GRACE_S = 2.0
"""Time to save a session's state after SIGTERM."""

KILL_S = 2.0
"""What is still there this long after SIGKILL hangs in the operating system: say so, do not wait for it."""

EXIT_WAIT_S = 1.0
"""Between the end of stdout and the exit of the process: an interpreter needs a moment to shut down."""

DRAIN_S = 0.5
"""After the exit, for the last output of grandchildren that hold the pipe open; most never close it."""

DRAIN_BYTES = 4 * 1024 * 1024
"""At most this much is taken of the last output, in case a grandchild never stops writing. All that the
agent itself wrote is among it: a pipe holds 64 KiB, and 1 MiB at most when made larger."""


class ProcessTransport:
    """The agent as a child process. All of it on the loop thread, except `kill_now` and `stderr_text`."""

    def __init__(self, command: Command) -> None:
        self.command = command
        self.survivors: tuple[int, ...] = ()
        """Processes that not even SIGKILL ended; empty but for a fault of the operating system."""
        self._token = new_token()
        self._stderr = Ring()
        self._child: Child | None = None
        self._finishing: asyncio.Task[None] | None = None
        self._over = False

    def __repr__(self) -> str:
        state = "ended" if self._over else "not started" if self._child is None else "running"
        return f"<ProcessTransport {' '.join(self.command.argv[:1])} pid={self.pid} {state}>"

    @property
    def pid(self) -> int | None:
        return None if self._child is None else self._child.pid

    @property
    def stdin_closed(self) -> bool:
        """The agent has closed its stdin (seen when we write): what we write is dropped."""
        return self._child is not None and self._stdin.broken

    @property
    def unsent(self) -> int:
        return 0 if self._child is None else self._stdin.unsent

    def start(self, receive: Receive, ended: Ended) -> None:
        """Spawn. Raises an OSError that names what is missing: the command, the folder, a permission."""
        loop = asyncio.get_running_loop()
        watcher = guardian()
        watcher.watch(self._token)  # before there is anything to watch: the kernel may be killed in between
        try:
            child = Child(self.command, self._token)
        except BaseException:
            watcher.forget(self._token)
            raise
        watcher.watch(self._token, child.pid, child.started, child.supervisor)
        assert child.stdin and child.stderr
        self._child, self._ended = child, ended
        self._stdin = WritePipe(loop, child.stdin)
        self._stdout = ReadPipe(loop, child.stdout, receive, lambda: self._begin_end("eof"))
        self._errors = ReadPipe(loop, child.stderr, self._stderr.append)
        child.watch(loop, lambda: self._begin_end("exit"))
        self._stdout.start()
        self._errors.start()

    def write(self, data: bytes) -> None:
        if self._child is not None:
            self._stdin.write(data)

    def stderr_text(self) -> str:
        return self._stderr.text()

    async def close(self) -> None:
        """EOF on stdin, then SIGTERM, then SIGKILL, each with its grace, until nothing of the tree is left.

        Calls share one shutdown, and a cancelled call does not stop it.
        """
        if self._child is not None:
            await asyncio.shield(self._begin_end("close"))

    def kill_now(self) -> None:
        """SIGKILL for the whole tree, from any thread, without the loop: for an atexit handler."""
        if self._child is not None:
            self._child.kill_now()

    # ---- the end

    def _begin_end(self, cause: Literal["exit", "eof", "close"]) -> asyncio.Task[None]:
        if self._finishing is None:
            self._finishing = asyncio.get_running_loop().create_task(self._finish(cause == "close"))
        return self._finishing

    async def _finish(self, by_us: bool) -> None:
        assert self._child is not None
        try:
            if by_us:
                self._stdin.finish()
                await self._drain(EOF_GRACE_S)
                await self._end_tree()
                with contextlib.suppress(TimeoutError):  # a supervisor needs a moment to tell the exit code
                    async with asyncio.timeout(EXIT_WAIT_S):
                        await self._child.exited.wait()
                self._report(CLOSED, self._child.reap())
            else:
                await self._drain(EXIT_WAIT_S)
                self._child.tree.look()  # while the pid is surely still the agent's: reaping frees it
                code = self._child.reap()
                self._report(_reason(self._child.reaped, code), code)
                await self._end_tree()
        finally:
            self._release()

    async def _drain(self, exit_wait: float) -> None:
        """Wait for the exit, then for the last output: its own is in the pipe, but others may still write."""
        assert self._child is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(exit_wait):
                await self._child.exited.wait()
            async with asyncio.timeout(DRAIN_S):
                await self._stdout.eof.wait()
                await self._errors.eof.wait()

    async def _end_tree(self) -> None:
        assert self._child is not None
        await Terminator(TERM_GRACE_S, KILL_S).end(self._child.tree)

    def _report(self, reason: str, exit_code: int | None) -> None:
        """Hand on what is left in the pipes, then the ending: once, and last."""
        if self._over:
            return
        try:
            self._stdout.sweep(DRAIN_BYTES)
            self._errors.sweep(DRAIN_BYTES)
        finally:
            self._over = True
            self._stdin.close()
            self._stdout.close()
            self._ended(Ending(reason, exit_code, self._stderr.tail(), unread=self._stdin.unread))

    def _release(self) -> None:
        """Give everything back; by force when the shutdown was cut short (a loop that is being closed)."""
        assert self._child is not None
        left = self._child.tree.look()
        if left:
            self._child.kill_now()
            left = self._child.tree.look()
        self.survivors = tuple(process.pid for process in left)
        code = self._child.reap()
        self._child.unwatch()
        if not left:
            guardian().forget(self._token)  # else the guardian tries again when the kernel ends
        try:
            self._report(CLOSED, code)
        finally:
            self._errors.close()


def _reason(exited: bool, code: int | None) -> str:
    if not exited:
        return "the agent closed its output but was still running"
    if code is None:
        return "the agent exited; its exit code went to another wait() in this process"
    if code >= 0:
        return f"the agent exited with code {code}"
    with contextlib.suppress(ValueError):
        return f"the agent was killed by signal {-code} ({signal.Signals(-code).name})"
    return f"the agent was killed by signal {-code}"
