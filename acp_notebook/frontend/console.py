"""Asks questions with `input()` in frontends without a page: IPython in a terminal, jupyter console.

In a kernel a page may still be loading, so a question waits for it. If one connects after all, the first
answer wins.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from .. import timeouts
from ..agent import loop
from ..agent.conversation import Conversation
from ..agent.event_bus import EventBus
from ..core import events as ev
from ..core.elicitation import Action
from ..core.export.text import actions_text
from ..core.records import Answer
from ..core.snapshot import Elicitation, Question
from ..core.visible import shown
from ..log import logger
from ..notebook import kernel
from .console_forms import fill_in
from .console_input import fresh_input

_log = logger(__name__)

LASTING = frozenset({"allow_session", "allow_always", "agent_always"})
"""The meanings of answers that allow more than what is shown: they are typed twice."""


class TextAsker:
    """Asks the questions of a session with `input()`, on the main thread, while a cell waits there."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._delay = 0.0 if kernel.where().terminal else timeouts.get().text_question
        self._asking: dict[str, Future[None]] = {}
        conversation.agent.loop.post(self._subscribe, conversation.state)

    def _subscribe(self, events: EventBus) -> None:
        events.on(ev.QuestionAsked, self._on_asked)
        events.on(ev.ElicitationOpened, self._on_asked)
        events.on(ev.QuestionSettled, self._on_settled)
        events.on(ev.ElicitationSettled, self._on_settled)

    def _on_asked(self, event: ev.QuestionAsked | ev.ElicitationOpened) -> None:
        loop.get().call_later(self._delay, self._ask, event.id)

    def _on_settled(self, event: ev.QuestionSettled | ev.ElicitationSettled) -> None:
        asking = self._asking.pop(event.id, None)
        if asking is not None:
            asking.cancel()

    def _ask(self, id: str) -> None:
        question = self._question(id)
        if question is None or self._conversation.state.audience.has_page:
            return
        self._asking[id] = kernel.run_on_main(lambda: self._ask_and_answer(question))

    def _ask_and_answer(self, question: Question | Elicitation) -> None:
        """Runs on the main thread. A question that cannot be asked is answered too: nothing waits forever."""
        try:
            if isinstance(question, Elicitation):
                self._answer_form(question, *fill_in(question))
            else:
                self._answer_permission(question, self._ask_permission(question))
        except Exception as error:
            if not isinstance(error, EOFError):  # the user pressed Ctrl-D
                _log.warning("a question could not be asked by input()", exc_info=True)
            print("No answer: rejected.")
            if isinstance(question, Elicitation):
                self._answer_form(question, "cancel", {})
            else:
                self._answer_permission(question, None)

    def _question(self, id: str) -> Question | Elicitation | None:
        items = self._conversation.state.read(
            lambda transcript: (*transcript.turn_items(transcript.current_turn), *transcript.turn_items(None))
        )
        found = (it for it in items if isinstance(it, Question | Elicitation) and it.id == id)
        return next((it for it in found if it.status == "open"), None)

    def _ask_permission(self, question: Question) -> Answer | None:
        """Ask, and return the chosen answer; None if the reply is not one of them."""
        title = self._conversation.state.read(lambda transcript: _title(transcript.find(question.tool or "")))
        who = "The agent asks" if question.who is None else f"{shown(question.who, chars=200)},"
        print(f"{who} for permission: {title}")
        if question.actions:
            print(actions_text(question.actions, cwd=self._conversation.state.cwd))
        keys = {it.key or str(number): it for number, it in enumerate(question.answers, 10)}
        for key, it in keys.items():
            print(f"  {key}  {shown(it.name)}{f' ({shown(it.note, chars=200)})' if it.note else ''}")
        said = fresh_input(f"Your answer ({', '.join(keys)}): ")
        answer = keys.get(said)
        if answer is None:
            print("Not one of the answers: rejected.")
        elif answer.meaning in LASTING and not _confirmed(answer, said):
            print("Not confirmed: rejected.")
            return None
        return answer

    def _answer_permission(self, question: Question, answer: Answer | None) -> None:
        if answer is None:
            answer = next(it for it in question.answers if it.meaning == "reject")
        self._conversation.agent.loop.post(self._conversation.permissions.answer, question, answer.id)

    def _answer_form(self, asked: Elicitation, action: Action, values: dict[str, Any]) -> None:
        self._conversation.agent.loop.post(self._conversation.elicitations.answer, asked.id, action, values)


def _confirmed(answer: Answer, said: str) -> bool:
    return fresh_input(f"{shown(answer.name)}: type {said} again to confirm: ") == said


def _title(tool: object) -> str:
    return shown(getattr(tool, "title", "") or "a tool call", chars=400)
