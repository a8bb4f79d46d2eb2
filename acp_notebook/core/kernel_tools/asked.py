"""Another session as a tool: its name and description, and a turn of it as the result of a call.

Pure. `agent.delegation` starts the turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..records import Cost, Image, KernelRun, Text
from ..snapshot import Changes, Elicitation, Item, Message, Question, ToolCall, TurnStart
from ..visible import shown
from .signatures import NAME_CHARS
from .text import head_and_tail

ANSWER_CHARS = 200_000
"""Of an answer; of a longer one, the head and the tail are kept."""

SO_FAR_CHARS = 4_000
"""Of what the agent has said in a turn that failed."""

MOST_IMAGES = 10
MOST_FILES = 20
PATH_CHARS = 300

_OTHER = re.compile(r"[^A-Za-z0-9]+")


def asking_name(agent: str) -> str:
    """The name of the tool that asks this agent: `ask_kimi`."""
    words = _OTHER.sub("_", agent).strip("_").lower() or "agent"
    return f"ask_{words}"[:NAME_CHARS].rstrip("_")


def free_name(wanted: str, taken: Sequence[str]) -> str:
    """The name, with a number if it is taken."""
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted[: NAME_CHARS - 4]}_{number}"
    return name


def is_asking(item: Item) -> bool:
    """Whether the item waits for the user: a question, or a call of another agent that asks one."""
    match item:
        case Question() | Elicitation():
            return item.status == "open"
        case ToolCall():
            runs = (it for it in item.content if isinstance(it, KernelRun))
            return any(it.session is not None and it.session.asks for it in runs)
    return False


def asking_doc(agent: str, cwd: str, about: str) -> str:
    """What the calling agent reads about the tool. `about`: in the user's words."""
    said = f"{about.strip()}\n\n" if about.strip() else ""
    return (
        f"{said}Asks another agent, {agent}, and returns its answer. It works in {cwd}, with tools of its "
        "own, and may change files. It does not see this conversation: write everything that it has to know "
        "into the prompt. It remembers what it was asked before. The user answers its questions."
    )


def answer_parts(items: Sequence[Item], cost: Cost | None, cwd: str) -> list[Text | Image]:
    """The agent's messages in a turn, with images, and a line about what the turn did."""
    said = answer_text(items, ANSWER_CHARS)
    pictures = [
        block
        for item in items
        if isinstance(item, Message) and item.role == "agent"
        for block in item.content
        if isinstance(block, Image)
    ]
    about = " ".join(_facts(items, cost, cwd))
    text = "\n\n".join(filter(None, (said or "(The agent said nothing.)", about and f"[{about}]")))
    return [Text(text), *pictures[:MOST_IMAGES]]


def answer_text(items: Sequence[Item], chars: int = SO_FAR_CHARS) -> str:
    """What the agent said in a turn; of a long text, the head and the tail."""
    texts = (item.text for item in items if isinstance(item, Message) and item.role == "agent")
    return head_and_tail("\n\n".join(filter(str.strip, texts)).strip(), chars)


def _facts(items: Sequence[Item], cost: Cost | None, cwd: str) -> Iterator[str]:
    files = [file.path for item in items if isinstance(item, Changes) for file in item.files]
    if files:
        left = len(files) - MOST_FILES
        named = ", ".join(shown(path, cwd=cwd, chars=PATH_CHARS) for path in files[:MOST_FILES])
        yield f"It changed {named}{f' and {left} more' if left > 0 else ''}."
    start = next((item for item in items if isinstance(item, TurnStart)), None)
    if start is not None and start.usage is not None and start.usage.total:
        yield f"It used {start.usage.total:,} tokens."
    if cost is not None and cost.amount > 0:
        yield f"It cost {cost.amount:.4g} {cost.currency}."
