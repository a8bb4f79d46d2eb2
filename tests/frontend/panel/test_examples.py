"""The example prompts of an empty panel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from acp_notebook.frontend.magics.completion import CompletionSources
from acp_notebook.frontend.magics.shell_context import shell_context
from acp_notebook.frontend.panel.examples import ALWAYS, example_prompts
from tests.frontend.panel.test_composer import shell
from tests.frontend.panel.test_session_panel import Stage, stage

__all__ = ["shell", "stage"]

FRAME = type("DataFrame", (), {"__module__": "pandas.core.frame"})
FIGURE = type("Figure", (), {"__module__": "matplotlib.figure"})


def prompts(cwd: Path, variables: dict[str, Any], cells: dict[int, str], failed: bool) -> tuple[str, ...]:
    return example_prompts(CompletionSources((), (), (), variables, cells, cwd), failed=failed)


def test_they_fit_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "etl.py").touch()
    variables = {"_old": FRAME(), "raw": FRAME(), "df": FRAME(), "fig": FIGURE()}
    assert prompts(tmp_path, variables, {1: "x"}, True) == (
        "Why did my cell fail with @error?",
        "What stands out in @df?",
        "How can I make @fig clearer?",
    )
    assert prompts(tmp_path, {"n": 1}, {1: "x"}, False) == (
        "Explain @etl.py",
        "Explain @cell:last step by step",
        ALWAYS[0],
    )


def test_names_with_spaces_are_quoted_and_there_are_always_three(tmp_path: Path) -> None:
    assert prompts(tmp_path, {}, {}, False) == ALWAYS
    (tmp_path / "my data.csv").touch()
    assert prompts(tmp_path, {}, {}, False)[0] == 'What is in @"my data.csv"?'
    assert prompts(tmp_path / "nowhere", {}, {}, False) == ALWAYS


def test_an_error_is_new_for_a_few_cells(shell: Any) -> None:
    context = shell_context(shell)
    assert not context.failed_recently()
    context.on_cell_end(shell.run_cell("1 / 0", store_history=True))
    assert context.failed_recently()
    for _ in range(4):
        shell.run_cell("1", store_history=True)
    assert not context.failed_recently()
    context.on_cell_end(shell.run_cell("int('x')", store_history=True))
    assert context.failed_recently()


def test_the_page_gets_them(stage: Stage, shell: Any) -> None:
    stage.hello()
    shell.user_ns["df"] = FRAME()
    stage.say(t="examples", rid="r1", view="v")
    answer = stage.until("examples")
    assert (answer["view"], answer["rid"]) == ("v", "r1")
    assert answer["prompts"][0] == "What stands out in @df?"
