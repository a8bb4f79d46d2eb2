"""The terminals of a replayed session: nothing is run, what was recorded is told.

In the place of `terminals.Terminals`, with the same calls. Knows no protocol. An older recording tells of a
command only what the agent was answered when it asked; then that is what is shown.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...core.events import TerminalChanged, TerminalOutput
from ..terminals.output import Output, bounded
from ..terminals.session_terminals import Terminals, TerminalTrouble, UnknownTerminal
from ..terminals.terminal import Changed, Exit, Terminal

if TYPE_CHECKING:
    from .replay_responders import ReplayResponders

END_S = 1.0
"""A command that is ended here gets this long for its recorded end to be told."""


class ReplayedTerminal:
    def __init__(
        self,
        id: str,
        command: str,
        cwd: str,
        limit: int,
        turn: object,
        changed: Changed,
        ends_later: Callable[[], bool],
    ) -> None:
        self.id = id
        self.command = command
        self.cwd = cwd
        self.turn = turn
        self.exit: Exit | None = None
        self._output = Output(limit)
        self._settled = asyncio.Event()
        self._changed = changed
        self._ends_later = ends_later

    def told(self, action: dict[str, Any]) -> None:
        match action:
            case {"what": "output", "text": str(text)}:
                self._wrote(text, int(action.get("dropped") or 0))
            case {"what": "terminal"}:
                self._ended(action.get("exit_code"), action.get("signal"), str(action.get("status")))
            case {"what": "answer"}:
                self._answered(action)

    def _wrote(self, text: str, dropped: int = 0) -> None:
        self._output.feed(text.encode(errors="replace"))
        self._changed(TerminalOutput(self.id, text, dropped))

    def _answered(self, answer: Mapping[str, Any]) -> None:
        output, seen = answer.get("output"), self.output()[0]
        if isinstance(output, str) and output.startswith(seen) and output != seen:
            self._wrote(output[len(seen) :])
        exit = answer.get("exitStatus", answer)
        if isinstance(exit, dict) and exit.keys() & {"exitCode", "signal"}:
            self._ended(exit.get("exitCode"), exit.get("signal"), "exited")

    def _ended(self, code: int | None, signal: str | None, status: str) -> None:
        if self.exit is None:
            self.exit = Exit(code, signal)
            self._settled.set()
            self._changed(TerminalChanged(self.id, status=status, exit_code=code, signal=signal))

    def output(self) -> tuple[str, bool]:
        return self._output.text()

    async def wait(self) -> Exit:
        await self._settled.wait()
        assert self.exit is not None
        return self.exit

    async def kill(self) -> None:
        if self.exit is None and self._ends_later():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(END_S):
                    await self._settled.wait()
        self._ended(None, "SIGTERM", "killed")


class ReplayedTerminals:
    """Shows the recorded terminals of one session; nothing is run."""

    def __init__(self, others: ReplayResponders, session: Callable[[], str], changed: Changed) -> None:
        self._others = others
        self._session = session
        self._changed = changed
        self._usable: dict[str, ReplayedTerminal] = {}
        self._made: set[str] = set()

    def made(self, id: str) -> bool:
        """Whether this is, or was, one of these."""
        return id in self._made

    environment: Mapping[str, str] = {}
    """Of the machine of the recording: unknown."""

    def uses_shell(self, command: str, args: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> bool:
        return not args

    def create(
        self,
        command: str,
        args: Sequence[str] = (),
        *,
        cwd: str,
        env: Mapping[str, str],
        byte_limit: int | None,
        turn: object,
        shell: bool | None = None,
    ) -> ReplayedTerminal:
        session = self._session()
        id, why = self._others.terminal(session, command, tuple(args))
        if id is None:
            raise TerminalTrouble(why)
        shown = shlex.join([command, *args]) if args else command
        terminal = ReplayedTerminal(
            id,
            shown,
            cwd,
            bounded(byte_limit),
            turn,
            self._changed,
            lambda: self._others.ends_later(session, id),
        )
        self._usable[id] = terminal
        self._made.add(id)
        self._others.follow(session, id, terminal.told)
        self._changed(TerminalChanged(id, command=shown, cwd=cwd, status="running"))
        return terminal

    def get(self, id: str) -> ReplayedTerminal:
        try:
            return self._usable[id]
        except KeyError:
            raise UnknownTerminal(f"there is no terminal {id!r}; it may have been released") from None

    async def release(self, id: str) -> None:
        terminal = self.get(id)
        del self._usable[id]
        await terminal.kill()
        self._changed(TerminalChanged(id, released=True))

    async def kill_turn(self, turn: object) -> None:
        mine = [it for it in self._usable.values() if it.turn == turn and it.exit is None]
        await asyncio.gather(*(terminal.kill() for terminal in mine))

    async def release_all(self) -> None:
        await asyncio.gather(*(self.release(id) for id in tuple(self._usable)))

    async def close(self) -> None:
        await self.release_all()

    def kill_now(self) -> None:
        self._usable.clear()


AnyTerminal = Terminal | ReplayedTerminal
AnyTerminals = Terminals | ReplayedTerminals
