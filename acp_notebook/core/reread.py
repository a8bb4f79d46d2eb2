"""Completes the answers of a turn from the history that an agent sends when it loads the session again.

Pure. After a connection has lost messages, a turn has gaps; the agent's own history has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from . import events as ev
from .records import Text
from .snapshot import Item, Message, TurnStart
from .transcript import Transcript


def corrections(ours: Sequence[Item], history: Iterable[ev.Event]) -> list[ev.MessageReplaced] | None:
    """What to replace in the messages of a turn so that they are as in the history, whose last turn it is.

    None: they cannot be compared, for example because an agent stores no text or stores it joined, or because
    the history does not have this turn (yet): its last prompt is another one.
    """
    scratch = Transcript()
    scratch.apply_all(history)
    last = scratch.turn_items(scratch.current_turn)
    theirs, mine = _texts(last), _texts(ours)
    if _prompt(ours) not in _prompt(last) or not theirs or len(theirs) != len(mine):
        return None
    pairs = list(zip(mine, theirs, strict=True))
    if not all(_contains(text, known) for (_, known), (_, text) in pairs):
        return None  # it has forgotten a part that is here
    return [ev.MessageReplaced(key, text) for (key, known), (_, text) in pairs if text != known]


def _prompt(items: Sequence[Item]) -> str:
    """The text of the prompt, without white space: agents store it with their own, and with what they add."""
    blocks = (block for it in items if isinstance(it, TurnStart) for block in it.prompt)
    return "".join("".join(block.text.split()) for block in blocks if isinstance(block, Text))


def _contains(text: str, known: str) -> bool:
    """Whether the known text is this one with parts left out: nothing that was shown may disappear."""
    if len(text) < len(known):
        return False
    left = iter(text)
    return text.startswith(known) or all(char in left for char in known)


def _texts(items: Sequence[Item]) -> list[tuple[str, str]]:
    """The agent's answers by key. Messages with other content than text are left as they are."""
    return [
        (it.key, "".join(block.text for block in it.content if isinstance(block, Text)))
        for it in items
        if isinstance(it, Message) and it.role == "agent" and all(isinstance(b, Text) for b in it.content)
    ]
