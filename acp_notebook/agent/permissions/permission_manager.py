"""Joins the questions (`questions`), the grants and the rules into one answer: may this be done?

Knows no protocol; draws nothing. What a question covers is what `core.describe` makes of it, no more: an
allow holds for the described actions, each of them once, while the turn runs and the call is open.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...core import events as ev
from ...core import grants as gr
from ...core.actions import (
    BESIDE,
    Action,
    Command,
    FileAccess,
    Write,
    action_to_plain,
    brief,
    consume,
    target_of,
)
from ...core.answers import answers
from ...core.describe import mentions
from ...core.policy import WORDS, Decision, PermissionRequest, Policy, Word, decide, strictest
from ...core.records import Answer, Json, Offer, Option
from ...core.requests import RequestPermission
from ...core.rules import NO_JUDGE, Judge
from ...core.snapshot import Question, ToolCall
from ..auditor import Auditor
from ..threads import on_a_thread
from .describer import Describes
from .grant_store import GrantStore, SessionGrants
from .questions import Questions

if TYPE_CHECKING:
    from ..conversation import Conversation

OPTIONS = (Option("allow", "Allow once", "allow_once"), Option("reject", "Reject", "reject_once"))
"""Of a question that we ask ourselves."""


class Denied(Exception):
    """Nobody allowed it; says who did not."""


@dataclass(frozen=True, slots=True)
class Permit:
    """An action that may be done. `card`: the tool call that we made to show it; None: the agent has one."""

    card: str | None
    unprompted: bool
    tool: str


@dataclass(slots=True)
class Allowance:
    """What is left of an answered question: the actions that were allowed and not done yet."""

    tool: ToolCall
    actions: tuple[Action, ...]


class PermissionManager:
    """Answers the permission questions of one session, the agent's and our own."""

    def __init__(
        self,
        conversation: Conversation,
        policy: Policy,
        folders: Sequence[str],
        auditor: Auditor,
        describer: Describes,
        judge: Judge = NO_JUDGE,
    ) -> None:
        self.questions = Questions(policy)
        self.grants = SessionGrants()
        self.lasting = GrantStore()
        self._conversation = conversation
        self._workspace, *self._roots = folders
        self._auditor = auditor
        self._describer = describer
        self._judge = judge
        self._asked = 0
        self._cards = 0
        self._allowed: list[Allowance] = []

    def turn_started(self) -> None:
        self._allowed.clear()

    # ---- the agent asks -----------------------------------------------------------------------

    async def asked(self, asked: RequestPermission) -> str | None:
        """The id of the option that was chosen; None: cancelled."""
        self._conversation.apply(replace(asked.tool, asked=True))
        tool = self._conversation.read_calls(lambda transcript: transcript.tool(asked.tool.id))
        actions = await self._describer.call(tool)
        self._auditor.note(
            "request", tool.kind, target_of(actions) or tool.title, tool=tool.id, actions=_audited(actions)
        )
        decision = await self._decided(tool, asked.options, actions, raw=asked.raw)
        return decision.option

    # ---- we ask, for what the agent did not ask about -----------------------------------------

    async def permit(
        self, action: Action, card: Callable[[str], ev.ToolChanged], *, always: bool = False
    ) -> Permit:
        """Returns when the action may be done; raises Denied. `card` makes a tool call with the id given.

        `always`: it is asked about, on a card of its own, whatever was allowed before; also where the
        policy's word is "allow", if there is somebody to ask.
        """
        calls = self._conversation.read_calls(lambda transcript: transcript.open_tools())
        covering = self._covering(action, calls)
        if covering is not None and not always:
            return Permit(None, False, covering.id)
        own = None if always else self._own_call(action, calls)
        if not always and calls and self._covered_in_recording(own):
            return Permit(None, False, (own or calls[-1]).id)
        if own is not None:
            # What is asked about is what would be done, not what the call shows of itself.
            id, shown = own.id, ev.ToolChanged(own.id, content=card(own.id).content, unprompted=True)
        else:
            self._cards += 1
            id = f"acp:{self._cards}"
            shown = card(id)
        self._conversation.apply(shown)
        tool = self._conversation.read_calls(lambda transcript: transcript.tool(id))
        try:
            decision = await self._decided(tool, OPTIONS, (action,), ours=True, destructive=always)
        except asyncio.CancelledError:
            if own is None:
                self.finished(Permit(id, True, id), "cancelled")
            raise
        permit = Permit(id if own is None else None, True, id)
        if not decision.allows(OPTIONS):
            self.finished(permit, "cancelled" if decision.option is None else "failed")
            raise Denied(_refusal(decision))
        return permit

    def _covering(self, action: Action, calls: Sequence[ToolCall]) -> ToolCall | None:
        """The call whose allow covers the action, which is used up by that."""
        if self.forbidden(action) is not None:
            return None
        open_keys = {call.key for call in calls}
        for allowance in self._allowed:
            if allowance.tool.key not in open_keys:
                continue
            left = consume(allowance.actions, action)
            if left is not None:
                allowance.actions = left
                return allowance.tool
        return None

    def _covered_in_recording(self, own: ToolCall | None) -> bool:
        """In a replay nobody is asked who was not asked then."""
        replay = self._conversation.host.launch.replay
        if replay is None:
            return False
        id = f"acp:{self._cards + 1}" if own is None else own.id
        return not replay.responders.was_asked(self._conversation.id, id)

    def _own_call(self, action: Action, calls: Sequence[ToolCall]) -> ToolCall | None:
        """The open call that says of itself that it does this, if its id is still its own."""
        place, phrases = self._describer.place, self._describer.phrases
        newest = {call.id: call for call in calls}
        return next((call for call in newest.values() if mentions(call, action, place, phrases)), None)

    def finished(self, permit: Permit, status: str) -> None:
        """How the action went; the agent tells that of its own calls."""
        if permit.card is not None:
            self._conversation.apply(ev.ToolChanged(permit.card, status=status))

    # ---- questions ------------------------------------------------------------------------------

    async def _decided(
        self,
        tool: ToolCall,
        options: tuple[Option, ...],
        actions: tuple[Action, ...],
        *,
        ours: bool = False,
        raw: Json = None,
        destructive: bool = False,
    ) -> Decision:
        """`ours`: the action is done at once, so that nothing of the allow is left for later."""
        self._asked += 1
        id = f"q{self._asked}"
        granted = () if destructive else actions
        offers = self._offers(options, granted)
        shown = tuple(Offer(it.id, it.name, it.scope) for it in offers)
        request = PermissionRequest(tool, options, actions)
        self._conversation.apply(
            ev.QuestionAsked(id, tool.id, options, raw, shown, actions, self._answers(options, shown))
        )
        target = target_of(actions) or tool.title
        detail: dict[str, Json] = {"tool": tool.id, "actions": _audited(actions)}
        if ours:
            detail["unprompted"] = True
        try:
            decision = await self._answered(id, request, granted, destructive)
        except asyncio.CancelledError:
            decision = Decision(None, "agent", "the agent took the question back")
            self._settle(id, decision)
            self._auditor.decided(tool.kind, target, decision, "cancelled", detail)
            raise
        allowed = decision.allows(options)
        if allowed and not ours:
            self._allowed.append(Allowance(tool, actions))
        if allowed and (offer := _taken(decision, options, offers)) is not None:
            decision = await self._remember(decision, offer)
        if decision.by != "client":  # else it was told by `settle_all`
            self._settle(id, decision)
        outcome = "allowed" if allowed else "cancelled" if decision.option is None else "rejected"
        self._auditor.decided(tool.kind, target, decision, outcome, detail)
        return decision

    async def _answered(
        self, id: str, request: PermissionRequest, granted: Sequence[Action], destructive: bool
    ) -> Decision:
        running = self._conversation.running
        if running is None or running.cancelling:
            decision = Decision(None, "client", "no turn is running")
            self._settle(id, decision)
            return decision
        replay = self._conversation.host.launch.replay
        if replay is None:
            return await self.questions.ask(
                id,
                request,
                lambda: self._granted(request.options, granted),
                lambda said: self._judged(self._downgraded(said, destructive), request),
            )
        recorded, waits = replay.responders.answer_to(self._conversation.id, request)
        return await self.questions.ask(id, request, lambda: recorded, waits=waits)

    def forbidden(self, action: Action) -> str | None:
        """Whose rule rejects the action, whoever would allow it."""
        return self._judge.rejects(action)

    def check_read(self, path: str) -> None:
        """Raises Denied where a rule says that this file is not read. Nobody is asked."""
        rule = self._judge.rejects(FileAccess("read", path), "ask")
        if rule is not None:
            raise Denied(f"{rule} rejects it")

    def _downgraded(self, said: Any, destructive: bool) -> Any:
        """A word that allows everything was not said with this in mind; what a function says, was."""
        questions = self.questions
        by_word = destructive and said == "allow" and not callable(questions.policy)
        return "ask" if by_word and questions.can_ask else said

    def _judged(self, said: Any, request: PermissionRequest) -> tuple[Any, str | None]:
        """What the rules of files make of a policy's answer, which may be an option's id.

        Each kind of action is judged, whatever the agent calls its tool.
        """
        if isinstance(said, str) and said in WORDS:
            word: Word = said  # type: ignore[assignment]
        else:
            word = "allow" if decide(said, request.options, by="").allows(request.options) else "reject"
        verdicts = [self._judge.judged(word, kind, request.actions) for kind in request.kinds]
        judged = strictest(*(verdict for verdict, _ in verdicts))
        rule = next((whose for verdict, whose in verdicts if verdict == judged), None)
        return (said, None) if judged == word else (judged, rule)

    def _settle(self, id: str, decision: Decision) -> None:
        self._conversation.apply(ev.QuestionSettled(id, decision.option, decision.by, decision.reason))

    def answer(self, question: Question, said: str) -> bool:
        """The user's answer: an option's id, or an offer's. The first answer wins; False: too late."""
        return self.questions.settle(question, said, by="user")

    def settle_all(self, reason: str) -> None:
        """Settled at once, not when `_decided` comes to it: a turn that is over has no open question."""
        for id in self.questions.settle_all(reason):
            self._settle(id, Decision(None, "client", reason))

    # ---- what was allowed before ----------------------------------------------------------------

    def _granted(self, options: tuple[Option, ...], actions: Sequence[Action]) -> Decision | None:
        """An allow, if every action is reached by a grant."""
        found = [self._grant_for(action) for action in actions if not isinstance(action, BESIDE)]
        if not found or any(grant is None for grant in found):
            return None
        decision = decide("allow", options, by="grant", reason=_scopes(found))
        return decision if decision.allows(options) else None

    def _grant_for(self, action: Action) -> gr.Grant | None:
        agent, workspace = self._conversation.host.launch.identity, self._workspace
        return self.grants.find(agent, workspace, action, self._roots) or self.lasting.find(
            agent, workspace, action, self._roots
        )

    def _offers(self, options: tuple[Option, ...], actions: Sequence[Action]) -> tuple[gr.Offer, ...]:
        if not decide("allow", options, by="").allows(options):
            return ()
        taken = {option.id for option in options}
        found = gr.offers(*actions, cwd=self._workspace, roots=self._roots, taken=taken)
        clean = self._conversation.host.launch.redactor.text
        commands = [action.text for action in actions if isinstance(action, Command)]
        secret = any(clean(text) != text for text in commands)
        # What lasts is written to a file, and listed.
        return tuple(it for it in found if not secret or it.scope == "session")

    def _answers(self, options: tuple[Option, ...], offers: tuple[Offer, ...]) -> tuple[Answer, ...]:
        host = self._conversation.host
        return answers(options, offers, host.name, host.quirks.always_lasts)

    async def _remember(self, decision: Decision, offer: gr.Offer) -> Decision:
        """Remember what the user allowed beyond this question; the reason says so, or why that failed."""
        agent, workspace = self._conversation.host.launch.identity, self._workspace
        reason = offer.name
        if offer.scope == "session":
            self.grants.add(offer, agent=agent, workspace=workspace)
        else:
            try:
                await on_a_thread(lambda: self.lasting.add(offer, agent=agent, workspace=workspace))
            except Exception as error:  # this act is allowed all the same
                reason = f"this time only: it could not be remembered ({error})"
        return Decision(decision.option, decision.by, reason, decision.offer)


def _taken(decision: Decision, options: Sequence[Option], offers: Sequence[gr.Offer]) -> gr.Offer | None:
    """What is to be remembered: the offer that was chosen, or, after the agent's own "always", the session's.

    The agent will not ask again; without this, we would.
    """
    always = _is_always(decision, options)
    if decision.offer is None and not always:
        return None
    wanted = (it for it in offers if it.id == decision.offer or (always and it.scope == "session"))
    return next(wanted, None)


def _is_always(decision: Decision, options: Sequence[Option]) -> bool:
    always = any(it.id == decision.option and it.kind == "allow_always" for it in options)
    return always and decision.by in ("user", "policy")


def _scopes(grants: Sequence[gr.Grant | None]) -> str:
    names = {"session": "this session", "workspace": "this folder", "always": "always"}
    scopes = dict.fromkeys(names.get(grant.scope, grant.scope) for grant in grants if grant is not None)
    return f"allowed before: {', '.join(scopes)}"


def _refusal(decision: Decision) -> str:
    who = {"user": "the user rejected it", "policy": "the user's policy rejected it"}.get(decision.by, "")
    return ": ".join(filter(None, [who, decision.reason or ("" if who else "not allowed")]))


def _audited(actions: Sequence[Action]) -> list[Json]:
    """For the audit: all that was described; of a text its hash."""
    found: list[Json] = []
    for action in actions:
        plain = brief(action_to_plain(action))
        if isinstance(action, Write) and action.new_text is not None:
            plain["sha256"] = hashlib.sha256(action.new_text.encode(errors="surrogatepass")).hexdigest()
        found.append(plain)
    return found
