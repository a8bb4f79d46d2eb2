"""A run on its card: bounded, plain, and without anything of an output's HTML but its texts."""

from __future__ import annotations

import json

from acp_notebook.core.kernel_tools.interface import CellRun, Display, Failure, Output, RunState, Stream
from acp_notebook.core.kernel_tools.shown import MOST_IMAGES, OUTPUT_CHARS, run_content, table_rows
from acp_notebook.core.records import Image, RunDisplay, RunStream, content_from_plain, plain

PICTURE = Image("AAAA", "image/png")


def test_a_run_survives_the_file() -> None:
    outputs = (
        Stream("stderr", "careful"),
        Display({}, {}, "<Figure>", PICTURE),
        Failure("ValueError", "no", "plain", "\x1b[31mred"),
    )
    run = run_content(
        RunState("run-1", "error", 1.26, outputs, notes=("A note.",), code="f()", purpose="Try")
    )
    assert run.seconds == 1.3 and getattr(run.outputs[1], "image", None) == PICTURE
    assert getattr(run.outputs[2], "traceback", "") == "\x1b[31mred"
    assert content_from_plain(json.loads(json.dumps(plain(run)))) == run


def test_cells_keep_their_outputs() -> None:
    cells = (CellRun("a", "ok", 4, (Stream("stdout", "1"),), "print(1)"), CellRun("b", "skipped"))
    run = run_content(RunState("run-2", "ok", 0.0, cells=cells))
    assert run.cells[0].execution_count == 4 and run.cells[0].outputs == (RunStream("stdout", "1"),)
    assert run.cells[1].execution_count is None


def test_a_card_is_bounded() -> None:
    pictures: list[Output] = [Display({}, {}, "", PICTURE)] * 50
    outputs = (Stream("stdout", "x" * 10 * OUTPUT_CHARS), *pictures)
    run = run_content(RunState("run-3", "ok", 0.0, outputs))
    assert len(getattr(run.outputs[0], "text", "")) < OUTPUT_CHARS + 100
    assert sum(isinstance(it, RunDisplay) and it.image is not None for it in run.outputs) == MOST_IMAGES


def test_a_table_is_its_texts_only() -> None:
    rows = "<tr><th>a</th><th onclick='x()'>b &amp; c</th></tr><tr><td>1</td><td><img src=x>2</td></tr>"
    html = f"<table>{rows}</table>"
    assert table_rows(html) == (("a", "b & c"), ("1", "2"))
    assert table_rows(["<style>x</style><table><tr><td>1</td>", "</tr></table>"]) == (("1",),)
    assert table_rows("<p>none</p>") is None and table_rows(None) is None
    assert table_rows(html + html) is None
