"""A grant allows what it names and nothing else: folders by whole names, commands to the letter."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_notebook.core.actions import Action, Command, Fetch, FileAccess, Other, command
from acp_notebook.core.grants import (
    GUARDED,
    LONGEST_COMMAND,
    NAME_CHARS,
    Grant,
    grant_from_plain,
    grant_to_plain,
    inside,
    is_resolved,
    matches,
    offers,
    problem,
)
from tests.core.test_actions import OTHERS, SAME, Words, unchanged

HOME = "/a/proj"
AGENT = "an agent"


def grant(**fields: Any) -> Grant:
    known: dict[str, Any] = {
        "id": "g1",
        "agent": AGENT,
        "kind": "edit",
        "scope": "workspace",
        "workspace": HOME,
    }
    return Grant(**known | fields)


def allows(it: Grant, act: Action, *roots: str, agent: str = AGENT, workspace: str = HOME) -> bool:
    return matches(it, agent, workspace, act, roots)


def edit(path: str) -> Action:
    return FileAccess("edit", path)


def run(words: Words, folder: str = HOME) -> Action:
    """A command; what cannot be one is described as something else."""
    return command(words, folder, resolve=unchanged) or Other("execute")


# ---- paths --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/a/proj", "/a/proj/x", "/a/proj/x/y.py", "/a/proj/-", "/a/proj/a\nb", "/a/proj/..x"]
)
def test_a_folder_covers_everything_below_it(path: str) -> None:
    assert allows(grant(path="/a/proj"), edit(path))
    assert allows(grant(), edit(path))


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/a/proj-evil",
            "/a/proj-evil/x",
            "/a/project",
            "/a/proj.py",
            "/a/projx/../proj/x",
            "/a",
            "/",
            "/a/pro",
        ),
        *("/a/proj/../x", "/a/proj/..", "/a/proj/./x", "/a/proj//x", "/a/proj/", "//a/proj/x", "/A/proj/x"),
        *(
            "a/proj/x",
            "proj/x",
            "./x",
            "",
            "~",
            "/a/proj\0/x",
            "/a/proj/x\0",
            "file:///a/proj/x",
            "/x/a/proj/y",
        ),
        *("/a/proj\n/x", "\\a\\proj\\x", "/a/proj\\x", "/a/pro\u200bj/x"),
    ],
)
def test_paths_outside_the_folder_or_unresolved_are_not_covered(path: str) -> None:
    assert not allows(grant(path="/a/proj"), edit(path))
    assert not allows(grant(), edit(path))


name = st.text(alphabet="ab.-_ \n", min_size=1, max_size=3).filter(lambda it: it not in (".", ".."))
names = st.lists(name, max_size=4)


@given(names, names)
def test_a_folder_is_a_prefix_of_names_not_of_characters(folder: list[str], path: list[str]) -> None:
    reached = inside("/" + "/".join(folder), "/" + "/".join(path))
    assert reached == (path[: len(folder)] == folder)


@given(names.filter(bool), names.filter(bool))
def test_a_grant_covers_only_paths_inside_its_folder(folder: list[str], path: list[str]) -> None:
    it = grant(path="/" + "/".join(folder))
    assert allows(it, edit("/" + "/".join(path))) == (path[: len(folder)] == folder)


@given(st.text(alphabet="ab./\0~", max_size=8))
def test_a_resolved_path_has_nothing_left_that_leads_elsewhere(path: str) -> None:
    if is_resolved(path) and path != "/":
        assert path[0] == "/" and not {"", ".", ".."} & set(path[1:].split("/")) and "\0" not in path


def test_a_file_grant_covers_only_that_file() -> None:
    it = grant(path="/a/proj/x.py")
    assert allows(it, edit("/a/proj/x.py"))
    assert not allows(it, edit("/a/proj/x.pyc"))
    assert not allows(it, edit("/a/proj/y.py"))


def test_without_a_path_a_grant_covers_the_sessions_folders() -> None:
    assert allows(grant(), edit("/other/x"), "/b", "/other")
    assert not allows(grant(), edit("/other/x"))
    assert not allows(grant(), edit("/other-evil/x"), "/other")
    assert not allows(grant(path=HOME), edit("/other/x"), "/other")


def test_an_action_without_a_path_is_never_covered() -> None:
    assert not allows(grant(), Other("edit"))
    assert not allows(grant(path=HOME), Other("edit"))


@pytest.mark.parametrize("guarded", [*sorted(GUARDED), ".GIT", ".Git"])
def test_a_folder_grant_excludes_files_that_control_programs(guarded: str) -> None:
    for path in (f"{HOME}/{guarded}", f"{HOME}/{guarded}/hooks/x", f"{HOME}/sub/{guarded}/x"):
        assert not allows(grant(), edit(path))
        assert not allows(grant(path=HOME), edit(path))
        assert not offers(edit(path), cwd=HOME)
        assert allows(grant(path=path), edit(path))


def test_names_that_only_look_guarded_are_covered() -> None:
    for path in (".gitignore", "github/workflows/x.yml", "git/x", "x.git", "pth", "x.pth/y.py"):
        assert allows(grant(), edit(f"{HOME}/{path}"))


@pytest.mark.parametrize(
    "path",
    [
        *("x.pth", "lib/evil.PTH", "sitecustomize.py", "usercustomize.py", ".husky/pre-commit"),
        *(".github/workflows/x.yml", ".devcontainer/devcontainer.json", ".pre-commit-config.yaml", ".envrc"),
        *(".vimrc", ".netrc", ".npmrc", ".acp_notebook.toml", ".claude/settings.json", "sub/.git/hooks/x"),
    ],
)
def test_a_folder_grant_excludes_start_up_files(path: str) -> None:
    assert not allows(grant(), edit(f"{HOME}/{path}"))
    assert not allows(grant(path=HOME), edit(f"{HOME}/{path}"))
    assert offers(edit(f"{HOME}/{path}"), cwd=HOME) == ()
    assert allows(grant(path=f"{HOME}/{path}"), edit(f"{HOME}/{path}")), "the file's own grant does not"


# ---- who, where, what ----------------------------------------------------------------------------


def test_agent_workspace_and_kind_must_be_the_same() -> None:
    act = edit(f"{HOME}/x")
    assert allows(grant(), act)
    assert not allows(grant(), act, agent="another")
    assert not allows(grant(), act, agent="")
    assert not allows(grant(path=HOME), act, workspace="/a")
    assert not allows(grant(path=HOME), act, workspace=f"{HOME}/sub")
    for kind in ("read", "delete", "move", "execute", "other", "fetch", "", "Edit"):
        assert not allows(grant(), FileAccess(kind, f"{HOME}/x"))


def test_always_applies_in_every_workspace() -> None:
    it = grant(scope="always", workspace=None, path="/b")
    assert allows(it, edit("/b/x")) and allows(it, edit("/b/x"), workspace="/other")
    assert not allows(it, edit("/c/x"))
    anything = grant(scope="always", workspace=None)
    assert allows(anything, edit("/other/x"), workspace="/other")
    assert not allows(anything, edit(f"{HOME}/x"), workspace="/other")


@pytest.mark.parametrize(
    "it",
    [
        grant(scope="once"),
        grant(scope="forever"),
        grant(scope=""),
        grant(kind="fetch"),
        grant(kind="other"),
        grant(kind="*"),
        grant(agent=""),
        grant(id=""),
        grant(workspace=None),
        grant(scope="always"),
        grant(path="rel"),
        grant(path="/a/../b"),
        grant(path=""),
        grant(workspace="/a/proj/"),
        grant(command="ls"),
        grant(kind="execute"),
        grant(kind="execute", command=""),
        grant(kind="execute", command=" \n"),
        grant(kind="delete"),
        grant(kind="move"),
    ],
)
def test_an_invalid_grant_covers_nothing(it: Grant) -> None:
    acts: list[Action] = [Other(it.kind), Other("edit"), Command("ls", HOME), Command("", HOME)]
    acts += [FileAccess(kind, path) for kind in (it.kind, "edit") for path in (HOME, f"{HOME}/x")]
    assert not any(allows(it, act, "/") for act in acts)
    assert it.scope == "once" or problem(it) is not None
    if it.scope != "once":
        with pytest.raises(ValueError):
            grant_from_plain(grant_to_plain(it))


def test_deleting_is_covered_only_for_a_named_path() -> None:
    it = grant(kind="delete", path=f"{HOME}/build")
    assert allows(it, FileAccess("delete", f"{HOME}/build/x"))
    assert not allows(it, FileAccess("delete", f"{HOME}/x"))


# ---- commands -----------------------------------------------------------------------------------


def line(command: str, **fields: Any) -> Grant:
    return grant(kind="execute", path=HOME, command=command, **fields)


@pytest.mark.parametrize(
    ("asked", "came"), [it for it in SAME if isinstance(it[0], str) and "/work" not in str(it[1])]
)
def test_the_same_line_is_granted(asked: str, came: Words) -> None:
    assert allows(line(asked), run(came))


@pytest.mark.parametrize(("asked", "came"), [it for it in OTHERS if isinstance(it[0], str)])
def test_another_line_is_never_granted(asked: str, came: Words) -> None:
    assert not allows(line(asked), run(came))


@pytest.mark.parametrize("said", ["pytest *", "pytest", "*", "git *", "git", "", ".*", "pytest%"])
@pytest.mark.parametrize("came", ["pytest tests", "pytest tests; rm -rf ~", "git push", "git status && sh"])
def test_no_command_is_a_prefix_or_a_pattern(said: str, came: str) -> None:
    assert not allows(line(said), run(came))


@given(st.text(max_size=8), st.text(max_size=8))
def test_a_longer_line_is_another_one(said: str, more: str) -> None:
    assert allows(line(said), run(said + more)) in (False, not more)


def test_a_command_belongs_to_its_folder() -> None:
    assert not allows(line("make"), run("make", f"{HOME}/sub"))
    assert not allows(line("make"), run("make", "/a"))
    assert allows(grant(kind="execute", command="make"), run("make", f"{HOME}/sub"))


def test_an_environment_is_part_of_a_command() -> None:
    plain, foreign = Command("git status", HOME), Command("git status", HOME, (("HOME", "/tmp/x"),))
    old = grant_from_plain(grant_to_plain(line("git status")))  # as older versions wrote it
    assert "env" not in grant_to_plain(old) and allows(old, plain) and not allows(old, foreign)
    session, _ = offers(foreign, cwd=HOME)
    assert session.name == "Allow this command in this session"
    given = session.grant(id="g", agent=AGENT, workspace=HOME)
    read = grant_from_plain(msgspec.json.decode(msgspec.json.encode(grant_to_plain(given))))
    assert allows(read, foreign) and not allows(read, plain)


# ---- offers -------------------------------------------------------------------------------------


def test_an_edit_offers_the_session_and_the_folder() -> None:
    session, workspace = offers(edit(f"{HOME}/x"), cwd=HOME)
    assert (session.id, session.scope, session.name) == (
        "acp:session",
        "session",
        "Allow all edits in this session",
    )
    assert (workspace.id, workspace.scope, workspace.name) == (
        "acp:workspace",
        "workspace",
        "Always allow edits in proj",
    )
    assert workspace.path == HOME


def test_a_command_offers_exactly_itself() -> None:
    session, workspace = offers(run(("/bin/bash", "-c", f"cd '{HOME}' && make test")), cwd=HOME)
    assert (session.name, session.command, session.path) == (
        "Allow this command in this session",
        "make test",
        HOME,
    )
    assert (workspace.name, workspace.scope) == ("Always allow this command in proj", "workspace")


@pytest.mark.parametrize(
    "act",
    [
        FileAccess("delete", f"{HOME}/x"),
        FileAccess("move", f"{HOME}/x"),
        FileAccess("read", f"{HOME}/x"),
        Fetch("https://example.org"),
        Other("other", None, (f"{HOME}/x",)),
        Other("think"),
        Other("edit"),
        edit("/etc/passwd"),
        edit(f"{HOME}-evil/x"),
        Other("execute"),
        run(""),
        run("a\0b"),
        run("x" * (LONGEST_COMMAND + 1)),
    ],
)
def test_nothing_too_broad_or_useless_is_offered(act: Action) -> None:
    assert offers(act, cwd=HOME) == ()


def test_several_actions_are_offered_together_or_not_at_all() -> None:
    assert len(offers(edit(f"{HOME}/x"), edit(f"{HOME}/y"), cwd=HOME)) == 2
    assert offers(edit(f"{HOME}/x"), edit("/etc/y"), cwd=HOME) == ()
    assert offers(edit(f"{HOME}/x"), FileAccess("delete", f"{HOME}/y"), cwd=HOME) == ()
    assert offers(run("a"), run("b"), cwd=HOME) == ()
    assert offers(cwd=HOME) == ()
    # Only the session's offer reaches its other folders.
    assert [it.scope for it in offers(edit("/other/x"), cwd=HOME, roots=["/other"])] == ["session"]


def test_our_ids_differ_from_the_agents() -> None:
    made = offers(edit(f"{HOME}/x"), cwd=HOME, taken=["acp:session", "acp:session+", "allow"])
    assert [it.id for it in made] == ["acp:session++", "acp:workspace"]


@given(st.text(min_size=1, max_size=LONGEST_COMMAND))
def test_names_are_short_and_hide_nothing(command: str) -> None:
    for offer in offers(run(command), cwd=HOME):
        assert offer.name.isprintable() and len(offer.name) <= NAME_CHARS + 40


@given(st.sampled_from([edit(f"{HOME}/a/b"), run("make"), run(("git", "push", "a b")), run("make", "/a")]))
def test_an_accepted_offer_allows_only_this_action_agent_and_folder(act: Action) -> None:
    for offer in offers(act, cwd=HOME):
        taken = offer.grant(id="g", agent=AGENT, workspace=HOME, created="now")
        assert allows(taken, act) and problem(taken) is None
        assert not allows(taken, act, agent="another") and not allows(taken, act, workspace="/b")


# ---- as JSON ------------------------------------------------------------------------------------


def test_a_grant_is_restored_from_its_json_form() -> None:
    for it in (grant(created="2030"), line("a\nb\u202e"), grant(scope="always", workspace=None, path="/b")):
        plain = msgspec.json.decode(msgspec.json.encode(grant_to_plain(it)))
        assert grant_from_plain({**plain, "unknown": [1]}) == it


@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        "x",
        [],
        {},
        {"id": "g"},
        {**grant_to_plain(grant()), "path": 5},
        {**grant_to_plain(grant()), "agent": None},
    ],
)
def test_an_invalid_grant_says_why(value: Any) -> None:
    with pytest.raises(ValueError):
        grant_from_plain(value)
