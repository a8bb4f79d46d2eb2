"""Turn runs in the kernel into blocks: the code, then its outputs, figures as images. Knows no markup."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..escaping import Escaper
from ..records import Image, KernelRun, RunDisplay, RunError, RunOutput, RunStream
from .blocks import Block, Code, Line, Prose
from .bounds import bounded

OUTPUT_LINES = 200
"""Lines of one output: as much as a reader scrolls through."""

SHORT_VALUE = 80
"""Characters of an argument that stands next to its name."""

MediaBlock = Callable[[Image, Escaper], Block]


def run_blocks(run: KernelRun, escaper: Escaper, media: MediaBlock) -> Iterator[Block]:
    if run.purpose:
        yield Line("", escaper.line(run.purpose))
    if run.function is not None:
        yield from call_blocks(run.function, run.arguments, escaper.line, escaper.code)
    if run.session is not None:
        number = "" if run.session.turn is None else f", in its turn {run.session.turn}"
        yield Line("Answered by", escaper.line(f"{run.session.agent}{number}"))
    if run.code and not run.cells:
        yield Code(escaper.code(run.code).rstrip("\n"), "python")
    yield from _outputs(run.outputs, escaper, media, said=run.session is not None)
    for cell in run.cells:
        number = "" if cell.execution_count is None else f" [{cell.execution_count}]"
        yield Line("Cell", escaper.line(f"{cell.id}{number}: {cell.status}"))
        yield Code(escaper.code(cell.source).rstrip("\n"), "python")
        yield from _outputs(cell.outputs, escaper, media)
    if run.status == "running" and run.progress_text:
        yield Line("", escaper.line(run.progress_text))
    for note in run.notes:
        yield Line("Note:", escaper.line(note))
    if state := state_of(run):
        yield Line("", escaper.line(state))


def call_blocks(
    name: str,
    arguments: Sequence[tuple[str, str]],
    line: Callable[[str], str],
    code: Callable[[str], str],
) -> Iterator[Block]:
    """A call of a function: its name, and each argument in full."""
    yield Line("Call:", line(name))
    for argument, value in arguments:
        if len(value) <= SHORT_VALUE:
            yield Line(f"{line(argument)}:", line(value))
        else:
            yield Line(f"{line(argument)}:")
            yield Code(code(value), "json")


def state_of(run: KernelRun) -> str:
    """The status of a run in words, without its time; "" if it went well."""
    if run.status in ("waiting", "busy", "refused"):
        return {"waiting": "not run", "busy": "not run: the kernel was busy", "refused": "not run"}[
            run.status
        ]
    words = {"ok": "", "error": "failed", "interrupted": "stopped"}
    return words.get(run.status, run.status)


def _outputs(
    outputs: Sequence[RunOutput], escaper: Escaper, media: MediaBlock, *, said: bool = False
) -> Iterator[Block]:
    """`said`: by an agent, so that texts are markdown."""
    for output in outputs:
        match output:
            case RunStream():
                yield from _code(output.text, escaper)
            case RunError():
                yield from _code(output.traceback or output.message, escaper)
            case RunDisplay(image=Image() as image):
                yield media(image, escaper)
            case RunDisplay() if said:
                yield Prose(escaper.prose(output.text))
            case RunDisplay():
                yield from _code(output.text, escaper)


def _code(text: str, escaper: Escaper) -> Iterator[Block]:
    lines = escaper.code(text).rstrip("\n").split("\n")
    if any(line.strip() for line in lines):
        yield Code(bounded(lines, OUTPUT_LINES))
