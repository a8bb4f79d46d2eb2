"""What may be done in a session: every act has somebody who allowed it, and is asked about at most once.

Joins the questions (`permission`), what was allowed before (grants, and the allows of this turn) and the
transcript. Knows no files and no processes; those who act ask `permit` first. Lives on the loop thread.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...core import events as ev
from ...core import grants as gr
from ...core.acts import Act, acts_of, covers, implied_acts, names, remaining
from ...core.facts import PermissionAsked
from ...core.policy import WORDS, Decision, PermissionRequest, Policy, Word, decide
from ...core.records import Json, Offer, Option, Text
from ...core.rules import NO_JUDGE, Judge
from ...core.snapshot import Question, ToolCall
from ..auditing import Auditor
from ..threads import on_a_thread
from .grant_store import GrantStore, SessionGrants
from .questions import Questions

if TYPE_CHECKING:
    from ..conversation import Conversation

OPTIONS = (Option("allow", "Allow", "allow_once"), Option("reject", "Reject", "reject_once"))
"""Of a question that we ask ourselves."""


class Denied(Exception):
    """Nobody allowed it; says who did not."""


@dataclass(frozen=True, slots=True)
class Permit:
    """An act that may be done. `card`: the tool call that we made to show it, None if the agent has one."""

    card: str | None
    unprompted: bool
    tool: str


class Permits:
    """One session's."""

    def __init__(
        self,
        conversation: Conversation,
        policy: Policy,
        folders: Sequence[str],
        auditor: Auditor,
        judge: Judge = NO_JUDGE,
    ) -> None:
        self.questions = Questions(policy)
        self.grants = SessionGrants()
        self.lasting = GrantStore()
        self._conversation = conversation
        self._workspace, *self._roots = folders
        self._auditor = auditor
        self._judge = judge
        self._asked = 0
        self._cards = 0
        self._allowed: list[ToolCall] = []
        """Calls that were allowed in this turn, as they were when they were asked about."""
        self._allowed_always: list[ToolCall] = []
        """Of these, the ones that the agent will not ask about again, and that named nothing to remember."""

    def turn_started(self) -> None:
        self._allowed.clear()
        self._allowed_always.clear()

    # ---- the agent asks -----------------------------------------------------------------------

    async def asked(self, asked: PermissionAsked) -> str | None:
        """The id of the option that was chosen; None: cancelled."""
        self._conversation.apply(self._with_what_was_shown(asked.tool))
        tool = self._conversation.read_calls(lambda transcript: transcript.tool(asked.tool.id))
        acts = acts_of(tool, self._conversation.cwd, os.path.realpath)
        target = ", ".join(filter(None, (act.target for act in acts))) or tool.title
        self._auditor.note("request", tool.kind, target, tool=tool.id)
        decision = await self._decided(tool, asked.options, acts, target, raw=asked.raw)
        return decision.option

    def _with_what_was_shown(self, asked: ev.ToolChanged) -> ev.ToolChanged:
        """A question adds to the texts of its call: some agents cut the command in it after 50 characters."""
        calls = self._conversation.read_calls(lambda transcript: transcript.open_tools())
        known = next((call for call in calls if call.id == asked.id), None)
        if known is None or not isinstance(asked.content, tuple):
            return asked
        before = (it for it in known.content if isinstance(it, Text) and it not in asked.content)
        return replace(asked, content=(*before, *asked.content))

    # ---- we ask, for what the agent did not ask about -----------------------------------------

    async def permit(
        self, act: Act, card: Callable[[str], ev.ToolChanged], *, always: bool = False
    ) -> Permit:
        """Returns when the act may be done; raises Denied. `card` makes a tool call with the id given.

        `always`: it is asked about, on a card of its own, whatever was allowed before; also where the
        policy's word is "allow", if there is somebody to ask.
        """
        calls = self._conversation.read_calls(lambda transcript: transcript.open_tools())
        covering = covers(self._allowed, calls, act, self._conversation.cwd, os.path.realpath)
        if covering is not None and self.forbidden(act) is None:
            self._remember_always(covering, act)
            self._use(covering, act)
            if not always:
                return Permit(None, False, covering.id)
        own = next((it for it in calls if names(it, act, self._conversation.cwd, os.path.realpath)), None)
        if own is not None and not always:
            # What is asked about is what would be done, not what the call shows of itself.
            id, shown = own.id, ev.ToolChanged(own.id, content=card(own.id).content, unprompted=True)
        else:
            own = None
            self._cards += 1
            id = f"acp:{self._cards}"
            shown = card(id)
        self._conversation.apply(shown)
        tool = self._conversation.read_calls(lambda transcript: transcript.tool(id))
        try:
            decision = await self._decided(
                tool,
                OPTIONS,
                () if always else (act,),
                act.target,
                unprompted=True,
                ruled=(act,),
                grave=always,
            )
        except asyncio.CancelledError:
            if own is None:
                self.finished(Permit(id, True, id), "cancelled")
            raise
        permit = Permit(id if own is None else None, True, id)
        if not decision.allows(OPTIONS):
            self.finished(permit, "cancelled" if decision.option is None else "failed")
            raise Denied(_refusal(decision))
        self._use(tool, act)
        return permit

    def _use(self, allowed: ToolCall, act: Act) -> None:
        left = remaining(allowed, act)
        self._allowed = [it for it in self._allowed if it is not allowed] + ([left] if left else [])

    def finished(self, permit: Permit, status: str) -> None:
        """How the act went; the agent tells that of its own calls."""
        if permit.card is not None:
            self._conversation.apply(ev.ToolChanged(permit.card, status=status))

    # ---- questions ------------------------------------------------------------------------------

    async def _decided(
        self,
        tool: ToolCall,
        options: tuple[Option, ...],
        acts: Sequence[Act],
        target: str,
        *,
        unprompted: bool = False,
        raw: Json = None,
        ruled: Sequence[Act] | None = None,
        grave: bool = False,
    ) -> Decision:
        """`acts` are what a grant may reach; `ruled`, by default the same, what rules of files are about."""
        self._asked += 1
        id = f"q{self._asked}"
        offers = self._offers(options, acts)
        shown = tuple(Offer(it.id, it.name, it.scope) for it in offers)
        self._conversation.apply(ev.QuestionAsked(id, tool.id, options, raw, offers=shown))
        detail: dict[str, Json] = {"tool": tool.id} | ({"unprompted": True} if unprompted else {})
        try:
            decision = await self._answered(
                id, PermissionRequest(tool, options), acts, acts if ruled is None else ruled, grave
            )
        except asyncio.CancelledError:
            decision = Decision(None, "agent", "the agent took the question back")
            self._settle(id, decision)
            self._auditor.decided(tool.kind, target, decision, "cancelled", detail)
            raise
        allowed = decision.allows(options)
        if allowed:
            self._allowed.append(tool)
            self._allowed_always = [it for it in self._allowed_always if it.id != tool.id]
        if allowed and (offer := _taken(decision, options, offers)) is not None:
            decision = await self._remember(decision, offer)
        elif allowed and _is_always(decision, options):
            self._allowed_always.append(tool)
        if decision.by != "client":  # else it was told by `settle_all`
            self._settle(id, decision)
        outcome = "allowed" if allowed else "cancelled" if decision.option is None else "rejected"
        self._auditor.decided(tool.kind, target, decision, outcome, detail)
        return decision

    async def _answered(
        self, id: str, request: PermissionRequest, acts: Sequence[Act], ruled: Sequence[Act], grave: bool
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
                lambda: self._granted(request.options, acts),
                lambda said: self._judged(self._weighed(said, grave), request, ruled),
            )
        recorded, waits = replay.stand_ins.answer_to(self._conversation.id, request)
        return await self.questions.ask(id, request, lambda: recorded, waits=waits)

    def forbidden(self, act: Act) -> str | None:
        """Whose rule rejects the act, whoever would allow it."""
        return self._judge.rejects(act)

    def check_read(self, path: str) -> None:
        """Raises Denied where a rule says that this file is not read. Nobody is asked."""
        rule = self._judge.rejects(Act("read", os.path.realpath(path)), "ask")
        if rule is not None:
            raise Denied(f"{rule} rejects it")

    def _weighed(self, said: Any, grave: bool) -> Any:
        """A word that allows everything was not said with this in mind; what a function says, was."""
        questions = self.questions
        by_word = grave and said == "allow" and not callable(questions.policy)
        return "ask" if by_word and questions.can_ask else said

    def _judged(self, said: Any, request: PermissionRequest, acts: Sequence[Act]) -> tuple[Any, str | None]:
        """What the rules of files make of a policy's answer, which may be an option's id."""
        if isinstance(said, str) and said in WORDS:
            word: Word = said  # type: ignore[assignment]
        else:
            word = "allow" if decide(said, request.options, by="").allows(request.options) else "reject"
        judged, rule = self._judge.judged(word, request.kind, acts)
        implied = implied_acts(request.tool, self._conversation.cwd, os.path.realpath)
        hidden = (self._judge.rejects(act, word) for act in implied) if judged != "reject" else ()
        judged, rule = next((("reject", whose) for whose in hidden if whose), (judged, rule))
        return (said, None) if judged == word else (judged, rule)

    def _settle(self, id: str, decision: Decision) -> None:
        self._conversation.apply(ev.QuestionSettled(id, decision.option, decision.by, decision.reason))

    def answer(self, question: Question, said: str) -> bool:
        """The user's answer: an option's id, or an offer's. The first answer wins; False: too late."""
        return self.questions.settle(question, said, by="user")

    def settle_all(self, reason: str) -> None:
        """Told at once, not when `_decided` comes to it: a turn that is over has no open question."""
        for id in self.questions.settle_all(reason):
            self._settle(id, Decision(None, "client", reason))

    # ---- what was allowed before ----------------------------------------------------------------

    def _granted(self, options: tuple[Option, ...], acts: Sequence[Act]) -> Decision | None:
        """An allow, if every act is reached by a grant."""
        found = [self._grant_for(act) for act in acts]
        if not found or any(grant is None for grant in found):
            return None
        decision = decide("allow", options, by="grant", reason=_scopes(found))
        return decision if decision.allows(options) else None

    def _grant_for(self, act: Act) -> gr.Grant | None:
        agent, workspace = self._conversation.host.launch.identity, self._workspace
        return self.grants.find(agent, workspace, act, self._roots) or self.lasting.find(
            agent, workspace, act, self._roots
        )

    def _offers(self, options: tuple[Option, ...], acts: Sequence[Act]) -> tuple[gr.Offer, ...]:
        if not decide("allow", options, by="").allows(options):
            return ()
        taken = {option.id for option in options}
        found = gr.offers(*acts, cwd=self._workspace, roots=self._roots, taken=taken)
        clean = self._conversation.host.launch.redactor.text
        secret = any(act.command is not None and clean(act.target) != act.target for act in acts)
        # What lasts is written to a file, and listed.
        return tuple(it for it in found if not secret or it.scope == "session")

    def _remember_always(self, covering: ToolCall, act: Act) -> None:
        """What the question did not name is known now: the agent will not ask again, and we need not."""
        if any(it is covering for it in self._allowed_always):
            found = gr.offers(act, cwd=self._workspace, roots=self._roots)
            for offer in (it for it in found if it.scope == "session"):
                self.grants.add(
                    offer, agent=self._conversation.host.launch.identity, workspace=self._workspace
                )

    async def _remember(self, decision: Decision, offer: gr.Offer) -> Decision:
        """Keep what the user allowed beyond this question; the reason says so, or why that failed."""
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
