"""The policy of a run: what is inside its copy is allowed, what is not known to be is rejected."""

from __future__ import annotations

import pytest

from acp_notebook.core.actions import (
    Action,
    Command,
    Details,
    Fetch,
    FileAccess,
    McpCall,
    Other,
    RunCode,
    Write,
)
from acp_notebook.core.fan_out.in_copy import checked_permissions, inside, policy_of_run
from acp_notebook.core.policy import PermissionRequest
from acp_notebook.core.snapshot import ToolCall

TOP = "/tmp/acp-run-1/project"


def said(*actions: Action, kind: str = "edit", permissions: object = "allow-in-copy") -> str:
    tool = ToolCall("k1", "t1", id="c1", title="x", kind=kind, status="pending")
    policy = policy_of_run(checked_permissions(permissions), TOP, ["/data"])
    answer = policy(PermissionRequest(tool, (), actions))
    assert isinstance(answer, str)
    return answer


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        (Write(f"{TOP}/a.py"), "edit"),
        (Command("make", TOP), "execute"),
        (Command("make", f"{TOP}/below"), "execute"),
        (FileAccess("delete", f"{TOP}/a.py"), "delete"),
        (FileAccess("read", "/data/x.csv"), "read"),
        (Other("search", "{}", (f"{TOP}/a",)), "search"),
        (Other("think", "{}"), "think"),
    ],
)
def test_what_is_inside_is_allowed(action: Action, kind: str) -> None:
    assert said(action, kind=kind) == "allow"


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        (Write("/home/user/a.py"), "edit"),
        (Write(f"{TOP}/link.py", "/home/user/a.py"), "edit"),
        (Write(f"{TOP}-other/a.py"), "edit"),
        (Write(f"{TOP}/../a.py"), "edit"),
        (Write("a.py"), "edit"),
        (Write("/data/x.csv"), "edit"),
        (Command("make", "/home/user"), "execute"),
        (Command("make", "/tmp/acp-run-1"), "execute"),
        (FileAccess("read", "/etc/passwd"), "read"),
        (FileAccess("move", "/data/x.csv"), "move"),
        (Other("edit", "{}", (f"{TOP}/a", "/etc/passwd")), "edit"),
        (Other("execute", "{}"), "execute"),
        (Other("other", "{}"), "other"),
        (Fetch("https://example.org"), "fetch"),
        (McpCall("server", "tool", True), "other"),
        (RunCode("1 + 1"), "execute"),
    ],
)
def test_what_is_not_known_to_be_inside_is_rejected(action: Action, kind: str) -> None:
    assert said(action, kind=kind) == "reject"


def test_one_path_outside_rejects_the_whole_call() -> None:
    assert said(Write(f"{TOP}/a.py"), Details("{}", ("/etc/passwd",))) == "reject"
    assert said(Write(f"{TOP}/a.py"), Write("/etc/passwd")) == "reject"


def test_a_false_name_of_a_command_does_not_help() -> None:
    assert said(kind="execute") == "reject"
    assert said(Other("execute", "{}"), kind="read") == "reject"


def test_a_mapping_replaces_the_answer_for_its_kinds() -> None:
    assert said(Fetch("https://example.org"), kind="fetch", permissions={"fetch": "allow"}) == "allow"
    assert said(Write("/etc/passwd"), permissions={"fetch": "allow"}) == "reject"
    assert said(Write(f"{TOP}/a.py"), permissions={"edit": "reject"}) == "reject"
    assert said(Write("/etc/passwd"), kind="fetch", permissions={"fetch": "allow"}) == "reject"


@pytest.mark.parametrize("given", ["ask", {"edit": "ask"}, {"editing": "allow"}, len, None])
def test_nobody_can_be_asked(given: object) -> None:
    with pytest.raises(ValueError, match="nobody is asked"):
        checked_permissions(given)


def test_the_root_folder_contains_everything() -> None:
    assert inside("/", "/a") and inside("/a", "/a") and not inside("/a", "/ab")
