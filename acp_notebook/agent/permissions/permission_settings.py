"""The permissions of a running session as the user sees and changes them: who answers, and the grants.

Only the user's own code and pages come here; no message of an agent does. Every change is in the audit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from ...core.grants import Grant, Offer, allowed_by
from ...core.policy import Policy
from ...errors import UsageError
from ..session_state import SessionState
from ..threads import on_a_thread
from .permission_manager import PermissionManager

Choice = Literal["ask", "edits", "allow", "reject", "given"]
"""What a page can choose: a word, all edits in the session's folders, or what Python has set."""

EDITS = Offer(id="edits", name="Allow all edits in this session", scope="session", kind="edit")


class PermissionSettings:
    """Reads and changes the permissions of one session. Runs on the loop thread."""

    def __init__(self, manager: PermissionManager, state: SessionState) -> None:
        self.changed: Callable[[], None] = lambda: None
        """Called after a change, and after an answer that is remembered."""
        self._manager = manager
        self._state = state
        self._given = manager.questions.policy
        manager.on_granted = lambda: self.changed()

    # ---- who answers ----------------------------------------------------------------------------

    @property
    def policy(self) -> Policy:
        return self._manager.questions.policy

    @property
    def given(self) -> Policy:
        """What Python has set, to which a page can return."""
        return self._given

    @property
    def word(self) -> str:
        """The setting in one word: ask, edits, allow, reject, kinds or function."""
        if self.policy == "ask" and self._edits is not None:
            return "edits"
        return word_of(self.policy)

    @property
    def has_rules(self) -> bool:
        """Whether rules of settings files decide, too."""
        return self._manager.has_rules

    def set(self, policy: Policy) -> None:
        """Change who answers, as Python does."""
        self._given = policy
        self._set(policy, by="code")

    def choose(self, choice: Choice) -> None:
        """Change who answers, as a page does."""
        edits = self._edits
        if choice != "edits" and edits is not None:
            self._manager.grants.revoke(edits.id)
        if choice == "edits" and edits is None:
            agent, workspace = self._state.agent.identity, self._manager.workspace
            self._manager.grants.add(EDITS, agent=agent, workspace=workspace)
        if choice == "given":
            self._set(self._given, by="user")
        else:
            self._set("ask" if choice == "edits" else choice, by="user")

    def _set(self, policy: Policy, *, by: str) -> None:
        before, self._manager.questions.policy = self.word, policy
        self._manager.policy_changed()
        self._state.auditor.note("setting", "permissions", self.word, by=by, outcome="set", before=before)
        self.changed()

    @property
    def _edits(self) -> Grant | None:
        """The grant for all edits in the session's folders."""
        return next((it for it in self._manager.grants if it.kind == "edit" and it.path is None), None)

    # ---- grants ---------------------------------------------------------------------------------

    def grants(self) -> tuple[Grant, ...]:
        """The grants that hold in this session: its own, and the lasting ones of its agent and folder."""
        agent, workspace = self._state.agent.identity, self._manager.workspace
        lasting = (it for it in self._manager.lasting.grants() if it.agent == agent)
        return (*self._manager.grants, *(it for it in lasting if it.workspace in (None, workspace)))

    async def revoke(self, id: str) -> None:
        """Revoke one of `grants()`; the agent is asked about again from now on. Raises UsageError."""
        grant = next((it for it in self.grants() if it.id == id), None)
        if grant is None:
            raise UsageError(f"no grant of this session has the id {id!r}")
        if not self._manager.grants.revoke(id):
            await on_a_thread(lambda: self._manager.lasting.revoke(id))
        self._manager.grant_revoked()
        self._state.auditor.note("setting", "grant", allowed_by(grant), by="user", outcome="revoked", id=id)
        self.changed()


def word_of(policy: Policy) -> str:
    """The policy in one word: ask, allow, reject, kinds or function."""
    if isinstance(policy, str):
        return policy
    return "kinds" if isinstance(policy, Mapping) else "function"
