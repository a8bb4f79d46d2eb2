"""Secrets are found whole, in parts and in their escaped forms; what is no secret stays."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core import events as ev
from acp_notebook.core.records import Location, Text
from acp_notebook.core.redaction import REDACTED, Redactor, Stream
from acp_notebook.core.transcript import Transcript
from acp_notebook.core.withholding import Withheld

SECRET = "sk-Ab12345"


@pytest.mark.parametrize(
    ("secrets", "text", "shown"),
    [
        (["abc"], "xabcx", f"x{REDACTED}x"),
        ([re.compile(r"\d{4}-\d{4}")], "card 1234-5678.", f"card {REDACTED}."),
        (['a"b\n'], r"{\"k\": \"a\\\"b\\n\"}", rf"{{\"k\": \"{REDACTED}\"}}"),
    ],
)
def test_the_users_own_secrets_are_taken_out(
    secrets: list[str | re.Pattern[str]], text: str, shown: str
) -> None:
    assert Redactor(secrets=secrets).text(text) == shown


def test_a_secret_word_is_left_inside_of_other_words() -> None:
    assert Redactor({"CAPS_KEY": "load"}).text("loaded, load") == f"loaded, {REDACTED}"


def test_what_is_learnt_later_is_taken_out_too() -> None:
    redactor = Redactor()
    assert redactor.idle
    redactor.learn(["x", "hunter2!"])
    assert redactor.text("x hunter2!") == f"x {REDACTED}"


@given(st.data())
def test_a_secret_in_any_number_of_pieces_is_never_shown(data: st.DataObject) -> None:
    text = data.draw(st.lists(st.sampled_from([SECRET, "s", "sk-", "sk-Ab", "5", " "])).map("".join))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    redactor = Redactor({"A": SECRET})
    stream = Stream(redactor)
    edges = [0, *cuts, len(text)]
    shown = [stream.feed(text[a:b]) for a, b in pairwise(edges)] + [stream.rest()]
    assert "".join(shown) == redactor.text(text)


def test_chunks_of_a_message_and_of_a_terminal_hide_what_they_share() -> None:
    transcript, withheld = Transcript(), Withheld(Redactor({"A": SECRET}))

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


def test_ids_and_values_stay_what_they_are() -> None:
    withheld = Withheld(Redactor({"A_KEY": "call_1"}))
    (event,) = withheld.see(ev.ToolChanged("call_1", title="call_1", status="completed"))
    assert event == ev.ToolChanged("call_1", title=REDACTED, status="completed")


def test_without_secrets_nothing_is_touched() -> None:
    event = ev.MessageChunk("agent", Text("s"))
    assert Withheld(Redactor()).see(event) == (event,)
