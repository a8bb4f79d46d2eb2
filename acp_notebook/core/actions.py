"""Actions: what a permission request or a client request would do, described once.

Pure: files, folders and the environment come in as arguments. The card in the page, the static forms,
`input()`, policies, grants, coverage and the audit all use these descriptions, so that what is shown is what
is judged and what is done.

An allow covers the actions that its question described, each of them once:
- a command: the same line, in the same folder, with the same environment;
- a write: the same real path, and the text that was shown: the whole of it in place of the text that was
  shown as the old one, or what the shown edits make of the file as it is now;
- a notebook write: the same cells and the same metadata.
An action that names a file without its content, or that we cannot read, covers nothing of ours: the agent
has its answer, and when it asks us to act, we ask with the action in sight.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from msgspec import Struct

from .records import Json
from .shell import Resolve, line_of, without_cd

PATH_KINDS = ("read", "edit", "delete", "move")


class Command(Struct, frozen=True):
    """A command to run. `env` holds the variables that count (`judged_env`), sorted by name."""

    line: str
    cwd: str
    """The real path of the folder that it runs in."""
    env: tuple[tuple[str, str], ...] = ()
    elsewhere: bool = False
    """It runs in another folder than the session's."""
    type: ClassVar[str] = "command"
    kind: ClassVar[str] = "execute"

    @property
    def text(self) -> str:
        """One line for people and the audit, environment included."""
        return " ".join((*(f"{name}={value}" for name, value in self.env), self.line))


class Edit(Struct, frozen=True):
    """A replacement inside a file: once, or `everywhere`."""

    old_text: str
    new_text: str
    everywhere: bool = False


class Write(Struct, frozen=True):
    """A text to put into a file. `target` is the real path, where a link leads to another one than `path`."""

    path: str
    target: str | None = None
    old_text: str | None = None
    """The text that is there; None: there is no file."""
    new_text: str | None = None
    """The text that would be there."""
    edits: tuple[Edit, ...] = ()
    """What makes the one out of the other, where the agent showed edits."""
    covers: bool = True
    """False: what the agent shows does not fit the file, so that we ask again before we write."""
    note: str | None = None
    type: ClassVar[str] = "write"
    kind: ClassVar[str] = "edit"

    @property
    def text(self) -> str:
        return _path_text(self.path, self.target)


def _path_text(path: str, target: str | None) -> str:
    return path if target is None else f"{path} → {target}"


class MetadataChange(Struct, frozen=True):
    """One metadata entry that a notebook write changes: `where` is "notebook" or a cell."""

    where: str
    name: str
    before: str | None = None
    after: str | None = None


class NotebookWrite(Struct, frozen=True):
    """What a write does to a notebook: its cells as scripts, before and after, and its metadata."""

    path: str
    target: str | None = None
    old_text: str | None = None
    new_text: str | None = None
    metadata: tuple[MetadataChange, ...] = ()
    note: str | None = None
    type: ClassVar[str] = "notebook"
    kind: ClassVar[str] = "edit"

    @property
    def text(self) -> str:
        return _path_text(self.path, self.target)


class FileAccess(Struct, frozen=True):
    """A file that a call reads, edits, deletes or moves, where it shows no more than the path."""

    kind: str
    path: str
    target: str | None = None

    @property
    def type(self) -> str:
        return self.kind

    @property
    def text(self) -> str:
        return _path_text(self.path, self.target)


class Fetch(Struct, frozen=True):
    url: str
    type: ClassVar[str] = "fetch"
    kind: ClassVar[str] = "fetch"

    @property
    def text(self) -> str:
        return self.url


class Other(Struct, frozen=True):
    """A call that is none of the above, with its input as JSON text. `paths`: the real files it names."""

    kind: str
    input: str | None = None
    paths: tuple[str, ...] = ()
    type: ClassVar[str] = "other"

    @property
    def text(self) -> str:
        return ", ".join(self.paths)


class Details(Struct, frozen=True):
    """Input of a call beyond the actions that were read from it; none once its question is settled."""

    input: str = ""
    type: ClassVar[str] = "details"
    kind: ClassVar[str] = ""
    text: ClassVar[str] = ""


class McpCall(Struct, frozen=True):
    """Which tool of which MCP server a call uses, beside the actions that its input describes.

    `sure`: the agent says so where it names its tools, not in a text that a model or a server words.
    """

    server: str
    tool: str
    sure: bool = False
    type: ClassVar[str] = "mcp"
    kind: ClassVar[str] = ""

    @property
    def text(self) -> str:
        return f"{self.server}/{self.tool}"


Action = Command | Write | NotebookWrite | FileAccess | Fetch | Other | Details | McpCall

BESIDE = (Details, McpCall)
"""What says more about a call, and is nothing that is done."""

_TYPES: dict[str, Any] = {
    it.type: it for it in (Command, Write, NotebookWrite, Fetch, Other, Details, McpCall)
}


def real_path(action: Action) -> str | None:
    """The real path of the file; of a command, its folder."""
    match action:
        case Write() | NotebookWrite() | FileAccess():
            return action.target or action.path
        case Command():
            return action.cwd
    return None


def real_paths(action: Action) -> tuple[str, ...]:
    if isinstance(action, Other):
        return action.paths
    path = real_path(action)
    return () if path is None else (path,)


def target_of(actions: Sequence[Action]) -> str:
    """What a question is about, as text for tables."""
    return ", ".join(filter(None, (action.text for action in actions)))


# ---- as JSON ----------------------------------------------------------------------------------------

_NOT_SHOWN = ("edits", "covers", "paths")


def action_to_plain(action: Action) -> dict[str, Json]:
    """For the page and the file."""
    result: dict[str, Json] = {"type": action.type}
    for name in action.__struct_fields__:
        value = getattr(action, name)
        if name in _NOT_SHOWN or value in (None, (), False):
            continue
        result[name] = [_plain_item(it) for it in value] if isinstance(value, tuple) else value
    return result


def _plain_item(item: Any) -> Json:
    if isinstance(item, MetadataChange):
        given = {name: getattr(item, name) for name in item.__struct_fields__}
        return {name: value for name, value in given.items() if value is not None}
    return list(item) if isinstance(item, tuple) else item


def action_from_plain(value: Mapping[str, Json]) -> Action:
    """The inverse of `action_to_plain`, for reading back; a type that is not ours becomes `Other`."""
    fields = {name: it for name, it in value.items() if name != "type"}
    if value.get("type") in PATH_KINDS:
        return FileAccess(**fields)
    cls = _TYPES.get(str(value.get("type")))
    if cls is None:
        return Other(str(value.get("type")))
    if "env" in fields:
        fields["env"] = tuple((str(name), str(it)) for name, it in fields["env"])
    if "metadata" in fields:
        fields["metadata"] = tuple(MetadataChange(**it) for it in fields["metadata"])
    action: Action = cls(**fields)
    return action


def brief(action: dict[str, Json]) -> dict[str, Json]:
    """What a settled question keeps: its tool call holds the texts."""
    return {name: it for name, it in action.items() if name not in ("old_text", "new_text", "input")}


# ---- commands ---------------------------------------------------------------------------------------

HARMLESS_NAMES = frozenset(
    {
        *("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM", "COLORTERM", "COLUMNS", "LINES"),
        *("LANG", "LANGUAGE", "CI", "PYTHONUNBUFFERED", "PYTHONIOENCODING", "NODE_NO_WARNINGS"),
        *("GIT_TERMINAL_PROMPT", "DEBIAN_FRONTEND"),
    }
)
"""Variables that change how a command talks, never what it runs or which files it uses (and LC_*)."""

HARMLESS_PAIRS = frozenset({("PAGER", "cat"), ("GIT_PAGER", "cat"), ("MANPAGER", "cat"), ("TZ", "UTC")})
"""Values that are harmless where the variable itself is not: PAGER names a program."""

_HARMLESS_VALUE = re.compile(r"[\w.@:+,=-]{0,64}", re.ASCII)
"""No path and no command: LANG=/tmp/x loads files from there."""


def judged_env(
    env: Mapping[str, str], inherited: Mapping[str, str], harmless: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """The variables that count: all that change something, but for the harmless ones.

    `inherited`: what the command gets anyway. `harmless`: exact pairs that this agent always sends.
    """
    return tuple(
        (name, value)
        for name, value in sorted(env.items())
        if inherited.get(name) != value and not _is_harmless(name, value, harmless)
    )


def _is_harmless(name: str, value: str, pairs: Mapping[str, str]) -> bool:
    if pairs.get(name) == value or (name, value) in HARMLESS_PAIRS:
        return True
    known = name in HARMLESS_NAMES or name.startswith("LC_")
    return known and _HARMLESS_VALUE.fullmatch(value) is not None


def command(
    words: str | Sequence[str],
    cwd: str,
    env: tuple[tuple[str, str], ...] = (),
    *,
    resolve: Resolve,
    spellings: Sequence[str] = (),
) -> Command | None:
    """The command of a shell line, or of a program and its arguments; None if it cannot be one.

    `cwd` is real; `spellings` are other ways in which the agent may write it.
    """
    line = words if isinstance(words, str) else line_of(words)
    if line is None or not line.strip() or "\0" in line:
        return None
    return Command(*without_cd(line, cwd, spellings, resolve), env)


# ---- coverage ---------------------------------------------------------------------------------------


def is_covered_by(wanted: Action, allowed: Action) -> bool:
    """Whether an allow for the one action is an allow for the other.

    `wanted` is made of the client request and the file as it is now.
    """
    match wanted, allowed:
        case Command(), Command():
            return (wanted.line, wanted.cwd, wanted.env) == (allowed.line, allowed.cwd, allowed.env)
        case Write(), Write():
            return allowed.covers and real_path(wanted) == real_path(allowed) and _same_text(wanted, allowed)
        case NotebookWrite(), NotebookWrite():
            return real_path(wanted) == real_path(allowed) and _cells(wanted) == _cells(allowed)
    return False


def _cells(action: NotebookWrite) -> tuple[Any, ...]:
    # Too long to show: the note has its hash.
    return action.old_text, action.new_text, action.metadata, action.note if action.new_text is None else None


def _same_text(wanted: Write, allowed: Write) -> bool:
    if wanted.new_text is None or allowed.new_text is None:  # too long to show: the note has its hash
        return wanted.new_text == allowed.new_text and wanted.note is not None and wanted.note == allowed.note
    new = _lines(wanted.new_text)
    if allowed.edits:
        made = applied(allowed.edits, wanted.old_text)
        return made is not None and _lines(made) == new
    same_start = _optional_lines(allowed.old_text) == _optional_lines(wanted.old_text)
    return same_start and allowed.note == wanted.note and _lines(allowed.new_text) == new


def applied(edits: Sequence[Edit], text: str | None) -> str | None:
    """What the edits make of a text; None where they do not fit it in exactly one way."""
    if text is None:
        return None
    text = _lines(text)
    for edit in edits:
        old, new = _lines(edit.old_text), _lines(edit.new_text)
        found = text.count(old) if old else 0
        if found == 0 or (found > 1 and not edit.everywhere):
            return None
        text = text.replace(old, new)
    return text


def _lines(text: str) -> str:
    """Writes keep the line ends of the file, so they do not count."""
    return text.replace("\r\n", "\n")


def _optional_lines(text: str | None) -> str | None:
    return None if text is None else _lines(text)


def consume(actions: Sequence[Action], wanted: Action) -> tuple[Action, ...] | None:
    """What is left of the allowed actions after this one was done; None if none of them covers it."""
    for at, action in enumerate(actions):
        if is_covered_by(wanted, action):
            return (*actions[:at], *actions[at + 1 :])
    return None
