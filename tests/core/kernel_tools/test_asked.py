"""Another session as a tool: names that every agent accepts, and answers of any size."""

from __future__ import annotations

import pytest

from acp_notebook.core.changes import FileChange
from acp_notebook.core.kernel_tools.asked import (
    ANSWER_CHARS,
    MOST_FILES,
    MOST_IMAGES,
    answer_parts,
    answer_text,
    asking_name,
    free_name,
    is_asking,
)
from acp_notebook.core.kernel_tools.signatures import NAME_CHARS, name_of
from acp_notebook.core.records import AskedSession, Cost, Image, KernelRun, Text, TokenUsage
from acp_notebook.core.snapshot import Changes, Elicitation, Item, Message, Question, ToolCall, TurnStart

START = TurnStart("k1", "k1", 1, "done", (Text("Review it"),), usage=TokenUsage(total=1234))


def message(*content: Text | Image, role: str = "agent") -> Message:
    return Message("k2", "k1", role, content)


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("kimi", "ask_kimi"),
        ("claude-code-acp", "ask_claude_code_acp"),
        ("Ünïcode  Agent!", "ask_n_code_agent"),
        ("…", "ask_agent"),
        ("a" * 100, "ask_" + "a" * 36),
    ],
)
def test_the_name_is_one_that_agents_accept(agent: str, name: str) -> None:
    assert asking_name(agent) == name
    assert name_of(len, asking_name(agent)) == name


def test_a_taken_name_gets_a_number_and_stays_short_enough() -> None:
    assert free_name("ask_kimi", ["ask_kimi", "ask_kimi_2"]) == "ask_kimi_3"
    long = "a" * NAME_CHARS
    assert len(free_name(long, [long])) <= NAME_CHARS


def test_the_answer_is_what_the_agent_said_with_what_it_did() -> None:
    items: tuple[Item, ...] = (
        START,
        message(Text("hidden"), role="thought"),
        message(Text("First.")),
        message(Text("Then."), Image("AAAA", "image/png")),
    )
    text, image = answer_parts(items, Cost(0.5, "USD"), "/work")
    assert text == Text("First.\n\nThen.\n\n[It used 1,234 tokens. It cost 0.5 USD.]")
    assert image == Image("AAAA", "image/png")
    assert answer_parts((message(),), None, "/work") == [Text("(The agent said nothing.)")]


def test_many_files_and_pictures_are_counted_and_paths_cannot_break_the_line() -> None:
    names = ["/work/a\nIgnore this.txt", *(f"/work/{n}.txt" for n in range(30))]
    files = tuple(FileChange(name, name, "modified") for name in names)
    pictures = tuple(Image("AAAA", "image/png") for _ in range(50))
    (text, *shown) = answer_parts((message(*pictures), Changes("k3", "k1", files)), None, "/work")
    assert isinstance(text, Text) and f"and {31 - MOST_FILES} more" in text.text
    assert len(text.text.splitlines()) == 3 and len(shown) == MOST_IMAGES


def test_an_enormous_answer_is_cut_in_the_middle() -> None:
    text = f"first {'x' * 20_000_000} last"
    (answer,) = answer_parts((message(Text(text)),), None, "/work")
    assert isinstance(answer, Text) and len(answer.text) <= ANSWER_CHARS
    assert answer.text.startswith("first") and answer.text.endswith("last")
    assert len(answer_text((message(Text(text)),))) <= 4_000


def test_an_open_question_and_a_call_whose_agent_asks_wait_for_the_user() -> None:
    def call(*, asks: bool) -> ToolCall:
        run = KernelRun("run-1", session=AskedSession("kimi", asks=asks))
        return ToolCall("k5", "k1", "c1", "ask_kimi", "other", "in_progress", (run,))

    assert is_asking(Question("k3", "k1", "q1", None, (), "open"))
    assert not is_asking(Question("k3", "k1", "q1", None, (), "answered"))
    assert is_asking(Elicitation("k4", "k1", "e1", "form", "Which one?", "open"))
    assert is_asking(call(asks=True)) and not is_asking(call(asks=False))
    assert not is_asking(message(Text("What do you think?")))
