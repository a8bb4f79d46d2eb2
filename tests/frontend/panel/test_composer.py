"""The panel's prompt field: mentions are completed and resolved, errors come back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.core.snapshot import TurnStart
from acp_notebook.frontend.magics.shell_context import shell_context
from acp_notebook.frontend.panel import composer
from acp_notebook.notebook import main_thread_jobs
from tests.frontend.panel.test_session_panel import LIMIT_S, PNG, Stage, stage
from tests.waiting import wait_until

__all__ = ["stage"]


@pytest.fixture(autouse=True)
def patience() -> None:
    timeouts.replace(completion=LIMIT_S)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A shell like the kernel's."""
    made: Any = InteractiveShell(user_ns={})  # type: ignore[no-untyped-call]
    monkeypatch.setattr(composer, "current_shell_context", lambda: shell_context(made))
    yield made
    made.history_manager.end_session()


def prompts(stage: Stage) -> list[TurnStart]:
    return [it for it in stage.session.transcript.items if isinstance(it, TurnStart)]


def offered(stage: Stage, fragment: str) -> list[tuple[str, str]]:
    rid = f"{fragment}-{len(stage.all('offered'))}"
    stage.say(t="complete", rid=rid, fragment=fragment, view="v")
    answer = stage.until("offered", lambda it: it["rid"] == rid)
    assert (answer["view"], answer["fragment"]) == ("v", fragment)
    return [(it["text"], it["about"]) for it in answer["offered"]]


def test_mentioned_objects_are_attached(stage: Stage, shell: Any, tmp_path: Path) -> None:
    stage.hello()
    shell.run_cell("answer = [41, 42]", store_history=True)
    shell.run_cell("1 / 0", store_history=True)
    stage.say(
        t="prompt",
        text="see @answer, @cell:1 and @error",
        images=[{"data": PNG, "mime_type": "image/png"}],
    )
    stage.until("patches", lambda it: "end_turn" in str(it))
    text, answer, cell, error, image = prompts(stage)[0].prompt
    assert text == acp.Text("see @answer, @cell:1 and @error")
    assert "41" in str(answer) and "answer = [41, 42]" in str(cell) and "ZeroDivisionError" in str(error)
    assert image == acp.Image(PNG, "image/png")


def test_a_file_is_attached_as_from_python(stage: Stage, shell: Any, tmp_path: Path) -> None:
    path = tmp_path / "etl.py"
    path.write_text("x = 1\n")
    stage.hello()
    shell.run_cell("from pathlib import Path; where = Path(" + repr(str(path)) + ")", store_history=True)
    stage.say(t="prompt", text=f'see @"{path}" and @where')
    stage.until("patches", lambda it: "end_turn" in str(it))
    _, file, variable = prompts(stage)[0].prompt
    assert file == acp.Resource(path.as_uri(), text="x = 1\n", mime_type="text/x-python")
    assert variable == file


def test_a_button_sends_quoted_text_of_which_only_the_named_variables_are_attached(
    stage: Stage, shell: Any, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the key")
    stage.hello()
    shell.run_cell("answer = [41, 42]; other = 7", store_history=True)
    text = f'Explain. <!-- @"{secret}" --> @other\nVariables in it: @answer'
    stage.say(t="prompt", text=text, mentions=["answer"])
    stage.say(t="prompt", text=text, mentions=[])
    stage.until("patches", lambda it: len(prompts(stage)) == 2)
    first, second = (it.prompt for it in prompts(stage))
    assert first[0] == acp.Text(text)
    assert len(first) == 2 and "41" in str(first[1])
    assert second == (acp.Text(text),)


def test_an_unknown_name_sends_nothing_and_returns_the_text(stage: Stage, shell: Any) -> None:
    stage.hello()
    shell.user_ns["frame"] = 1
    stage.say(t="prompt", text="what is @frane?")
    refusal = stage.until("refused")
    assert refusal["prompt"] == "what is @frane?"
    assert "no such variable or file; did you mean @frame?" in refusal["what"]
    assert prompts(stage) == []


def test_prompts_keep_their_order_even_if_one_is_slow_to_describe(stage: Stage, shell: Any) -> None:
    go = threading.Event()

    class Slow:
        def __repr__(self) -> str:
            go.wait(LIMIT_S)
            return "slow"

    stage.hello()
    shell.user_ns["slow"] = Slow()
    stage.say(t="prompt", text="first @slow")
    stage.say(t="prompt", text="second")
    assert offered(stage, "@slo") == [("@slow", "Slow")]
    assert prompts(stage) == []
    go.set()
    wait_until(lambda: len(prompts(stage)) == 2, "both run", LIMIT_S)
    assert [it.text for it in prompts(stage)] == ["first @slow", "second"]


def test_an_object_that_is_never_described_becomes_a_note(stage: Stage, shell: Any) -> None:
    go = threading.Event()

    class Stuck:
        def __repr__(self) -> str:
            go.wait(LIMIT_S)
            return "at last"

        def __dir__(self) -> list[str]:
            go.wait(LIMIT_S)
            return []

    timeouts.replace(describe=0.05, completion=0.05)
    stage.hello()
    shell.user_ns["stuck"] = Stuck()
    assert offered(stage, "@stuck.") == []
    stage.say(t="prompt", text="see @stuck")
    assert "took longer than" in stage.until("refused")["what"]
    stage.say(t="prompt", text="go on")
    wait_until(lambda: [it.text for it in prompts(stage)] == ["go on"], "the next one runs", LIMIT_S)
    go.set()


class Free:
    """Simulates the kernel's main thread: collects its jobs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.waiting: Queue[Callable[[], None]] = Queue()
        monkeypatch.setattr(composer, "run_when_free", self.add)

    def add(self, function: Callable[[], Any]) -> Future[Any]:
        job = main_thread_jobs.MainThreadJob(function)
        self.waiting.put(lambda: main_thread_jobs._run(job))
        return job.done


def test_only_objects_are_described_on_the_main_thread(
    stage: Stage, shell: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A frame must not be read while a cell changes it; a page's cells and files can be, at any time."""
    threads: list[Any] = []

    class Seen:
        def __repr__(self) -> str:
            threads.append(threading.current_thread())
            return "seen"

    free = Free(monkeypatch)
    shell.run_cell("number = 1", store_history=True)
    shell.user_ns["seen"] = Seen()
    (tmp_path / "etl.py").touch()
    monkeypatch.setattr(stage.session._conversation.state, "cwd", str(tmp_path))
    stage.hello()
    stage.say(t="prompt", text="read @etl.py and @cell:1")
    wait_until(lambda: len(prompts(stage)) == 1, "it runs", LIMIT_S)
    stage.say(t="prompt", text="see @seen, @cell:1 and @number.real")
    free.waiting.get(timeout=LIMIT_S)()
    wait_until(lambda: len(prompts(stage)) == 2, "it runs", LIMIT_S)
    assert threads == [threading.main_thread()]
    _, seen, cell, number = prompts(stage)[1].prompt
    assert "seen" in str(seen) and "number = 1" in str(cell) and "1" in str(number)


def test_an_object_is_not_described_while_a_cell_runs(
    stage: Stage, shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = Free(monkeypatch)
    timeouts.replace(cell_end=0.05)
    stage.hello()
    shell.user_ns["answer"] = 42
    stage.say(t="prompt", text="see @answer")
    refusal = stage.until("refused")
    assert refusal["prompt"] == "see @answer" and "while a cell runs" in refusal["what"]
    free.waiting.get(timeout=LIMIT_S)()
    stage.say(t="prompt", text="go on")
    wait_until(lambda: [it.text for it in prompts(stage)] == ["go on"], "the next one runs", LIMIT_S)


def test_an_interrupted_description_returns_the_text(
    stage: Stage, shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted:
        def __repr__(self) -> str:
            raise KeyboardInterrupt

    free = Free(monkeypatch)
    stage.hello()
    shell.user_ns["stopped"] = Interrupted()
    stage.say(t="prompt", text="see @stopped")
    with pytest.raises(KeyboardInterrupt):
        free.waiting.get(timeout=LIMIT_S)()
    refusal = stage.until("refused")
    assert refusal["prompt"] == "see @stopped" and "interrupted" in refusal["what"]


def test_names_are_offered_with_a_description(stage: Stage, shell: Any) -> None:
    stage.hello()
    shell.run_cell("number = 1", store_history=True)
    shell.run_cell("text = 'a'\nmore = 2", store_history=True)
    assert ("@number", "int") in offered(stage, "@n")
    assert offered(stage, "@cell:") == [
        ("@cell:last", "text = 'a'"),
        ("@cell:2", "text = 'a'"),
        ("@cell:1", "number = 1"),
    ]
    assert ("@text.upper", "of str") in offered(stage, "@text.up")
    assert offered(stage, "@err") == [("@error", "the last error")]
    assert len(offered(stage, "@text.")) <= composer.MAX_COMPLETIONS


def test_files_of_the_sessions_folder_are_offered_without_a_shell(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "etl.py").touch()
    (tmp_path / "lib").mkdir()
    monkeypatch.setattr(stage.session._conversation.state, "cwd", str(tmp_path))
    stage.hello()
    assert offered(stage, "@etl") == [("@etl.py", "file")]
    assert offered(stage, "@l") == [("@lib/", "folder")]
    stage.say(t="prompt", text="read @etl.py")
    stage.until("patches", lambda it: "end_turn" in str(it))
    assert isinstance(prompts(stage)[0].prompt[1], acp.Resource)


def test_an_edited_queued_prompt_attaches_its_new_mentions(stage: Stage, shell: Any) -> None:
    stage.hello()
    shell.user_ns["answer"] = [41, 42]
    stage.say(t="prompt", text="/ask")
    stage.until("patches", lambda it: "'type': 'question'" in str(it))
    stage.say(t="prompt", text="later")
    [waiting] = stage.until("now", lambda it: [each["text"] for each in it["queue"]] == ["later"])["queue"]
    stage.say(t="edit", turn=waiting["turn"], text="see @nothing_at_all")
    assert "no such variable" in stage.until("refused")["what"]
    stage.say(t="edit", turn=waiting["turn"], text="see @answer")
    stage.until("now", lambda it: "see @answer" in str(it["queue"]))
    stage.say(t="cancel")
    wait_until(lambda: len(prompts(stage)) == 2, "it runs", LIMIT_S)
    assert prompts(stage)[1].text == "see @answer" and "41" in str(prompts(stage)[1].prompt[1])
