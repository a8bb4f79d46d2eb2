"""A transport over a child process: read and write it, notice its end, leave no process behind.

Deals with bytes, not messages. `guardian.Tree` finds and signals the processes; `guardian_client` starts the
guardian that ends them if the kernel is killed.

The end always runs through `_finish`, whatever began it: the process exited, it closed its output, or `close`
was called. The first of these is reported; the whole tree is ended in each case.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import Literal

from ... import timeouts
from ..transport import CLOSED, Ended, Ending, Receive
from .child import Child, Command
from .guardian import new_token
from .guardian_client import guardian
from .pipes import ReadPipe, WritePipe
from .ring import Ring
from .terminate import Terminator

__all__ = ["Command", "ProcessTransport"]

DRAIN_BYTES = 4 * 1024 * 1024
"""The most that is read of the last output, in case a grandchild never stops writing. It includes everything
that the agent itself wrote: a pipe holds 64 KiB, or at most 1 MiB if it was enlarged."""


class ProcessTransport:
    """Runs the agent as a child process. Use it on the loop thread, except `kill_now` and `stderr_text`."""

    def __init__(self, command: Command) -> None:
        self.command = command
        self.survivors: tuple[int, ...] = ()
        """Processes that SIGKILL did not end; empty unless the operating system is at fault."""
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
        """Whether the agent has closed its stdin (noticed when we write): further writes are dropped."""
        return self._child is not None and self._stdin.broken

    @property
    def unsent(self) -> int:
        return 0 if self._child is None else self._stdin.unsent

    def start(self, receive: Receive, ended: Ended) -> None:
        """Start the process. Raises an OSError that names what is missing: command, folder or permission."""
        loop = asyncio.get_running_loop()
        watcher = guardian()
        watcher.watch(self._token)  # before there is anything to watch: the kernel may be killed at any time
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
        """Close stdin, then send SIGTERM, then SIGKILL, with a pause after each, until the tree has ended.

        Calls share one shutdown, and a cancelled call does not stop it.
        """
        if self._child is not None:
            await asyncio.shield(self._begin_end("close"))

    def kill_now(self) -> None:
        """Send SIGKILL to the whole tree, from any thread and without the loop: for an atexit handler."""
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
                await self._drain(timeouts.get().agent_eof_grace)
                await self._end_tree()
                with contextlib.suppress(TimeoutError):  # a supervisor needs a moment to report the exit code
                    async with asyncio.timeout(timeouts.get().agent_exit):
                        await self._child.exited.wait()
                self._report(CLOSED, self._child.reap())
            else:
                await self._drain(timeouts.get().agent_exit)
                self._child.tree.look()  # while the pid certainly is the agent's: reaping frees it
                code = self._child.reap()
                self._report(_reason(self._child.reaped, code), code)
                await self._end_tree()
        finally:
            self._release()

    async def _drain(self, exit_wait: float) -> None:
        """Wait for the exit, then for the last output: other processes may still write to the pipe."""
        assert self._child is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(exit_wait):
                await self._child.exited.wait()
            async with asyncio.timeout(timeouts.get().agent_drain):
                await self._stdout.eof.wait()
                await self._errors.eof.wait()

    async def _end_tree(self) -> None:
        assert self._child is not None
        await Terminator(timeouts.get().agent_term_grace, timeouts.get().agent_kill).end(self._child.tree)

    def _report(self, reason: str, exit_code: int | None) -> None:
        """Pass on what is left in the pipes, then report the ending, once and last."""
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
        """Release all resources; kill the tree if the shutdown was cut short (by closing the loop)."""
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
