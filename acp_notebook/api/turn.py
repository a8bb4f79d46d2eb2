"""Turn: one prompt and everything that followed, for use in scripts.

Reads the session's transcript and changes nothing. Usable from any thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from ..agent.conversation import Conversation
from ..agent.kernel_tools.current_call import function_waits_for
from ..agent.loop import check_waiting
from ..agent.turn_queue import TurnRun
from ..core.records import AskedBy, Cost, Diff, KernelRun, Meta, TokenUsage
from ..core.snapshot import Item, Message, Plan, TerminalRun, ToolCall, TurnStart
from ..errors import Timeout
from ..frontend.display import ShownSession, display_turn, present
from ..frontend.rendering import Rendered
from ..notebook import kernel
from ..notebook.interrupts import Gate

if TYPE_CHECKING:
    from .changes import ChangesTable

CHANGING_KINDS = frozenset({"edit", "delete", "move"})
"""Kinds of tool calls whose locations are changed files."""

I = TypeVar("I", bound=Item)  # noqa: E741


class Turn(Rendered):
    """One prompt and its response. It grows while it runs; `wait()` or `await` it, or check `done`."""

    def __init__(self, session: ShownSession, conversation: Conversation, run: TurnRun) -> None:
        self._session = session
        self._conversation = conversation
        self._run = run
        self._shown_by: str | None = None

    # ---- results --------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The agent's messages."""
        return "".join(item.text for item in self._messages("agent"))

    @property
    def thoughts(self) -> str:
        """The agent's thoughts."""
        return "".join(item.text for item in self._messages("thought"))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return self._of(ToolCall)

    @property
    def plan(self) -> Plan | None:
        """The latest plan."""
        plans = self._of(Plan)
        return plans[-1] if plans else None

    @property
    def diffs(self) -> tuple[Diff, ...]:
        """The diffs that tool calls reported."""
        return tuple(diff for call in self.tool_calls for diff in call.diffs)

    @property
    def terminals(self) -> tuple[TerminalRun, ...]:
        """The commands that the agent ran, with their output."""
        return self._of(TerminalRun)

    @property
    def runs(self) -> tuple[KernelRun, ...]:
        """What the agent ran in the kernel: `code`, `cells`, or `function` with `arguments`; `status`,
        `outputs`, `seconds`. `session`: the session that was asked, and its `turn`, if it was one."""
        blocks = (block for call in self.tool_calls for block in call.content)
        return tuple(block for block in blocks if isinstance(block, KernelRun))

    @property
    def files(self) -> tuple[str, ...]:
        """The paths that the agent changed, according to its tool calls."""
        return tuple(dict.fromkeys(_changed_paths(self.tool_calls)))

    @property
    def changes(self) -> ChangesTable:
        """The files that the agent wrote through this client or named in a tool call: a table, with diffs."""
        from .changes import changes_of

        return changes_of(self._conversation, self._run.id)

    @property
    def also_changed(self) -> ChangesTable:
        """The other files that changed during the turn, for example while a command ran.

        There is no evidence that the agent changed them, so `revert()` does not touch them.
        """
        from .changes import also_changed

        return also_changed(self._conversation, self._run.id)

    def revert(self, *, command: ToolCall | TerminalRun | str | None = None) -> ChangesTable:
        """Undo the agent's changes, merging later edits. Raises acp.Conflict if they cannot be merged.

        With `command` (a tool call, a terminal or the command line), undo what changed while that command
        ran, as listed by `also_changed.where(command=...)`.
        """
        return self._changes_of(command).revert()

    def redo(self, *, command: ToolCall | TerminalRun | str | None = None) -> ChangesTable:
        """Reapply changes that were undone."""
        return self._changes_of(command).redo()

    def _changes_of(self, command: ToolCall | TerminalRun | str | None) -> ChangesTable:
        from .changes import during

        return self.changes if command is None else during(self._conversation, self._run.id, command)

    @property
    def usage(self) -> TokenUsage | None:
        """The tokens of this turn, if the agent reports them."""
        start = self._start
        return start.usage if start is not None else None

    @property
    def cost(self) -> Cost | None:
        """What this turn cost, if the agent reports the costs of its session; None before its end."""
        start = self._start
        return start.cost if start is not None else None

    @property
    def seconds(self) -> float | None:
        """How long this turn ran; None before its end."""
        start = self._start
        return start.seconds if start is not None else None

    @property
    def stop_reason(self) -> str | None:
        """end_turn, cancelled, refusal, max_tokens, …; None while the turn runs or if it failed."""
        if self._start is not None:
            return self._start.stop_reason
        return "cancelled" if self.done and self.error is None else None

    @property
    def meta(self) -> Meta | None:
        """What the agent added (`_meta`) to its response at the end of the turn."""
        start = self._start
        return start.meta if start is not None else None

    @property
    def limit(self) -> str | None:
        """The limit that stopped the turn, in words; None if none did."""
        return self._run.limit

    @property
    def asked_by(self) -> AskedBy | None:
        """The session whose agent asked for this turn, with `session.tool(other_session)`: `agent`, `turn`
        (its number); None: the user did."""
        return self._run.asked

    @property
    def status(self) -> str:
        """queued, running, done, failed, abandoned."""
        if self._start is not None:
            return self._start.status
        return "queued" if not self.done else "failed" if self.error else "done"

    @property
    def error(self) -> Exception | None:
        """The error that the turn failed with; None if it did not."""
        with Gate():
            return self._run.done.result() if self.done else None

    @property
    def items(self) -> tuple[Item, ...]:
        """Everything in the turn, in order."""
        key = self._run.key
        if key is None:
            return ()
        return self._conversation.state.read(lambda transcript: transcript.turn_items(key))

    # ---- completion -----------------------------------------------------------------------

    @property
    def done(self) -> bool:
        with Gate():  # an interrupt must not leave the future's lock held: the loop thread would block
            return self._run.done.done()

    def wait(self, timeout: float | None = None) -> Turn:
        """Wait for the end and return the turn. Raises the error that it failed with, or acp.Timeout."""
        if not self.done:
            self._conversation.agent.loop.check()
            check_waiting()
        finish = self._present()
        try:
            with self._awaited():
                error = kernel.wait(self._run.done, timeout)
        except TimeoutError:
            raise Timeout(f"the turn is still running after {timeout:g} s; turn.cancel() stops it") from None
        finally:
            finish()
        if error is not None:
            raise error
        return self

    def cancel(self) -> None:
        """Ask the agent to stop. The turn ends soon, even if the agent ignores the request."""
        self._conversation.agent.loop.post(self._conversation.cancel, self._run)

    def __await__(self) -> Generator[Any, None, Turn]:
        return self._wait_async().__await__()

    async def _wait_async(self) -> Turn:
        if not self.done:
            self._conversation.agent.loop.check()
        finish = self._present()
        try:
            with self._awaited():
                error = await kernel.wait_async(self._run.done, on_interrupt=self.cancel)
        finally:
            finish()
        if error is not None:
            raise error
        return self

    def _awaited(self) -> AbstractContextManager[None]:
        """Raises UsageError if the turn of a session would wait for itself."""
        return nullcontext() if self.done else function_waits_for(self._conversation.state)

    def _present(self) -> Callable[[], None]:
        """Display the turn below the cell that waits for it, unless it is displayed already.

        Even if it has ended: the output of a cell must not depend on how fast the agent was.
        """
        if self._shown_by is not None:
            return lambda: None
        return present(self._session, self)

    # ---- display --------------------------------------------------------------------------

    def __repr__(self) -> str:
        calls = len(self.tool_calls)
        parts = [
            f"{self.status}" + (f": {self.stop_reason}" if self.stop_reason else ""),
            f"{calls} tool call{'s' * (calls != 1)}" if calls else "",
            _shortened(self.text),
        ]
        return f"<Turn {' · '.join(filter(None, parts))}>"

    def _to_bundle(self) -> dict[str, Any]:
        """The static output of the turn, by MIME type."""
        key = self._run.key
        if key is None:
            return {"text/plain": repr(self)}
        return self._session._bundle(self._conversation.state.read(lambda it: it.turn_plain(key)))

    def to_notebook(
        self, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False
    ) -> dict[str, Any]:
        """A notebook of the code that the agent ran in this turn; see `session.to_notebook`."""
        return self._session._notebook(path, overwrite, self._run.key or "")

    def _ipython_display_(self) -> None:
        display_turn(self._session, self)

    def _items_to_render(self) -> tuple[tuple[Item, ...], str | None]:
        return self.items, self._conversation.state.cwd

    @property
    def _start(self) -> TurnStart | None:
        key = self._run.key
        if key is None:
            return None
        item = self._conversation.state.read(lambda transcript: transcript.item(key))
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
