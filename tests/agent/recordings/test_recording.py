"""A recording holds every message and no secret; an unreadable one names the line."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acp_notebook as acp
from acp_notebook.agent.recordings import recording
from acp_notebook.agent.recordings.recording import Entry, Recorder, load
from acp_notebook.core.redaction import REDACTED, Redactor
from acp_notebook.wire import jsonrpc
from tests.schema import validate_all

SECRET = 'sk-"ünique"\\\n42'
"""With everything that JSON escapes."""


def recorder(path: Path, **env: str) -> Recorder:
    return Recorder(path, agent="an agent", redactor=Redactor(env))


def line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


# ---- every message ------------------------------------------------------------------------------


def test_every_message_is_recorded_both_ways_in_order(tmp_path: Path) -> None:
    tap = recorder(tmp_path / "r")
    tap.sent(line({"id": 1, "method": "a"}))
    tap.received(line({"id": 1, "result": 1}) + line({"method": "b"}))
    tap.sent(line({"method": "c"}))
    tap.close()
    assert [(it.direction, it.message) for it in load(tmp_path / "r")] == [
        ("c2a", {"id": 1, "method": "a"}),
        ("a2c", {"id": 1, "result": 1}),
        ("a2c", {"method": "b"}),
        ("c2a", {"method": "c"}),
    ]
    first = json.loads((tmp_path / "r").read_text().splitlines()[0])
    assert first.items() >= {"acp_recording": recording.FORMAT, "agent": "an agent"}.items()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(max_size=10), max_size=5), st.lists(st.integers(0, 200), max_size=5))
def test_bytes_split_anywhere_are_the_same_messages(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], cuts: list[int]
) -> None:
    path = tmp_path_factory.mktemp("pieces") / "r"
    tap, stream = recorder(path), b"".join(line({"text": text}) for text in texts)
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), None], strict=True):
        tap.received(stream[start:end])
    tap.close()
    assert [entry.message for entry in load(path)] == [{"text": text} for text in texts]


def test_texts_with_unicode_line_ends_are_read_back(tmp_path: Path) -> None:
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\rh"
    tap = recorder(tmp_path / "r")
    tap.sent(json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n")
    tap.close()
    assert [entry.message for entry in load(tmp_path / "r")] == [{"text": text}]


def test_a_line_that_is_not_a_message_is_kept(tmp_path: Path) -> None:
    tap = recorder(tmp_path / "r")
    tap.received(b"log: hello\n\n  \n\xff{\n")
    tap.close()
    assert [(it.message, it.line) for it in load(tmp_path / "r")] == [(None, "log: hello"), (None, "\ufffd{")]


def test_an_incomplete_last_line_is_not_joined_with_the_next_agents(tmp_path: Path) -> None:
    tap = recorder(tmp_path / "r")
    tap.received(b'{"half":')
    tap.ended(None, ())
    tap.received(line({"method": "whole"}))
    tap.ended(None, ())
    tap.close()
    assert [it.line or it.message for it in load(tmp_path / "r")] == ['{"half":', {"method": "whole"}]


def test_an_endless_line_is_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonrpc, "MAX_LINE", 10)
    tap = recorder(tmp_path / "r")
    for _ in range(3):
        tap.received(b"12345678")
    tap.ended(None, ())
    tap.close()
    assert "".join(str(it.line or it.message) for it in load(tmp_path / "r")) == "12345678" * 3


@pytest.mark.parametrize("number", ["NaN", "1e999", "9" * 30, "9" * 5000])
def test_odd_numbers_do_not_stop_a_recording(tmp_path: Path, number: str) -> None:
    tap = recorder(tmp_path / "r")
    tap.received(f'{{"x": {number}, "y": 1}}\n'.encode())
    tap.close()
    (entry,) = load(tmp_path / "r")
    assert entry.message["y"] == 1


def test_nothing_is_written_after_the_end(tmp_path: Path) -> None:
    tap = recorder(tmp_path / "r")
    tap.close()
    tap.sent(line({"method": "late"}))
    tap.close()
    assert load(tmp_path / "r") == []


def test_an_unwritable_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(acp.RecordingError, match="no/such"):
        recorder(tmp_path / "no" / "such")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_at_the_start_is_an_error() -> None:
    with pytest.raises(acp.RecordingError, match="No space"):
        recorder(Path("/dev/full"))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_disk_that_fills_up_ends_only_the_recording(tmp_path: Path) -> None:
    tap = recorder(tmp_path / "r")
    with open("/dev/full", "wb") as full:
        os.dup2(full.fileno(), tap._file.fileno())
    with pytest.warns(UserWarning, match="No space"):
        tap.sent(line({"method": "a"}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tap.received(line({"method": "b"}))
    tap.close()


# ---- no secret ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        {"params": {"text": SECRET}},
        {"params": {"text": f"the key is {SECRET}, twice: {SECRET}"}},
        {"params": {SECRET: 1}},
        {"params": [[{"deep": [SECRET]}]]},
        {"params": {"text": json.dumps({"key": SECRET})}},
        {"params": {"text": json.dumps({"key": SECRET}, ensure_ascii=False)}},
        {"params": {"env": [{"name": SECRET, "value": "x"}]}},
        {"params": {"headers": {SECRET: "x"}}},
    ],
)
@pytest.mark.parametrize("how", ["sent", "received", "as a line"])
def test_a_recording_contains_no_value_of_env(tmp_path: Path, message: Any, how: str) -> None:
    tap = recorder(tmp_path / "r", KEY=SECRET)
    if how == "sent":
        tap.sent(line(message))
    else:
        tap.received((b"" if how == "received" else b"log: ") + line(message))
    tap.close()
    text = (tmp_path / "r").read_text()
    assert REDACTED in text
    assert "nique" not in text
    assert "42" not in text


def test_the_recorded_command_contains_no_secret(tmp_path: Path) -> None:
    Recorder(tmp_path / "r", agent=f"run --key={SECRET}", redactor=Redactor({"A_KEY": SECRET})).close()
    assert "nique" not in (tmp_path / "r").read_text()


def test_a_secret_inside_another_one_leaves_no_rest() -> None:
    redactor = Redactor({"A_KEY": "abcd", "B_KEY": "abcd-efgh"})
    assert redactor.text("abcd-efgh abcd") == f"{REDACTED} {REDACTED}"


@pytest.mark.parametrize("value", ["", "1", "yes", "true", "False", "NONE"])
def test_values_that_are_not_secret_stay(value: str) -> None:
    assert Redactor({"A_KEY": value}).text(f"it is {value}!") == f"it is {value}!"


@pytest.mark.parametrize(
    ("given", "cleaned"),
    [
        ({"apiKey": "x"}, {"apiKey": REDACTED}),
        ({"api_key": "x", "API-KEY": "y"}, {"api_key": REDACTED, "API-KEY": REDACTED}),
        ({"Authorization": "Bearer x"}, {"Authorization": REDACTED}),
        ({"_meta": {"accessToken": "x"}}, {"_meta": {"accessToken": REDACTED}}),
        ({"password": "x", "user": "u"}, {"password": REDACTED, "user": "u"}),
        ({"env": [{"name": "A", "value": "x"}]}, {"env": [{"name": "A", "value": REDACTED}]}),
        ({"headers": [{"name": "A", "value": "x"}]}, {"headers": [{"name": "A", "value": REDACTED}]}),
        ({"env": {"A": "x", "B": "y"}}, {"env": {"A": REDACTED, "B": REDACTED}}),
        ({"env": ["A=x"]}, {"env": [REDACTED]}),
        ({"inputTokens": 5, "cookie": None}, {"inputTokens": 5, "cookie": None}),
        ({"env": "production"}, {"env": "production"}),
        (
            {"options": [{"value": "m1", "name": "One"}], "configId": "model", "value": "m1"},
            {"options": [{"value": "m1", "name": "One"}], "configId": "model", "value": "m1"},
        ),
    ],
)
def test_only_fields_for_credentials_are_emptied(given: Any, cleaned: Any) -> None:
    assert Redactor().clean({"params": given}) == {"params": cleaned}


def test_the_environment_of_an_agent_is_not_in_its_recording(tmp_path: Path) -> None:
    path, token = tmp_path / "r", "very-secret-4711"
    with acp.connect("demo", cwd=tmp_path, env={"KEY": token}, record=path) as session:
        session.prompt(f"say this back: {token}")
        assert token not in session.to_text()
        assert "[redacted]" in session.to_text()
    text = path.read_text()
    assert token not in text
    assert REDACTED in text


# ---- whole connections ---------------------------------------------------------------------------


def test_the_clients_messages_to_the_demo_agent_are_valid(tmp_path: Path) -> None:
    with acp.connect("demo", cwd=tmp_path, permissions="allow", record=tmp_path / "r") as session:
        session.prompt("hello")
    assert validate_all(load(tmp_path / "r"), "c2a")[:3] == ["initialize", "session/new", "session/prompt"]


# ---- reading -------------------------------------------------------------------------------------


def written(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines))
    return path


def test_a_recording_without_a_first_line_is_read(tmp_path: Path) -> None:
    path = written(
        tmp_path / "r", '{"dir": "a2c", "msg": {"x": 1}}', "", '{"t": 2, "dir": "a2c", "line": "l"}'
    )
    assert load(path) == [Entry("a2c", {"x": 1}), Entry("a2c", None, 2.0, "l")]


@pytest.mark.parametrize("t", ['"soon"', "null", "[]", "true"])
def test_an_invalid_time_does_not_matter(tmp_path: Path, t: str) -> None:
    (entry,) = load(written(tmp_path / "r", f'{{"t": {t}, "dir": "a2c", "msg": 1}}'))
    assert entry.message == 1


def test_notes_are_ignored_in_a_replay(tmp_path: Path) -> None:
    notes = ('{"dir": "note", "what": "x"}', '{"dir": "stderr", "text": "y"}')
    assert load(written(tmp_path / "r", *notes)) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"acp_recording": 2}', "format 2; this reads format 1"),
        ('{"dir": "a2c", "msg": ', "line 2: not JSON"),
        ("[" * 100_000, "line 2: not JSON"),
        ("5", "line 2: not a line of a recording"),
        ('{"msg": {}}', "line 2: not a line of a recording"),
        ('{"dir": 5}', "line 2: not a line of a recording"),
    ],
    ids=lambda it: it[:20],
)
def test_an_unreadable_recording_is_an_error_with_its_line(tmp_path: Path, text: str, why: str) -> None:
    path = written(tmp_path / "r", '{"dir": "note"}', text)
    with pytest.raises(acp.RecordingError, match=why):
        load(path)


@pytest.mark.parametrize("what", ["missing", "folder", "bytes"])
def test_an_unreadable_file_is_an_error_that_names_it(tmp_path: Path, what: str) -> None:
    path = tmp_path / "r"
    if what == "folder":
        path.mkdir()
    elif what == "bytes":
        path.write_bytes(b"\xff\xfe")
    with pytest.raises(acp.RecordingError, match="recording"):
        acp.connect(cassette=path)


def test_an_env_value_that_is_a_protocol_word_keeps_messages_intact() -> None:
    redactor = Redactor({"MODE_KEY": "text"})
    assert redactor.clean({"type": "text", "text": "plain text"}) == {
        "type": "text",
        "text": f"plain {REDACTED}",
    }
