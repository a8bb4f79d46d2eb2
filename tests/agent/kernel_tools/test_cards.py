"""Reads of the kernel's tools get a title for the user, whichever of the two pipes is faster."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from acp_notebook.agent.kernel_tools.cards import KernelCards
from acp_notebook.agent.kernel_tools.gate import SessionGate
from acp_notebook.core import events as ev
from acp_notebook.core.mcp_calls import Naming
from acp_notebook.core.records import Text
from acp_notebook.core.snapshot import ToolCall
from acp_notebook.wire.mcp import ToolRequest

LOOK = ToolRequest("inspect_variable", {"name": "df"})


class Stage:
    """A gate, the agent's open calls, and what was applied."""

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self.applied: list[ev.Event] = []
        self.cards = KernelCards()
        auditor: Any = SimpleNamespace(note=lambda *_, **__: None)
        naming = Naming(servers=("kernel",), kernel="kernel")
        permissions: Any = None
        self.gate = SessionGate(
            permissions,
            auditor,
            self.cards,
            self.applied.append,
            lambda: self.calls,
            lambda: naming,
            lambda: True,
        )

    def call(self, tool: str, **arguments: Any) -> None:
        name = f"mcp__kernel__{tool}"
        self.calls.append(
            ToolCall(
                key="k1",
                turn="t1",
                id="c1",
                title=name,
                kind="other",
                status="in_progress",
                name=name,
                raw_input=arguments,
            )
        )


NAMED = ev.ToolChanged("c1", title="Look at df", kind="read")


def test_a_call_that_came_before_is_named_at_once() -> None:
    stage = Stage()
    stage.call("inspect_variable", name="df")
    stage.gate.done(LOOK, None)
    assert stage.applied == [NAMED]


def test_a_call_that_comes_after_its_result_is_named_then() -> None:
    stage = Stage()
    stage.gate.done(LOOK, None)
    assert stage.applied == []
    stage.call("inspect_variable", name="df")
    stage.gate.call_changed()
    stage.gate.call_changed()
    assert stage.applied == [NAMED]


def test_what_never_came_is_forgotten_with_its_turn() -> None:
    stage = Stage()
    stage.gate.done(LOOK, None)
    stage.gate.turn_started()
    stage.call("inspect_variable", name="df")
    stage.gate.call_changed()
    assert stage.applied == []


def test_the_agent_keeps_the_result_and_we_the_title() -> None:
    stage = Stage()
    stage.call("inspect_variable", name="df")
    stage.gate.done(LOOK, None)
    update = ev.ToolChanged(
        "c1", title="mcp__kernel__inspect_variable", status="completed", content=(Text("60"),)
    )
    assert stage.cards.seen(update) == ev.ToolChanged("c1", status="completed", content=(Text("60"),))
