"""Turn items into blocks: what a document says about a conversation, in order.

Independent of markup. Item keys, the agent's ids and its raw messages are left out on purpose: they mean
nothing to a reader and differ from run to run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set

from ..changes import AlsoChanged, FileChange, lines_of_diff
from ..escaping import Escaper
from ..forms import Field
from ..records import AskedBy, Json, KernelRun, Location, PlanEntry, Terminal
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

YOU = "You"
"""The label of what the user wrote."""

ALSO = "Also changed during this turn:"

TITLE_CHARS = 160
"""Characters of a tool call's title in its heading, about two lines; a longer one follows in full."""

OPEN_LINES = 30
"""Lines of a terminal's output that is shown at once; the page scrolls longer ones."""

_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")

_KINDS = frozenset(
    {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
)
"""The kinds of the protocol. An unknown kind is named next to the title."""

_STOPPED = {
    "cancelled": "The turn was cancelled.",
    "refusal": "The agent refused to go on.",
    "max_tokens": "The agent reached its limit of tokens.",
    "max_turn_requests": "The agent reached its limit of requests in one turn.",
}


def outline(items: Sequence[Item], escaper: Escaper) -> Iterator[Block]:
    """The blocks of a conversation, or of a part of it."""
    index = _Index(items, escaper)
    turn: TurnStart | None = None
    for item in _changes_last(items):
        if turn is not None and (isinstance(item, TurnStart) or item.turn != turn.key):
            yield from _ending(turn, escaper)
            turn = None
        if isinstance(item, TurnStart):
            turn = item
        yield from _item(item, index, escaper)
    yield from _ending(turn, escaper)


def _changes_last(items: Sequence[Item]) -> Iterator[Item]:
    """Move the changes of a turn to its end, as in the page: the item is as old as the turn's first write."""
    ends = {item.turn: index for index, item in enumerate(items) if not isinstance(item, Changes)}
    changes = [item for item in items if isinstance(item, Changes)]
    for index, item in enumerate(items):
        if not isinstance(item, Changes):
            yield item
            if ends[item.turn] == index:
                yield from (it for it in changes if it.turn == item.turn)
        elif item.turn not in ends:
            yield item


class _Index:
    """Looks up what items refer to in other items: titles of tool calls, questions, terminals."""

    def __init__(self, items: Sequence[Item], escaper: Escaper) -> None:
        tools = [item for item in items if isinstance(item, ToolCall)]
        self.titles = {tool.key: _title(tool, escaper) for tool in tools}
        self.terminals = {item.id: item for item in items if isinstance(item, TerminalRun)}
        self.asked = {
            item.tool: item for item in items if isinstance(item, Question) and item.tool in self.titles
        }
        """The newest question about each call, which is shown with the call, as in the page."""
        self.diffs: dict[str | None, set[str]] = {}
        """The files whose changes the calls of a turn show."""
        for tool in tools:
            self.diffs.setdefault(tool.turn, set()).update(escaper.path(it.path) for it in tool.diffs)
        self.in_tools = {it.terminal_id for tool in tools for it in tool.content if isinstance(it, Terminal)}


def _item(item: Item, index: _Index, escaper: Escaper) -> Iterator[Block]:
    match item:
        case TurnStart():
            yield _user(item, escaper)
        case Message():
            yield from _message(item, escaper)
        case ToolCall():
            question = index.asked.get(item.key)
            yield _tool(item, question, index.terminals, escaper)
            if question is not None and question.status == "open":
                yield from _question(question, index.titles, escaper)
        case Plan():
            yield from _plan(item, escaper)
        case Question():
            if index.asked.get(item.tool or "") is not item:
                yield from _question(item, index.titles, escaper)
        case Elicitation():
            yield from _elicitation(item, escaper)
        case TerminalRun():
            if item.id not in index.in_tools:
                yield Fold("Terminal", tuple(terminal_blocks(item, escaper)))
        case Notice():
            yield from _notice(item, escaper)
        case Compaction():
            yield _compaction(item, escaper)
        case Changes():
            yield _changes(item, index.diffs.get(item.turn, frozenset()), escaper)
        case Unknown():
            yield Fold(f"Unknown message: {escaper.line(item.what)}", (json_block(item.content, escaper),))


def _user(turn: TurnStart, escaper: Escaper) -> Quote:
    who = _named(turn.person, escaper) or _asker(turn.asked_by, escaper)
    return Quote(who, message_blocks(turn.prompt, escaper, breaks=True))


def _asker(by: AskedBy | None, escaper: Escaper) -> str:
    """Who wrote the prompt: the user, or the agent of another session."""
    if by is None:
        return YOU
    return f"{escaper.line(by.agent)}{'' if by.turn is None else f', in turn {by.turn}'}"


def _message(message: Message, escaper: Escaper) -> Iterator[Block]:
    said = message_blocks(message.content, escaper, breaks=message.role == "user")
    if not said:
        return
    match message.role:
        case "agent":
            yield from said
        case "thought":
            yield Fold("Thought", said, quiet=True)
        case "user":
            yield Quote(YOU, said)
        case other:
            yield Quote(escaper.line(other), said)


# ---- tool calls -----------------------------------------------------------------------------


def _title(tool: ToolCall, escaper: Escaper) -> str:
    # Agents put commands and names between backticks; the writers format commands as code anyway.
    title = _CODE.sub(r"\1", escaper.line(tool.title))
    return title or escaper.line(tool.name or "") or _word(tool.kind, escaper).capitalize()


def _tool(
    tool: ToolCall, question: Question | None, terminals: Mapping[str, TerminalRun], escaper: Escaper
) -> Tool:
    title = _title(tool, escaper)
    blocks: tuple[Block, ...] = ()
    if len(title) > TITLE_CHARS or "\n" in tool.title.strip():
        blocks = (Code(escaper.code(tool.title).strip()),)
    blocks += tuple(_where(tool, title, escaper))
    blocks += tool_blocks(tool.content, escaper, terminals, title)
    if not tool.content and tool.raw_output is not None:
        blocks += tuple(code_block(_raw_text(tool.raw_output), escaper))
    ran = any(isinstance(it, KernelRun) for it in tool.content)
    printed = [terminals.get(it.terminal_id) for it in tool.content if isinstance(it, Terminal)]
    short = any(it is not None and 0 < it.output.count("\n") <= OPEN_LINES for it in printed)
    seen = bool(tool.diffs) or ran or short or tool.status == "failed"
    shown = title if tool.kind in _KINDS else f"{_word(tool.kind, escaper)}: {title}"
    ticked = tool.title.startswith("`") and tool.title.endswith("`")
    return Tool(
        _cut(shown),
        tool.status,
        _note(tool, question, escaper),
        blocks,
        seen,
        tool.kind == "execute" or ticked,
    )


def _note(tool: ToolCall, question: Question | None, escaper: Escaper) -> str:
    """How the call ended, unless well, and who allowed it."""
    status = "" if tool.status == "completed" else _word(tool.status, escaper)
    by_user = question is not None and question.by == "user"
    unprompted = "unprompted" if tool.unprompted and not by_user else ""
    settled = "" if question is None or question.status == "open" else _settled_question(question, escaper)
    return ", ".join(part for part in (status, unprompted, settled) if part)


def _settled_question(question: Question, escaper: Escaper) -> str:
    more = extras(question.actions, escaper)
    who = "" if question.who is None else f"{escaper.line(question.who)}: "
    return f"{who}{_answer(question, escaper)}{f' ({more})' if more else ''}"


def _raw_text(value: Json) -> str:
    """The text, or else the JSON, of a result that comes only as data (cline, pydantic-acp)."""
    if isinstance(value, dict):
        texts = [value.get(key) for key in ("output", "text", "content", "result")]
        value = next((it for it in texts if isinstance(it, str)), value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _cut(title: str) -> str:
    return title if len(title) <= TITLE_CHARS else title[:TITLE_CHARS] + "…"


def _where(tool: ToolCall, title: str, escaper: Escaper) -> Iterator[Block]:
    """The call's locations, unless its title and its diffs name them all."""
    named = {escaper.path(it.path) for it in tool.diffs}
    paths = {escaper.path(at.path) for at in tool.locations}
    if any(path not in title and path not in named for path in paths):
        yield Line("Where:", ", ".join(dict.fromkeys(_place(at, escaper) for at in tool.locations)))


def _place(at: Location, escaper: Escaper) -> str:
    return escaper.path(at.path) + _line(at)


def _line(at: Location) -> str:
    """The line, from 1. A line of a notebook's file says nothing: its cells do."""
    return f":{at.line}" if at.line and not at.path.lower().endswith(".ipynb") else ""


def _word(name: str, escaper: Escaper) -> str:
    return escaper.line(name).replace("_", " ") or "unknown"


# ---- plans and questions ----------------------------------------------------------------------


def _plan(plan: Plan, escaper: Escaper) -> Iterator[Block]:
    yield Line("Plan")
    if plan.entries:
        yield Checklist(tuple(_check(entry, escaper) for entry in plan.entries))
    if plan.text:
        yield Prose(escaper.prose(plan.text))
    if plan.uri:
        uri = escaper.path(plan.uri)
        yield Link(uri, uri)


def _check(entry: PlanEntry, escaper: Escaper) -> Check:
    return Check(entry.status, escaper.line(entry.content))


def _question(question: Question, titles: Mapping[str, str], escaper: Escaper) -> Iterator[Block]:
    about = _cut(titles.get(question.tool or "", "a tool call"))
    more = extras(question.actions, escaper)
    label = "Permission:" if question.who is None else f"Permission ({escaper.line(question.who)}):"
    yield Line(label, f"{about}{f' ({more})' if more else ''} → {_answer(question, escaper)}")
    if question.status == "open":
        yield from action_blocks(question.actions, escaper)


def _answer(question: Question, escaper: Escaper) -> str:
    if question.status == "open":
        return "not answered yet"
    # An answer that was not offered has only an id of the agent or the policy: there is no name to show.
    chosen = escaper.line(question.answer_name or "an answer that was not offered")
    answer = "cancelled" if question.answer is None else chosen
    by = "you" if question.by == "user" else escaper.line(question.by or "")
    by = _named(question.person, escaper) or by
    reason = escaper.line(question.reason or "")
    return ": ".join(part for part in (f"{answer} by {by}" if by else answer, reason) if part)


def _named(person: str | None, escaper: Escaper) -> str:
    """In quotation marks: a claimed name may be "you" or "policy"."""
    return "" if person is None else f"\u201c{escaper.line(person)}\u201d"


def _elicitation(asked: Elicitation, escaper: Escaper) -> Iterator[Block]:
    who = "The agent asks" if asked.who is None else escaper.line(asked.who)
    what = " for an address to be opened" if asked.mode == "url" else ""
    yield from _text_blocks(f"{who}{what}:", asked.message, escaper)
    if asked.url:
        yield Line("Address:", escaper.line(asked.url))  # as text, not as a link: only the user may open it
    yield Line("Answer:", _settled(asked, escaper))
    names = {field.name: field for field in asked.fields}
    for name, value in asked.values.items():
        yield Line(
            f"{escaper.line(names[name].label if name in names else name)}:",
            _value(names.get(name), value, escaper),
        )


def _settled(asked: Elicitation, escaper: Escaper) -> str:
    if asked.status == "open":
        return "not answered yet"
    by = _named(asked.person, escaper) or escaper.line(asked.by or "")
    reason = escaper.line(asked.reason or "")
    who = ": ".join(part for part in (f"by {by}" if by else "", reason) if part)
    status = _word(asked.status, escaper) + (", completed" if asked.completed else "")
    return f"{status} ({who})" if who else status


def _value(field: Field | None, value: Json, escaper: Escaper) -> str:
    """The titles of chosen options; any other value as it is."""
    titles = {choice.value: choice.name for choice in field.choices} if field is not None else {}
    if isinstance(value, bool):
        return "yes" if value else "no"
    values = value if isinstance(value, list) else [value]
    return shortened(", ".join(escaper.line(titles.get(it, str(it))) for it in values)) or "(empty)"


# ---- changed files ------------------------------------------------------------------------------


def _changes(changes: Changes, shown: Set[str], escaper: Escaper) -> Fold:
    """The changed files. `shown`: those whose diffs the turn's calls show already."""
    blocks: list[Block] = []
    for file in changes.files:
        blocks += _file(file, escaper, diff=escaper.path(file.path) not in shown)
    for group in changes.also:
        blocks.append(_heading(group, escaper))
        for file in group.files:
            blocks += _file(file, escaper)
    blocks += [Line("Not covered:", escaper.line(note)) for note in changes.notes]
    count, more = len(changes.files), sum(len(group.files) for group in changes.also)
    title = f"{count} file{'s' * (count != 1)} changed" if count else "Undo"
    if more:
        also = f"{more} {'more ' * bool(count)}file{'s' * (more != 1)} changed during the turn"
        title = f"{title}, {also}" if count else also
    return Fold(title, tuple(blocks))


def _heading(group: AlsoChanged, escaper: Escaper) -> Line:
    if group.command is not None:
        return Line("Changed while this command ran:", escaper.line(group.command))
    if group.by is not None:
        return Line("Changed in another session by:", escaper.line(group.by))
    return Line(ALSO)


def _file(file: FileChange, escaper: Escaper, *, diff: bool = True) -> Iterator[Block]:
    moved = f" from {escaper.path(file.moved_from)}" if file.moved_from else ""
    counts = f"+{file.added} -{file.removed}" if file.added or file.removed else ""
    state = "" if file.state == "applied" else _word(file.state, escaper)
    facts = [counts, "binary" if file.binary else "", state, "" if file.undoable else "not undoable"]
    facts += [escaper.line(file.note or ""), escaper.line(file.why or "")]
    notes = ", ".join(fact for fact in facts if fact)
    label = f"{_word(file.action, escaper).capitalize()}:"
    yield Line(label, escaper.path(file.path) + moved + (f" ({notes})" if notes else ""))
    if file.hunks and diff:
        lines = [escaper.exact(line) for line in lines_of_diff(file)]
        yield Code(bounded(lines, DIFF_LINES), "diff")


# ---- notices, compaction, endings ---------------------------------------------------------------


def _notice(notice: Notice, escaper: Escaper) -> Iterator[Block]:
    # We name the source, so that an agent's notice cannot pass for ours.
    who = "Notice" if notice.source == "client" else "Agent's notice"
    label = f"{who} ({_word(notice.severity, escaper)}):"
    yield Line(label, escaper.line(notice.title))
    if notice.description:
        yield from _text_blocks("", notice.description, escaper)


def _compaction(compaction: Compaction, escaper: Escaper) -> Fold:
    blocks = message_blocks(compaction.summary, escaper)
    if compaction.error:
        blocks += tuple(_text_blocks("Error:", compaction.error, escaper))
    return Fold(f"Conversation summarised: {_word(compaction.status, escaper)}", blocks)


def _ending(turn: TurnStart | None, escaper: Escaper) -> Iterator[Block]:
    """How a turn ended, unless it ended normally."""
    if turn is None:
        return
    match turn.status:
        case "failed":
            yield from _text_blocks("The turn failed:", turn.error or "no reason was given", escaper)
            return
        case "abandoned":
            if turn.limit is not None:
                yield Line("The turn was stopped:", escaper.line(turn.limit))
            yield Line("The turn was abandoned:", "the agent did not end it.")
        case "running":
            yield Line("Still running." if not turn.cancelling else "Still running, being cancelled.")
        case "done" | "history":
            if turn.limit is not None:
                yield Line("The turn was stopped:", escaper.line(turn.limit))
            elif turn.stop_reason not in (None, "end_turn"):
                reason = turn.stop_reason or ""
                by = _named(turn.stopped_by, escaper)
                ended = _STOPPED.get(reason) or f"The turn ended: {_word(reason, escaper)}."
                yield Line(f"The turn was stopped by {by}." if by else ended)
        case other:
            yield Line(f"The turn's status: {_word(other, escaper)}.")
    if turn.error:
        yield from _text_blocks("Error:", turn.error, escaper)


def _text_blocks(label: str, text: str, escaper: Escaper) -> Iterator[Block]:
    """A short text as a line, a long one (such as the tail of stderr) verbatim."""
    text = escaper.code(text).strip()
    if "\n" not in text:
        if label or text:
            yield Line(label, shortened(text))
        return
    if label:
        yield Line(label)
    yield Code(text)
