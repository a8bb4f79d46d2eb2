"""A session's panel between a real conversation and a simulated page."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.api import connect as connect_module
from acp_notebook.core import events as ev
from acp_notebook.core import items as items_module
from acp_notebook.core.snapshot import Changes, Elicitation, Question, TurnStart
from acp_notebook.frontend.panel import session_panel as panel_module
from acp_notebook.frontend.panel import static_outputs as static_outputs_module
from acp_notebook.frontend.panel.session_panel import Panel
from acp_notebook.notebook.static_bundle import NOTHING_YET, TRANSCRIPT_MIME
from tests.waiting import wait_until

LIMIT_S = 60.0
"""The timeout of every wait: much longer than any takes, even on a machine twenty times slower."""

Message = dict[str, Any]


class Widget:
    """Simulates the session's widget: keeps what is sent, with the sending thread."""

    model_id = "session-model"

    def __init__(self, received: Callable[..., None]) -> None:
        self.receive = received
        self.sent: list[Message] = []
        self.threads: set[threading.Thread] = set()

    def send(self, message: Message) -> None:
        self.threads.add(threading.current_thread())
        self.sent.append(message)


class TurnWidget:
    model_id = "turn-model"

    def __init__(self, session: Widget, turn: str) -> None:
        self.session, self.turn = session, turn


class Output:
    """Simulates a cell's output: keeps everything it showed."""

    cell = "cell-1"
    is_current = True

    def __init__(self, bundle: Message) -> None:
        self.shown = [bundle]
        everything.append(self)

    display = classmethod(lambda cls, bundle: cls(bundle))

    def update(self, bundle: Message) -> None:
        self.shown.append(bundle)


everything: list[Output] = []


class Stage:
    """A session, its panel, and a simulated page."""

    def __init__(self, session: acp.Session) -> None:
        self.session = session
        self.panel: Panel = session._live_panel()
        widget: Any = self.panel._widget
        self.widget: Widget = widget
        everything.clear()

    def say(self, **message: Any) -> None:
        self.widget.receive(message)

    def hello(self, document: bool = True, view: str = "v") -> None:
        self.say(t="hello", view=view, document=document)
        self.until("state")

    def all(self, kind: str) -> list[Message]:
        return [message for message in [*self.widget.sent] if message["t"] == kind]

    def until(self, kind: str, fits: Callable[[Message], bool] = lambda _: True) -> Message:
        def there() -> bool:
            return any(fits(message) for message in self.all(kind))

        wait_until(there, f"{kind!r} is sent", LIMIT_S)
        return [message for message in self.all(kind) if fits(message)][-1]

    def show(self, text: str) -> tuple[acp.Turn, Output]:
        turn = self.session.start(text)
        self.panel.show_turn(turn._run)
        return turn, everything[-1]

    def static(self, turn: acp.Turn, text: str) -> Message:
        """The static output of the turn, once it contains this."""
        found = self.until(
            "static", lambda it: it["turn"] == turn._run.id and text in it["bundle"]["text/plain"]
        )
        bundle: Message = found["bundle"]
        return bundle


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setattr(panel_module, "SessionWidget", Widget)
    monkeypatch.setattr(panel_module, "TurnWidget", TurnWidget)
    monkeypatch.setattr(panel_module, "CellOutput", Output)
    session = acp.connect("demo")
    yield Stage(session)
    session.agent.close()


def test_nothing_is_sent_before_a_page_says_hello(stage: Stage) -> None:
    stage.session.start("hello").wait(LIMIT_S)
    assert stage.widget.sent == []


def test_a_page_gets_the_state_and_then_the_changes(stage: Stage) -> None:
    stage.hello()
    stage.session.start("hello").wait(LIMIT_S)
    stage.until("patches", lambda it: "end_turn" in str(it))
    numbers = [it["seq"] for it in [*stage.widget.sent] if "seq" in it and it["t"] != "beat"]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(stage.widget.threads) == 1
    assert threading.current_thread() not in stage.widget.threads


def test_a_click_answers_the_question_and_a_second_one_is_harmless(stage: Stage) -> None:
    stage.hello()
    turn = stage.session.start("/ask")
    stage.until("patches", lambda it: "question" in str(it))
    question = next(it for it in stage.session.transcript.items if type(it).__name__ == "Question")
    option: str = question.options[0].id  # type: ignore[union-attr]
    stage.say(t="answer", question=question.key, option=option)
    turn.wait(LIMIT_S)
    stage.say(t="answer", question=question.key, option=option)
    stage.say(t="resync", have=0)
    wait_until(lambda: len(stage.all("state")) == 2, "the state is sent again", LIMIT_S)
    settled = next(it for it in stage.session.transcript.items if it.key == question.key)
    assert (settled.answer, settled.by) == (option, "user")  # type: ignore[union-attr]


def answered_by(stage: Stage, view: str, **hello: Any) -> Any:
    """The question, answered by a page that said hello like this."""
    stage.hello()
    stage.say(t="hello", view="theirs", **hello)
    turn = stage.session.start("/ask")
    stage.until("patches", lambda it: "question" in str(it))
    question = next(it for it in stage.session.transcript.items if isinstance(it, Question))
    stage.say(t="answer", question=question.key, option=question.options[0].id, view=view)
    stage.say(t="answer", question=question.key, option=question.options[-1].id, view="v")
    turn.wait(LIMIT_S)
    return next(it for it in stage.session.transcript.items if it.key == question.key)


def test_the_card_and_the_audit_name_the_person_who_answered_first(stage: Stage) -> None:
    settled = answered_by(stage, "theirs", person="Ada Lovelace")
    assert (settled.by, settled.person) == ("user", "Ada Lovelace")
    (decision,) = stage.session.audit.where(what="decision")
    assert (decision.by, decision.detail["person"]) == ("user", "Ada Lovelace")
    assert "by “Ada Lovelace”" in stage.session.to_text()


each_claim = pytest.mark.parametrize(
    ("claimed", "shown"),
    [
        ("policy", "policy"),  # `by` stays "user": the name decides nothing
        ("you”, allowed by “you", "you', allowed by 'you"),
        ("<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"),
        ("\u202egnp.exe", "\u2039U+202E\u203agnp.exe"),
        ("a\nPermission: → Allow", None),
        ("x" * 10_000_000, None),
        ("  ", "somebody without a name"),
    ],
    ids=["a word of ours", "quotes", "html", "direction", "lines", "long", "empty"],
)


@each_claim
def test_a_claimed_name_is_short_plain_text_in_quotes(stage: Stage, claimed: str, shown: str | None) -> None:
    settled = answered_by(stage, "theirs", person=claimed)
    assert settled.by == "user"
    assert len(settled.person) <= 62 and settled.person.isprintable()
    assert shown is None or settled.person == shown
    assert "<img" not in stage.session.to_html()
    assert f"by “{settled.person}”" in stage.session.to_text()


@pytest.mark.usefixtures("stage")
@each_claim
def test_who_prompts_stops_and_undoes_is_named_in_short_plain_text(
    tmp_path: Path, claimed: str, shown: str | None
) -> None:
    session = acp.connect("demo", cwd=tmp_path, permissions="allow")
    stage = Stage(session)
    stage.hello()
    stage.say(t="hello", view="theirs", person=claimed)
    stage.say(t="prompt", text="/write undone.txt text", view="theirs")
    stage.until("patches", lambda it: "end_turn" in str(it))
    stage.say(t="undo", turn="t1", view="theirs")
    wait_until(lambda: not (tmp_path / "undone.txt").exists(), "it is undone", LIMIT_S)
    stage.until("done")
    stage.say(t="prompt", text="/stream 100000000 10", view="theirs")
    stage.until("patches", lambda it: "'t2'" in str(it))
    stage.say(t="cancel", turn="t2", view="theirs")
    stage.until("patches", lambda it: "stopped_by" in str(it))
    first, second = (it for it in session.transcript.items if isinstance(it, TurnStart))
    name = first.person
    assert name is not None and len(name) <= 62 and name.isprintable()
    assert shown is None or name == shown
    assert (second.person, second.stopped_by, first.stopped_by) == (name, name, None)
    acts = [it for it in session.audit.where(what="act", person=name) if it.kind != "write"]
    assert [(it.kind, it.by) for it in acts] == [(it, "user") for it in ("prompt", "undo", "prompt", "stop")]
    (changes,) = (it for it in session.transcript.items if isinstance(it, Changes))
    assert changes.files[0].note == f"undone by “{name}”"
    text = session.to_text()
    assert f"The turn was stopped by “{name}”." in text and f"“{name}”:" in text
    assert "<img" not in session.to_html()
    session.agent.close()


def test_where_nobody_else_has_the_document_nobody_is_named(stage: Stage) -> None:
    stage.hello()
    stage.say(t="prompt", text="/stream 100000000 10", view="v")
    stage.until("patches", lambda it: "'agent'" in str(it))
    stage.say(t="cancel", turn=None, view="unknown")
    stage.until("patches", lambda it: "cancelled" in str(it))
    wait_until(lambda: "The turn was cancelled." in stage.session.to_text(), "it ended", LIMIT_S)
    (turn,) = (it for it in stage.session.transcript.items if isinstance(it, TurnStart))
    assert (turn.person, turn.stopped_by) == (None, None)
    assert not stage.session.audit.where(by="user")


def test_a_page_cannot_answer_in_the_name_of_a_view_that_never_said_hello(stage: Stage) -> None:
    assert answered_by(stage, "unknown", person="Ada").person is None


@pytest.mark.parametrize(
    "message",
    [
        {"t": "answer", "question": "k999", "option": "x"},
        {"t": "fly"},
        {"t": "ack"},
        {},
    ],
    ids=str,
)
def test_invalid_requests_are_refused(stage: Stage, message: Message) -> None:
    stage.hello()
    stage.say(**message)
    stage.until("refused")


def test_the_stop_button_ends_the_turn(stage: Stage) -> None:
    stage.hello()
    turn, _ = stage.show("/stream 100000000 10")
    wait_until(lambda: turn.text != "", "the agent says something", LIMIT_S)
    stage.say(t="cancel", turn=turn._run.id)
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"


def test_a_prompt_from_the_page_is_a_turn(stage: Stage) -> None:
    stage.hello()
    stage.say(t="prompt", text="hello")
    stage.until("patches", lambda it: "end_turn" in str(it))


PNG = "iVBORw0KGgo="


def test_an_image_in_a_prompt_reaches_the_agent(stage: Stage) -> None:
    stage.hello()
    stage.say(t="prompt", text="look", images=[{"data": PNG, "mime_type": "image/png"}])
    stage.until("patches", lambda it: "end_turn" in str(it))
    prompt = next(it for it in stage.session.transcript.items if isinstance(it, TurnStart)).prompt
    assert prompt == (acp.Text("look"), acp.Image(PNG, "image/png"))


def test_a_prompt_during_a_turn_is_queued_and_can_be_removed(stage: Stage) -> None:
    def queued(*texts: str) -> Callable[[Message], bool]:
        return lambda it: [each["text"] for each in it["queue"]] == list(texts)

    stage.hello()
    turn = stage.session.start("/ask")
    stage.until("now", lambda it: it["elapsed"] is not None)
    stage.say(t="prompt", text="one")
    stage.say(t="prompt", text="two")
    status = stage.until("now", queued("one", "two"))
    stage.say(t="cancel", turn=status["queue"][0]["turn"])
    stage.until("now", queued("two"))
    turn.cancel()
    stage.until("patches", lambda it: "two" in str(it))
    stage.until("now", lambda it: it["queue"] == [] and it["elapsed"] is None)
    prompts = [it.text for it in stage.session.transcript.items if isinstance(it, TurnStart)]
    assert prompts == ["/ask", "two"]


def test_a_page_opened_in_mid_turn_gets_the_elapsed_time(stage: Stage) -> None:
    turn = stage.session.start("/slow 600")
    wait_until(lambda: turn.text != "", "the agent says something", LIMIT_S)
    stage.hello()
    assert stage.until("now")["elapsed"] > 0
    turn.cancel()
    turn.wait(LIMIT_S)
    stage.until("now", lambda it: it["elapsed"] is None)


def test_a_page_switches_the_kernel_s_tools(stage: Stage) -> None:
    switched: list[bool] = []

    async def switch(on: bool) -> None:
        switched.append(on)

    stage.hello()
    stage.say(t="tools", on=False)  # this session has none
    assert "tools=True" in stage.until("refused")["what"]
    stage.session._conversation.switch_tools = switch  # type: ignore[method-assign]
    stage.say(t="tools", on=False)
    wait_until(lambda: switched == [False], "they are switched off", LIMIT_S)


def test_a_page_sets_the_mode_and_the_options(stage: Stage) -> None:
    stage.hello()
    stage.say(t="config", id="model", value="demo-max")
    stage.say(t="mode", mode="code")
    wait_until(lambda: stage.session.config["model"] == "demo-max", "the model is set", LIMIT_S)
    wait_until(lambda: stage.session.mode == "code", "the mode is set", LIMIT_S)
    assert stage.all("refused") == []


@pytest.mark.parametrize(
    "message",
    [
        {"t": "mode", "mode": "sing"},
        {"t": "config", "id": "mood", "value": "good"},
        {"t": "config", "id": "model", "value": "other"},
        {"t": "config", "id": "model", "value": True},
        {"t": "prompt", "text": ""},
    ],
    ids=str,
)
def test_unknown_modes_and_options_are_refused(stage: Stage, message: Message) -> None:
    wait_until(lambda: stage.session.commands != (), "the agent has sent its commands", LIMIT_S)
    stage.hello()
    before = stage.session.transcript
    stage.say(**message)
    stage.until("refused")
    assert stage.session.transcript == before


@pytest.mark.usefixtures("stage")
def test_a_page_gets_the_result_of_an_undo_before_its_end(tmp_path: Path) -> None:
    session = acp.connect("demo", cwd=tmp_path, permissions="allow")
    stage = Stage(session)
    session.prompt("/write undone.txt text", timeout=LIMIT_S)
    file = tmp_path / "undone.txt"
    stage.hello()
    turn = session.turns[-1]._run.id
    for deed, there in (("undo", False), ("undo", False), ("redo", True), ("undo", False)):
        count = len(stage.all("done"))
        stage.say(t=deed, turn=turn)
        wait_until(lambda count=count: len(stage.all("done")) > count, "it is done", LIMIT_S)  # type: ignore[misc]
        assert stage.all("done")[-1]["intent"] == {"t": deed, "turn": turn, "file": None, "hunk": None}
        assert file.exists() is there
    sent = [it["t"] for it in stage.widget.sent]
    assert sent.index("patches") < sent.index("done")
    session.agent.close()


@pytest.mark.usefixtures("stage")
def test_a_page_gets_the_progress_of_an_undo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    timeouts.replace(undo_progress=0.0)
    monkeypatch.setattr("acp_notebook.agent.undo.operations.AT_ONCE", 2)
    session = acp.connect("demo", cwd=tmp_path, permissions="allow")
    stage = Stage(session)
    turn = session.prompt("/sh for it in 1 2 3 4 5; do echo $it > $it.txt; done", timeout=LIMIT_S)
    files = [it._change.id for it in turn.also_changed]
    assert len(files) == 5
    stage.hello()
    stage.say(t="undo", turn=turn._run.id, files=files)
    stage.until("done")
    assert [(it["at"], it["of"]) for it in stage.all("doing")] == [(0, 0), (2, 5), (4, 5), (5, 5)]
    session.agent.close()


def test_a_dead_agent_is_restarted_from_the_page(stage: Stage) -> None:
    stage.hello()
    turn = stage.session.start("/die")
    wait_until(lambda: turn.done, "the turn is over", LIMIT_S)
    wait_until(lambda: stage.session.status == "dead", "the agent is dead", LIMIT_S)
    stage.say(t="restart")
    wait_until(lambda: stage.session.status == "idle", "the agent is back", LIMIT_S)
    assert stage.all("refused") == []


@pytest.mark.parametrize("new", [False, True])
def test_a_lost_session_is_reopened_from_the_page(stage: Stage, new: bool) -> None:
    forgetful = Path(__file__).parents[2] / "agents" / "forgetful.py"
    session = acp.connect([sys.executable, str(forgetful), "load"])
    try:
        page = Stage(session)
        page.hello()
        session.start("forget").wait(LIMIT_S)
        session.start("lost")
        wait_until(lambda: session.status == "lost", "the session is lost", LIMIT_S)
        page.say(t="reopen", new=new)
        wait_until(lambda: session.status == "idle", "the session is back", LIMIT_S)
        assert session.id == ("s2" if new else "s1")
        assert session.start("and on").wait(LIMIT_S).text
        assert page.all("refused") == []
    finally:
        session.agent.close()


def test_a_failed_start_is_reported_where_the_prompt_was_written(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.hello()
    turn = stage.session.start("/die")
    wait_until(lambda: stage.session.status == "dead", "the agent is dead", LIMIT_S)
    wait_until(lambda: turn.done, "the turn is over", LIMIT_S)

    async def fails() -> None:
        raise acp.AgentDied("it exited\nit printed on stderr:\n  no key\nhint: give it its key")

    monkeypatch.setattr(stage.session.agent._host, "connect", fails)
    stage.say(t="prompt", text="hello")
    refused = stage.until("refused")
    assert refused["what"] == "it exited"  # the rest is in the state
    assert refused["prompt"] == "hello"  # and comes back into the field
    assert str(stage.session.transcript.detail).endswith("hint: give it its key")

    turn, _ = stage.show("from a cell")
    stage.static(turn, "this prompt was not sent")
    stage.until("now", lambda it: it["unsent"] == [turn._run.id])


def test_a_prompt_that_cannot_start_is_refused(stage: Stage) -> None:
    stage.hello()
    stage.session.close()
    for intent in ({"t": "prompt", "text": "hello"}, {"t": "restart"}):
        count = len(stage.all("refused"))
        stage.say(**intent)
        wait_until(lambda count=count: len(stage.all("refused")) > count, "it is refused", LIMIT_S)  # type: ignore[misc]
        assert "closed" in stage.all("refused")[-1]["what"]


def test_a_shown_turn_has_a_static_output_from_start_to_end(stage: Stage) -> None:
    stage.hello()
    turn, output = stage.show("/ask")
    assert output.shown[0]["application/vnd.jupyter.widget-view+json"]["model_id"] == "turn-model"
    assert "0x" not in output.shown[0]["text/plain"]
    stage.static(turn, "Do something")
    turn.cancel()
    turn.wait(LIMIT_S)
    final = stage.static(turn, "cancelled")
    assert {"text/html", "text/plain", TRANSCRIPT_MIME} <= set(final)
    assert len(output.shown) == 1  # the page puts it into the file when that is saved


def test_a_queued_turn_says_that_there_is_nothing_yet(stage: Stage) -> None:
    stage.hello()
    first, _ = stage.show("/ask")
    second, _ = stage.show("hello")
    assert stage.static(second, NOTHING_YET)
    first.cancel()
    second.wait(LIMIT_S)
    stage.static(second, "hello")


def test_without_a_document_the_output_itself_becomes_static(stage: Stage) -> None:
    stage.hello(document=False)
    turn, output = stage.show("hello")
    turn.wait(LIMIT_S)
    wait_until(lambda: len(output.shown) == 2, "the output is replaced", LIMIT_S)
    assert "application/vnd.jupyter.widget-view+json" not in output.shown[1]
    assert turn.text[:15] in output.shown[1]["text/plain"]


def test_a_turn_that_ended_before_the_page_loaded_stays_live(stage: Stage) -> None:
    turn, output = stage.show("hello")
    turn.wait(LIMIT_S)
    stage.hello()
    stage.static(turn, turn.text[:15])
    again, other = stage.show("hello")
    again.wait(LIMIT_S)
    stage.static(again, again.text[:15])
    assert [len(output.shown), len(other.shown)] == [1, 1]


def test_without_a_page_the_output_becomes_static(stage: Stage) -> None:
    timeouts.replace(static_output=0.01)
    turn, output = stage.show("hello")
    turn.wait(LIMIT_S)
    wait_until(lambda: len(output.shown) == 2, "the output is replaced", LIMIT_S)


def test_a_page_that_said_bye_saves_nothing_more(stage: Stage) -> None:
    stage.hello()
    stage.say(t="bye", view="v")
    turn, output = stage.show("hello")
    turn.wait(LIMIT_S)
    wait_until(lambda: len(output.shown) == 2, "the output is replaced", LIMIT_S)


def test_a_turn_that_is_shown_twice_is_replaced_in_both_places(stage: Stage) -> None:
    stage.hello(document=False)
    turn, one = stage.show("/ask")
    stage.panel.show_turn(turn._run)
    other = everything[-1]
    turn.cancel()
    turn.wait(LIMIT_S)
    wait_until(lambda: len(one.shown) == len(other.shown) == 2, "both are replaced", LIMIT_S)
    assert one.shown[1] == other.shown[1]


def test_a_shown_session_has_a_static_output_that_is_kept_current(stage: Stage) -> None:
    def says(name: str, text: str) -> Callable[[Message], bool]:
        return lambda it: it["turn"] == name and text in it["bundle"]["text/html"]

    stage.hello()
    stage.panel.show()
    whole = stage.until("static", says("session", NOTHING_YET))
    assert (whole["parts"], whole["places"]) == ([], [[stage.widget.model_id, "cell-1"]])
    for number in (1, 2):
        turn = stage.session.start(f"hello {number}").wait(LIMIT_S)
        part = stage.until("static", says(turn._run.id, f"hello {number}"))
        assert f"hello {number}" in part["reference"]
    stage.until("static", lambda it: it["parts"] == ["t1", "t2"])
    first = [it for it in stage.all("static") if it["turn"] == "t1"]
    assert len({json.dumps(it["bundle"]) for it in first}) == len(first)  # the same is not sent again
    stage.say(t="hello", view="another", document=True)
    wait_until(lambda: len(stage.all("static")) > len(first) + 1, "a new page gets everything", LIMIT_S)


def test_where_a_turn_is_shown_is_sent_until_its_cell_runs_again(stage: Stage) -> None:
    stage.hello()
    turn, output = stage.show("hello")
    turn.wait(LIMIT_S)
    stage.static(turn, "hello")
    assert stage.all("static")[-1]["places"] == [["turn-model", "cell-1"]]
    output.is_current = False
    stage.say(t="hello", view="reloaded", document=True)
    stage.until("static", lambda it: it["turn"] == turn._run.id and it["places"] == [])


def test_freeze_replaces_live_outputs_and_a_running_turn_again_at_its_end(stage: Stage) -> None:
    stage.hello()
    done, first = stage.show("hello")
    done.wait(LIMIT_S)
    running, second = stage.show("/ask")
    stage.panel.show()
    whole = everything[-1]
    wait_until(lambda: len(running.items) > 1, "the agent asks", LIMIT_S)
    stage.session.freeze()
    for output in (first, second, whole):
        assert "application/vnd.jupyter.widget-view+json" not in output.shown[-1]
        assert len(output.shown) > 1
    for name in (done._run.id, running._run.id, "session"):
        newest = [it for it in stage.all("static") if it["turn"] == name][-1]
        assert newest["places"] == [], "a page does not show it live again after a save"
    before = len(second.shown)
    running.cancel()
    running.wait(LIMIT_S)
    wait_until(lambda: len(second.shown) > before, "the end is shown", LIMIT_S)
    assert "cancelled" in second.shown[-1]["text/plain"]


def test_freeze_does_nothing_if_nothing_is_shown() -> None:
    with acp.connect("demo") as session:
        session.freeze()


def test_redaction_reaches_what_the_page_saves(stage: Stage) -> None:
    stage.session.redact = lambda text: text.replace("swordfish", "•••")
    stage.hello()
    turn, _ = stage.show("the word is swordfish")
    turn.wait(LIMIT_S)
    assert "swordfish" not in str(stage.static(turn, "•••"))
    assert "swordfish" not in str(stage.all("static"))


def test_a_page_rearranges_the_queue(stage: Stage) -> None:
    stage.hello()
    running = stage.session.start("/slow 600")
    wait_until(lambda: running.text != "", "the turn runs", LIMIT_S)
    turns = [stage.session.start(text) for text in ("one", "two", "three")]

    def queue_is(*texts: str) -> Message:
        return stage.until("now", lambda it: [entry["text"] for entry in it["queue"]] == [*texts])

    one, two, three = (entry["turn"] for entry in queue_is("one", "two", "three")["queue"])
    stage.say(t="edit", turn=two, text="2")
    queue_is("one", "2", "three")
    stage.say(t="move", turn=three, to=0)
    queue_is("three", "one", "2")
    stage.say(t="cancel", turn=one)
    queue_is("three", "2")
    stage.say(t="send_now", turn=two)
    assert running.wait(LIMIT_S).stop_reason == "cancelled"
    assert turns[1].wait(LIMIT_S).items[0].text == "2"  # type: ignore[union-attr]
    turns[2].wait(LIMIT_S)
    for late in ({"t": "send_now"}, {"t": "edit", "text": "x"}, {"t": "move", "to": 0}):
        stage.say(turn=two, **late)
        stage.until("refused", lambda it: "is no longer waiting" in it["what"])
        stage.widget.sent.clear()


def test_a_reloaded_page_shows_the_queue(stage: Stage) -> None:
    running = stage.session.start("/slow 600")
    wait_until(lambda: running.text != "", "the turn runs", LIMIT_S)
    stage.session.start("x" * 9000, acp.Image("aGk=", "image/png"))
    stage.hello()
    (entry,) = stage.until("now", lambda it: len(it["queue"]) == 1)["queue"]
    assert (len(entry["text"]), entry["cut"], entry["more"]) == (8000, True, 1)


@pytest.fixture
def asking(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """A stage on an agent that knows that it may ask for forms."""
    monkeypatch.setattr(connect_module, "may_be_asked", lambda: True)
    session = acp.connect("demo")
    yield Stage(session)
    session.agent.close()


def form_of(stage: Stage) -> str:
    """Wait for the newest form; returns its key."""

    def there() -> list[str]:
        items = stage.session.transcript.items
        return [it.key for it in items if isinstance(it, Elicitation) and it.status == "open"]

    wait_until(lambda: there() != [], "a form is asked for", LIMIT_S)
    return there()[-1]


def test_a_page_fills_in_a_form_and_gets_its_errors(asking: Stage) -> None:
    asking.hello()
    turn = asking.session.start("/form choice")
    key = form_of(asking)
    asking.say(t="elicit", elicitation="k99", action="accept")
    asking.until("refused", lambda it: "this form does not exist" in it["what"])
    asking.say(t="elicit", elicitation=key, action="accept", values={"colour": "pink"})
    invalid = asking.until("invalid")
    assert (invalid["elicitation"], invalid["errors"]) == (key, {"colour": "one of red, green, blue"})
    asking.say(t="elicit", elicitation=key, action="accept", values={"colour": "red", "other": None})
    asking.say(t="elicit", elicitation=key, action="decline")  # from another page, too late
    assert '{"colour":"red"}' in turn.wait(LIMIT_S).text


def test_a_reloaded_page_shows_the_form(asking: Stage) -> None:
    asking.hello()
    turn = asking.session.start("/form choice")
    key = form_of(asking)
    asking.hello(view="other")

    def forms(message: Message) -> list[Message]:
        return [it for it in message["state"]["items"] if it["type"] == "elicitation"]

    (item,) = forms(asking.until("state", lambda it: forms(it) != []))
    assert (item["key"], item["status"], item["fields"][0]["choices"][0]["value"]) == (key, "open", "red")
    asking.say(t="elicit", elicitation=key, action="cancel")
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"


def test_a_page_retries_a_turn_that_hit_a_rate_limit(stage: Stage) -> None:
    stage.hello()
    stage.say(t="prompt", text="/ratelimit 20")

    def starts() -> list[TurnStart]:
        return [it for it in stage.session.transcript.items if isinstance(it, TurnStart)]

    wait_until(lambda: [it.status for it in starts()] == ["failed"], "it fails", LIMIT_S)
    stage.say(t="again", turn=starts()[0].id)
    wait_until(lambda: [it.status for it in starts()] == ["failed", "done"], "it is sent again", LIMIT_S)
    assert starts()[1].text == "/ratelimit 20"
    stage.say(t="again", turn=starts()[1].id)
    stage.until("refused", lambda it: "has not failed" in it["what"])


def turns_of(stage: Stage) -> list[TurnStart]:
    return [it for it in stage.session.transcript.items if isinstance(it, TurnStart)]


def test_a_page_sends_the_prompt_of_a_failed_turn_again_once(stage: Stage) -> None:
    stage.hello()
    stage.say(t="prompt", text="/error 5 no luck", images=[{"data": "aGk=", "mime_type": "image/png"}])
    wait_until(lambda: [it.status for it in turns_of(stage)] == ["failed"], "it fails", LIMIT_S)
    for _ in range(2):  # a double click
        stage.say(t="again", turn=turns_of(stage)[0].id)
    wait_until(lambda: [it.status for it in turns_of(stage)] == ["failed"] * 2, "it fails again", LIMIT_S)
    first, second = turns_of(stage)
    assert second.prompt == first.prompt and len(first.prompt) == 2
    stage.say(t="again", turn=first.id)  # a page that does not know the new turn yet
    stage.say(t="again", turn=second.id)
    wait_until(lambda: len(turns_of(stage)) == 3, "the newest is sent again", LIMIT_S)
    assert stage.all("refused") == []
    assert len(stage.session.queue) == 0


def test_a_retry_restarts_an_agent_that_died(stage: Stage) -> None:
    stage.hello()
    stage.say(t="prompt", text="/die 3")
    wait_until(lambda: [it.status for it in turns_of(stage)] == ["failed"], "it dies", LIMIT_S)
    assert stage.session.status == "dead"
    stage.say(t="again", turn=turns_of(stage)[0].id)
    wait_until(lambda: [it.status for it in turns_of(stage)] == ["failed"] * 2, "it dies again", LIMIT_S)


def test_a_retry_sends_what_the_transcript_does_not_show(stage: Stage) -> None:
    stage.session._conversation.agent.redactor.learn(["hunter2hunter2"])
    stage.hello()
    stage.say(t="prompt", text="/error 5 hunter2hunter2")
    wait_until(lambda: [it.status for it in turns_of(stage)] == ["failed"], "it fails", LIMIT_S)
    (failed,) = turns_of(stage)
    assert "hunter2" not in failed.text
    conversation = stage.session._conversation
    assert conversation.last_run is not None
    assert "hunter2hunter2" in repr(conversation.last_run.content)
    stage.say(t="again", turn=failed.id)
    wait_until(lambda: len(turns_of(stage)) == 2, "it is sent again", LIMIT_S)
    wait_until(
        lambda: conversation.last_run is not None and conversation.last_run.id == "t2", "ends", LIMIT_S
    )
    assert "hunter2hunter2" in repr(conversation.last_run.content)


def test_a_reloaded_page_gets_the_static_outputs_of_old_turns_as_they_were(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items_module, "KEPT_BYTES", 0)
    monkeypatch.setattr(static_outputs_module, "KEPT_PARTS", 1)
    stage.hello()
    stage.panel.show()
    turns = []
    for number in range(4):
        turn, _ = stage.show(f"prompt number {number}")
        turn.wait(LIMIT_S)
        stage.static(turn, f"number {number}")
        turns.append(turn)
    stage.until("static", lambda it: it["turn"] == "session" and len(it["parts"]) == 4)
    state = stage.session._conversation.state
    wait_until(lambda: not stage.panel._outputs._not_final(), "everything is rendered", LIMIT_S)
    outputs = stage.panel._outputs
    assert sum(part.stored is not None for part in outputs._parts.values()) == 3
    before = {it["turn"]: it for it in stage.all("static")}
    stage.widget.sent.clear()
    stage.say(t="resync", have=0)
    stage.until("static", lambda it: it["turn"] == "session")
    after = {it["turn"]: it for it in stage.all("static")}
    assert {name: it["bundle"] for name, it in after.items()} == {
        name: it["bundle"] for name, it in before.items()
    }
    items = [*stage.until("state")["state"]["items"], *added(stage)]
    assert items == state.read(lambda it: it.plain()["items"])


def added(stage: Stage) -> list[Message]:
    return [patch[1] for batch in stage.all("patches") for patch in batch["patches"] if patch[0] == "add"]


def test_a_change_of_an_old_turn_renders_that_turn_alone(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(items_module, "KEPT_BYTES", 0)
    stage.hello()
    stage.panel.show()
    for number in range(3):
        turn, _ = stage.show(f"prompt number {number}")
        turn.wait(LIMIT_S)
        stage.static(turn, f"number {number}")
    wait_until(lambda: not stage.panel._outputs._not_final(), "everything is rendered", LIMIT_S)
    stage.widget.sent.clear()
    first = stage.session.turns[0]._run
    stage.session._loop.post(
        stage.session._conversation.state.apply, ev.NoticeGiven("info", "a late word", turn=first.key)
    )
    stage.until("static", lambda it: it["turn"] == first.id and "a late word" in it["bundle"]["text/html"])
    assert {it["turn"] for it in stage.all("static")} <= {first.id, "session"}
