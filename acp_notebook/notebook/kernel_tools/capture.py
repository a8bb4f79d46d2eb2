"""Runs an agent's code like a cell, capturing everything that it shows and preserving the user's state.

Main thread only. A hook of the publisher captures displays, a display hook captures results, and the shell's
`_showtraceback` captures errors. Afterwards the user's figures, results, history, last error and streams are
restored.
"""

from __future__ import annotations

import builtins
import getpass
import os
import sys
from collections.abc import Callable
from typing import Any

from ...core.kernel_tools.interface import Failure
from ...core.kernel_tools.text import plain
from ...log import logger
from .outputs import Outputs
from .restore import AttributeRestorer
from .streams import Streams
from .type_checks import loaded

_log = logger(__name__)

FRAMES = 12
"""How many of the last frames of a traceback are kept: a recursion has a thousand."""

NO_EXIT = (
    "exit() would end the user's kernel and every variable in it, so it is refused here. "
    "To stop early, raise an exception."
)
NO_INPUT = "input() is refused here: nobody is there to answer it. Ask the user in your reply instead."

SHELL_STATE = (
    "_last_traceback",
    "_last_traceback_during_displayhook",
    "last_execution_result",
    "last_execution_succeeded",
    "keepkernel_on_exit",
    "exit_now",
    "sys_excepthook",
)
OUR_FRAMES = f"File {os.path.dirname(__file__)}{os.sep}"
"""The start of our own frames in a traceback, which refuse or interrupt the code."""

LAST_ERROR = ("last_type", "last_value", "last_traceback", "last_exc")


class Refused(RuntimeError):
    """The code used something that is not available to an agent's code."""


class Capture:
    """Sends the outputs of code to `outputs` from its creation until `end`, which restores everything."""

    def __init__(self, shell: Any, kernel: Any, outputs: Outputs, label: str) -> None:
        self._shell = shell
        self._outputs = outputs
        self._cell = ""
        self.has_failed = False
        self._restorer = AttributeRestorer()
        try:
            self._keep_state(kernel)
            self._refuse(kernel)
            self._take_displays()
            self._label(label)
            self._put_figures_aside()
            self.streams = Streams(outputs, self._restorer)
        except BaseException:
            self._restorer.restore()
            raise

    def end(self) -> None:
        self.streams.end()
        self._restorer.restore()

    # ---- the user's state

    def _keep_state(self, kernel: Any) -> None:
        shell, restorer = self._shell, self._restorer
        restorer.keep(shell, *SHELL_STATE)
        restorer.keep(shell.displayhook, "exec_result")
        restorer.keep(shell.display_trap, "hook", "old_hook", "_nested_level")
        restorer.keep(sys, *LAST_ERROR, "displayhook", "excepthook", "stdin")
        self._payloads = list(shell.payload_manager._payload)
        restorer.on_restore(lambda: setattr(shell.payload_manager, "_payload", self._payloads))

    def _refuse(self, kernel: Any) -> None:
        def no_exit(*_: Any, **__: Any) -> None:
            raise Refused(NO_EXIT)

        def no_input(*_: Any, **__: Any) -> str:
            raise Refused(NO_INPUT)

        self._restorer.set(self._shell, "ask_exit", no_exit)
        self._restorer.set(kernel, "_allow_stdin", False)
        self._restorer.set(builtins, "input", no_input)
        self._restorer.set(getpass, "getpass", no_input)

    def _label(self, label: str) -> None:
        """Make tracebacks name the run in place of a cell number."""
        compiler = self._shell.compile
        cache, names = compiler.cache, compiler._filename_map

        def cached(code: str, number: int = 0, raw_code: str | None = None) -> str:
            name = compiler.get_code_name(raw_code or code, code, number)
            if name in names:  # one of the user's cells with the same text
                self._restorer.on_restore(lambda number=names[name]: names.__setitem__(name, number))  # type: ignore[misc]
            made = str(cache(code, number, raw_code=raw_code))
            names[made] = label
            return made

        self._restorer.set(compiler, "cache", cached)

    def _put_figures_aside(self) -> None:
        """Hide the user's figures: the inline backend shows and closes all open figures after a cell."""
        gcf = loaded("matplotlib._pylab_helpers", "Gcf")
        show = loaded("matplotlib_inline.backend_inline", "show")
        if show is not None:
            self._restorer.set(show, "_to_draw", [])
            self._restorer.set(show, "_draw_called", False)
        figures: Any = None
        if gcf is not None:
            figures = gcf.figs
            gcf.figs = type(figures)()
        self._restorer.on_restore(lambda: _put_figures_back(figures))

    # ---- what the code shows

    def _take_displays(self) -> None:
        shell, restorer = self._shell, self._restorer
        publisher = shell.display_pub
        publisher.register_hook(self._published)
        restorer.on_restore(lambda: publisher.unregister_hook(self._published))
        sys.displayhook = self._result
        shell.display_trap.hook = self._result  # outside a cell, the trap sets its own
        restorer.set(shell, "_showtraceback", self._failed)

    def take_pages(self) -> None:
        """Capture the text of `obj?`, which would otherwise open a pager in the user's page."""
        for payload in self._shell.payload_manager._payload[len(self._payloads) :]:
            if payload.get("source") == "page":
                self._outputs.display(payload.get("data", {}), {})

    def running(self, cell: str) -> None:
        """Note the code that runs next, as transformed by IPython."""
        self._cell = cell

    def _published(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Return the message if it should be published."""
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == "clear_output":
            self._outputs.clear(wait=bool(content.get("wait")))
            return None
        display_id = content.get("transient", {}).get("display_id")
        if kind == "update_display_data":  # a display of one of the user's cells is published as usual
            known = self._outputs.update(display_id, content["data"], content["metadata"])
            return None if known else message
        if kind == "display_data":
            self._outputs.display(content["data"], content["metadata"], display_id=display_id)
            return None
        return message

    def _result(self, result: Any = None) -> None:
        if result is None or self._is_quiet():
            return
        data, metadata = formatted(self._shell, result)
        executed = self._shell.displayhook.exec_result
        if executed is not None:
            executed.result = result
        if data:
            self._outputs.display(data, metadata, is_result=True)

    def _is_quiet(self) -> bool:
        ends: Callable[[str], Any] | None
        ends = getattr(self._shell.displayhook, "semicolon_at_end_of_expression", None)
        try:
            return ends is not None and bool(ends(self._cell))
        except Exception:  # the tokenizer's errors
            _log.debug("the code could not be tokenized", exc_info=True)
            return False

    def _failed(self, kind: type[BaseException], error: BaseException, lines: list[str]) -> None:
        self.has_failed = True
        lines = [it for it in map(str, lines) if OUR_FRAMES not in plain(it.partition("\n")[0])]
        if len(lines) > FRAMES + 3:  # a rule and a heading, frames, the message
            left_out = len(lines) - FRAMES - 3
            lines = [*lines[:2], f"… {left_out} frames left out …", *lines[-FRAMES - 1 :]]
        text = "\n".join(lines)
        self._outputs.fail(Failure(kind.__name__, message_of(error), plain(text), text))


def formatted(shell: Any, value: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The mime bundle of a value and its metadata, as a cell's result has them."""
    encode_images: Any = loaded("ipykernel.jsonutil", "encode_images")
    json_clean: Any = loaded("ipykernel.jsonutil", "json_clean")
    data, metadata = shell.display_formatter.format(value)
    return json_clean(encode_images(data)), json_clean(metadata)


def message_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # its class's own code
        _log.debug("an exception has no message", exc_info=True)
        return f"<{type(error).__name__} whose message cannot be written>"


def _put_figures_back(figures: Any) -> None:
    """Restore the user's figures, and close those that the code left open: they would appear below the next
    cell."""
    gcf = loaded("matplotlib._pylab_helpers", "Gcf")
    if gcf is None:
        return
    left = gcf.figs
    try:
        if left and left is not figures:
            gcf.destroy_all()
    finally:
        gcf.figs = type(left)() if figures is None else figures
