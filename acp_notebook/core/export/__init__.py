"""A conversation as a document: markdown, static HTML, plain text. The same items give the same text.

Knows no session, no widget and no clock. `outline` decides what is said, in blocks; each writer
(`markdown`, `html`, `text`) only knows how a block looks. Ids, times and the agent's raw messages
stay out, so that a notebook's saved outputs can be compared from run to run.
"""

from .html import to_html
from .markdown import to_markdown
from .text import to_text

__all__ = ["to_html", "to_markdown", "to_text"]
