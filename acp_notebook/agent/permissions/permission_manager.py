"""Decides whether an action is permitted, from questions, grants and rules.

An allow covers exactly the actions that `core.describe` found, each of them once, while the turn runs and the
tool call is open. Knows no protocol and renders nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...core import events as ev
from ...core import grants as gr
from ...core.actions import (
    ANNOTATIONS,
    Action,
    CallFunction,
    Command,
    FileAccess,
    KernelAction,
    KernelCall,
    McpCall,
    NotebookWrite,
    Write,
    action_to_plain,
    brief,
    consume,
    target_of,
)
from ...core.answers import always_means, answers, unambiguous
from ...core.describe import mentions
from ...core.kernel_tools.calls import OWN_RUNS, SERVER
from ...core.policy import WORDS, Decision, PermissionRequest, Policy, Word, decide, strictest
from ...core.records import Answer, Json, Offer, Option
from ...core.requests import RequestPermission
from ...core.rules import NO_JUDGE, Judge
from ...core.snapshot import Question, ToolCall
from ...log import logger
from ..known_answers import KnownAnswers, NoAnswers
from ..session_state import SessionState
from ..threads import on_a_thread
from .describer import Describes
from .grant_store import GrantStore, SessionGrants
from .questions import Questions

_log = logger(__name__)

TOOLS_OFF = "the kernel's tools are switched off"
READS_ALLOWED = "reading variables and the notebook is allowed; tools=False switches it off"
ASKED_LATER = "the question comes when the code is known"

OPTIONS = (Option("allow", "Allow once", "allow_once"), Option("reject", "Reject", "reject_once"))
"""The options of a question that the client asks on its own."""


class Denied(Exception):
    """An action was not permitted. The message says who rejected it."""


class Permit(Struct, frozen=True):
    """Permission for one action.

    `card`: the tool call that the client created to show the action, or None if the agent has its own.
    """

    card: str | None
    unprompted: bool
    tool: str


class Allowance(Struct):
    """The actions of an allowed question that the agent has not performed yet."""

    tool: ToolCall
    actions: tuple[Action, ...]
    by: str
    """Who allowed it: user, policy or grant."""


class PermissionManager:
    """Decides about the agent's permission requests in one session, and asks about other actions."""

    def __init__(
        self,
        state: SessionState,
        policy: Policy,
        folders: Sequence[str],
        describer: Describes,
        judge: Judge = NO_JUDGE,
        known: KnownAnswers | None = None,
    ) -> None:
        self.questions = Questions(policy, state.audience)
        self.grants = SessionGrants()
        self.lasting = GrantStore()
        self._state = state
        self._known = known or NoAnswers()
        self.workspace, *self._roots = folders
        """The session's folder, to which its grants are bound."""
        self._auditor = state.auditor
        self._describer = describer
        self._judge = judge
        self.kernel_is_off = False
        """The kernel's tools are switched off: a question about one is answered at once."""
        self.word_of_function: Callable[[CallFunction], Awaitable[tuple[Any, str | None]] | None] = (
            lambda action: None
        )
        """What the permission of a user's function says about a call, and why; None: it says nothing."""
        self.on_granted: Callable[[], None] = lambda: None
        """Called after a grant was added."""
        self._asked = 0
        self._cards = 0
        self._allowed: list[Allowance] = []

    @property
    def has_rules(self) -> bool:
        """Whether rules of settings files decide, too."""
        return self._judge.has_rules

    def turn_started(self) -> None:
        self._allowed.clear()

    def policy_changed(self) -> None:
        """End the allows of the former policy; the user's own last while the policy is a word other than
        "reject"."""
        users = self.questions.policy in ("ask", "allow")
        self._allowed = [it for it in self._allowed if users and it.by == "user"]

    def grant_revoked(self) -> None:
        """End the allows that grants gave."""
        self._allowed = [it for it in self._allowed if it.by != "grant"]

    # ---- permission requests of the agent -----------------------------------------------------

    async def handle_request(self, asked: RequestPermission) -> str | None:
        """Decide about a permission request; return the id of the chosen option, or None if cancelled."""
        options = unambiguous(asked.options)
        self._state.apply(replace(asked.tool, asked=True))
        tool = self._state.calls.call(asked.tool.id)
        actions = await self._describer.call(tool)
        self._auditor.note(
            "request", tool.kind, target_of(actions) or tool.title, tool=tool.id, actions=_audited(actions)
        )
        tool = self._as_kernel_call(tool, actions)
        decision = self._of_kernel(options, actions)
        if self.kernel_is_off and any(isinstance(it, KernelAction) for it in actions):
            decision = decide("reject", options, by="client", reason=TOOLS_OFF)
            self._auditor.note_decision(
                tool.kind, target_of(actions), decision, "rejected", {"tool": tool.id}
            )
        elif decision is not None:
            self._auditor.note_decision(tool.kind, target_of(actions), decision, "allowed", {"tool": tool.id})
        else:
            destructive = any(isinstance(it, NotebookWrite) and it.note is not None for it in actions)
            decision = await self._decide(tool, options, actions, asked=asked, destructive=destructive)
        return decision.option

    def _as_kernel_call(self, tool: ToolCall, actions: Sequence[Action]) -> ToolCall:
        """Set the kind of a call to a kernel tool by what it does: agents call all of them "other"."""
        if not actions or not isinstance(actions[0], McpCall) or not actions[0].sure:
            return tool
        kind = next((it.kind for it in actions if isinstance(it, KernelAction)), "")
        if kind in ("", tool.kind) or any(isinstance(it, KernelCall) and it.later for it in actions):
            return tool
        self._state.apply(ev.ToolChanged(tool.id, kind=kind))
        return replace(tool, kind=kind)

    def _of_kernel(self, options: tuple[Option, ...], actions: Sequence[Action]) -> Decision | None:
        """Allow calls that only read the kernel, and those that the kernel tools server asks about later."""
        counted = [action for action in actions if not isinstance(action, ANNOTATIONS)]
        reads = [it for it in counted if isinstance(it, KernelCall) or _is_read(it)]
        if not reads or len(reads) < len(counted):
            return None
        later = all(isinstance(it, KernelCall) and it.later for it in reads)
        if not later and (self.questions.policy not in ("ask", "allow") or self._restricts(actions)):
            return None
        decision = decide("allow", options, by="grant", reason=ASKED_LATER if later else READS_ALLOWED)
        return decision if decision.allows(options) else None

    def _restricts(self, actions: Sequence[Action]) -> bool:
        """Whether a rule rejects the actions or requires a question."""
        word, _ = self._judge.judged("allow", "read", actions)
        return word != "allow"

    # ---- actions that the agent did not ask about ---------------------------------------------

    async def permit(
        self,
        action: Action,
        card: Callable[[str], ev.ToolChanged],
        *,
        always: bool = False,
        own: ToolCall | None = None,
        only: bool = False,
        context: tuple[Action, ...] = (),
    ) -> Permit:
        """Return when the action is permitted. Raises Denied.

        `card` creates a tool call with the given id. `always`: ask on a separate card, even if earlier allows
        cover the action, and even with the policy "allow" if someone can answer. `own`: the agent's tool call
        that performs the action, if known. `only`: an allow of another call does not cover the action.
        `context`: actions that describe it further.
        """
        calls = self._state.calls.open()
        covering = self._use_allowance((*context, action), [own] if only and own is not None else calls)
        if covering is not None and not always:
            return Permit(None, False, covering.id)
        own = own or (None if always else self._own_call(action, calls))
        if not always and calls and self._is_known(own):
            return Permit(None, False, (own or calls[-1]).id)
        if own is not None:
            # The question shows what would happen, not what the call says about itself.
            id, shown = own.id, ev.ToolChanged(own.id, content=card(own.id).content, unprompted=True)
        else:
            self._cards += 1
            id = f"acp:{self._cards}"
            shown = card(id)
        self._state.apply(shown)
        tool = self._state.calls.call(id)
        try:
            actions = (*context, action)
            decision = await self._decide(tool, OPTIONS, actions, ours=True, destructive=always)
        except asyncio.CancelledError:
            if own is None:
                self.finished(Permit(id, True, id), "cancelled")
            raise
        permit = Permit(id if own is None else None, True, id)
        if not decision.allows(OPTIONS):
            self.finished(permit, "cancelled" if decision.option is None else "failed")
            raise Denied(_refusal(decision))
        return permit

    def unasked(self, card: Callable[[str], ev.ToolChanged], own: ToolCall | None) -> Permit:
        """Permission for an action that needs none, on the agent's own tool call or a card of ours."""
        if own is not None:
            return Permit(None, False, own.id)
        self._cards += 1
        id = f"acp:{self._cards}"
        self._state.apply(card(id))
        return Permit(id, False, id)

    def _use_allowance(self, actions: Sequence[Action], calls: Sequence[ToolCall]) -> ToolCall | None:
        """Use up an allowance that covers the last of the actions; return its tool call, or None."""
        action = actions[-1]
        if self._judge.judged("allow", action.kind, actions)[0] == "reject":
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

    def _is_known(self, own: ToolCall | None) -> bool:
        """Whether a recording says that the action was allowed without a question."""
        id = f"acp:{self._cards + 1}" if own is None else own.id
        return self._known.is_allowed(self._state.id, id)

    def _own_call(self, action: Action, calls: Sequence[ToolCall]) -> ToolCall | None:
        """The open call that announces this action, if no newer call reused its id."""
        place, phrases = self._describer.place, self._describer.phrases
        newest = {call.id: call for call in calls}
        return next((call for call in newest.values() if mentions(call, action, place, phrases)), None)

    def finished(self, permit: Permit, status: str) -> None:
        """Set the final status on the client's card. The agent updates its own calls."""
        if permit.card is not None:
            self._state.apply(ev.ToolChanged(permit.card, status=status))

    # ---- questions ------------------------------------------------------------------------------

    async def _decide(
        self,
        tool: ToolCall,
        options: tuple[Option, ...],
        actions: tuple[Action, ...],
        *,
        ours: bool = False,
        asked: RequestPermission | None = None,
        destructive: bool = False,
    ) -> Decision:
        """Open a question and wait for its answer.

        `ours`: the action follows at once, so an allow leaves no allowance. `asked`: the agent's request, if
        it made one. `destructive`: no grant and no blanket "allow" answers it, because it changes the kernel
        of a notebook, or much of the notebook.
        """
        self._asked += 1
        id = f"q{self._asked}"
        granted = () if destructive else actions
        offers = self._offers(options, granted)
        shown = tuple(Offer(it.id, it.name, it.scope) for it in offers)
        request = PermissionRequest(tool, options, actions)
        self._state.apply(
            ev.QuestionAsked(
                id,
                tool.id,
                options,
                None if asked is None else asked.raw,
                shown,
                actions,
                self._answers(options, shown),
                None if asked is None else asked.meta,
            )
        )
        target = target_of(actions) or tool.title
        detail: dict[str, Json] = {"tool": tool.id, "actions": _audited(actions)}
        if ours:
            detail["unprompted"] = True
        try:
            decision = await self._ask(id, request, granted, destructive)
        except asyncio.CancelledError:
            decision = Decision(None, "agent", "the agent withdrew the request")
            self._settle(id, decision)
            self._auditor.note_decision(tool.kind, target, decision, "cancelled", detail)
            raise
        allowed = decision.allows(options)
        if allowed and not ours:
            self._allowed.append(Allowance(tool, actions, decision.by))
        always = allowed and _is_always(decision, options)
        if allowed and (offer := _offer_to_remember(decision, options, offers)) is not None:
            decision = await self._remember(decision, offer, always)
        elif always:
            decision = self._remembered_by_the_agent(decision, None)
        if decision.by != "client":  # otherwise `settle_all` has settled it
            self._settle(id, decision)
        outcome = "allowed" if allowed else "cancelled" if decision.option is None else "rejected"
        self._auditor.note_decision(tool.kind, target, decision, outcome, detail)
        return decision

    async def _ask(
        self, id: str, request: PermissionRequest, granted: Sequence[Action], destructive: bool
    ) -> Decision:
        if not self._state.accepts_actions:
            decision = Decision(None, "client", "no turn is running")
            self._settle(id, decision)
            return decision
        known = self._known.permission(self._state.id, request)
        if known is None:
            by_function = await self._by_function(request)
            if by_function is not None and not by_function.allows(request.options):
                return by_function
            return await self.questions.ask(
                id,
                request,
                lambda: by_function or self._by_grants(request.options, granted),
                lambda said: self._apply_rules(self._downgrade_allow(said, destructive), request),
            )
        return await self.questions.ask(id, request, lambda: known.answer, waits=known.waits)

    async def _by_function(self, request: PermissionRequest) -> Decision | None:
        """What the permission of the called function says.

        A reject counts, also if the call is only one of the things asked about. An allow counts if the call
        is all of it, and where the session's policy and the rules say "ask".
        """
        call = next((it for it in request.actions if isinstance(it, CallFunction)), None)
        asked = None if call is None else self.word_of_function(call)
        if asked is None:
            return None
        said, reason = await asked
        if said == "ask" or (said == "allow" and gr.to_cover(request.actions) != (call,)):
            return None
        return decide(said, request.options, by="policy", reason=reason)

    def check_kernel(self, tool: str) -> None:
        """Raise Denied if a rule, or the policy for reads, rejects this kernel tool.

        Never asks, and never calls a policy function, which decides about questions only.
        """
        policy = self.questions.policy
        said = policy.get("read") if isinstance(policy, Mapping) else policy
        if said == "reject" and tool not in OWN_RUNS:
            raise Denied("the user's policy rejects reading")
        actions = (McpCall(SERVER, tool, sure=True), KernelCall(tool))
        word, rule = self._judge.judged("ask", "read", actions)
        if word == "reject":
            raise Denied(f"{rule} rejects it")

    def check_read(self, path: str) -> None:
        """Raise Denied if a rule forbids reading this file. Never asks."""
        rule = self._judge.rejects(FileAccess("read", path), "ask")
        if rule is not None:
            raise Denied(f"{rule} rejects it")

    def _downgrade_allow(self, said: Any, destructive: bool) -> Any:
        """Turn a blanket "allow" into "ask" for destructive actions. A policy function saw the action."""
        blanket = destructive and said == "allow" and not callable(self.questions.policy)
        return "ask" if blanket and self._state.audience.can_answer else said

    def _apply_rules(self, said: Any, request: PermissionRequest) -> tuple[Any, str | None]:
        """Apply the rules of settings files to a policy's answer, which may be an option id.

        Judges each kind of action, regardless of the kind that the agent declared. Returns the answer, and
        the rule if one changed it.
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
        self._state.apply(
            ev.QuestionSettled(id, decision.option, decision.by, decision.reason, decision.person)
        )

    def answer(self, question: Question, said: str, person: str | None = None) -> bool:
        """Give the user's answer, the id of an option or offer. Return False if it is too late."""
        return self.questions.settle(question, said, by="user", person=person)

    def settle_all(self, reason: str) -> None:
        """Cancel all open questions now, without waiting for `_decide`: an ended turn has none."""
        for id in self.questions.settle_all(reason):
            self._settle(id, Decision(None, "client", reason))

    # ---- grants ---------------------------------------------------------------------------------

    def _by_grants(self, options: tuple[Option, ...], actions: Sequence[Action]) -> Decision | None:
        """An allow if grants cover every action, else None."""
        found = [self._grant_for(action) for action in gr.to_cover(actions)]
        if not found or any(grant is None for grant in found):
            return None
        decision = decide("allow", options, by="grant", reason=_scopes(found))
        return decision if decision.allows(options) else None

    def _grant_for(self, action: Action) -> gr.Grant | None:
        agent, workspace = self._state.agent.identity, self.workspace
        return self.grants.find(agent, workspace, action, self._roots) or self.lasting.find(
            agent, workspace, action, self._roots
        )

    def _offers(self, options: tuple[Option, ...], actions: Sequence[Action]) -> tuple[gr.Offer, ...]:
        if not decide("allow", options, by="").allows(options):
            return ()
        taken = {option.id for option in options}
        found = gr.offers(*actions, cwd=self.workspace, roots=self._roots, taken=taken)
        clean = self._state.agent.redactor.text
        commands = [action.text for action in actions if isinstance(action, Command)]
        secret = any(clean(text) != text for text in commands)
        # Lasting grants are written to a file and listed, so they must not contain a secret.
        return tuple(it for it in found if not secret or it.scope == "session")

    def _answers(self, options: tuple[Option, ...], offers: tuple[Offer, ...]) -> tuple[Answer, ...]:
        agent = self._state.agent
        return answers(options, offers, agent.name, agent.quirks.always_lasts)

    def _remembered_by_the_agent(self, decision: Decision, offer: gr.Offer | None) -> Decision:
        """The reason says how long the agent's own "always" lasts: our grant may end sooner."""
        agent = self._state.agent
        told = always_means(agent.name, agent.quirks.always_lasts, offer.name if offer else None)
        reason = ": ".join(filter(None, (decision.reason, told)))
        return Decision(decision.option, decision.by, reason, decision.offer)

    async def _remember(self, decision: Decision, offer: gr.Offer, always: bool) -> Decision:
        """Store the offer as a grant. The reason names it, or says why storing it failed.

        `always`: the agent's own "always" was chosen, and not the offer itself.
        """
        agent, workspace = self._state.agent.identity, self.workspace
        reason = offer.name
        if offer.scope == "session":
            self.grants.add(offer, agent=agent, workspace=workspace)
            if always:
                self.on_granted()
                return self._remembered_by_the_agent(decision, offer)
        else:
            try:
                await on_a_thread(lambda: self.lasting.add(offer, agent=agent, workspace=workspace))
            except Exception as error:  # this action is allowed all the same
                _log.warning("could not store a grant", exc_info=True)
                reason = f"allowed once only: the grant could not be stored ({error})"
        self.on_granted()
        return Decision(decision.option, decision.by, reason, decision.offer)


def _offer_to_remember(
    decision: Decision, options: Sequence[Option], offers: Sequence[gr.Offer]
) -> gr.Offer | None:
    """The chosen offer; for the agent's own "always" option, the offer for the session.

    After "always" the agent does not ask again, so the client should not either. Only a person, who has read
    that the answer does so, can grant all code, or a function.
    """
    always = _is_always(decision, options)
    if decision.offer is None and not always:
        return None
    wanted = (it for it in offers if it.id == decision.offer or (always and it.scope == "session"))
    return next((it for it in wanted if it.kind not in (gr.CODE, gr.FUNCTION) or decision.by == "user"), None)


def _is_read(action: Action) -> bool:
    return isinstance(action, CallFunction) and action.reads


def _is_always(decision: Decision, options: Sequence[Option]) -> bool:
    always = any(it.id == decision.option and it.kind == "allow_always" for it in options)
    return always and decision.by in ("user", "policy")


def _scopes(grants: Sequence[gr.Grant | None]) -> str:
    names = {"session": "for this session", "workspace": "for this folder", "always": "for good"}
    scopes = dict.fromkeys(names.get(grant.scope, grant.scope) for grant in grants if grant is not None)
    return f"you allowed it before, {' and '.join(scopes)}"


def _refusal(decision: Decision) -> str:
    who = {"user": "the user rejected it", "policy": "the user's policy rejected it"}.get(decision.by, "")
    return ": ".join(filter(None, [who, decision.reason or ("" if who else "not allowed")]))


def _audited(actions: Sequence[Action]) -> list[Json]:
    """The actions for the audit, with the hash of a written text instead of the text."""
    found: list[Json] = []
    for action in actions:
        plain = brief(action_to_plain(action))
        if isinstance(action, Write) and action.new_text is not None:
            plain["sha256"] = hashlib.sha256(action.new_text.encode(errors="surrogatepass")).hexdigest()
        found.append(plain)
    return found
