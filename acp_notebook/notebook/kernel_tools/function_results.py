"""What a function returns, as the result of its run: as a cell would show it, and as an agent can read it."""

from __future__ import annotations

import traceback
from typing import Any

from ...core.kernel_tools.interface import CallFailed, Failure
from ...core.records import Image, Json, Resource, Text
from ..content import contents
from .capture import FRAMES, OUR_FRAMES, formatted, message_of
from .outputs import Outputs
from .type_checks import derives_from, is_table, loaded

MOST_PARTS = 20
"""Of a list of texts, images and figures, each of which is shown for itself."""

Bundle = tuple[dict[str, Json], dict[str, Json]]


def show_value(value: Any, outputs: Outputs, shell: Any = None) -> None:
    """Add a returned value to the outputs; None shows nothing.

    `shell`: whose formatters to use, on the main thread. Without one, the value is shown as in a prompt: a
    formatter that fails shows its error in the user's cell.
    """
    if value is None:
        return
    if isinstance(value, list | tuple) and len(value) <= MOST_PARTS and any(map(_is_part, value)):
        for part in value:
            show_value(part, outputs, shell)
        return
    text: str | None = None
    if isinstance(value, str | Text):
        data: dict[str, Json] = {"text/plain": value if isinstance(value, str) else value.text}
        metadata: dict[str, Json] = {}
    elif isinstance(value, Image):
        data, metadata = {value.mime_type: value.data}, {}
    else:
        data, metadata = _plainly(value) if shell is None else formatted(shell, value)
        if _is_figure(value) and "image/png" not in data:  # nobody has told the shell how to draw figures
            data, metadata = _content(value)
        text = _table_text(value)
    if data:
        outputs.display(data, metadata, is_result=True, text=text)
    if _is_figure(value):
        _close(value)


def _is_part(value: Any) -> bool:
    return isinstance(value, Text | Image) or _is_figure(value)


def _is_figure(value: Any) -> bool:
    return derives_from(value, "matplotlib.figure", "Figure")


def _close(figure: Any) -> None:
    """Close a figure that was shown: the inline backend would show it once more."""
    gcf = loaded("matplotlib._pylab_helpers", "Gcf")
    if gcf is not None:
        gcf.destroy_fig(figure)


def _table_text(value: Any) -> str | None:
    """How a data frame or a series reads in a prompt: columns, types, a summary, the first rows."""
    return _content(value)[0].get("text/plain") if is_table(value) else None


def _plainly(value: Any) -> Bundle:
    """The value without formatters: a table as it would be in a cell, the rest as in a prompt."""
    if not is_table(value):
        return _content(value)
    html = getattr(value, "_repr_html_", None)
    return {"text/plain": repr(value), **({} if html is None else {"text/html": html()})}, {}


def _content(value: Any) -> Bundle:
    """The value as prompt content."""
    data: dict[str, Json] = {}
    texts: list[str] = []
    for part in contents(value, 0):
        match part:
            case Image():
                data.setdefault(part.mime_type, part.data)
            case Text(text) | Resource(text=str(text)):
                texts.append(text)
    if texts or not data:
        data["text/plain"] = "\n".join(texts)
    return data, {}


def show_error(error: BaseException, outputs: Outputs) -> None:
    """Add an error to the outputs, with the last frames of its traceback, without our own."""
    if isinstance(error, CallFailed):
        outputs.fail(Failure("Error", str(error), str(error)))
        return
    parts = traceback.extract_tb(error.__traceback__)
    own = OUR_FRAMES.removeprefix("File ")
    frames = [it for it in parts if not it.filename.startswith(own)][-FRAMES:]
    name = type(error).__name__
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames)]
    text = f"{''.join(lines)}{name}: {message_of(error)}"
    outputs.fail(Failure(name, message_of(error), text))
