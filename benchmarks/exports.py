"""How the cost of an export grows with the conversation: the cost per item in a long and a short one.

Messages and thoughts alternate, so that each chunk is a separate item.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from acp_notebook.core import events as ev
from acp_notebook.core.export import to_html, to_markdown, to_text
from acp_notebook.core.origin import Origin
from acp_notebook.core.records import Json, Text
from acp_notebook.core.snapshot import Item
from acp_notebook.core.transcript import Transcript
from acp_notebook.notebook import static_bundle

SHORT = 25_000
LONG = 100_000
RUNS = 5

AIM = 2.0
"""1 is linear, 4 quadratic; garbage collection costs more in a long conversation."""

Export = Callable[[Sequence[Item], list[dict[str, Json]]], object]

RENDERER = static_bundle.Renderer(Origin(), cwd=None)

EXPORTS: dict[str, Export] = {
    "to_html": lambda items, plain: to_html(items),
    "to_markdown": lambda items, plain: to_markdown(items),
    "to_text": lambda items, plain: to_text(items),
    "the static output of a notebook": lambda items, plain: static_bundle.Renderer(Origin(), cwd=None).whole(
        plain
    ),
}


def conversation(count: int) -> tuple[Sequence[Item], list[dict[str, Json]]]:
    transcript = Transcript()
    transcript.apply(ev.TurnStarted((Text("go"),)))
    for number in range(count):
        transcript.apply(ev.MessageChunk("agent" if number % 2 else "thought", Text(f"word{number} ")))
    return transcript.snapshot().items, transcript.plain()["items"]


def costs() -> dict[str, tuple[float, float]]:
    """CPU seconds of each export, for the short and the long conversation; the best of `RUNS`."""
    talks = conversation(SHORT), conversation(LONG)
    found = {}
    for name, export in EXPORTS.items():
        runs = [
            [_cost(export, *talk) for talk in talks] for _ in range(RUNS)
        ]  # alternating, so that a busy moment affects both
        found[name] = (min(few for few, _ in runs), min(many for _, many in runs))
    return found


def _cost(export: Export, items: Sequence[Item], plain: list[dict[str, Json]]) -> float:
    began = time.process_time()
    export(items, plain)
    return time.process_time() - began
