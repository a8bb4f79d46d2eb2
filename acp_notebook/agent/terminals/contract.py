"""The interface of a session's terminals, real or replayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from .terminal import Exit


class AnyTerminal(Protocol):
    """A command with its output and exit status."""

    id: str
    turn: object

    @property
    def exit(self) -> Exit | None: ...

    def output(self) -> tuple[str, bool]:
        """The kept output, and whether anything before it was dropped."""

    async def wait(self) -> Exit: ...

    async def kill(self) -> None: ...


class SessionTerminals(Protocol):
    """Creates, finds and ends the terminals of one session."""

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables of every command, without those that the agent adds."""

    def uses_shell(self, command: str, args: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> bool: ...

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
    ) -> AnyTerminal:
        """Raises TerminalTrouble."""

    def has_created(self, id: str) -> bool:
        """Whether this is the id of a terminal of this session, open or released."""

    def get(self, id: str) -> AnyTerminal:
        """Raises UnknownTerminal."""

    async def release(self, id: str) -> None: ...

    async def kill_turn(self, turn: object) -> None: ...

    async def release_all(self) -> None: ...

    async def close(self) -> None: ...

    def kill_now(self) -> None: ...
