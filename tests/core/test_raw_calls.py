"""Tool calls as the agent sent them follow the rules of the transcript, without a transcript."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from acp_notebook.core import events as ev
from acp_notebook.core.raw_calls import RawCalls
from acp_notebook.core.records import Diff, Location, Text
from acp_notebook.core.snapshot import ToolCall
from acp_notebook.core.transcript import CLOSED_STATUSES, Transcript

CONTENTS = (
    (Text("a"),),
    (Text("b"), Diff("/f", "new", "old")),
    (Diff("/g", "new"),),
)


def maybe(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.one_of(st.just(ev.UNSET), strategy)


CHANGES = st.builds(
    ev.ToolChanged,
    st.sampled_from(["a", "b"]),
    title=maybe(st.sampled_from(["Edit", "Run"])),
    kind=maybe(st.sampled_from(["edit", "execute"])),
    status=maybe(st.sampled_from(["pending", "in_progress", "completed", "failed", "odd"])),
    content=maybe(st.sampled_from(CONTENTS)),
    locations=maybe(st.just((Location("/f", 3),))),
    raw_input=maybe(st.sampled_from([{"command": "ls -l"}, {"path": "/f"}])),
    raw_output=maybe(st.just("done")),
    meta=maybe(st.just({"x": 1})),
    unprompted=maybe(st.just(True)),
    created=st.booleans(),
    asked=st.booleans(),
    raw=st.sampled_from([None, {"odd": 1}]),
)


LINES = st.builds(
    ev.ToolChanged,
    st.sampled_from(["a", "b"]),
    status=maybe(st.sampled_from(["in_progress", "completed", "failed"])),
    content=st.sampled_from(CONTENTS),
)
"""Updates that only replace the content, which some agents send for each line of output."""


def shown(call: ToolCall) -> ToolCall:
    """The call without the fields that only the transcript sets."""
    return replace(call, key="", turn=None)


@given(st.lists(st.one_of(CHANGES, LINES), max_size=12), st.sets(st.integers(0, 11)))
def test_calls_match_those_of_a_transcript(changes: list[ev.ToolChanged], looks: set[int]) -> None:
    """Whenever somebody looks at them."""
    transcript, calls = Transcript(), RawCalls()
    transcript.apply(ev.TurnStarted(()))
    calls.turn_started()
    for at, change in enumerate(changes):
        transcript.apply(change)
        calls.changed(change)
        if at in looks:
            assert shown(calls.call(change.id)) == shown(transcript.tool(change.id))
    items = [it for it in transcript.snapshot().items if isinstance(it, ToolCall)]
    assert [*map(shown, calls.open())] == [shown(it) for it in items if it.status not in CLOSED_STATUSES]
    for id in {it.id for it in changes}:
        assert shown(calls.call(id)) == shown(transcript.tool(id))


def test_an_ended_turn_has_no_open_call_and_the_next_none_at_all() -> None:
    calls = RawCalls()
    calls.changed(ev.ToolChanged("a", status="pending"))
    calls.turn_ended()
    assert calls.open() == ()
    assert calls.call("a").status == "unfinished"
    calls.turn_started()
    calls.changed(ev.ToolChanged("b", status="pending"))
    assert [it.id for it in calls.open()] == ["b"]
