"""What the JupyterLab extension asks of the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import acp_notebook as acp
from acp_notebook.frontend import agents_output, side_panel


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


@pytest.fixture
def shell_with_magics() -> Iterator[Any]:
    made: Any = InteractiveShell(user_ns={})  # type: ignore[no-untyped-call]
    made.run_line_magic("load_ext", "acp_notebook")
    yield made
    made.history_manager.end_session()


@pytest.fixture
def starts(shell_with_magics: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What the offers would start, and how their cells' sources are made."""
    made: list[Any] = []
    monkeypatch.setattr(side_panel, "running_kernel", lambda: SimpleNamespace(shell=shell_with_magics))

    def noted(cell: str, *how: Any) -> str:
        made.append(how)
        return cell

    monkeypatch.setattr(side_panel, "offer_agents_aside", noted)
    yield made
    for value in list(shell_with_magics.user_ns.values()):
        if isinstance(value, acp.Session):
            value.close()


def test_what_the_user_made_since_the_offer_is_not_replaced(
    starts: list[Any], shell_with_magics: Any
) -> None:
    names = shell_with_magics.user_ns
    assert side_panel.offer("cell-1") == "cell-1"
    mine = names["session"] = acp.connect("demo")
    names["session_2"] = "a result"
    [(start, source)] = starts
    started = start("demo", False)
    assert (names["session"], names["session_2"], names["session_3"]) == (mine, "a result", started)
    assert mine.status == "idle"
    assert source(started) == "%load_ext acp_notebook\n%acp_agent demo --as session_3"
    assert side_panel.cell_for(started._live_panel().model_id, "x") == {
        "cell": "cell-1",
        "source": source(started),
    }


def test_of_the_offers_in_side_panels_only_a_few_stay_open() -> None:
    def start(agent: str, install: str | bool) -> Any:
        raise AssertionError

    models = [agents_output.offer_agents_aside(f"c{at}", start, str) for at in range(6)]
    kept = [it.widget.model_id for it in agents_output._aside]
    assert kept == models[-agents_output.MOST_ASIDE :]
