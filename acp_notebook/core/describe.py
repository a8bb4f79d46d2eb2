"""Derives actions from a tool call or a client method.

Pure: `Look` provides the state of files, and notebook writes are planned by the caller. It reads every part
of a call that can say what the call does, and infers nothing: what cannot be read is shown as received, and
covers nothing.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from .actions import (
    PATH_KINDS,
    Action,
    CallFunction,
    Command,
    Details,
    Edit,
    Fetch,
    FileAccess,
    NotebookWrite,
    Other,
    Write,
    applied,
    command,
    judged_env,
)
from .kernel_tools.calls import arguments_of, described_call, kernel_call, other_call
from .mcp_calls import NO_NAMING, Naming, mcp_call
from .records import Diff, Json, Text
from .shell import Resolve, line_of
from .snapshot import ToolCall

PATH_NAMES = (
    *(
        "file_path",
        "filePath",
        "path",
        "abs_path",
        "absPath",
        "absolute_path",
        "filepath",
        "file",
        "filename",
    ),
    *("notebook_path", "target_file", "paths", "files", "file_paths", "source", "destination"),
    *("old_path", "new_path"),
)
"""The names under which raw inputs give files."""

CONTENT_NAMES = ("content", "contents", "new_content", "file_text", "newText", "new_text", "text")
OLD_NAMES = ("old_string", "old_str", "oldText", "old_text", "oldString", "before")
NEW_NAMES = ("new_string", "new_str", "newText", "new_text", "newString", "after")
ALL_NAMES = ("replace_all", "replaceAll")
FOLDER_NAMES = ("cwd", "workdir", "working_directory", "directory")
COMMAND_NAMES = ("command", "cmd")
QUIET_NAMES = ("description", "timeout", "timeout_ms", "timeout_secs", "explanation")
"""Input that does not affect what is done."""

EDITOR_COMMANDS = frozenset(
    {"create", "write", "edit", "insert", "append", "replace", "str_replace", "overwrite"}
)
"""What a "command" says that names an operation of an editor tool."""

NO_RAW_WRITE = frozenset({"read", "search", "think", "fetch", "switch_mode", "delete", "move", "execute"})
"""Kinds whose raw input is not read as a write: `content` means something else there."""

MAX_PATHS = 200
"""Files per call: each is read from the disk, and an agent may send a hundred thousand."""

SHOWN_CHARS = 1_000_000
"""Characters of a text that a question shows; a longer text is identified by its length and hash."""

NOT_TEXT = "Replaces a file that cannot be shown as text"
DOES_NOT_FIT = "This does not match the file as it is now: you will be asked again before it is written."


class FileState(Struct, frozen=True):
    """A file before a write. `target`: the real path, if it differs from `path`."""

    path: str
    target: str | None = None
    text: str | None = None
    exists: bool = False
    note: str | None = None
    """What to say if its current text is not known."""

    @property
    def real_path(self) -> str:
        return self.target or self.path


Look = Callable[[str], FileState]
"""Returns the file at a path as the agent writes it; never raises."""


class CommandContext(Struct, frozen=True):
    """Where commands run: the real path of the session's folder, the path the agent was `given`, and the
    environment that commands inherit."""

    cwd: str
    given: str
    resolve: Resolve
    inherited: Mapping[str, str] = {}
    harmless: Mapping[str, str] = {}
    """Exact pairs that this agent sends with every command."""


class Phrases(Struct, frozen=True):
    """How an agent describes its calls in words: patterns whose first group is the command or the folder.

    `input_in_text`: if a call has no raw input, one of its texts holds it as JSON. `bookkeeping`: the names
    of input that identifies a call or repeats what it does.
    """

    title: str | None = None
    text: str | None = None
    folder: str | None = None
    input_in_text: bool = False
    naming: Naming = NO_NAMING
    bookkeeping: tuple[str, ...] = ()


NO_PHRASES = Phrases()


# ---- client requests --------------------------------------------------------------------------------


def describe_command(
    words: str | Sequence[str], folder: str, env: Mapping[str, str], place: CommandContext
) -> Command | None:
    """What `terminal/create` would run; None if it cannot be a command. `folder` is a real path."""
    spellings = (place.given,) if folder == place.cwd else ()
    judged = judged_env(env, place.inherited, place.harmless)
    made = command(words, folder, judged, resolve=place.resolve, spellings=spellings)
    return made and replace(made, elsewhere=made.cwd != place.cwd)


def describe_write(state: FileState, new_text: str, edits: tuple[Edit, ...] = ()) -> Write:
    """What writing this text to the file would do."""
    if max(len(new_text), len(state.text or "")) > SHOWN_CHARS:
        digest = hashlib.sha256(new_text.encode(errors="surrogatepass")).hexdigest()
        note = f"{len(new_text):,} characters, too many to show (SHA-256 {digest})"
        return Write(state.path, state.target, note=note)
    unknown = state.note or (NOT_TEXT if state.exists and state.text is None else None)
    return Write(state.path, state.target, state.text, new_text, edits, note=unknown)


# ---- tool calls -------------------------------------------------------------------------------------


def describe(
    tool: ToolCall,
    place: CommandContext,
    look: Look,
    notebooks: Mapping[str, NotebookWrite] = {},
    phrases: Phrases = NO_PHRASES,
) -> tuple[Action, ...]:
    """The actions that a call describes, at least one. `notebooks`: planned writes, by the agent's path."""
    tool = with_input(tool, phrases)
    kernel = kernel_call(tool, phrases.naming)
    if kernel is None:
        return _described(tool, place, look, notebooks, phrases)
    action = described_call(kernel.tool, arguments_of(tool), phrases.naming.functions)
    if kernel.sure:
        # Rules name the function, however it is called.
        return replace(kernel, tool=action.name) if isinstance(action, CallFunction) else kernel, action
    described = _described(tool, place, look, notebooks, phrases)
    if kernel.tool == "run_code" or isinstance(action, CallFunction):
        return *described, action  # known by the title only: it may be something else
    return described


def _described(
    tool: ToolCall,
    place: CommandContext,
    look: Look,
    notebooks: Mapping[str, NotebookWrite],
    phrases: Phrases,
) -> tuple[Action, ...]:
    raw = tool.raw_input if isinstance(tool.raw_input, Mapping) else {}
    claims = write_claims(tool)
    actions: list[Action] = []
    run = _command(tool, raw, place, phrases, editor=bool(claims))
    if run is not None:
        actions.append(run)
    for claim in claims:
        planned = notebooks.get(claim.path)
        actions.append(planned if planned is not None else _write(claim, look(claim.path)))
    known = {action.target or action.path for action in actions if isinstance(action, Write | NotebookWrite)}
    written = {claim.path for claim in claims}
    states = [(path, look(path)) for path in path_names(tool)[:MAX_PATHS] if path not in written]
    by_kind = tool.kind in PATH_KINDS
    drawn = written | {path for path, state in states if by_kind or state.real_path in known}
    rest = [state for _, state in states if state.real_path not in known]
    if by_kind:
        actions += dict.fromkeys(FileAccess(tool.kind, state.path, state.target) for state in rest)
        rest = []
    if tool.kind == "fetch" and isinstance(raw.get("url"), str):
        actions.append(Fetch(raw["url"]))
    shown = _Shown(raw, actions, drawn, written)
    paths = tuple(dict.fromkeys(it.real_path for it in rest))
    described = _with_unread_input(tool, shown, paths, phrases.bookkeeping)
    mcp = other_call(mcp_call(tool, phrases.naming), phrases.naming)
    return described if mcp is None else (mcp, *described)


def with_input(tool: ToolCall, phrases: Phrases) -> ToolCall:
    """The call, with the raw input that the agent sends as JSON in a text."""
    if not phrases.input_in_text or tool.raw_input:
        return tool
    for block in tool.content:
        if isinstance(block, Text) and block.text.startswith("{"):
            try:
                found = json.loads(block.text)
            except ValueError:
                continue
            if isinstance(found, dict):
                return replace(tool, raw_input=found)
    return tool


class _Shown(Struct, frozen=True):
    """The parts of a raw input that actions show."""

    raw: Mapping[str, Json]
    actions: Sequence[Action]
    paths: Collection[str]
    """The paths that actions show, as the agent writes them."""
    written: Collection[str]
    """Of these, the paths that are shown with their content."""

    def contains(self, name: str, value: Json) -> bool:
        if name in QUIET_NAMES:
            return not isinstance(value, Mapping | list)
        if name in PATH_NAMES:
            return isinstance(value, str | list) and all(self._has_path(it) for it in _each(value))
        if name in FOLDER_NAMES:
            others = [self.raw.get(it) for it in FOLDER_NAMES]
            return (
                _runs(self.actions)
                and isinstance(value, str)
                and all(it in (None, "", value) for it in others)
            )
        if name in (*COMMAND_NAMES, "args", "env"):
            verb = name in COMMAND_NAMES and isinstance(value, str) and value in EDITOR_COMMANDS
            return _runs(self.actions) or (verb and _writes(self.actions))
        if name in ALL_NAMES:
            return isinstance(value, bool) and _writes(self.actions)
        if name == "changes":  # apply_patch: the diffs show them
            return isinstance(value, Mapping) and all(path in self.written for path in value)
        if name == "edits":
            return all(self._has_path(it) or self._has_text(it) for it in _leaves(value))
        if name in (*CONTENT_NAMES, *OLD_NAMES, *NEW_NAMES):
            return isinstance(value, str) and self._has_text(value)
        return name == "url" and any(isinstance(action, Fetch) for action in self.actions)

    def _has_path(self, path: Json) -> bool:
        return isinstance(path, str) and (path == "" or path in self.paths)

    def _has_text(self, text: Json) -> bool:
        return isinstance(text, str) and any(_shows_text(action, text) for action in self.actions)


def _with_unread_input(
    tool: ToolCall, shown: _Shown, paths: tuple[str, ...], bookkeeping: Collection[str]
) -> tuple[Action, ...]:
    """Add the input that no action shows. `paths`: the files that it names."""
    actions, raw = shown.actions, tool.raw_input
    if not actions or len(path_names(tool)) > MAX_PATHS or (tool.kind == "execute" and not _runs(actions)):
        return (*actions, Other(tool.kind, _json(raw), paths))
    matters = True
    if isinstance(raw, Mapping):
        raw = {name: value for name, value in raw.items() if not shown.contains(name, value)}
        further = (name for name, value in raw.items() if _json(value) is not None)
        matters = bool(paths) or any(name not in bookkeeping for name in further)
    rest = _json(raw)
    return tuple(actions) if rest is None else (*actions, Details(rest, paths, matters))


def _each(value: str | list[Json]) -> list[Json]:
    return [value] if isinstance(value, str) else value


def _leaves(value: Json) -> Iterator[Json]:
    if isinstance(value, Mapping):
        value = [*value.values()]
    if not isinstance(value, list):
        yield value
    else:
        for inner in value:
            yield from _leaves(inner)


def _shows_text(action: Action, text: str) -> bool:
    match action:
        case Write(new_text=str(new)):
            return text in new or text in (action.old_text or "")
        case Write() | NotebookWrite():  # too long to show, or shown as cells
            return True
    return False


def _writes(actions: Sequence[Action]) -> bool:
    return any(isinstance(action, Write | NotebookWrite) for action in actions)


def _runs(actions: Sequence[Action]) -> bool:
    return any(isinstance(action, Command) for action in actions)


def _json(value: Json) -> str | None:
    if value in (None, {}, [], ""):
        return None
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def mentions(tool: ToolCall, action: Action, place: CommandContext, phrases: Phrases = NO_PHRASES) -> bool:
    """Whether a call says that it does this; the question about the action is then shown on its card."""
    tool = with_input(tool, phrases)
    raw = tool.raw_input if isinstance(tool.raw_input, Mapping) else {}
    if isinstance(action, Command):
        named = _command(tool, raw, place, phrases, editor=bool(write_claims(tool)))
        return named is not None and named.line == action.line
    if isinstance(action, Write | NotebookWrite) and tool.kind == "edit":
        wanted = action.target or action.path
        return wanted in {_absolute(path, place) for path in path_names(tool)[:MAX_PATHS]}
    return False


def _absolute(path: str, place: CommandContext) -> str:
    try:
        rooted = path.startswith("~") or path[:5].lower() == "file:"
        return place.resolve(path if rooted else posixpath.join(place.cwd, path))
    except (OSError, ValueError):
        return path


# ---- commands


def readable_command(raw_input: Json) -> str | None:
    """The shell line in a call's input, for its card; None if there is none, or it is ambiguous."""
    raw = raw_input if isinstance(raw_input, Mapping) else {}
    words = _words(raw)
    line = words if isinstance(words, str) or words is None else line_of(words)
    return line if line and line.strip() and not _is_editor(raw) else None


def _command(
    tool: ToolCall, raw: Mapping[str, Json], place: CommandContext, phrases: Phrases, *, editor: bool
) -> Command | None:
    if editor and tool.kind != "execute" and _is_editor(raw):
        return None
    words = _words(raw)
    if words is None and tool.kind == "execute" and not _names_command(raw):
        words = _in_phrases(tool, phrases)
    if words is None:
        return None
    folder = next((it for name in FOLDER_NAMES if isinstance(it := raw.get(name), str) and it), None)
    if folder is None and phrases.folder is not None:
        said = re.match(phrases.folder, tool.text, re.DOTALL)
        folder = None if said is None else said[1]
    env = raw.get("env")
    if env is not None and not _is_env(env):
        return None
    where = place.cwd if folder is None else _absolute(folder, place)
    return describe_command(words, where, env or {}, place)


def _names_command(raw: Mapping[str, Json]) -> bool:
    return any(raw.get(name) not in (None, "") for name in COMMAND_NAMES)


def _words(raw: Mapping[str, Json]) -> str | tuple[str, ...] | None:
    """The line, or the program and its arguments; None if there is none, or if two fields disagree."""
    given = [raw[name] for name in COMMAND_NAMES if raw.get(name) not in (None, "", [])]
    if not given or any(it != given[0] for it in given):
        return None
    named, args = given[0], raw.get("args")
    if isinstance(named, str) and not args:
        return named
    words = (*_texts(named), *(_texts(args) if args else ()))
    complete = bool(_texts(named)) and (not args or bool(_texts(args)))
    return words if complete else None


def _is_env(env: Json) -> bool:
    return isinstance(env, Mapping) and all(isinstance(it, str) for pair in env.items() for it in pair)


def _is_editor(raw: Mapping[str, Json]) -> bool:
    """Whether it is an editor tool, whose "command" names an operation: {"command": "write", "path": …}."""
    has_path = any(isinstance(raw.get(name), str) for name in PATH_NAMES)
    texts = (*CONTENT_NAMES, *OLD_NAMES, *NEW_NAMES)
    return has_path and any(isinstance(raw.get(name), str) for name in texts)


def _in_phrases(tool: ToolCall, phrases: Phrases) -> str | None:
    for pattern, said in ((phrases.text, tool.text), (phrases.title, tool.title)):
        found = re.fullmatch(pattern, said, re.DOTALL) if pattern else None
        if found is not None:
            return found[1]
    return None


# ---- writes


class WriteClaim(Struct, frozen=True):
    """What a call says that it writes: the whole `text`, or `edits`."""

    path: str
    text: str | None = None
    edits: tuple[Edit, ...] = ()


def write_claims(tool: ToolCall) -> tuple[WriteClaim, ...]:
    """One claim for each file whose new content the call shows, from its diffs, else from its raw input."""
    raw = tool.raw_input if isinstance(tool.raw_input, Mapping) else {}
    everywhere = any(raw.get(name) is True for name in ALL_NAMES)
    claims: dict[str, WriteClaim] = {}
    for diff in tool.diffs[:MAX_PATHS]:
        if diff.path:
            claims[diff.path] = _joined(claims.get(diff.path), diff, everywhere)
    if claims or tool.kind in NO_RAW_WRITE:
        return tuple(claims.values())
    claim = _raw_claim(raw, everywhere)
    return () if claim is None else (claim,)


def _joined(before: WriteClaim | None, diff: Diff, everywhere: bool) -> WriteClaim:
    edits = before.edits if before is not None else ()
    if diff.old_text is None or (before is not None and before.text is not None):
        return WriteClaim(diff.path, diff.new_text)
    return WriteClaim(diff.path, None, (*edits, Edit(diff.old_text, diff.new_text, everywhere)))


def _raw_claim(raw: Mapping[str, Json], everywhere: bool) -> WriteClaim | None:
    paths = list(dict.fromkeys(raw_paths(raw)))
    if len(paths) != 1:
        return None
    several = raw.get("edits")
    if isinstance(several, list) and several and all(isinstance(it, Mapping) for it in several):
        edits = [_raw_edit(it, everywhere) for it in several]
        return None if None in edits else WriteClaim(paths[0], None, tuple(filter(None, edits)))
    edit = _raw_edit(raw, everywhere)
    if edit is not None:
        return WriteClaim(paths[0], None, (edit,))
    texts = [it for name in CONTENT_NAMES if isinstance(it := raw.get(name), str)]
    return WriteClaim(paths[0], texts[0]) if len(texts) == 1 else None


def _raw_edit(raw: Mapping[str, Json], everywhere: bool) -> Edit | None:
    old = [it for name in OLD_NAMES if isinstance(it := raw.get(name), str)]
    new = [it for name in NEW_NAMES if isinstance(it := raw.get(name), str)]
    if len(old) != 1 or len(new) != 1:
        return None
    return Edit(old[0], new[0], everywhere or any(raw.get(name) is True for name in ALL_NAMES))


def claimed_text(claim: WriteClaim, present: str | None, exists: bool) -> str | None:
    """The text that the file would hold; None if the edits do not match the current text."""
    if claim.text is not None:
        return claim.text
    [first, *more] = claim.edits
    if not more and first.old_text == "" and not (present or "") and (present is not None or not exists):
        return first.new_text
    if not more and present is not None and first.old_text == present:
        return first.new_text
    return applied(claim.edits, present)


def _write(claim: WriteClaim, state: FileState) -> Write:
    text = claimed_text(claim, state.text, state.exists)
    if text is None:
        old = "\n".join(edit.old_text for edit in claim.edits)
        new = "\n".join(edit.new_text for edit in claim.edits)
        return Write(state.path, state.target, old, new, covers=False, note=DOES_NOT_FIT)
    whole = claim.text is not None or claim.edits[0].old_text in ("", state.text)
    return describe_write(state, text, () if whole else claim.edits)


# ---- paths


def path_names(tool: ToolCall) -> list[str]:
    """The files that a call names in its diffs, its locations and its raw input."""
    shown = [diff.path for diff in tool.diffs] + [location.path for location in tool.locations]
    return list(dict.fromkeys(filter(None, (*shown, *raw_paths(tool.raw_input)))))


def raw_paths(raw_input: Json) -> Iterator[str]:
    """The files that a raw input names."""
    raw = raw_input if isinstance(raw_input, Mapping) else {}
    for name in PATH_NAMES:
        yield from filter(None, _texts(raw.get(name)))
    changes = raw.get("changes")  # apply_patch: changes by path
    if isinstance(changes, Mapping):
        yield from (path for path in changes if isinstance(path, str) and path)


def _texts(value: Json) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple) and all(isinstance(it, str) for it in value):
        return tuple(value)
    return ()
