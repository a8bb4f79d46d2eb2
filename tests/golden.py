"""The contract between the two languages: events, the patches they make, and the state after each.

`cases()` makes it from Python's Transcript; `tests/data/golden.json` holds it, test_golden.py keeps that
file true, and vitest replays it with patches.ts. One event of every type at least, all deterministic.

The file: {"cases": [{"name", "steps": [{"event", "patches", "state"}, …]}, …]}. Each case starts from the
empty state; applying a step's patches (as they travel) to the state before gives its `state`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from acp_notebook.core import events as ev
from acp_notebook.core import records as rec
from acp_notebook.core.changes import FileChange, Hunk
from acp_notebook.core.forms import Field
from acp_notebook.core.patches import to_wire
from acp_notebook.core.records import Json
from acp_notebook.core.transcript import Transcript

FILE = Path(__file__).parent / "data" / "golden.json"


def _prompt(text: str, id: str) -> ev.TurnStarted:
    return ev.TurnStarted((rec.Text(text),), id=id)


def _agent(text: str) -> ev.MessageChunk:
    return ev.MessageChunk("agent", rec.Text(text))


OPTIONS = (rec.Option("yes", "Allow", "allow_once"), rec.Option("no", "Reject", "reject_once"))
USAGE = rec.Usage(1200, 200_000, rec.Cost(0.25, "EUR"))

CHANGED = FileChange(
    "f1", "sum.py", "modified", 1, 1, (Hunk("h1", 1, 1, 1, 1, ("-a - b", "+a + b")),), tool="k5"
)

SCRIPTS: dict[str, Sequence[ev.Event]] = {
    "a turn from prompt to end": [
        ev.SignInChanged(
            rec.SignIn(
                (rec.SignInMethod("in", "Log in", type="terminal", command="demo --login"),), error="no"
            )
        ),
        ev.SignInChanged(None),
        ev.AgentKnown("demo", "Demo agent", "1.0", "/project", ("list", "load")),
        ev.StatusChanged("idle"),
        ev.KernelToolsSwitched(True),
        _prompt("Fix the sum", "t1"),
        ev.StatusChanged("working"),
        ev.MessageChunk("thought", rec.Text("Let me ")),
        ev.MessageChunk("thought", rec.Text("look. é🙂")),
        _agent("I will "),
        _agent("fix it.\n"),
        ev.MessageChunk("agent", rec.Image("aGk=", "image/png")),
        _agent("See above."),
        ev.MessageReplaced("k3", "I will fix it.\nSee above, and below."),  # a part had been lost
        _agent("And on."),
        ev.PlanReplaced((rec.PlanEntry("read", "high"), rec.PlanEntry("edit"))),
        ev.PlanReplaced((rec.PlanEntry("read", "high", "completed"), rec.PlanEntry("edit"))),
        ev.ToolChanged("c1", title="Edit sum.py", kind="edit", status="pending", created=True),
        ev.ToolChanged(
            "c1",
            status="in_progress",
            content=(rec.Text("half"), rec.Diff("sum.py", "a + b\n", "a - b\n"), rec.Terminal("x1")),
            locations=(rec.Location("sum.py", 1), rec.Location("other.py")),
            raw_input={"path": "sum.py"},
        ),
        ev.TerminalChanged("x1", command="make", cwd="/project", status="running"),
        ev.TerminalOutput("x1", "one\n"),
        ev.TerminalOutput("x1", "two\n"),
        ev.TerminalOutput("x1", "nine\n", dropped=30),
        ev.TerminalOutput("other", "of nobody\n"),
        ev.TerminalChanged("x1", status="exited", exit_code=2),
        ev.TerminalChanged("x1", released=True),
        ev.QuestionAsked("q1", "c1", OPTIONS, offers=(rec.Offer("acp:session", "All edits", "session"),)),
        ev.QuestionSettled("q1", "yes", "user"),
        ev.ToolChanged("c2", title="Write b.py", kind="edit", unprompted=True, status="completed"),
        ev.ToolChanged("c1", status="completed", raw_output=[1, None, "x"], raw={"_meta": {"n": 1}}),
        ev.UsageChanged(USAGE),
        ev.TurnEnded("done", "end_turn", usage=rec.TokenUsage(30, 10, 20)),
        ev.StatusChanged("idle"),
        ev.ChangesReplaced("k1", (CHANGED,), ("ignored files are not covered: data/",)),
        ev.ChangesReplaced("k1", (CHANGED, FileChange("f2", "b.py", "created", 1, state="kept"))),
        ev.ChangesReplaced("k1", (replace(CHANGED, state="undone"), FileChange("f2", "b.py", "created", 1))),
        ev.ChangesReplaced("k9", (CHANGED,)),
        ev.Recovered("k1", ev.ToolChanged("c3", title="Run", status="completed", created=True)),
        ev.Recovered("k1", ev.ToolChanged("c3", raw_input={"command": "ls"}), "k12"),
        ev.Recovered("k1", _agent("It is done.")),
        ev.Recovered("k1", ev.PlanReplaced((rec.PlanEntry("then"),), "p2")),
        ev.Recovered("k9", _agent("of no turn")),
    ],
    "a turn that is cancelled, and one that fails": [
        _prompt("Go", "t1"),
        ev.ToolChanged("c1", title="Run", kind="execute", created=True),
        ev.QuestionAsked("q1", "c1", OPTIONS),
        ev.TurnCancelling(),
        ev.QuestionSettled("q1", None, "cancel", "the turn was cancelled"),
        ev.TurnEnded("done", "cancelled"),
        _prompt("Again", "t2"),
        ev.NoticeGiven("error", "No more credit", "Buy some", raw={"code": 402}),
        ev.TurnEnded("failed", error="The agent died", raw={"x": 1}),
    ],
    "what the agent says of the session": [
        ev.CommandsReplaced((rec.Command("init", "Begin", "a hint"), rec.Command("test", "Test"))),
        ev.ModesReplaced((rec.Mode("ask", "Ask"), rec.Mode("plan", "Plan", "No writes")), "ask"),
        ev.ModeChanged("plan", raw={"_meta": 1}),
        ev.ConfigReplaced(
            (
                rec.ConfigOption("model", "Model", "select", "big", (rec.Choice("big", "Big"),)),
                rec.ConfigOption("loud", "Loud", "boolean", True),
            )
        ),
        ev.InfoChanged(title="A title", updated_at="2026-01-01"),
        ev.InfoChanged(title=None),
        ev.StatusChanged("dead", "exit code 1"),
    ],
    "plans that come and go, a summary, things unknown": [
        _prompt("Plan it", "t1"),
        ev.PlanReplaced(id="p1", text="# Prose"),
        ev.PlanReplaced(id="p2", uri="file:///plan.md"),
        ev.PlanReplaced(id="p1", text="# More prose"),
        ev.PlanRemoved("p2"),
        ev.CompactionChanged("s1", "in_progress"),
        ev.CompactionChunk("s1", rec.Text("So ")),
        ev.CompactionChunk("s1", rec.Text("far.")),
        ev.CompactionChunk("s1", rec.ResourceLink("file:///a", "a")),
        ev.CompactionChanged("s1", "completed", raw={"x": []}),
        ev.UnknownReceived("hologram", {"type": "hologram", "depth": [1, {"deep": None}]}),
        ev.MessageChunk("agent", rec.UnknownContent({"type": "smell"})),
        ev.MessageChunk("agent", rec.Resource("file:///b", "text of b")),
        ev.MessageChunk("agent", rec.Audio("aGk=", "audio/wav")),
        ev.ToolChanged("c9", status="strange"),
        ev.TurnEnded("abandoned", error="The agent did not end it"),
    ],
    "a turn that goes beyond a limit, and a rate limit": [
        _prompt("Go", "t1"),
        ev.RateLimited("Too many requests", 20.0, 1_800_000_020.0, 1, 5),
        ev.RateLimitOver(),
        ev.TurnLimited("more than 20 tool calls"),
        ev.TurnCancelling(),
        ev.TurnEnded("done", "cancelled"),
    ],
    "forms and addresses": [
        _prompt("Ask me", "t1"),
        ev.ToolChanged("c1", title="Ask", kind="other", created=True),
        ev.ElicitationOpened(
            "e1",
            "form",
            "Which one?",
            (
                Field("colour", "select", "Colour", required=True, choices=(rec.Choice("r", "Red", "warm"),)),
                Field("pin", "string", format="password", least=4, secret=True),
                Field("odd", "unknown", raw={"type": "hologram"}),
            ),
            title="Choose",
            tool_id="c1",
            raw={"_meta": 1},
        ),
        ev.ElicitationSettled("e1", "accept", "user", values={"colour": "r", "pin": "••••"}),
        ev.ElicitationSettled("e1", "decline", "client", "too late"),
        ev.ElicitationOpened("e2", "url", "Sign in", url="https://a.example/x", host="a.example"),
        ev.ElicitationSettled("e2", "accept", "user"),
        ev.ElicitationCompleted("e2"),
        ev.ElicitationOpened("e3", "voice", "Say it", problem="not known"),
        ev.ElicitationSettled("e3", "decline", "client", "not known"),
        ev.ElicitationCompleted("nobody's"),
        ev.TurnEnded("done", "end_turn"),
    ],
    "history that a loaded session replays": [
        _prompt("Old", "t1"),
        _agent("Old answer"),
        ev.TurnEnded("done", "end_turn"),
        ev.HistoryCleared(),
        ev.MessageChunk("user", rec.Text("Told ")),
        ev.MessageChunk("user", rec.Text("again")),
        _agent("And answered"),
        ev.MessageChunk("user", rec.Text("More")),
        _prompt("New", "t2"),
        ev.MessageChunk("user", rec.Text("New")),  # the prompt, echoed: shown once
        _agent("Now"),
        ev.TurnEnded("done", "max_tokens"),
    ],
}


def cases() -> Json:
    """The whole file's content."""
    return {"cases": [{"name": name, "steps": _steps(script)} for name, script in SCRIPTS.items()]}


def _steps(script: Sequence[ev.Event]) -> list[Json]:
    transcript = Transcript()
    steps: list[Json] = []
    for event in script:
        patches = [to_wire(patch) for patch in transcript.apply(event)]
        steps.append({"event": type(event).__name__, "patches": patches, "state": transcript.plain()})
    return steps


def as_text(content: Json) -> str:
    """One line per step: a change of one event is one line of a diff."""
    lines = ['{"cases": [']
    for number, case in enumerate(content["cases"]):
        lines.append(f'{"," if number else ""}{{"name": {json.dumps(case["name"])}, "steps": [')
        lines.append(",\n".join(json.dumps(step, ensure_ascii=False) for step in case["steps"]))
        lines.append("]}")
    return "\n".join([*lines, "]}", ""])
