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
from .bounds import shortened
from .outline import YOU, outline

SUMMARY_CHARS = 200
"""Characters of a line in a summary."""

_MARKS = {"completed": "[x]", "in_progress": "[~]", "pending": "[ ]"}
_OTHER_MARK = "[?]"


def to_text(items: Sequence[Item], *, cwd: str | None = None, title: str | None = None) -> str:
    """Export the items as plain text."""
    escaper = Escaper(cwd)
    head = [escaper.line(title)] if title else []
    return "\n\n".join([*head, *map(_lines, outline(items, escaper))]) + "\n"


def to_summary(items: Sequence[Item], *, cwd: str | None = None) -> str:
    """What was said and done, one line each: prompts, messages and calls, without thoughts and details."""
    shown = (_brief(block) for block in outline(items, Escaper(cwd)))
    return "\n".join(line for line in shown if line)


def _brief(block: Block) -> str:
    match block:
        case Tool():
            return _tool_head(block)
        case Fold(label, _, quiet):
            return "" if quiet else label
        case Quote(label, blocks):
            said = next((_brief(it) for it in blocks if not isinstance(it, Fold)), "")
            more = " …" if len(blocks) > 1 and not said.endswith("…") else ""
            return f"> {'' if label == YOU else f'{label}: '}{said or '(empty)'}{more}"
        case Checklist(checks):
            done = sum(check.status == "completed" for check in checks)
            return f"{done} of {len(checks)} steps done"
    return shortened(_first_line(_lines(block)), SUMMARY_CHARS)


def _first_line(text: str) -> str:
    first, _, rest = text.strip().partition("\n")
    return f"{first.rstrip()} …" if rest else first


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
            return _headed(_tool_head(block), block.blocks)


def _tool_head(tool: Tool) -> str:
    return f"{tool.mark} {tool.title}" + (f" — {tool.note}" if tool.note else "")


def _headed(head: str, blocks: Sequence[Block]) -> str:
    return f"{head}\n{_prefixed('    ', _joined(blocks))}" if blocks else head


def _prefixed(prefix: str, text: str) -> str:
    return "\n".join((prefix + line).rstrip() for line in text.split("\n"))


def _check(check: Check) -> str:
    return f"{_MARKS.get(check.status, _OTHER_MARK)} {check.text}"
