"""What an agent's tools may see and run in the kernel: variables, code, cells.

Knows no agent, no MCP and no permission.
"""

from .tools import LocalKernelTools as make

__all__ = ["make"]
