"""The `tools` argument of connect: whether and how the sessions of an agent reach this kernel.

Connects the agent's side and the kernel's side, which do not know each other. Imports them only when a
session needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from ..agent import loop
from ..agent.kernel_tools.access import Documents, KernelAccess
from ..agent.threads import on_a_thread
from ..agent.transport import LOCAL, Reach
from ..core.kernel_tools.interface import KernelTools
from ..core.kernel_tools.options import ToolOptions, read_options
from ..errors import UsageError
from ..notebook import notebook_path
from ..notebook.runtime import where

GivenTools = bool | Literal["http"] | Mapping[str, Any] | None
"""None: as in the settings; without a setting, on in a notebook with a page."""


def checked_tools(given: GivenTools) -> GivenTools:
    try:
        read_options(given)
    except ValueError as error:
        raise UsageError(str(error)) from None
    return given


def kernel_access(
    given: GivenTools, setting: ToolOptions | None, *, is_recorded: bool = False, reach: Reach = LOCAL
) -> KernelAccess:
    """Decide whether the tools are on. Call it on the thread of `connect`, which knows if there is a page."""
    here = where()
    if is_recorded:
        return KernelAccess(is_recorded=True)
    if not reach.is_ours:
        if given not in (None, False):
            raise UsageError("tools= lets an agent on this machine use the kernel; a remote agent cannot")
        return KernelAccess()
    default = setting or ToolOptions(on=here.kernel and here.headless is not True)
    return KernelAccess(read_options(given, default), _make, notebook_path.started_paths)


def _make(hide: Sequence[str], documents: Documents, stopped: Callable[[], None]) -> KernelTools:
    """Create the tools. Runs on the loop thread."""
    from ..notebook import kernel_tools  # import it only if needed

    tools = kernel_tools.make(loop.LoopHandle().post, on_a_thread, _Pages(documents), hide)  # type: ignore[arg-type]
    tools.on_user_stop = stopped
    return tools


class _Pages:
    """Looks up the open documents at each access: a session's panel is created after its tools, or never."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    async def newest(self) -> Any:
        documents: Any = self._documents()
        return None if documents is None else await documents.newest()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._documents(), name)
