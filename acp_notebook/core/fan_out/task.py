"""A run as data, on its way to a worker and back: the task, the result, and their bytes.

Versioned, because a worker may have another version of the package. No secret travels: an environment
variable is named here, and its value is the worker's own.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from ..audit import Entry
from ..changes import Version
from ..records import Json, TokenUsage, build
from .rows import RunState

VERSION = 1

MOST_RESULT_BYTES = 20 * 2**20
"""A result with more changed bytes than this keeps the names of its files, but not their content."""

Retry = Literal["unsent", "rate_limit", "folder"]
"""Why a failed run can be done again: it certainly sent no prompt, a rate limit refused it, or the worker
does not have the folder."""


class IncompatibleVersion(Exception):
    """The bytes are of another version of the package, or no task or result at all."""


class AgentSpec(Struct, frozen=True, omit_defaults=True):
    """An agent of a fan-out: a name or command, which the worker resolves, and how to set it up."""

    agent: str | tuple[str, ...]
    label: str
    args: tuple[str, ...] = ()
    config: Mapping[str, str | bool] = {}
    """Options of the session, such as the model."""


class FolderSpec(Struct, frozen=True, omit_defaults=True):
    """Where a run's copy of the folder comes from."""

    kind: Literal["git", "plain"]
    source: str
    """A private folder: a repository, or a copy of the user's folder, of which each run gets a copy."""
    name: str = "folder"
    """What the copies are called: programs may show or use the name of a project's folder."""
    commit: str = ""
    tree: str = ""
    bundled: str = ""
    """The same tree as a commit without history, as a worker gets it that does not share our disk."""
    exclude: str = ""
    """What git ignores in addition to the ignore files in the folder."""
    below: str = ""
    """The folder to work in, below the top of the copy."""
    nonce: str = ""
    """The content of a file in `source`: a worker that finds it there shares our disk."""
    share: tuple[tuple[str, str], ...] = ()
    """Files and folders that git ignores, to be linked: the real path, and the path below the top."""


class ScoreSpec(Struct, frozen=True, omit_defaults=True):
    """How a run is scored: by a command, by a judge, or by a function that travels next to the task."""

    kind: Literal["command", "judge", "function"]
    command: str = ""
    judge: AgentSpec | None = None
    rubric: str = ""
    seconds: float = 0.0
    """The time limit."""


class Task(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run: a prompt for an agent in its own copy of a folder."""

    version: int = msgspec.field(default_factory=lambda: VERSION)
    id: str
    prompt: tuple[Json, ...]
    """Content in its JSON form; {"type": "path", "path": …} is a file below the folder."""
    agent: AgentSpec
    folder: FolderSpec
    fields: Mapping[str, Json] = {}
    permissions: str | Mapping[str, str] = "allow-in-copy"
    setup: str | None = None
    setup_seconds: float = 0.0
    score: ScoreSpec | None = None
    max_seconds: float | None = None
    max_tool_calls: float | None = None
    max_cost: float | None = None
    env: tuple[str, ...] | None = None
    """The names of the variables that the agent gets; None: those that it gets by default."""
    token: Mapping[str, str] = {}
    """How the worker learns that the run is cancelled, and that it was started before: see `tokens`."""


class ChangedFile(Struct, frozen=True):
    """A file that a run changed, relative to the top of the copy. None: it does not exist."""

    path: str
    before: Version | None = None
    after: Version | None = None
    why_not: str | None = None
    """Why its content is not here."""


class ErrorInfo(Struct, frozen=True):
    """An error that ended a run: the name of its type, and its text."""

    type: str
    text: str

    def __str__(self) -> str:
        return self.text


class Result(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run came to."""

    version: int = msgspec.field(default_factory=lambda: VERSION)
    id: str
    state: RunState
    stop_reason: str | None = None
    text: str = ""
    transcript: str = ""
    """As a notebook file keeps it: `saved_transcript`."""
    usage: TokenUsage | None = None
    cost: float | None = None
    currency: str | None = None
    more_costs: Mapping[str, float] = {}
    """What a judge cost in other currencies, by currency."""
    tool_calls: int = 0
    files: tuple[ChangedFile, ...] = ()
    patch: bytes = b""
    score: float | None = None
    score_text: str | None = None
    score_error: str | None = None
    audit: tuple[Entry, ...] = ()
    seconds: float = 0.0
    times: Mapping[str, float] = {}
    """Seconds of each step: copy, setup, start, turn, score."""
    host: str = ""
    package: str = ""
    """The version of the package on the worker."""
    agent_version: str | None = None
    limit: str | None = None
    """The limit that stopped the turn."""
    error: ErrorInfo | None = None
    retry: Retry | None = None
    rate_limited: bool = False
    """It ended with a rate limit. It is only tried again (`retry`) if it certainly did nothing."""
    retry_after: float | None = None
    """How long the agent asks to wait after a rate limit."""


build(Task, Result)

T = TypeVar("T", Task, Result)
U = TypeVar("U")


_NOT_UTF_8 = 1
"""The code of a text that UTF-8 cannot encode: names of files may be any bytes."""


def encoded(data: object) -> bytes:
    """As MessagePack."""
    try:
        return msgspec.msgpack.encode(data)
    except UnicodeEncodeError:
        return msgspec.msgpack.encode(_marked(msgspec.to_builtins(data, builtin_types=(bytes,))))


def decoded(data: bytes, cls: type[U]) -> U:
    """Raises msgspec.DecodeError."""
    return msgspec.convert(msgspec.msgpack.decode(data, ext_hook=_unmarked), cls)


def _marked(value: Any) -> Any:
    match value:
        case str():
            try:
                value.encode()
            except UnicodeEncodeError:
                return msgspec.msgpack.Ext(_NOT_UTF_8, value.encode(errors="surrogatepass"))
        case dict():
            return {name.encode(errors="replace").decode(): _marked(it) for name, it in value.items()}
        case list() | tuple():
            return [_marked(it) for it in value]
    return value


def _unmarked(code: int, data: memoryview) -> str:
    if code != _NOT_UTF_8:
        raise msgspec.DecodeError(f"it has an extension {code}")
    return bytes(data).decode(errors="surrogatepass")


def to_bytes(data: Task | Result) -> bytes:
    return zlib.compress(encoded(data), 1)


def task_from(data: bytes) -> Task:
    return _read(data, Task)


def result_from(data: bytes) -> Result:
    return _read(data, Result)


def _read(data: bytes, cls: type[T]) -> T:
    """Raises IncompatibleVersion."""
    try:
        raw = zlib.decompress(data)
        version = decoded(raw, _Versioned).version
        if version != VERSION:
            raise IncompatibleVersion(
                f"it has format {version}, and this acp_notebook reads format {VERSION}: install "
                "the same version of acp_notebook on all machines"
            )
        return decoded(raw, cls)
    except (zlib.error, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise IncompatibleVersion(f"it cannot be read: {error}") from None


class _Versioned(Struct):
    version: int
