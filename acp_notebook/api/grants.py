"""session.grants: what the agent of a session may do without asking.

Has no state: it is in `agent.permissions`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..agent.conversation import Conversation
from ..core.grants import Grant, allowed_by, holds_for
from ..core.tables import html_table, text_table

HEAD = ("id", "allows", "holds", "since")


class Grants:
    """The grants that hold in a session. Every access reads them again."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def __iter__(self) -> Iterator[Grant]:
        return iter(self._conversation.permission_settings.grants())

    def __len__(self) -> int:
        return len(self._conversation.permission_settings.grants())

    def __bool__(self) -> bool:
        return len(self) > 0

    def revoke(self, id: str | Grant) -> None:
        """Revoke a grant: from now on the agent has to ask again. A permanent one is revoked for good."""
        name = id.id if isinstance(id, Grant) else id
        self._conversation.agent.loop.call(self._conversation.permission_settings.revoke(name))

    def __repr__(self) -> str:
        return text_table(HEAD, self._rows()) if self else "<grants: none>"

    def _repr_html_(self) -> str:
        return html_table(HEAD, self._rows()) if self else "<p>grants: none</p>"

    def _rows(self) -> list[tuple[str, ...]]:
        clean = self._conversation.agent.redactor.text
        return [(it.id, clean(allowed_by(it)), holds_for(it), it.created) for it in self]
