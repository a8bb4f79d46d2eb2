"""judge(): an agent that scores the runs of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.fan_out.plan import agents_of
from ...core.fan_out.task import AgentSpec
from ...errors import UsageError

DEFAULT = "Is the task solved completely and correctly, with no more changes than it needs?"


@dataclass(frozen=True, slots=True)
class Judge:
    """A judge for `score=` of `acp.fan_out`."""

    agent: AgentSpec
    rubric: str


def judge(agent: str | Sequence[str] | Mapping[str, Any], rubric: str = DEFAULT) -> Judge:
    """An agent that scores each run from 0 to 10: `fan_out(…, score=acp.judge("claude", "Is it simple?"))`.

    The judge works in the run's copy of the folder, may read there and change nothing. It gets the task, the
    answer and the patch. Its reason is in `run.score_text`, and its cost is part of the run's.
    """
    if not isinstance(rubric, str) or not rubric.strip():
        raise UsageError("the rubric of a judge is empty: say what to judge, and how")
    try:
        [spec] = agents_of([agent])
    except ValueError as error:
        raise UsageError(str(error)) from None
    return Judge(spec, rubric)
