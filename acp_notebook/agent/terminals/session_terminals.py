"""The terminals of one session: create them, find them by id, end one, those of a turn, or all.

Independent of the protocol: arguments are already checked, and changes go out as events. `terminal.py` runs
one command; this module decides *what* is run, with which environment, and how many at once.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shlex
import shutil
from collections.abc import Collection, Mapping, Sequence
from functools import partial

from ... import timeouts
from ...core.events import TerminalChanged
from ..processes.child import Command, kill_now
from ..processes.terminate import Terminator
from .output import bounded
from .terminal import Exit, OnChange, Terminal

__all__ = ["Exit", "Terminal", "TerminalTrouble", "Terminals", "UnknownTerminal"]

MAX_TERMINALS = 64
"""Unreleased terminals per session: an agent that has more open has lost track of them, and each needs two
file descriptors and memory for its output."""

FIXED = {"TERM": "xterm-256color", "PAGER": "cat", "GIT_PAGER": "cat"}
"""There is no tty and no user to press a key; most programs detect that, some only check for a pager. The
terminal's type lets those that are told to use colours do so: the panel shows them."""

FORCED_COLOURS = ("FORCE_COLOR", "CLICOLOR_FORCE")
"""A kernel sets these for output in cells. For a model, colour codes are noise; an agent that wants them can
set these in its own `env`."""


class TerminalTrouble(Exception):
    """The command cannot be run; the message says why, for the agent."""


class UnknownTerminal(TerminalTrouble):
    """There is no terminal with that id, or it was released."""


class Terminals:
    """Creates and ends the terminals of one session. Use it on the loop thread, except `kill_now`."""

    def __init__(self, env: Mapping[str, str], on_change: OnChange, limit: int = MAX_TERMINALS) -> None:
        self._env = terminal_environment(env)
        self._on_change = on_change
        self._limit = limit
        self._usable: dict[str, Terminal] = {}
        self._held: set[Terminal] = set()
        """The usable terminals, and those that were released but have not ended yet."""
        self._ids: set[str] = set()
        self._closed = False
        self._terminator = Terminator(timeouts.get().command_term_grace, timeouts.get().command_kill)

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
        """Start a command; raises TerminalTrouble. `byte_limit` and `shell` default to our own choice."""
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
                self._terminator,
                self._on_change,
            )
        except (OSError, RuntimeError) as error:  # RuntimeError: no thread can be started
            raise TerminalTrouble(start_error(error, argv[0], cwd)) from error
        self._ids.add(id)
        self._usable[id] = terminal
        self._held.add(terminal)
        self._on_change(TerminalChanged(id, command=terminal.command, cwd=cwd, status="running"))
        return terminal

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables of every command, without those that the agent adds."""
        return self._env

    def uses_shell(self, command: str, args: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> bool:
        """Whether a command is a shell line. With args it is a program; without, it is a program if there is
        one of that name, and else a shell line, which several agents send."""
        return not args and not _is_program(command, cwd, {**self._env, **env})

    def has_created(self, id: str) -> bool:
        """Whether this is the id of a terminal of this session, open or released."""
        return id in self._ids

    def get(self, id: str) -> Terminal:
        try:
            return self._usable[id]
        except KeyError:
            raise UnknownTerminal(f"there is no terminal {id!r}; it may have been released") from None

    async def release(self, id: str) -> None:
        """End the terminal and all that it started; its id is invalid at once."""
        await self._release([self.get(id)])

    async def kill_turn(self, turn: object) -> None:
        """End the commands of that turn that still run. Commands of earlier turns continue, and so do the
        processes that an exited command left behind, because they were meant to outlast it."""
        mine = [it for it in self._usable.values() if it.turn == turn and it.exit is None]
        await asyncio.gather(*(terminal.kill() for terminal in mine))

    async def release_all(self) -> None:
        """End everything; more can be created afterwards."""
        await self._release(tuple(self._held))

    async def close(self) -> None:
        """Release all terminals; nothing can be started any more."""
        self._closed = True
        await self._release(tuple(self._held))

    def kill_now(self) -> None:
        """Send SIGKILL to everything, from any thread and without the loop: at the end of the process."""
        self._closed = True
        kill_now([terminal.child for terminal in tuple(self._held)])

    def _check(self, command: str) -> None:
        if self._closed:
            raise TerminalTrouble("the session was closed: it cannot run commands any more")
        if not command.strip():
            raise TerminalTrouble("the command is empty")
        if len(self._held) >= self._limit:
            raise TerminalTrouble(f"{self._limit} terminals are open: release one before you create another")

    async def _release(self, terminals: Collection[Terminal]) -> None:
        for terminal in terminals:
            self._usable.pop(terminal.id, None)
            terminal.release().add_done_callback(partial(self._on_released, terminal))
        ends = [asyncio.shield(terminal.release()) for terminal in terminals]
        # Raise an error of one terminal only after all have ended.
        for trouble in await asyncio.gather(*ends, return_exceptions=True):
            if trouble is not None:
                raise trouble

    def _on_released(self, terminal: Terminal, _: object) -> None:
        self._held.discard(terminal)


# ---- what is run


def shell_words(line: str, env: Mapping[str, str]) -> list[str]:
    """The arguments of the process that runs a shell line."""
    # "--", because a line may begin with a dash.
    return [_shell(env), "-c", "--", line]


def _is_program(command: str, cwd: str, env: Mapping[str, str]) -> bool:
    if os.sep in command:
        path = os.path.join(cwd, command)
        return os.path.isfile(path) and os.access(path, os.X_OK)
    return shutil.which(command, path=env.get("PATH", os.defpath)) is not None


def _shell(env: Mapping[str, str]) -> str:
    """bash, because models write for it: `[[`, `source` and `{1..3}` fail in Debian's plain sh. Not the
    user's $SHELL, which may be fish, or no shell at all."""
    return shutil.which("bash", path=env.get("PATH", os.defpath)) or "/bin/sh"


def terminal_environment(base: Mapping[str, str]) -> dict[str, str]:
    """The variables of every command, without those that the agent adds."""
    return {name: value for name, value in base.items() if name not in FORCED_COLOURS} | FIXED


def start_error(error: OSError | RuntimeError, program: str, cwd: str) -> str:
    """The message for an agent whose command cannot be started."""
    if not isinstance(error, OSError):
        return f"{program!r} cannot be started: {error}"
    reason = error.strerror or str(error)
    if error.filename == cwd:
        return f"the folder {cwd} cannot be used: {reason}"
    if isinstance(error, FileNotFoundError):
        return f"there is no command {program!r}, or the interpreter that it names is missing"
    if error.errno in (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM):
        return f"no more commands can be started now ({reason}): release terminals, then retry"
    return f"{program!r} cannot be started: {reason}"
