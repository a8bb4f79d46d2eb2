"""Saved transcripts are joined to one conversation, or refused with a reason."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest

from acp_notebook.core import events as ev
from acp_notebook.core.loaded_transcript import loaded
from acp_notebook.core.origin import Origin
from acp_notebook.core.records import Text
from acp_notebook.core.saved_transcript import FORMAT, Part, saved
from acp_notebook.core.snapshot import TurnStart
from acp_notebook.core.transcript import Transcript

ORIGIN = Origin("demo", "demo-1")


def turn(name: str, prompt: str, origin: Origin = ORIGIN) -> str:
    transcript = Transcript()
    transcript.apply(ev.TurnStarted((Text(prompt),), id=name))
    transcript.apply(ev.MessageChunk("agent", Text(f"about {prompt}")))
    transcript.apply(ev.TurnEnded("done", "end_turn"))
    return saved(transcript.plain()["items"], name=name, origin=origin).line()


def replayed(name: str, prompt: str, origin: Origin = ORIGIN) -> str:
    """A turn as the history of a resumed conversation has it."""
    transcript = Transcript()
    transcript.apply(ev.MessageChunk("user", Text(prompt)))
    transcript.apply(ev.MessageChunk("agent", Text(f"about {prompt}")))
    return saved(transcript.plain()["items"], name=name, origin=origin).line()


def head(*names: str, origin: Origin = ORIGIN) -> str:
    return Part(agent=origin.agent, session=origin.session, parts=names).line()


def prompts(*values: Any) -> list[str]:
    return [it.text for it in loaded(values).items if isinstance(it, TurnStart)]


def test_turns_of_their_own_come_in_the_order_of_the_outputs() -> None:
    assert prompts(turn("t2", "two"), turn("t1", "one")) == ["two", "one"]


def test_a_whole_conversation_finds_its_turns_wherever_they_are() -> None:
    whole = [head("t1", "t2", "t3"), turn("t2", "two")]
    assert prompts(whole, turn("t3", "three"), turn("t1", "one")) == ["one", "two", "three"]
    assert prompts(turn("t1", "one"), whole, turn("t3", "three")) == ["one", "two", "three"]


def test_a_whole_conversation_without_turns_of_its_own_is_one_line() -> None:
    assert prompts(head("t1"), turn("t1", "one")) == ["one"]
    assert prompts(head()) == []


def test_a_turn_that_is_nowhere_is_left_out() -> None:
    assert prompts([head("t1", "t2"), turn("t2", "two")]) == ["two"]


def test_a_turn_that_two_outputs_keep_is_read_once() -> None:
    whole = [head("t1", "t2"), turn("t1", "one"), turn("t2", "two")]
    assert prompts(whole, turn("t1", "one")) == ["one", "two"]
    assert prompts(turn("t1", "one"), whole) == ["one", "two"]
    assert prompts(turn("t1", "one"), whole, whole) == ["one", "two", "one", "two"]  # two equal sessions


def test_a_turn_with_calls_that_two_outputs_keep_is_read_once() -> None:
    call = {"type": "tool", "id": "id1", "title": "Read", "kind": "read", "status": "completed"}
    fields = json.loads(turn("t1", "one"))
    start, message = fields["items"]
    items = [start, call, {"type": "terminal", "id": "id2", "tool": 2}, message]
    line = json.dumps(fields | {"items": items})
    for values in ([[head("t1"), line], line], [line, [head("t1"), line]]):
        kinds = [type(it).__name__ for it in loaded(values).items]
        assert kinds == ["TurnStart", "ToolCall", "TerminalRun", "Message"]


def test_a_hostile_file_that_names_very_many_parts_is_read_in_seconds() -> None:
    names, line = [f"t{number}" for number in range(10_000)], turn("t0", "x")
    turns = [line.replace('"t0"', f'"{name}"') for name in reversed(names)]
    assert len(prompts(head(*names), *turns)) == len(names)


def test_equal_turns_of_several_sessions_all_count() -> None:
    assert prompts(turn("t1", "one"), turn("t1", "one")) == ["one", "one"]
    other = Origin("demo", "demo-2")
    whole = [head("t1", origin=other), turn("t1", "one", other)]
    assert prompts(whole, head("t1"), turn("t1", "one")) == ["one", "one"]


def test_a_session_id_that_two_agents_use_loses_no_turn() -> None:
    assert sorted(prompts(head("t1"), turn("t1", "a"), head("t1"), turn("t1", "b"))) == ["a", "b"]


def test_the_history_of_a_resumed_conversation_does_not_repeat_its_turns() -> None:
    outputs = [turn("t1", "one"), turn("t2", "two"), [head("h1", "h2", "r3"), replayed("h1", "one")]]
    outputs[2] = [*outputs[2], replayed("h2", "two")]
    for values in permutations([*outputs, turn("r3", "three")]):
        assert sorted(prompts(*values)) == ["one", "three", "two"]
    before = [head("t1"), turn("t1", "one")]
    again = [head("h1", "r2"), replayed("h1", "one"), turn("r2", "two")]
    later = [head("h1", "h2"), replayed("h1", "one"), replayed("h2", "two")]
    for values in permutations([before, again, later]):
        assert sorted(prompts(*values)) == ["one", "two"]


def test_what_was_said_again_after_a_resume_is_not_lost() -> None:
    whole = [head("h1", "r2"), replayed("h1", "ok")]
    for values in permutations([whole, turn("r2", "ok")]):
        assert prompts(*values) == ["ok", "ok"]
    for values in permutations([turn("t1", "ok"), whole, turn("r2", "ok")]):
        assert prompts(*values) == ["ok", "ok"]
    for values in permutations([turn("t1", "ok"), turn("t2", "ok"), turn("t3", "ok"), whole]):
        assert prompts(*values) == ["ok", "ok", "ok"]
    other = turn("t1", "ok", Origin("demo", "demo-2"))
    for values in permutations([other, [head("h1"), replayed("h1", "ok")]]):
        assert prompts(*values) == ["ok", "ok"]


def test_keys_of_different_parts_do_not_collide() -> None:
    keys = [item.key for item in loaded([turn("t1", "one"), turn("t1", "one")]).items]
    assert len(set(keys)) == len(keys) == 4


def test_the_first_format_is_read_next_to_this_one() -> None:
    first = {
        "acp_transcript": 1,
        "items": [
            {
                "type": "turn",
                "key": "k1",
                "turn": "k1",
                "number": 1,
                "status": "done",
                "prompt": [{"type": "text", "text": "old"}],
            }
        ],
    }
    assert prompts(first, turn("t1", "new")) == ["old", "new"]


def _line(**fields: Any) -> str:
    return json.dumps({"acp_transcript": FORMAT, **fields})


def nested(depth: int) -> str:
    content = '{"a":' * depth + "1" + "}" * depth
    item = '{"type":"unknown","what":"x","content":' + content + "}"
    return '{"acp_transcript":2,"name":"t1","items":[' + item + "]}"


def test_an_item_may_be_nested() -> None:
    (item,) = loaded([nested(150)]).items
    assert item.type == "unknown"


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (None, "not a saved transcript"),
        ([], "not a saved transcript"),
        (["{}", 1], "not a saved transcript"),
        ("{", "not a saved transcript"),
        ("[" * 100_000, "not a saved transcript"),
        *((nested(depth), "nested too deeply") for depth in (250, 600, 900)),
        *(
            ({"acp_transcript": 1, "items": [json.loads("[" * depth + "]" * depth)]}, "nested too deeply")
            for depth in (250, 900)
        ),
        ({"items": []}, "not a saved transcript"),
        ({"acp_transcript": FORMAT + 1, "items": []}, f"format {FORMAT + 1}"),
        (json.dumps({"acp_transcript": FORMAT + 1}), f"format {FORMAT + 1}"),
        ({"acp_transcript": 1, "items": [1]}, "cannot be read"),
        ({"acp_transcript": 1, "items": [{"type": "message"}]}, "cannot be read"),
        ({"acp_transcript": 1, "items": [{"type": "dream", "key": "k1"}]}, "cannot be read"),
        (_line(items=[1]), "not a saved transcript"),
        (_line(items=[{"type": "message"}]), "cannot be read"),
        (_line(items=[{"type": "dream"}]), "cannot be read"),
        (_line(items=[{"type": "changes", "files": 1}]), "cannot be read"),
    ],
)
def test_an_invalid_transcript_is_refused(value: Any, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        loaded([value])
