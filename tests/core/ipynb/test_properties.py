"""For any notebook and any edits, a merge loses none of the user's work, duplicates nothing, and stays
valid."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from acp_notebook.core.ipynb import (
    Conflict,
    Delete,
    Insert,
    Invalid,
    Merged,
    Move,
    Operation,
    Replace,
    SetMetadata,
    as_agent_sees,
    changes,
    compare,
    create_notebook,
    drastic_reason,
    merge,
    operations,
    read,
    source_hash,
)
from tests.core.ipynb.books import (
    Plain,
    agent_edits,
    applied,
    books,
    file,
    layouts,
    source,
    user_edits,
    valid,
)

often = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
"""No deadline: tests never depend on timing. `assume` excludes conflicts."""

with_ids = books(minors=st.just(5))
any_book = books() | books(strange=True)


def plain(data: bytes) -> Plain:
    book: Plain = json.loads(data.decode("utf-8-sig"))
    return book


def lines(text: str) -> str:
    return text.replace("\r\n", "\n")


def raw_outputs(data: bytes) -> dict[str, str]:
    """The exact text of each cell's outputs, by id."""
    book = read(data)
    spans = {cell.id: book.spans_of(cell).get("outputs", (0, 0)) for cell in book.cells}
    return {id: book.text[start:end] for id, (start, end) in spans.items()}


class Scene:
    """A file, the agent's edits of what it read, and the user's edits in the meantime."""

    def __init__(self, book: Plain, layout: Any, agent: Any, user: Any) -> None:
        self.ids = book["nbformat_minor"] >= 5
        self.file = file(book, **layout)
        self.view = as_agent_sees(self.file)
        self.shown: Plain = json.loads(self.view.text)
        self.wrote = applied(self.shown, agent, ids=self.ids, who="agent")
        self.written = json.dumps(self.wrote)
        self.now = file(applied(book, user, ids=self.ids, who="user"), **layout)

    def merged(self, **more: Any) -> Merged | None:
        try:
            return merge(self.view, self.written, self.now, **more)
        except Conflict:
            return None


twins = books(minors=st.integers(0, 4), sources=st.sampled_from(["", "x = 1"]))
"""Cells without ids, many of them equal."""

scenes = st.builds(Scene, any_book, layouts, agent_edits, user_edits)
scenes_with_ids = st.builds(Scene, with_ids, layouts, agent_edits, user_edits)
clashing = st.builds(
    lambda book, layout, agent, user, at: Scene(
        book, layout, [("source", at, 0, "the agent's"), *agent], [("source", at, 0, "the user's"), *user]
    ),
    *(with_ids, layouts, agent_edits, user_edits, st.integers(0, 9)),
)
"""Both change one cell, and then others."""

alone = st.builds(Scene, any_book, layouts, agent_edits, st.just([]))
calm = st.builds(Scene, any_book, layouts, st.just([]), user_edits)


@given(any_book, layouts)
@often
def test_a_view_is_always_a_valid_4_5_notebook(book: Plain, layout: Any) -> None:
    view = as_agent_sees(file(book, **layout))
    shown = json.loads(view.text)
    assert valid(shown), list(shown)
    assert [lines(source(cell)) for cell in shown["cells"]] == [lines(source(cell)) for cell in book["cells"]]
    assert as_agent_sees(file(book, **layout)).text == view.text
    assert as_agent_sees(view.text).text.count("\n") <= view.text.count("\n") + 50


@given(scenes)
@often
def test_a_valid_notebook_stays_valid(scene: Scene) -> None:
    result = scene.merged()
    assume(result is not None and valid(plain(scene.now)))
    assert result is not None
    assert valid(plain(result.data)), plain(result.data)


@given(scenes_with_ids)
@often
def test_unchanged_cells_are_identical_to_the_byte(scene: Scene) -> None:
    result = scene.merged()
    assume(result is not None)
    assert result is not None
    before = {cell["id"]: cell for cell in scene.shown["cells"]}
    wrote = {cell["id"]: cell for cell in scene.wrote["cells"] if "id" in cell}
    now, after = read(scene.now), read(result.data)
    texts = {cell.id: now.text[slice(*cell.span)] for cell in now.cells}
    for cell in after.cells:
        if cell.id in texts and wrote.get(cell.id) == before.get(cell.id):
            nameless = cell.id not in wrote
            if not nameless:
                assert after.text[slice(*cell.span)] == texts[cell.id]


@given(scenes_with_ids)
@often
def test_outputs_are_the_current_ones_or_cleared_in_changed_cells(scene: Scene) -> None:
    result = scene.merged()
    assume(result is not None)
    assert result is not None
    now, after = raw_outputs(scene.now), raw_outputs(result.data)
    changed = {it.id for it in changes(result.comparison) if it.kind in ("added", "changed")}
    for id, text in after.items():
        assert text == now.get(id, "[]") or (id in changed and text in ("[]", ""))
    assert b"made up" not in result.data or b"made up" in scene.now


@given(scenes)
@often
def test_outputs_stay_if_the_setting_says_so(scene: Scene) -> None:
    result = scene.merged(keep_outputs=True)
    assume(result is not None)
    assert result is not None
    before, after = read(scene.now), read(result.data)
    for cell, origin in zip(after.cells, result.comparison.origins, strict=True):
        if origin is not None and cell.type == before.cells[origin].type == "code":
            assert cell.outputs == before.cells[origin].outputs


@given(scenes_with_ids)
@often
def test_no_id_is_lost_or_duplicated(scene: Scene) -> None:
    result = scene.merged()
    assume(result is not None)
    assert result is not None
    ids = [cell["id"] for cell in plain(result.data)["cells"]]
    assert len(set(ids)) == len(ids)
    base = {cell["id"] for cell in scene.shown["cells"]}
    now = {cell["id"] for cell in plain(scene.now)["cells"]}
    wrote = {cell["id"] for cell in scene.wrote["cells"] if "id" in cell}
    assert now - base <= set(ids), "a cell that the user added"
    assert now & base & wrote <= set(ids), "a cell that nobody deleted"
    dropped = any("id" not in cell for cell in scene.wrote["cells"])
    if not dropped:
        assert set(ids) == ((now & wrote) | (now - base) | {it for it in wrote - base if it in ids})


@given(scenes_with_ids)
@often
def test_each_cell_has_the_text_of_the_side_that_changed_it(scene: Scene) -> None:
    result = scene.merged()
    assume(result is not None)
    assert result is not None
    base, wrote, now, after = (
        {cell["id"]: lines(source(cell)) for cell in book["cells"] if "id" in cell}
        for book in (scene.shown, scene.wrote, plain(scene.now), plain(result.data))
    )
    for id in base.keys() & wrote.keys() & now.keys():
        assert after[id] == (now[id] if wrote[id] == base[id] else wrote[id])
    for id in now.keys() - base.keys():
        assert after[id] == now[id]


@given(clashing)
@often
def test_a_cell_changed_by_both_in_two_ways_is_never_written(scene: Scene) -> None:
    base, wrote, now = (
        {cell["id"]: (cell["cell_type"], lines(source(cell))) for cell in book["cells"] if "id" in cell}
        for book in (scene.shown, scene.wrote, plain(scene.now))
    )
    both = [
        id
        for id in base.keys() & wrote.keys() & now.keys()
        if base[id] != wrote[id] and base[id] != now[id] and wrote[id] != now[id]
    ]
    assume(both)
    try:
        merge(scene.view, scene.written, scene.now)
    except Conflict as conflict:
        assert set(both) <= {clash.id for clash in conflict.clashes}
    else:
        raise AssertionError(f"written all the same: {both}")


@given(alone)
@often
def test_an_agent_alone_never_has_a_conflict_and_gets_what_it_wrote(scene: Scene) -> None:
    result = merge(scene.view, scene.written, scene.now)
    wanted = [(cell["cell_type"], lines(source(cell))) for cell in scene.wrote["cells"]]
    got = [(cell["cell_type"], lines(source(cell))) for cell in plain(result.data)["cells"]]
    assert got == wanted


@given(calm)
@often
def test_writing_back_an_unchanged_view_changes_no_byte(scene: Scene) -> None:
    result = merge(scene.view, scene.view.text, scene.now)
    assert result.data == scene.now
    assert not result.changed
    assert not result.notes
    assert not operations(result.comparison)
    assert not changes(result.comparison)


@given(scenes | st.builds(Scene, twins, layouts, agent_edits, user_edits))
@often
def test_the_same_write_again_changes_nothing_more(scene: Scene) -> None:
    result = scene.merged()
    assume(result is not None)
    assert result is not None
    again = merge(result.base, scene.written, result.data)
    assert again.data == result.data
    assert again.base.cells == result.base.cells


@given(alone | st.builds(Scene, twins, layouts, agent_edits, st.just([])))
@often
def test_a_write_whose_response_was_lost_can_be_repeated(scene: Scene) -> None:
    result = merge(scene.view, scene.written, scene.now)
    assert merge(scene.view, scene.written, result.data).data == result.data


@given(scenes, agent_edits)
@often
def test_a_second_write_without_reading_builds_upon_the_first(scene: Scene, more: Any) -> None:
    result = scene.merged()
    assume(result is not None)
    assert result is not None
    known = applied(scene.wrote, more, ids=scene.ids, who="later")
    try:
        second = merge(result.base, json.dumps(known), result.data)
    except Conflict:
        assume(False)
        return
    cells = Counter(source(cell) for cell in plain(second.data)["cells"])
    seen = {cell.id for cell in scene.view.cells}
    for cell in read(scene.now).cells:
        if cell.id not in seen and scene.ids and cell.own_id:
            assert cell.source in cells, "a cell that the user added, and the agent has never seen"


@given(scenes)
@often
def test_the_operations_turn_one_notebook_into_the_other(scene: Scene) -> None:
    result = scene.merged()
    assume(result is not None)
    assert result is not None
    before, after = result.comparison.before, result.comparison.after
    document = Document(scene.now)
    for operation in operations(result.comparison):
        document.carry_out(operation)
    assert document.cells == [
        (cell.type, cell.source, cell.metadata, cell.attachments) for cell in after.cells
    ]
    assert document.metadata == after.metadata
    touched = [it for it in operations(result.comparison) if not isinstance(it, SetMetadata | Move)]
    assert len(touched) <= len(before.cells) + len(after.cells)


class Document:
    """A model of the open document in the front end: cells by id, in order."""

    def __init__(self, data: bytes) -> None:
        book = read(data)
        self.metadata = dict(book.metadata)
        self._cells = {
            cell.id: (cell.type, cell.source, dict(cell.metadata), cell.attachments) for cell in book.cells
        }
        self._order = [cell.id for cell in book.cells]

    @property
    def cells(self) -> list[Any]:
        return [self._cells[id] for id in self._order]

    def carry_out(self, operation: Operation) -> None:
        if isinstance(operation, Delete | Move | Replace):
            assert source_hash(self._cells[operation.id][1]) == operation.based_on
        match operation:
            case Delete(id):
                self._order.remove(id)
                del self._cells[id]
            case Insert(id, after, type, text, metadata, attachments):
                assert id not in self._cells
                self._cells[id] = type, text, metadata, attachments
                self._put(id, after)
            case Move(id, after):
                self._order.remove(id)
                self._put(id, after)
            case Replace(id, _, type, text, _, attachments):
                self._cells[id] = type, text, self._cells[id][2], attachments
            case SetMetadata(id, values, removed):
                held = self.metadata if id is None else self._cells[id][2]
                held.update(values)
                for key in removed:
                    del held[key]

    def _put(self, id: str, after: str | None) -> None:
        self._order.insert(0 if after is None else self._order.index(after) + 1, id)


@given(scenes_with_ids, st.integers(0, 5))
@often
def test_the_prompting_cell_always_keeps_its_outputs(scene: Scene, at: int) -> None:
    now = read(scene.now)
    assume(now.cells)
    prompting = now.cells[at % len(now.cells)]
    result = scene.merged(protected=prompting.id)
    assume(result is not None)
    assert result is not None
    after = {cell.id: cell for cell in read(result.data).cells}
    assert after[prompting.id].outputs == prompting.outputs
    assert after[prompting.id].type == prompting.type
    assert not any(
        isinstance(it, Move | Delete) and it.id == prompting.id for it in operations(result.comparison)
    )


@given(scenes)
@often
def test_the_file_keeps_its_bytes_around_the_change(scene: Scene) -> None:
    result = scene.merged()
    assume(result is not None)
    assert result is not None
    assert result.data.startswith(b"\xef\xbb\xbf") == scene.now.startswith(b"\xef\xbb\xbf")
    assert result.data.endswith(b"\r\n") == scene.now.endswith(b"\r\n")
    if b"\r\n" in scene.now:
        assert b"\n" not in result.data.replace(b"\r\n", b"")
    book, old = plain(result.data), plain(scene.now)
    assert {key: it for key, it in book.items() if key not in ("cells", "metadata")} == {
        key: it for key, it in old.items() if key not in ("cells", "metadata")
    }


@given(scenes)
@often
def test_a_comparison_of_two_files_finds_every_difference(scene: Scene) -> None:
    found = compare(scene.file, scene.now)
    same = [source(cell) for cell in plain(scene.file)["cells"]] == [
        source(cell) for cell in plain(scene.now)["cells"]
    ]
    assert same or changes(found)
    document = Document(scene.file)
    for operation in operations(found):
        document.carry_out(operation)
    assert [it[1] for it in document.cells] == [source(cell) for cell in plain(scene.now)["cells"]]
    assert drastic_reason(compare(scene.file, scene.file)) is None


@given(books(minors=st.just(5)), agent_edits)
@often
def test_a_new_notebook_is_valid_or_refused(book: Plain, run: Any) -> None:
    made = plain(create_notebook(json.dumps(applied(book, run, ids=True, who="agent"))))
    assert valid(made)
    assert not any("not shown" in str(cell.get("outputs")) for cell in made["cells"])


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda it: st.lists(it, max_size=3) | st.dictionaries(st.text(max_size=5), it, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(
    ["cells", "metadata", "nbformat", "nbformat_minor", "id", "cell_type", "source", "outputs"]
)
almost = st.fixed_dictionaries(
    {
        "cells": st.lists(
            st.dictionaries(keys, junk | st.sampled_from(["code", "markdown", "a"])) | junk, max_size=3
        )
    },
    optional={"metadata": junk, "nbformat": st.just(4) | junk, "nbformat_minor": st.integers(0, 6) | junk},
)


@given(almost | junk, books())
@often
def test_any_write_is_refused_or_gives_a_valid_notebook(written: Any, book: Plain) -> None:
    now = file(book)
    view = as_agent_sees(now)
    try:
        result = merge(view, json.dumps(written), now)
    except Invalid:
        return
    assert valid(plain(result.data))


METADATA = ["tags", "name", "jupyter", "collapsed", "scrolled", "execution", "format", "kernelspec"]
METADATA += ["language_info", "orig_nbformat", "title", "authors", "x"]
metadata_junk = st.dictionaries(
    st.sampled_from(METADATA),
    junk
    | st.lists(st.sampled_from(["a", "a,b", ""]))
    | st.sampled_from(["auto", {"name": "n"}, {"name": 1}]),
)


@given(with_ids, metadata_junk, metadata_junk)
@often
def test_metadata_that_nbformat_refuses_is_refused(book: Plain, of_cells: Plain, of_book: Plain) -> None:
    now = file(book)
    view = as_agent_sees(now)
    wrote = json.loads(view.text)
    wrote["metadata"].update(of_book)
    for cell in wrote["cells"]:
        cell["metadata"].update(of_cells)
    try:
        result = merge(view, json.dumps(wrote), now)
    except Invalid:
        return
    assert valid(plain(result.data))
