"""%%acp --cached: finds the answer that the notebook has to the same prompt.

Looks at what this cell showed: in this kernel, in the page, in the notebook's file. Without a page, only the
kernel knows, because nothing says which file and which cell are run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...api.session import Session
from ...core.records import Content
from ...notebook.kernel import where
from ...notebook.saved_conversations import Data
from ...notebook.static_bundle import Bundle
from ...notebook.stored_answers import stored_answer
from ..display import can_be_asked

FLAG = "--cached"


def split_cached(line: str) -> tuple[str, bool]:
    """The session that the line of a `%%acp` cell names, and whether it has the flag."""
    words = line.split()
    return " ".join(word for word in words if word != FLAG), FLAG in words


def find_answer(session: Session, parts: Sequence[Any]) -> Bundle | None:
    """The stored answer to this prompt in the current cell, as an output; None if there is none."""
    cell = where().cell_id
    if cell is None:
        return None
    digest = session._prompt_digest(tuple(parts))
    found = (stored_answer(data, digest) for data in _outputs(session, cell))
    return next((answer for answer in found if answer is not None), None)


def _outputs(session: Session, cell: str) -> Iterator[Data]:
    """What the cell showed before, the newest first."""
    for turn in reversed(session.turns):
        if turn._run.cell == cell and turn.done:
            yield turn._to_bundle()
    if can_be_asked():
        yield from reversed(session._loop.call(session._live_panel().earlier.outputs(cell)))


def remind(session: Session, content: Sequence[Content], then: Callable[[], None]) -> None:
    """Let the panel say it if the notebook has an answer to this prompt, and then call the function."""
    cell = where().cell_id
    if cell is not None and can_be_asked():
        session._live_panel().remind(cell, session._prompt_digest(tuple(content)), then)
