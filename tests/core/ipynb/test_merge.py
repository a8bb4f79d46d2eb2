"""Merging what an agent writes into a notebook: the rules, case by case."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from acp_notebook.core.ipynb import (
    Conflict,
    Invalid,
    Merged,
    Move,
    Replace,
    as_agent_sees,
    changes,
    create_notebook,
    drastic_reason,
    merge,
    operations,
    source_hash,
)
from tests.core.ipynb.books import (
    PNG,
    Plain,
    code,
    edited,
    file,
    notebook,
    source,
    sources,
    stream,
    text,
    valid,
)

BOOK = notebook(
    code("import os", "a", stream("imported\n")),
    text("# Title", "b", attachments={"p.png": {"image/png": PNG}}),
    code("x = 1\nx", "c", stream("1\n"), metadata={"tags": ["keep"]}),
    metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
)
Change = Callable[[list[Plain]], object]


def nothing(cells: list[Plain]) -> None:
    pass


def setting(at: int, **fields: Any) -> Change:
    def change(cells: list[Plain]) -> None:
        cells[at].update(fields)

    return change


def write(agent: Change, user: Change = nothing, book: Plain = BOOK, **more: Any) -> Merged:
    """The agent reads the book; the user edits it; the agent writes."""
    view = as_agent_sees(file(book))
    now = json.loads(file(book))
    user(now["cells"])
    return merge(view, edited(view.text, agent), file(now), **more)


def result(merged: Merged) -> list[Plain]:
    book = json.loads(merged.data)
    assert valid(book)
    cells: list[Plain] = book["cells"]
    return cells


def refused(agent: Change, user: Change = nothing, book: Plain = BOOK, **more: Any) -> Conflict:
    with pytest.raises(Conflict) as raised:
        write(agent, user, book, **more)
    return raised.value


# ---- who changed what


def test_a_changed_cell_keeps_its_id_and_loses_its_outputs() -> None:
    cell = result(write(setting(2, source="x = 2")))[2]
    assert (cell["id"], source(cell), cell["outputs"], cell["execution_count"]) == ("c", "x = 2", [], None)
    assert cell["metadata"] == {"tags": ["keep"]}


def test_a_changed_cell_keeps_its_outputs_if_the_setting_says_so() -> None:
    cell = result(write(setting(2, source="x = 2"), keep_outputs=True))[2]
    assert (cell["outputs"], cell["execution_count"]) == ([stream("1\n")], 1)


def test_the_users_edit_in_another_cell_survives() -> None:
    assert sources(write(setting(2, source="x = 2"), setting(0, source="import sys")).data)[::2] == [
        "import sys",
        "x = 2",
    ]


def test_a_cell_changed_by_both_is_a_conflict_that_names_it() -> None:
    conflict = refused(setting(2, source="x = 2"), setting(2, source="x = 3\nmine"))
    (clash,) = conflict.clashes
    assert (clash.id, clash.index, clash.first_line) == ("c", 2, "x = 3")
    assert "cells[2] (id c, 'x = 3'): it was changed since you read it" in str(conflict)
    assert conflict.both_changed and conflict.places == "cell 3 (x = 3)"


def test_the_same_change_by_both_is_not_a_conflict() -> None:
    user = setting(2, source="x = 2", outputs=[stream("2\n")])
    assert result(write(setting(2, source="x = 2"), user))[2]["outputs"] == [stream("2\n")]


def test_all_conflicts_are_named_at_once() -> None:
    def both(cells: list[Plain]) -> None:
        cells[0]["source"], cells[2]["source"] = "mine", "mine"

    agent = setting(0, source="yours")
    conflict = refused(lambda cells: (agent(cells), cells.pop()), both)
    assert [clash.id for clash in conflict.clashes] == ["a", "c"]


def test_outputs_of_cells_run_in_between_stay() -> None:
    user = setting(0, outputs=[stream("again\n")], execution_count=7)
    cell = result(write(setting(2, source="x = 2"), user))[0]
    assert (cell["outputs"], cell["execution_count"]) == ([stream("again\n")], 7)


# ---- deleting


def test_a_cell_that_the_agent_deletes_is_gone() -> None:
    assert [cell["id"] for cell in result(write(lambda cells: cells.pop(0)))] == ["b", "c"]


def test_deleting_what_the_user_edited_is_a_conflict() -> None:
    assert refused(lambda cells: cells.pop(0), setting(0, source="import sys")).clashes[0].id == "a"


def test_what_the_user_deleted_stays_deleted() -> None:
    merged = write(setting(2, source="x = 2"), lambda cells: cells.pop(0))
    assert [cell["id"] for cell in result(merged)] == ["b", "c"]


def test_changing_what_the_user_deleted_is_a_conflict() -> None:
    conflict = refused(setting(0, source="import sys"), lambda cells: cells.pop(0))
    assert "deleted since you read it" in str(conflict)


# ---- adding and moving


def test_a_new_cell_gets_the_agents_id_or_a_generated_one() -> None:
    def agent(cells: list[Plain]) -> None:
        cells[1:1] = [code("named", "mine"), code("nameless")]

    cells = result(write(agent))
    assert [source(cell) for cell in cells] == ["import os", "named", "nameless", "# Title", "x = 1\nx"]
    assert cells[1]["id"] == "mine"
    assert cells == result(write(agent)), "the same content gives the same id"
    assert result(write(agent, new_id=lambda: "given"))[2]["id"] == "given"
    assert result(write(agent, new_id=lambda: "a"))[2]["id"] == cells[2]["id"], (
        "one that is taken is not used"
    )


def test_a_cell_that_the_user_added_comes_after_its_predecessor() -> None:
    def agent(cells: list[Plain]) -> None:
        cells.insert(0, code("first", "f"))
        cells.append(cells.pop(1))

    merged = write(agent, lambda cells: cells.insert(1, code("mine", "u")))
    assert [cell["id"] for cell in result(merged)] == ["f", "b", "c", "a", "u"]


def test_a_cell_after_a_deleted_one_comes_after_the_one_before() -> None:
    merged = write(lambda cells: cells.pop(1), lambda cells: cells.insert(2, code("mine", "u")))
    assert [cell["id"] for cell in result(merged)] == ["a", "u", "c"]


def test_the_users_order_stays_if_the_agent_moved_nothing() -> None:
    merged = write(setting(0, source="new"), lambda cells: cells.reverse())
    assert [cell["id"] for cell in result(merged)] == ["c", "b", "a"]


def test_an_order_changed_by_both_is_a_conflict() -> None:
    assert "order" in str(refused(lambda cells: cells.reverse(), lambda cells: cells.append(cells.pop(0))))


def test_an_agent_that_omits_all_ids_loses_no_output() -> None:
    def agent(cells: list[Plain]) -> None:
        for cell in cells:
            del cell["id"]
        cells[2]["source"] = "x = 2"

    cells = result(write(agent))
    assert [cell["id"] for cell in cells] == ["a", "b", "c"]
    assert cells[0] == BOOK["cells"][0]


def test_an_agent_that_makes_up_new_ids_loses_no_output() -> None:
    def agent(cells: list[Plain]) -> None:
        for cell in cells:
            cell["id"] = f"new-{cell['id']}"

    assert result(write(agent)) == BOOK["cells"]


def test_an_existing_id_that_was_not_read_is_a_conflict() -> None:
    conflict = refused(lambda cells: cells.append(code("x", "u")), lambda cells: cells.append(code("y", "u")))
    assert "have not read" in str(conflict)


# ---- types, metadata, attachments, outputs


def test_code_becomes_markdown_without_outputs_and_back() -> None:
    def to_text(cells: list[Plain]) -> None:
        cells[0] = text("import os", "a")

    merged = write(to_text)
    assert result(merged)[0] == text("import os", "a")
    back = write(lambda cells: cells.__setitem__(0, code("import os", "a")), book=json.loads(merged.data))
    assert result(back)[0] == code("import os", "a")


def test_metadata_is_merged_key_by_key() -> None:
    agent = setting(2, metadata={"tags": ["keep", "more"]})
    cell = result(write(agent, setting(2, metadata={"tags": ["keep"], "mine": 1})))[2]
    assert cell["metadata"] == {"tags": ["keep", "more"], "mine": 1}
    assert cell["outputs"] == [stream("1\n")]


def test_metadata_changed_by_both_is_a_conflict() -> None:
    conflict = refused(setting(2, metadata={"tags": ["x"]}), setting(2, metadata={"tags": ["y"]}))
    assert "'tags'" in str(conflict)


def test_empty_metadata_deletes_nothing_and_says_so() -> None:
    merged = write(setting(2, metadata={}))
    assert merged.data == file(BOOK)
    assert merged.notes == ("cell 3: metadata was kept, because empty metadata does not delete any",)


def test_a_note_about_many_cells_appears_once() -> None:
    book = notebook(*(code(f"x{n}", f"c{n}", stream("1"), metadata={"tags": ["t"]}) for n in range(8)))

    def without(cells: list[Plain]) -> None:
        for cell in cells:
            cell.update(metadata={}, outputs=[])

    assert write(without, book=book).notes == (
        "cells 1, 2, 3, 4, 5 and 3 more: metadata was kept, because empty metadata does not delete any",
        "cells 1, 2, 3, 4, 5 and 3 more: outputs were kept, because the text was not changed",
    )


def test_outputs_written_by_the_agent_are_ignored() -> None:
    merged = write(setting(0, outputs=[stream("a lie\n")]))
    assert merged.data == file(BOOK)
    assert "outputs were not taken" in merged.notes[0]


def test_an_added_output_is_ignored_and_reported() -> None:
    merged = write(lambda cells: cells[0]["outputs"].append(stream("made up")))
    assert (merged.data, merged.changed) == (file(BOOK), False)
    assert merged.notes == ("cell 1: outputs were not taken; only running a cell makes them",)


def test_outputs_that_the_agent_clears_stay() -> None:
    merged = write(setting(0, outputs=[]))
    assert (merged.data, merged.changed) == (file(BOOK), False)
    assert "outputs were kept" in merged.notes[0]


def test_a_split_cell_keeps_its_image() -> None:
    def split(cells: list[Plain]) -> None:
        cells.insert(2, text("second half", None, attachments=dict(cells[1]["attachments"])))
        cells[1]["source"] = "# Tit"

    first, second = result(write(split))[1:3]
    assert first["attachments"] == second["attachments"] == {"p.png": {"image/png": PNG}}


def test_a_placeholder_without_an_image_is_never_written() -> None:
    agent = setting(1, attachments={"other.png": {"image/png": "[image/png, 3 kB, not shown]"}})
    merged = write(agent)
    assert b"not shown" not in merged.data
    assert "other.png" in merged.notes[0]


# ---- the prompting cell


@pytest.mark.parametrize(
    "agent",
    [
        lambda cells: cells.pop(1),
        lambda cells: cells.append(cells.pop(0)),
        lambda cells: cells.__setitem__(2, text("x = 2", "c")),
    ],
)
def test_the_prompting_cell_is_not_deleted_moved_or_converted(agent: Change) -> None:
    protected = {1: "b", 0: "a", 2: "c"}
    found = [id for id in protected.values() if _is_conflict(agent, id)]
    assert len(found) == 1


def _is_conflict(agent: Change, protected: str) -> bool:
    try:
        write(agent, protected=protected)
    except Conflict as conflict:
        return "whose prompt is running" in str(conflict)
    return False


def test_others_move_around_the_prompting_cell() -> None:
    def swap(cells: list[Plain]) -> None:
        cells[0], cells[1] = cells[1], cells[0]

    merged = write(swap, protected="a")
    assert operations(merged.comparison) == (Move("b", None, source_hash("# Title")),)


def test_the_prompting_cell_keeps_its_outputs_when_its_text_changes() -> None:
    cell = result(write(setting(2, source="x = 2"), protected="c"))[2]
    assert (source(cell), cell["outputs"]) == ("x = 2", [stream("1\n")])


# ---- formats


@pytest.mark.parametrize("minor", range(5))
def test_a_file_without_ids_gets_none_and_is_merged(minor: int) -> None:
    book = notebook(code("one", None, stream("1\n")), code("two", None, stream("2\n")), minor=minor)
    merged = write(lambda cells: cells[0].update(source="ONE"), setting(1, source="TWO"), book)
    assert sources(merged.data) == ["ONE", "TWO"]
    after = json.loads(merged.data)
    assert valid(after)
    assert after["nbformat_minor"] == minor
    assert after["cells"][1]["outputs"] == [stream("2\n")]


def test_twins_without_ids_are_not_mistaken_for_each_other() -> None:
    book = notebook(code("same", None, stream("1\n")), code("same", None, stream("2\n")), minor=4)
    assert sources(write(setting(1, source="other"), book=book).data) == ["same", "other"]
    assert "number has changed" in str(refused(setting(0, source="other"), lambda cells: cells.pop(0), book))


def test_missing_ids_are_written_with_the_first_change() -> None:
    book = notebook(code("one"), code("two", "x"), code("three", "x"))
    assert write(nothing, book=book).data == file(book)
    cells = result(write(setting(0, source="ONE"), book=book))
    assert cells[1]["id"] == "x"


def test_the_layout_of_the_file_is_followed() -> None:
    for layout in ({"indent": 4}, {"crlf": True, "bom": True}, {"indent": None}, {"ascii": True}):
        book = notebook(code("é", "a", stream("é\n")), code("b", "b"))
        now = file(book, **layout)
        view = as_agent_sees(now)
        merged = merge(view, edited(view.text, setting(1, source="ü\nb")), now)
        book["cells"][1]["source"] = ["ü\n", "b"]
        assert merged.data == file(book, **layout)


def test_unknown_fields_of_a_notebook_are_kept() -> None:
    strange = {"output_type": "hologram", "beam": [1]}
    book = notebook(code("a", "a", strange, prompt_number=7), code("b", "b"), unknown={"x": 1})
    merged = json.loads(write(setting(1, source="B"), book=book).data)
    assert merged["cells"][0] == book["cells"][0]
    assert merged["unknown"] == {"x": 1}


def test_an_empty_notebook_can_be_filled() -> None:
    assert sources(write(lambda cells: cells.append(code("x")), book=notebook()).data) == ["x"]


def test_the_open_document_is_merged_as_plain_json() -> None:
    view = as_agent_sees(BOOK)
    merged = merge(view, edited(view.text, setting(0, source="new")), BOOK)
    assert operations(merged.comparison) == (Replace("a", source_hash("import os"), "code", "new", True, {}),)


def test_cells_of_an_open_document_keep_even_invalid_ids() -> None:
    """The agent sees valid ids; the document keeps its own."""
    long, odd = "x" * 80, "a.b c"
    book = notebook(code("one", long), code("two", odd), code("three", "c"))
    view = as_agent_sees(book)
    shown = [it["id"] for it in json.loads(view.text)["cells"]]
    assert long not in shown and odd not in shown and valid(json.loads(view.text))

    def agent(cells: list[Plain]) -> None:
        cells[0]["source"] = "ONE"
        cells.insert(1, code("new", "n"))
        del cells[2]

    done = operations(merge(view, edited(view.text, agent), book).comparison)
    assert [(it.__struct_config__.tag, it.id, getattr(it, "after", None)) for it in done] == [
        ("delete", odd, None),
        ("replace", long, None),
        ("insert", "n", long),
    ]
    with pytest.raises(Conflict, match="cannot be deleted"):
        merge(view, edited(view.text, agent), book, protected=odd)


def test_cells_with_other_ids_than_the_file_are_matched_by_content() -> None:
    book = notebook(code("one", None, stream("1\n")), code("two"), minor=4)
    live = notebook(code("one", "r1", stream("1\n")), code("two", "r2"))
    view = as_agent_sees(file(book))
    merged = merge(view, edited(view.text, setting(1, source="TWO")), live)
    assert [(it.id, it.new) for it in changes(merged.comparison)] == [("r2", "TWO")]


def test_without_a_base_every_difference_is_the_agents() -> None:
    now = file(BOOK)
    merged = merge(None, edited(as_agent_sees(now).text, lambda cells: cells.pop(0)), now)
    assert len(result(merged)) == 2
    assert "without reading it first" in merged.notes[0]


# ---- invalid notebooks


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("", "not JSON: Expecting value at line 1, column 1"),
        ('{"cells": [\n {"id": }\n]}', "line 2, column 9"),
        ("[]", "not a JSON object"),
        ('{"cells": {}}', "no list of cells"),
        ('{"worksheets": [], "nbformat": 3}', "old format"),
        (json.dumps(notebook(code("x"))).replace("4", "5", 1), "nbformat"),
        (json.dumps(notebook(code("x", "a"), code("y", "a"))), "cells[0] and cells[1] have the same id 'a'"),
        (json.dumps(notebook(code("x"), code("y", "no id!"))), "cells[1]: its id 'no id!'"),
        (json.dumps(notebook(code("x"), text("y", None, "heading"))), "cells[1]: its cell_type 'heading'"),
        (json.dumps(notebook({**code("x"), "source": 7})), "cells[0]: its source"),
        (json.dumps(notebook(code("\ud800"))), "cells[0]: a lone surrogate"),
        ('"\ud800"', "lone surrogate in line 1"),
        (json.dumps(notebook(code("x", metadata={"n": float("nan")}))), "not finite"),
        (json.dumps(notebook(code("x", metadata={"n": 1}))).replace('"n": 1', '"n": 1e999'), "not finite"),
        (json.dumps(notebook(code("x", metadata={"tags": "a"}))), "cells[0]: its metadata has 'tags'"),
        ("[" * 100_000, "nested too deeply"),
        ('{"cells": [], "n": ' + "9" * 5_000 + "}", "digits"),
        (json.dumps(notebook()) + "x", "Extra data"),
    ],
)
def test_an_invalid_notebook_is_an_error_with_its_place(written: str, says: str) -> None:
    now = file(BOOK)
    for attempt in (lambda: merge(as_agent_sees(now), written, now), lambda: create_notebook(written)):
        with pytest.raises(Invalid) as raised:
            attempt()
        assert says in str(raised.value)


def test_an_existing_lone_surrogate_is_not_the_agents_fault() -> None:
    book = notebook(code("'\ud83d'", "a"), code("b", "b"))
    now = file(book, ascii=True)
    view = as_agent_sees(now)
    view.text.encode()
    merged = merge(view, edited(view.text, setting(1, source="B")), now)
    assert sources(merged.data) == ["'\ud83d'", "B"]


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
@pytest.mark.parametrize("raw", [False, True])
def test_an_existing_nan_is_not_the_agents_fault(number: str, raw: bool) -> None:
    """papermill writes such parameters, and Python reads them."""
    odd = {"parameters": {"x": "@"}, "y": "@", "z": ["@"]}
    book = notebook(code("a", "a", metadata=odd), code("b", "b", stream("1")), metadata=odd)
    now = file(book).replace(b'"@"', number.encode())
    view = as_agent_sees(now, outputs="raw" if raw else "elided")
    if not raw:
        assert number not in view.text and "Infinity" not in view.text
    merged = merge(view, edited(view.text, setting(0, source="A")), now)
    assert sources(merged.data) == ["A", "b"]
    assert merged.data.count(number.encode()) == 6
    assert merge(view, view.text, now).data == now


# ---- drastic


def many(count: int) -> Plain:
    return notebook(*(code(f"cell number {n}", f"c{n}", stream("x\n")) for n in range(count)))


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        (lambda cells: cells.clear(), "it would empty the notebook, which has 10 cells"),
        (lambda cells: [cell.update(source="") for cell in cells], "it would empty"),
        (lambda cells: cells.__delitem__(slice(4, None)), "it would remove 6 of the 10 cells with text"),
        (lambda cells: cells.__delitem__(slice(5, None)), None),
        (lambda cells: [cell.update(source="new") for cell in cells], None),
        (nothing, None),
    ],
)
def test_a_write_that_removes_most_cells_is_asked_about(agent: Change, says: str | None) -> None:
    reason = drastic_reason(write(agent, book=many(10)).comparison)
    assert reason == says if says is None else says in str(reason)


def test_a_write_that_leaves_little_text_is_asked_about() -> None:
    book = notebook(*(code("x" * 1_000, f"c{n}") for n in range(4)))
    merged = write(lambda cells: [cell.update(source="x") for cell in cells], book=book)
    assert drastic_reason(merged.comparison) == "it would cut the notebook's text from 4,000 to 4 characters"


# ---- changes


def test_changes_are_listed_by_cell_in_notebook_order() -> None:
    def agent(cells: list[Plain]) -> None:
        cells[0]["source"] = "import sys"
        cells[1:2] = [code("new", "n")]
        cells.append(cells.pop(0))

    found = changes(write(agent, book=many(4)).comparison)
    assert [(it.kind, it.id, it.before, it.after, it.moved) for it in found] == [
        ("added", "n", None, 0, False),
        ("deleted", "c1", 1, None, False),
        ("changed", "c0", 0, 3, True),
    ]
    assert (found[2].old, found[2].new) == ("cell number 0", "import sys")
