"""Who answers the questions of a run: acts inside its copy of the folder are allowed, all others rejected.

Pure: paths are the real ones that the actions name. Nobody is asked. What an agent does with its own tools
without asking is not seen here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..actions import Action, Command, Details, FileAccess, NotebookWrite, Other, Write, real_paths
from ..policy import TOOL_KINDS, PermissionRequest, PolicyFunction

IN_COPY = "allow-in-copy"

RunPermissions = str | Mapping[str, str]

HARMLESS = frozenset({"read", "search", "think", "switch_mode"})
"""Kinds of calls that may name no file: they change nothing."""


def checked_permissions(given: object) -> RunPermissions:
    """Return the permissions of runs if they are valid; raises ValueError that says what is."""
    if isinstance(given, str) and given in (IN_COPY, "allow", "reject"):
        return given
    if isinstance(given, Mapping):
        strange = {kind: word for kind, word in given.items() if kind not in TOOL_KINDS}
        if not strange and all(word in (IN_COPY, "allow", "reject") for word in given.values()):
            return {str(kind): str(word) for kind, word in given.items()}
    raise ValueError(
        f'permissions is {given!r}; for runs, it can be "{IN_COPY}", "allow", "reject", or a mapping from '
        "tool kinds to these: nobody is asked, and functions cannot be sent to workers"
    )


def policy_of_run(permissions: RunPermissions, top: str, shared: Sequence[str] = ()) -> PolicyFunction:
    """The policy of a run whose copy is the folder `top`. `shared` may be read, and nothing else."""

    def policy(request: PermissionRequest) -> str:
        if isinstance(permissions, str):
            words = {permissions}
        else:
            words = {permissions.get(kind, IN_COPY) for kind in request.kinds}
        if "reject" in words:
            return "reject"
        return "allow" if IN_COPY not in words or is_in_copy(request, top, shared) else "reject"

    return policy


def is_in_copy(request: PermissionRequest, top: str, shared: Sequence[str] = ()) -> bool:
    """Whether all that a call would do is known to be inside the copy."""
    if not all(_is_inside(it, top, shared) for it in request.actions):
        return False
    named = [path for it in request.actions for path in real_paths(it)]
    return bool(named) or all(kind in HARMLESS for kind in request.kinds)


def _is_inside(action: Action, top: str, shared: Sequence[str]) -> bool:
    match action:
        case FileAccess(kind="read"):
            return all(inside(top, it) or any(inside(one, it) for one in shared) for it in real_paths(action))
        case Command() | Write() | NotebookWrite() | FileAccess():
            return all(inside(top, it) for it in real_paths(action))
        case Other() | Details():
            return all(inside(top, it) for it in action.paths)
    return False  # the web, an MCP server, the kernel


def inside(folder: str, path: str) -> bool:
    """Whether the path is the folder or below it. Relative and unresolved paths are not."""
    parts = path.split("/")
    if not path.startswith("/") or ".." in parts or "." in parts:
        return False
    return path == folder or path.startswith(folder.rstrip("/") + "/")
