"""Permissions and cards for calls of the kernel tools.

Judges each call by what it would do: an allow on the agent's own question covers exactly that code, once.
Shows a run on the agent's own tool call if there is one, else on a card of the client. Runs on the loop
thread.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from ... import timeouts
from ...core import events as ev
from ...core.actions import Action, CallFunction, McpCall, RunCells, RunCode
from ...core.kernel_tools.calls import SERVER, TOOLS, matching_call
from ...core.kernel_tools.interface import OnChange, RunState
from ...core.kernel_tools.shown import run_content
from ...core.mcp_calls import Naming
from ...core.records import KernelRun, RunCell
from ...core.snapshot import ToolCall
from ...core.visible import shown
from ...wire.mcp import ToolRequest
from ..auditor import Auditor
from ..permissions.permission_manager import Denied, PermissionManager, Permit
from . import catalog
from .cards import KernelCards

TITLE_CHARS = 80

MOST_UNNAMED = 32
"""How many reads wait for their own tool call: more than an agent has open at once."""

AUDITED_CHARS = 200
"""How many characters of an argument the audit keeps."""

_OUTCOMES = {"ok": "completed", "interrupted": "cancelled"}


class SessionGate:
    """Decides about the calls of one session and shows them."""

    def __init__(
        self,
        permissions: PermissionManager,
        auditor: Auditor,
        cards: KernelCards,
        apply: Callable[[ev.Event], None],
        open_calls: Callable[[], Sequence[ToolCall]],
        naming: Callable[[], Naming],
        accepts_actions: Callable[[], bool],
    ) -> None:
        """`accepts_actions`: whether a turn runs, and is not being cancelled."""
        self._permissions = permissions
        self._auditor = auditor
        self._cards = cards
        self._apply = apply
        self._open_calls = open_calls
        self._naming = naming
        self._accepts_actions = accepts_actions
        self._unnamed: deque[ToolRequest] = deque(maxlen=MOST_UNNAMED)
        """The newest reads of this turn that ended before their own tool call arrived."""

    def turn_started(self) -> None:
        self._unnamed.clear()

    def call_changed(self) -> None:
        """A tool call is new, or changed."""
        for request in self._unnamed:
            own = self._find(request)
            if own is not None:
                self._unnamed.remove(request)
                return self._name(own, request, "read")  # which calls this method again

    # ---- calls without a question -----------------------------------------------------------------

    def check(self, request: ToolRequest) -> None:
        self._permissions.check_kernel(request.name)

    def refused(self, request: ToolRequest) -> None:
        """Name the agent's call, although it does nothing."""
        self._name(self._find(request), request, "other")

    def done(self, request: ToolRequest, failure: str | None) -> None:
        """Audit the call with its arguments, which name the variable or the cells."""
        own = self._find(request)
        if own is None:
            self._unnamed.append(request)
        self._name(own, request, "read")
        outcome = "done" if failure is None else "failed"
        target = f"{SERVER}/{request.name}"
        known = {name: it for name, it in request.arguments.items() if name in TOOLS[request.name]}
        given = {name: shown(str(it), chars=AUDITED_CHARS) for name, it in known.items()} or None
        self._auditor.note(
            "act", "read", target, by="client", outcome=outcome, reason=failure, arguments=given
        )

    # ---- calls with a question --------------------------------------------------------------------

    async def permit(self, request: ToolRequest, action: Action) -> OnChange:
        reads = isinstance(action, CallFunction) and action.reads
        if isinstance(action, CallFunction) and reads:
            self._permissions.check_kernel(action.name)
        own = await self.own_call(request)
        run = _waiting(action)

        def card(id: str) -> ev.ToolChanged:
            return ev.ToolChanged(
                id,
                title=title_of(request.name, run),
                kind=action.kind,
                status="pending",
                content=(run,),
                raw_input=dict(request.arguments),
                unprompted=True if not reads else ev.UNSET,
                created=True,
            )

        if own is not None:
            self._cards.take(own.id)
            self._apply(
                ev.ToolChanged(own.id, title=title_of(request.name, run), kind=action.kind, content=(run,))
            )
        if reads:
            permit = self._permissions.unasked(card, own)
        else:
            permit = await self._permissions.permit(
                action,
                card,
                own=own,
                only=own is not None and own.id == request.call_id,
                context=used_tools(request, action),
            )
        if not self._accepts_actions():  # what was allowed before is not begun, either
            self._permissions.finished(permit, "cancelled")
            raise Denied("the turn was cancelled, or is over")
        self._cards.take(permit.tool)
        return _RunDisplay(self, request, action, permit).update

    async def own_call(self, request: ToolRequest) -> ToolCall | None:
        """The agent's tool call for this MCP call. Waits a moment for it."""
        found = self._find(request)
        if found is not None:
            return found
        try:
            async with asyncio.timeout(timeouts.get().tool_own_call):
                while found is None:
                    self._cards.changed.clear()
                    await self._cards.changed.wait()
                    found = self._find(request)
        except TimeoutError:
            return None
        return found

    async def own_edit(self, request: ToolRequest) -> ToolCall | None:
        """The same, for a change of the notebook: it is judged as an edit, whatever the agent calls it."""
        own = await self.own_call(request)
        self._name(own, request, "edit")
        return own

    def _name(self, own: ToolCall | None, request: ToolRequest, kind: str) -> None:
        """Give the agent's call a title that the user understands; its content stays the agent's."""
        if own is not None:
            title = catalog.title_of(request.name, request.arguments)
            self._apply(ev.ToolChanged(own.id, title=shown(title, chars=TITLE_CHARS), kind=kind))
            self._cards.name(own.id)

    def _find(self, request: ToolRequest) -> ToolCall | None:
        calls, naming = self._open_calls(), self._naming()
        return matching_call(calls, naming, request.name, request.arguments, request.call_id)

    def show(self, permit: Permit, request: ToolRequest, kind: str, state: RunState) -> None:
        run = run_content(state)
        status = ev.UNSET if permit.card is None else "in_progress"
        title = title_of(request.name, run)
        self._apply(ev.ToolChanged(permit.tool, title=title, kind=kind, status=status, content=(run,)))

    def over(self, permit: Permit, action: Action, state: RunState) -> None:
        self._permissions.finished(permit, _OUTCOMES.get(state.status, "failed"))
        self._auditor.note(
            "act",
            action.kind,
            action.text,
            by="client",
            outcome="done" if state.status == "ok" else state.status,
            tool=permit.tool,
            run=state.id,
            seconds=round(state.seconds, 3),
            unprompted=permit.unprompted or None,
        )


class _RunDisplay:
    """Shows the states of one run until it is over."""

    def __init__(self, gate: SessionGate, request: ToolRequest, action: Action, permit: Permit) -> None:
        self._gate, self._request, self._action, self._permit = gate, request, action, permit
        self._over = False

    def update(self, state: RunState) -> None:
        if self._over:
            return
        self._gate.show(self._permit, self._request, self._action.kind, state)
        if state.is_over:
            self._over = True
            self._gate.over(self._permit, self._action, state)


def used_tools(request: ToolRequest, action: Action) -> tuple[McpCall, ...]:
    """The tools whose rules apply: an inspection that runs code also uses `run_code`, and a function counts
    by its name, however it is called."""
    if isinstance(action, CallFunction):
        return (McpCall(SERVER, action.name, sure=True),)
    names = (request.name, "run_code") if isinstance(action, RunCode) else (request.name,)
    return tuple(McpCall(SERVER, name, sure=True) for name in dict.fromkeys(names))


def _waiting(action: Action) -> KernelRun:
    """The run as the card shows it before permission."""
    match action:
        case RunCode(code, purpose):
            return KernelRun("", code, purpose=purpose or None)
        case RunCells(cells):
            return KernelRun("", cells=tuple(RunCell(id, "waiting", source) for id, source in cells))
        case CallFunction(name, arguments):
            return KernelRun("", function=name, arguments=arguments)
    raise AssertionError(action)


def title_of(tool: str, run: KernelRun) -> str:
    """The title of the card: the purpose, the first line of code, the number of cells, or the call."""
    if run.function is not None:
        return shown(CallFunction(run.function, run.arguments).text, chars=TITLE_CHARS)
    if run.cells:
        return f"Run {len(run.cells)} cell{'s' * (len(run.cells) > 1)}"
    first = next((line for line in run.code.splitlines() if line.strip()), "")
    words = run.purpose or first.strip()
    return shown(words, chars=TITLE_CHARS) if words else catalog.title_of(tool)
