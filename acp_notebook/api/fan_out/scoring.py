"""Scores a run where its copy is: by a command, a function of the user, or a judge. Bounded in time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...agent.copies.commands import ShellCommand
from ...core.changes import FileChange
from ...core.fan_out.scores import command_score, judge_prompt, returned_score, verdict_in
from ...core.fan_out.task import AgentSpec, ChangedFile, ScoreSpec
from ...core.records import Json
from ...core.snapshot import Snapshot
from ...errors import Error
from .stop import Stop

Scorer = Callable[["ScoredRun"], Any]
"""The user's function: returns a number, or a number and a text."""

Ask = Callable[[AgentSpec, str, float], str]
"""Asks a judge, and returns its answer. Raises Error."""


@dataclass(frozen=True)
class ScoredRun:
    """What a score function gets to see of a run."""

    folder: Path
    """The run's copy, as the agent left it. It is removed when the function has returned."""
    prompt: str
    agent: str
    text: str
    """The agent's messages."""
    patch: str
    transcript: Snapshot
    files: tuple[ChangedFile, ...]
    changes: tuple[FileChange, ...]
    fields: Mapping[str, Json]
    """The values that were filled into the prompt."""


@dataclass(frozen=True)
class Scored:
    score: float | None = None
    text: str | None = None
    error: str | None = None


def score_run(spec: ScoreSpec, run: ScoredRun, function: Scorer | None, ask: Ask, stop: Stop) -> Scored:
    """The score, or why there is none."""
    try:
        if spec.kind == "command":
            return _by_command(spec, run, stop)
        if spec.kind == "judge":
            return _by_judge(spec, run, ask)
        return _by_function(spec, run, function, stop)
    except (Error, ValueError, OSError) as error:
        return Scored(error=f"no score: {error}")


def _by_command(spec: ScoreSpec, run: ScoredRun, stop: Stop) -> Scored:
    command = ShellCommand(spec.command, str(run.folder))
    with stop.calling(command.stop):
        outcome = command.wait(spec.seconds)
    if outcome.code is None:
        return Scored(error="no score: cancelled" if stop.is_set else _too_long(spec))
    score, words = command_score(outcome.code, outcome.output)
    return Scored(score, words)


def _by_judge(spec: ScoreSpec, run: ScoredRun, ask: Ask) -> Scored:
    assert spec.judge is not None
    answer = ask(spec.judge, judge_prompt(spec.rubric, run.prompt, run.text, run.patch), spec.seconds)
    try:
        score, reason = verdict_in(answer)
    except ValueError as error:
        return Scored(error=f"no score: {error}")
    return Scored(score, reason or None)


def _by_function(spec: ScoreSpec, run: ScoredRun, function: Scorer | None, stop: Stop) -> Scored:
    """On a thread of its own: one that does not return is left behind."""
    if function is None:
        return Scored(error="no score: the function did not arrive at the worker")
    done: Future[Any] = Future()

    def call() -> None:
        try:
            done.set_result(function(run))
        except BaseException as error:  # of the user's function, SystemExit included
            done.set_exception(error)

    threading.Thread(target=call, name="acp-score", daemon=True).start()
    stopped: Future[Any] = Future()
    with stop.calling(lambda: stopped.set_result(None)):
        wait([done, stopped], spec.seconds, return_when=FIRST_COMPLETED)
    if not done.done():
        return Scored(error="no score: cancelled" if stop.is_set else _too_long(spec))
    if (error := done.exception()) is not None:
        return Scored(error=f"no score: the function raised {type(error).__name__}: {error}")
    return Scored(*returned_score(done.result()))


def _too_long(spec: ScoreSpec) -> str:
    return f"no score: it took longer than {spec.seconds:g} s"
