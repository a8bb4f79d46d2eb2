"""What the JupyterLab extension asks of the kernel."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from acp_notebook.frontend import side_panel


class Shell:
    """As much of IPython's shell as is asked for variables."""

    def __init__(self, **names: Any) -> None:
        self.user_ns = names
        self.user_ns_hidden: dict[str, Any] = {}


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Shell:
    made = Shell(total=1, rate=2.5, df=[1], helper=len, pytest=pytest, _hidden=3, Kind=int)
    monkeypatch.setattr(side_panel, "running_kernel", lambda: SimpleNamespace(shell=made))
    return made


@pytest.mark.parametrize(
    "source, names",
    [
        ("rate * total + rate", ["rate", "total"]),
        ("print(total)\nhelper(pytest, Kind, _hidden)", ["total"]),
        ("df.rate", ["df"]),
        ("x = 'total'  # rate", []),
        ("total = (rate", ["total", "rate"]),  # not valid: perhaps that is what is asked about
        ("%time total", ["total"]),
        ("'''unfinished total", []),
    ],
)
def test_the_variables_that_code_uses(shell: Shell, source: str, names: list[str]) -> None:
    assert side_panel.variables_in(source) == names


def test_at_most_a_few_variables_are_named(shell: Shell) -> None:
    shell.user_ns |= {f"v{at}": at for at in range(20)}
    found = side_panel.variables_in(" + ".join(f"v{at}" for at in range(20)))
    assert found == [f"v{at}" for at in range(side_panel.MOST_VARIABLES)]


def test_the_cell_of_a_session_starts_it_again() -> None:
    assert side_panel._source("session", "demo") == "%load_ext acp_notebook\n%acp_agent demo"
    line = side_panel._source("session_2", "my agent").splitlines()[1]
    assert line == "%acp_agent 'my agent' --as session_2"
