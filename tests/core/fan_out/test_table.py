"""What the file keeps of a fan-out's table: readable, bounded, the same each time, and never markup."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

import pytest

from acp_notebook.core.fan_out.rows import STATES, Row
from acp_notebook.core.fan_out.table import (
    DATA_BYTES,
    MARKS,
    RUNS_MIME,
    STATIC_ROWS,
    to_bundle,
    to_data,
    to_html,
    to_text,
)

EVIL = "<img src=x onerror=alert(1)>\"'><script>alert(1)</script>"


def row(index: int = 0, **fields: Any) -> Row:
    given = {"prompt": "Fix it", "agent": "demo", "attempt": 1, "state": "done", **fields}
    return Row(index=index, **given)


class Elements(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


ALLOWED = {"div", "table", "thead", "tbody", "tr", "th", "td", "span", "p", "br", "code"}


@pytest.mark.parametrize("field", ["prompt", "agent", "error", "score_text", "currency"])
def test_hostile_text_stays_text(field: str) -> None:
    fields: dict[str, Any] = {"cost": 1.0, field: EVIL}
    html = to_html([row(state="failed", **fields)])
    elements = Elements(html).found
    assert {tag for tag, _ in elements} <= ALLOWED
    assert {name for _, attributes in elements for name in attributes} <= {"class", "style", "scope", "title"}
    assert "&lt;" in html


def test_formulas_in_a_prompt_are_not_typeset() -> None:
    assert r"<code>$\href{javascript:alert(1)}{x}$</code>" in to_html(
        [row(prompt=r"$\href{javascript:alert(1)}{x}$")]
    )
    assert "$" not in to_html([row(cost=1.0, currency="USD")])


def test_hidden_characters_are_visible() -> None:
    assert "\u202e" not in to_text([row(prompt="abc\u202edef")])
    assert "\u202e" not in to_html([row(prompt="abc\u202edef")])


def test_the_text_has_the_columns_that_say_something_and_a_summary() -> None:
    rows = [
        row(0, seconds=3.2, added=3, removed=1, cost=0.5, currency="USD", score=0.75, host="worker-7"),
        row(1, agent="other", state="failed", error="no\nluck", seconds=1.0),
    ]
    assert to_text(rows).splitlines() == [
        "   prompt  agent  state   ± lines  cost      score  note",
        "0  Fix it  demo   done    +3 -1    0.50 USD  0.75",
        "1  Fix it  other  failed                            no ⏎ luck",
        "2 runs: 1 done, 1 failed · 0.50 USD",
    ]
    assert "attempt" in to_text([row(attempt=2)])


def test_it_is_the_same_whenever_the_runs_end_the_same() -> None:
    quick = [row(seconds=1.0, since=10.0, host="a", doing=None, text="x")]
    slow = [row(seconds=9.0, since=99.0, host="b", doing="thinking", text="y")]
    assert to_bundle(quick) == to_bundle(slow)


def test_the_table_is_bounded_and_says_what_is_missing() -> None:
    rows = [row(index, prompt=f"Task {index}") for index in range(10_000)]
    html, text = to_html(rows), to_text(rows)
    assert html.count("<tr>") == STATIC_ROWS + 1
    assert "… 9,800 more runs" in html and "… 9,800 more runs" in text
    assert "10,000 runs: 10,000 done" in text


def test_the_data_has_every_row_and_each_prompt_once() -> None:
    rows = [row(index, prompt="x" * 50, score=0.5) for index in range(10_000)]
    data = json.loads(to_data(rows))
    assert data["prompts"] == ["x" * 50] and len(data["runs"]) == 10_000
    assert data["runs"][0] == {"prompt": 0, "agent": "demo", "attempt": 1, "state": "done", "score": 0.5}


def test_too_much_data_is_cut_and_says_so() -> None:
    rows = [row(index, prompt=f"{index} {'x' * 1000}") for index in range(3_000)]
    line = to_data(rows)
    data = json.loads(line)
    assert len(line.encode()) <= DATA_BYTES
    assert data["left_out"] == 3_000 - len(data["runs"]) > 0
    assert len(data["prompts"]) == len(data["runs"]) > 500


def test_a_score_that_is_no_number_is_left_out_of_the_data() -> None:
    assert "score" not in json.loads(to_data([row(score=float("nan"))]))["runs"][0]


def test_no_runs() -> None:
    assert to_text([]) == "No runs."
    assert set(to_bundle([])) == {"text/html", "text/plain", RUNS_MIME}


def test_every_state_has_a_mark() -> None:
    assert set(MARKS) == set(STATES)
