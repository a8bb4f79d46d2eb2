"""A secret split over several chunks is redacted; everything else is recorded in order."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.agent.recordings.split_secrets import MOST_HELD, SplitSecrets
from acp_notebook.core.redaction import Redactor

SECRET = "sk-Ab12345"


def chunk(text: str, session: str = "s", kind: str = "agent_message_chunk") -> dict[str, Any]:
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
    return {
        "dir": "a2c",
        "msg": {"method": "session/update", "params": {"sessionId": session, "update": update}},
    }


USAGE = {"dir": "a2c", "msg": {"params": {"update": {"sessionUpdate": "usage_update", "used": 1}}}}
ANSWER = {"dir": "a2c", "msg": {"id": 1, "result": {}}}


def recorded(*entries: dict[str, Any]) -> list[dict[str, Any]]:
    redactor = Redactor({"A_KEY": SECRET})
    split = SplitSecrets(redactor)
    cleaned = ({**it, "msg": redactor.clean(it["msg"])} for it in copy.deepcopy(entries))
    return [it for entry in cleaned for it in split.put(entry)] + split.rest()


def texts(entries: list[dict[str, Any]]) -> list[str]:
    return [it["msg"]["params"]["update"]["content"]["text"] for it in entries if "method" in it["msg"]]


def test_only_updates_that_are_aside_do_not_end_a_message() -> None:
    found = recorded(chunk("it is sk-"), USAGE, chunk("Ab12345!"), chunk("sk-A"), ANSWER, chunk("b12345"))
    assert [it["msg"] for it in found if "method" not in it["msg"]] == [USAGE["msg"], ANSWER["msg"]]
    assert texts(found) == ["it is ", "[redacted]!", "sk-A", "b12345"]
    assert found.index(ANSWER) == 4


def test_sessions_and_roles_are_not_mixed_up() -> None:
    found = recorded(chunk("sk-Ab", "one"), chunk("12345", "two"), chunk("sk-", kind="agent_thought_chunk"))
    assert texts(found) == ["sk-Ab", "12345", "sk-"]


def test_nothing_is_held_back_forever() -> None:
    split = SplitSecrets(Redactor({"A_KEY": SECRET}))
    assert split.put(chunk("sk-")) == []
    written = [it for _ in range(MOST_HELD) for it in split.put(copy.deepcopy(USAGE))]
    assert texts(written) == ["sk-"]


@given(st.data())
def test_however_a_text_is_split_the_result_is_the_same(data: st.DataObject) -> None:
    text = data.draw(st.lists(st.sampled_from([SECRET, "s", "sk-", "sk-Ab", "5", " "])).map("".join))
    edges = [0, *sorted(data.draw(st.lists(st.integers(0, len(text))))), len(text)]
    found = recorded(*(chunk(text[a:b]) for a, b in pairwise(edges)))
    assert "".join(texts(found)) == Redactor({"A_KEY": SECRET}).text(text)
