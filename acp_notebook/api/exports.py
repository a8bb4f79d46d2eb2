"""A session as a file, without secrets: markdown, HTML, or a notebook of the code that its agent ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.export.file import ExportedFile, file_stem, html_file, markdown_file
from ..core.intents import ExportForm
from ..core.saved_transcript import redacted
from ..core.snapshot import item_from_plain
from ..errors import UsageError
from ..notebook.static_bundle import checked
from .provenance import notebook_text

if TYPE_CHECKING:
    from .session import Session


def exported(session: Session, form: ExportForm) -> ExportedFile:
    """The conversation in this form. Raises UsageError if the user's function `redact` fails."""
    agent = session._agent.name
    if form == "notebook":
        name = f"{file_stem(agent)}.ipynb"
        return ExportedFile(name, "application/x-ipynb+json", notebook_text(session.to_notebook()))
    items = session._conversation.state.read(lambda transcript: transcript.plain()["items"])
    redact = session._redact_function()
    if redact is not None:
        try:
            items = [redacted(item, checked(redact)) for item in items]
        except Exception as error:  # the user's function
            raise UsageError(
                f"nothing was exported, because the function `redact` failed: {error!r}"
            ) from error
    records = [item_from_plain(item) for item in items]
    make = html_file if form == "html" else markdown_file
    return make(records, agent=agent, cwd=session.cwd)
