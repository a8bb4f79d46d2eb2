"""One terminal: run a command for the agent, keep its output and exit status, and end it.

Independent of the protocol and of other terminals (`session_terminals.py`). Not a tty: the command has no
stdin, and stdout and stderr are one stream, in the order in which the command writes.

Everything happens on the loop thread. A command that has exited stays unreaped until its terminal is
released: so it keeps its process id, which is also the id of its session, and by which the processes that it
left running are found. `_settle` records the exit, once; every end goes through `_clean_up`.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from typing import NamedTuple

from ... import timeouts
from ...core.events import TerminalChanged, TerminalOutput
from ...log import logger, suppressed
from ..processes.child import Child, Command
from ..processes.guardian import new_token
from ..processes.guardian_client import guardian
from ..processes.pipes import ReadPipe
from ..processes.terminate import Terminator
from .output import Batch, OutputTail

_log = logger(__name__)

DRAIN_BYTES = 4 * 1024 * 1024
"""The most that is read of the last output, in case a process never stops writing. It includes everything
that the command itself wrote: a pipe holds 64 KiB, or at most 1 MiB if it was enlarged."""

FLOOD_BYTES = 4 * 1024 * 1024
"""The most that is read in that time (120 MB a second): a flood as from `yes` has to wait."""

OnChange = Callable[[TerminalChanged | TerminalOutput], object]


class Exit(NamedTuple):
    """How a command ended. Both are None if that is unknown (another wait() in this process collected it)."""

    code: int | None
    signal: str | None


class Terminal:
    """A started command with its output; created by `Terminals.create`."""

    def __init__(
        self,
        id: str,
        command: Command,
        shown: str,
        limit: int,
        turn: object,
        terminator: Terminator,
        on_change: OnChange,
    ) -> None:
        """Start the command; raises OSError."""
        self.id = id
        self.command = shown
        """The command line, for people."""
        self.cwd = command.cwd
        self.turn = turn
        self.exit: Exit | None = None
        """None while it runs."""
        self.survivors: tuple[int, ...] = ()
        """Processes that SIGKILL did not end; empty unless the operating system is at fault."""
        self._output = OutputTail(limit)
        self._batch = Batch()
        self._taken = 0
        self._timer: asyncio.TimerHandle | None = None
        self._settled = asyncio.Event()
        self._killed = False
        self._draining: asyncio.Task[None] | None = None
        self._releasing: asyncio.Task[None] | None = None
        self._released = False
        self._terminator = terminator
        self._on_change = on_change
        self._loop = asyncio.get_running_loop()
        self._start(command)

    def __repr__(self) -> str:
        state = "released" if self._released else "running" if self.exit is None else "exited"
        return f"<Terminal {self.id} pid={self.child.pid} {state}: {self.command[:60]}>"

    def _start(self, command: Command) -> None:
        self._token = new_token()
        watcher = guardian()
        watcher.watch(self._token)  # before there is anything to watch: the kernel may be killed at any time
        try:
            self.child = Child(command, self._token, talks=False)
        except BaseException:
            watcher.forget(self._token)
            raise
        try:
            watcher.watch(self._token, self.child.pid, self.child.started, self.child.supervisor)
            self._pipe = ReadPipe(self._loop, self.child.stdout, self._receive, self._on_eof)
            self.child.watch(self._loop, self._on_exit)
            self._pipe.start()
        except BaseException:  # no thread or no file descriptor left
            self.child.kill_now()
            self.child.unwatch()
            self.child.stdout.close()
            watcher.forget(self._token)
            raise

    def output(self) -> tuple[str, bool]:
        """The kept output, and whether anything before it was dropped."""
        return self._output.text()

    async def wait(self) -> Exit:
        """Wait until the command itself has exited, even if it left processes running."""
        await self._settled.wait()
        assert self.exit is not None
        return self.exit

    async def kill(self) -> None:
        """End the command and all that it started: SIGTERM, a pause, SIGKILL. Output and exit remain."""
        await self._end()

    def release(self) -> asyncio.Task[None]:
        """Kill, and release all resources. All calls share one task: shield it to wait for it."""
        if self._releasing is None:
            self._releasing = self._loop.create_task(self._release())
        return self._releasing

    # ---- output

    def _receive(self, data: bytes) -> None:
        self._taken += len(data)
        if self._taken >= FLOOD_BYTES:
            self._pipe.stop()
        self._queue(self._output.feed(data))

    def _on_eof(self) -> None:
        self._queue(self._output.finish())

    def _queue(self, text: str) -> None:
        self._batch.add(text)
        if self._timer is None:
            self._timer = self._loop.call_later(timeouts.get().command_batch, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._taken = 0
        self._pipe.start()
        text, dropped = self._batch.take()
        if text:
            self._on_change(TerminalOutput(self.id, text, dropped))

    # ---- the exit

    def _on_exit(self) -> None:
        if not self._released:
            self._draining = self._loop.create_task(self._drain())

    async def _drain(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeouts.get().command_drain):
                await self._pipe.eof.wait()
        self._settle()

    def _settle(self) -> None:
        """Read what is left in the pipe, then report the exit, once."""
        if self.exit is not None:
            return
        self._pipe.sweep(DRAIN_BYTES)
        self.exit = exit_of(self.child.peek())
        if self.child.reaped and not self._released:
            self._forget_pid()
        self._settled.set()
        self._flush()
        status = "killed" if self._killed else "exited"
        self._on_change(
            TerminalChanged(self.id, status=status, exit_code=self.exit.code, signal=self.exit.signal)
        )

    def _forget_pid(self) -> None:
        """Stop using the pid as proof: the command is reaped (by another wait(), or because the system offers
        no other way), and the release may be hours away, when the pid may belong to a stranger. The processes
        that it left are known by now, or have the token."""
        with suppressed(_log, OSError):  # no file descriptor left: the token remains
            self.child.tree.look()
        self.child.tree.look({})  # a table without it: from now on the pid proves nothing
        guardian().watch(self._token, supervisor=self.child.supervisor)

    # ---- the end

    async def _end(self) -> bool:
        """End all processes; return whether none is left."""
        if self._released:
            return True
        self._killed = self._killed or not self.child.exited.is_set()
        gone = await self._terminator.end(self.child.tree)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeouts.get().command_kill):
                await self._settled.wait()
        return gone

    async def _release(self) -> None:
        gone = False
        try:
            gone = await self._end()
        finally:
            self._clean_up(gone and self._settled.is_set())

    def _clean_up(self, gone: bool) -> None:
        """Release all resources; kill what is left if the end was cut short, by a closed loop or a hang."""
        self._released = True
        if not gone:
            self.child.kill_now()
            with suppressed(_log, OSError):
                self.survivors = tuple(process.pid for process in self.child.tree.look())
        if self._draining is not None:
            self._draining.cancel()
        self.child.unwatch()
        try:
            self._settle()
            self._queue(self._output.finish())
            self._flush()
            self._on_change(TerminalChanged(self.id, released=True))
        finally:
            self._pipe.close()
            self.child.reap()
            if not self.survivors:
                guardian().forget(self._token)  # else the guardian tries again when the kernel ends


def exit_of(code: int | None) -> Exit:
    """Convert an exit code in Python's form, which is negative for a signal."""
    if code is None or code >= 0:
        return Exit(code, None)
    try:
        return Exit(None, signal.Signals(-code).name)
    except ValueError:  # a real-time signal: most have no name
        return Exit(None, f"SIG{-code}")
