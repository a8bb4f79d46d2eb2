"""session.queue: the queued prompts, to read and rearrange.

Has no state: the queue is in `agent.turn_queue`. Every access runs on the loop thread, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

from ..agent.conversation import Conversation
from ..agent.turn_queue import TurnRun
from ..core.prompt import words_of
from ..core.visible import shown


class QueuedPrompt:
    """A queued prompt. Once it is sent or removed, the methods that change it raise acp.UsageError."""

    def __init__(self, conversation: Conversation, run: TurnRun) -> None:
        self._conversation = conversation
        self._run = run

    @property
    def text(self) -> str:
        return words_of(self._run.content)

    def edit(self, text: str) -> None:
        """Replace the text; images and other parts of the prompt stay."""
        self._do(lambda: self._conversation.queue.edit(self._run, text))

    def remove(self) -> None:
        """Remove the prompt from the queue. Its turn ends as cancelled."""
        self._do(lambda: self._conversation.queue.remove(self._waiting()))

    def move(self, place: int) -> None:
        """Move the prompt to another position in the queue; 0 is next."""
        self._do(lambda: self._conversation.queue.move(self._run, place))

    def send_now(self) -> None:
        """Cancel the running turn and send this prompt next; the others stay queued."""
        self._do(lambda: self._conversation.send_now(self._run))

    def _waiting(self) -> TurnRun:
        return self._conversation.queue.find(self._run.id)

    def _do(self, work: Callable[[], None]) -> None:
        async def call() -> None:
            work()

        self._conversation.agent.loop.call(call())

    def __repr__(self) -> str:
        more = len(self._run.content) - bool(self.text)
        text = self._conversation.agent.redactor.text(self.text)
        return f"<queued: {shown(text, chars=80)}{f' (+{more})' if more else ''}>"


class Queue(Sequence[QueuedPrompt]):
    """The queued prompts, the next one first: `session.queue[0].edit("…")`."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def __len__(self) -> int:
        return len(self._entries())

    @overload
    def __getitem__(self, index: int) -> QueuedPrompt: ...
    @overload
    def __getitem__(self, index: slice) -> list[QueuedPrompt]: ...
    def __getitem__(self, index: int | slice) -> QueuedPrompt | list[QueuedPrompt]:
        return self._entries()[index]

    def clear(self) -> None:
        """Remove all queued prompts."""

        async def remove_all() -> None:
            for run in self._conversation.queue.waiting:
                self._conversation.queue.remove(run)

        self._conversation.agent.loop.call(remove_all())

    def _entries(self) -> list[QueuedPrompt]:
        async def waiting() -> tuple[TurnRun, ...]:
            return self._conversation.queue.waiting

        runs = self._conversation.agent.loop.call(waiting())
        return [QueuedPrompt(self._conversation, run) for run in runs]

    def __repr__(self) -> str:
        entries = self._entries()
        if not entries:
            return "<queue: empty>"
        lines = (f"  {at}  {entry!r}" for at, entry in enumerate(entries))
        return "\n".join([f"<queue: {len(entries)} waiting>", *lines])
