"""Transcript.apply(event) -> patches: the only place where a conversation's state changes.

Does no I/O and knows no clock, no thread and no protocol: the same events produce the same transcript.
It changes the state in place (copying it per event would be quadratic) and belongs to one thread.

The rules:
- Everything is an item with a key that we assign ("k1", "k2", …), in the order of first appearance.
  A turn is an item too (it shows the prompt). Every later item belongs to the newest turn until the
  next one starts, so a late update stays with its turn. The client's own notices between turns
  belong to no turn.
- A chunk continues the newest item if that is a message with the same role and message id; otherwise it
  starts a new message. This preserves the order of messages, thoughts and tool calls.
- A tool call is an upsert by the agent's id; an update that arrives before its call creates the call. A
  call announced again in a later turn is a new call: agents reuse ids. So is a call that comes with a
  question, if its id was asked about before, or belongs to a call that ended or to an earlier turn.
- A plan is replaced in place within a turn. The files that a turn changed are one item of that turn,
  replaced in place whenever their state changes, even long after the turn's end.
- An echo of the user's prompt is not shown twice. A user message outside a running turn is replayed
  history: it starts a turn with the status "history".
- A tool call whose question was rejected is "rejected", even if the agent then reports that it failed; one
  whose question was cancelled is "cancelled". Later reports by the agent still count. If the question was
  ours, the call stays open until the agent reports its end: other parts of it may have been allowed.
- When a turn ends or is being cancelled, its open tool calls are closed; those that the agent never
  mentioned again after its question become "allowed".
- What was lost of a turn, and is in the agent's history, is added at the turn's end, or to an item of it.
- What an agent adds in `_meta` is kept on the item, or in the header if it is about the session: of several
  messages, the newest value of each key.
- What we do not know is kept and shown: as an item of type "unknown", or as `raw` on an item that we know.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from . import events as ev
from .actions import action_to_plain, brief
from .describe import readable_command
from .items import Items, Spool, key_number
from .messages import Echo, OpenMessage, bare_text, is_empty
from .patches import SESSION, Add, Append, Patch, Pieces, Remove, Set, State, settled
from .records import AskedBy, Json, Text, Usage, plain
from .snapshot import Header, Item, Snapshot, ToolCall, item_from_plain, snapshot_from
from .terminal_buffers import TerminalBuffers

RAW_KEPT = 32
"""Raw messages kept per item: enough to see what an agent adds, bounded if it adds it to each chunk."""

CLOSED_STATUSES = frozenset({"completed", "failed", "cancelled", "rejected", "allowed", "unfinished"})
"""A tool call with any other status, including an unknown one, may still be running."""


class Transcript:
    """Holds the conversation of one session: `apply` changes it, `snapshot` reads it.

    With a spool, older turns are there and not in memory (see `items`).
    """

    def __init__(self, spool: Spool | None = None) -> None:
        self._items = Items(spool)
        self._state = State(self._items)
        self._version = 0
        self._count = 0
        self._turns = 0
        self._turn: str | None = None
        self._message: OpenMessage | None = None
        self._tools: dict[str, str] = {}
        self._open_tools: dict[str, None] = {}
        self._asked_tools: set[str] = set()
        self._only_asked: dict[str, bool] = {}
        self._rejected: set[str] = set()
        self._plans: dict[str | None, str] = {}
        self._questions: dict[str, str] = {}
        self._elicitations: dict[str, str] = {}
        self._compactions: dict[str, str] = {}
        self._changes: dict[str, str] = {}
        self._terminal_buffers = TerminalBuffers()
        self._echo = Echo()
        self._stopped_by: str | None = None
        """Who of several users is stopping the running turn."""
        self._names: dict[str, str] = {}
        """The ids of all turns by their keys, in order."""
        self._turn_keys: list[str] = []
        self._views: dict[str, Item] = {}
        self._snapshot: Snapshot | None = None

    # ---- reading -------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """A number that increases with every change."""
        return self._version

    @property
    def current_turn(self) -> str | None:
        """The key of the newest turn."""
        return self._turn

    @property
    def usage(self) -> Usage | None:
        """What the agent reported last about the session's context and cost."""
        reported = self._state.session.get("usage")
        return None if reported is None else msgspec.convert(reported, Usage)

    def plain(self) -> dict[str, Json]:
        """The whole state as JSON, the sum of all patches."""
        return {"session": settled(self._state.session), "items": self._items.all()}

    def header(self) -> Header:
        """What is known about the session apart from its items, which may be many."""
        return msgspec.convert(settled(self._state.session), Header)

    def snapshot(self) -> Snapshot:
        """The state as immutable records; only records that changed are rebuilt."""
        if self._snapshot is None:
            items = [*map(self._view, self._items.in_memory), *map(item_from_plain, self._items.stored())]
            items.sort(key=lambda item: key_number(item.key))
            self._snapshot = snapshot_from(settled(self._state.session), tuple(items), self._version)
        return self._snapshot

    def turn_items(self, turn: str | None) -> tuple[Item, ...]:
        """The items of one turn (None: those before the first turn), at the cost of that turn alone."""
        keys = self._items.by_turn.get(turn)
        if keys is None:
            return tuple(map(item_from_plain, self._items.of_turn(turn)))
        return tuple(map(self._view, keys))

    def turn_plain(self, turn: str | None) -> list[dict[str, Json]]:
        """The items of one turn as JSON."""
        return self._items.of_turn(turn)

    def part_names(self) -> list[str]:
        """The parts of the conversation as `saved_transcript.split_turns` names them, in order."""
        found = [(key_number(key), name) for key, name in self._names.items()]
        found += [(key_number(key), self._part_between(key)) for key in self._items.by_turn.get(None, ())]
        return [*dict.fromkeys(name for _, name in sorted(found))]

    def part_plain(self, name: str) -> list[dict[str, Json]]:
        """The items of a part as JSON, at the cost of that part alone."""
        between = self._items.by_turn.get(None, ())
        found = [self._items.read(key) for key in between if self._part_between(key) == name]
        for turn in (key for key, id in self._names.items() if id == name):
            found += self._items.of_turn(turn)
        return found

    def parts_of(self, keys: Iterable[str]) -> set[str]:
        """The names of the parts that these items are in."""
        turns = {key: self._items.read(key)["turn"] for key in keys if key in self._items}
        return {self._part_between(key) if turn is None else self._names[turn] for key, turn in turns.items()}

    def _part_between(self, key: str) -> str:
        """The name of what follows a turn but is not of it."""
        at = bisect_left(self._turn_keys, key_number(key), key=key_number)
        return f"{self._names[self._turn_keys[at - 1]]}+" if at else "+"

    def find(self, key: str) -> Item | None:
        """The item with this key, or None."""
        return self._view(key) if key in self._state.items else None

    def item(self, key: str) -> Item:
        return self._view(key)

    def tool(self, id: str) -> ToolCall:
        """The tool call that currently has this id."""
        view = self._view(self._tools[id])
        assert isinstance(view, ToolCall)
        return view

    def _view(self, key: str) -> Item:
        view = self._views.get(key)
        if view is None:
            view = item_from_plain(self._items.read(key))
            if key in self._items.in_memory:
                self._views[key] = view
        return view

    # ---- changing ------------------------------------------------------------------------

    def apply(self, event: ev.Event) -> list[Patch]:
        """Apply an event, and return the resulting patches."""
        if type(event) is ev.MessageChunk and (message := self._message) is not None:
            appended = message.appended_text(event)
            if appended is not None:  # first and here, because nearly all events are such chunks
                text = message.text or self._open_text(message, appended)
                text.add(appended.value)  # type: ignore[arg-type]
                self._views.pop(message.key, None)
                self._version += 1
                self._snapshot = None
                return [appended]
        if type(event) is ev.ToolChanged and event.only_replaces_content:
            return self.replace_content(event)
        return self._apply_decided(event)

    def replace_content(self, event: ev.ToolChanged) -> list[Patch]:
        """Apply an event that `only_replaces_content`: some agents send one for each line of output."""
        key = self._tools.get(event.id)
        if key is None or key in self._only_asked:
            return self._apply_decided(event)
        item = self._items[key]
        if event.status is not ev.UNSET and event.status != item["status"]:
            return self._apply_decided(event)
        item["content"] = content = plain(event.content)
        self._views.pop(key, None)
        self._version += 1
        self._snapshot = None
        return [Set(key, _CONTENT, content)]  # no copy: it is replaced, never changed in place

    def _apply_decided(self, event: ev.Event) -> list[Patch]:
        patches = self._decide(event)
        for patch in patches:
            self._state.apply(patch)
            if not isinstance(patch, Add):
                self._views.pop(patch.key, None)
        if patches:
            self._version += 1
            self._snapshot = None
        return patches

    def _open_text(self, message: OpenMessage, patch: Append) -> Pieces:
        message.text = self._state.text(patch.key, patch.path)
        return message.text

    def apply_all(self, events: Iterable[ev.Event]) -> list[Patch]:
        return [patch for event in events for patch in self.apply(event)]

    def _decide(self, event: ev.Event) -> list[Patch]:
        if type(event) is ev.MessageChunk:  # first, and without `match`: nearly all events are chunks
            return self._user_chunk(event) if event.role == "user" else self._chunk(event)
        match event:
            case ev.ToolChanged():
                return self._tool(event)
            case ev.MessageReplaced(message, text):
                return self._replace_message(message, text)
            case ev.Recovered():
                return self._recovered(event)
            case ev.TurnStarted():
                return self._turn_started(event)
            case ev.TurnCancelling(person):
                return self._turn_cancelling(person)
            case ev.TurnEnded():
                return self._turn_ended(event)
            case ev.TurnLimited(reason):
                return [] if self._turn is None else [Set(self._turn, ("limit",), reason)]
            case ev.RateLimited():
                return [] if self._turn is None else [Set(self._turn, ("rate_limit",), plain_fields(event))]
            case ev.RateLimitOver():
                return [] if self._turn is None else [Set(self._turn, ("rate_limit",), None)]
            case ev.PlanReplaced():
                return self._plan(event)
            case ev.PlanRemoved(id):
                key = self._plans.pop(id, None)
                return [] if key is None else self._remove(key)
            case ev.QuestionAsked():
                return self._question(event)
            case ev.QuestionSettled():
                return self._settle(event)
            case ev.ElicitationOpened():
                return self._elicitation(event)
            case ev.ElicitationSettled():
                return self._settle_elicitation(event)
            case ev.ElicitationCompleted(id):
                found = self._elicitations.get(id)
                return [] if found is None else [Set(found, ("completed",), True)]
            case ev.TerminalOutput():
                return self._terminal_buffers.output(event, lambda key: str(self._state.items[key]["output"]))
            case ev.TerminalChanged():
                return self._terminal(event)
            case ev.NoticeGiven(raw=raw, turn=turn):
                fields, between = plain_fields(event, leave=("turn",)), event.source == "client"
                return [self._add("notice", fields, raw, between=between, of=turn)]
            case ev.CompactionChanged():
                return self._compaction(event)
            case ev.CompactionChunk():
                return self._compaction_chunk(event)
            case ev.ChangesReplaced():
                return self._changed_files(event)
            case ev.HistoryCleared():
                return self._clear()
            case ev.UnknownReceived(what, raw):
                return [self._add("unknown", {"what": what, "content": raw})]
        return self._header(event)

    # ---- what was lost --------------------------------------------------------------------

    def _replace_message(self, key: str, text: str) -> list[Patch]:
        if key not in self._state.items:
            return []
        if self._message is not None and self._message.key == key:
            self._message = None  # it knows the blocks that are replaced: a later chunk begins a new message
        return [Set(key, ("content",), [plain(Text(text))])]

    def _recovered(self, event: ev.Recovered) -> list[Patch]:
        found, turn, key = event.found, event.turn, event.key
        if turn not in self._names or (key is not None and key not in self._state.items):
            return []  # the history with this turn was cleared
        if isinstance(found, ev.ToolChanged):
            fields = {name: plain(value) for name, value in given_fields(found).items()}
            if "raw_input" in fields:
                fields |= self._command(key, fields["raw_input"])
        else:
            fields = plain_fields(found, leave=("content",))
        if isinstance(found, ev.MessageChunk):
            fields["content"] = [plain(found.content)]
        if key is not None:
            return [Set(key, (name,), it) for name, it in fields.items() if name != "id"]
        if turn == self._turn:
            self._message = None  # a late chunk begins a new message: it comes after what is added here
        if not isinstance(found, ev.ToolChanged):
            return [self._add("plan" if isinstance(found, ev.PlanReplaced) else "message", fields, of=turn)]
        added = self._add("tool", {"id": found.id, **_NEW_TOOL, **fields}, of=turn)
        self._tools.setdefault(found.id, added.item["key"])
        return [added]

    # ---- turns ---------------------------------------------------------------------------

    def _turn_started(self, event: ev.TurnStarted) -> list[Patch]:
        self._echo = Echo(event.prompt)
        who = event.asked_by, event.person
        return [self._add_turn("running", plain(event.prompt), None, event.id, *who)]

    def _add_turn(
        self,
        status: str,
        prompt: list[Json],
        raw: Json = None,
        id: str | None = None,
        asked_by: AskedBy | None = None,
        person: str | None = None,
    ) -> Add:
        self._end_turn()
        self._turns += 1
        self._plans.clear()
        default = f"{'h' if status == 'history' else 't'}{self._turns}"
        fields = {"id": id or default, "number": self._turns, "status": status, "prompt": prompt}
        if asked_by is not None:
            fields["asked_by"] = plain(asked_by)
        if person is not None:
            fields["person"] = person
        patch = self._add("turn", fields, raw)
        self._turn = key = str(patch.item["key"])
        self._names[key] = patch.item["id"] or key
        self._turn_keys.append(key)
        return patch

    def _end_turn(self) -> None:
        """Let older turns leave memory: the newest one gets no more items, except late ones."""
        if self._turn is None:
            return
        for item in self._items.end(self._turn):
            key = item["key"]
            self._views.pop(key, None)
            self._asked_tools.discard(key)
            self._only_asked.pop(key, None)
            if item["type"] == "tool" and self._tools.get(item["id"]) == key:
                del self._tools[item["id"]]
                self._items.note_call(item["id"], key)

    def _turn_cancelling(self, person: str | None) -> list[Patch]:
        if self._turn_status() != "running" or self._turn is None:
            return []
        self._stopped_by = person
        return [Set(self._turn, ("cancelling",), True), *self._close_tools("cancelled")]

    def _turn_ended(self, event: ev.TurnEnded) -> list[Patch]:
        if self._turn is None:
            return []
        fields = plain_fields(event, leave=("meta",))
        patches: list[Patch] = [Set(self._turn, (name,), value) for name, value in fields.items()]
        patches += self._keep_extras(self._turn, event)
        cancelled = event.stop_reason == "cancelled"
        if cancelled and self._stopped_by is not None:
            patches.append(Set(self._turn, ("stopped_by",), self._stopped_by))
        self._stopped_by = None
        return patches + self._close_tools("cancelled" if cancelled else "unfinished")

    def _close_tools(self, status: str) -> list[Patch]:
        patches: list[Patch] = [Set(key, ("status",), self._ending(key, status)) for key in self._open_tools]
        self._open_tools.clear()
        return patches

    def _ending(self, key: str, status: str) -> str:
        if status != "unfinished":
            return status
        return "rejected" if key in self._rejected else "allowed" if self._only_asked.get(key) else status

    def _turn_status(self) -> str | None:
        status: str | None = self._state.items[self._turn]["status"] if self._turn else None
        return status

    # ---- messages ------------------------------------------------------------------------

    def _chunk(self, event: ev.MessageChunk) -> list[Patch]:
        message = self._message
        content = event.content
        if message is None or not message.continues(event):
            if is_empty(event):
                return []
            fields = {"role": event.role, "content": [plain(content)]} | _meta_field(event)
            added = self._add("message", fields, event.raw)
            self._message = OpenMessage(added.item["key"], event, 0)
            return [added]
        patches: list[Patch] = [message.append(content)]
        if event.raw is None and event.meta is None:
            return patches
        return patches + self._keep_extras(message.key, event)

    def _user_chunk(self, event: ev.MessageChunk) -> list[Patch]:
        turn, status = self._turn, self._turn_status()
        continues = self._message is not None and self._message.continues(event)
        if turn is not None and status != "history" and not continues:
            if self._echo.takes(event.content):
                return self._keep_extras(turn, event)
            event = replace(event, content=self._echo.give_back(event.content))
        if status == "running":
            return self._chunk(event)
        if is_empty(event):
            return []
        if self._message is not None and continues and status == "history" and turn == self._message.key:
            return [self._message.append(event.content), *self._keep_extras(turn, event)]
        added = self._add_turn("history", [plain(event.content)], event.raw)
        added.item.update(_meta_field(event))
        self._message = OpenMessage(added.item["key"], event, 0, "prompt")
        return [added]

    # ---- tool calls, plans, questions -----------------------------------------------------

    def _tool(self, event: ev.ToolChanged) -> list[Patch]:
        fields = {name: plain(value) for name, value in given_fields(event).items()}
        key = self._tools.get(event.id)
        if key is None and not event.created and not event.asked:
            key = self._items.old_call(event.id)
            if key is not None:
                self._tools[event.id] = key
        if key is not None and self._is_another_call(event, key):
            key = None
        if "raw_input" in fields:
            fields |= self._command(key, fields["raw_input"])
        patches: list[Patch]
        if key is None:
            added = self._add("tool", {"id": event.id, **_NEW_TOOL, **fields}, event.raw)
            key = self._tools[event.id] = added.item["key"]
            fields["status"] = added.item["status"]
            patches = [added]
            if event.asked:
                self._only_asked[key] = False
        else:
            if not event.asked:
                self._only_asked.pop(key, None)
            if fields.get("status") == "failed" and key in self._rejected:
                fields["status"] = "rejected"
            elif fields.get("status") == "completed":
                self._rejected.discard(key)
            if event.asked and "content" in fields:
                fields["content"] = self._with_earlier_texts(key, fields["content"])
            fields.pop("meta", None)  # merged
            now = self._state.items[key].get("status")
            patches = [
                Set(key, (name,), value)
                for name, value in fields.items()
                if name != "status" or value != now  # agents repeat it in each update
            ]
            patches += self._keep_extras(key, event)
        if event.asked:
            self._asked_tools.add(key)
        if "status" in fields:
            if fields["status"] not in CLOSED_STATUSES:
                self._open_tools[key] = None
            else:
                self._open_tools.pop(key, None)
        return patches

    def _is_another_call(self, event: ev.ToolChanged, key: str) -> bool:
        earlier = self._state.items[key]["turn"] != self._turn
        if event.asked:
            return earlier or key in self._asked_tools or key not in self._open_tools
        return event.created and earlier

    def _with_earlier_texts(self, key: str, content: list[Json]) -> list[Json]:
        """Keep the call's earlier texts: some agents cut the command in a question after 50 characters."""
        earlier = settled(self._state.items[key])["content"]
        texts = [block for block in earlier if block.get("type") == "text" and block not in content]
        return [*texts, *content]

    def _command(self, key: str | None, raw_input: Json) -> dict[str, Json]:
        """The shell line in the raw input, for the call's card."""
        line = readable_command(raw_input)
        known = key is not None and "command" in self._state.items[key]
        return {"command": line} if line is not None or known else {}

    def _plan(self, event: ev.PlanReplaced) -> list[Patch]:
        fields = plain_fields(event)
        key = self._plans.get(event.id)
        if key is None:
            added = self._add("plan", fields, event.raw)
            self._plans[event.id] = added.item["key"]
            return [added]
        changed = {"entries": fields["entries"], "text": fields.get("text"), "uri": fields.get("uri")}
        now = self._state.items[key]
        patches: list[Patch] = [
            Set(key, (name,), value) for name, value in changed.items() if now.get(name) != value
        ]
        return patches + self._keep_extras(key, event)

    def _question(self, event: ev.QuestionAsked) -> list[Patch]:
        fields = {
            "id": event.id,
            "tool": self._tools.get(event.tool_id),
            "options": plain(event.options),
            "status": "open",
        }
        if event.offers:
            fields["offers"] = plain(event.offers)
        if event.actions:
            fields["actions"] = [action_to_plain(action) for action in event.actions]
        if event.answers:
            fields["answers"] = plain(event.answers)
        added = self._add("question", fields | self._who() | _meta_field(event), event.raw)
        self._questions[event.id] = added.item["key"]
        return [added]

    def _who(self) -> dict[str, Json]:
        """Who asks, if another session asked for the turn: the user may not have this session in sight."""
        asked_by = self._state.items[self._turn].get("asked_by") if self._turn is not None else None
        if asked_by is None:
            return {}
        return {"who": f"{asked_by['answerer']} asks, for {asked_by['agent']}"}

    def _settle(self, event: ev.QuestionSettled) -> list[Patch]:
        key = self._questions.pop(event.id, None)
        if key is None:
            return []
        fields = {
            "status": "cancelled" if event.answer is None else "answered",
            **plain_fields(event, leave=("id",)),
        }
        question = self._state.items[key]
        if question.get("actions"):
            fields["actions"] = [brief(action) for action in question["actions"]]
        if question.get("answers"):
            fields["answers"] = []
            named = [*question["answers"], *question["options"]]
            chosen = next((it["name"] for it in named if it["id"] == event.answer), None)
            fields |= {} if chosen is None else {"chosen": chosen}
        patches: list[Patch] = [Set(key, (name,), value) for name, value in fields.items()]
        return patches + self._settle_call(question["tool"], _outcome(question["options"], event))

    def _settle_call(self, key: str | None, outcome: str) -> list[Patch]:
        """Close a call that was not allowed, unless the question was ours."""
        if key is None or key not in self._open_tools:
            return []
        if outcome == "allowed":
            if key in self._only_asked:
                self._only_asked[key] = True
            return []
        ours = self._state.items[key].get("unprompted", False)
        if outcome == "rejected" and not (ours and key in self._asked_tools):
            self._rejected.add(key)
        if ours:
            return []
        del self._open_tools[key]
        return [Set(key, ("status",), outcome)]

    def _elicitation(self, event: ev.ElicitationOpened) -> list[Patch]:
        fields = plain_fields(event, leave=("tool_id",))
        tool = self._tools.get(event.tool_id or "")
        about: dict[str, Json] = {} if tool is None else {"tool": tool}
        added = self._add("elicitation", {**fields, **about, "status": "open", **self._who()}, event.raw)
        self._elicitations[event.id] = added.item["key"]
        return [added]

    def _settle_elicitation(self, event: ev.ElicitationSettled) -> list[Patch]:
        key = self._elicitations.get(event.id)
        if key is None or self._state.items[key]["status"] != "open":
            return []
        fields = {"status": _SETTLED.get(event.action, event.action), **plain_fields(event, ("id", "action"))}
        return [Set(key, (name,), value) for name, value in fields.items()]

    def _terminal(self, event: ev.TerminalChanged) -> list[Patch]:
        fields = plain_fields(event)
        key = self._terminal_buffers.key(event.id)
        if key is not None:
            return [Set(key, (name,), value) for name, value in fields.items() if name != "id"]
        added = self._add("terminal", {"status": "running", "output": "", **fields})
        self._terminal_buffers.open(event.id, added.item["key"])
        return [added]

    # ---- compaction, header, history -------------------------------------------------------

    def _compaction(self, event: ev.CompactionChanged) -> list[Patch]:
        fields = plain_fields(event)
        key = self._compactions.get(event.id)
        if key is None:
            added = self._add("compaction", {"summary": [], **fields}, event.raw)
            self._compactions[event.id] = added.item["key"]
            return [added]
        fields.pop("meta", None)  # merged
        patches: list[Patch] = [Set(key, (name,), value) for name, value in fields.items()]
        return patches + self._keep_extras(key, event)

    def _compaction_chunk(self, event: ev.CompactionChunk) -> list[Patch]:
        before: list[Patch] = []
        key = self._compactions.get(event.id)
        if key is None:
            before = self._compaction(ev.CompactionChanged(event.id, "in_progress"))
            key = self._compactions[event.id]
        summary = self._state.items[key]["summary"] if not before else []
        after = self._keep_extras(key, event)
        text = bare_text(event.content)
        if summary and text is not None and summary[-1].keys() == {"type", "text"}:
            return [Append(key, ("summary", len(summary) - 1, "text"), text), *after]
        return [*before, Append(key, ("summary",), [plain(event.content)]), *after]

    # ---- changed files ----------------------------------------------------------------------

    def _changed_files(self, event: ev.ChangesReplaced) -> list[Patch]:
        if event.turn not in self._state.items:
            return []  # the history with this turn was cleared
        files, notes, also = plain(event.files), plain(event.notes), plain(event.also)
        key = self._changes.get(event.turn)
        if key is None:
            if not files and not notes and not also:
                return []
            found = {"files": files, "notes": notes} | ({"also": also} if also else {})
            added = self._add("changes", found, of=event.turn)
            self._changes[event.turn] = added.item["key"]
            return [added]
        now = self._state.items[key]
        patches: list[Patch] = [] if now["notes"] == notes else [Set(key, ("notes",), notes)]
        if now.get("also", []) != also:
            patches.append(Set(key, ("also",), also))
        if len(files) != len(now["files"]):
            return [*patches, Set(key, ("files",), files)]
        pairs = enumerate(zip(now["files"], files, strict=True))
        return [*patches, *(Set(key, ("files", index), it) for index, (was, it) in pairs if was != it)]

    def _header(self, event: ev.Event) -> list[Patch]:
        match event:
            case ev.StatusChanged(status, detail, ways):
                fields: dict[str, Json] = {"status": status, "detail": detail}
                if ways or "ways" in self._state.session:
                    fields["ways"] = plain(ways)
            case ev.CommandsReplaced(commands):
                fields = {"commands": plain(commands)}
            case ev.ModesReplaced(modes, current):
                fields = {"modes": plain(modes), "mode": current}
            case ev.ModeChanged(id):
                fields = {"mode": id}
            case ev.KernelToolsSwitched(on):
                fields = {"kernel_tools": on}
            case ev.ConfigReplaced(options):
                fields = {"config": plain(options)}
            case ev.UsageChanged(usage):
                fields = {"usage": plain(usage)}
            case ev.SignInChanged(sign_in):
                fields = {"sign_in": plain(sign_in)}
            case ev.AgentKnown():
                leave = () if event.offers else ("offers",)
                fields = {"agent": plain_fields(event, leave)}
            case ev.InfoChanged(title, updated_at):
                given = {"title": title, "updated_at": updated_at}
                fields = {name: value for name, value in given.items() if value is not ev.UNSET}
            case _:
                raise TypeError(f"not an event: {event!r}")
        session = self._state.session
        patches: list[Patch] = [
            Set(SESSION, (name,), value)
            for name, value in fields.items()
            if name not in session or session[name] != value
        ]
        return patches + self._keep_extras(SESSION, event)

    def _clear(self) -> list[Patch]:
        patches: list[Patch] = [Remove(key) for key in self._items]
        self._items.forget()
        for index in (
            self._tools,
            self._open_tools,
            self._asked_tools,
            self._only_asked,
            self._rejected,
            self._plans,
            self._questions,
            self._elicitations,
            self._compactions,
            self._changes,
            self._names,
            self._turn_keys,
        ):
            index.clear()
        self._terminal_buffers = TerminalBuffers()
        self._turn = self._message = None
        self._turns = 0
        return patches

    def _remove(self, key: str) -> list[Patch]:
        self._items.by_turn[self._items[key]["turn"]].remove(key)
        return [Remove(key)]

    # ---- items ---------------------------------------------------------------------------

    def _add(
        self,
        type: str,
        fields: dict[str, Json],
        raw: Json = None,
        *,
        between: bool = False,
        of: str | None = None,
    ) -> Add:
        """Create an item of the turn `of`, by default the newest.

        With `between`, the item belongs to no turn unless one is running.
        """
        of = of if of in self._names else None  # the history with this turn may have been cleared
        self._count += 1
        key = f"k{self._count}"
        turn = of or (None if between and self._turn_status() != "running" else self._turn)
        turn = key if type == "turn" else turn
        item: dict[str, Json] = {"key": key, "type": type, "turn": turn, **fields}
        if raw is not None:
            item["raw"] = [raw]
        if of is None:  # an item of an earlier turn does not interrupt the open message
            self._message = None
            self._echo.settle()
        if of is not None:
            self._items[of]  # brings the turn back, if it is in the spool
        self._items.by_turn.setdefault(turn, []).append(key)
        return Add(item)

    def _keep_extras(self, key: str, event: ev.Event) -> list[Patch]:
        """Keep what the message has beyond the fields that we know: `_meta`, and its raw form."""
        raw, meta = getattr(event, "raw", None), getattr(event, "meta", None)
        if raw is None and not isinstance(meta, dict):
            return []
        item = self._state.session if key == SESSION else self._state.items.get(key, {})
        patches = self._keep_meta(key, item.get("meta"), meta) if isinstance(meta, dict) else []
        kept = item.get("raw")
        if raw is not None and kept is None:
            patches.append(Set(key, ("raw",), [raw]))
        elif raw is not None and kept is not None and len(kept) < RAW_KEPT:
            patches.append(Append(key, ("raw",), [raw]))
        return patches

    @staticmethod
    def _keep_meta(key: str, kept: Json, meta: dict[str, Json]) -> list[Patch]:
        if kept is None:
            return [Set(key, ("meta",), meta)] if meta else []
        # One patch per value: to replace everything would be quadratic if each chunk adds a key.
        return [
            Set(key, ("meta", name), value)
            for name, value in meta.items()
            if name not in kept or kept[name] != value
        ]


_CONTENT = ("content",)

_NEW_TOOL: dict[str, Json] = {
    "title": "",
    "kind": "other",
    "status": "pending",
    "content": [],
    "locations": [],
}


_SETTLED = {"accept": "accepted", "decline": "declined", "cancel": "cancelled"}


def _outcome(options: list[Json], event: ev.QuestionSettled) -> str:
    """What the answer to a question means for its call: allowed, rejected or cancelled."""
    if event.answer is None:
        return "rejected" if event.by in ("user", "policy") else "cancelled"
    kind = next((it["kind"] for it in options if it["id"] == event.answer), "")
    return "rejected" if kind.startswith("reject") else "allowed"


def _meta_field(event: ev.MessageChunk | ev.QuestionAsked) -> dict[str, Json]:
    return {"meta": event.meta} if event.meta else {}


_CALL_FIELDS = (
    *("title", "kind", "status", "content", "locations", "raw_input", "raw_output", "name", "meta"),
    "unprompted",
)


def given_fields(event: ev.ToolChanged) -> dict[str, Any]:
    """What the event says about its call, as it says it."""
    given = {}
    for name in _CALL_FIELDS:
        value = getattr(event, name)
        if value is not None and value is not ev.UNSET:
            given[name] = value
    return given


def plain_fields(event: ev.Event, leave: tuple[str, ...] = ()) -> dict[str, Json]:
    """The event's fields as JSON, except `raw` and fields that are UNSET or None."""
    return {
        name: plain(value)
        for name, value in asdict(event).items()
        if value is not None and value is not ev.UNSET and name != "raw" and name not in leave
    }
