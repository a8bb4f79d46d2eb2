"""A front end without a page (jupyter console): questions and turns are text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notebook.kernels import Front, kernel_python, started
from tests.patience import code_to_replace

CTRL_D = "\x04"
"""What a front end sends when the user ends the input."""

SOON = code_to_replace(text_question=0.1)
CONNECT = """
import acp_notebook as acp
session = acp.connect("demo", cwd={cwd!r})
"""


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Front]:
    folder = tmp_path / "kernel"
    folder.mkdir()
    with started(kernel_python("newest"), folder) as front:
        result = front.run(SOON + CONNECT.format(cwd=str(tmp_path)), allow_stdin=True)
        assert result.content["status"] == "ok", result.content
        yield front
        if not front.lost:
            front.run("session.close()")


def test_the_user_answers_by_a_number_and_reads_the_turn(console: Front, tmp_path: Path) -> None:
    asked = console.begin("turn = session.prompt('/edit a.txt hello')", allow_stdin=True)
    assert console.answer("1") == "Your answer (1, 2, 3, 4, 5): "
    result = console.result(asked)
    assert result.content["status"] == "ok"
    assert "The agent asks for permission: Edit a.txt" in result.text
    assert "New file: a.txt" in result.text and "+hello" in result.text, "all that an allow covers"
    assert (tmp_path / "a.txt").read_text() == "hello\n"
    shown = [it["content"]["data"] for it in result.messages if it["msg_type"] == "display_data"]
    assert "Wrote `a.txt`." in shown[-1]["text/plain"]


def test_a_question_of_a_session_that_another_one_asks_says_whose_it_is(
    console: Front, tmp_path: Path
) -> None:
    console.run(
        "writer = acp.connect('demo', tools=True, permissions='allow')\n"
        "writer.tool(session, name='reviewer');",
        allow_stdin=True,
    )
    asked = console.begin("turn = writer.prompt('/delegate reviewer /edit a.txt hello')", allow_stdin=True)
    console.answer("1")
    result = console.result(asked)
    assert "demo (reviewer) asks, for demo, for permission: Edit a.txt" in result.text
    assert (tmp_path / "a.txt").read_text() == "hello\n"
    console.run("writer.close()")


@pytest.mark.parametrize("said", ["", "9", "yes"])
def test_an_invalid_answer_rejects(console: Front, tmp_path: Path, said: str) -> None:
    asked = console.begin("turn = session.prompt('/edit a.txt hello')", allow_stdin=True)
    console.answer(said)
    result = console.result(asked)
    assert "Not one of the answers: rejected." in result.text
    assert not (tmp_path / "a.txt").exists()


def test_ctrl_d_rejects_a_question_and_cancels_a_form(console: Front, tmp_path: Path) -> None:
    asked = console.begin("turn = session.prompt('/edit a.txt hello')", allow_stdin=True)
    console.answer(CTRL_D)
    assert "No answer: rejected." in console.result(asked).text
    assert not (tmp_path / "a.txt").exists()
    asked = console.begin("turn = session.prompt('/form')", allow_stdin=True)
    console.answer(CTRL_D)
    console.result(asked)
    after = console.run("print(turn.stop_reason, turn.text)", allow_stdin=True)
    assert after.text.split() == ["cancelled"]


def test_the_stop_button_works_at_the_question(console: Front, tmp_path: Path) -> None:
    asked = console.begin("turn = session.prompt('/edit a.txt hello')", allow_stdin=True)
    console.asked()
    console.interrupt()
    result = console.result(asked)
    assert result.content["ename"] == "KeyboardInterrupt"
    assert not (tmp_path / "a.txt").exists()
    after = console.run("print(session.prompt('hello').stop_reason)", allow_stdin=True)
    assert after.text.strip() == "end_turn"


def test_a_form_is_filled_in_as_text(console: Front) -> None:
    asked = console.begin("turn = session.prompt('/form choice')", allow_stdin=True)
    assert console.answer("y") == "Answer it? (y: yes, n: decline, c: cancel): "
    assert console.answer("9") == "Colour (a number, optional): "
    assert console.answer("2") == "Colour (a number, optional): "  # asked again: that was not an answer
    assert console.answer("") == "Other (optional): "
    result = console.result(asked)
    assert "The agent asks: I need a few things from you." in result.text
    assert "one of red, green, blue" in result.text
    after = console.run("print(turn.text)", allow_stdin=True)
    assert '{"colour":"green"}' in after.text


def test_a_form_is_declined_as_text(console: Front) -> None:
    asked = console.begin("turn = session.prompt('/form')", allow_stdin=True)
    console.answer("n")
    console.result(asked)
    assert "You answered decline." in console.run("print(turn.text)", allow_stdin=True).text
