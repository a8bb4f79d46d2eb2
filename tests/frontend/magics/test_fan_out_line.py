"""%%acp --agents: one prompt for several agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_notebook.errors import UsageError
from acp_notebook.frontend.magics.completion import CompletionSources, CursorContext, complete
from acp_notebook.frontend.magics.fan_out_line import is_fan_out, parse_fan_out

KNOWN = CompletionSources(("demo", "gemini"), ("session", "other"), (), {}, {}, Path())


def test_the_line_is_recognised() -> None:
    assert is_fan_out("--agents demo") and is_fan_out("--as x --agents=demo,other")
    assert not is_fan_out("") and not is_fan_out("session") and not is_fan_out("--cached agents")


def test_the_options_are_those_of_fan_out() -> None:
    line = parse_fan_out('--agents "claude, codex" --attempts 2 --score "pytest -q" --max-cost 5 --as tries')
    assert line.name == "tries"
    assert line.options() == {
        "agents": ["claude", "codex"],
        "attempts": 2,
        "score": "pytest -q",
        "max_cost": 5.0,
    }
    assert parse_fan_out("--agents=demo").options() == {"agents": ["demo"], "attempts": 1}


@pytest.mark.parametrize(
    "line", ["--agents", "--agents ,", "--agents demo other", "--agents demo --attempts x", '--agents "demo']
)
def test_a_bad_line_is_a_usage_error(line: str) -> None:
    with pytest.raises(UsageError, match="%%acp --agents"):
        parse_fan_out(line)


@pytest.mark.parametrize(
    ("text", "fragment", "texts"),
    [
        (" --", "--", ["--cached", "--agents"]),
        (" --agents de", "de", ["demo"]),
        (" --agents demo,", "", ["gemini"]),
        (" --agents demo --at", "--at", ["--attempts", "--at-once"]),
        (" --agents demo s", "s", []),
        (" ses", "ses", ["session"]),
    ],
)
def test_it_is_completed(text: str, fragment: str, texts: list[str]) -> None:
    assert complete(CursorContext("%%acp", text), KNOWN) == (fragment, texts)
