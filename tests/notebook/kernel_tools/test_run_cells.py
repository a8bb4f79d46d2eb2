"""Cells that an agent runs, in a real kernel with a page that is only played."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.notebook.kernel_tools.conftest import Tools
from tests.waiting import wait_until

PAGE = """
from types import SimpleNamespace
from acp_notebook.core.document_protocol import Failed, RanCell, Stale
from acp_notebook.core.ipynb import source_hash

class Documents:
    "Plays the page that has the notebook open."
    def __init__(self, *sources):
        cells = [{"cell_type": "code", "id": f"cell-{n}", "metadata": {}, "source": source,
                  "outputs": [], "execution_count": None} for n, source in enumerate(sources)]
        cells.append({"cell_type": "markdown", "id": "words", "metadata": {}, "source": "# Title"})
        self.notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        self.shown, self.ran, self.fails, self.changes = [], [], False, False
    async def newest(self): return self
    async def prepare(self, page): pass
    async def describe(self, page): return SimpleNamespace(notebook=json.loads(json.dumps(self.notebook)))
    def show_outputs(self, page, shown): self.shown.append(shown)
    async def set_outputs(self, page, shown):
        [cell] = [it for it in self.notebook["cells"] if it["id"] == shown.id]
        assert shown.based_on == source_hash(cell["source"])
        cell.update(outputs=shown.outputs, execution_count=shown.execution_count)
    async def run_cells(self, page, wanted):
        if self.fails: raise Failed("no view")
        self.ran.append(wanted)
        if self.changes:
            (first, _), *rest = wanted
            return (RanCell(first, "ok", 7), *(RanCell(id, "skipped") for id, _ in rest))
        out = {"output_type": "stream", "name": "stdout", "text": "by the page"}
        return tuple(RanCell(id, "ok", 7, (out,)) for id, _ in wanted)

def opened(*sources):
    tools._notebooks.documents = Documents(*sources)
    return tools._notebooks.documents

async def ran_cells(*cells, **options):
    return await (await tools.run_cells(cells, **options)).wait(50)

def cells_of(state):
    return [[it.id, it.status, it.execution_count, [o.type for o in it.outputs]] for it in state.cells]

async def idle_cells(*cells):
    while tools.state() != "idle": await asyncio.sleep(0.01)
    return await ran_cells(*cells)
"""


@pytest.fixture
def book(tools: Tools) -> Tools:
    assert tools.front.run(PAGE).content["status"] == "ok"
    return tools


def test_cells_run_while_a_cell_waits_and_the_page_gets_outputs_and_counts(book: Tools) -> None:
    cell = book.front.run(
        "page = opened('a = 20', 'print(a); a + 1', '1/0', 'never = 1')\n"
        "state = wait(on_loop(ran_cells('cell-0', 'cell-1', 'cell-2', 'cell-3')))\n'mine'"
    )
    count = cell.content["execution_count"]
    [result] = [it["content"] for it in cell.messages if it["msg_type"] == "execute_result"]
    assert (result["execution_count"], result["data"]["text/plain"]) == (count, "'mine'")
    after = book.front.run("print('@' + json.dumps([state.status, cells_of(state)]))")
    assert after.content["execution_count"] == count + 4
    status, cells = book.states(after.text)[-1]
    assert status == "error"
    assert cells == [
        ["cell-0", "ok", count + 1, []],
        ["cell-1", "ok", count + 2, ["stream", "display"]],
        ["cell-2", "error", count + 3, ["error"]],
        ["cell-3", "skipped", None, []],
    ]
    shown = book.value(
        "[[it.get('execution_count'), len(it.get('outputs', []))] for it in page.notebook['cells']]"
    )
    assert shown == [[count + 1, 0], [count + 2, 2], [count + 3, 1], [None, 0], [None, 0]]
    assert book.value("page.notebook['cells'][1]['outputs'][1]['execution_count']") == count + 2
    one, two = count + 1, count + 2
    history = book.value(f"[In[{one}], In[{two}], Out[{two}], _{two}, Out[{count}]]")
    assert history == ["a = 20", "print(a); a + 1", 21, 21, "mine"]
    assert book.value("'never' in globals()") is False


def run_while_idle(book: Tools, folder: Path, prepare: str, cells: str) -> None:
    """Run cells between two cells of the user: the next one is sent when they have ended."""
    ended = folder / "ended"
    book.front.run(
        f"{prepare}; future = on_loop(idle_cells({cells}))\n"
        f"future.add_done_callback(lambda _: open({str(ended)!r}, 'w').close())"
    )
    wait_until(ended.exists, "the cells that run while the kernel is idle")


def test_the_page_runs_them_while_the_kernel_is_idle(book: Tools, tmp_path: Path) -> None:
    run_while_idle(book, tmp_path, "page = opened('1', '2')", "'cell-0', 'cell-1'")
    assert book.value("[future.result().status, cells_of(future.result()), page.ran]") == [
        "ok",
        [["cell-0", "ok", 7, ["stream"]], ["cell-1", "ok", 7, ["stream"]]],
        [[["cell-0", "1"], ["cell-1", "2"]]],
    ]


def test_a_cell_that_changes_while_the_page_runs_others_is_told(book: Tools, tmp_path: Path) -> None:
    run_while_idle(book, tmp_path, "page = opened('1', '2'); page.changes = True", "'cell-0', 'cell-1'")
    status, notes = book.value("(lambda it: [it.status, it.notes])(future.result())")
    assert status == "error" and "cell-1 was changed while those before it ran" in notes[0]


def test_a_page_that_cannot_run_them_shows_what_we_run(book: Tools, tmp_path: Path) -> None:
    run_while_idle(book, tmp_path, "page = opened('print(1)'); page.fails = True", "'cell-0'")
    status, cells = book.value("(lambda it: [it.status, cells_of(it)])(future.result())")
    assert (status, cells[0][1], cells[0][3]) == ("ok", "ok", ["stream"])
    assert book.value("page.notebook['cells'][0]['outputs'][0]['text']") == "1\n"


def test_without_a_page_the_result_says_so(book: Tools) -> None:
    book.front.run("page = opened('print(1)')\nasync def nobody(): return None\npage.newest = nobody")
    book.front.run(
        "import tempfile; file = os.path.join(tempfile.mkdtemp(), 'a.ipynb')\n"
        "open(file, 'w').write(json.dumps(page.notebook)); tools._notebooks._started = lambda: [file]"
    )
    status, notes, cells = book.value(
        "(lambda it: [it.status, it.notes, cells_of(it)])(wait(on_loop(ran_cells('cell-0'))))"
    )
    assert status == "ok" and "No page" in notes[0] and cells == [["cell-0", "ok", None, ["stream"]]]


def test_what_cannot_be_run_is_refused_with_a_reason(book: Tools) -> None:
    book.front.run("page = opened('a = 1')")
    ask = "(lambda it: [it.status, it.notes])(wait(on_loop(ran_cells({}))))"
    assert "is markdown, not code" in str(book.value(ask.format("'words'")))
    assert "was changed" in str(book.value(ask.format("'cell-0', expected={'cell-0': 'other'}")))
    result = book.front.run(
        "page.notebook['cells'][0]['id'] = 'myself'\nprint('@' + json.dumps("
        + ask.format("'myself'") + "))", cell_id="myself",
    )  # fmt: skip
    status, notes = book.states(result.text)[-1]
    assert status == "refused" and "waits for this turn" in notes[0]


def test_the_notebook_is_read_by_outline_cells_and_outputs(book: Tools) -> None:
    book.front.run("page = opened('\\n'.join(f'x{n} = {n}' for n in range(9)), 'print(1)')")
    book.front.run("state = wait(on_loop(ran_cells('cell-1')))")
    outline = book.value("wait(on_loop(tools.read_notebook()))")
    assert "cell-0 · code · not run" in outline and "… 6 more lines" in outline
    assert "stdout" in outline and "words · markdown" in outline
    assert "x8 = 8" in book.value("wait(on_loop(tools.read_notebook(['cell-0'])))")
    read = "[it.text for it in wait(on_loop(tools.read_output('cell-1')))]"
    assert book.value(read) == ["1"]
    assert (
        "no cell 'nope'"
        in book.front.run(
            "try: wait(on_loop(tools.read_notebook(['nope'])))\nexcept Exception as error: print(error)"
        ).text
    )
