"""What is written in a page's field becomes turns; and what waits in the queue is rearranged there.

Knows the conversation's queue and what `composer` makes of a text; neither the page nor the protocol.
Lives on the loop thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from ...agent.conversation import Conversation
from ...agent.turn_queue import TurnRun
from ...core import events as ev
from ...core import intents
from ...core.prompt import words_of
from ...core.records import Json
from ...core.snapshot import TurnStart
from ...errors import Error, UsageError
from .composer import Composer

QUEUED_CHARS = 8000
"""Of a prompt that waits: enough to know it; one that is longer cannot be edited in the page."""

Refuse = Callable[[Exception, str | None], None]
"""Tells why, and what was written and not sent: it goes back into the field."""


class PromptInput:
    """One panel's. Its methods raise Error, or refuse what can be tried again in other words."""

    def __init__(self, conversation: Conversation, composing: Composer, refuse: Refuse) -> None:
        self._conversation = conversation
        self._composing = composing
        self._refuse = refuse
        self._order = asyncio.Lock()

    async def prompt(self, prompt: intents.Prompt) -> None:
        """In the order in which they were written, though what one mentions may take its time."""
        async with self._order:
            try:
                content, notes = await self._composing.content(prompt.text, prompt.images)
            except Error as error:
                self._refuse(error, prompt.text)
                return
            self._give(notes)
            run = self._conversation.new_run(content)
            left = partial(self._conversation.host.loop.post, self._left_queue, run, prompt.text)
            run.done.add_done_callback(lambda _: left())
            self._conversation.start_turn(run)

    def _left_queue(self, run: TurnRun, text: str) -> None:
        """A turn that never began shows nowhere else."""
        error = run.done.result()
        if run.key is None and error is not None:
            self._refuse(error, text)

    def again(self, turn: str) -> None:
        """The same prompt, as a turn of its own."""
        items = self._conversation.read(lambda transcript: transcript.snapshot()).items
        found = (it for it in items if isinstance(it, TurnStart) and it.id == turn and it.status == "failed")
        failed = next(found, None)
        if failed is None:
            raise UsageError("this turn has not failed")
        self._conversation.start_turn(self._conversation.new_run(failed.prompt))

    async def reword(self, edit: intents.Edit) -> None:
        """Other words for a prompt that waits, and what they mention that it did not mention before."""
        queue = self._conversation.queue
        async with self._order:
            run = queue.find(edit.turn)
            more, notes = await self._composing.added(words_of(run.content), edit.text)
            queue.edit(run, edit.text)
            run.content = (*run.content, *more)
        self._give(notes)

    def rearrange(self, intent: intents.SendNow | intents.Move) -> None:
        """Raises UsageError: it was sent meanwhile."""
        run = self._conversation.queue.find(intent.turn)
        match intent:
            case intents.SendNow():
                self._conversation.send_now(run)
            case intents.Move(to=to):
                self._conversation.queue.move(run, to)

    def waiting(self) -> list[dict[str, Json]]:
        """The prompts that wait, as a page shows them."""
        return [_queued(run) for run in self._conversation.queue.waiting]

    def _give(self, notes: Sequence[str]) -> None:
        for note in notes:
            self._conversation.apply(ev.NoticeGiven("warning", note, source="client"))


def _queued(run: TurnRun) -> dict[str, Json]:
    text = words_of(run.content)
    more = len(run.content) - bool(text)
    return {"turn": run.id, "text": text[:QUEUED_CHARS], "more": more, "cut": len(text) > QUEUED_CHARS}
