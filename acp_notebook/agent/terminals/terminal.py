"""One terminal: a command that the agent had us run, its output, its exit, its end.

Knows nothing of the protocol, nor which commands there are besides (`terminals.py`). Not a tty: the command
reads nothing, and what it writes to stdout and stderr is one stream, in the order of its writing.

Everything happens on the loop thread. A command that has exited stays unreaped until its terminal is
released: so its process id, which is also the number of its session, remains its own, and what it left
running is found by it. `_settle` notes the exit, once; `_give_back` is the one way out.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from typing import NamedTuple

from ...core.events import TerminalChanged, TerminalOutput
from ..processes.child import Child, Command
from ..processes.guardian import new_token
from ..processes.guardian_client import guardian
from ..processes.pipes import ReadPipe
from ..processes.terminate import Terminator
from .output import Batch, Output

TERM_GRACE_S = 1.0
"""Time to put things in order after SIGTERM: a test run removes its files, a server closes its port."""

KILL_S = 2.0
"""What is still there this long after SIGKILL hangs in the operating system: nobody waits for it."""

DRAIN_S = 0.25
"""After the exit, for the last output of those who hold the pipe open. A filter (`> >(tee log)`) needs a
moment; a server left in the background never closes it, and the agent waits for our answer."""

DRAIN_BYTES = 4 * 1024 * 1024
"""At most this much is taken of the last output, in case somebody never stops writing. All that the command
itself wrote is among it: a pipe holds 64 KiB, and 1 MiB at most when made larger."""

BATCH_S = 1 / 30
"""Between two reports of new output: as often as a page is told."""

FLOOD_BYTES = 4 * 1024 * 1024
"""Read in that time at most (120 MB a second): `yes` is held up by its full pipe, and not we by `yes`."""

Changed = Callable[[TerminalChanged | TerminalOutput], object]


class Exit(NamedTuple):
    """How a command ended. Both None: nobody knows (another wait() in this process took it)."""

    code: int | None
    signal: str | None


class Terminal:
    """A started command; made by `Terminals.create`, which also says who may use it."""

    def __init__(
        self,
        id: str,
        command: Command,
        shown: str,
        limit: int,
        turn: object,
        ender: Terminator,
        changed: Changed,
    ) -> None:
        """Starts it; raises OSError."""
        self.id = id
        self.command = shown
        """The command line, for people."""
        self.cwd = command.cwd
        self.turn = turn
        self.exit: Exit | None = None
        """None while it runs."""
        self.survivors: tuple[int, ...] = ()
        """Processes that not even SIGKILL ended; empty but for a fault of the operating system."""
        self._output = Output(limit)
        self._batch = Batch()
        self._taken = 0
        self._timer: asyncio.TimerHandle | None = None
        self._settled = asyncio.Event()
        self._killed = False
        self._draining: asyncio.Task[None] | None = None
        self._releasing: asyncio.Task[None] | None = None
        self._given_back = False
        self._ender = ender
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._start(command)

    def __repr__(self) -> str:
        state = "released" if self._given_back else "running" if self.exit is None else "exited"
        return f"<Terminal {self.id} pid={self.child.pid} {state}: {self.command[:60]}>"

    def _start(self, command: Command) -> None:
        self._token = new_token()
        watcher = guardian()
        watcher.watch(self._token)  # before there is anything to watch: the kernel may be killed in between
        try:
            self.child = Child(command, self._token, talks=False)
        except BaseException:
            watcher.forget(self._token)
            raise
        try:
            watcher.watch(self._token, self.child.pid, self.child.started, self.child.supervisor)
            self._pipe = ReadPipe(self._loop, self.child.stdout, self._receive, self._eof)
            self.child.watch(self._loop, self._exited)
            self._pipe.start()
        except BaseException:  # no thread, no file descriptor
            self.child.kill_now()
            self.child.unwatch()
            self.child.stdout.close()
            watcher.forget(self._token)
            raise

    def output(self) -> tuple[str, bool]:
        """What is kept of the output, and whether something was cut off before it."""
        return self._output.text()

    async def wait(self) -> Exit:
        """Until the command itself has exited, whatever it left running."""
        await self._settled.wait()
        assert self.exit is not None
        return self.exit

    async def kill(self) -> None:
        """End the command and all that it started: SIGTERM, a grace, SIGKILL. Output and exit remain."""
        await self._end()

    def release(self) -> asyncio.Task[None]:
        """As `kill`, and give everything back. All calls share one ending: shield it to wait for it."""
        if self._releasing is None:
            self._releasing = self._loop.create_task(self._release())
        return self._releasing

    # ---- output

    def _receive(self, data: bytes) -> None:
        self._taken += len(data)
        if self._taken >= FLOOD_BYTES:
            self._pipe.stop()
        self._tell(self._output.feed(data))

    def _eof(self) -> None:
        self._tell(self._output.finish())

    def _tell(self, text: str) -> None:
        self._batch.add(text)
        if self._timer is None:
            self._timer = self._loop.call_later(BATCH_S, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._taken = 0
        self._pipe.start()
        text, dropped = self._batch.take()
        if text:
            self._changed(TerminalOutput(self.id, text, dropped))

    # ---- the exit

    def _exited(self) -> None:
        if not self._given_back:
            self._draining = self._loop.create_task(self._drain())

    async def _drain(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                await self._pipe.eof.wait()
        self._settle()

    def _settle(self) -> None:
        """Take what is in the pipe, then tell of the exit: once."""
        if self.exit is not None:
            return
        self._pipe.sweep(DRAIN_BYTES)
        self.exit = exit_of(self.child.peek())
        if self.child.reaped and not self._given_back:
            self._lose_number()
        self._settled.set()
        self._flush()
        status = "killed" if self._killed else "exited"
        self._changed(
            TerminalChanged(self.id, status=status, exit_code=self.exit.code, signal=self.exit.signal)
        )

    def _lose_number(self) -> None:
        """Another wait() reaped it (or the system can only do that), and the release may be hours away:
        by then its process id can be a stranger's. What it left is known by now, or bears the token."""
        with contextlib.suppress(OSError):  # no file descriptor left: the token remains
            self.child.tree.look()
        self.child.tree.look({})  # a table without it: from now on the number proves nothing
        guardian().watch(self._token, supervisor=self.child.supervisor)

    # ---- the end

    async def _end(self) -> bool:
        """True when nothing is left."""
        if self._given_back:
            return True
        self._killed = self._killed or not self.child.exited.is_set()
        gone = await self._ender.end(self.child.tree)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(KILL_S):
                await self._settled.wait()
        return gone

    async def _release(self) -> None:
        gone = False
        try:
            gone = await self._end()
        finally:
            self._give_back(gone and self._settled.is_set())

    def _give_back(self, gone: bool) -> None:
        """By force where the end was cut short: the loop is being closed, or something hangs."""
        self._given_back = True
        if not gone:
            self.child.kill_now()
            with contextlib.suppress(OSError):
                self.survivors = tuple(process.pid for process in self.child.tree.look())
        if self._draining is not None:
            self._draining.cancel()
        self.child.unwatch()
        try:
            self._settle()
            self._tell(self._output.finish())
            self._flush()
            self._changed(TerminalChanged(self.id, released=True))
        finally:
            self._pipe.close()
            self.child.reap()
            if not self.survivors:
                guardian().forget(self._token)  # else the guardian tries again when the kernel ends


def exit_of(code: int | None) -> Exit:
    """From an exit code as Python has it: negative for a signal."""
    if code is None or code >= 0:
        return Exit(code, None)
    try:
        return Exit(None, signal.Signals(-code).name)
    except ValueError:  # a real-time signal: most have no name
        return Exit(None, f"SIG{-code}")
