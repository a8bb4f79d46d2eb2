"""Turn actions into blocks: in full while a question is open, in one line once it is settled.

Independent of items and markup. Truncates nothing, because the user decides by this text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..actions import (
    Action,
    CallFunction,
    Command,
    Details,
    Fetch,
    FileAccess,
    KernelAction,
    KernelCall,
    McpCall,
    NotebookWrite,
    Other,
    RunCells,
    RunCode,
    Write,
)
from ..changes import unified_diff
from ..escaping import Escaper
from ..visible import marked, marked_line
from .blocks import Block, Code, Line
from .runs import call_blocks


def action_blocks(actions: Sequence[Action], escaper: Escaper) -> Iterator[Block]:
    of_kernel = any(isinstance(it, KernelAction) for it in actions)
    for action in actions:
        match action:
            case Command():
                yield from _command(action, escaper)
            case Write() | NotebookWrite():
                yield from _write(action, escaper)
            case FileAccess():
                yield Line(f"{action.kind.capitalize()}:", _path(action, escaper))
            case Fetch(url):
                yield Line("Fetch:", marked_line(url))
            case McpCall() if of_kernel:
                pass  # the action next to it says more
            case McpCall():
                name = marked_line(action.text)
                yield Line("MCP tool:", name if action.sure else f"{name} (by its title)")
            case RunCode():
                yield Line("Run in the kernel:", marked_line(action.purpose))
                yield Code(marked(action.code), "python")
            case RunCells():
                for id, source in action.cells:
                    yield Line("Run cell:", marked_line(id))
                    yield Code(marked(source), "python")
            case CallFunction():
                yield from call_blocks(action.name, action.arguments, marked_line, marked)
            case KernelCall():
                yield Line("Kernel tool:", marked_line(action.tool))
            case Other() | Details():
                if action.input:
                    yield Line("Input:")
                    yield Code(marked(action.input), "json")


def _command(action: Command, escaper: Escaper) -> Iterator[Block]:
    yield Line("Run:")
    yield Code(marked(action.line))
    yield Line("In:", _relative(action.cwd, escaper))
    for name, value in action.env:
        yield Line("With:", marked_line(f"{name}={value}"))


def _write(action: Write | NotebookWrite, escaper: Escaper) -> Iterator[Block]:
    new = isinstance(action, Write) and action.old_text is None and action.note is None
    yield Line("New file:" if new else "Write:", _path(action, escaper))
    if action.note:
        yield Line("Note:", marked_line(action.note))
    if action.new_text is not None:
        lines = unified_diff(
            None if action.old_text is None else marked(action.old_text), marked(action.new_text)
        )
        if lines:
            yield Code("\n".join(lines), "diff")
    if isinstance(action, NotebookWrite):
        for change in action.metadata:
            before = "nothing" if change.before is None else change.before
            after = "nothing" if change.after is None else change.after
            yield Line(
                f"Metadata of {marked_line(change.where)}:",
                marked_line(f"{change.name}: {before} → {after}"),
            )


def _path(action: Write | NotebookWrite | FileAccess, escaper: Escaper) -> str:
    shown = _relative(action.path, escaper)
    return shown if action.target is None else f"{shown} → {_relative(action.target, escaper)}"


def _relative(path: str, escaper: Escaper) -> str:
    return marked_line(escaper.relative_path(path))


def extras(actions: Sequence[Action], escaper: Escaper) -> str:
    """What a call's title does not say: another folder, environment variables, the target of a link."""
    found: list[str] = []
    for action in actions:
        if isinstance(action, Command):
            found += [f"in {_relative(action.cwd, escaper)}"] if action.elsewhere else []
            found += [f"with {marked_line(f'{name}={value}')}" for name, value in action.env]
        elif isinstance(action, Write | NotebookWrite | FileAccess) and action.target is not None:
            found.append(f"→ {_relative(action.target, escaper)}")
        if isinstance(action, NotebookWrite):
            found += [f"metadata: {marked_line(it.where)} {marked_line(it.name)}" for it in action.metadata]
    return ", ".join(dict.fromkeys(found))
