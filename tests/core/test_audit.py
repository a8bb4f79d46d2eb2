"""The audit keeps what happened in order, in bounded memory, and shows it so that nothing hides."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_notebook.core import audit as module
from acp_notebook.core.audit import KEPT_CHARS, SHOWN_ENTRIES, Audit, AuditTable, Entry, entry_to_plain
from acp_notebook.core.tables import html_table, text_table

EVIL = "<script>alert(1)</script>\x1b[2J\u202e\"'&\nsecond"


def add(audit: Audit, **fields: Any) -> Entry:
    known = {"time": "12:00:00", "session": "s", "what": "act", "kind": "execute", "target": "ls"}
    return audit.append(**known | fields)


def filled(count: int) -> Audit:
    audit = Audit()
    for number in range(count):
        add(audit, target=f"command {number}", kind="execute" if number % 2 else "edit")
    return audit


def test_entries_are_numbered_in_order() -> None:
    audit = filled(3)
    assert [entry.number for entry in audit] == [1, 2, 3] and len(audit) == 3
    assert audit[0].target == "command 0" and audit[-1].number == 3
    assert [entry.number for entry in audit[1:]] == [2, 3]
    with pytest.raises(IndexError):
        audit[3]


def test_entries_are_found_by_their_fields_and_details() -> None:
    audit = filled(4)
    add(audit, by="user", outcome="allowed", detail={"unprompted": True, "exit_code": 3})
    assert len(audit.where(kind="execute")) == 3
    assert [it.number for it in audit.where(kind="execute", by="user")] == [5]
    assert [it.number for it in audit.where(exit_code=3)] == [5]
    assert len(audit.where(kind="nothing")) == len(audit.where(no_such_field=1)) == 0
    assert audit.where(kind="execute").where(by="user")[0].outcome == "allowed"


def test_memory_is_bounded_and_dropped_entries_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_ENTRIES", 100)
    audit = filled(1000)
    assert 90 <= len(audit) <= 100 and audit[-1].number == 1000
    assert audit.dropped == 1000 - len(audit) == audit[0].number - 1
    assert f"{audit.dropped} no longer in memory" in repr(audit)
    assert f"{audit.dropped} no longer in memory" in audit._repr_html_()


def test_long_texts_are_complete_in_the_file_and_cut_in_memory() -> None:
    audit = Audit()
    long = "a" * 50_000 + "z"
    whole = add(audit, target=long, reason=long, detail={"stderr": long, "bytes": 5})
    assert whole.target == whole.reason == whole.detail["stderr"] == long
    kept = audit[0]
    for text in (kept.target, kept.reason, kept.detail["stderr"]):
        assert text is not None and len(text) < KEPT_CHARS + 10 and text.endswith("z")
    assert kept.detail["bytes"] == 5


def test_a_detail_that_is_changed_later_does_not_change_the_audit() -> None:
    detail = {"exit_code": 0}
    audit = Audit()
    add(audit, detail=detail)
    detail["exit_code"] = 1
    assert audit[0].detail == {"exit_code": 0}


def test_the_table_shows_the_last_entries_and_the_number_before() -> None:
    shown = repr(filled(SHOWN_ENTRIES + 7))
    assert "… 7 earlier, not shown" in shown and "command 66" in shown and "command 6 " not in shown
    assert shown.count("\n") == SHOWN_ENTRIES + 1
    assert repr(Audit()) == "<audit: nothing yet>" and "nothing yet" in Audit()._repr_html_()


def test_unprompted_actions_are_marked() -> None:
    audit = Audit()
    add(audit, detail={"unprompted": True}, reason="no question covers it", by="user", outcome="allowed")
    assert "unprompted, no question covers it" in repr(audit)


def test_nothing_in_an_entry_can_break_out_of_the_table() -> None:
    audit = Audit()
    fields = ("time", "session", "turn", "what", "kind", "target", "by", "outcome", "reason")
    add(audit, **dict.fromkeys(fields, EVIL))
    text, html = repr(audit), audit._repr_html_()
    assert len(text.split("\n")) == 2 and "\x1b" not in text and "\u202e" not in text
    assert "\u2039U+001B\u203a" in text and "\u2039U+202E\u203a" in html
    assert "<script" not in html and "\x1b" not in html and "\u202e" not in html
    assert "\"'" not in html and "&lt;script&gt;" in html
    assert "\n" not in audit[0].short_target


def test_a_long_cell_has_its_escaped_text_in_the_title() -> None:
    html = html_table(["a"], [['"><img src=x>' + "b" * 200]])
    assert "<img" not in html and 'title="&quot;&gt;&lt;img' in html
    assert text_table(["a", "b"], [["1", "2"], ["333", "4"]]) == "a    b\n1    2\n333  4"


def test_entries_are_plain_json_for_others() -> None:
    audit = filled(2)
    rows = json.loads(json.dumps(audit.to_dicts()))
    assert rows[1]["number"] == 2 and rows[1]["detail"] == {} and rows[1]["turn"] is None
    assert rows[0] == entry_to_plain(audit[0])


def test_a_slice_of_the_audit_does_not_grow() -> None:
    audit = filled(2)
    table, seen = audit[:], []
    for entry in audit:
        seen.append(entry.number)
        add(audit)
    assert seen == [1, 2] and len(table) == 2 and len(audit) == 4
    assert not hasattr(AuditTable, "append")
