"""fan_out(): reads the arguments, takes the snapshot, plans the runs, and starts them in the background."""

from __future__ import annotations

import atexit
import os
import platform
import secrets
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import Any

import msgspec

from ... import timeouts
from ...agent import loop
from ...agent.copies.copy import CopyFailed, Snapshot
from ...agent.copies.make import snapshot
from ...core.fan_out.budget import Totals
from ...core.fan_out.in_copy import IN_COPY, RunPermissions, checked_permissions
from ...core.fan_out.plan import (
    PlannedRun,
    Prompt,
    agents_of,
    identity_of,
    keys_of,
    planned,
    prompts_of,
    unfilled_of,
)
from ...core.fan_out.task import Result, ScoreSpec, Task
from ...core.limits import Limits
from ...core.prompt import content_of
from ...core.records import Json, plain
from ...errors import Error, UsageError
from ...log import logger, suppressed
from ...notebook.content import contents
from ..launcher import check_for_runs
from . import dask
from .board import Board
from .dispatcher import Dispatcher, Engine, Plan
from .embedded import EmbeddedEngine
from .judge import Judge
from .record import RecordFolder
from .remote import RemoteEngine
from .run import Run
from .runs import Runs
from .scoring import Scorer

_log = logger(__name__)

AT_ONCE = 4
"""Agents of one kernel at a time: an agent in Node takes 150 to 400 MB, and providers limit the rate."""

RIGHTS = (
    "Each run works in its own copy of the folder. What agents do with commands and with their own tools, "
    "and setup= and score=, run with your rights: a copy does not keep them from other files"
)

GivenAgents = str | Mapping[str, Any] | Iterable[str | Sequence[str] | Mapping[str, Any]]
GivenScore = str | Scorer | Judge | None


@dataclass(frozen=True)
class _Options:
    """What all tasks of a fan-out have in common."""

    permissions: RunPermissions
    setup: str | None
    setup_seconds: float
    score: ScoreSpec | None
    limits: Limits
    env: tuple[str, ...] | None


def fan_out(
    prompts: Any,
    *,
    agents: GivenAgents | None = None,
    attempts: int = 1,
    for_each: Any = None,
    cwd: str | Path = ".",
    score: GivenScore = None,
    at_once: int | None = None,
    executor: Executor | None = None,
    setup: str | None = None,
    share: Iterable[str | Path] = (),
    permissions: str | Mapping[str, str] = IN_COPY,
    env: Iterable[str] | None = None,
    max_seconds: float | None = None,
    max_tool_calls: float | None = None,
    max_cost: float | None = None,
    max_total_seconds: float | None = None,
    max_total_tool_calls: float | None = None,
    max_total_cost: float | None = None,
    stop_when: Callable[[Runs], bool] | None = None,
    record: str | Path | None = None,
    setup_seconds: float | None = None,
    score_seconds: float | None = None,
) -> Runs:
    """Give prompts to several agents, each run in its own copy of the folder, and return the table of runs.

    Returns at once, and the runs go on in the background: `runs.wait()` waits for them, `runs.best()` is the
    best, `run.apply()` brings its changes here. A run never raises: see `run.state` and `run.error`.

    `prompts` is a text, a list of prompts, a mapping from names to prompts, or a table (a data frame, or a
    mapping from names to columns) with a column "prompt". A prompt is a text or a list of parts, as in
    `session.prompt`. In texts, `{name}` is replaced by the column of that name. `for_each` runs every prompt
    for each item: of a list of paths, such as `glob("*.ipynb")`, with the fields `{path}`, `{name}` and
    `{stem}`; of a table, with its columns. Runs can also be given, to do them again: `runs.failed`.

    `agents` are names or commands, as for `connect`, or mappings such as {"agent": "claude", "config":
    {"model": "opus"}, "label": "opus"}. Every prompt is run `attempts` times by each of them.

    Every run gets a copy of `cwd` as it is now, with uncommitted and new files: of a git repository, all of
    it but what git ignores; of another folder, all of it, up to 200 MB. Your branches, worktrees and index
    are not touched. `share` lists ignored files and folders that runs need (data, .env): they are linked into
    each copy. `setup` is a shell command that is run in each copy first, such as "uv sync".

    `permissions` "allow-in-copy" allows what an agent asks for inside its copy, and rejects everything else;
    "allow", "reject" and a mapping from tool kinds to these are possible. Nobody is asked. What agents do
    with commands and their own tools, `setup` and `score` run with your rights. `env` names the variables
    that agents get; by default, they get those of `connect`.

    `score` is a shell command ("pytest -q": the share of tests that passed, or 1 and 0 by the exit code), a
    function of the run (`folder`, `patch`, `text`, `transcript`, `files`, `prompt`, `fields`) that returns a
    number, or a number and a text; or `acp.judge(agent, rubric)`.

    At most `at_once` runs go on at the same time: by default 4 in this kernel, and as many as an `executor`
    has workers. `executor` is any `concurrent.futures.Executor`, such as Dask's
    `client.get_executor(pure=False)`: its workers need this package, the agents, and their sign-ins.

    `max_seconds`, `max_tool_calls` and `max_cost` limit each run, `max_total_…` all of them together: when a
    total is used up, no more runs are started. `stop_when` is a function of the runs, called after each one;
    when it returns True, the others are stopped. After a rate limit, all runs of that agent wait.

    `record` is a folder in which results are written as runs end. The same call again, perhaps after the
    kernel's death, reads what is done there and runs the rest.
    """
    folder = os.path.abspath(cwd)
    try:
        limits = Limits(max_seconds, max_tool_calls, max_cost)
        totals = Totals(max_total_cost, max_total_seconds, max_total_tool_calls)
        runs = _planned(prompts, agents, attempts, for_each)
        options = _Options(
            checked_permissions(permissions),
            setup,
            _seconds("setup_seconds", setup_seconds, timeouts.get().run_setup),
            _score(score, _seconds("score_seconds", score_seconds, timeouts.get().run_score)),
            limits,
            _names(env),
        )
        contents_of_runs = [_content(it.prompt.parts, folder) for it in runs]
    except ValueError as error:
        raise error if isinstance(error, UsageError) else UsageError(str(error)) from None
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise UsageError(f"executor is {executor!r}; it can be a concurrent.futures.Executor, or None")
    judges = [] if options.score is None or options.score.judge is None else [options.score.judge]
    if not os.path.isdir(folder):
        raise UsageError(f"{folder} is not a folder")
    for named in dict.fromkeys(it.agent for it in (*(run.agent for run in runs), *judges)):
        check_for_runs(named, folder)
    width = _at_once(at_once, executor)
    kept = None if record is None else RecordFolder(record)
    try:
        base = snapshot(folder, share, [] if kept is None else [str(kept.path)])
    except CopyFailed as error:
        raise Error(str(error)) from None
    board = Board(runs, width, platform.node())
    board.give_notice(RIGHTS)
    unfilled = unfilled_of([it.prompt for it in runs])
    for note in (*base.notes, *([unfilled] if unfilled else [])):
        board.give_notice(note)
    id = secrets.token_hex(6)
    tasks = [
        _task(f"{id}-{it.index}", it, content, base, options)
        for it, content in zip(runs, contents_of_runs, strict=True)
    ]
    function = score if callable(score) and not isinstance(score, Judge) else None
    engine = _engine(executor, board, base, function, tasks, id)
    keys = [] if kept is None else keys_of(runs, contents_of_runs, _common(options, function, folder, kept))
    found = Runs(board, base.top)
    plan = Plan(
        width,
        totals,
        None if stop_when is None else partial(stop_when, found),
        _kept_results(board, kept, keys),
    )
    _start(board, tasks, engine, plan)
    return found


def _planned(
    prompts: Any, agents: GivenAgents | None, attempts: int, for_each: Any
) -> tuple[PlannedRun, ...]:
    given = [*prompts] if isinstance(prompts, list | tuple) else []
    if given and all(isinstance(it, Run) for it in given):
        entries = [it._entry.run for it in given]
        if agents is None:
            again = [(it.prompt, it.agent, it.attempt) for it in entries]
            return tuple(PlannedRun(index, *it) for index, it in enumerate(again))
        chosen: tuple[Prompt, ...] = tuple(it.prompt for it in entries)
    else:
        chosen = prompts_of(prompts, for_each)
    return planned(chosen, agents_of("demo" if agents is None else agents), attempts)


def _score(score: GivenScore, seconds: float) -> ScoreSpec | None:
    match score:
        case None:
            return None
        case str() if score.strip():
            return ScoreSpec("command", score, seconds=seconds)
        case Judge(agent=agent, rubric=rubric):
            return ScoreSpec("judge", judge=agent, rubric=rubric, seconds=seconds)
        case _ if callable(score):
            return ScoreSpec("function", seconds=seconds)
    raise ValueError(f"score is {score!r}; it can be a command, a function of the run, or acp.judge(…)")


def _seconds(name: str, given: float | None, default: float) -> float:
    if given is None:
        return default
    if isinstance(given, bool) or not isinstance(given, int | float) or not given > 0:
        raise ValueError(f"{name} is {given!r}; it can be a number above 0, or None")
    return given


def _names(env: Iterable[str] | None) -> tuple[str, ...] | None:
    if isinstance(env, str | Mapping):
        raise ValueError("env is a list of the names of variables: their values are those of the worker")
    return None if env is None else tuple(env)


def _at_once(given: int | None, executor: Executor | None) -> int:
    if given is None:
        return AT_ONCE if executor is None else RemoteEngine.width(executor) or AT_ONCE
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise UsageError(f"at_once is {given!r}; it can be a number from 1 on")
    return given


def _engine(
    executor: Executor | None,
    board: Board,
    base: Snapshot,
    function: Scorer | None,
    tasks: Sequence[Task],
    id: str,
) -> Engine:
    agents = [it.agent for it in tasks]
    if executor is None:
        return EmbeddedEngine(board, base, function)
    if dask.is_dask(executor):
        return dask.DaskEngine(executor, board, base, function, agents, id)
    return RemoteEngine(executor, board, base, function, agents)


def _kept_results(
    board: Board, kept: RecordFolder | None, keys: Sequence[str]
) -> Callable[[int, Result], None] | None:
    """Enter the results that an earlier call has written, and return the function that writes the others."""
    if kept is None:
        return None
    for index, key in enumerate(keys):
        if (result := kept.read(key)) is not None:
            board.enter_recorded(index, result)
    if count := sum(it.recorded for it in board.entries):
        board.give_notice(f"{count} of the runs were done before and are read from {kept.path}")

    def write(index: int, result: Result) -> None:
        try:
            kept.write(keys[index], result)
        except OSError as error:
            board.give_notice(f"results cannot be written to {kept.path}: {error.strerror}")

    return write


def _common(options: _Options, function: Scorer | None, folder: str, kept: RecordFolder) -> Json:
    """What tells this call from others that write to the same folder. Limits do not count: a run that is done
    kept them. Nor does the content of the folder: it may change between a call and its repetition."""
    score = None if options.score is None else msgspec.structs.replace(options.score, seconds=0.0)
    place = os.path.relpath(os.path.realpath(folder), os.path.realpath(kept.path))
    parts = [options.permissions, options.setup, score, function and identity_of(function), place]
    return msgspec.to_builtins(parts)


_active: weakref.WeakSet[Board] = weakref.WeakSet()


def _start(board: Board, tasks: Sequence[Task], engine: Engine, plan: Plan) -> None:
    async def run() -> None:
        await Dispatcher(board, tasks, engine, plan).run()

    if not _active:
        # Registered after the folders of the runs, so that it is called before they are removed.
        atexit.unregister(_stop_all)
        atexit.register(_stop_all)
    _active.add(board)
    loop.submit(run())


def _stop_all() -> None:
    """At the interpreter's exit: end the runs, so that nothing is written after their copies are removed."""
    boards = [it for it in _active if not it.over.done()]
    for board in boards:
        board.cancel()
    for board in boards:
        with suppressed(_log, TimeoutError):
            board.over.exception(timeouts.get().run_stop)


def _task(id: str, run: PlannedRun, content: tuple[Json, ...], base: Snapshot, options: _Options) -> Task:
    return Task(
        id=id,
        prompt=content,
        agent=run.agent,
        folder=base.spec,
        fields=run.prompt.fields,
        permissions=options.permissions,
        setup=options.setup,
        setup_seconds=options.setup_seconds,
        score=options.score,
        max_seconds=options.limits.max_seconds,
        max_tool_calls=options.limits.max_tool_calls,
        max_cost=options.limits.max_cost,
        env=options.env,
    )


def _content(parts: tuple[Any, ...], cwd: str) -> tuple[Json, ...]:
    """The prompt as JSON. A file is named relative to the folder, because the run has a copy of it."""
    made: list[Json] = []
    for part in parts:
        if isinstance(part, PurePath):
            path = os.path.relpath(os.path.join(cwd, part), cwd)
            if path.startswith(".."):
                raise UsageError(f"{part} is not in {cwd}, so the runs have no copy of it")
            made.append({"type": "path", "path": path})
        else:
            content, _ = content_of([part], cwd, contents)
            made += plain(content)
    return tuple(made)
