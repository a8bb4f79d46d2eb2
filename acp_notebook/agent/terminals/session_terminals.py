"""The terminals of one session: created, found by their ids, ended one by one, by turn, or all.

Knows nothing of the protocol: arguments come checked, what happens goes out as events. How one command is
run is `terminal.py`'s; here is decided *what* is run, with which environment, and how many at once.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shlex
import shutil
from collections.abc import Collection, Mapping, Sequence
from functools import partial

from ...core.events import TerminalChanged
from ..processes.child import Command, kill_now
from ..processes.terminate import Terminator
from . import terminal as one
from .output import bounded
from .terminal import Changed, Exit, Terminal

__all__ = ["Exit", "Terminal", "TerminalTrouble", "Terminals", "UnknownTerminal"]

MAX_TERMINALS = 64
"""Not released, per session: an agent that runs more at once has lost count of them, and each holds two file
descriptors and its output."""

PLAIN = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat"}
"""There is no tty and nobody to press a key; most programs see that, some only look here."""

FORCED_COLOURS = ("FORCE_COLOR", "CLICOLOR_FORCE")
"""A kernel sets these for what is shown in cells. Colours in a pipe are noise to a model that reads the
output; an agent that wants them says so in its own `env`."""


class TerminalTrouble(Exception):
    """The command cannot be run; the message says why, for the agent."""


class UnknownTerminal(TerminalTrouble):
    """No terminal has that id, or not any more."""


class Terminals:
    """All of it on the loop thread, except `kill_now`."""

    def __init__(self, env: Mapping[str, str], changed: Changed, limit: int = MAX_TERMINALS) -> None:
        self._env = terminal_environment(env)
        self._changed = changed
        self._limit = limit
        self._usable: dict[str, Terminal] = {}
        self._held: set[Terminal] = set()
        """The usable ones, and those that were released but have not ended yet."""
        self._ids: set[str] = set()
        self._closed = False
        self._ender = Terminator(one.TERM_GRACE_S, one.KILL_S)

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
    ) -> Terminal:
        """Start a command; raises TerminalTrouble. `byte_limit` None: the default; `shell`: `uses_shell`."""
        self._check(command)
        environment = {**self._env, **env}
        if shell is None:
            shell = self.uses_shell(command, args, cwd=cwd, env=env)
        argv = shell_words(command, environment) if shell else [command, *args]
        id = f"term-{len(self._ids) + 1}"
        shown = shlex.join([command, *args]) if args else command
        try:
            terminal = Terminal(
                id,
                Command(tuple(argv), cwd, environment),
                shown.encode(errors="replace").decode(),
                bounded(byte_limit),
                turn,
                self._ender,
                self._changed,
            )
        except (OSError, RuntimeError) as error:  # RuntimeError: no thread can be started
            raise TerminalTrouble(why(error, argv[0], cwd)) from error
        self._ids.add(id)
        self._usable[id] = terminal
        self._held.add(terminal)
        self._changed(TerminalChanged(id, command=terminal.command, cwd=cwd, status="running"))
        return terminal

    @property
    def environment(self) -> Mapping[str, str]:
        """What every command gets, before the agent's own variables."""
        return self._env

    def uses_shell(self, command: str, args: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> bool:
        """Whether a command is a line for the shell. With args it is a program; a command alone is one if
        there is a program of that name, and else a line, as several agents send them."""
        return not args and not _is_program(command, cwd, {**self._env, **env})

    def made(self, id: str) -> bool:
        """Whether this is, or was, one of these."""
        return id in self._ids

    def get(self, id: str) -> Terminal:
        try:
            return self._usable[id]
        except KeyError:
            raise UnknownTerminal(f"there is no terminal {id!r}; it may have been released") from None

    async def release(self, id: str) -> None:
        """End it with all that it started; from this moment on nobody knows its id."""
        await self._release([self.get(id)])

    async def kill_turn(self, turn: object) -> None:
        """End the commands of that turn that still run. Those of earlier turns go on, and so does what a
        command that has exited left running: it was meant to outlast its command."""
        mine = [it for it in self._usable.values() if it.turn == turn and it.exit is None]
        await asyncio.gather(*(terminal.kill() for terminal in mine))

    async def release_all(self) -> None:
        """End everything; more can be created afterwards."""
        await self._release(tuple(self._held))

    async def close(self) -> None:
        """Release all; nothing is left running, and nothing can be started any more."""
        self._closed = True
        await self._release(tuple(self._held))

    def kill_now(self) -> None:
        """SIGKILL for everything, from any thread, without the loop: for the interpreter's end."""
        self._closed = True
        kill_now([terminal.child for terminal in tuple(self._held)])

    def _check(self, command: str) -> None:
        if self._closed:
            raise TerminalTrouble("the session was closed: it runs no more commands")
        if not command.strip():
            raise TerminalTrouble("the command is empty")
        if len(self._held) >= self._limit:
            raise TerminalTrouble(f"{self._limit} terminals are open: release one before you create another")

    async def _release(self, terminals: Collection[Terminal]) -> None:
        for terminal in terminals:
            self._usable.pop(terminal.id, None)
            terminal.release().add_done_callback(partial(self._over, terminal))
        ends = [asyncio.shield(terminal.release()) for terminal in terminals]
        # A trouble with one is told when all have ended.
        for trouble in await asyncio.gather(*ends, return_exceptions=True):
            if trouble is not None:
                raise trouble

    def _over(self, terminal: Terminal, _: object) -> None:
        self._held.discard(terminal)


# ---- what is run


def shell_words(line: str, env: Mapping[str, str]) -> list[str]:
    """The arguments of the process that runs a shell line."""
    # "--", since a line may begin with a dash.
    return [_shell(env), "-c", "--", line]


def _is_program(command: str, cwd: str, env: Mapping[str, str]) -> bool:
    if os.sep in command:
        path = os.path.join(cwd, command)
        return os.path.isfile(path) and os.access(path, os.X_OK)
    return shutil.which(command, path=env.get("PATH", os.defpath)) is not None


def _shell(env: Mapping[str, str]) -> str:
    """bash, for which models write their lines: `[[`, `source` and `{1..3}` fail in the plain sh of Debian.
    Not the user's $SHELL: that may be fish, or no shell at all."""
    return shutil.which("bash", path=env.get("PATH", os.defpath)) or "/bin/sh"


def terminal_environment(base: Mapping[str, str]) -> dict[str, str]:
    """What every command gets, before the agent's own variables."""
    return {name: value for name, value in base.items() if name not in FORCED_COLOURS} | PLAIN


def why(error: OSError | RuntimeError, program: str, cwd: str) -> str:
    """A start that failed, in words for the agent."""
    if not isinstance(error, OSError):
        return f"{program!r} cannot be started: {error}"
    reason = error.strerror or str(error)
    if error.filename == cwd:
        return f"the folder {cwd} cannot be used: {reason}"
    if isinstance(error, FileNotFoundError):
        return f"there is no command {program!r} (or not the interpreter that it names)"
    if error.errno in (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM):
        return f"no more commands can be run now ({reason}): release terminals, then retry"
    return f"{program!r} cannot be started: {reason}"
