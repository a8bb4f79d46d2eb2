"""Grants: what the user has allowed beyond one action, and which actions a grant reaches.

Pure: ids, times and files are others' business (`agent.permissions`). Whatever is in doubt is not
reached, and then the user is asked:
- a command is reached by the same line in the same folder with the same environment only; there are no
  prefixes of commands;
- a path is reached by its folder on whole components, and only if it comes resolved;
- a folder's grant stops before what decides over other programs (`GUARDED`); a file's own does not;
- deleting and moving are reached only where their path was named.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct

from .actions import BESIDE, PATH_KINDS, Action, Command, real_path
from .records import Json
from .shell import is_line
from .visible import shown

Scope = Literal["once", "session", "workspace", "always"]
SCOPES: tuple[str, ...] = get_args(Scope)

KINDS = (*PATH_KINDS, "execute")
"""What can be granted. All else (fetch, other, …) names nothing that a grant could be held to."""

GUARDED = frozenset(
    {
        *(".git", ".hg", ".svn", ".jj", ".gitmodules", ".gitconfig", ".hgrc", ".husky", ".githooks"),
        *(".github", ".gitlab-ci.yml", ".circleci", ".devcontainer", ".devcontainer.json"),
        *(".pre-commit-config.yaml", ".pre-commit-hooks.yaml", "lefthook.yml", ".lefthook.yml"),
        *(
            ".envrc",
            ".env",
            ".mise.toml",
            "mise.toml",
            ".vscode",
            ".idea",
            ".zed",
            ".vimrc",
            ".nvimrc",
            ".exrc",
        ),
        *(".emacs", ".emacs.d", ".dir-locals.el", ".jupyter", ".ipython", ".ssh", ".config", ".local"),
        *(".netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pypirc", ".condarc"),
        *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".inputrc"),
        *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".rprofile", ".renviron", ".gdbinit", ".lldbinit"),
        *("sitecustomize.py", "usercustomize.py", ".acp_notebook.toml", ".mcp.json"),
        *(".claude", ".codex", ".cursor", ".gemini", ".kimi", ".kimi-code", ".continue", ".qwen"),
        *(".opencode", ".goose", ".cline", ".clinerules", ".kilocode", ".aider.conf.yml", ".fast-agent"),
    }
)
"""Hooks, start-up files, agents' own settings, in lower case: code that other programs run by themselves."""

GUARDED_SUFFIXES = (".pth", ".desktop", ".service")


LONGEST_COMMAND = 300
"""A longer command is not offered to be remembered: nobody has read it to its end."""

NAME_CHARS = 48
"""What a button holds."""


class Grant(Struct, frozen=True, kw_only=True):
    """One thing that stays allowed. `path`: a file, or a folder with all below it; None: the session's
    folders. Of a command, `path` is the folder that it runs in; None: any."""

    id: str
    agent: str
    kind: str
    scope: Scope
    workspace: str | None = None
    """The session's folder; None with scope "always": any."""
    path: str | None = None
    command: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    """The environment that the command had; grants of older versions have none, and match none."""
    created: str = ""


class Offer(Struct, frozen=True, kw_only=True):
    """An answer that we add to a question: allow this, and remember it."""

    id: str
    name: str
    scope: Scope
    kind: str
    path: str | None = None
    command: str | None = None
    env: tuple[tuple[str, str], ...] = ()

    def grant(self, *, id: str, agent: str, workspace: str, created: str = "") -> Grant:
        return Grant(
            id=id,
            agent=agent,
            kind=self.kind,
            scope=self.scope,
            workspace=None if self.scope == "always" else workspace,
            path=self.path,
            command=self.command,
            env=self.env,
            created=created,
        )


# ---- which actions a grant reaches ----------------------------------------------------------------


def matches(grant: Grant, agent: str, workspace: str, action: Action, roots: Iterable[str] = ()) -> bool:
    """Whether the action is allowed by the grant, in a session of this agent in this folder.

    `roots`: the session's other folders; all paths are real.
    """
    if problem(grant) is not None or grant.scope == "once":
        return False
    if grant.agent != agent or grant.kind != action.kind:
        return False
    if grant.scope != "always" and grant.workspace != workspace:
        return False
    if isinstance(action, Command) or grant.kind == "execute":
        return isinstance(action, Command) and _is_command(grant, action)
    folders = (workspace, *roots) if grant.path is None else (grant.path,)
    return any(reaches(folder, real_path(action)) for folder in folders)


def _is_command(grant: Grant, action: Command) -> bool:
    same = (grant.command, grant.env) == (action.line, action.env)
    return same and grant.path in (None, action.cwd)


def reaches(folder: str, path: str | None) -> bool:
    """Whether a grant for the folder holds for this file in it."""
    if path is None or not is_resolved(path) or not is_resolved(folder) or not inside(folder, path):
        return False
    below = path[len(folder) :].casefold().split("/")
    return GUARDED.isdisjoint(below) and not below[-1].endswith(GUARDED_SUFFIXES)


def inside(folder: str, path: str) -> bool:
    """The path is the folder or below it: by whole components, so /a/b is not inside /a/b-c."""
    return path == folder or path.startswith(folder if folder == "/" else f"{folder}/")


def is_resolved(path: str) -> bool:
    """Absolute, and nothing in it that could still lead elsewhere (but a symlink: that is not seen here)."""
    return (
        path.startswith("/")
        and not path.startswith("//")
        and "\0" not in path
        and posixpath.normpath(path) == path
    )


# ---- what is a grant ------------------------------------------------------------------------------


def problem(grant: Grant) -> str | None:
    """What is wrong with a grant; None: nothing."""
    if grant.kind not in KINDS:
        return f"kind is {grant.kind!r}; it may be {', '.join(KINDS)}"
    if grant.scope not in SCOPES:
        return f"scope is {grant.scope!r}; it may be {', '.join(SCOPES)}"
    if not grant.id or not grant.agent:
        return "id and agent must be given"
    if (grant.workspace is None) != (grant.scope == "always"):
        return "workspace must be given, but for the scope always"
    for name, path in (("workspace", grant.workspace), ("path", grant.path)):
        if path is not None and not is_resolved(path):
            return f"{name} is {path!r}; it must be absolute, without . and .."
    if grant.kind == "execute":
        return _command_problem(grant.command)
    if grant.command is not None:
        return "a command goes with the kind execute only"
    if grant.kind in ("delete", "move") and grant.path is None:
        return f"the kind {grant.kind} needs a path"
    return None


def _command_problem(command: str | None) -> str | None:
    if command is None or not is_line(command):
        return "the kind execute needs a command: the whole line, exactly"
    return None


def grant_from_plain(value: Json) -> Grant:
    """A grant of its JSON form; raises ValueError that says what is wrong. Unknown fields are ignored."""
    if not isinstance(value, Mapping):
        raise ValueError("not an object")
    try:
        grant = msgspec.convert(value, Grant)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    if (wrong := problem(grant)) is not None:
        raise ValueError(wrong)
    return grant


def grant_to_plain(grant: Grant) -> dict[str, Any]:
    fields = msgspec.structs.asdict(grant)
    return {name: value for name, value in fields.items() if value is not None and value != ()}


# ---- what a question offers ---------------------------------------------------------------------


def offers(
    *actions: Action, cwd: str, roots: Iterable[str] = (), taken: Collection[str] = ()
) -> tuple[Offer, ...]:
    """What can be remembered of what a question is about; only what would have allowed all of it.

    `cwd` is the session's folder, resolved. `taken`: the ids of the agent's own options, which ours
    must differ from.
    """
    counted = [action for action in actions if not isinstance(action, BESIDE)]
    kinds = {action.kind for action in counted}
    made: tuple[Offer, ...] = ()
    if kinds == {"edit"}:
        made = _edit_offers(cwd)
    elif len(counted) == 1 and isinstance(counted[0], Command):
        made = _command_offers(counted[0])
    folders = tuple(roots)
    return tuple(
        msgspec.structs.replace(offer, id=_free(offer.id, taken))
        for offer in made
        if all(_would_allow(offer, action, cwd, folders) for action in counted)
    )


def _edit_offers(cwd: str) -> tuple[Offer, ...]:
    return (
        Offer(id="acp:session", name="Allow all edits in this session", scope="session", kind="edit"),
        Offer(
            id="acp:workspace",
            name=f"Always allow edits in {_folder_name(cwd)}",
            scope="workspace",
            kind="edit",
            path=cwd,
        ),
    )


def _command_offers(action: Command) -> tuple[Offer, ...]:
    if len(action.text) > LONGEST_COMMAND:
        return ()
    name, where = shown(action.text, chars=NAME_CHARS), _folder_name(action.cwd)
    session = Offer(
        id="acp:session",
        name=f"Allow {name} in this session",
        scope="session",
        kind="execute",
        path=action.cwd,
        command=action.line,
        env=action.env,
    )
    always = f"Always allow {name} in {where}"
    lasting = msgspec.structs.replace(session, id="acp:workspace", name=always, scope="workspace")
    return session, lasting


def _would_allow(offer: Offer, action: Action, cwd: str, roots: tuple[str, ...]) -> bool:
    grant = offer.grant(id="-", agent="-", workspace=cwd)
    return matches(grant, "-", cwd, action, roots)


def _folder_name(folder: str) -> str:
    return shown(posixpath.basename(folder) or folder, chars=NAME_CHARS)


def _free(id: str, taken: Collection[str]) -> str:
    while id in taken:
        id += "+"
    return id
