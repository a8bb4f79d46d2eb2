"""Converts a run to the content of its card, for the page, the static output and the file. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html.parser import HTMLParser

from ..records import Json, KernelRun, RunCell, RunDisplay, RunError, RunOutput, RunStream
from .interface import Display, Failure, Output, RunState, Stream

OUTPUT_CHARS = 20_000
"""Characters of one output on a card, from its head and tail; `read_output` has the rest."""

MOST_IMAGES = 10
TABLE_ROWS = 60
TABLE_COLUMNS = 30
CELL_CHARS = 200


def run_content(state: RunState) -> KernelRun:
    images = _Budget(MOST_IMAGES)
    cells = tuple(
        RunCell(it.id, it.status, it.source, it.execution_count, _outputs(it.outputs, images))
        for it in state.cells
    )
    return KernelRun(
        state.id,
        state.code,
        state.status,
        round(state.seconds, 1),
        state.purpose or None,
        _outputs(state.outputs, images),
        cells,
        state.notes,
        state.function,
        state.arguments,
        state.progress,
        state.progress_text,
        state.session,
        state.after,
    )


class _Budget:
    """Counts how many images may still be shown."""

    def __init__(self, left: int) -> None:
        self._left = left

    def take(self) -> bool:
        self._left -= 1
        return self._left >= 0


def _outputs(outputs: Sequence[Output], images: _Budget) -> tuple[RunOutput, ...]:
    return tuple(_output(output, images) for output in outputs)


def _output(output: Output, images: _Budget) -> RunOutput:
    match output:
        case Stream():
            return RunStream(output.name, _cut(output.text))
        case Failure():
            return RunError(output.name, _cut(output.message), _cut(output.ansi or output.traceback))
        case Display():
            if output.image is not None and images.take():
                return RunDisplay(_cut(output.text), output.image)
            plain = output.data.get("text/plain")
            text = plain if isinstance(plain, str) and output.is_result else output.text
            return RunDisplay(_cut(text), table=table_rows(output.data.get("text/html")))


def _cut(text: str) -> str:
    if len(text) <= OUTPUT_CHARS:
        return text
    half = OUTPUT_CHARS // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"


def table_rows(html: Json) -> tuple[tuple[str, ...], ...] | None:
    """The texts of the only table in HTML, row by row; None if there is no table, or more than one.

    Only texts are used: none of the HTML itself is ever shown.
    """
    text = "".join(html) if isinstance(html, list) else html
    if not isinstance(text, str) or text.count("<table") != 1:
        return None
    reader = _Table()
    reader.feed(text[: OUTPUT_CHARS * 10])
    rows = tuple(tuple(row[:TABLE_COLUMNS]) for row in reader.rows[:TABLE_ROWS] if row)
    return rows or None


class _Table(HTMLParser):
    """Collects the texts of table cells, row by row."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            self.rows[-1].append("")
            self._inside = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside and self.rows and self.rows[-1]:
            self.rows[-1][-1] = (self.rows[-1][-1] + data.strip())[:CELL_CHARS]
