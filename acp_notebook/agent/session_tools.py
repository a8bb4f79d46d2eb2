"""The kernel tools of one session: listens for the agent, and switches them on and off.

Listens from before the session opens until it closes; what serves the tools (`session_service`) is imported
and created when the agent first connects. Exists only if the tools are on. Runs on the loop thread.
"""

from __future__ import annotations

import asyncio
import functools
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from ..core import events as ev
from ..core.kernel_tools.calls import SERVER
from ..core.mcp import McpServer
from ..errors import UsageError
from .agent_state import AgentState
from .kernel_tools.access import KernelAccess
from .kernel_tools.listener import Listener, Unavailable
from .permissions.permission_manager import PermissionManager
from .session_state import SessionState
from .workspace import Workspace

if TYPE_CHECKING:
    from ..core.snapshot import ToolCall
    from ..wire.mcp import ToolRequest
    from .kernel_tools.editor import Writes
    from .kernel_tools.functions import Functions
    from .kernel_tools.http import HttpListener
    from .kernel_tools.server import McpConnection, Send
    from .kernel_tools.service import KernelService
    from .kernel_tools.shared import SharedTools
    from .session_service import SessionService

NOTICE = "{agent} can look at your variables and this notebook"
NOTICE_MORE = (
    "Running code and changing cells need your permission. To switch this off: “Kernel tools” in the "
    "session's panel, tools=False in connect, or tools = false below [defaults] in your config.toml. "
    'tools={"hide": ["name"]} hides variables.'
)
SWITCHED_OFF = "{agent} can no longer use the kernel"
SWITCHED_OFF_MORE = (
    "Nothing listens for it any more, and code of its own that ran was stopped. It may still know the tools, "
    "and what it has read with them; each call is refused."
)
SWITCHED_ON = "{agent} can use the kernel again"
SWITCHED_ON_LATER = (
    "It was started while the tools were off, so it does not know them: it gets them when the session is "
    "opened again."
)
NO_TOOLS = "{agent} cannot use the kernel's tools"
HTTP_ONLY = 'It only supports tools over HTTP: tools="http" opens a port on this machine, with a token.'

_announced: set[str] = set()
"""Agents whose use of the tools this process has announced."""

_shared: WeakKeyDictionary[AgentState, SharedTools] = WeakKeyDictionary()
"""The servers of agents whose sessions share one."""


class SessionTools:
    """Serves the kernel tools to the agent of one session."""

    def __init__(
        self,
        access: KernelAccess,
        state: SessionState,
        workspace: Workspace,
        permissions: PermissionManager,
        services: Writes,
        cancel: Callable[[], None],
    ) -> None:
        """`cancel` cancels the running turn."""
        assert access.make is not None
        self._access = access
        self._state = state
        self._workspace = workspace
        self._permissions = permissions
        self._services = services
        self._cancel = cancel
        self._shared = _shared_tools(state.agent, access)
        workspace.kernel_name = _unique_name() if self._shared is None else self._shared.name
        _show_plain_name(state, workspace.kernel_name)
        self._functions: Functions | None = None
        self._forget_functions: Callable[[], None] = lambda: None
        self._service: SessionService | None = None
        self._listener: Listener | HttpListener | None = None
        self._starting = asyncio.Lock()
        self._refused = self._closed = False
        self._is_on = True
        self._is_known = False
        """The agent got the server when the session was last opened."""

    @property
    def functions(self) -> Functions:
        """The user's functions for this session; from the first use on, changes of them reach the agent."""
        if self._functions is None:
            from .kernel_tools.functions import EVERYWHERE, Functions  # import it only if needed

            self._functions = functions = Functions(EVERYWHERE)
            self._workspace.functions = functions.known
            self._permissions.word_of_function = functions.word
            post = self._state.agent.loop.post
            self._forget_functions = functions.on_change(lambda: post(self._tools_changed))
        return self._functions

    def _tools_changed(self) -> None:
        if self._shared is not None:
            self._shared.tools_changed()
        elif self._service is not None:
            self._service.tools_changed()

    def _serve(self) -> SessionService:
        """What serves the tools; created for the first connection."""
        if self._service is None:
            from .session_service import SessionService  # import it only if needed

            parts = self._state, self._workspace, self._permissions, self._services, self.functions
            self._service = SessionService(self._access, *parts, cancel=self._cancel, on_use=self._announce)
            self._service.tools.switch(self._is_on)
        return self._service

    async def servers(self) -> tuple[McpServer, ...]:
        """The MCP servers to pass to the agent when the session opens; none if it cannot use them."""
        self._is_known = False
        if not self._is_on:
            return ()
        agent = self._state.agent
        if agent.quirks.mcp_http_only and not self._access.options.http:
            self._refuse(HTTP_ONLY)
            return ()
        try:
            async with self._starting:
                listener = self._listener or await self._listen()
        except Unavailable as error:
            self._refuse(str(error))
            return ()
        if self._closed:
            self._stop_listening()
            return ()
        self._is_known = True
        return (listener.server(self._workspace.kernel_name),)

    async def switch(self, on: bool) -> None:
        """Let the agent use the tools, or stop it from using them, at once. Raises UsageError."""
        async with self._starting:
            if on == self._is_on:
                return
            # A shared server keeps listening for the other sessions; the service refuses for this one.
            own = self._listener if self._shared is None else None
            if on and own is not None:
                try:
                    await own.start()
                except Unavailable as error:
                    raise UsageError(f"the kernel's tools cannot be switched on again: {error}") from None
            self._is_on = on
            if self._service is not None:
                self._service.tools.switch(on)
            self._permissions.kernel_is_off = not on
            if not on and own is not None:
                own.pause()
        self._tools_changed()
        title, more = (
            (SWITCHED_OFF, SWITCHED_OFF_MORE)
            if not on
            else (SWITCHED_ON, None if self._is_known else SWITCHED_ON_LATER)
        )
        self._state.apply(ev.KernelToolsSwitched(on))
        self._state.apply(
            ev.NoticeGiven("info", title.format(agent=self._state.agent.name), more, source="client")
        )

    async def _listen(self) -> Listener | HttpListener:
        if self._shared is not None:
            listener = await self._shared.join(self)
        else:
            listener = _listener_kind(self._access)(self._connect)
            await listener.start()
        self._state.agent.redactor.learn([listener.token])
        self._listener = listener
        self._state.apply(ev.KernelToolsSwitched(True))
        return listener

    def _refuse(self, why: str) -> None:
        if not self._refused:
            self._refused = True
            title = NO_TOOLS.format(agent=self._state.agent.name)
            self._state.apply(ev.NoticeGiven("warning", title, why, source="client"))

    def close(self) -> None:
        """Stop running code and stop listening; a listener that is still starting closes when it is ready."""
        self._closed = True
        self._forget_functions()
        self._stop_listening()
        if self._service is not None:
            self._service.close()

    def _stop_listening(self) -> None:
        if self._shared is not None:
            self._shared.leave(self)
        elif self._listener is not None:
            self._listener.close()

    # ---- as a member of the tools that an agent's sessions share ------------------------------------

    @property
    def tools(self) -> KernelService:
        return self._serve().tools

    @property
    def is_in_turn(self) -> bool:
        return self._state.accepts_actions

    async def own_call(self, request: ToolRequest) -> ToolCall | None:
        return await self._serve().own_call(request)

    # -------------------------------------------------------------------------------------------------

    def _connect(self, send: Send) -> McpConnection:
        return self._serve().connect(send)

    def _announce(self) -> None:
        """Show once for each agent what it may do and how to switch it off."""
        name = self._state.agent.name
        if name not in _announced:
            _announced.add(name)
            self._state.apply(ev.NoticeGiven("info", NOTICE.format(agent=name), NOTICE_MORE, source="client"))


@functools.cache
def _unique_name() -> str:
    """A name that no other server can have, such as one in the agent's own settings or in a project's: we
    answer questions about our own server by its name.

    The same in all sessions of this kernel: a conversation that is forked or loaded mentions its tools.
    """
    return f"{SERVER}_{secrets.token_hex(3)}"


def _show_plain_name(state: SessionState, name: str) -> None:
    """Let the transcript have titles and names of tools without the random part."""
    rewrite = state.rewrite

    def rewritten(event: ev.ToolChanged) -> ev.ToolChanged:
        event = rewrite(event)
        if event.title is ev.UNSET and event.name is ev.UNSET:
            return event
        texts = {"title": event.title, "name": event.name}
        plain = {
            key: it.replace(name, SERVER) for key, it in texts.items() if isinstance(it, str) and name in it
        }
        return replace(event, **plain) if plain else event

    state.rewrite = rewritten


def _listener_kind(access: KernelAccess) -> type[Listener] | type[HttpListener]:
    if not access.options.http:
        return Listener
    from .kernel_tools.http import HttpListener  # import it only if needed

    return HttpListener


def _shared_tools(agent: AgentState, access: KernelAccess) -> SharedTools | None:
    """The server that all sessions of the agent share; None if each has its own."""
    if not agent.quirks.servers_by_name:
        return None
    if agent not in _shared:
        from .kernel_tools.shared import SharedTools  # import it only if needed

        _shared[agent] = SharedTools(_unique_name(), _listener_kind(access))
    return _shared[agent]
