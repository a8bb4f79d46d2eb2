"""The kernel tools for an agent: an MCP server in this process, and the transports to reach it.

Knows no Jupyter: `core.kernel_tools.interface.KernelTools` is the interface to the kernel.
"""
