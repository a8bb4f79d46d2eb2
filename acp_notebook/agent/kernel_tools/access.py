"""How the sessions of an agent reach the kernel. The layer that knows Jupyter provides it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from ...core.document_protocol import OpenNotebooks
from ...core.kernel_tools.interface import KernelTools
from ...core.kernel_tools.options import OFF, ToolOptions

Documents = Callable[[], OpenNotebooks | None]


class KernelAccess(Struct, frozen=True):
    """The tool options, and the function that creates the kernel's side of the tools."""

    options: ToolOptions = OFF
    make: Callable[[Sequence[str], Documents, Callable[[], None]], KernelTools] | None = None
    """Creates the tools, given the variables to hide, the open documents, and a function to call when the
    user stops the agent's code."""
    notebook_files: Callable[[], Sequence[str]] = tuple
    """The files that may be the kernel's notebook, if no page identifies it. Blocks."""

    is_recorded: bool = False
    """The agent is a recording, which has the results of its calls: functions can be registered, and are
    never called."""

    @property
    def on(self) -> bool:
        return self.options.on and self.make is not None
