"""A real agent asks another real agent: the answer, the questions of both, the links, and a cancel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.core.snapshot import Question
from tests.agents.mock_model import do, kernel, say, script, talk
from tests.real.conftest import Starter, installed
from tests.waiting import wait_until

pytestmark = [pytest.mark.real_agent, pytest.mark.slow]

LIMIT_S = 300.0
"""For a turn, and for the start of an agent."""

Start = Callable[..., acp.Session]


@pytest.fixture
def start(model: str, tmp_path: Path) -> Iterator[Start]:
    """Starts an agent by its name, each in a folder and a home of its own."""
    starters: list[Starter] = []

    def started(name: str, **options: Any) -> acp.Session:
        folder = tmp_path / f"{name}{len(starters)}"
        folder.mkdir()
        starters.append(Starter(*installed(name, model, folder), folder))
        return starters[-1](**options)

    yield started
    for starter in starters:
        starter.close()
        starter.sent()


def ask(name: str, *steps: dict[str, Any]) -> dict[str, Any]:
    """Ask the other agent, whose model does these steps."""
    return kernel("call_function", name=name, arguments={"prompt": script(*steps)})


PAIRS = [("claude", "kimi"), ("kimi", "claude"), ("claude", "gemini"), ("claude", "claude")]


@pytest.mark.parametrize(
    ("outer", "inner"),
    [pytest.param(*it, id="-".join(it), marks=pytest.mark.slow if at else ()) for at, it in enumerate(PAIRS)],
)
def test_one_asks_the_other_which_asks_the_user(start: Start, outer: str, inner: str, tmp_path: Path) -> None:
    asked: list[str] = []

    def policy(request: Any) -> str:
        asked.append(request.kind)
        return "allow"

    writer, reviewer = start(outer, tools=True), start(inner, permissions=policy)
    writer.tool(reviewer, name="reviewer", description="Reviews diffs.")
    path = Path(reviewer.cwd) / "review.txt"
    steps = do("write", path=str(path), text="Fine.\n"), say("I wrote a review.")
    turn = writer.prompt(script(ask("reviewer", *steps), say("{result}")))
    assert "I wrote a review." in turn.text and "review.txt" in turn.text
    assert path.read_text() == "Fine.\n" and "edit" in asked
    (run,) = turn.runs
    assert run.session is not None and run.session.turn == 1 and run.session.id == reviewer.id
    (answered,) = reviewer.turns
    assert answered.asked_by is not None and answered.asked_by.turn == 1
    who = {it.who for it in answered.items if isinstance(it, Question)}
    assert who == {f"{reviewer.agent.name} (reviewer) asks, for {writer.agent.name}"}


def test_cancelling_the_turn_of_one_cancels_that_of_the_other(start: Start) -> None:
    writer, reviewer = start("claude", tools=True), start("claude_agent")
    writer.tool(reviewer)
    (tool,) = writer.tools
    turn = writer.start(script(ask(tool.name, talk()), say("never")))
    wait_until(lambda: bool(reviewer.turns) and len(reviewer.turns[0].text) > 20, "it talks", LIMIT_S)
    turn.cancel()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    assert reviewer.turns[0].wait(LIMIT_S).stop_reason == "cancelled"
    assert "never" not in turn.text
    again = writer.prompt(script(ask(tool.name, say("here again")), say("{result}")))
    assert "here again" in again.text
