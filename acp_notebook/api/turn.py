"""Turn: one prompt and all that came of it, as the user scripts it.

Reads from the session's transcript; changes nothing itself. Usable from any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from ..agent.conversation import Conversation
from ..agent.loop import check_waiting
from ..agent.turn_queue import TurnRun
from ..core.records import Diff, TokenUsage
from ..core.snapshot import Item, Message, Plan, TerminalRun, ToolCall, TurnStart
from ..errors import Timeout
from ..frontend.display import display_turn, present
from ..frontend.rendering import Rendered
from ..notebook import kernel
from ..notebook.interrupts import Gate

if TYPE_CHECKING:
    from .changes import ChangesTable
    from .session import Session

CHANGING_KINDS = frozenset({"edit", "delete", "move"})
"""Kinds of tool calls whose locations are files that the agent changes."""

I = TypeVar("I", bound=Item)  # noqa: E741


class Turn(Rendered):
    """One prompt and its answer. It fills up while it runs; `wait()`, `await` and `done` tell its end."""

    def __init__(self, session: Session, conversation: Conversation, run: TurnRun) -> None:
        self._session = session
        self._conversation = conversation
        self._run = run
        self._shown_by: str | None = None

    # ---- what came of it ------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The agent's messages."""
        return "".join(item.text for item in self._messages("agent"))

    @property
    def thoughts(self) -> str:
        return "".join(item.text for item in self._messages("thought"))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return self._of(ToolCall)

    @property
    def plan(self) -> Plan | None:
        """The newest plan."""
        plans = self._of(Plan)
        return plans[-1] if plans else None

    @property
    def diffs(self) -> tuple[Diff, ...]:
        """The changes that tool calls showed."""
        return tuple(diff for call in self.tool_calls for diff in call.diffs)

    @property
    def terminals(self) -> tuple[TerminalRun, ...]:
        """The commands that were run for the agent, with their output."""
        return self._of(TerminalRun)

    @property
    def files(self) -> tuple[str, ...]:
        """The paths that the agent changed, as far as its tool calls say."""
        return tuple(dict.fromkeys(_changed_paths(self.tool_calls)))

    @property
    def changes(self) -> ChangesTable:
        """The files that the agent changed, through us or named by a tool call: a table, with diffs."""
        from .changes import changes_of

        return changes_of(self._conversation, self._run.id)

    @property
    def also_changed(self) -> ChangesTable:
        """The files that also changed during the turn: while a command ran, or by whatever else was at work.

        Nothing says that the agent changed them. `revert()` leaves them alone.
        """
        from .changes import also_changed

        return also_changed(self._conversation, self._run.id)

    def revert(self, *, command: ToolCall | TerminalRun | str | None = None) -> ChangesTable:
        """Take back what the agent changed, merged with what was changed since; raises acp.Conflict.

        With `command` (a tool call, a terminal, or the command line), take back what changed while that ran:
        `also_changed.where(command=...)` lists it.
        """
        return self._changed(command).revert()

    def redo(self, *, command: ToolCall | TerminalRun | str | None = None) -> ChangesTable:
        """Do again what was taken back."""
        return self._changed(command).redo()

    def _changed(self, command: ToolCall | TerminalRun | str | None) -> ChangesTable:
        from .changes import during

        return self.changes if command is None else during(self._conversation, self._run.id, command)

    @property
    def usage(self) -> TokenUsage | None:
        """The tokens of this turn, where the agent tells."""
        start = self._start
        return start.usage if start is not None else None

    @property
    def stop_reason(self) -> str | None:
        """end_turn, cancelled, refusal, max_tokens, …; None while it runs, or if it failed."""
        if self._start is not None:
            return self._start.stop_reason
        return "cancelled" if self.done and self.error is None else None

    @property
    def limit(self) -> str | None:
        """The limit that it went beyond and was stopped for, in words; None if it did not."""
        return self._run.limit

    @property
    def status(self) -> str:
        """queued, running, done, failed, abandoned."""
        if self._start is not None:
            return self._start.status
        return "queued" if not self.done else "failed" if self.error else "done"

    @property
    def error(self) -> Exception | None:
        """What it failed with."""
        with Gate():
            return self._run.done.result() if self.done else None

    @property
    def items(self) -> tuple[Item, ...]:
        """Everything in the turn, in order."""
        key = self._run.key
        if key is None:
            return ()
        return self._conversation.read(lambda transcript: transcript.turn_items(key))

    # ---- its end --------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        with Gate():  # a lock of the future's that an interrupt leaves taken would stop the loop thread
            return self._run.done.done()

    def wait(self, timeout: float | None = None) -> Turn:
        """Wait for the end and give the turn back; raises what it failed with, or acp.Timeout."""
        if not self.done:
            self._conversation.host.loop.check()
            check_waiting()
        finish = self._present()
        try:
            error = kernel.wait(self._run.done, timeout)
        except TimeoutError:
            raise Timeout(f"the turn is still running after {timeout:g} s; turn.cancel() ends it") from None
        finally:
            finish()
        if error is not None:
            raise error
        return self

    def cancel(self) -> None:
        """Ask the agent to stop. The turn ends soon, even if the agent does not listen."""
        self._conversation.host.loop.post(self._conversation.cancel, self._run)

    def __await__(self) -> Generator[Any, None, Turn]:
        return self._awaited().__await__()

    async def _awaited(self) -> Turn:
        if not self.done:
            self._conversation.host.loop.check()
        finish = self._present()
        try:
            error = await kernel.wait_async(self._run.done, on_interrupt=self.cancel)
        finally:
            finish()
        if error is not None:
            raise error
        return self

    def _present(self) -> Callable[[], None]:
        """Show it below the cell that waits for it, unless it stands somewhere already.

        Also if it has ended: what a cell shows must not depend on how fast the agent was.
        """
        if self._shown_by is not None:
            return lambda: None
        return present(self._session, self)

    # ---- looks ----------------------------------------------------------------------------

    def __repr__(self) -> str:
        calls = len(self.tool_calls)
        parts = [
            f"{self.status}" + (f": {self.stop_reason}" if self.stop_reason else ""),
            f"{calls} tool call{'s' * (calls != 1)}" if calls else "",
            _shortened(self.text),
        ]
        return f"<Turn {' · '.join(filter(None, parts))}>"

    def _to_bundle(self) -> dict[str, Any]:
        """What a notebook's file keeps of the turn, by MIME type."""
        key = self._run.key
        if key is None:
            return {"text/plain": repr(self)}
        return self._session._bundle(self._conversation.read(lambda it: it.turn_plain(key)))

    def _ipython_display_(self) -> None:
        display_turn(self._session, self)

    def _shown(self) -> tuple[tuple[Item, ...], str | None]:
        return self.items, self._conversation.cwd

    @property
    def _start(self) -> TurnStart | None:
        key = self._run.key
        if key is None:
            return None
        item = self._conversation.read(lambda transcript: transcript.item(key))
        return item if isinstance(item, TurnStart) else None

    def _messages(self, role: str) -> Iterable[Message]:
        return (item for item in self._of(Message) if item.role == role)

    def _of(self, kind: type[I]) -> tuple[I, ...]:
        return tuple(item for item in self.items if isinstance(item, kind))


def _changed_paths(calls: Iterable[ToolCall]) -> Iterable[str]:
    for call in calls:
        yield from (diff.path for diff in call.diffs)
        if call.kind in CHANGING_KINDS:
            yield from (location.path for location in call.locations)


def _shortened(text: str, width: int = 60) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= width else line[: width - 1] + "…") if line else ""
