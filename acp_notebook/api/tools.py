"""session.tools: the tools of the kernel that the agent of a session may use.

Has no state: it is in `agent.session_tools` and in the transcript.
"""

from __future__ import annotations

from ..agent.conversation import Conversation
from ..errors import UsageError


class Tools:
    """The kernel's tools of one session; see `tools` of `connect`."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    @property
    def enabled(self) -> bool:
        """Whether the agent may use them. Set it to False to take them away at once, like "Kernel tools" in
        the panel: code of the agent's that runs is stopped, and each call is refused until you set it to
        True again. A session opened without tools cannot get them: setting it to True raises
        `acp.UsageError`."""
        state = self._conversation.state
        return not state.closed and state.read(lambda transcript: transcript.snapshot()).kernel_tools is True

    @enabled.setter
    def enabled(self, on: bool) -> None:
        if not isinstance(on, bool):
            raise UsageError(f"session.tools.enabled is True or False, not {on!r}")
        if on or self.enabled:
            self._conversation.agent.loop.call(self._conversation.switch_tools(on))

    def __repr__(self) -> str:
        return f"<kernel tools: {'on' if self.enabled else 'off'}>"
