"""Read and write files by the paths that an agent names."""

from __future__ import annotations

from acp_notebook.agent.files import text_reader, text_writer
from acp_notebook.agent.files.roots import Roots


def read_text(roots: Roots, path: str, line: int | None = None, limit: int | None = None) -> str:
    return text_reader.read_text(roots.resolve(path), line, limit)


def peek(roots: Roots, path: str) -> str | None:
    return text_reader.peek(roots.resolve(path))


def write_text(roots: Roots, path: str, text: str) -> text_writer.Written:
    return text_writer.write_text(roots.resolve(path), text)
