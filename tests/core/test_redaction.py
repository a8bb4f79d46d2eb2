"""Secrets are found whole, in parts and in their escaped forms; what is no secret stays."""

from __future__ import annotations

import base64
import re
from itertools import pairwise
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core import events as ev
from acp_notebook.core.actions import CallFunction, RunCode
from acp_notebook.core.event_redaction import EventRedactor
from acp_notebook.core.records import KernelRun, Location, Text
from acp_notebook.core.redaction import REDACTED, Redactor, StreamRedactor
from acp_notebook.core.snapshot import Message
from acp_notebook.core.transcript import Transcript

SECRET = "sk-Ab12345"


@pytest.mark.parametrize(
    ("secrets", "text", "shown"),
    [
        (["abc"], "xabcx", f"x{REDACTED}x"),
        ([re.compile(r"\d{4}-\d{4}")], "card 1234-5678.", f"card {REDACTED}."),
        (['a"b\n'], r"{\"k\": \"a\\\"b\\n\"}", rf"{{\"k\": \"{REDACTED}\"}}"),
    ],
)
def test_the_users_own_secrets_are_removed(
    secrets: list[str | re.Pattern[str]], text: str, shown: str
) -> None:
    assert Redactor(secrets=secrets).text(text) == shown


def test_a_secret_word_stays_inside_other_words() -> None:
    assert Redactor({"CAPS_KEY": "load"}).text("loaded, load") == f"loaded, {REDACTED}"


def test_secrets_learnt_later_are_removed_too() -> None:
    redactor = Redactor()
    assert redactor.idle
    redactor.learn(["x", "hunter2!"])
    assert redactor.text("x hunter2!") == f"x {REDACTED}"


@given(st.data())
def test_a_secret_in_any_number_of_pieces_is_never_shown(data: st.DataObject) -> None:
    text = data.draw(st.lists(st.sampled_from([SECRET, "s", "sk-", "sk-Ab", "5", " "])).map("".join))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    redactor = Redactor({"A_KEY": SECRET})
    stream = StreamRedactor(redactor)
    edges = [0, *cuts, len(text)]
    shown = [stream.feed(text[a:b]) for a, b in pairwise(edges)] + [stream.rest()]
    assert "".join(shown) == redactor.text(text)


def test_secrets_split_over_chunks_are_hidden() -> None:
    transcript, withheld = Transcript(), EventRedactor(Redactor({"A_KEY": SECRET}))

    def apply(*events: ev.Event) -> None:
        for event in events:
            transcript.apply_all(withheld.see(event))

    apply(ev.TurnStarted((Text(f"use {SECRET}"),), "t1"))
    apply(*(ev.MessageChunk("agent", Text(it)) for it in ("it is sk-", "Ab1", "2345, and sk-A")))
    apply(ev.MessageChunk("thought", Text("hm")))
    apply(ev.TerminalChanged("x", command=f"echo {SECRET}", status="running"))
    apply(ev.TerminalOutput("x", "sk-Ab"), ev.TerminalOutput("x", "12345\nsk-"))
    apply(ev.TerminalChanged("x", status="exited", exit_code=0))
    apply(
        ev.ToolChanged("c1", title=SECRET, locations=(Location(f"/{SECRET}"),), raw_input={"key": [SECRET]})
    )
    apply(ev.TurnEnded("failed", error=f"bad {SECRET}"))
    state = str(transcript.plain())
    assert SECRET not in state
    assert f"it is {REDACTED}, and sk-A" in state
    assert f"{REDACTED}\\nsk-" in state


def test_a_secret_in_chunks_with_annotations_is_hidden_too() -> None:
    transcript, withheld = Transcript(), EventRedactor(Redactor({"A_KEY": SECRET}))
    for part in (SECRET[:4], SECRET[4:], " end"):
        for event in withheld.see(ev.MessageChunk("agent", Text(part, {"priority": 1}))):
            transcript.apply(event)
    (item,) = transcript.snapshot().items
    assert SECRET not in str(transcript.plain())
    assert isinstance(item, Message)
    assert item.content[0].annotations == {"priority": 1}  # type: ignore[union-attr]


def test_what_an_agent_declares_as_secret_stays_visible_in_what_is_asked_and_done() -> None:
    """Attack: an agent declares the code that it is going to run as a secret of its own."""
    redactor = Redactor({"A_KEY": SECRET})
    code = "shutil.rmtree(home)"
    redactor.learn_from_agent([code])
    redactor.learn(["learned-later"])
    events = EventRedactor(redactor)
    text = f"{code} {SECRET} learned-later"
    (asked,) = events.see(ev.QuestionAsked("q1", "c1", (), actions=(RunCode(text, ""),)))
    assert isinstance(asked, ev.QuestionAsked)
    assert asked.actions == (RunCode(f"{code} {REDACTED} {REDACTED}", ""),)
    given = CallFunction("f", (("a", f'"{text}"'),))
    (asked,) = events.see(ev.QuestionAsked("q2", "c1", (), actions=(given,)))
    assert isinstance(asked, ev.QuestionAsked)
    assert asked.actions == (CallFunction("f", (("a", f'"{code} {REDACTED} {REDACTED}"'),)),)
    (call,) = events.see(ev.ToolChanged("c1", title=text, content=(KernelRun("", text),)))
    assert isinstance(call, ev.ToolChanged)
    assert call.content == (KernelRun("", f"{code} {REDACTED} {REDACTED}"),)
    assert redactor.text(text) == f"{REDACTED} {REDACTED} {REDACTED}"  # in messages and recordings


def test_ids_and_values_are_not_redacted() -> None:
    withheld = EventRedactor(Redactor({"A_KEY": "call_1"}))
    (event,) = withheld.see(ev.ToolChanged("call_1", title="call_1", status="completed"))
    assert event == ev.ToolChanged("call_1", title=REDACTED, status="completed")


def test_without_secrets_nothing_is_changed() -> None:
    event = ev.MessageChunk("agent", Text("s"))
    assert EventRedactor(Redactor()).see(event) == (event,)


# ---- encoded, and as parts of something longer

KEY = "sk-Ab1/2345+x?=9z"


@pytest.mark.parametrize(
    "form",
    [
        base64.b64encode(KEY.encode()).decode(),
        base64.urlsafe_b64encode(KEY.encode()).decode(),
        *(base64.b64encode(f"{'u' * n}:{KEY}".encode()).decode() for n in range(3)),
        *(base64.b64encode(f'{{"key": "{"u" * n}{KEY}"}}'.encode()).decode() for n in range(3)),
        quote(KEY, safe=""),
        re.sub("%..", lambda found: found[0].lower(), quote(KEY, safe="")),
        quote(KEY),
        quote_plus(KEY),
        KEY.encode().hex(),
        KEY.encode().hex().upper(),
    ],
)
def test_a_secret_is_found_in_its_encoded_forms(form: str) -> None:
    shown = Redactor({"API_KEY": KEY}).text(f"before {form} after")
    assert REDACTED in shown
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    assert form[4:-4] not in shown


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("Authorization", "Bearer abcd-1234", "abcd-1234"),
        ("x", "bearer abcd-1234", "abcd-1234"),
        ("Authorization", "Basic " + base64.b64encode(b"me:s3cret-word").decode(), "s3cret-word"),
        ("DATABASE", "postgres://me:s3cret-word@host/db", "s3cret-word"),
        ("url", "https://host/mcp?api_key=s3cret-word&page=2", "s3cret-word"),
        ("url", "https://host/mcp?k=s3cr%2Ft-word%2BAb12Cd34", "s3cr/t-word+Ab12Cd34"),
        ("url", "https://host/s/Zx81kQ93mNp47Ytr/mcp", "Zx81kQ93mNp47Ytr"),
    ],
)
def test_the_secret_part_of_a_value_is_found_alone(name: str, value: str, secret: str) -> None:
    redactor = Redactor({name: value})
    assert redactor.text(f"it is {secret}.") == f"it is {REDACTED}."
    assert secret not in redactor.text(value)


def test_harmless_parts_of_an_address_stay() -> None:
    redactor = Redactor({"url": "https://example.com/mcp/v1?page=2&sort=name"})
    assert redactor.idle


def test_the_end_of_a_history_is_not_held_back() -> None:
    withheld = EventRedactor(Redactor({"A_KEY": SECRET}))
    start = SECRET[:3]
    (seen,) = withheld.see(ev.MessageChunk("agent", Text(f"It ends with {start}")))
    (rest,) = withheld.rest()
    texts = [it.content.text for it in (seen, rest)]  # type: ignore[union-attr]
    assert texts == ["It ends with ", start]
    assert withheld.rest() == ()
