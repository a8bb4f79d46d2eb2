"""Actions -> blocks: what an open question covers, in full; and in one line once it is settled.

Knows no items and no markup. Cuts nothing: a reader decides by this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..actions import Action, Command, Details, Fetch, FileAccess, McpCall, NotebookWrite, Other, Write
from ..changes import unified_diff
from ..visible import marked
from .blocks import Block, Code, Line
from .escaping import Escaper


def action_blocks(actions: Sequence[Action], words: Escaper) -> Iterator[Block]:
    for action in actions:
        match action:
            case Command():
                yield from _command(action, words)
            case Write() | NotebookWrite():
                yield from _write(action, words)
            case FileAccess():
                yield Line(f"{action.kind.capitalize()}:", _path(action, words))
            case Fetch(url):
                yield Line("Fetch:", words.line(url))
            case McpCall():
                name = words.line(action.text)
                yield Line("MCP tool:", name if action.sure else f"{name} (by its title)")
            case Other() | Details():
                if action.input:
                    yield Line("Input:")
                    yield Code(marked(action.input), "json")


def _command(action: Command, words: Escaper) -> Iterator[Block]:
    yield Line("Run:")
    yield Code(marked(action.line))
    yield Line("In:", words.path(action.cwd))
    for name, value in action.env:
        yield Line("With:", words.line(f"{name}={value}"))


def _write(action: Write | NotebookWrite, words: Escaper) -> Iterator[Block]:
    new = isinstance(action, Write) and action.old_text is None and action.note is None
    yield Line("New file:" if new else "Write:", _path(action, words))
    if action.note:
        yield Line("Note:", words.line(action.note))
    if action.new_text is not None:
        lines = unified_diff(
            None if action.old_text is None else marked(action.old_text), marked(action.new_text)
        )
        if lines:
            yield Code("\n".join(lines), "diff")
    if isinstance(action, NotebookWrite):
        for change in action.metadata:
            before = "nothing" if change.before is None else marked(change.before)
            after = "nothing" if change.after is None else marked(change.after)
            yield Line(
                f"Metadata of {words.line(change.where)}:", words.line(f"{change.name}: {before} → {after}")
            )


def _path(action: Write | NotebookWrite | FileAccess, words: Escaper) -> str:
    shown = words.path(action.path)
    return shown if action.target is None else f"{shown} → {words.path(action.target)}"


def extras(actions: Sequence[Action], words: Escaper) -> str:
    """What the title of a call does not say: another folder, an environment, where a link leads."""
    found: list[str] = []
    for action in actions:
        if isinstance(action, Command):
            found += [f"in {words.path(action.cwd)}"] if action.elsewhere else []
            found += [f"with {words.line(f'{name}={value}')}" for name, value in action.env]
        elif isinstance(action, Write | NotebookWrite | FileAccess) and action.target is not None:
            found.append(f"→ {words.path(action.target)}")
        if isinstance(action, NotebookWrite):
            found += [f"metadata: {words.line(it.where)} {words.line(it.name)}" for it in action.metadata]
    return ", ".join(dict.fromkeys(found))
