"""The offer of a new session's panel to continue the conversation that its cell showed before.

Without a click, nothing is resumed or sent. Of a file, only the agent's name and the session's id are used,
and, if the user chooses so, the text, quoted. In the same place, it says once that prompts whose answers
the notebook has are sent again. Runs on the loop thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from ...agent.conversation import Conversation
from ...agent.threads import on_a_thread
from ...core.conversation_context import quoted_context
from ...core.origin import resumable_id
from ...core.page_messages import GoingOn, GoingOnWay
from ...core.records import Resource
from ...core.snapshot import Snapshot, TurnStart
from ...errors import Error, UsageError
from ...notebook.earlier_outputs import EarlierOutputs
from ...notebook.stored_answers import cost_of, stored_turn

How = Literal["resume", "context", "fresh", "noted"]

FOUND = "This cell had a conversation before."
INCLUDED = "Your next prompt includes the conversation that this cell had before."
UNABLE = "It cannot be resumed: {agent} neither loads nor resumes sessions."
GONE = "{agent} no longer has it; perhaps it was on another machine. {error}"

RESUME = GoingOnWay("resume", "Resume this conversation")
CONTEXT = GoingOnWay("context", "New session with this conversation")
FRESH = GoingOnWay("fresh", "Start fresh")
ASKED_AGAIN = "The notebook already has an answer to this prompt; the agent is being asked again."
CACHED = "This may cost money{last_time}. %%acp --cached reuses the answers to unchanged prompts."

UNDERSTOOD = GoingOnWay("noted", "OK")
REMOVE = GoingOnWay("fresh", "Remove it")


class GoingOnOffer:
    """The offer of one panel."""

    def __init__(
        self, conversation: Conversation, earlier: EarlierOutputs, send: Callable[[GoingOn], None]
    ) -> None:
        self._conversation = conversation
        self._outputs = earlier
        self._send = send
        self._earlier: Snapshot | None = None
        self._quoted: Resource | None = None
        """The earlier conversation as content for a prompt."""
        self._trouble: str | None = None
        """Why the agent did not resume it."""
        self._reminder: GoingOn | None = None

    async def look_back(self, cell: str) -> None:
        """Offer to continue the conversation that this cell showed before its current run, if any."""
        if not self._is_new():
            return
        earlier = await self._outputs.conversation(cell)
        if earlier is None:
            return
        quoted = await on_a_thread(lambda: quoted_context(earlier))
        if self._is_new():
            self._earlier, self._quoted = earlier, quoted
            self.send()

    async def remind(self, cell: str, digest: str, then: Callable[[], None]) -> None:
        """Say that the cell's prompt is sent again, if the notebook has the answer to it."""
        outputs = await self._outputs.outputs(cell)
        stored = [part for data in outputs if (part := stored_turn(data, digest)) is not None]
        if stored:
            cost = cost_of(stored[-1])
            last_time = f"; the last answer cost {cost}" if cost else ""
            self._reminder = GoingOn(ASKED_AGAIN, CACHED.format(last_time=last_time), ways=(UNDERSTOOD,))
            self.send()
            then()

    async def choose(self, how: How) -> None:
        if how == "noted":
            self._reminder = None
            self.send()
            return
        if self._earlier is None:
            raise UsageError("there is no earlier conversation to continue")
        if how == "resume":
            await self._resume(self._earlier)
        elif how == "context":
            self._conversation.context = self._quoted
            self.send()
        else:
            self._conversation.context = None
            self.withdraw()

    def withdraw(self) -> None:
        """A turn has begun, or the user has decided."""
        if self._earlier is not None:
            self._earlier = self._quoted = None
            self.send()

    def send(self) -> None:
        offer = GoingOn() if self._earlier is None else self._offer(self._earlier)
        self._send(self._reminder or offer)

    def _is_new(self) -> bool:
        """Whether the session has no conversation of its own."""
        state = self._conversation.state
        begun = state.running is not None or bool(self._conversation.queue.waiting)
        return not begun and state.read(lambda transcript: transcript.current_turn) is None

    # ---- what is offered

    def _offer(self, earlier: Snapshot) -> GoingOn:
        quoted = (self._quoted and self._quoted.text) or ""
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
            id = resumable_id(earlier.origins, agent)
        except ValueError as error:
            raise UsageError(str(error)) from None
        try:
            await self._conversation.take_up(id)
        except UsageError as error:  # such as one that is open already, perhaps with the same id by chance
            self._trouble = f"It cannot be resumed: {error}."
            self.send()
            return
        except Error as error:
            self._trouble = GONE.format(agent=agent, error=str(error).partition("\n")[0])
            self.send()
            return
        self._conversation.continues(earlier)
        self.withdraw()


def _turns(conversation: Snapshot) -> str:
    count = sum(isinstance(it, TurnStart) for it in conversation.items)
    return f"{count} {'turn' if count == 1 else 'turns'}. This is a new session."


def _size(text: str) -> str:
    return f"{len(text):,} characters, quoted."
