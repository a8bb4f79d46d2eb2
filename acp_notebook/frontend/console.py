"""The last resort: a front end that has shown no page, such as jupyter console, is asked by `input()`.

Knows no protocol and draws nothing. A page that appears after all wins: whoever answers first.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from ..agent import loop
from ..agent.conversation import Conversation
from ..core import events as ev
from ..core.export.text import actions_text
from ..core.patches import Patch
from ..core.snapshot import Elicitation, Question
from ..core.visible import shown
from ..notebook import kernel
from .console_forms import fill_in

PAGE_S = 3.0
"""For a page to show itself, before the question is put as text."""


class TextAsker:
    """Asks a session's questions by `input()`, on the main thread, while a cell waits there."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._asking: dict[str, Future[None]] = {}
        conversation.host.loop.post(conversation.listen, self._changed)

    def _changed(self, event: ev.Event, _: Sequence[Patch]) -> None:
        match event:
            case ev.QuestionAsked(id=id) | ev.ElicitationOpened(id=id):
                loop.get().call_later(PAGE_S, self._ask, id)
            case ev.QuestionSettled(id=id) | ev.ElicitationSettled(id=id):
                asking = self._asking.pop(id, None)
                if asking is not None:
                    asking.cancel()

    def _ask(self, id: str) -> None:
        question = self._question(id)
        if question is None or self._conversation.has_page:
            return
        if isinstance(question, Elicitation):
            self._asking[id] = kernel.run_on_main(lambda: self._put_form(question))
        else:
            self._asking[id] = kernel.run_on_main(lambda: self._put(question))

    def _question(self, id: str) -> Question | Elicitation | None:
        snapshot = self._conversation.read(lambda transcript: transcript.snapshot())
        found = (it for it in snapshot.items if isinstance(it, Question | Elicitation) and it.id == id)
        return next((it for it in found if it.status == "open"), None)

    def _put_form(self, asked: Elicitation) -> None:
        """On the main thread."""
        action, values = fill_in(asked)
        self._conversation.host.loop.post(self._conversation.elicitations.answer, asked.id, action, values)

    def _put(self, question: Question) -> None:
        """On the main thread."""
        title = self._conversation.read(lambda transcript: _title(transcript.find(question.tool or "")))
        print(f"The agent asks for permission: {title}")
        if question.actions:
            print(actions_text(question.actions, cwd=self._conversation.cwd))
        keys = {it.key or str(number): it for number, it in enumerate(question.answers, 10)}
        for key, it in keys.items():
            print(f"  {key}  {shown(it.name)}{f' ({shown(it.note, chars=200)})' if it.note else ''}")
        answer = keys.get(input(f"Your answer ({', '.join(keys)}): ").strip())
        if answer is None:
            print("Not an answer: rejected.")
            answer = next(it for it in question.answers if it.meaning == "reject")
        self._conversation.host.loop.post(self._conversation.permissions.answer, question, answer.id)


def _title(tool: object) -> str:
    return shown(getattr(tool, "title", "") or "a tool call", chars=400)
