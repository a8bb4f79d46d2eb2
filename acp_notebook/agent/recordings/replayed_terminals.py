"""The terminals of a replayed session: they show recorded output and run nothing.

Has the interface of `terminals.contract`. Knows no protocol. Older recordings contain only the responses that
the agent got about a command; those are shown then.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ... import timeouts
from ...core.events import TerminalChanged, TerminalOutput
from ..terminals.output import OutputTail, bounded
from ..terminals.session_terminals import TerminalTrouble, UnknownTerminal
from ..terminals.terminal import Exit, OnChange

if TYPE_CHECKING:
    from .replay_responders import ReplayResponders


class ReplayedTerminal:
    """Shows the recorded output and end of one command."""

    def __init__(
        self,
        id: str,
        command: str,
        cwd: str,
        limit: int,
        turn: object,
        changed: OnChange,
        ends_later: Callable[[], bool],
    ) -> None:
        self.id = id
        self.command = command
        self.cwd = cwd
        self.turn = turn
        self.exit: Exit | None = None
        self._output = OutputTail(limit)
        self._settled = asyncio.Event()
        self._changed = changed
        self._ends_later = ends_later

    def replay(self, action: dict[str, Any]) -> None:
        """Apply a recorded action of the command."""
        match action:
            case {"what": "output", "text": str(text)}:
                self._write(text, int(action.get("dropped") or 0))
            case {"what": "terminal"}:
                self._end(action.get("exit_code"), action.get("signal"), str(action.get("status")))
            case {"what": "answer"}:
                self._apply_response(action)

    def _write(self, text: str, dropped: int = 0) -> None:
        self._output.feed(text.encode(errors="replace"))
        self._changed(TerminalOutput(self.id, text, dropped))

    def _apply_response(self, answer: Mapping[str, Any]) -> None:
        output, seen = answer.get("output"), self.output()[0]
        if isinstance(output, str) and output.startswith(seen) and output != seen:
            self._write(output[len(seen) :])
        exit = answer.get("exitStatus", answer)
        if isinstance(exit, dict) and exit.keys() & {"exitCode", "signal"}:
            self._end(exit.get("exitCode"), exit.get("signal"), "exited")

    def _end(self, code: int | None, signal: str | None, status: str) -> None:
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
                async with asyncio.timeout(timeouts.get().recorded_command_end):
                    await self._settled.wait()
        self._end(None, "SIGTERM", "killed")


class ReplayedTerminals:
    """Shows the recorded terminals of one session."""

    def __init__(self, responders: ReplayResponders, session: Callable[[], str], changed: OnChange) -> None:
        self._responders = responders
        self._session = session
        self._changed = changed
        self._usable: dict[str, ReplayedTerminal] = {}
        self._made: set[str] = set()

    def has_created(self, id: str) -> bool:
        """Whether this object created the terminal, released ones included."""
        return id in self._made

    environment: Mapping[str, str] = {}
    """The environment of the recording machine is unknown."""

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
        id, why = self._responders.terminal(session, command, tuple(args))
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
            lambda: self._responders.ends_later(session, id),
        )
        self._usable[id] = terminal
        self._made.add(id)
        self._responders.follow(session, id, terminal.replay)
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
