"""An open row, and two runs side by side, as static HTML: everything is there, and nothing is markup."""

from __future__ import annotations

from typing import Any

from acp_notebook.core.changes import FileChange, Version
from acp_notebook.core.export.runs_html import (
    ANSWER_CHARS,
    FILES,
    comparison_html,
    comparison_text,
    details_html,
)
from acp_notebook.core.fan_out.changed import shown
from acp_notebook.core.fan_out.rows import Comparison, Side
from acp_notebook.core.fan_out.task import ChangedFile
from acp_notebook.core.records import Text
from acp_notebook.core.snapshot import Message
from tests.core.fan_out.test_table import EVIL, Elements, row

SAFE = {
    *(
        "div",
        "p",
        "strong",
        "small",
        "code",
        "pre",
        "span",
        "details",
        "summary",
        "em",
        "ul",
        "li",
        "a",
        "br",
    ),
    *("blockquote", "h3", "h4"),
}


def changed(path: str, before: str, after: str) -> FileChange:
    return shown(ChangedFile(path, Version(before.encode()), Version(after.encode())))


def side(index: int, text: str = "Done.", files: tuple[FileChange, ...] = (), **fields: Any) -> Side:
    return Side(row=row(index, **fields), text=text, files=files)


def check_safe(html: str) -> None:
    elements = Elements(html).found
    assert {tag for tag, _ in elements} <= SAFE
    for _, attributes in elements:
        assert attributes.keys() <= {"style", "class", "open", "href", "target", "rel"}
        assert str(attributes.get("href", "https://")).startswith("https://")


def test_hostile_text_stays_text_in_an_open_row() -> None:
    said = Message("k1", None, "agent", (Text(f"{EVIL} [x](javascript:alert(1)) [y](https://example.org)"),))
    files = [changed(f"{EVIL}.txt", "a\n", f"{EVIL}\n")]
    html = details_html(row(error=EVIL, score_text=EVIL, state="failed"), [said], files)
    check_safe(html)
    check_safe(details_html(row(text=EVIL), [], []))
    assert html.count("&lt;script&gt;") >= 4


def test_hostile_text_stays_text_in_a_comparison() -> None:
    files = (changed(f"{EVIL}.txt", "a\n", f"{EVIL}\n"),)
    left = side(0, EVIL, files, agent=EVIL, error=EVIL, score_text=EVIL, currency=EVIL, cost=1.0)
    comparison = Comparison(left=left, right=side(1, EVIL), paths=(f"{EVIL}.txt",))
    check_safe(comparison_html(comparison))


def test_an_open_row_has_the_error_the_score_the_transcript_and_the_changes() -> None:
    said = Message("k1", None, "agent", (Text("I **did** it in /copy/a.py"),))
    files = [changed("a.py", "x = 1\n", "x = 2\n")]
    fields: dict[str, Any] = {
        "state": "failed",
        "error": "too slow",
        "score_text": "1 passed",
        "added": 1,
        "removed": 1,
    }
    html = details_html(row(**fields), [said], files, cwd="/copy")
    assert "<strong>failed</strong> too slow" in html and "1 passed" in html
    assert "<strong>did</strong>" in html and "/copy" not in html
    assert "<summary>Patch: 1 file +1 -1</summary>" in html and "+x = 2" in html
    assert details_html(row(), [], []) == "<p>Nothing yet.</p>"


def test_a_comparison_has_both_answers_and_the_diffs_of_each_file() -> None:
    left = side(3, "Left *answer*.", (changed("a.py", "1\n", "2\n"), changed("same.py", "1\n", "9\n")))
    right = side(
        7, "Right.", (changed("b.py", "1\n", "3\n"), changed("same.py", "1\n", "9\n")), agent="other"
    )
    comparison = Comparison(left=left, right=right, paths=("a.py", "b.py", "same.py"), same=("same.py",))
    html = comparison_html(comparison)
    assert "<em>answer</em>" in html and "Right." in html
    assert html.count("unchanged") == 2, "a.py on the right, b.py on the left"
    assert html.count("Both made the same change.") == 1 and html.count("+9") == 1
    assert html.index("3 · demo") < html.index("7 · other")
    assert comparison._repr_html_() == html
    assert comparison_text(comparison) == "3 · demo: done\n7 · other: done"


def test_runs_without_an_answer_or_changes() -> None:
    html = comparison_html(Comparison(left=side(0, ""), right=side(1, "", error="died", state="lost")))
    assert "No answer." in html and "died" in html and "Neither changed a file." in html


def test_what_is_too_much_to_show_is_left_out_and_says_so() -> None:
    long = "".join(f"line {number}\n" for number in range(2_500))
    html = details_html(row(), [], [changed("a.txt", "", long)])
    assert "too long to be shown: 2,500 lines" in html
    many = [changed(f"{number}.txt", "a\n", "b\n") for number in range(FILES + 5)]
    assert "… 5 more files" in details_html(row(), [], many)
    assert "… 10 more characters" in details_html(row(text="x" * (ANSWER_CHARS + 10)), [], [])
