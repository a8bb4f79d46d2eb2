"""Hypothesis strategies: any sequence of events, and any run of patches that fits a state.

Few ids and few texts, so that collisions, reuse and echoes happen.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from acp_notebook.core import events as ev
from acp_notebook.core import records as rec
from acp_notebook.core.changes import FileChange, Hunk
from acp_notebook.core.forms import Field
from acp_notebook.core.patches import Add, Append, Patch, Path, Remove, Set, to_wire
from acp_notebook.core.records import Json

PROMPT = "hello world"
"""The prompt of most turns; some of the texts below are parts of it, so that they can be an echo."""

ids = st.sampled_from(["a", "b", "c"])
texts = st.sampled_from(["", "x", "hel", "lo", "lo world", "hello", PROMPT, "é\n🙂"])
statuses = st.sampled_from(["pending", "in_progress", "completed", "failed", "strange"])
json_values: st.SearchStrategy[Json] = st.sampled_from(
    [
        None,
        True,
        0,
        1.5,
        "",
        "x",
        [],
        {},
        [None, "y"],
        {"key": "k1", "type": "text"},
        {"x": [{"y": "z"}, [1]]},
    ]
)
raws: st.SearchStrategy[Json] = st.sampled_from([None, None, {}, {"_meta": {"x": [1]}}])
metas: st.SearchStrategy[Json] = st.sampled_from([None, None, {"x": 1}, {"x": [2], "key": "k1"}, {"y": {}}])


def optional(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.just(ev.UNSET) | strategy


def several(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.just(()) | st.tuples(strategy) | st.tuples(strategy, strategy)


NOTES = {"audience": ["user"]}
bare_texts = texts.map(rec.Text)
SPECIMENS: list[rec.Content] = [
    rec.Text("x", NOTES),
    rec.Text("", NOTES),
    rec.Image("aGk=", "image/png"),
    rec.Image("aGk=", "image/png", "file:///a.png", NOTES),
    rec.Audio("aGk=", "audio/wav"),
    rec.Audio("aGk=", "audio/wav", NOTES),
    rec.ResourceLink("file:///a", "a"),
    rec.ResourceLink("file:///a", "a", "A", "", "text/plain", 0, NOTES),
    rec.Resource("file:///a", "text"),
    rec.Resource("file:///a", None, "aGk=", "image/png", NOTES),
    rec.Diff("a.py", "new"),
    rec.Diff("a.py", "", "old"),
    rec.Terminal("t1"),
    rec.UnknownContent(None),
    rec.UnknownContent([]),
    rec.UnknownContent({"type": "hologram", "raw": {"x": None}}),
]
"""Each type of content, with and without optional fields."""

contents: st.SearchStrategy[Any] = st.sampled_from(SPECIMENS) | bare_texts
chunk_contents = bare_texts | bare_texts | contents

chunks = st.builds(
    ev.MessageChunk, st.sampled_from(["user", "agent", "thought"]), chunk_contents, optional(ids), raws, metas
)
tools = st.builds(
    ev.ToolChanged,
    id=ids,
    title=maybe(texts),
    kind=maybe(st.sampled_from(["read", "edit", "strange"])),
    status=maybe(statuses),
    content=maybe(several(contents)),
    locations=maybe(several(st.builds(rec.Location, ids, optional(st.integers(0))))),
    raw_input=maybe(json_values),
    raw_output=maybe(json_values),
    name=maybe(ids),
    meta=metas.map(lambda meta: ev.UNSET if meta is None else meta),
    unprompted=maybe(st.just(True)),
    created=st.booleans(),
    raw=raws,
)
turn_starts = st.builds(
    ev.TurnStarted,
    st.just((rec.Text(PROMPT),)) | several(contents).map(lambda more: (rec.Text("hel"), *more)),
)
token_usages = st.builds(rec.TokenUsage, optional(st.integers(0)), optional(st.integers(0)))
turn_ends = st.builds(
    ev.TurnEnded,
    st.sampled_from(["done", "failed", "abandoned"]),
    optional(st.sampled_from(["end_turn", "cancelled", "strange"])),
    optional(texts),
    optional(token_usages),
    raws,
    metas,
)
plan_entries = st.builds(rec.PlanEntry, texts, st.sampled_from(["high", "low"]), statuses)
plans = st.builds(
    ev.PlanReplaced, several(plan_entries), optional(ids), optional(texts), optional(ids), raws
) | st.builds(ev.PlanRemoved, ids)
options = st.builds(rec.Option, ids, texts, st.sampled_from(["allow_once", "reject_once", "strange"]))
offers = st.builds(rec.Offer, ids, texts, st.sampled_from(["session", "always"]))
terminals = st.builds(
    ev.TerminalChanged,
    ids,
    maybe(texts),
    maybe(ids),
    maybe(st.sampled_from(["running", "exited"])),
    maybe(st.none() | st.integers(0, 255)),
    maybe(st.none() | st.just("SIGKILL")),
    maybe(st.just(True)),
) | st.builds(ev.TerminalOutput, ids, texts, st.sampled_from([0, 0, 5]))
questions = st.builds(ev.QuestionAsked, ids, ids, several(options), raws, several(offers)) | st.builds(
    ev.QuestionSettled, ids, optional(ids), st.sampled_from(["user", "policy"]), optional(texts)
)
form_fields = st.builds(
    Field,
    ids,
    st.sampled_from(["string", "integer", "boolean", "unknown"]),
    optional(texts),
    default=optional(texts),
    secret=st.booleans(),
) | st.builds(Field, ids, st.just("select"), choices=several(st.builds(rec.Choice, ids, texts)))
elicitations = st.one_of(
    st.builds(
        ev.ElicitationOpened,
        ids,
        st.sampled_from(["form", "url", "strange"]),
        texts,
        several(form_fields),
        url=optional(texts),
        tool_id=optional(ids),
        raw=raws,
    ),
    st.builds(
        ev.ElicitationSettled,
        ids,
        st.sampled_from(["accept", "decline", "cancel", "strange"]),
        st.sampled_from(["user", "policy"]),
        optional(texts),
        optional(st.dictionaries(ids, st.booleans() | texts, max_size=2)),
    ),
    st.builds(ev.ElicitationCompleted, ids),
)
compactions = st.builds(
    ev.CompactionChanged, ids, statuses, maybe(several(contents)), optional(texts), raws
) | st.builds(ev.CompactionChunk, ids, chunk_contents, raws)
hunks = st.builds(
    Hunk, ids, st.just(1), st.just(1), st.just(1), st.just(1), several(texts), st.booleans(), optional(texts)
)
files = st.builds(
    FileChange,
    ids,
    ids,
    st.sampled_from(["created", "modified"]),
    hunks=several(hunks),
    state=st.sampled_from(["applied", "undone", "conflict"]),
    undoable=st.booleans(),
    moved_from=optional(ids),
    binary=optional(st.just(True)),
    why=optional(texts),
    tool=optional(st.sampled_from(["k1", "k2"])),
)
changed_files = st.builds(
    ev.ChangesReplaced, st.sampled_from(["k1", "k2", "k9"]), several(files), several(texts)
)
choices = st.builds(rec.Choice, ids, texts, optional(texts), optional(ids))
costs = st.builds(rec.Cost, st.floats(0, 9), st.just("EUR"))
headers = st.one_of(
    st.builds(ev.CommandsReplaced, several(st.builds(rec.Command, ids, texts, optional(texts))), raws),
    st.builds(
        ev.ModesReplaced, several(st.builds(rec.Mode, ids, texts, optional(texts))), optional(ids), raws
    ),
    st.builds(ev.ModeChanged, ids, raws),
    st.builds(ev.KernelToolsSwitched, st.booleans()),
    st.builds(
        ev.ConfigReplaced,
        several(
            st.builds(rec.ConfigOption, ids, texts, st.just("select"), ids, several(choices), optional(texts))
            | st.builds(rec.ConfigOption, ids, texts, st.just("boolean"), st.booleans())
        ),
        raws,
    ),
    st.builds(ev.InfoChanged, maybe(optional(texts)), maybe(optional(texts)), raws),
    st.builds(
        ev.UsageChanged,
        st.builds(rec.Usage, optional(st.integers(0)), optional(st.integers(0)), optional(costs)),
        raws,
    ),
    st.builds(ev.StatusChanged, statuses, optional(texts)),
    st.builds(ev.AgentKnown, ids, optional(texts), optional(ids), optional(ids)),
)
others = st.one_of(
    st.builds(ev.NoticeGiven, ids, texts, optional(texts), st.sampled_from(["agent", "client"]), raws),
    st.builds(ev.UnknownReceived, ids, json_values),
    st.builds(ev.TurnCancelling),
    st.builds(ev.TurnLimited, texts),
    st.builds(ev.RateLimited, texts, optional(st.just(20.0)), optional(st.just(5.0)), st.integers(0, 2)),
    st.builds(ev.RateLimitOver),
)
kept_events: st.SearchStrategy[ev.Event] = st.one_of(
    chunks,
    chunks,
    chunks,
    tools,
    tools,
    turn_starts,
    turn_ends,
    plans,
    questions,
    elicitations,
    compactions,
    changed_files,
    terminals,
    headers,
    others,
)
"""Every event but the one that clears the history."""

events: st.SearchStrategy[ev.Event] = st.one_of(*[kept_events] * 12, st.builds(ev.HistoryCleared))


def runs_of(some: st.SearchStrategy[ev.Event], longest: int = 25) -> st.SearchStrategy[list[ev.Event]]:
    """Lists of any length; Hypothesis's own are mostly short."""
    return st.integers(0, longest).flatmap(lambda size: st.lists(some, min_size=size, max_size=size))


event_runs = runs_of(events)


@st.composite
def event_runs_with_marked_raw(draw: st.DrawFn) -> tuple[list[ev.Event], list[Json]]:
    """A run in which some events carry a raw message of their own, and those raw messages.

    A turn is there from the start, and nothing is cleared or removed: so each raw has a place to be.
    """
    run: list[ev.Event] = [ev.TurnStarted((rec.Text(PROMPT),))]
    marks: list[Json] = []
    for event in draw(runs_of(kept_events)):
        if isinstance(event, ev.PlanRemoved):
            continue
        if getattr(event, "raw", None) is not None:
            marks.append({"mark": len(marks)})
            event = replace(event, raw=marks[-1])
        run.append(event)
    return run, marks


def splits(text: str) -> st.SearchStrategy[list[str]]:
    """The text in any chunking, empty chunks too."""
    cuts = st.lists(st.integers(0, len(text)), max_size=5).map(sorted)
    return cuts.map(lambda at: [text[a:b] for a, b in zip([0, *at], [*at, len(text)], strict=True)])


def reference_apply(state: Json, wire: list[Json]) -> Json:
    """A minimal reference implementation: returns a new plain state for a patch in wire form."""
    state, wire = json.loads(json.dumps([state, wire]))
    items: list[Json] = state["items"]
    match wire:
        case ["add", item] if item["key"] == "session":
            state["session"] = item
        case ["add", item]:
            items.append(item)
        case ["remove", key]:
            state["items"] = [item for item in items if item["key"] != key]
        case [word, key, [*steps, last], value]:
            place = next(item for item in [state["session"], *items] if item["key"] == key)
            for step in steps:
                place = place[step]
            place[last] = place[last] + value if word == "append" else value
    return state


def _places(value: Json, path: Path = ()) -> list[tuple[Path, Json]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    below = [place for step, item in inner if path or step != "key" for place in _places(item, (*path, step))]
    return [(path, value), *below] if path else below


@st.composite
def patch_runs(draw: st.DrawFn) -> tuple[Json, list[Patch]]:
    """A plain state, and a run of any patches that fit it one after the other."""
    start: Json = {"session": {"key": "session", "x": []}, "items": [{"key": "k0", "x": "t"}]}
    state, run, added = start, list[Patch](), 0
    for _ in range(draw(st.integers(0, 12))):
        keys: list[str] = [item["key"] for item in state["items"]]
        key = draw(st.sampled_from(["session", *keys, *keys]))
        item: Json = next(item for item in [state["session"], *state["items"]] if item["key"] == key)
        patch: Patch
        match draw(st.sampled_from(["add", "remove", "set", "set", "append", "append", "append"])):
            case "add":
                added += 1
                patch = Add({"key": f"k{added}", "x": draw(json_values), "y": draw(texts)})
            case "remove" if key != "session":
                patch = Remove(key)
            case "append" if grows := [place for place in _places(item) if isinstance(place[1], str | list)]:
                path, value = draw(st.sampled_from(grows))
                more: st.SearchStrategy[Any] = (
                    texts if isinstance(value, str) else st.lists(json_values, max_size=2)
                )
                patch = Append(key, path, draw(more))
            case _:
                inside = [path for path, _ in _places(item)]
                patch = Set(key, draw(st.sampled_from([("x",), ("new",), *inside])), draw(json_values))
        run.append(patch)
        state = reference_apply(state, to_wire(patch))
    return start, run
