"""What agents repeat is cut before a file keeps it, visibly; what they say is not."""

from __future__ import annotations

from typing import Any

from acp_notebook.core.saved_bounds import (
    CONTEXT_LINES,
    DIFF_CHARS,
    OUTPUT_CHARS,
    RAW_CHARS,
    beginning,
    bounded_items,
)

LONG = "".join(f"line {number}\n" for number in range(OUTPUT_CHARS // 4))


def bounded(**item: Any) -> dict[str, Any]:
    return bounded_items([item])[0]


def tool(*content: Any, **fields: Any) -> dict[str, Any]:
    return bounded(type="tool", content=[*content], **fields)


def test_a_short_text_is_kept_as_it_is() -> None:
    assert beginning("x" * OUTPUT_CHARS) == "x" * OUTPUT_CHARS


def test_a_long_text_ends_after_a_whole_line_and_says_how_much_is_missing() -> None:
    *kept, note = beginning(LONG).splitlines()
    assert LONG.startswith("\n".join(kept) + "\n")
    missing = len(LONG) - len("\n".join(kept)) - 1
    assert note == f"… {missing:,} more characters left out of the notebook"


def test_messages_are_never_cut() -> None:
    message = {"type": "message", "role": "agent", "content": [{"type": "text", "text": LONG}]}
    assert bounded_items([message]) == [message]
    prompt = {"type": "turn", "prompt": [{"type": "text", "text": LONG}]}
    assert bounded_items([prompt]) == [prompt]


def test_a_terminal_keeps_its_end_and_counts_the_rest() -> None:
    kept = bounded(type="terminal", id="x", output=LONG, dropped=5)
    assert kept["output"] == LONG[-OUTPUT_CHARS:]
    assert kept["dropped"] == 5 + len(LONG) - OUTPUT_CHARS


def test_of_a_long_file_the_changed_part_is_kept() -> None:
    old = LONG
    new = old.replace("line 500\n", "line five hundred\n")
    [diff] = tool({"type": "diff", "path": "a", "old_text": old, "new_text": new})["content"]
    assert "line 500\n" in diff["old_text"] and "line five hundred\n" in diff["new_text"]
    assert diff["old_text"].count("\n") == diff["new_text"].count("\n") == 2 * CONTEXT_LINES + 1


def test_a_short_diff_and_the_hunks_of_a_small_change_are_untouched() -> None:
    diff = {"type": "diff", "path": "a", "old_text": "a\n", "new_text": "b\n"}
    assert tool(diff)["content"] == [diff]
    file = {"path": "a", "hunks": [{"lines": ["-a", "+b"]}]}
    assert bounded(type="changes", files=[file])["files"] == [file]


def test_hunks_beyond_the_limit_are_counted() -> None:
    hunk = {"lines": ["+" + "x" * (DIFF_CHARS // 2 - 10)]}
    file = {"path": "a", "hunks": [hunk] * 5, "note": "seen"}
    kept = bounded(type="changes", files=[file], also=[{"files": [file]}])
    for it in (kept["files"][0], kept["also"][0]["files"][0]):
        assert len(it["hunks"]) == 2
        assert it["note"] == "seen, 3 parts of this change left out of the notebook"


def test_raw_output_that_the_call_shows_is_not_repeated() -> None:
    text = "word " * 50
    shown = tool({"type": "text", "text": f"```\n{text}\n```"}, raw_output={"out": text, "code": 0})
    assert shown["raw_output"] == {"out": "… as shown", "code": 0}
    terminal = {"type": "terminal", "id": "t", "output": text}
    call = {"type": "tool", "content": [{"type": "terminal", "terminal_id": "t"}], "raw_output": text}
    assert bounded_items([call, terminal])[0]["raw_output"] == "… as shown"


def test_long_raw_data_is_shortened_or_left_out() -> None:
    kept = tool({"type": "text", "text": "x"}, raw_input={"path": "a", "text": "y" * 5 * RAW_CHARS})
    assert kept["raw_input"]["path"] == "a" and "more characters" in kept["raw_input"]["text"]
    assert "characters of data left out" in tool(raw_input=["y" * 300] * 100)["raw_input"]


def test_raw_output_without_content_is_the_result_and_keeps_more() -> None:
    kept = tool(raw_output={"output": LONG})["raw_output"]["output"]
    assert len(kept) > OUTPUT_CHARS and "more characters left out" in kept


def test_data_that_contains_itself_or_is_too_deep_does_not_break_a_save() -> None:
    loop: list[Any] = []
    loop.append(loop)
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    for value in (loop, deep):
        assert isinstance(tool(raw_input=value)["raw_input"], str | list)
