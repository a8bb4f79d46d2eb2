"""Completes a turn from the history that an agent sends when it loads the session again.

Pure. After a connection has lost messages, a turn has gaps; the agent's own history has none. Nothing that is
shown is removed, and nothing is shown twice: agents store less than they send, join messages, and some give
their tool calls other ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from . import events as ev
from .records import Text
from .snapshot import Item, Message, Plan, ToolCall, TurnStart, text_of
from .transcript import CLOSED_STATUSES, Transcript


class Found(NamedTuple):
    """What a history has of a turn and the transcript lacks."""

    events: list[ev.MessageReplaced | ev.Recovered]
    is_certain: bool
    """Whether nothing else of the turn can be missing."""


def corrections(ours: Sequence[Item], history: Iterable[ev.Event], again: int = 0) -> Found:
    """What to add to a turn so that it has what the history has, whose last turn it is.

    `again`: how many earlier turns had the same prompt. It is not certain that nothing else is missing if the
    two cannot be compared, for example because an agent stores no text, or because the history does not have
    this turn (yet).
    """
    scratch = Transcript()
    scratch.apply_all(history)
    theirs = scratch.turn_items(scratch.current_turn)
    same = [it for it in scratch.snapshot().items if isinstance(it, TurnStart) and is_prompt(ours, it)]
    if not same or same[-1].key != scratch.current_turn or len(same) <= again:
        return Found([], is_certain=False)
    turn = next(it.key for it in ours if isinstance(it, TurnStart))
    texts: tuple[_Part, _Part] = _Texts(ours, theirs, "agent"), _Texts(ours, theirs, "thought")
    parts = (*texts, _Calls(turn, ours, theirs), _Plans(turn, ours, theirs))
    changed = [it for part in parts for it in part.changed]
    added = {key: event for part in parts for key, event in part.added.items()}
    recovered = [ev.Recovered(turn, added[it.key]) for it in theirs if it.key in added]
    return Found([*changed, *recovered], all(part.is_certain for part in parts))


def is_prompt(ours: Sequence[Item], start: TurnStart) -> bool:
    """Whether this is the start of our turn: agents store a prompt with what they add to it."""
    own = next((it for it in ours if isinstance(it, TurnStart)), None)
    if own is None:
        return False
    mine, stored = _squeezed(own.text), _squeezed(start.text)
    return mine in stored if mine else mine == stored


class _Part:
    """One kind of content of the turn."""

    def __init__(self) -> None:
        self.changed: list[ev.MessageReplaced | ev.Recovered] = []
        """What completes items that are here."""
        self.added: dict[str, ev.MessageChunk | ev.ToolChanged | ev.PlanReplaced] = {}
        """What is missing, by the key in the history."""
        self.is_certain = True


class _Texts(_Part):
    """The messages of one role: in the end, their texts are those of the history, in its order."""

    def __init__(self, ours: Sequence[Item], theirs: Sequence[Item], role: ev.Role) -> None:
        super().__init__()
        mine, stored = _messages(ours, role), _messages(theirs, role)
        texts = {it.key: text_of(it.content) for it in stored if _is_text(it)}
        known = {it.key: text_of(it.content) for it in mine if _is_text(it)}
        others = [it.content for it in mine if not _is_text(it)]
        has_others = all(_is_text(it) or it.content in others for it in stored)
        self.is_certain = has_others and (bool(texts) or role == "thought")
        whole, here = (_squeezed("".join(it.values())) for it in (texts, known))
        if whole == here and len(texts) != len(known):
            return  # agents join messages, and a lost tool call does
        if role == "thought" and whole in here:
            return
        runs = _runs(list(known.values()), list(texts.values()))
        if runs is None:  # it has forgotten a part that is here
            self.is_certain = False
            return
        begin, keys = 0, list(texts)
        for (key, text), end in zip(known.items(), runs, strict=True):
            run = "\n\n".join(texts[it] for it in keys[begin:end])
            is_longer = len(run) > len(text) or _squeezed(run) != _squeezed(text)
            if run.split() != text.split() and is_longer:
                self.changed.append(ev.MessageReplaced(key, run))
            begin = end
        self.added = {key: ev.MessageChunk(role, Text(texts[key])) for key in keys[begin:]}


class _Calls(_Part):
    """The tool calls: those of the history that are missing, and the ends of those that are here."""

    def __init__(self, turn: str, ours: Sequence[Item], theirs: Sequence[Item]) -> None:
        super().__init__()
        mine = {it.id: it for it in ours if isinstance(it, ToolCall)}
        stored = [it for it in theirs if isinstance(it, ToolCall)]
        unknown = [it for it in stored if it.id not in mine]
        if len(unknown) == len(stored):  # perhaps the agent gives its calls other ids when it loads them
            left = [(it.title, it.kind) for it in mine.values()]
            for call in [*unknown]:
                if (call.title, call.kind) in left:
                    left.remove((call.title, call.kind))
                    unknown.remove(call)
            if unknown and left:  # some of them may be those that are here
                self.is_certain = False
                return
        self.added = {it.key: _event(it) for it in unknown}
        for call in stored:
            if call.id in mine and (event := _completion(mine[call.id], call)) is not None:
                self.changed.append(ev.Recovered(turn, event, mine[call.id].key))


class _Plans(_Part):
    """The plans, each in its newest state."""

    def __init__(self, turn: str, ours: Sequence[Item], theirs: Sequence[Item]) -> None:
        super().__init__()
        mine = {it.id: it for it in ours if isinstance(it, Plan)}
        for plan in (it for it in theirs if isinstance(it, Plan)):
            here = mine.get(plan.id)
            event = ev.PlanReplaced(plan.entries, plan.id, plan.text, plan.uri)
            if here is None:
                self.added[plan.key] = event
            elif _steps(here) != _steps(plan):
                self.is_certain = False
            elif _progress(plan) > _progress(here):
                self.changed.append(ev.Recovered(turn, event, here.key))


# ---- texts -------------------------------------------------------------------------------------


def _messages(items: Sequence[Item], role: str) -> list[Message]:
    return [it for it in items if isinstance(it, Message) and it.role == role]


def _is_text(message: Message) -> bool:
    return all(isinstance(block, Text) for block in message.content)


def _squeezed(text: str) -> str:
    """The text without white space: agents store it with their own."""
    return "".join(text.split())


def _runs(known: Sequence[str], stored: Sequence[str]) -> list[int] | None:
    """For each known text, how many of the stored ones it takes, with those before, to contain it. A text
    contains those that it becomes with parts left out. None: something known is not in them."""
    ends: list[int] = []
    at = 0
    for text in known:
        rest = iter(_squeezed(text))
        wanted = next(rest, None)
        while wanted is not None:
            if at == len(stored):
                return None
            for char in stored[at]:
                if char == wanted:
                    wanted = next(rest, None)
            at += 1
        ends.append(at)
    return ends


# ---- tool calls and plans ----------------------------------------------------------------------


def _event(call: ToolCall) -> ev.ToolChanged:
    """The call as history: nothing is done for it any more."""
    fields = {name: value for name in _CALL_FIELDS if (value := getattr(call, name))}
    status = call.status if call.status in CLOSED_STATUSES else "unfinished"
    return ev.ToolChanged(call.id, status=status, created=True, **fields)


def _completion(here: ToolCall, stored: ToolCall) -> ev.ToolChanged | None:
    """What was lost of a call: its beginning, or its end. The user's answer to a question stands."""
    is_open = here.status not in CLOSED_STATUSES or here.status in ("unfinished", "allowed")
    ended = is_open and stored.status in ("completed", "failed")
    if not ended and not (stored.title and not here.title):
        return None
    fields = {name: it for name in _CALL_FIELDS if (it := getattr(stored, name)) and _is_less(here, name, it)}
    if ended:
        fields["status"] = stored.status
    return ev.ToolChanged(here.id, **fields)


def _is_less(here: ToolCall, name: str, stored: object) -> bool:
    known = getattr(here, name)
    if name == "content" and all(isinstance(it, Text) for it in here.content):
        return stored != known and text_of(stored).startswith(here.text)  # type: ignore[arg-type]
    return not known or (name == "kind" and known == "other" != stored)


def _steps(plan: Plan) -> tuple[object, ...]:
    return tuple(it.content for it in plan.entries), plan.text, plan.uri


def _progress(plan: Plan) -> int:
    order = ("pending", "in_progress", "completed")
    return sum(order.index(it.status) for it in plan.entries if it.status in order)


_CALL_FIELDS = ("title", "kind", "content", "locations", "raw_input", "raw_output", "name", "meta")
