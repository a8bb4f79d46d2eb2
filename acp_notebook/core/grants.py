"""Grants: what the user has allowed beyond one action, and which actions a grant covers.

Pure: `agent.permissions` provides ids, times and files. In doubt a grant does not cover an action, and the
user is asked:
- a command is covered only with the same line, folder and environment; a grant for a prefix of a command
  does not exist;
- a path is covered by a folder above it, by whole components, and only if it is resolved;
- a folder's grant excludes files that control other programs (`GUARDED`); a grant for the file itself
  does not;
- deleting and moving are covered only for a path that the grant names;
- code in the kernel is covered by a grant for all code, which ends with the session;
- a function of the user's is covered by a grant for that very function, which ends with the session;
- the tool of an MCP server is never covered: what its input looks like is not what the tool does;
- a call with further input, such as a flag that turns a sandbox off, is never covered.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct

from .actions import ANNOTATIONS, PATH_KINDS, RUNS, Action, CallFunction, Command, Details, real_path
from .kernel_tools.calls import is_foreign_tool
from .records import Json, build
from .shell import is_line
from .visible import shown

Scope = Literal["once", "session", "workspace", "always"]
SCOPES: tuple[str, ...] = get_args(Scope)

CODE = "code"
"""The kind of a grant for all code in the kernel. It is never stored."""

FUNCTION = "function"
"""The kind of a grant for one of the user's functions. It is never stored."""

KINDS = (*PATH_KINDS, "execute", CODE, FUNCTION)
"""What can be granted. Other kinds (fetch, other, …) name nothing that would bound a grant."""

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
"""Hooks, start-up files and agents' settings, in lower case: files that other programs execute or obey."""

GUARDED_SUFFIXES = (".pth", ".desktop", ".service")


LONGEST_COMMAND = 300
"""There is no offer to remember a longer command: nobody reads it to the end."""

NAME_CHARS = 48
"""How much of a name fits on a button."""


class Grant(Struct, frozen=True, kw_only=True):
    """A permission that lasts beyond one action.

    `path`: a file, or a folder with everything below it; None: the session's folders. For a command, `path`
    is the folder that it runs in; None: any.
    """

    id: str
    agent: str
    kind: str
    scope: Scope
    workspace: str | None = None
    """The session's folder; None with scope "always": any."""
    path: str | None = None
    command: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    """The command's environment; grants of older versions have none, and match none."""
    function: str | None = None
    """The identity of the function."""
    created: str = ""


class Offer(Struct, frozen=True, kw_only=True):
    """An answer that we add to a question: allow, and remember it."""

    id: str
    name: str
    scope: Scope
    kind: str
    path: str | None = None
    command: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    function: str | None = None

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
            function=self.function,
            created=created,
        )


# ---- which actions a grant covers -----------------------------------------------------------------


def to_cover(actions: Iterable[Action]) -> tuple[Action, ...]:
    """The actions that grants must cover to answer a question; none if no grant can answer it."""
    every = tuple(actions)
    if any(is_foreign_tool(it) or (isinstance(it, Details) and it.matters) for it in every):
        return ()
    return tuple(action for action in every if not isinstance(action, ANNOTATIONS))


def matches(grant: Grant, agent: str, workspace: str, action: Action, roots: Iterable[str] = ()) -> bool:
    """Whether the grant allows the action in a session of this agent in this folder.

    `roots`: the session's other folders. All paths are real paths.
    """
    if problem(grant) is not None or grant.scope == "once":
        return False
    if grant.agent != agent or grant.kind != _granted_kind(action):
        return False
    if grant.scope != "always" and grant.workspace != workspace:
        return False
    if grant.kind == CODE:
        return grant.scope == "session"
    if isinstance(action, CallFunction):
        return grant.scope == "session" and bool(action.identity) and grant.function == action.identity
    if isinstance(action, Command) or grant.kind == "execute":
        return isinstance(action, Command) and _is_command(grant, action)
    folders = (workspace, *roots) if grant.path is None else (grant.path,)
    return any(reaches(folder, real_path(action)) for folder in folders)


def _granted_kind(action: Action) -> str:
    if isinstance(action, CallFunction):
        return FUNCTION
    return CODE if isinstance(action, RUNS) else action.kind


def _is_command(grant: Grant, action: Command) -> bool:
    same = (grant.command, grant.env) == (action.line, action.env)
    return same and grant.path in (None, action.cwd)


def reaches(folder: str, path: str | None) -> bool:
    """Whether a grant for the folder covers this file."""
    if path is None or not is_resolved(path) or not is_resolved(folder) or not inside(folder, path):
        return False
    below = path[len(folder) :].casefold().split("/")
    return GUARDED.isdisjoint(below) and not below[-1].endswith(GUARDED_SUFFIXES)


def inside(folder: str, path: str) -> bool:
    """Whether the path is the folder or below it, by whole components: /a/b-c is not inside /a/b."""
    return path == folder or path.startswith(folder if folder == "/" else f"{folder}/")


def is_resolved(path: str) -> bool:
    """Whether the path is absolute and normalised. Symlinks cannot be detected here."""
    return (
        path.startswith("/")
        and not path.startswith("//")
        and "\0" not in path
        and posixpath.normpath(path) == path
    )


# ---- validation -----------------------------------------------------------------------------------


def problem(grant: Grant) -> str | None:
    """Why the grant is invalid, or None."""
    if grant.kind not in KINDS:
        return f"kind is {grant.kind!r}; it may be {', '.join(KINDS)}"
    if grant.scope not in SCOPES:
        return f"scope is {grant.scope!r}; it may be {', '.join(SCOPES)}"
    if not grant.id or not grant.agent:
        return "id and agent must be given"
    if (grant.workspace is None) != (grant.scope == "always"):
        return "workspace must be given, except with the scope always"
    for name, path in (("workspace", grant.workspace), ("path", grant.path)):
        if path is not None and not is_resolved(path):
            return f"{name} is {path!r}; it must be absolute, without . and .."
    if grant.kind == CODE and grant.scope != "session":
        return "code in the kernel can be granted for a session only"
    if grant.kind == FUNCTION and (grant.scope != "session" or not grant.function):
        return "a function can be granted for a session only"
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


build(Grant)


def grant_from_plain(value: Json) -> Grant:
    """Read a grant from JSON, ignoring unknown fields; raises ValueError that says what is wrong."""
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


# ---- for people ---------------------------------------------------------------------------------

_VERBS = {"read": "Read", "edit": "Edit", "delete": "Delete", "move": "Move", "search": "Search"}


def allowed_by(grant: Grant) -> str:
    """What exactly the grant allows."""
    if grant.kind == CODE:
        return "Run any code in the kernel"
    if grant.kind == FUNCTION:
        return "Call one of your functions"
    if grant.command is not None:
        where = f" in {grant.path}" if grant.path is not None else ""
        with_env = f" with {', '.join(name for name, _ in grant.env)} set" if grant.env else ""
        return f"Run {grant.command}{where}{with_env}"
    return f"{_VERBS.get(grant.kind, grant.kind)} files in {grant.path or 'the folders of the session'}"


def holds_for(grant: Grant) -> str:
    """For how long, and in which sessions, the grant holds."""
    if grant.scope == "session":
        return "until this session ends"
    return "always, in every folder" if grant.workspace is None else f"always, in {grant.workspace}"


# ---- what a question offers ---------------------------------------------------------------------


def offers(
    *actions: Action, cwd: str, roots: Iterable[str] = (), taken: Collection[str] = ()
) -> tuple[Offer, ...]:
    """The grants to offer with a question: only those that would have allowed all of its actions.

    `cwd` is the session's folder, resolved. `taken`: the ids of the agent's own options, which must not
    be reused.
    """
    counted = to_cover(actions)
    kinds = {action.kind for action in counted}
    made: tuple[Offer, ...] = ()
    if kinds == {"edit"}:
        made = _edit_offers(cwd)
    elif len(counted) == 1 and isinstance(counted[0], Command):
        made = _command_offers(counted[0])
    elif counted and all(isinstance(action, RUNS) for action in counted):
        made = (Offer(id="acp:session", name="Allow all code in this session", scope="session", kind=CODE),)
    elif len(counted) == 1 and isinstance(counted[0], CallFunction):
        name = f"Allow {shown(counted[0].name, chars=NAME_CHARS)} in this session"
        made = (
            Offer(
                id="acp:session",
                name=name,
                scope="session",
                kind=FUNCTION,
                function=counted[0].identity or None,
            ),
        )
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
    """Named without the command, which the question shows in full."""
    if len(action.text) > LONGEST_COMMAND:
        return ()
    session = Offer(
        id="acp:session",
        name="Allow this command in this session",
        scope="session",
        kind="execute",
        path=action.cwd,
        command=action.line,
        env=action.env,
    )
    always = f"Always allow this command in {_folder_name(action.cwd)}"
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
