from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given

from acp_notebook.core.mcp import McpServer
from acp_notebook.core.records import (
    Choice,
    ConfigOption,
    Content,
    Json,
    Location,
    Terminal,
    Text,
    UnknownContent,
    Usage,
    content_from_plain,
    plain,
)
from tests.core.strategies import contents


@given(contents)
def test_content_is_restored_from_its_plain_form(content: Content) -> None:
    assert content_from_plain(json.loads(json.dumps(plain(content)))) == content


@given(contents)
def test_the_plain_form_of_content_has_its_type_and_omits_none(content: Content) -> None:
    made = plain(content)
    assert made["type"] == content.type
    assert None not in made.values()


def test_records_are_plain_at_any_depth() -> None:
    option = ConfigOption("m", "Model", "select", "x", (Choice("x", "X"), Choice("y", "Y", group="g")))
    assert plain((option,)) == [
        {
            "id": "m",
            "name": "Model",
            "type": "select",
            "value": "x",
            "choices": [{"value": "x", "name": "X"}, {"value": "y", "name": "Y", "group": "g"}],
        }
    ]


@pytest.mark.parametrize(
    ("value", "made"),
    [
        (Text(""), {"type": "text", "text": ""}),
        (Terminal("t1"), {"type": "terminal", "terminal_id": "t1"}),
        (Location("a.py"), {"path": "a.py"}),
        (Location("a.py", 0), {"path": "a.py", "line": 0}),
        (Usage(None, None), {}),
        ((), []),
        (None, None),
        ({"x": None}, {"x": None}),
    ],
)
def test_only_none_is_left_out(value: object, made: Json) -> None:
    assert plain(value) == made


@pytest.mark.parametrize("block", [{}, {"type": "hologram", "x": 1}, {"type": None}, {"type": ["text"]}])
def test_content_of_an_unknown_type_is_kept_unchanged(block: dict[str, Json]) -> None:
    assert content_from_plain(block) == UnknownContent(block)


def test_unknown_content_can_be_nothing_at_all() -> None:
    assert content_from_plain(plain(UnknownContent(None))) == UnknownContent(None)


def test_a_field_that_a_later_version_adds_does_no_harm() -> None:
    assert content_from_plain({"type": "text", "text": "a", "colour": "red"}) == Text("a")


FIRST_USE = """
import sys, threading
from acp_notebook.core.intents import parse
from acp_notebook.core.snapshot import item_from_plain

tool = {"type": "tool", "key": "k", "turn": "t", "id": "i", "title": "t", "kind": "read", "status": "pending"}
tool |= {"content": [{"type": "text", "text": "x"}], "locations": [{"path": "a", "line": 1}]}
prompt = {"t": "prompt", "id": "p", "text": "x"}
together = threading.Barrier(8)

def read():
    together.wait()
    item_from_plain(tool)
    parse(prompt)
    done.append(1)

done = []
sys.setswitchinterval(1e-6)
threads = [threading.Thread(target=read) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(done))
"""


def test_several_threads_can_read_a_type_for_the_first_time_simultaneously() -> None:
    """msgspec 0.22 crashes then, unless the type was built before: with Python 3.12, two times in three."""
    for _ in range(6):
        run = subprocess.run([sys.executable, "-c", FIRST_USE], capture_output=True, text=True, timeout=120)
        assert (run.returncode, run.stdout.strip()) == (0, "8"), run.stderr


def test_a_guarded_record_does_not_show_what_may_be_secret() -> None:
    server = McpServer(name="build", command="serve", env={"TOKEN": "hunter2"}, headers={"key": "hunter2"})
    assert "hunter2" not in repr(server) + str(server) + str(list(server.__rich_repr__()))
    assert repr(server).startswith("McpServer(name='build', type='stdio', command='serve'")
