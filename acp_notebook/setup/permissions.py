"""permissions(): lists, adds and revokes permanent grants.

Reads the file of grants only; a grant for one session ends with the session.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from ..agent.known_agents.catalog import resolve
from ..agent.permissions.grant_store import GrantStore
from ..core.grants import Grant, Offer
from ..core.tables import html_table, text_table
from ..errors import AgentNotFound, UsageError
from .config import own_settings

HEAD = ("id", "agent", "kind", "allowed", "where", "scope", "since")


class Permissions:
    """The permanent grants. Every access reads the file."""

    def __init__(self, store: GrantStore | None = None) -> None:
        self._store = store if store is not None else GrantStore()

    @property
    def path(self) -> Path:
        """The file that stores the grants."""
        return self._store.path

    @property
    def warning(self) -> str | None:
        """Why the file, or a part of it, is ignored."""
        return self._store.warning

    def __iter__(self) -> Iterator[Grant]:
        return iter(self._store.grants())

    def __len__(self) -> int:
        return len(self._store.grants())

    def __bool__(self) -> bool:
        return len(self) > 0

    def __contains__(self, id: object) -> bool:
        return any(grant.id == id or grant == id for grant in self)

    def __getitem__(self, id: str) -> Grant:
        found = next((grant for grant in self if grant.id == id), None)
        if found is None:
            raise UsageError(f"no permission has the id {id!r}; {self._ids()}")
        return found

    def add(
        self,
        *,
        kind: str,
        agent: str,
        workspace: str | os.PathLike[str] | None = None,
        path: str | os.PathLike[str] | None = None,
        command: str | None = None,
        scope: Literal["workspace", "always"] = "workspace",
    ) -> Grant:
        """Add a permanent grant without waiting for a question.

        `agent`: as for `connect`; the grant is bound to the agent's full command, not to its name.
        `workspace`: the grant applies to sessions in this folder, by default the current one (with scope
        "always", to all sessions). `path`: a file, or a folder and everything below it; by default the
        workspace. `command`: this exact command line, in `path` or the workspace.
        """
        if scope == "always" and workspace is not None:
            raise UsageError('scope "always" applies to every workspace: omit workspace=')
        if scope == "always" and path is None:
            raise UsageError('scope "always" needs path=, the folder or file that it applies to')
        home = _resolve_path(workspace if workspace is not None else ".", "workspace")
        where = home if path is None else _resolve_path(path, "path")
        if where == "/" and kind != "execute":
            raise UsageError(f'path="/" would allow every {kind} on this machine; name a folder')
        if path is None and kind in ("delete", "move"):
            raise UsageError(f"kind {kind!r} needs path=, the folder or file that it applies to")
        for name, value in (("kind", kind), ("agent", agent), ("command", command or "-")):
            if not isinstance(value, str) or not value:
                raise UsageError(f"{name} must be a non-empty string, not {value!r}")
        offer = Offer(id="", name="", scope=scope, kind=kind, path=where, command=command)
        return self._store.add(offer, agent=_identity(agent), workspace=home)

    def revoke(self, id: str | Grant) -> None:
        """Revoke one grant. Running sessions ask again from now on, in other kernels too."""
        name = id.id if isinstance(id, Grant) else id
        if not self._store.revoke(name):
            raise UsageError(f"no permission has the id {name!r}; {self._ids()}")

    def revoke_all(self) -> int:
        """Revoke all grants, for every agent and workspace. Returns how many there were."""
        return self._store.revoke_all()

    def __repr__(self) -> str:
        grants, warning = self._store.grants(), self.warning
        table = text_table(HEAD, map(_row, grants)) if grants else "<permissions: none>"
        return f"{table}\n! {warning}" if warning else table

    def _repr_html_(self) -> str:
        from html import escape

        from ..core.visible import shown

        grants, warning = self._store.grants(), self.warning
        table = html_table(HEAD, map(_row, grants)) if grants else "<p>permissions: none</p>"
        return table + (f"<p>⚠ {escape(shown(warning, chars=500))}</p>" if warning else "")

    def _ids(self) -> str:
        ids = [grant.id for grant in self]
        return f"there are {', '.join(ids[:10])}" if ids else "there are none"


def _identity(agent: str) -> str:
    try:
        own = own_settings().agents
        return resolve(agent, os.environ.get("PATH"), own=own, install=True).identity
    except AgentNotFound:
        return agent  # not installed: the grant matches no installed agent


def permissions() -> Permissions:
    """A table of what agents may do without asking, in every session, with `.revoke(id)`."""
    return Permissions()


def _row(grant: Grant) -> tuple[str, ...]:
    allowed = (
        grant.command if grant.command is not None else grant.path or "everything in the session's folders"
    )
    where = grant.path if grant.command is not None else grant.workspace
    return (grant.id, grant.agent, grant.kind, allowed, where or "anywhere", grant.scope, grant.created)


def _resolve_path(path: str | os.PathLike[str], name: str) -> str:
    try:
        return os.path.realpath(os.path.expanduser(os.fspath(path)))
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"{name} is {path!r}, which is not a path: {error}") from None
