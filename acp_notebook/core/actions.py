"""Actions: what a permission request or a client method would do, described once.

Pure: files, folders and the environment are arguments. The card in the page, the static output, `input()`,
policies, grants, coverage and the audit all use these descriptions: what is shown is what is judged and
what is done.

An allow covers the actions that its question described, each of them once:
- a command: the same line, in the same folder, with the same environment;
- a write: the same real path, and the text that was shown: either the whole new text in place of the old
  text that was shown, or the result of applying the shown edits to the file as it is now;
- a notebook write: the same cells and the same metadata;
- code in the kernel: the same code, or the same cells with the same sources;
- a function of the user's: that very function with the same arguments.
An action that names a file without its content, or that we cannot read, covers no client method: the agent
gets its answer, and when it then requests the method, we ask again, showing the action.
"""

# No `from __future__ import annotations`: msgspec takes twice as long to read annotations that are text.

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec
from msgspec import Struct

from .patterns import pattern
from .records import Json, Record, Tagged, build, by_tag, plain
from .shell import Resolve, line_of, without_cd

PATH_KINDS = ("read", "edit", "delete", "move")


class Command(Tagged, frozen=True, tag="command"):
    """A command to run. `env` holds the variables that matter (`judged_env`), sorted by name."""

    line: str
    cwd: str
    """The real path of the folder that it runs in."""
    env: tuple[tuple[str, str], ...] = ()
    elsewhere: bool = False
    """It runs in a folder other than the session's."""
    kind: ClassVar[str] = "execute"

    @property
    def text(self) -> str:
        """The line for people and the audit, environment included."""
        return " ".join((*(f"{name}={value}" for name, value in self.env), self.line))


class Edit(Struct, frozen=True):
    """A replacement inside a file: once, or `everywhere`."""

    old_text: str
    new_text: str
    everywhere: bool = False


class Write(Tagged, frozen=True, tag="write"):
    """A text to write to a file. `target` is the real path, if it differs from `path`."""

    path: str
    target: str | None = None
    old_text: str | None = None
    """The current text; None: there is no file."""
    new_text: str | None = None
    """The text after the write."""
    edits: tuple[Edit, ...] = ()
    """The edits that lead from one to the other, if the agent showed edits."""
    covers: bool = True
    """False: what the agent shows does not match the file, so we ask again before we write."""
    note: str | None = None
    kind: ClassVar[str] = "edit"

    @property
    def text(self) -> str:
        return _path_text(self.path, self.target)


def _path_text(path: str, target: str | None) -> str:
    return path if target is None else f"{path} → {target}"


class MetadataChange(Record, frozen=True):
    """One metadata entry that a notebook write changes: `where` is "notebook" or a cell."""

    where: str
    name: str
    before: str | None = None
    after: str | None = None


class NotebookWrite(Tagged, frozen=True, tag="notebook"):
    """What a write changes in a notebook: its cells as scripts, before and after, and its metadata."""

    path: str
    target: str | None = None
    old_text: str | None = None
    new_text: str | None = None
    metadata: tuple[MetadataChange, ...] = ()
    note: str | None = None
    """Why this always needs a question: another kernel, most of it lost, too long to show."""
    kind: ClassVar[str] = "edit"

    @property
    def text(self) -> str:
        return _path_text(self.path, self.target)


class FileAccess(Tagged, frozen=True, tag="file"):
    """A file that a call reads, edits, deletes or moves, if it shows no more than the path."""

    kind: str
    path: str
    target: str | None = None

    @property
    def type(self) -> str:
        return self.kind

    @property
    def text(self) -> str:
        return _path_text(self.path, self.target)


class Fetch(Tagged, frozen=True, tag="fetch"):
    url: str
    kind: ClassVar[str] = "fetch"

    @property
    def text(self) -> str:
        return self.url


class Other(Tagged, frozen=True, tag="other"):
    """Any other call, with its input as JSON text. `paths`: the real paths of the files it names."""

    kind: str
    input: str | None = None
    paths: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return ", ".join(self.paths)


class Details(Tagged, frozen=True, tag="details"):
    """The part of a call's input that no action shows; empty once its question is settled. `paths`: the real
    paths of the files that it names."""

    input: str = ""
    paths: tuple[str, ...] = ()
    matters: bool = True
    """Whether it may change what the call does, so that no remembered answer covers the call."""
    kind: ClassVar[str] = ""
    text: ClassVar[str] = ""


class McpCall(Tagged, frozen=True, tag="mcp"):
    """Which tool of which MCP server a call uses, in addition to the actions that its input describes.

    `sure`: it comes from where the agent names its tools, not from text that a model or a server wrote.
    """

    server: str
    tool: str
    sure: bool = False
    kind: ClassVar[str] = ""

    @property
    def text(self) -> str:
        return f"{self.server}/{self.tool}"


class RunCode(Tagged, frozen=True, tag="run_code"):
    """Code to run in the notebook's kernel. `purpose`: the agent's own explanation."""

    code: str
    purpose: str = ""
    kind: ClassVar[str] = "execute"

    @property
    def text(self) -> str:
        return self.code


class RunCells(Tagged, frozen=True, tag="run_cells"):
    """Cells of the open notebook to run: their ids and sources."""

    cells: tuple[tuple[str, str], ...]
    kind: ClassVar[str] = "execute"

    @property
    def text(self) -> str:
        return "\n\n".join(source for _, source in self.cells)


class CallFunction(Tagged, frozen=True, tag="call_function"):
    """A call of one of the user's functions, with the arguments that it gets: names and JSON texts."""

    name: str
    arguments: tuple[tuple[str, str], ...] = ()
    identity: str = ""
    """Of the function itself: another one of the same name has another."""
    reads: bool = False
    """The user said that it only reads, so that nobody is asked."""

    @property
    def kind(self) -> str:
        return "read" if self.reads else "execute"

    @property
    def text(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value}' for name, value in self.arguments)})"


class KernelCall(Tagged, frozen=True, tag="kernel"):
    """A call of a kernel tool without effect: a read, or (`later`) one whose code the agent did not show,
    so that the question follows when the code arrives."""

    tool: str
    later: bool = False
    kind: ClassVar[str] = "read"
    text: ClassVar[str] = ""
    """The `McpCall` next to it names the tool."""


KernelAction = RunCode | RunCells | CallFunction | KernelCall

Action = Command | Write | NotebookWrite | FileAccess | Fetch | Other | Details | McpCall | KernelAction

ANNOTATIONS = (Details, McpCall)
"""Details about a call that do nothing themselves."""

RUNS = (RunCode, RunCells)
"""Code in the kernel."""

ASKED_BY_TOOLS = (*RUNS, CallFunction)
"""What the server of the kernel's tools asks about itself."""

_TYPES = by_tag(Action) | dict.fromkeys(PATH_KINDS, FileAccess)
build(*_TYPES.values())


def real_path(action: Action) -> str | None:
    """The real path of the file, or the folder of a command."""
    match action:
        case Write() | NotebookWrite() | FileAccess():
            return action.target or action.path
        case Command():
            return action.cwd
    return None


def real_paths(action: Action) -> tuple[str, ...]:
    if isinstance(action, Other | Details):
        return action.paths
    path = real_path(action)
    return () if path is None else (path,)


def target_of(actions: Sequence[Action]) -> str:
    """What a question is about, as one text for tables."""
    return ", ".join(filter(None, (action.text for action in actions)))


# ---- as JSON ----------------------------------------------------------------------------------------

NOT_SHOWN = frozenset({"edits", "covers", "paths", "matters", "identity"})


def action_to_plain(action: Action) -> dict[str, Json]:
    """The action as JSON, for the page and the notebook file."""
    return {name: it for name, it in plain(action).items() if name not in NOT_SHOWN} | {"type": action.type}


def action_from_plain(value: Mapping[str, Json]) -> Action:
    """The inverse of `action_to_plain`; an unknown type becomes `Other`."""
    cls = _TYPES.get(str(value.get("type")))
    if cls is None:
        return Other(str(value.get("type")))
    action: Action = msgspec.convert({**value, "type": cls.__struct_config__.tag}, cls)
    return action


def brief(action: dict[str, Json]) -> dict[str, Json]:
    """The part that a settled question keeps: its tool call holds the texts."""
    texts = ("old_text", "new_text", "input")
    return {name: it for name, it in action.items() if name not in texts}


# ---- commands ---------------------------------------------------------------------------------------

HARMLESS_NAMES = frozenset(
    {
        *("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM", "COLORTERM", "COLUMNS", "LINES"),
        *("LANG", "LANGUAGE", "CI", "PYTHONUNBUFFERED", "PYTHONIOENCODING", "NODE_NO_WARNINGS"),
        *("GIT_TERMINAL_PROMPT", "DEBIAN_FRONTEND"),
    }
)
"""Variables (and LC_*) that change how a command prints, but not what it runs or which files it uses."""

HARMLESS_PAIRS = frozenset({("PAGER", "cat"), ("GIT_PAGER", "cat"), ("MANPAGER", "cat"), ("TZ", "UTC")})
"""Harmless values of variables that are not harmless in general: PAGER names a program."""

_HARMLESS_VALUE = pattern(r"[\w.@:+,=-]{0,64}", re.ASCII)
"""Excludes paths and commands: LANG=/tmp/x loads files from there."""


def judged_env(
    env: Mapping[str, str], inherited: Mapping[str, str], harmless: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """The variables that matter: those that change something, except harmless ones.

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
    """The command for a shell line, or for a program and its arguments; None if it cannot be one.

    `cwd` is a real path; `spellings` are other ways in which the agent may write it.
    """
    line = words if isinstance(words, str) else line_of(words)
    if line is None or not line.strip() or "\0" in line:
        return None
    return Command(*without_cd(line, cwd, spellings, resolve), env)


# ---- coverage ---------------------------------------------------------------------------------------


def is_covered_by(wanted: Action, allowed: Action) -> bool:
    """Whether an allow for `allowed` is also an allow for `wanted`.

    `wanted` is built from the client method's arguments and the file as it is now.
    """
    match wanted, allowed:
        case Command(), Command():
            return (wanted.line, wanted.cwd, wanted.env) == (allowed.line, allowed.cwd, allowed.env)
        case Write(), Write():
            return allowed.covers and real_path(wanted) == real_path(allowed) and _same_text(wanted, allowed)
        case NotebookWrite(), NotebookWrite():
            return real_path(wanted) == real_path(allowed) and _cells(wanted) == _cells(allowed)
        case RunCode(), RunCode():
            return wanted.code == allowed.code
        case RunCells(), RunCells():
            return wanted.cells == allowed.cells
        case CallFunction(), CallFunction():
            return wanted == allowed
    return False


def _cells(action: NotebookWrite) -> tuple[Any, ...]:
    # A text too long to show is identified by the hash in the note.
    return action.old_text, action.new_text, action.metadata, action.note if action.new_text is None else None


def _same_text(wanted: Write, allowed: Write) -> bool:
    if wanted.new_text is None or allowed.new_text is None:  # too long to show: the note has the hash
        return wanted.new_text == allowed.new_text and wanted.note is not None and wanted.note == allowed.note
    new = _as_written(wanted.new_text, wanted.old_text)
    if allowed.edits:
        return applied(allowed.edits, wanted.old_text) == new
    same_start = allowed.old_text == wanted.old_text and allowed.note == wanted.note
    return same_start and _as_written(allowed.new_text, wanted.old_text) == new


def applied(edits: Sequence[Edit], text: str | None) -> str | None:
    """Apply the edits to a text; None if one of them does not match exactly once (or `everywhere`).

    Most agents write edits with LF for a file with CRLF, too; the result has the line ends of the file.
    """
    if text is None:
        return None
    crlf = _is_crlf(text)
    text = _with_lf(text) if crlf else text
    for edit in edits:
        old, new = (_with_lf(it) if crlf else it for it in (edit.old_text, edit.new_text))
        found = text.count(old) if old else 0
        if found == 0 or (found > 1 and not edit.everywhere):
            return None
        text = text.replace(old, new)
    return text.replace("\n", "\r\n") if crlf else text


def _as_written(text: str, old_text: str | None) -> str:
    """The text with the line ends that it gets in the file: a write keeps those of the old text."""
    return text.replace("\n", "\r\n") if _is_crlf(old_text or "") and "\r" not in text else text


def _is_crlf(text: str) -> bool:
    return 0 < text.count("\n") == text.count("\r\n")


def _with_lf(text: str) -> str:
    return text.replace("\r\n", "\n")


def consume(actions: Sequence[Action], wanted: Action) -> tuple[Action, ...] | None:
    """The allowed actions that remain after this one was done; None if none of them covers it."""
    for at, action in enumerate(actions):
        if is_covered_by(wanted, action):
            return (*actions[:at], *actions[at + 1 :])
    return None
