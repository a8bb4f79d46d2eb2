"""The public names and signatures: a change here is a change for every user."""

from __future__ import annotations

import inspect

import pytest

import acp_notebook as acp
from acp_notebook.api.tools import Tools

NAMES = [
    "Agent",
    "AgentDied",
    "AgentError",
    "AgentNotFound",
    "Audio",
    "AuthenticationRequired",
    "Cassette",
    "CassetteMismatch",
    "Conflict",
    "ConnectionLost",
    "ElicitationRequest",
    "Error",
    "ExtensionError",
    "Image",
    "PermissionRequest",
    "ProtocolError",
    "RecordingError",
    "Resource",
    "ResourceLink",
    "Run",
    "Runs",
    "Session",
    "SessionClosed",
    "SessionLost",
    "Snapshot",
    "Text",
    "Timeout",
    "Turn",
    "UsageError",
    "__version__",
    "agents",
    "connect",
    "doctor",
    "events",
    "fan_out",
    "import_agents",
    "judge",
    "load_transcript",
    "permissions",
    "tool",
    "trust",
]

SHOWN = "to_html to_markdown to_notebook to_text"

PUBLIC: dict[type, str] = {
    acp.Session: f"""
        agent audit authenticate cancel changes close commands compactions config cwd fork freeze grants id
        mcp_servers meta mode modes notebook notices permissions preview prompt queue reopen start status
        stream title tool tools transcript turns undo usage
        {SHOWN}
    """,
    Tools: "enabled remove",
    acp.Turn: f"""
        also_changed asked_by cancel changes cost diffs done error files items limit meta plan redo revert
        runs seconds status stop_reason terminals text thoughts tool_calls usage wait
        {SHOWN}
    """,
    acp.Runs: """
        best cancel compare count done failed frame index on_change progress rows summary wait
    """,
    acp.Run: """
        added agent apply attempt audit cancel changes cost done error error_type fields files host patch
        prompt removed row score score_text seconds session state stop_reason text times transcript usage
    """,
    acp.Agent: """
        auth_methods authenticate capabilities close delete fork handlers load logout meta name new_session
        notify on open_sessions pid request resume sessions stderr stray title version
    """,
}

PARENTS = {
    acp.Error: (Exception,),
    acp.UsageError: (acp.Error, ValueError),
    acp.SessionClosed: (acp.UsageError,),
    acp.SessionLost: (acp.AgentError,),
    acp.AgentNotFound: (acp.Error,),
    acp.Conflict: (acp.Error,),
    acp.AgentError: (acp.Error,),
    acp.AuthenticationRequired: (acp.AgentError,),
    acp.AgentDied: (acp.Error,),
    acp.ConnectionLost: (acp.AgentDied,),
    acp.ProtocolError: (acp.Error,),
    acp.ExtensionError: (acp.Error,),
    acp.Timeout: (acp.Error, TimeoutError),
    acp.RecordingError: (acp.Error,),
    acp.CassetteMismatch: (acp.RecordingError,),
}


def public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def test_the_names_of_the_package() -> None:
    assert acp.__all__ == NAMES
    assert dir(acp) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_exists(name: str) -> None:
    assert getattr(acp, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'conect'"):
        acp.conect  # noqa: B018


def test_the_signature_of_connect() -> None:
    parameters = inspect.signature(acp.connect).parameters.values()
    assert [(it.name, it.default) for it in parameters] == [
        ("agent", None),
        ("args", ()),
        ("cwd", None),
        ("env", None),
        ("inherit_env", True),
        ("permissions", "ask"),
        ("elicitation", "ask"),
        ("roots", ()),
        ("mcp_servers", ()),
        ("record", None),
        ("cassette", None),
        ("redact", None),
        ("secrets", ()),
        ("auth", None),
        ("load", None),
        ("resume", None),
        ("audit", None),
        ("fs", True),
        ("terminal", True),
        ("question_timeout", None),
        ("max_seconds", None),
        ("max_tool_calls", None),
        ("max_cost", None),
        ("retry_rate_limits", False),
        ("read_notebooks", "elided"),
        ("notebook_outputs", "drop"),
        ("undo", True),
        ("start_timeout", 60.0),
        ("install", None),
        ("trust_project", None),
        ("tools", None),
        ("meta", None),
        ("capabilities", None),
        ("handlers", None),
        ("headers", None),
        ("ca", None),
        ("insecure", False),
        ("shared", False),
    ]
    first, *rest = parameters
    assert first.kind is first.POSITIONAL_OR_KEYWORD
    assert all(it.kind is it.KEYWORD_ONLY for it in rest)


@pytest.mark.parametrize("cls", PUBLIC, ids=lambda cls: cls.__name__)
def test_the_public_attributes(cls: type) -> None:
    assert public(cls) == set(PUBLIC[cls].split())


@pytest.mark.parametrize("cls", PUBLIC, ids=lambda cls: cls.__name__)
def test_every_public_method_takes_options_by_name_only(cls: type) -> None:
    for name in public(cls):
        member = inspect.getattr_static(cls, name)
        if inspect.isfunction(member) and member.__module__.startswith("acp_notebook."):
            _, *parameters = inspect.signature(member).parameters.values()
            assert [it for it in parameters if it.kind is it.POSITIONAL_OR_KEYWORD][1:] == [], name


def test_a_turn_can_be_awaited_and_a_session_is_a_context() -> None:
    assert hasattr(acp.Turn, "__await__")
    assert hasattr(acp.Session, "__enter__")
    assert hasattr(acp.Session, "__exit__")


@pytest.mark.parametrize("error", PARENTS, ids=lambda error: error.__name__)
def test_the_error_hierarchy(error: type[acp.Error]) -> None:
    assert error.__bases__ == PARENTS[error]


def test_every_error_of_the_package_is_public_and_in_the_hierarchy() -> None:
    errors = {
        name
        for name in acp.__all__
        if inspect.isclass(it := getattr(acp, name)) and issubclass(it, Exception)
    }
    assert errors == {error.__name__ for error in PARENTS}


def test_errors_have_their_attributes() -> None:
    died = acp.AgentDied("gone", exit_code=3, stderr="words")
    assert (died.exit_code, died.stderr, str(died)) == (3, "words", "gone")
    wants = acp.AuthenticationRequired("sign in", code=-32000, data={"x": 1}, methods=("key",))
    assert (wants.code, wants.data, wants.methods) == (-32000, {"x": 1}, ("key",))
