"""Export a conversation as markdown, static HTML or plain text. The same items give the same text.

Independent of sessions, widgets and clocks. `outline` decides what is said, in blocks; each writer
(`markdown`, `html`, `text`) only formats blocks. Ids, times and the agent's raw messages are left out, so
that a notebook's saved outputs can be compared from run to run. `to_summary` and `to_reference` are short
forms for the file.
"""

from .html import to_html, to_reference
from .markdown import to_markdown
from .text import to_summary, to_text

__all__ = ["to_html", "to_markdown", "to_reference", "to_summary", "to_text"]
