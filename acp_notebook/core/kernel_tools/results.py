"""Formats runs and outputs as a tool's result: text first, then at most a few images.

Pure. Every text says how to get what it leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..records import Image, Text
from .interface import READ_CHARS, Block, CellRun, Display, Failure, Output, RunState, Stream
from .text import head_and_tail, page, plain

_RULE = re.compile(r"\A-{20,}\n")
"""The line of dashes above a traceback. If the model quotes it, gemini-cli thinks that the model loops,
and stops it."""

MOST_IMAGES = 3
"""Images per result: each costs an agent about as much as a page of text."""


def run_blocks(state: RunState, seen: RunState | None = None, *, footer: str = "") -> tuple[Block, ...]:
    """The result of `run_code`, `run_cells` and `wait`; with `seen`, only what is new since then.

    `footer`: the kernel's state, as the last line.
    """
    sections = [*_cell_sections(state, seen)] if state.cells else [*_new_outputs(state.outputs, seen)]
    head = "\n".join([_headline(state), *state.notes])
    body = "\n".join(filter(None, (output_text(it) for it in sections)))
    room = READ_CHARS - len(head) - len(footer) - 2
    text = "\n".join(filter(None, (head, head_and_tail(body, room, hint=_more(state)), footer)))
    return (Text(text), *_images(sections, state))


def _headline(state: RunState) -> str:
    words = [state.status, state.id]
    if state.status not in ("busy", "refused"):
        words.append(f"{state.seconds:.1f} s")
    if state.status == "running" and (progress := progress_words(state)):
        words.append(progress)
    line = " · ".join(words)
    if state.status == "running":
        line += f"\nStill running. Call wait(run={state.id!r}) for the rest, or interrupt(run={state.id!r})."
    return line


def progress_words(state: RunState) -> str:
    """What a function reported last: `40 %, reading page 2 of 5`."""
    percent = "" if state.progress is None else f"{state.progress:.0%}".replace("%", " %")
    return ", ".join(filter(None, (percent, state.progress_text)))


def _more(state: RunState) -> str:
    return f"read_output({state.id!r}, index, offset)"


def _new_outputs(outputs: Sequence[Output], seen: RunState | None) -> Iterator[Output]:
    """Yield the new outputs, and the new part of a stream that continued."""
    before = seen.outputs if seen is not None else ()
    for at, output in enumerate(outputs):
        old = before[at] if at < len(before) else None
        if old is output or old == output:
            continue
        if isinstance(old, Stream) and isinstance(output, Stream):
            output = _continued(old, output)
        yield output


def _continued(old: Stream, new: Stream) -> Stream:
    if not new.left_out and new.head.startswith(old.head) and not old.left_out:
        return Stream(new.name, new.head[len(old.head) :], new.tail)
    return new


def _cell_sections(state: RunState, seen: RunState | None) -> Iterator[Output]:
    before = {it.id: it for it in seen.cells} if seen is not None else {}
    for cell in state.cells:
        if before.get(cell.id) == cell:
            continue
        yield Stream("stdout", f"--- {cell_title(cell)}")
        yield from cell.outputs


def cell_title(cell: CellRun) -> str:
    count = "" if cell.execution_count is None else f" [{cell.execution_count}]"
    return f"cell {cell.id}{count}: {cell.status}"


def output_text(output: Output) -> str:
    match output:
        case Stream():
            text = plain(output.text).rstrip("\n")
            return f"[stderr]\n{text}" if output.name == "stderr" and text else text
        case Failure():
            return _RULE.sub("", output.traceback) or f"{output.name}: {output.message}"
        case Display():
            dropped = f"\n[too large to keep: {', '.join(output.dropped)}]" if output.dropped else ""
            return f"{plain(output.text)}{dropped}"


def _images(outputs: Sequence[Output], state: RunState) -> tuple[Block, ...]:
    images = [it.image for it in outputs if isinstance(it, Display) and it.image is not None]
    shown: tuple[Block, ...] = tuple(images[:MOST_IMAGES])
    left = len(images) - len(shown)
    if left <= 0:
        return shown
    return (*shown, Text(f"{left} more picture{'s' * (left > 1)}: {_more(state)}"))


def output_blocks(
    outputs: Sequence[Output], ref: str, index: int | None = None, offset: int = 0
) -> tuple[Block, ...]:
    """The result of `read_output`: all outputs as a list, or one of them, page by page."""
    if not outputs:
        return (Text(f"{ref} has no outputs."),)
    if index is None and len(outputs) == 1:
        index = 0
    if index is not None and not 0 <= index < len(outputs):
        return (Text(f"{ref} has {len(outputs)} outputs: index goes from 0 to {len(outputs) - 1}."),)
    if index is None:
        return _listed(outputs, ref, offset)
    output = outputs[index]
    text = output_text(output)
    hint = f"read_output({ref!r}, {index}, {{}})"
    image: Image | None = output.image if isinstance(output, Display) and not offset else None
    return (Text(page(text, offset, hint=hint)), *((image,) if image is not None else ()))


def _listed(outputs: Sequence[Output], ref: str, offset: int) -> tuple[Block, ...]:
    parts = []
    for at, output in enumerate(outputs):
        text = output_text(output)
        parts.append(f"[{at}] {_kind(output)}, {len(text):,} characters\n{text}")
    hint = f"read_output({ref!r}, index, offset) or read_output({ref!r}, offset={{}})"
    images = [it.image for it in outputs if isinstance(it, Display) and it.image is not None]
    shown = images[:MOST_IMAGES] if not offset else []
    return (Text(page("\n".join(parts), offset, hint=hint)), *shown)


def _kind(output: Output) -> str:
    match output:
        case Stream():
            return output.name
        case Failure():
            return f"error {output.name}"
        case Display():
            kinds = ", ".join([*output.data, *output.dropped]) or "nothing"
            return f"{'result' if output.is_result else 'display'} ({kinds})"
