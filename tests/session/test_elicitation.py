"""Elicitations are answered once, by the user, a function or the policy, and never left open."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.api import connect as connect_module
from acp_notebook.core.snapshot import Elicitation
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S
from tests.waiting import wait_until

GOOD = {"name": "first-try", "model": "net"}


def asked(session: acp.Session) -> Elicitation:
    """The newest one."""
    return [item for item in session.transcript.items if isinstance(item, Elicitation)][-1]


def opened(session: acp.Session) -> Elicitation:
    def there() -> bool:
        items = session.transcript.items
        return any(isinstance(item, Elicitation) and item.status == "open" for item in items)

    wait_until(there, "the form is there", LIMIT_S)
    return asked(session)


def answer(session: acp.Session, action: Any, **values: Any) -> dict[str, str]:
    """Answer like a page."""
    id, conversation = opened(session).id, session._conversation

    async def answered() -> dict[str, str]:
        return conversation.elicitations.answer(id, action, values)

    return session._loop.call(answered())


@pytest.fixture
def seen(demo: Demo, monkeypatch: pytest.MonkeyPatch) -> acp.Session:
    """A session with a user who sees its questions."""
    monkeypatch.setattr(connect_module, "may_be_asked", lambda: True)
    session = demo(permissions="allow")
    session._conversation.state.audience.can_answer = True
    return session


class Broken(Mapping[str, Any]):
    """A mapping whose items cannot be read."""

    def __getitem__(self, name: str) -> Any:
        raise RuntimeError("broken")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("broken")

    def __len__(self) -> int:
        return 1


# ---- by a function ------------------------------------------------------------------------------


def test_an_unreadable_answer_does_not_leave_the_form_open(demo: Demo) -> None:
    session = demo(elicitation=lambda _: Broken())
    assert session.prompt("/form", timeout=LIMIT_S).text == "You answered decline."
    form = asked(session)
    assert (form.status, form.by) == ("declined", "client")
    assert "broken" in (form.reason or "")


def test_a_function_gets_the_fields_and_returns_the_values(demo: Demo) -> None:
    requests: list[acp.ElicitationRequest] = []

    def fill_in(request: acp.ElicitationRequest) -> dict[str, Any]:
        requests.append(request)
        return GOOD

    session = demo(elicitation=fill_in)
    said = session.prompt("/form", timeout=LIMIT_S).text
    assert json.loads(said.split("`")[1]) == {
        **GOOD,
        "start": "2026-01-31",
        "runs": 10,
        "metrics": ["rmse"],
        "notify": True,
    }
    (request,) = requests
    assert (request.mode, request.message, request.title) == (
        "form",
        "I need a few things from you.",
        "A new experiment",
    )
    assert [field.name for field in request.fields if field.required] == ["name", "model"]
    item = asked(session)
    assert (item.status, item.by, item.values["name"]) == ("accepted", "policy", "first-try")


def test_it_may_be_async(demo: Demo) -> None:
    async def fill_in(request: acp.ElicitationRequest) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"colour": "red"}

    assert '"red"' in demo(elicitation=fill_in).prompt("/form choice", timeout=LIMIT_S).text


@pytest.mark.parametrize(
    ("said", "status", "why"),
    [
        ("decline", "declined", None),
        ({"name": "X"}, "declined", "name: at least 3 characters; model: this field is required"),
        ({**GOOD, "rate": 2}, "declined", "rate: at most 1"),
        ({**GOOD, "nmae": 1}, "declined", "nmae: the form has no such field"),
        (None, "declined", "must return a mapping"),
        ("ask", "declined", "nobody can be asked here"),
    ],
)
def test_other_results_of_a_function(demo: Demo, said: Any, status: str, why: str | None) -> None:
    session = demo(elicitation=lambda request: said)
    assert session.prompt("/form", timeout=LIMIT_S).text == "You answered decline."
    item = asked(session)
    assert item.status == status
    assert why is None or why in (item.reason or "")


def test_a_cancel_by_the_function_reaches_the_agent(demo: Demo) -> None:
    session = demo(elicitation=lambda request: "cancel")
    assert session.prompt("/form", timeout=LIMIT_S).stop_reason == "cancelled"
    assert asked(session).status == "cancelled"


def test_a_function_that_raises_or_hangs_declines_with_the_reason(demo: Demo) -> None:
    never = threading.Event()
    session = demo(elicitation=lambda request: 1 / 0)
    session.prompt("/form", timeout=LIMIT_S)
    assert "raised ZeroDivisionError" in (asked(session).reason or "")
    timeouts.replace(policy=0.05)
    session = demo(elicitation=lambda request: never.wait(LIMIT_S))
    session.prompt("/form", timeout=LIMIT_S)
    never.set()
    assert "did not answer within 0.05 s" in (asked(session).reason or "")


def test_an_address_is_accepted_and_its_completion_seen(demo: Demo) -> None:
    session = demo(elicitation=lambda request: request.host == "example.org")
    assert session.prompt("/open", timeout=LIMIT_S).text == "You answered accept."
    wait_until(lambda: asked(session).completed, "the agent says that it is done", LIMIT_S)
    item = asked(session)
    assert (item.url, item.host, item.status) == (
        "https://example.org/sign-in?state=demo",
        "example.org",
        "accepted",
    )


@pytest.mark.parametrize("url", ["file:///etc/passwd", "javascript:alert(1)", "https://a.example:x/"])
def test_an_invalid_address_is_declined_despite_the_function(demo: Demo, url: str) -> None:
    session = demo(elicitation=lambda request: True)
    assert session.prompt(f"/open {url}", timeout=LIMIT_S).text == "You answered decline."
    assert (asked(session).by, asked(session).host) == ("client", None)


# ---- nobody -------------------------------------------------------------------------------------


def test_without_anybody_to_ask_it_is_not_advertised_and_never_waits(demo: Demo) -> None:
    for session in (demo(), demo(elicitation="decline")):
        assert session.prompt("/form", timeout=LIMIT_S).text == "Your client shows no forms."
        assert session.prompt("/open", timeout=LIMIT_S).text == "Your client opens no addresses."
        assert session.prompt("/form anyway", timeout=LIMIT_S).text == "You answered decline."
        assert (asked(session).status, session.status) == ("declined", "idle")


def test_an_invalid_policy_is_refused() -> None:
    with pytest.raises(acp.UsageError, match='"ask", "decline" or a function'):
        acp.connect("demo", elicitation="yes")  # type: ignore[arg-type]


# ---- by the user --------------------------------------------------------------------------------


def test_a_user_fills_it_in_and_the_first_answer_wins(seen: acp.Session) -> None:
    turn = seen.start("/form")
    assert answer(seen, "accept", name="NO", model="net") == {"name": "at least 3 characters"}
    assert opened(seen).status == "open"
    assert answer(seen, "accept", name="first-try", model="net", runs=0) == {"runs": "at least 1"}
    id = opened(seen).id
    assert answer(seen, "accept", **GOOD, runs=None) == {}
    said = json.loads(turn.wait(LIMIT_S).text.split("`")[1])
    assert ("runs" in said, said["name"]) == (False, "first-try")

    async def late() -> dict[str, str]:
        return seen._conversation.elicitations.answer(id, "decline", {})

    assert seen._loop.call(late()) == {}
    assert (asked(seen).status, asked(seen).by) == ("accepted", "user")


def test_a_form_that_cannot_be_filled_in_can_only_be_declined(seen: acp.Session) -> None:
    turn = seen.start("/form required")
    assert "cannot fill in “odd”" in answer(seen, "accept")[""]
    assert answer(seen, "decline") == {}
    assert turn.wait(LIMIT_S).text == "You answered decline."


def test_a_hostile_form_is_bounded(seen: acp.Session) -> None:
    turn = seen.start("/form hostile")
    item = opened(seen)
    assert {field.name: field.type for field in item.fields} == {
        "<script>alert(3)</script>": "string",
        "slow": "string",
        "odd": "unknown",
        "worse": "unknown",
        "long": "string",
        "__proto__": "string",
        "pick": "select",
    }
    assert answer(seen, "accept", slow="a" * 5000 + "!", pick="no").keys() == {"pick"}
    assert answer(seen, "accept", slow="a" * 5000 + "!", pick="<b>", __proto__="p") == {}
    assert '"__proto__":"p"' in turn.wait(LIMIT_S).text
    assert "<script>" not in turn.to_html()
    turn = seen.prompt("/form huge 1000", timeout=LIMIT_S)
    assert turn.text == "You answered decline."
    assert "1,000 fields" in (asked(seen).reason or "")


def test_an_unanswered_form_is_declined_after_the_timeout(seen: acp.Session) -> None:
    seen._conversation.state.audience.timeout = 0.05
    assert seen.prompt("/form", timeout=LIMIT_S).text == "You answered decline."
    assert asked(seen).reason == "nobody answered within 0.05 s"


def test_an_address_completed_elsewhere_is_settled(seen: acp.Session) -> None:
    turn = seen.start("/open")
    opened(seen)
    seen._loop.post(seen.agent._host.sessions.elicitation_completed, "nobody's")
    seen._loop.post(seen.agent._host.sessions.elicitation_completed, "link_1")
    assert turn.wait(LIMIT_S).text == "You answered accept."
    assert (asked(seen).completed, asked(seen).by) == (True, "agent")


# ---- ends ---------------------------------------------------------------------------------------


def test_a_cancel_settles_it(seen: acp.Session) -> None:
    turn = seen.start("/form")
    opened(seen)
    turn.cancel()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    assert (asked(seen).status, asked(seen).reason) == ("cancelled", "the turn was cancelled")


def test_the_agent_withdraws_it(seen: acp.Session) -> None:
    assert "-32800" in seen.prompt("/form withdraw", timeout=LIMIT_S).text
    assert all(item.status != "open" for item in seen.transcript.items if isinstance(item, Elicitation))


def test_the_agents_death_settles_it(seen: acp.Session) -> None:
    turn = seen.start("/form")
    opened(seen)
    pid = seen.agent.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(acp.AgentDied):
        turn.wait(LIMIT_S)
    assert asked(seen).status == "cancelled"


def test_closing_the_session_settles_it(seen: acp.Session) -> None:
    seen.agent.new_session()  # the agent lives on
    turn = seen.start("/form")
    opened(seen)
    seen.close()
    assert turn.wait(LIMIT_S).stop_reason == "cancelled"
    assert (asked(seen).status, asked(seen).reason) == ("cancelled", "the session was closed")


def test_a_form_outside_a_turn_waits_for_its_answer(seen: acp.Session) -> None:
    seen.prompt("/form later", timeout=LIMIT_S)
    item = opened(seen)
    assert seen.status == "idle"
    seen.prompt("hello", timeout=LIMIT_S)  # another turn comes and goes
    assert asked(seen).key == item.key
    assert answer(seen, "accept", colour="blue") == {}
    wait_until(lambda: seen.title == 'accept {"colour":"blue"}', "the agent has the answer", LIMIT_S)


def test_a_form_outside_a_turn_ends_with_the_session(seen: acp.Session) -> None:
    seen.agent.new_session()
    seen.prompt("/form later", timeout=LIMIT_S)
    opened(seen)
    seen.close()
    assert asked(seen).status == "cancelled"


def test_a_form_for_a_request_is_shown_in_a_session(seen: acp.Session) -> None:
    turn = seen.start("/form request")
    assert answer(seen, "accept", other="mine") == {}
    assert '"other":"mine"' in turn.wait(LIMIT_S).text


# ---- what is kept -------------------------------------------------------------------------------


@pytest.fixture
def kept(demo: Demo, tmp_path: Path) -> Iterator[tuple[acp.Session, Path]]:
    recording = tmp_path / "recorded.jsonl"
    yield (
        demo(
            elicitation=lambda request: {"user": "someone", "pin": "hunter2-secret"},
            record=recording,
            audit=tmp_path / "audit.jsonl",
        ),
        tmp_path,
    )


def test_only_the_agent_gets_a_secret(kept: tuple[acp.Session, Path]) -> None:
    session, folder = kept
    turn = session.prompt("/form secret", timeout=LIMIT_S)
    assert "14 characters" in turn.text
    session.close()
    everything = [
        session.to_text(),
        session.to_html(),
        session.to_markdown(),
        json.dumps(session._to_bundle()),
        repr(session.transcript.items),
        repr(session.audit),
        (folder / "recorded.jsonl").read_text(),
        (folder / "audit.jsonl").read_text(),
    ]
    assert [text for text in everything if "hunter2" in text] == []
    assert asked(session).values == {"user": "someone", "pin": "••••"}
    assert "someone" in session.to_text()


def test_the_audit_says_who_answered_what(demo: Demo) -> None:
    session = demo(elicitation=lambda request: {"colour": "red"})
    session.prompt("/form choice", timeout=LIMIT_S)
    request, decision = session.audit.where(kind="elicitation")
    assert (request.what, request.by, request.target) == ("request", "agent", "I need a few things from you.")
    assert (decision.what, decision.by, decision.outcome) == ("decision", "policy", "accepted")
    assert decision.detail["fields"] == ["colour"]


def test_the_answer_is_in_the_static_output(demo: Demo) -> None:
    session = demo(elicitation=lambda request: GOOD)
    text = session.prompt("/form", timeout=LIMIT_S).to_text()
    assert "Answer: accepted (by policy)" in text
    assert "Model: Neural network" in text
    assert "Tell me when it is done: yes" in text
