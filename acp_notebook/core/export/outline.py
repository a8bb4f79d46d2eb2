"""Items -> blocks: what a document says about a conversation, in the order in which it happened.

Knows no markup. Item keys, the agent's ids and its raw messages are left out on purpose: they say
nothing to a reader and differ from run to run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from ..changes import FileChange, lines_of_diff
from ..forms import Field
from ..records import Json, Location, PlanEntry, Terminal
from ..snapshot import (
    Changes,
    Compaction,
    Elicitation,
    Item,
    Message,
    Notice,
    Plan,
    Question,
    TerminalRun,
    ToolCall,
    TurnStart,
    Unknown,
)
from .actions import action_blocks, extras
from .blocks import Block, Check, Checklist, Code, Fold, Line, Link, Prose, Quote, Tool
from .bounds import bounded, shortened
from .contents import DIFF_LINES, code_block, json_block, message_blocks, terminal_blocks, tool_blocks
from .escaping import Escaper

ALSO = "Also changed during this turn:"

TITLE_CHARS = 160
"""Of a tool call's title in its heading, about two lines; a longer one follows in full."""

_STOPPED = {
    "cancelled": "The turn was cancelled.",
    "refusal": "The agent refused to go on.",
    "max_tokens": "The agent reached its limit of tokens.",
    "max_turn_requests": "The agent reached its limit of requests in one turn.",
}


def outline(items: Sequence[Item], words: Escaper) -> Iterator[Block]:
    """The blocks of a conversation, or of a part of it."""
    about = _About(items, words)
    turn: TurnStart | None = None
    for item in _changes_last(items):
        if turn is not None and (isinstance(item, TurnStart) or item.turn != turn.key):
            yield from _ending(turn, words)
            turn = None
        if isinstance(item, TurnStart):
            turn = item
        yield from _item(item, about, words)
    yield from _ending(turn, words)


def _changes_last(items: Sequence[Item]) -> Iterator[Item]:
    """What a turn changed stands at its end, as in the page: its item is as old as the first write."""
    ends = {item.turn: index for index, item in enumerate(items) if not isinstance(item, Changes)}
    changes = [item for item in items if isinstance(item, Changes)]
    for index, item in enumerate(items):
        if not isinstance(item, Changes):
            yield item
            if ends[item.turn] == index:
                yield from (it for it in changes if it.turn == item.turn)
        elif item.turn not in ends:
            yield item


class _About:
    """What items say of other items: the titles of tool calls, the terminals that are shown in one."""

    def __init__(self, items: Sequence[Item], words: Escaper) -> None:
        tools = [item for item in items if isinstance(item, ToolCall)]
        self.titles = {tool.key: _title(tool, words) for tool in tools}
        self.terminals = {item.id: item for item in items if isinstance(item, TerminalRun)}
        self.asked = {
            item.tool: item for item in items if isinstance(item, Question) and item.tool in self.titles
        }
        """The newest question about each call: it stands with its call, as in the page."""
        self.in_tools = {it.terminal_id for tool in tools for it in tool.content if isinstance(it, Terminal)}


def _item(item: Item, about: _About, words: Escaper) -> Iterator[Block]:
    match item:
        case TurnStart():
            yield _user(item, words)
        case Message():
            yield from _message(item, words)
        case ToolCall():
            yield _tool(item, about.terminals, words)
            if item.key in about.asked:
                yield from _question(about.asked[item.key], about.titles, words)
        case Plan():
            yield from _plan(item, words)
        case Question():
            if about.asked.get(item.tool or "") is not item:
                yield from _question(item, about.titles, words)
        case Elicitation():
            yield from _elicitation(item, words)
        case TerminalRun():
            if item.id not in about.in_tools:
                yield Fold("Terminal", tuple(terminal_blocks(item, words)))
        case Notice():
            yield from _notice(item, words)
        case Compaction():
            yield _compaction(item, words)
        case Changes():
            yield _changes(item, words)
        case Unknown():
            yield Fold(f"Unknown message: {words.line(item.what)}", (json_block(item.content, words),))


def _user(turn: TurnStart, words: Escaper) -> Quote:
    return Quote("You", message_blocks(turn.prompt, words, breaks=True))


def _message(message: Message, words: Escaper) -> Iterator[Block]:
    said = message_blocks(message.content, words, breaks=message.role == "user")
    if not said:
        return
    match message.role:
        case "agent":
            yield from said
        case "thought":
            yield Fold("Thought", said, quiet=True)
        case "user":
            yield Quote("You", said)
        case other:
            yield Quote(words.line(other), said)


# ---- tool calls -----------------------------------------------------------------------------


def _title(tool: ToolCall, words: Escaper) -> str:
    title = words.line(tool.title)
    # Many agents put a command between backticks; the writers mark it as code anyway.
    if len(title) > 2 and title[0] == title[-1] == "`" and "`" not in title[1:-1]:
        title = title[1:-1]
    return title or words.line(tool.name or "") or "(untitled)"


def _tool(tool: ToolCall, terminals: Mapping[str, TerminalRun], words: Escaper) -> Tool:
    title = _title(tool, words)
    blocks: tuple[Block, ...] = ()
    if len(title) > TITLE_CHARS or "\n" in tool.title.strip():
        blocks = (Code(words.code(tool.title).strip()),)
    if tool.locations:
        blocks += (Line("Where:", _places(tool.locations, words)),)
    blocks += tool_blocks(tool.content, words, terminals)
    if not tool.content and tool.raw_output is not None:
        blocks += tuple(code_block(_raw_text(tool.raw_output), words))
    seen = bool(tool.diffs) or tool.status == "failed"
    status = _word(tool.status, words) + (", unprompted" if tool.unprompted else "")
    return Tool(_word(tool.kind, words), _cut(title), status, blocks, seen)


def _raw_text(value: Json) -> str:
    """A result that comes as data only (cline, pydantic-acp): its text, or its JSON."""
    if isinstance(value, dict):
        texts = [value.get(key) for key in ("output", "text", "content", "result")]
        value = next((it for it in texts if isinstance(it, str)), value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _cut(title: str) -> str:
    return title if len(title) <= TITLE_CHARS else title[:TITLE_CHARS] + "…"


def _places(locations: Sequence[Location], words: Escaper) -> str:
    shown = (words.path(at.path) + ("" if at.line is None else f":{at.line}") for at in locations)
    return ", ".join(dict.fromkeys(shown))


def _word(name: str, words: Escaper) -> str:
    return words.line(name).replace("_", " ") or "unknown"


# ---- plans and questions ----------------------------------------------------------------------


def _plan(plan: Plan, words: Escaper) -> Iterator[Block]:
    yield Line("Plan")
    if plan.entries:
        yield Checklist(tuple(_check(entry, words) for entry in plan.entries))
    if plan.text:
        yield Prose(words.prose(plan.text))
    if plan.uri:
        uri = words.path(plan.uri)
        yield Link(uri, uri)


def _check(entry: PlanEntry, words: Escaper) -> Check:
    note = f"{_word(entry.status, words)}, {_word(entry.priority, words)}"
    return Check(entry.status, words.line(entry.content), note)


def _question(question: Question, titles: Mapping[str, str], words: Escaper) -> Iterator[Block]:
    about = _cut(titles.get(question.tool or "", "a tool call"))
    more = extras(question.actions, words)
    yield Line("Permission:", f"{about}{f' ({more})' if more else ''} → {_answer(question, words)}")
    if question.status == "open":
        yield from action_blocks(question.actions, words)


def _answer(question: Question, words: Escaper) -> str:
    if question.status == "open":
        return "not answered yet"
    # The id of an answer that was not offered is the agent's or the policy's own: no name to show.
    chosen = words.line(question.answer_name or "an answer that was not offered")
    answer = "cancelled" if question.answer is None else chosen
    by, reason = words.line(question.by or ""), words.line(question.reason or "")
    who = ": ".join(part for part in (f"by {by}" if by else "", reason) if part)
    return f"{answer} ({who})" if who else answer


def _elicitation(asked: Elicitation, words: Escaper) -> Iterator[Block]:
    what = "asks for an address to be opened:" if asked.mode == "url" else "asks:"
    yield from _told(f"The agent {what}", asked.message, words)
    if asked.url:
        yield Line("Address:", words.line(asked.url))  # as text: only the user opens it, and only then
    yield Line("Answer:", _settled(asked, words))
    names = {field.name: field for field in asked.fields}
    for name, value in asked.values.items():
        yield Line(
            f"{words.line(names[name].label if name in names else name)}:",
            _value(names.get(name), value, words),
        )


def _settled(asked: Elicitation, words: Escaper) -> str:
    if asked.status == "open":
        return "not answered yet"
    by, reason = words.line(asked.by or ""), words.line(asked.reason or "")
    who = ": ".join(part for part in (f"by {by}" if by else "", reason) if part)
    status = _word(asked.status, words) + (", completed" if asked.completed else "")
    return f"{status} ({who})" if who else status


def _value(field: Field | None, value: Json, words: Escaper) -> str:
    """The titles of what was chosen; anything else as it is."""
    titles = {choice.value: choice.name for choice in field.choices} if field is not None else {}
    if isinstance(value, bool):
        return "yes" if value else "no"
    values = value if isinstance(value, list) else [value]
    return shortened(", ".join(words.line(titles.get(it, str(it))) for it in values)) or "(empty)"


# ---- changed files ------------------------------------------------------------------------------


def _changes(changes: Changes, words: Escaper) -> Fold:
    blocks: list[Block] = []
    for file in changes.files:
        blocks += _file(file, words)
    for group in changes.also:
        ran = group.command
        blocks.append(Line(ALSO) if ran is None else Line("Changed while this command ran:", words.line(ran)))
        for file in group.files:
            blocks += _file(file, words)
    blocks += [Line("Not covered:", words.line(note)) for note in changes.notes]
    count, more = len(changes.files), sum(len(group.files) for group in changes.also)
    title = f"{count} changed file{'s' * (count != 1)}" if count else "Changed files"
    if more:
        also = f"{more} {'more ' * bool(count)}file{'s' * (more != 1)} changed during the turn"
        title = f"{title}, {also}" if count else also
    return Fold(title, tuple(blocks))


def _file(file: FileChange, words: Escaper) -> Iterator[Block]:
    moved = f" from {words.path(file.moved_from)}" if file.moved_from else ""
    counts = f"+{file.added} -{file.removed}" if file.added or file.removed else ""
    state = "" if file.state == "applied" else _word(file.state, words)
    facts = [counts, "binary" if file.binary else "", state, "" if file.undoable else "not undoable"]
    facts += [words.line(file.note or ""), words.line(file.why or "")]
    notes = ", ".join(fact for fact in facts if fact)
    label = f"{_word(file.action, words).capitalize()}:"
    yield Line(label, words.path(file.path) + moved + (f" ({notes})" if notes else ""))
    if file.hunks:
        lines = [words.exact(line) for line in lines_of_diff(file)]
        yield Code(bounded(lines, DIFF_LINES), "diff")


# ---- notices, compaction, endings ---------------------------------------------------------------


def _notice(notice: Notice, words: Escaper) -> Iterator[Block]:
    # Who speaks is said by us, so that an agent's notice cannot pass for ours.
    who = "Notice" if notice.source == "client" else "Agent's notice"
    label = f"{who} ({_word(notice.severity, words)}):"
    yield Line(label, words.line(notice.title))
    if notice.description:
        yield from _told("", notice.description, words)


def _compaction(compaction: Compaction, words: Escaper) -> Fold:
    blocks = message_blocks(compaction.summary, words)
    if compaction.error:
        blocks += tuple(_told("Error:", compaction.error, words))
    return Fold(f"Conversation summarised: {_word(compaction.status, words)}", blocks)


def _ending(turn: TurnStart | None, words: Escaper) -> Iterator[Block]:
    """How a turn ended, where that is worth a line."""
    if turn is None:
        return
    match turn.status:
        case "failed":
            yield from _told("The turn failed:", turn.error or "no reason was given", words)
            return
        case "abandoned":
            if turn.limit is not None:
                yield Line("The turn was stopped:", words.line(turn.limit))
            yield Line("The turn was abandoned:", "the agent did not end it.")
        case "running":
            yield Line("Still running." if not turn.cancelling else "Still running, being cancelled.")
        case "done" | "history":
            if turn.limit is not None:
                yield Line("The turn was stopped:", words.line(turn.limit))
            elif turn.stop_reason not in (None, "end_turn"):
                reason = turn.stop_reason or ""
                yield Line(_STOPPED.get(reason) or f"The turn ended: {_word(reason, words)}.")
        case other:
            yield Line(f"The turn's status: {_word(other, words)}.")
    if turn.error:
        yield from _told("Error:", turn.error, words)


def _told(label: str, text: str, words: Escaper) -> Iterator[Block]:
    """A short text in a line, a long one (the tail of stderr) as it is."""
    text = words.code(text).strip()
    if "\n" not in text:
        if label or text:
            yield Line(label, shortened(text))
        return
    if label:
        yield Line(label)
    yield Code(text)
