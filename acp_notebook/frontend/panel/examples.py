"""Example prompts for an empty panel, which fit what the user has defined.

Reads names, types and a folder's listing only: runs no code of the user's objects.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...notebook.content.kinds import is_figure, is_frame
from ..magics.completion import CompletionSources, file_mentions

MOST = 3

QUESTIONS = {
    (".csv", ".tsv", ".parquet", ".json", ".xlsx"): "What is in {}?",
    (".py",): "Explain {}",
    (".md", ".txt", ".toml"): "Summarise {}",
}
"""By the ending of a file's name, the most useful first."""

ALWAYS = ("What is in this folder?", "What can you help me with here?", "Plot a sine wave in a new cell")


def example_prompts(known: CompletionSources, *, failed: bool) -> tuple[str, ...]:
    """A few prompts, the most fitting first. `failed`: one of the last cells raised an error."""
    return tuple(dict.fromkeys([*_fitting(known, failed), *ALWAYS]))[:MOST]


def _fitting(known: CompletionSources, failed: bool) -> Iterator[str]:
    if failed:
        yield "Why did my cell fail with @error?"
    newest = [*reversed([it for it in known.variables.items() if not it[0].startswith("_")])]
    yield from [f"What stands out in @{name}?" for name, value in newest if is_frame(value)][:1]
    yield from [f"How can I make @{name} clearer?" for name, value in newest if is_figure(value)][:1]
    files = file_mentions(known.cwd)
    for endings, question in QUESTIONS.items():
        found = (it for it in files if it.strip('"').lower().endswith(endings))
        yield from (question.format(it) for it in list(found)[:1])
    if known.cells:
        yield "Explain @cell:last step by step"
