"""Turns the text of the panel's field into turns, and edits the queue.

Uses the conversation's queue and the content that `composer` makes of a text; knows neither the page nor the
protocol. Runs on the loop thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from ...agent.conversation import Conversation
from ...agent.turn_queue import TurnRun
from ...core import events as ev
from ...core import intents
from ...core.page_messages import QueueEntry
from ...core.prompt import words_of
from ...core.snapshot import TurnStart
from ...errors import Error, UsageError
from .composer import Composer

QUEUED_CHARS = 8000
"""How much of a queued prompt the page gets. A longer one cannot be edited there."""

RETRIED = ("failed", "abandoned")
"""The statuses of turns whose prompt can be sent again."""

Refuse = Callable[[Exception, str | None], None]
"""Called with the error, and with unsent text that goes back into the field."""


class PromptInput:
    """Handles the input field and the queue of a panel. Methods raise Error, or call `refuse`."""

    def __init__(self, conversation: Conversation, composer: Composer, refuse: Refuse) -> None:
        self._conversation = conversation
        self._composer = composer
        self._refuse = refuse
        self._order = asyncio.Lock()
        self._retries: dict[str, TurnRun] = {}
        """The newest attempt to repeat each turn that failed, by the id of that turn."""

    async def prompt(self, prompt: intents.Prompt, person: str | None = None) -> None:
        """Queue a prompt. Prompts keep their order even if looking up mentions takes long."""
        async with self._order:
            try:
                content, notes = await self._composer.content(prompt)
            except Error as error:
                self._refuse(error, prompt.text)
                return
            self._show_notes(notes)
            run = self._conversation.new_run(content)
            left = partial(self._conversation.agent.loop.post, self._left_queue, run, prompt.text)
            run.done.add_done_callback(lambda _: left())
            self._start(run, prompt.view, person)

    def _start(self, run: TurnRun, view: str, person: str | None) -> None:
        run.page, run.person = view, person
        if person is not None:
            self._conversation.state.auditor.note("act", "prompt", run.id, by="user", person=person)
        self._conversation.start_turn(run)

    def _left_queue(self, run: TurnRun, text: str | None) -> None:
        """Report a turn that never began; it is shown nowhere else."""
        error = run.done.result()
        if run.key is None and error is not None:
            self._refuse(error, text)

    def retry(self, again: intents.Again, person: str | None = None) -> None:
        """Send the prompt of a failed turn again, as a new turn. A second request for the same is ignored."""
        turn = again.turn
        earlier = self._retries.get(turn)
        if earlier is not None and (earlier.key is not None or not earlier.done.done()):
            return  # a double click, or another page
        run = self._same_prompt(turn)
        self._retries[turn] = run
        run.done.add_done_callback(lambda _: self._conversation.agent.loop.post(self._left_queue, run, None))
        self._start(run, again.view, person)

    def _same_prompt(self, turn: str) -> TurnRun:
        """A turn with the prompt of one that failed. Raises UsageError."""
        items = self._conversation.state.read(lambda transcript: transcript.snapshot()).items
        starts = (it for it in items if isinstance(it, TurnStart) and it.id == turn)
        failed = next(starts, None)
        if failed is None or failed.status not in RETRIED or failed.asked_by is not None:
            raise UsageError("this turn has not failed")
        last = self._conversation.last_run
        if last is None or last.id != turn:
            return self._conversation.new_run(failed.prompt)
        run = self._conversation.new_run(last.content, last.limits)  # the transcript's prompt has no secrets
        run.meta = last.meta
        return run

    async def edit(self, edit: intents.Edit) -> None:
        """Replace the text of a queued prompt, and attach what it newly mentions."""
        queue = self._conversation.queue
        async with self._order:
            run = queue.find(edit.turn)
            more, notes = await self._composer.added_content(words_of(run.content), edit.text)
            queue.edit(run, edit.text)
            run.content = (*run.content, *more)
        self._show_notes(notes)

    def rearrange(self, intent: intents.SendNow | intents.Move, person: str | None = None) -> None:
        """Move or send a queued prompt. Raises UsageError if it has already been sent."""
        run = self._conversation.queue.find(intent.turn)
        match intent:
            case intents.SendNow():
                self._conversation.send_now(run, person)
            case intents.Move(to=to):
                self._conversation.queue.move(run, to)

    def queue(self) -> tuple[QueueEntry, ...]:
        """The queued prompts, as sent to the page."""
        return tuple(_queue_entry(run) for run in self._conversation.queue.waiting)

    def _show_notes(self, notes: Sequence[str]) -> None:
        for note in notes:
            self._conversation.state.apply(ev.NoticeGiven("warning", note, source="client"))


def _queue_entry(run: TurnRun) -> QueueEntry:
    text = words_of(run.content)
    more = len(run.content) - bool(text)
    return QueueEntry(run.id, text[:QUEUED_CHARS], more, cut=len(text) > QUEUED_CHARS)
