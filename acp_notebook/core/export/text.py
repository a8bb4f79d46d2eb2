"""Write blocks as plain text: marks at the start of a line show who speaks.

Nothing needs escaping: `escaping` has made every control character visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..actions import Action
from ..escaping import Escaper
from ..snapshot import Item
from .actions import action_blocks
from .blocks import Block, Check, Checklist, Code, Fold, Line, Link, Media, Prose, Quote, Tool
from .outline import outline

_MARKS = {"completed": "[x]", "in_progress": "[~]", "pending": "[ ]"}
_OTHER_MARK = "[?]"


def to_text(items: Sequence[Item], *, cwd: str | None = None, title: str | None = None) -> str:
    """Export the items as plain text."""
    escaper = Escaper(cwd)
    head = [escaper.line(title)] if title else []
    return "\n\n".join([*head, *map(_lines, outline(items, escaper))]) + "\n"


def actions_text(actions: Sequence[Action], *, cwd: str | None = None) -> str:
    """The actions of an open question as plain text, for a console."""
    return _joined(action_blocks(actions, Escaper(cwd)))


def _joined(blocks: Iterable[Block], between: str = "\n") -> str:
    return between.join(map(_lines, blocks))


def _lines(block: Block) -> str:
    match block:
        case Prose(text):
            return text.strip("\n")
        case Line(label, text):
            return " ".join(part for part in (label, text) if part)
        case Code(text):
            return text
        case Link(uri, label, note):
            shown = label if uri == label else f"{label} <{uri}>"
            return shown + (f" ({note})" if note else "")
        case Media():
            return block.note
        case Checklist(checks):
            return "\n".join(map(_check, checks))
        case Quote(label, blocks):
            return _prefixed("> ", f"{label}: " + (_joined(blocks, "\n\n") or "(empty)"))
        case Fold(label, blocks, quiet):
            return _prefixed("~ ", _joined(blocks, "\n\n")) if quiet else _headed(label, blocks)
        case Tool():
            return _headed(f"[{block.kind}] {block.title} — {block.status}", block.blocks)


def _headed(head: str, blocks: Sequence[Block]) -> str:
    return f"{head}\n{_prefixed('    ', _joined(blocks))}" if blocks else head


def _prefixed(prefix: str, text: str) -> str:
    return "\n".join((prefix + line).rstrip() for line in text.split("\n"))


def _check(check: Check) -> str:
    return f"{_MARKS.get(check.status, _OTHER_MARK)} {check.text} ({check.note})"
