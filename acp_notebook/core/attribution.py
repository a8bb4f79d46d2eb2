"""Decides who changed a file during a turn, by evidence: the kernel cannot see who writes.

Pure: the caller resolves paths; times are nanoseconds of the file system's clock.

- The agent: files that a tool call names as its target (in a diff, a location, or the raw input of a call
  that is not a read). A call that deletes or moves explains what is gone, and what arrived where it moved
  it. Writes through client methods are known exactly, and are not decided here, except in a replay, which
  repeats only those that a message of the agent requests: the recording lists the others.
- A command: files that no call names, last changed (ctime) while the command ran. A deleted file has no
  ctime: it belongs to a command whose line names it.
- Another session of this process: files that its tool calls name, or that changed while only its command ran.
  If both name a file, or a file changed while commands of both ran, it is not known whose change it is.
- Not listed: notebooks that Jupyter autosaved, and session state that an agent keeps in the folder.
- Unknown: everything else. There is no evidence that the agent changed it.
"""

from __future__ import annotations

import fnmatch
import posixpath
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from .actions import real_paths
from .changes import Version
from .describe import path_names, readable_command
from .notebook_changes import same_sources
from .patterns import pattern
from .records import Terminal
from .snapshot import Question, TerminalRun, ToolCall

READS = frozenset({"read", "search", "fetch", "think", "switch_mode"})
"""Kinds of tool calls that change no file."""

MAX_NAMES = 500
"""Names per call: each is resolved on the disk, and an agent may send a hundred thousand."""

TICK_NS = 20_000_000
"""File systems use a clock that ticks every 4 to 10 ms: a file may look older than the command."""

REPORT_NS = 1_000_000_000
"""An agent may report a call a moment after it started."""

_SHELL = pattern(r"(?:\S*/)?(?:ba|da|z)?sh -l?c")

Who = Literal["agent", "command", "other", "unknown", "unlisted"]


class Call(Struct, frozen=True):
    """A tool call of the turn, as evidence. Rejected and failed calls are not evidence."""

    key: str
    """The key of its item in the transcript."""
    named: frozenset[str] = frozenset()
    """The real paths that it says it writes."""
    removes: frozenset[str] = frozenset()
    """Those that it says it deletes or moves, with everything in them, and the destinations."""
    moves: bool = False
    """Whether it moves them."""
    command: str | None = None
    """The command line, if it runs one."""
    words: tuple[str, ...] = ()
    """The words of that line as real paths, possibly with wildcards."""
    root: str = "/"
    """The session's folder: a word that names the whole folder is no evidence."""
    began: int | None = None
    ended: int | None = None
    """None: it is still running."""

    def without(self, paths: Iterable[str]) -> Call:
        """The call without these names, which are accounted for."""
        return replace(self, named=self.named.difference(paths))


class Other(Struct, frozen=True):
    """What a session that worked at the same time says that it did."""

    agent: str
    calls: tuple[Call, ...] = ()


class Difference(Struct, frozen=True):
    """A path that differs between the checkpoints around the turn, and was not written by a client method."""

    path: str
    deleted: bool = False
    changed_at: int | None = None
    """The ctime of the file; for a deleted file, that of the nearest folder that still exists."""
    gone: str | None = None
    """For a deleted file: the topmost folder above it that was deleted too, else the file itself."""
    written: bool = False
    """Client methods wrote the file, too: this is what else changed. The names in calls are accounted for."""
    saved: bool = False
    """Jupyter saved it: see `is_jupyter_save`."""
    during: str | None = None
    """In a replay, the key of the command that the recording groups it under."""
    by_client: bool = False
    """In a replay: the client wrote it for the tool call `writer`, at no request that the replay repeats."""
    writer: str | None = None


class Verdict(Struct, frozen=True):
    """Who changed a file. `call` is the key of the tool call or the command."""

    who: Who
    call: str | None = None
    other: str | None = None
    """The agent of another session: whose change it is, or may be as well."""


UNKNOWN, UNLISTED = Verdict("unknown"), Verdict("unlisted")


def attribute(
    differences: Collection[Difference],
    calls: Sequence[Call],
    own_state: Collection[str] = (),
    others: Sequence[Other] = (),
) -> list[Verdict]:
    """Decide who made each difference. `own_state`: folders in which the agent keeps its sessions. `others`:
    sessions that worked at the same time."""
    deleted = {it.path for it in differences if it.deleted}
    return [_attribute_one(it, calls, own_state, deleted, others) for it in differences]


def _attribute_one(
    change: Difference,
    calls: Sequence[Call],
    own_state: Collection[str],
    deleted: Collection[str],
    others: Sequence[Other],
) -> Verdict:
    if _is_below(change.path, own_state):
        return UNLISTED
    if change.by_client:
        return Verdict("agent", change.writer)
    named_by = next((it.agent for it in others if any(_names(at, change, deleted) for at in it.calls)), None)
    naming = [call for call in calls if _names(call, change, deleted)]
    if naming:
        return Verdict("agent", naming[-1].key, named_by)
    if change.during is not None:
        return Verdict("command", change.during)
    commands, exact = _commands(calls, change)
    if named_by is not None:
        return Verdict("unknown" if exact else "other", other=named_by)
    elsewhere = [(it.agent, *_commands(it.calls, change)) for it in others]
    exact_by = next((agent for agent, _, named in elsewhere if named), None)
    if exact or exact_by is not None:
        return _of_either(exact, exact_by)
    if change.saved:
        return UNLISTED
    if change.deleted:
        return UNKNOWN
    return _of_either(commands, next((agent for agent, ran, _ in elsewhere if ran), None))


def _commands(calls: Sequence[Call], change: Difference) -> tuple[list[Call], list[Call]]:
    """The commands that ran when the file changed, and those of them that name it."""
    ran = [call for call in calls if call.command is not None and _ran_at(call, change)]
    return ran, [call for call in ran if _has_word(call, change)]


def _of_either(commands: Sequence[Call], other: str | None) -> Verdict:
    """Commands of this session or of another one: if of both, nobody knows whose change it is."""
    if commands and other is None:
        return Verdict("command", commands[-1].key)
    if other is None:
        return UNKNOWN
    return Verdict("unknown" if commands else "other", other=other)


def _names(call: Call, change: Difference, deleted: Collection[str]) -> bool:
    """Whether the call names the path, and started early enough to have made the change."""
    if not _is_named(call, change, deleted):
        return False
    too_early = (
        not change.deleted
        and change.changed_at is not None
        and call.began is not None
        and change.changed_at < call.began - REPORT_NS
    )
    return not too_early


def _is_named(call: Call, change: Difference, deleted: Collection[str]) -> bool:
    if change.deleted and _is_below(change.path, call.removes):
        return True
    if change.path in call.named:
        return not change.written
    return call.moves and any(it in deleted for it in _sources(change.path, call.removes))


def _sources(path: str, names: frozenset[str]) -> Iterator[str]:
    """Where the file came from, if one of the names was moved to another one, or into it, as `mv` does.

    Other files in the same folders are not the call's doing.
    """
    for target in (it for it in names if _is_below(path, [it])):
        rest = path.removeprefix(target)
        for source in names - {target}:
            yield source + rest
            name = f"/{posixpath.basename(source)}"
            if rest == name or rest.startswith(f"{name}/"):
                yield source + rest.removeprefix(name)


def _ran_at(call: Call, change: Difference) -> bool:
    """Whether the command ran when the file last changed; for a deleted file, whether it had started."""
    if call.began is None or change.changed_at is None or change.changed_at < call.began - TICK_NS:
        return False
    return change.deleted or call.ended is None or change.changed_at <= call.ended


def _has_word(call: Call, change: Difference) -> bool:
    """Whether the command line names the file, or a folder that was deleted with it."""
    gone = change.gone
    return any(
        word == change.path
        or any(_matches(path, word) for path in (change.path, gone) if path is not None)
        or (gone is not None and _is_below(change.path, [word]) and _went(call, change, word, gone))
        for word in call.words
    )


def _went(call: Call, change: Difference, word: str, gone: str) -> bool:
    """Whether a file was deleted with a folder that the line names: it is gone, or changed at that time."""
    if _is_below(word, [gone]):
        return True
    in_time = call.ended is None or (change.changed_at or 0) <= call.ended
    return in_time and word.startswith(f"{call.root}/")


def _matches(path: str, word: str) -> bool:
    """Whether the path matches a wildcard, which does not cross folders."""
    return "*" in word and path.count("/") == word.count("/") and fnmatch.fnmatchcase(path, word)


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(path == it or path.startswith(f"{it.rstrip('/')}/") for it in folders)


def is_jupyter_save(before: Version | None, after: Version | None) -> bool:
    """Whether a notebook was only saved: no cell's source changed, whatever happened to its outputs."""
    if before is None or after is None or before.link or after.link:
        return False
    return same_sources(before.data, after.data)


# ---- evidence from the transcript -----------------------------------------------------------------


Resolve = Callable[[str], str]
"""Converts a path as the agent writes it, relative or absolute, to the real path."""

Span = tuple[int | None, int | None]
"""When a call or a terminal began and ended."""


def calls_of(items: Sequence[object], resolve: Resolve, spans: Mapping[str, Span], root: str) -> list[Call]:
    """The tool calls and commands of a turn, as evidence.

    `spans`: by the id of the call or the terminal. `root` is the session's folder: a call that names the
    whole folder is no evidence.
    """
    terminals = {it.id: it for it in items if isinstance(it, TerminalRun)}
    found: list[Call] = []
    shown: dict[str, int] = {}
    for tool in (it for it in items if isinstance(it, ToolCall)):
        own = [it.terminal_id for it in tool.content if isinstance(it, Terminal)]
        first = next((shown[it] for it in own if it in shown), len(found))
        shown |= dict.fromkeys(own, first)
        if tool.kind in READS or is_rejected(tool, items):
            continue
        runs = [terminals[id] for id in own if id in terminals]
        call = _call(tool, runs, resolve, spans, root)
        if first < len(found):
            found[first] = _joined(found[first], call)
        else:
            found.append(call)
    for run in terminals.values():
        if run.id not in shown:
            found.append(_command(run.key, command_line(run), resolve, spans.get(run.id, (None, None)), root))
    return found


def _real(path: str, resolve: Resolve) -> tuple[str, str]:
    """The real path, and, if the path is a link itself, the real path of the link."""
    folder, name = posixpath.split(path.rstrip("/"))
    real = resolve(path)
    return real, real if name in ("", ".", "..") else posixpath.join(resolve(folder or "."), name)


def _joined(call: Call, other: Call) -> Call:
    """Join the two calls of one command: the agent's, and ours for its question. The later start counts."""
    began = max((it for it in (call.began, other.began) if it is not None), default=None)
    return replace(call, command=other.command or call.command, words=other.words or call.words, began=began)


def _call(
    tool: ToolCall, runs: Sequence[TerminalRun], resolve: Resolve, spans: Mapping[str, Span], root: str
) -> Call:
    began, ended = spans.get(tool.id, (None, None))
    shown = frozenset(resolve(it.path) for it in tool.diffs[:MAX_NAMES] if it.path)
    if tool.kind == "execute" or runs:
        ends = [ended, *(spans.get(run.id, (None, None))[1] for run in runs)]
        last = None if None in ends else max(it for it in ends if it is not None)
        # A path that a command only mentions, such as its script, is not a change; a diff is.
        return _command(tool.key, command_line(tool, runs), resolve, (began, last), root, shown)
    if tool.status == "failed":
        return Call(tool.key)
    names = [it for it in path_names(tool) if "\0" not in it]
    named = frozenset(real for it in names[:MAX_NAMES] for real in _real(it, resolve))
    if tool.kind not in ("delete", "move"):
        return Call(tool.key, named, began=began, ended=ended)
    removes = frozenset(it for it in named if not _is_below(root, [it]))
    return Call(tool.key, shown, removes, moves=tool.kind == "move", began=began, ended=ended)


def _command(
    key: str, line: str, resolve: Resolve, span: Span, root: str, named: frozenset[str] = frozenset()
) -> Call:
    words = tuple(dict.fromkeys(resolve(it) for it in _words(line)[:MAX_NAMES]))
    return Call(key, named, command=line, words=words, root=root, began=span[0], ended=span[1])


def _words(line: str) -> list[str]:
    try:
        split = shlex.shlex(line, posix=True, punctuation_chars=True)
        split.whitespace_split = True
        words = list(split)
    except ValueError:
        words = line.split()
    return [it for it in words if it and not it.startswith("-") and "\0" not in it]


def command_line(tool: ToolCall | TerminalRun, runs: Sequence[TerminalRun] = ()) -> str:
    """The command line of a call, as far as it is known."""
    if isinstance(tool, TerminalRun):
        return _without_shell(tool.command)
    ran = next((run.command for run in runs if run.command), None)
    return _without_shell(readable_command(tool.raw_input) or ran or tool.title.strip("`"))


def _without_shell(line: str) -> str:
    """Extract LINE from `sh -c LINE`, quoted or not."""
    shell, flag, rest = [*line.split(" ", 2), "", ""][:3]
    if not rest or not _SHELL.fullmatch(f"{shell} {flag}"):
        return line
    try:
        words = shlex.split(rest)
    except ValueError:
        return rest
    return words[0] if len(words) == 1 else rest


def allowed_by(tool: ToolCall, items: Iterable[object], path: str | None = None) -> str | None:
    """Who allowed the call, by the newest question about it; None if nobody was asked, or it was rejected.

    `path`: a file that the agent changed without a client method. An allow does not extend to files that
    its question did not name; questions from older versions have no actions, and allow every file.
    """
    asked = _newest_answer(tool, items)
    if asked is None or not _allows(asked):
        return None
    if path is not None and asked.actions and all(path not in real_paths(it) for it in asked.actions):
        return None
    return f"{asked.by} ({asked.reason})" if asked.reason else asked.by


def is_rejected(tool: ToolCall, items: Iterable[object]) -> bool:
    asked = _newest_answer(tool, items)
    return asked is not None and not _allows(asked)


def _newest_answer(tool: ToolCall, items: Iterable[object]) -> Question | None:
    asked = [it for it in items if isinstance(it, Question) and it.tool == tool.key and it.by]
    return asked[-1] if asked else None


def _allows(asked: Question) -> bool:
    kinds = {option.id: option.kind for option in asked.options}
    return asked.answer is not None and kinds.get(asked.answer, "").startswith("allow")
