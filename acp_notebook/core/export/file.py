"""A conversation as one file that a page can save: its name, its type and its whole text.

Pure. The HTML form is a page of its own around the fragment that notebooks contain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from msgspec import Struct

from ..escaping import Escaper
from ..snapshot import Item
from .html import to_html
from .markdown import to_markdown

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; media-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body {{ max-width: 52rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }}
pre {{ overflow-x: auto; }}
img {{ max-width: 100%; }}
</style>
</head>
<body>
{body}
</body>
</html>
"""

_NAME = re.compile(r"[^A-Za-z0-9]+")
NAME_CHARS = 60


class ExportedFile(Struct, frozen=True):
    name: str
    mime_type: str
    text: str


def markdown_file(items: Sequence[Item], *, agent: str, cwd: str | None) -> ExportedFile:
    text = to_markdown(items, cwd=cwd, title=_title(agent))
    return ExportedFile(f"{file_stem(agent)}.md", "text/markdown", text)


def html_file(items: Sequence[Item], *, agent: str, cwd: str | None) -> ExportedFile:
    title = _title(agent)
    body = to_html(items, cwd=cwd, title=title)
    page = _PAGE.format(title=escape(Escaper(cwd).line(title)), body=body)
    return ExportedFile(f"{file_stem(agent)}.html", "text/html", page)


def _title(agent: str) -> str:
    return f"Conversation with {agent}"


def file_stem(agent: str) -> str:
    """A file name without an ending, with letters and digits that every file system takes."""
    known = _NAME.sub("-", agent).strip("-").lower()[:NAME_CHARS]
    return f"{known or 'agent'}-conversation"
