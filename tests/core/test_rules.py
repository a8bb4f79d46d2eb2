"""Rules: the strictest counts, a project can only tighten, an allow covers all or nothing."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core.actions import Action, Command, Details, FileAccess, McpCall, Other, Write
from acp_notebook.core.policy import STRICTNESS, Word
from acp_notebook.core.rules import Judge, Rule, Rules
from acp_notebook.core.settings import allowing, tightening

WORDS: tuple[Word, ...] = get_args(Word)

EDIT = FileAccess("edit", "/home/me/project/a.py")
SSH = FileAccess("edit", "/home/me/project/.ssh/config")
RUN = Command("git push --force", "/home/me/project")
WITH_ENV = Command("git push --force", "/home/me/project", (("GIT_SSH_COMMAND", "sh"),))

rules = st.builds(
    Rule,
    say=st.sampled_from(WORDS),
    kind=st.sampled_from([None, "edit", "execute", "read"]),
    path=st.sampled_from([None, "/home/me", "/home/me/project", "/etc"]),
    command=st.sampled_from([None, "git push --force", "git *"]),
    agent=st.sampled_from([None, "demo", "other"]),
    server=st.sampled_from([None, "search"]),
    tool=st.sampled_from([None, "query"]),
)
files = st.builds(
    Rules,
    default=st.sampled_from([None, *WORDS]),
    kinds=st.dictionaries(st.sampled_from(["edit", "execute"]), st.sampled_from(WORDS)),
    rules=st.lists(rules, max_size=4).map(tuple),
)
QUERY = McpCall("search", "query", sure=True)
acts = st.lists(
    st.sampled_from([EDIT, SSH, RUN, WITH_ENV, QUERY, Other("edit"), Command("ls -l", "/")]), max_size=3
)


@given(files, files, st.sampled_from(WORDS), acts)
def test_a_project_never_grants(own: Rules, project: Rules, said: Word, seen: list[Action]) -> None:
    alone, _ = Judge(own, agent="demo").judged(said, "edit", seen)
    both, _ = Judge(own, project, "demo").judged(said, "edit", seen)
    assert STRICTNESS.index(both) >= STRICTNESS.index(alone)


@given(files)
def test_tightened_project_rules_allow_nothing(project: Rules) -> None:
    assert allowing(tightening(project)) == []


@given(files, st.sampled_from(WORDS), acts)
def test_a_users_reject_rule_overrides_any_policy(own: Rules, said: Word, seen: list[Action]) -> None:
    judge = Judge(own, agent="demo")
    if own.matching("demo", "edit", seen) == "reject":
        assert judge.judged(said, "edit", seen)[0] == "reject"
    elif said != "ask":
        assert judge.judged(said, "edit", seen) == (said, None), "else the call decides"


@pytest.mark.parametrize(
    ("rule", "kind", "seen", "matches"),
    [
        (Rule(say="allow", kind="edit", path="/home/me/project"), "edit", [EDIT], True),
        (Rule(say="allow", kind="edit", path="/home/me/proj"), "edit", [EDIT], False),
        (Rule(say="allow", kind="edit", path="/home/me/project"), "edit", [EDIT, SSH], False),
        (Rule(say="allow", kind="edit", path="/home/me/project"), "edit", [EDIT, Other("edit")], False),
        (Rule(say="allow", kind="edit", path="/home/me/project"), "edit", [QUERY, EDIT], False),
        (Rule(say="allow", kind="execute", command="git push --force"), "execute", [QUERY, RUN], False),
        (Rule(say="allow", kind="edit", path="/home/me/project"), "edit", [], False),
        (Rule(say="allow", kind="edit", path="/home/me/project"), "read", [EDIT], False),
        (Rule(say="reject", path="/home/me/project/.ssh"), "edit", [EDIT, SSH], True),
        (Rule(say="reject", path="/home/me/project/.ssh"), "edit", [EDIT], False),
        (Rule(say="allow", kind="execute", command="git push --force"), "execute", [RUN], True),
        (Rule(say="allow", kind="execute", command="git push --force"), "execute", [WITH_ENV], False),
        (Rule(say="reject", kind="execute", command="git push*"), "execute", [WITH_ENV], True),
        (Rule(say="reject", kind="execute", command="GIT_SSH_COMMAND=*"), "execute", [WITH_ENV], True),
        (Rule(say="allow", kind="execute", command="git push"), "execute", [RUN], False),
        (Rule(say="allow", kind="execute", command="git *"), "execute", [RUN], False),
        (Rule(say="reject", kind="execute", command="git push*"), "execute", [RUN], True),
        (Rule(say="reject", kind="execute", command="*--force*"), "execute", [RUN], True),
        (Rule(say="ask", kind="execute", command="rm *"), "execute", [RUN], False),
        (Rule(say="reject", kind="edit", agent="other"), "edit", [EDIT], False),
        (Rule(say="reject", kind="edit", agent="demo"), "edit", [EDIT], True),
    ],
)
def test_what_a_rule_matches(rule: Rule, kind: str, seen: list[Action], matches: bool) -> None:
    assert rule.matches("demo", kind, seen) is matches


def allowed(*seen: Action, tool: str | None = "query", path: str | None = None) -> bool:
    rule = Rule(say="allow", server="search", tool=tool, path=path)
    return rule.matches("demo", "other", seen)


INPUT = Other("other", "{}")
WRITE = Write("/home/me/project/a.py", None, None, "new")


def test_a_tool_of_a_server_is_allowed_by_its_exact_name() -> None:
    assert allowed(QUERY, INPUT)
    assert allowed(QUERY, INPUT, Details("{}"))
    assert allowed(QUERY, INPUT, tool=None)
    assert allowed(QUERY, Other("other", None, ("/home/me/project/a",)), path="/home/me/project")


@pytest.mark.parametrize(
    "call",
    [
        McpCall("search", "query"),  # by a title
        McpCall("search", "query_all", sure=True),
        McpCall("search", "quer", sure=True),
        McpCall("search", "Query", sure=True),
        McpCall("searching", "query", sure=True),
        McpCall("evil", "search__query", sure=True),
        McpCall("search_", "query", sure=True),
    ],
)
def test_a_similar_name_is_not_allowed(call: McpCall) -> None:
    assert not allowed(call, INPUT)


def test_a_call_without_a_tool_of_a_server_is_not_allowed() -> None:
    assert not allowed()
    assert not allowed(INPUT)
    assert not allowed(EDIT)
    assert not allowed(QUERY, McpCall("evil", "x", sure=True))


def test_an_allowed_tool_covers_no_command_and_no_write() -> None:
    """An allow would cover them: the agent could have them done by us."""
    assert not allowed(QUERY, RUN)
    assert not allowed(QUERY, RUN, path="/home/me/project")
    assert not allowed(QUERY, WRITE)
    assert allowed(QUERY, WRITE, path="/home/me/project")
    assert not allowed(QUERY, WRITE, path="/home/me/other")
    assert not allowed(QUERY, INPUT, path="/home/me/project"), "no path is no path inside"


@pytest.mark.parametrize("say", ["reject", "ask"])
@pytest.mark.parametrize(
    ("call", "touched"),
    [
        (McpCall("search", "query", sure=True), True),
        (McpCall("search", "query"), True),
        (McpCall("Search", "QUERY"), True),
        (McpCall("search", "other", sure=True), False),
        (McpCall("search_engine", "query", sure=True), False),
        (McpCall("my", "search", sure=True), False),
    ],
)
def test_to_tighten_a_likely_name_is_enough(say: Word, call: McpCall, touched: bool) -> None:
    assert Rule(say=say, server="search", tool="query").matches("demo", "other", [call, INPUT]) is touched


def test_to_tighten_altered_names_and_patterns_match() -> None:
    spelled = McpCall("my_files", "delete_file", sure=True)
    assert Rule(say="reject", server="my.files").matches("demo", "other", [spelled])
    assert Rule(say="reject", server="my files", tool="delete*").matches("demo", "other", [spelled])
    assert not Rule(say="reject", server="my files", tool="read*").matches("demo", "other", [spelled])
    assert not Rule(say="reject", server="my").matches("demo", "other", [spelled]), "no prefix"
    split = McpCall("a", "b__c")  # or "a__b" and "c": nobody knows
    assert Rule(say="reject", server="a__b", tool="c").matches("demo", "other", [split])
    assert Rule(say="reject", server="a", tool="b__c").matches("demo", "other", [split])
    assert not Rule(say="reject", server="files").matches("demo", "other", [INPUT, RUN])


def test_specific_rules_come_first_and_the_strictest_wins() -> None:
    own = Rules(
        default="reject",
        kinds={"edit": "ask"},
        rules=(Rule(say="allow", kind="edit", path="/home/me/project"),),
    )
    judge = Judge(own, agent="demo")
    assert judge.judged("ask", "edit", [EDIT]) == ("allow", "a rule of your file")
    assert judge.judged("ask", "edit", [FileAccess("edit", "/elsewhere")]) == ("ask", None)
    assert judge.judged("ask", "fetch", []) == ("reject", "a rule of your file")
    assert judge.judged("allow", "fetch", []) == ("allow", None), "what the call says is not asked"
    project = Rules(kinds={"edit": "ask"})
    assert Judge(own, project, "demo").judged("ask", "edit", [EDIT])[0] == "ask"
    assert Judge(own, project, "demo").judged("allow", "edit", [EDIT]) == (
        "ask",
        "a rule of the project's file",
    )
