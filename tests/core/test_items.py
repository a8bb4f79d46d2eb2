"""Older turns leave memory, and nothing is lost by that."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_notebook.core import events as ev
from acp_notebook.core import items as items_module
from acp_notebook.core.records import Text
from acp_notebook.core.saved_transcript import split_turns
from acp_notebook.core.snapshot import Message, ToolCall
from acp_notebook.core.transcript import Transcript
from tests.core.strategies import event_runs, runs_of
from tests.core.strategies import events as any_events

END = ev.TurnEnded("done", "end_turn")


class Memory:
    """A spool in memory."""

    def __init__(self) -> None:
        self.kept: list[bytes] = []

    def keep(self, data: bytes) -> int:
        self.kept.append(data)
        return len(self.kept) - 1

    def get(self, stored: int) -> bytes:
        return self.kept[stored]


class Full(Memory):
    def keep(self, data: bytes) -> int:
        raise OSError("no space left on device")


@pytest.fixture(autouse=True)
def nothing_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(items_module, "KEPT_BYTES", 0)


def turn(number: int, *events: ev.Event) -> list[ev.Event]:
    call = ev.ToolChanged(f"call{number}", created=True, title="Read", content=(Text(f"text {number}"),))
    answer = ev.MessageChunk("agent", Text(f"answer {number}"))
    return [ev.TurnStarted((Text(f"prompt {number}"),), f"t{number}"), call, answer, *events, END]


def long_life(spool: Memory, turns: int = 5) -> Transcript:
    transcript = Transcript(spool)
    transcript.apply_all(chain.from_iterable(turn(number) for number in range(1, turns + 1)))
    return transcript


def in_memory(transcript: Transcript) -> set[str]:
    return {str(transcript._items[key]["turn"]) for key in [*transcript._items.in_memory]}


def histories() -> st.SearchStrategy[list[ev.Event]]:
    """Several turns, with anything in and between them."""
    some = st.lists(st.tuples(runs_of(any_events, 6), runs_of(any_events, 4)), min_size=2, max_size=5)
    return some.map(lambda pairs: [*_turns(pairs)])


def _turns(pairs: list[tuple[list[ev.Event], list[ev.Event]]]) -> Iterator[ev.Event]:
    for number, (within, after) in enumerate(pairs, 1):
        yield from turn(number, *within)
        yield from after


@settings(deadline=None, max_examples=60)
@given(st.one_of(histories(), event_runs))
def test_a_transcript_with_a_spool_behaves_like_one_in_memory(run: list[ev.Event]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(items_module, "KEPT_BYTES", 0)
        plain, spooled = Transcript(), Transcript(Memory())
        for event in run:
            assert spooled.apply(event) == plain.apply(event)
        assert spooled.plain() == plain.plain()
        assert spooled.snapshot() == plain.snapshot()
        assert spooled.header() == plain.header()
        keys = [item["key"] for item in plain.plain()["items"]]
        assert [spooled.find(key) for key in keys] == [plain.find(key) for key in keys]
        for key in (None, *keys):
            assert spooled.turn_plain(key) == plain.turn_plain(key)
            assert spooled.turn_items(key) == plain.turn_items(key)


@settings(deadline=None, max_examples=60)
@given(st.one_of(histories(), event_runs))
def test_the_parts_are_those_of_the_whole(run: list[ev.Event]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(items_module, "KEPT_BYTES", 0)
        transcript = Transcript(Memory())
        transcript.apply_all(run)
        parts = split_turns(transcript.plain()["items"])
        assert transcript.part_names() == [*parts]
        assert {name: transcript.part_plain(name) for name in parts} == parts
        for name, items in parts.items():
            assert transcript.parts_of(item["key"] for item in items) == {name}


def test_only_the_newest_turn_stays_in_memory() -> None:
    spool = Memory()
    transcript = long_life(spool)
    assert in_memory(transcript) == {transcript.current_turn}
    assert len(spool.kept) == 4
    assert len(transcript._tools) == 1 and len(transcript._views) <= 3


def test_the_newest_turns_stay_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Memory()
    long_life(spool)
    one = len(spool.kept[0])
    monkeypatch.setattr(items_module, "KEPT_BYTES", 2 * one + one // 2)
    assert len(in_memory(long_life(Memory(), 20))) == 3


def test_reading_an_old_turn_leaves_it_where_it_is() -> None:
    transcript = long_life(Memory())
    first = transcript.snapshot().items[0].key
    assert [it["key"] for it in transcript.turn_plain(first)] == ["k1", "k2", "k3"]
    assert transcript.item("k3") is not None and transcript.find("k2") is not None
    assert in_memory(transcript) == {transcript.current_turn}


def test_a_late_update_finds_the_call_of_an_old_turn_and_the_next_turn_lets_it_go() -> None:
    transcript = long_life(Memory())
    transcript.apply(ev.ToolChanged("call2", status="completed"))
    assert len(transcript.snapshot().items) == 15
    found = transcript.item("k5")
    assert isinstance(found, ToolCall) and (found.id, found.status) == ("call2", "completed")
    assert len(in_memory(transcript)) == 2
    transcript.apply_all(turn(6))
    assert in_memory(transcript) == {transcript.current_turn}
    assert transcript.item("k5") == found


def test_the_changes_of_an_old_turn_are_added_to_it() -> None:
    transcript = long_life(Memory())
    transcript.apply(ev.NoticeGiven("info", "late", turn="k1"))
    assert [it["key"] for it in transcript.turn_plain("k1")] == ["k1", "k2", "k3", "k16"]
    transcript.apply_all(turn(6))
    assert [it["key"] for it in transcript.turn_plain("k1")] == ["k1", "k2", "k3", "k16"]
    assert [it.key for it in transcript.snapshot().items] == [f"k{number}" for number in range(1, 20)]


@pytest.mark.parametrize("text", ["half \ud800 a character", "plain"])
def test_what_cannot_be_stored_stays_in_memory(text: str) -> None:
    spool = Full() if text == "plain" else Memory()
    transcript = Transcript(spool)
    transcript.apply_all(turn(1, ev.MessageChunk("agent", Text(text), "m")))
    transcript.apply_all(turn(2))
    assert spool.kept == []
    last = transcript.turn_items("k1")[-1]
    assert isinstance(last, Message) and last.content == (Text(text),)


def test_a_cleared_history_leaves_nothing() -> None:
    transcript = long_life(Memory())
    patches = transcript.apply(ev.HistoryCleared())
    assert len(patches) == 15
    assert transcript.plain()["items"] == [] and transcript.part_names() == []
    assert transcript.find("k1") is None
