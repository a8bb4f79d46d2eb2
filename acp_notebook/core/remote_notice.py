"""What the user is told about a session with an agent on another machine. Pure."""

from __future__ import annotations

from collections.abc import Sequence

TITLE = "This agent runs on another machine"


def remote_notice(cwd: str, left_out: Sequence[str], *, shares_files: bool) -> str:
    """What is different. `left_out`: the user's MCP servers that the agent does not get."""
    if shares_files:
        files = f"You say that it shares {cwd} with this one: files, links and undo work as usual."
    else:
        files = (
            f"It works in {cwd} there, with its own files and commands: paths are not links, and its changes "
            "cannot be undone here. Files that you attach are sent as content."
        )
    servers = ""
    if left_out:
        named = ", ".join(left_out)
        servers = (
            f" It does not get the MCP server{'s' * (len(left_out) > 1)} {named}: commands of this machine."
        )
    return f"{files} It cannot use this kernel.{servers}"
