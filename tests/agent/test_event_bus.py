"""Events reach those who subscribed to their type, and nobody else."""

from __future__ import annotations

from collections.abc import Sequence

from acp_notebook.agent.event_bus import EventBus
from acp_notebook.core import events as ev
from acp_notebook.core.patches import Patch, Set
from acp_notebook.core.records import Text

CHUNK = ev.MessageChunk("agent", Text("hi"))
TOOL = ev.ToolChanged("t")


def test_a_typed_handler_is_called_before_general_listeners() -> None:
    bus, log = EventBus(), list[object]()

    def listener(event: ev.Event, patches: Sequence[Patch]) -> None:
        log.append((event, patches))

    bus.listen(listener)
    bus.on(ev.ToolChanged, log.append)
    patches = [Set("k1", ("title",), "x")]
    bus.emit(CHUNK, patches)
    bus.emit(TOOL, ())
    assert log == [(CHUNK, patches), TOOL, (TOOL, ())]


def test_a_subscription_can_end_during_an_event() -> None:
    bus, log = EventBus(), list[str]()

    def first(_: ev.ToolChanged) -> None:
        log.append("first")
        stop()

    stop = bus.on(ev.ToolChanged, first)
    stop_second = bus.on(ev.ToolChanged, lambda _: log.append("second"))
    bus.emit(TOOL, ())
    bus.emit(TOOL, ())
    assert log == ["first", "second", "second"]
    assert bus.subscribers(ev.ToolChanged) == 1
    stop_second()
    stop_second()
    assert bus.subscribers(ev.ToolChanged) == 0
