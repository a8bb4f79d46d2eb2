"""Acts: what an agent wants done, and whether an allow that was given covers what now comes to us.

Pure: paths are resolved by a function that is passed in; nothing is asked and nothing is remembered.

An allow covers what its question named, nothing beside it, and only while its call is open:
- a write: the same file, by a diff, a location or, where there are none, the raw input;
- a command: the same line in the same folder, whichever shell is put around it;
- where the question named nothing at all: the act of the only open call of that kind.
Calls are judged as they were when the question was asked, else an agent could ask for one thing and
rename its call to another. What a call says of itself later can only narrow what it covers.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from msgspec import Struct

from .records import Json, Location
from .snapshot import ToolCall

Command = str | tuple[str, ...]
"""A whole shell line, or a program and its arguments."""

Resolve = Callable[[str], str]
"""An absolute path with its symlinks and ".." resolved; raises OSError or ValueError where it cannot."""

PATH_NAMES = (
    "file_path",
    "filePath",
    "path",
    "abs_path",
    "absPath",
    "absolute_path",
    "filepath",
    "file",
    "filename",
    "notebook_path",
    "target_file",
    "paths",
    "files",
    "file_paths",
    "source",
    "destination",
    "old_path",
    "new_path",
)
"""How raw inputs call the files they mean. One too many only means one question more."""

MAX_PATHS = 200
"""Of one call: each is resolved on the disk, and an agent may send a hundred thousand."""

FOLDER_NAMES = ("cwd", "workdir", "working_directory", "directory")
COMMAND_NAMES = ("command", "cmd")

UNREADABLE = ("\0",)
"""Of a command that is named in a way that we cannot read: it is not nothing, and equals no line."""

_SHELL = re.compile(r"(?:(?:/usr/local|/opt/homebrew|/usr)?/bin/)?(?:sh|bash|zsh|dash)")
"""By name or where systems keep them: a "bash" anywhere else may be any program."""

_SHELL_FLAG = re.compile(r"-[li]+|--login|--noprofile|--norc")
_SHELL_LINE_FLAG = re.compile(r"-[li]*c")

_CD = re.compile(r"cd (?P<folder>'(?:[^']|'\\'')*'|[\w@%+=:,./-]+) && (?P<line>.+)", re.DOTALL)

_GOES_ON = re.compile(r"[;\n|]|(?<!&)&(?!&)")
"""In a line that may go on, in the wrong folder, after a `cd` that failed; in quotes: one question more."""

_NEVER_WRITE = frozenset({"read", "search", "think", "fetch", "switch_mode", "delete", "move", "execute"})
"""Kinds whose allow is none to write, whatever diff they carry."""


class Act(Struct, frozen=True):
    """One thing that is to be done: `kind` is a tool kind ("edit", "execute", …).

    `path` is absolute and resolved; of a command it is the folder that it runs in.
    """

    kind: str
    path: str | None = None
    command: Command | None = None

    @property
    def target(self) -> str:
        """What it is done to, as text for people."""
        if self.command is None:
            return self.path or ""
        return self.command if isinstance(self.command, str) else shlex.join(self.command)


def unresolved(path: str) -> str:
    """For where no symlinks are to be thought of: the path, normalised as text."""
    return posixpath.normpath(path)


def acts_of(tool: ToolCall, cwd: str, resolve: Resolve = unresolved) -> tuple[Act, ...]:
    """What a tool call names: an act for its command, or one for each of its files; never empty.

    A call is allowed by a grant only if each of its acts is.
    """
    if tool.kind == "execute":
        command = _named_command(tool.raw_input)
        return (Act(tool.kind, _folder(tool.raw_input, cwd, resolve) if command else None, command),)
    acts = tuple(Act(tool.kind, path) for path in _named_paths(tool, cwd, resolve))
    whole = 0 < len(_path_names(tool)) <= MAX_PATHS
    return acts if whole else (*acts, Act(tool.kind))  # without a path: something that nobody has looked at


def implied_acts(tool: ToolCall, cwd: str, resolve: Resolve = unresolved) -> tuple[Act, ...]:
    """What a call does whatever it calls itself: one that names a command runs it, one with a diff writes.

    For rules that reject; agents call the tools of other servers "other".
    """
    command = _named_command(tool.raw_input) if tool.kind != "execute" else None
    ran = (Act("execute", _folder(tool.raw_input, cwd, resolve), command),) if command else ()
    diffs = tool.diffs[:MAX_PATHS] if tool.kind != "edit" else ()
    return (*ran, *(Act("edit", _absolute(diff.path, cwd, resolve)) for diff in diffs))


def names(tool: ToolCall, act: Act, cwd: str, resolve: Resolve = unresolved) -> bool:
    """Whether the call, as it is, says of itself that it does this: the same file, or the same line."""
    if tool.kind != act.kind:
        return False
    if act.command is None:
        return act.path is not None and act.path in _named_paths(tool, cwd, resolve)
    return _is_command(_named_command(tool.raw_input), tool.raw_input, act, cwd, resolve)


def remaining(call: ToolCall, act: Act) -> ToolCall | None:
    """What is left of an allow that has covered this act: a command was allowed once; and a call that
    named nothing has now shown which file it meant."""
    if act.command is not None or act.path is None:
        return None
    return call if _path_names(call) else replace(call, locations=(Location(act.path),))


def covers(
    allowed: Iterable[ToolCall],
    open_calls: Iterable[ToolCall],
    act: Act,
    cwd: str,
    resolve: Resolve = unresolved,
) -> ToolCall | None:
    """The allowed call that covers a write (kind "edit") or a command (kind "execute"), if one does.

    `allowed`: calls as they were when they were asked about and allowed, in this turn.
    `open_calls`: every call of the session that has not ended, as it is now.
    """
    now = {call.id: call for call in open_calls}
    match act.kind:
        case "edit" if act.path is not None:
            judge = _covers_write
        case "execute" if act.command is not None:
            judge = _covers_command
        case _:
            return None
    still_open = [call for call in allowed if call.id in now]
    return next((call for call in still_open if judge(call, now, act, cwd, resolve)), None)


_Now = Mapping[str, ToolCall]


def _covers_write(call: ToolCall, now: _Now, act: Act, cwd: str, resolve: Resolve) -> bool:
    if call.kind != "edit":
        # An allow to analyse or to delete a file is none to write it. But agents call tools of other
        # servers "other", and where the question showed the diff, it was about this write.
        shown = [] if call.kind in _NEVER_WRITE else [diff.path for diff in call.diffs]
        return act.path in {_absolute(path, cwd, resolve) for path in shown}
    asked = _named_paths(call, cwd, resolve)
    if asked:
        return act.path in asked
    named_since = _named_paths(now[call.id], cwd, resolve)
    return _only_one(call, now) and (not named_since or act.path in named_since)


def _covers_command(call: ToolCall, now: _Now, act: Act, cwd: str, resolve: Resolve) -> bool:
    asked = _named_command(call.raw_input)
    if asked is not None:
        # "other": tools of other servers; that the line is the same in every character is enough.
        right_kind = call.kind in ("execute", "other")
        return right_kind and _is_command(asked, call.raw_input, act, cwd, resolve)
    if call.kind != "execute":
        return False
    present = now[call.id]
    since = _named_command(present.raw_input)
    if since is None:
        return _only_one(call, now)
    said = _only_one(call, now) or _said(call, since)
    return said and _is_command(since, present.raw_input, act, cwd, resolve)


def _is_command(named: Command | None, raw_input: Json, act: Act, cwd: str, resolve: Resolve) -> bool:
    here, where = _absolute(cwd, cwd, resolve), _folder(raw_input, cwd, resolve)
    if where != (act.path or here):
        return act.path in (None, here) and _goes_there(named, where, act, cwd, resolve)
    folders = (where, cwd) if where == here else (where,)  # an agent spells the folder as it was given
    line = line_of(named, *folders)
    return line is not None and line == line_of(act.command, *folders)


def _goes_there(named: Command | None, where: str, act: Act, cwd: str, resolve: Resolve) -> bool:
    """A shell that is started in the session's folder, and goes by a `cd` to the one that the call named."""
    cd = _CD.fullmatch(line_of(act.command) or "")
    if cd is None or _GOES_ON.search(cd["line"]):
        return False
    folder = _unquoted(cd["folder"])
    there = folder.startswith("/") and _absolute(folder, cwd, resolve) == where
    return there and line_of(named, where) == cd["line"]


def _only_one(call: ToolCall, now: _Now) -> bool:
    return [it.id for it in now.values() if it.kind == call.kind] == [call.id]


def _said(call: ToolCall, since: Command) -> bool:
    """The question gave as text ("Running: LINE") what the call names since then."""
    line = line_of(since)
    return any(text == line or text.endswith(f": {line}") for text in (call.title, call.text))


# ---- commands ---------------------------------------------------------------------------------------


def line_of(command: Command | None, *folders: str) -> str | None:
    """The command as one shell line that means the same; None if there is none that surely does.

    A shell around a line is taken off, and a `cd` to the folder that the command runs in anyway:
    `folders` are the ways to spell that one.
    """
    line = _joined(command) if isinstance(command, tuple) else command
    if not line or not line.strip() or "\0" in line:
        return None
    cd = _CD.fullmatch(line)
    return cd["line"] if cd is not None and _unquoted(cd["folder"]) in folders else line


def _joined(words: tuple[str, ...]) -> str | None:
    if not words or not words[0] or "=" in words[0]:  # in a line, a=b is no program
        return None
    return _in_shell(words) or shlex.join(words)


def _in_shell(words: tuple[str, ...]) -> str | None:
    """The line of `sh -c LINE`; what stands behind the line would change its meaning."""
    shell, *flags = words
    if not _SHELL.fullmatch(shell) or len(flags) < 2:
        return None
    *before, line_flag, line = flags
    if not _SHELL_LINE_FLAG.fullmatch(line_flag) or not all(map(_SHELL_FLAG.fullmatch, before)):
        return None
    return None if line.startswith(("-", "+")) else line  # those the shell takes for flags


def _unquoted(word: str) -> str:
    return word[1:-1].replace("'\\''", "'") if word.startswith("'") else word


def _named_command(raw_input: Json) -> Command | None:
    if not isinstance(raw_input, Mapping):
        return None
    command = next((raw_input[name] for name in COMMAND_NAMES if raw_input.get(name)), None)
    args = raw_input.get("args") or ()
    if command is None or (isinstance(command, str) and not args):
        return command
    return (*(_texts(command) or UNREADABLE), *(_texts(args) or UNREADABLE if args else ()))


# ---- paths ------------------------------------------------------------------------------------------


def _named_paths(tool: ToolCall, cwd: str, resolve: Resolve) -> tuple[str, ...]:
    some = _path_names(tool)[:MAX_PATHS]
    return tuple(dict.fromkeys(_absolute(path, cwd, resolve) for path in some))


def _path_names(tool: ToolCall) -> list[str]:
    """Diffs and locations are what a question shows; the raw input counts where there are none."""
    shown = [diff.path for diff in tool.diffs] + [location.path for location in tool.locations]
    return list(dict.fromkeys(filter(None, shown))) or list(_raw_paths(tool.raw_input))


def _raw_paths(raw_input: Json) -> Iterator[str]:
    if not isinstance(raw_input, Mapping):
        return
    for name in PATH_NAMES:
        yield from filter(None, _texts(raw_input.get(name)))
    changes = raw_input.get("changes")  # of apply_patch: by path
    if isinstance(changes, Mapping):
        yield from (path for path in changes if isinstance(path, str) and path)


def _folder(raw_input: Json, cwd: str, resolve: Resolve) -> str:
    named = raw_input if isinstance(raw_input, Mapping) else {}
    folders = (named.get(name) for name in FOLDER_NAMES)
    folder = next((it for it in folders if isinstance(it, str) and it), None)
    return _absolute(folder or cwd, cwd, resolve)


def _absolute(path: str, cwd: str, resolve: Resolve) -> str:
    whole = posixpath.join(cwd, path)
    try:
        # Not normalised before: "link/.." is the parent of where the link leads.
        return posixpath.normpath(resolve(whole))
    except (OSError, ValueError):
        return whole  # it names something, though nothing that an act can be


def _texts(value: Json) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple) and all(isinstance(it, str) for it in value):
        return tuple(value)
    return ()


# ---- for people -------------------------------------------------------------------------------------


def shown(text: str, *, cwd: str | None = None, chars: int = 80) -> str:
    """One line in which everything can be seen; cut in the middle, for an end may be what matters."""
    from .export.words import Words  # only where something is shown: it brings the writers along

    line = "".join(map(_seen, Words(cwd).line(text)))
    if len(line) <= chars:
        return line
    head = (chars - 3) * 2 // 3
    return f"{line[:head]} … {line[len(line) - (chars - 3 - head) :]}"


def _seen(sign: str) -> str:
    """Also blanks that are none, private signs and those that no font has."""
    return sign if sign.isprintable() else f"\u2039U+{ord(sign):04X}\u203a"
