"""The offer of a new session's panel to go on with the conversation that its cell showed before.

Finds that conversation in the page's memory (after a restart of the kernel) or in the notebook's file (after
the notebook was opened again). Without a click, nothing is resumed or sent. Of the file, only the agent's
name and the session's id are used, and, if the user chooses so, the text, quoted. Runs on the loop thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from ...agent.conversation import Conversation
from ...agent.threads import on_a_thread
from ...core.conversation_context import quoted_context
from ...core.document_protocol import Failed, Stale, Unreachable
from ...core.loaded_transcript import conversation_of
from ...core.origin import resumable_id
from ...core.page_messages import GoingOn, GoingOnWay
from ...core.snapshot import Snapshot, TurnStart
from ...errors import Error, UsageError
from ...log import logger, suppressed
from ...notebook.open_documents import OpenDocuments
from ...notebook.saved_conversations import conversation_in

_log = logger(__name__)

How = Literal["resume", "context", "fresh"]

FOUND = "This cell had a conversation before."
INCLUDED = "Your next prompt includes the conversation that this cell had before."
UNABLE = "{agent} cannot resume it: it neither loads nor resumes sessions."
GONE = "{agent} no longer has it; perhaps it was on another machine. {error}"

RESUME = GoingOnWay("resume", "Resume this conversation")
CONTEXT = GoingOnWay("context", "New session with this conversation")
FRESH = GoingOnWay("fresh", "Start fresh")
REMOVE = GoingOnWay("fresh", "Remove it")


class GoingOnOffer:
    """The offer of one panel."""

    def __init__(
        self, conversation: Conversation, documents: OpenDocuments, send: Callable[[GoingOn], None]
    ) -> None:
        self._conversation = conversation
        self._documents = documents
        self._send = send
        self._earlier: Snapshot | None = None
        self._trouble: str | None = None
        """Why the agent did not resume it."""

    async def look_back(self, cell: str) -> None:
        """Offer to go on with what this cell showed before its current run, if that was a conversation."""
        if not self._is_new():
            return
        earlier = None
        with suppressed(_log, Unreachable, Stale, Failed):
            earlier = await self._find(cell)
        if earlier is not None and self._is_new():
            self._earlier = earlier
            self.send()

    async def choose(self, how: How) -> None:
        if self._earlier is None:
            raise UsageError("there is no earlier conversation to go on with")
        if how == "resume":
            await self._resume(self._earlier)
        elif how == "context":
            self._conversation.context = quoted_context(self._earlier)
            self.send()
        else:
            self._conversation.context = None
            self.withdraw()

    def withdraw(self) -> None:
        """A turn has begun, or the user has decided."""
        if self._earlier is not None:
            self._earlier = None
            self.send()

    def send(self) -> None:
        self._send(GoingOn() if self._earlier is None else self._offer(self._earlier))

    # ---- finding it

    def _is_new(self) -> bool:
        """Whether the session has no conversation of its own."""
        state = self._conversation.state
        items = state.read(lambda transcript: transcript.snapshot()).items
        begun = state.running is not None or bool(self._conversation.queue.waiting)
        return not begun and not any(isinstance(it, TurnStart) for it in items)

    async def _find(self, cell: str) -> Snapshot | None:
        page = await self._documents.newest()
        if page is None:
            return None
        for transcript in reversed(await self._documents.previous_transcripts(page, cell)):
            with suppressed(_log, ValueError):
                if has_turns(found := conversation_of(transcript, [])):
                    return found
        path = await self._documents.file_of(page)
        if path is None:
            return None
        saved = await on_a_thread(lambda: conversation_in(path, cell))
        return saved if saved is not None and has_turns(saved) else None

    # ---- what is offered

    def _offer(self, earlier: Snapshot) -> GoingOn:
        resource = quoted_context(earlier)
        quoted = (resource and resource.text) or ""
        if self._conversation.context is not None:
            return GoingOn(INCLUDED, _size(quoted), quoted, (REMOVE,))
        why = self._trouble or self._obstacle(earlier)
        ways = (CONTEXT, FRESH) if why else (RESUME, CONTEXT, FRESH)
        return GoingOn(FOUND, why or _turns(earlier), quoted, ways)

    def _obstacle(self, earlier: Snapshot) -> str | None:
        """Why it cannot be resumed."""
        agent = self._conversation.agent
        try:
            resumable_id(earlier.origins, agent.name)
        except ValueError as error:
            return f"It cannot be resumed: {error}."
        can = agent.facts.capabilities
        return None if can.load or can.resume else UNABLE.format(agent=agent.name)

    async def _resume(self, earlier: Snapshot) -> None:
        agent = self._conversation.agent.name
        try:
            await self._conversation.take_up(resumable_id(earlier.origins, agent))
        except ValueError as error:
            raise UsageError(str(error)) from None
        except Error as error:
            self._trouble = GONE.format(agent=agent, error=str(error).partition("\n")[0])
            self.send()
            return
        self.withdraw()


def has_turns(conversation: Snapshot) -> bool:
    return any(isinstance(it, TurnStart) for it in conversation.items)


def _turns(conversation: Snapshot) -> str:
    count = sum(isinstance(it, TurnStart) for it in conversation.items)
    return f"{count} {'turn' if count == 1 else 'turns'}. This session is a new one."


def _size(text: str) -> str:
    return f"{len(text):,} characters, quoted."
