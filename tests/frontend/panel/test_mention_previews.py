"""What the @-names of an unsent prompt will attach, before it is sent."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.core.prompt import sent_bytes
from acp_notebook.core.records import Content
from acp_notebook.frontend.panel import mention_previews
from acp_notebook.notebook import content
from acp_notebook.notebook.content.kinds import TIMES
from tests.frontend.panel.test_composer import Free, patience, prompts, shell
from tests.frontend.panel.test_session_panel import LIMIT_S, Stage, stage
from tests.notebook.content.test_content_libraries import library

__all__ = ["patience", "shell", "stage"]


def previewed(stage: Stage, text: str) -> list[dict[str, Any]]:
    rid = f"r{len(stage.all('previewed'))}"
    stage.say(t="preview", rid=rid, text=text, view="v")
    answer = stage.until("previewed", lambda it: it["rid"] == rid)
    assert answer["view"] == "v"
    mentions: list[dict[str, Any]] = answer["mentions"]
    return mentions


def test_the_size_is_what_will_be_sent(stage: Stage, shell: Any, tmp_path: Path) -> None:
    (tmp_path / "etl.py").write_text("x = 1\n")
    stage.session._conversation.state.cwd = str(tmp_path)
    stage.hello()
    shell.run_cell("number = 1", store_history=True)
    shell.run_cell("1 / 0", store_history=True)
    shell.user_ns["df"] = library("pandas").DataFrame({"a": range(1000), "b": 0.5})
    text = "see @df, @etl.py, @cell:1 and @error, not `@df2`"
    found = previewed(stage, text)
    assert [(it["name"], it["about"], it["status"]) for it in found] == [
        ("df", f"DataFrame 1,000{TIMES}2", "found"),
        ("etl.py", "file", "found"),
        ("cell:1", "cell", "found"),
        ("error", "ZeroDivisionError", "found"),
    ]
    stage.say(t="prompt", text=text)
    stage.until("patches", lambda it: "end_turn" in str(it))
    assert [it["size"] for it in found] == [sent_bytes(it) for it in prompts(stage)[0].prompt[1:]]


def test_an_unknown_name_is_missing_before_sending(stage: Stage, shell: Any) -> None:
    stage.hello()
    shell.user_ns["frame"] = 1
    found = previewed(stage, "what is @frane, @cell:99 and @error?")
    assert [(it["name"], it["status"]) for it in found] == [
        *(("frane", "missing"), ("cell:99", "missing"), ("error", "missing"))
    ]
    assert "did you mean @frame" in found[0]["about"]
    assert previewed(stage, "nothing @ all") == []


def test_a_preview_runs_no_code_of_the_user_s_classes(stage: Stage, shell: Any) -> None:
    ran: list[str] = []

    class Mine:
        @property
        def cost(self) -> int:
            ran.append("cost")
            return 1

        def __getattr__(self, name: str) -> Any:
            ran.append(name)
            raise AttributeError(name)

        def __repr__(self) -> str:
            ran.append("repr")
            return "mine"

    stage.hello()
    shell.user_ns.update(mine=Mine(), several=[Mine()])
    found = previewed(stage, "@mine @several @mine.cost @mine.other")
    assert [(it["about"], it["size"], it["status"]) for it in found] == [
        ("Mine", None, "found"),
        ("list", None, "found"),
        ("of Mine", None, "found"),
        ("of Mine", None, "found"),
    ]
    assert ran == []


def test_a_path_and_a_file_named_like_an_attribute_are_files(
    stage: Stage, shell: Any, tmp_path: Path
) -> None:
    (tmp_path / "data.csv").write_text("a,b\n")
    (tmp_path / "large.bin").write_bytes(bytes(100_000))
    stage.session._conversation.state.cwd = str(tmp_path)
    stage.hello()
    shell.user_ns.update(data=[1], where=tmp_path / "data.csv")
    found = previewed(stage, "@data.csv @where @large.bin")
    assert [(it["about"], it["size"]) for it in found] == [
        *(("file", 4), ("file", 4), ("file, as a link", None))
    ]


def test_while_a_cell_runs_the_size_is_unknown(
    stage: Stage, shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = Free(monkeypatch)
    monkeypatch.setattr(mention_previews, "run_when_free", free.add)
    timeouts.replace(completion=0.05)
    stage.hello()
    shell.user_ns["answer"] = [42]
    assert [(it["about"], it["status"]) for it in previewed(stage, "@answer")] == [("list", "busy")]
    free.waiting.get(timeout=LIMIT_S)()
    timeouts.replace(completion=LIMIT_S)
    stage.say(t="preview", rid="later", text="@answer", view="v")
    free.waiting.get(timeout=LIMIT_S)()
    later = stage.until("previewed", lambda it: it["rid"] == "later")["mentions"]
    assert [(it["about"], it["status"]) for it in later] == [("list of 1", "found")]


def test_an_object_is_described_once_while_the_user_goes_on_writing(
    stage: Stage, shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def contents(value: Any, at: int) -> tuple[Content, ...]:
        made.append(value.name)
        return content.contents(value, at)

    monkeypatch.setattr(mention_previews, "contents", contents)
    stage.hello()
    shell.user_ns["answer"] = [42]
    for text in ("see @answer", "see @answer and", "see @answer and that"):
        previewed(stage, text)
    assert made == ["answer"]
    shell.user_ns["answer"] = [43]
    previewed(stage, "see @answer")
    timeouts.replace(preview_fresh=0.0)
    previewed(stage, "see @answer")
    assert made == ["answer"] * 3


def test_what_the_agent_does_not_take_is_noted(
    monkeypatch: pytest.MonkeyPatch, stage: Stage, shell: Any
) -> None:
    library("matplotlib")
    stage.hello()
    shell.run_cell("from matplotlib.figure import Figure; fig = Figure()", store_history=True)
    (taken,) = previewed(stage, "@fig")
    assert taken["about"] == "figure" and taken["size"] > 1000 and taken["note"] == ""
    agent = acp.connect("demo", env={"ACP_DEMO_PROMPT": "text"})
    text_only = Stage(agent)
    text_only.hello()
    (left_out,) = previewed(text_only, "@fig")
    assert "left out" in left_out["note"] and left_out["size"] < 1000
    agent.agent.close()


def test_many_names_are_answered_quickly(stage: Stage, shell: Any) -> None:
    stage.hello()
    shell.user_ns.update({f"v{at}": at for at in range(100)})
    before = time.monotonic()
    found = previewed(stage, " ".join(f"@v{at}" for at in range(100)))
    assert len(found) == mention_previews.MOST and time.monotonic() - before < LIMIT_S
