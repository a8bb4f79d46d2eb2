"""Which runs a fan-out consists of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pytest

from acp_notebook.core.fan_out.plan import agents_of, identity_of, keys_of, planned, prompts_of, unfilled_of


def texts(*given: object, **options: object) -> list[object]:
    return [it.parts[0] for it in prompts_of(*given, **options)]


def test_each_prompt_for_each_agent_and_attempt() -> None:
    runs = planned(prompts_of(["a", "b"]), agents_of(["x", "y"]), 2)
    assert [(it.index, it.prompt.label, it.agent.label, it.attempt) for it in runs][:5] == [
        (0, "a", "x", 1),
        (1, "a", "y", 1),
        (2, "b", "x", 1),
        (3, "b", "y", 1),
        (4, "a", "x", 2),
    ]
    assert len(runs) == 8


def test_a_mapping_names_its_prompts() -> None:
    assert [(it.label, it.parts) for it in prompts_of({"fix": "Fix it", "test": ["Test", 5]})] == [
        ("fix", ("Fix it",)),
        ("test", ("Test", 5)),
    ]


@pytest.mark.parametrize(
    "table",
    [
        {"prompt": ["Fix {file}", "Test {file}"], "file": ["a.py", "b.py"]},
        pd.DataFrame({"prompt": ["Fix {file}", "Test {file}"], "file": ["a.py", "b.py"]}),
        pl.DataFrame({"prompt": ["Fix {file}", "Test {file}"], "file": ["a.py", "b.py"]}),
        [{"prompt": "Fix {file}", "file": "a.py"}, {"prompt": "Test {file}", "file": "b.py"}],
    ],
    ids=["columns", "pandas", "polars", "rows"],
)
def test_a_table_fills_its_prompts(table: object) -> None:
    assert texts(table) == ["Fix a.py", "Test b.py"]
    assert prompts_of(table)[1].fields == {"file": "b.py"}


def test_for_each_path() -> None:
    assert texts("Port {path} ({name}, {stem})", ["d/a.ipynb", Path("b.ipynb")]) == [
        "Port d/a.ipynb (a.ipynb, a)",
        "Port b.ipynb (b.ipynb, b)",
    ]


def test_numbers_of_a_frame_are_plain() -> None:
    [first, _] = prompts_of("{n} and {x}", pd.DataFrame({"n": [1, 2], "x": [0.5, 1.5]}))
    assert first.fields == {"n": 1, "x": 0.5} and type(first.fields["n"]) is int
    assert first.parts == ("1 and 0.5",)


def test_other_braces_stay() -> None:
    code = "Explain {x: 1}, f'{y}' and {path}"
    assert texts(code, ["a.py"]) == ["Explain {x: 1}, f'{y}' and a.py"]
    assert texts("f'{path}'") == ["f'{path}'"]


@pytest.mark.parametrize(
    ("given", "for_each", "message"),
    [
        ("", None, "a prompt is empty"),
        ([], None, "there is no prompt"),
        (5, None, "prompts is a int"),
        ({"prompt": ["a"], "x": [1, 2]}, None, "different lengths"),
        (pd.DataFrame({"x": [1]}), None, 'no column "prompt"'),
        ("Fix it", ["a.py"], "uses none of the fields"),
        ("Fix {path}", "*.py", r"glob\(\"\*\.py\"\)"),
        ("Fix {path}", [], "for_each is empty"),
    ],
)
def test_mistakes_are_explained(given: object, for_each: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        planned(prompts_of(given, for_each), agents_of("demo"))


def test_agents_and_their_labels() -> None:
    given = ["claude", ["node", "agent.js"], {"agent": "claude", "config": {"model": "opus"}}, "claude"]
    found = agents_of(given)
    assert [it.label for it in found] == ["claude", "node", "claude opus", "claude (2)"]
    assert found[2].config == {"model": "opus"} and found[1].agent == ("node", "agent.js")
    with pytest.raises(ValueError, match="it can have agent, args, config, label"):
        agents_of([{"name": "claude"}])
    with pytest.raises(ValueError, match="there is no agent"):
        planned(prompts_of("a"), agents_of([]))
    with pytest.raises(ValueError, match="attempts is 0"):
        planned(prompts_of("a"), agents_of("demo"), 0)


def test_the_query_of_an_address_may_hold_a_secret() -> None:
    [spec] = agents_of("wss://build.example.com/acp?token=SECRET")
    assert spec.label == "build.example.com"
    with pytest.raises(ValueError, match="user or a password") as raised:
        agents_of("wss://me:SECRET@build.example.com/acp")
    assert "SECRET" not in str(raised.value)


def test_the_key_of_a_run_depends_on_prompt_fields_agent_attempt_and_what_all_have_in_common() -> None:
    table = {"prompt": ["a", "a", "b"], "want": [1, 2, 1]}
    runs = planned(prompts_of(table), agents_of(["x", "y"]), 2)
    keys = keys_of(runs, [[{"type": "text", "text": it.prompt.parts[0]}] for it in runs])
    assert len(set(keys)) == 12
    assert keys == keys_of(runs, [[{"text": it.prompt.parts[0], "type": "text"}] for it in runs])
    assert not {*keys} & {*keys_of(runs, [[] for _ in runs], ["another folder"])}


def test_equal_runs_have_a_key_each_and_more_of_them_keep_the_first_ones() -> None:
    runs = planned(prompts_of(["a", "a", "a"]), agents_of("x"))
    keys = keys_of(runs, [[]] * 3)
    assert len({*keys}) == 3 and keys[:2] == keys_of(runs[:2], [[]] * 2)


def test_a_function_is_the_same_if_its_code_and_its_values_are() -> None:
    def limited(limit: int) -> Callable[[str], bool]:
        return lambda text: len(text) < limit

    assert identity_of(limited(3)) == identity_of(limited(3)) != identity_of(limited(4))
    assert identity_of(lambda run: run.text == "a") != identity_of(lambda run: run.text == "b")
    assert identity_of(lambda run: run.text) != identity_of(lambda run: run.patch)
    assert identity_of(len) != identity_of(max)
    own: list[int] = []  # values without a stable text
    other: dict[str, int] = {}
    assert identity_of(lambda: own) != identity_of(lambda: other)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT], ids=["None", "nan", "NA", "NaT"])
def test_a_missing_value_is_no_text(missing: object) -> None:
    """Not "Fix nan", which an agent would take for a name."""
    table = pd.DataFrame({"prompt": ["Fix {file}"] * 2, "file": ["a.py", missing], "more": [missing, 1]})
    with pytest.raises(ValueError, match=r"row 1 has no value for \{file\}"):
        prompts_of(table)
    with pytest.raises(ValueError, match=r"row 1 has no value for \{file\}"):
        prompts_of("Fix {file}", table)
    [prompt] = prompts_of(table[:1])
    assert prompt.fields == {"file": "a.py", "more": None}
    with pytest.raises(ValueError, match="a prompt is empty"):
        prompts_of(pd.DataFrame({"prompt": ["Fix it", missing]}))
    with pytest.raises(ValueError, match="a prompt is empty"):
        prompts_of(["Fix it", missing])


def test_columns_of_the_same_name_are_refused() -> None:
    table = pd.DataFrame([["Fix {x}", 1, 2]], columns=["prompt", "x", "x"])
    with pytest.raises(ValueError, match="several columns of the same name: x"):
        prompts_of(table)


def test_words_in_braces_that_are_no_field_are_told() -> None:
    assert unfilled_of(prompts_of("return {x}")) is None, "code, and no fields"
    told = unfilled_of(prompts_of("Fix {path} {pth}", ["a.py"]))
    assert told is not None and told.startswith("the prompts have {pth}, which is no field")
    assert "{path}" in told
