"""The golden file matches Python's transcript. UPDATE_GOLDEN=1 rewrites it; then vitest must agree."""

from __future__ import annotations

import json
import os
from typing import get_args

import pytest

from acp_notebook.core import events as ev
from tests import golden
from tests.core.strategies import reference_apply


def test_the_golden_file_is_up_to_date() -> None:
    content = golden.cases()
    if os.environ.get("UPDATE_GOLDEN"):
        golden.FILE.write_text(golden.as_text(content), encoding="utf-8")
    written = json.loads(golden.FILE.read_text(encoding="utf-8"))
    assert written == content, "run this test again with UPDATE_GOLDEN=1, and read the difference"


def test_the_golden_file_has_every_type_of_event() -> None:
    named = {type(event) for script in golden.SCRIPTS.values() for event in script}
    assert named == set(get_args(ev.Event))


@pytest.mark.parametrize("case", golden.cases()["cases"], ids=lambda case: case["name"])
def test_the_patches_lead_to_the_recorded_states(case: dict[str, list[dict[str, object]]]) -> None:
    state: object = {"session": {"key": "session"}, "items": []}
    for step in case["steps"]:
        for patch in step["patches"]:  # type: ignore[attr-defined]
            state = reference_apply(state, patch)
        assert state == step["state"]
