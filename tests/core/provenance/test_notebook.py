"""A notebook of what an agent ran: valid, the same every time, and no code that was not run."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from acp_notebook.core.provenance import HistoryCell, to_notebook
from acp_notebook.core.provenance.notebook import MISSING
from acp_notebook.core.records import (
    AskedSession,
    Image,
    KernelRun,
    RunCell,
    RunDisplay,
    RunError,
    RunOutput,
    RunStream,
    Text,
)
from acp_notebook.core.snapshot import Item, Message, ToolCall, TurnStart
from acp_notebook.notebook.history import as_python
from tests.headless import nbformat

PNG = "iVBORw0KGgo="


def turn(*runs: KernelRun, prompt: str = "Do it", answer: str = "Done.", key: str = "t1") -> list[Item]:
    calls = [
        ToolCall(f"{key}.{at}", key, f"{key}.{at}", "Run", "execute", "completed", (run,))
        for at, run in enumerate(runs)
    ]
    start = TurnStart(key, key, 1, "done", (Text(prompt),))
    return [start, *calls, Message(f"{key}.m", key, "agent", (Text(answer),))]


def run(
    code: str, *outputs: RunOutput, status: str = "ok", after: int | None = None, **more: Any
) -> KernelRun:
    return KernelRun("run1", code, status, outputs=outputs, after=after, **more)


def made(items: list[Item], *history: str, failed: int = 0, only: str | None = None) -> list[dict[str, Any]]:
    cells = [HistoryCell(at, it, at == failed) for at, it in enumerate(history, 1)]
    notebook = to_notebook(items, as_python, title="What demo ran", history=cells, turn=only)
    nbformat.validate(nbformat.from_dict(notebook))
    again = to_notebook(items, as_python, title="What demo ran", history=cells, turn=only)
    assert json.dumps(notebook) == json.dumps(again)
    return list(notebook["cells"])


def code(cells: list[dict[str, Any]]) -> list[str]:
    return [it["source"] for it in cells if it["cell_type"] == "code"]


def texts(cells: list[dict[str, Any]]) -> str:
    return "\n".join(it["source"] for it in cells if it["cell_type"] == "markdown")


def test_prompt_code_outputs_and_answer_come_in_their_order() -> None:
    outputs = (
        RunStream("stdout", "1\n"),
        RunDisplay("fig", Image(PNG, "image/png")),
        RunDisplay("t", None, (("a",), ("<b>",))),
    )
    cells = made(turn(run("print(1)", *outputs, purpose="Count *it*")))
    assert [it["cell_type"] for it in cells] == ["markdown", "markdown", "markdown", "code", "markdown"]
    assert "Do it" in cells[1]["source"] and cells[2]["source"] == r"Count \*it\*"
    assert cells[4]["source"] == "Done."
    stream, figure, table = cells[3]["outputs"]
    assert stream == {"output_type": "stream", "name": "stdout", "text": "1\n"}
    assert figure["data"] == {"text/plain": "fig", "image/png": PNG}
    assert table["data"]["text/html"] == "<table><tr><th>a</th></tr><tr><td>&lt;b&gt;</td></tr></table>"


def test_the_users_cells_that_the_code_needs_come_first() -> None:
    items = turn(run("print(df, x)", after=4))
    cells = made(
        items, "import pandas as pd", "df = pd.DataFrame()", "unused = 1", "%%acp\nDo it", "df = None"
    )
    assert code(cells) == [f"{MISSING}\n# x", "import pandas as pd", "df = pd.DataFrame()", "print(df, x)"]
    assert "[1], [2]" in texts(cells)


def test_cells_that_ran_between_two_turns_stay_between_them() -> None:
    items = [*turn(run("a = df", after=1)), *turn(run("b = df + a", after=2), key="t2")]
    assert code(made(items, "df = 1", "df = 2")) == ["df = 1", "a = df", "df = 2", "b = df + a"]


def test_one_turn_brings_the_earlier_code_that_it_depends_on() -> None:
    items = [*turn(run("a = 1"), run("c = 1")), *turn(run("a + 1"), key="t2")]
    cells = made(items, only="t2")
    assert code(cells) == ["a = 1", "a + 1"] and "Earlier code of the agent" in texts(cells)


def test_code_that_failed_keeps_its_error_and_does_not_stop_the_others() -> None:
    failed = run("1 / 0", RunError("ZeroDivisionError", "division", "a\nb"), status="error")
    [cell] = [it for it in made(turn(failed)) if it["cell_type"] == "code"]
    assert cell["metadata"] == {"tags": ["raises-exception"]}
    assert cell["outputs"][0]["traceback"] == ["a", "b"]


def test_code_that_was_stopped_or_refused_is_shown_and_not_run() -> None:
    refused = run("exit()", RunError("Refused", "exit() would end", ""), status="error")
    cells = made(turn(run("while True: pass", status="interrupted"), refused))
    assert code(cells) == []
    assert "while True: pass" in texts(cells) and "exit()" in texts(cells)


def test_code_that_never_ran_is_left_out() -> None:
    runs = [run(f"never_{it}", status=it) for it in ("waiting", "busy", "refused", "running")]
    cells = made(turn(*runs))
    assert code(cells) == [] and "never" not in texts(cells) and "ran no code" in texts(cells)


def test_code_that_asks_an_agent_is_shown_and_not_run() -> None:
    """Attack: to run the notebook must not spend money."""
    items = turn(
        run("import acp_notebook as acp\nacp.connect('kimi').prompt('go')"),
        run("session.prompt('x')", after=1),
    )
    cells = made(items, "%acp_agent demo")
    assert code(cells) == [] and "session.prompt" in texts(cells)


def test_cells_that_the_agent_ran_are_not_repeated_as_the_users() -> None:
    cells = (
        RunCell("c1", "ok", "x = 1", 3, (RunStream("stdout", "a"),)),
        RunCell("c2", "skipped", "y", None),
    )
    items = turn(KernelRun("r", "x = 1\n\ny", "ok", cells=cells))
    assert code(made(items, "a = 1", "%%acp", "x = 1")) == ["x = 1"]


def test_a_call_of_a_users_function_is_written_as_python() -> None:
    values = {"n": 1, "ok": True, "none": None, "far": float("inf"), "class": ["a'b", {"k": -0.5}]}
    arguments = tuple((name, json.dumps(it)) for name, it in values.items())
    call = KernelRun("r", "", "ok", function="load", arguments=arguments, after=1)
    source = "load(n=1, ok=True, none=None, far=float(\"inf\"), **{'class': [\"a'b\", {'k': -0.5}]})"
    assert code(made(turn(call), "def load(**k): ...")) == ["def load(**k): ...", source]


def test_a_call_of_an_async_function_is_awaited() -> None:
    call = KernelRun("r", "", "ok", function="load", after=1)
    assert code(made(turn(call), "async def load(): ..."))[-1] == "await load()"
    assert code(made(turn(call), "async def load(): ...\ndef load(): ..."))[-1] == "load()"


def test_what_another_agent_was_asked_is_named_and_not_run() -> None:
    call = KernelRun("r", "", "ok", function="ask_kimi", session=AskedSession("kimi", 1))
    cells = made(turn(call))
    assert code(cells) == []
    assert "*Not repeated here: the agent asked: `kimi`.*" in texts(cells)


def test_a_hostile_answer_stays_text() -> None:
    """Attack: a markdown cell is rendered as soon as the notebook is opened."""
    cells = made(
        turn(answer="<img src=x onerror=alert(1)> ![a](http://evil.example/x.png)", prompt="`" * 30_000)
    )
    assert r"\<img" in texts(cells) and r"\![a]" in texts(cells)
    assert len(texts(cells)) < 50_000


SOURCES = st.sampled_from(["x = 1", "%time y = x", "!ls", "1 +", "f(", "import acp_notebook", "print(z)", ""])
RUNS = st.builds(
    run,
    SOURCES,
    st.just(RunStream("stdout", "ü\ud800")),
    status=st.sampled_from(["ok", "error", "interrupted", "busy"]),
    after=st.one_of(st.none(), st.integers(0, 4)),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(RUNS, max_size=4), st.lists(SOURCES, max_size=4))
def test_any_session_gives_a_valid_notebook_with_unique_ids(
    runs: list[KernelRun], history: list[str]
) -> None:
    cells = made(turn(*runs), *history)
    assert len({it["id"] for it in cells}) == len(cells)
    assert not any("acp_notebook" in it for it in code(cells))


def test_a_long_answer_is_cut_so_that_what_was_code_does_not_become_html() -> None:
    """Attack: an image of another host in a code span whose end is cut off."""
    evil = f"``{'<img src=http://host/x.png> ' * 2000}``"
    shown = texts(made(turn(run("x = 1"), answer=evil, prompt=evil)))
    assert len(shown) < 50_000 and "more characters" in shown
    assert "<img" not in MarkdownIt("commonmark").render(shown)


def test_a_call_with_a_number_that_is_a_secret_is_written_without_it() -> None:
    called = run("", function="pay", arguments=(("pin", "[redacted]"), ("list", "[1, [redacted]]")))
    assert (
        code(made(turn(called), "def pay(pin, list): ..."))[-1]
        == "pay(pin='[redacted]', list='[1, [redacted]]')"
    )
