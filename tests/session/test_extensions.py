"""Methods beyond the protocol and `_meta`, in both directions, with an agent that has some of its own."""

from __future__ import annotations

import asyncio
import json
import math
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.agent import extensions, handler_threads
from acp_notebook.core.snapshot import Message, Notice, Plan, ToolCall, Unknown
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S, agent, notices
from tests.waiting import wait_until

AGENT = Path(__file__).parents[1] / "agents" / "extending.py"


@pytest.fixture
def session() -> Iterator[acp.Session]:
    with agent(sys.executable, AGENT) as session:
        yield session


def call(session: acp.Session, method: str, params: Any = None, times: int = 1) -> Any:
    """Have the agent call a method of ours; what it got, one entry for each time."""
    asked = {"method": method, "params": params or {}, "times": times}
    return session.agent.request("_x/call", asked, timeout=LIMIT_S)


def update(kind: str, **fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": kind, **fields}


def said(text: str, **fields: Any) -> dict[str, Any]:
    return update("agent_message_chunk", content={"type": "text", "text": text}, **fields)


# ---- our requests and notifications ----------------------------------------------------------------


def test_a_request_returns_plain_json(session: acp.Session) -> None:
    given = {"a": [1, 2.5, None, True], "ü": {"b": "text"}, "t": (1, 2)}
    assert session.agent.request("_x/echo", given) == {**given, "t": [1, 2]}
    assert session.agent.request("_x/echo") == {}


def test_an_error_has_its_code_and_data(session: acp.Session) -> None:
    with pytest.raises(acp.AgentError, match="as you wished") as raised:
        session.agent.request("_x/fail")
    assert (raised.value.code, raised.value.data) == (7, {"why": "a test"})


def test_an_unknown_method_is_an_error_with_the_protocols_code(session: acp.Session) -> None:
    with pytest.raises(acp.AgentError, match="_x/nothing: Method not found") as raised:
        session.agent.request("_x/nothing")
    assert raised.value.code == -32601


def test_a_request_that_is_not_answered_ends_in_time_and_is_withdrawn(session: acp.Session) -> None:
    with pytest.raises(acp.Timeout, match=r"did not answer _x/hang within 0\.1 s; timeout= allows it more"):
        session.agent.request("_x/hang", timeout=0.1)
    timeouts.replace(extension_request=0.1)
    with pytest.raises(acp.Timeout):
        session.agent.request("_x/hang")
    wait_until(lambda: session.agent.request("_x/cancelled", timeout=LIMIT_S) == 2, "both are withdrawn")


def test_a_request_that_the_agent_dies_of_fails_and_the_next_one_restarts_it(session: acp.Session) -> None:
    heard: list[Any] = []
    session.agent.handlers["_x/kept"] = heard.append
    first = session.agent.pid
    with pytest.raises(acp.AgentDied):
        session.agent.request("_x/die")
    assert session.agent.request("_x/echo", {"again": True}) == {"again": True}
    assert session.agent.pid != first
    assert session.status == "idle"
    assert call(session, "_x/kept", {"n": 1}) == [{"result": None}]
    assert heard == [{"n": 1}]


def test_a_notification_restarts_an_agent_that_has_ended(session: acp.Session) -> None:
    noted = threading.Event()
    session.agent.on("_x/noted")(lambda params: noted.set())
    with pytest.raises(acp.AgentDied):
        session.agent.request("_x/die")
    session.agent.notify("_x/note", {"n": 1})
    assert noted.wait(LIMIT_S)


def test_after_the_end_there_is_nobody_to_ask(session: acp.Session) -> None:
    session.agent.close()
    for refused in (session.agent.request, session.agent.notify):
        with pytest.raises(acp.SessionClosed, match="the agent was closed"):
            refused("_x/echo")


def test_two_agents_have_handlers_of_their_own(session: acp.Session) -> None:
    with agent(sys.executable, AGENT, handlers={"_x/who": lambda params: "other"}) as other:
        session.agent.handlers["_x/who"] = lambda params: "first"
        assert call(other, "_x/who") == [{"result": "other"}]
        assert call(session, "_x/who") == [{"result": "first"}]


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ("session/prompt", "it is a method of the protocol"),
        ("initialize", "it is a method of the protocol"),
        ("$/progress", r"the protocol owns the names that begin with \$/"),
        ("session/anything", "the protocol owns the names that begin with session/"),
        ("mcp/message", "the protocol owns the names that begin with mcp/"),
    ],
)
def test_a_name_that_the_protocol_owns_is_refused(session: acp.Session, method: str, reason: str) -> None:
    tries = (
        lambda: session.agent.request(method),
        lambda: session.agent.notify(method),
        lambda: session.agent.on(method),
        lambda: session.agent.handlers.update({method: print}),
        lambda: acp.connect("demo", handlers={method: print}),
    )
    for refused in tries:
        with pytest.raises(
            acp.UsageError, match=f"{reason}. Begin its name with an underscore, as in '_example"
        ):
            refused()


def test_a_name_without_an_underscore_that_nobody_owns_is_sent(session: acp.Session) -> None:
    with pytest.raises(acp.AgentError, match="vendor/method: Method not found"):
        session.agent.request("vendor/method")


@pytest.mark.parametrize("name", [None, 5, ""])
def test_a_name_is_text(session: acp.Session, name: Any) -> None:
    with pytest.raises(acp.UsageError, match="the name of a method is text"):
        session.agent.request(name)


class Frame:
    pass


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ([1], "params must be a mapping with names as keys, not a value of the type list"),
        (
            {"a": {"b": math.nan}},
            r"params\['a'\]\['b'\] is the number nan \(float\), which JSON does not have",
        ),
        ({"a": [math.inf]}, r"params\['a'\]\[0\] is the number inf"),
        ({1: "x"}, "params has the key 1; in JSON, keys are text"),
        ({"a": Frame()}, r"params\['a'\] is a value of the type Frame, which JSON does not have"),
        ({"a": b"x"}, "a value of the type bytes"),
        ({"a": 2**64}, "the number 18446744073709551616"),
        ({"a": CIRCLE}, "is nested deeper than 64 levels, or contains itself"),
    ],
)
def test_what_is_not_json_is_refused_by_name(session: acp.Session, params: Any, message: str) -> None:
    with pytest.raises(acp.UsageError, match=message):
        session.agent.request("_x/echo", params)


@pytest.mark.parametrize("seconds", [0, -1, math.nan])
def test_a_timeout_is_positive(session: acp.Session, seconds: float) -> None:
    with pytest.raises(acp.UsageError, match="it must be more than 0 seconds"):
        session.agent.request("_x/echo", timeout=seconds)


def test_large_parameters_and_lone_surrogates_pass(session: acp.Session) -> None:
    big = {"text": "x" * 5_000_000}
    assert session.agent.request("_x/echo", big, timeout=LIMIT_S) == big
    assert session.agent.request("_x/echo", {"broken": "\ud800"}) == {"broken": "\ufffd"}


# ---- handlers: the agent's requests -----------------------------------------------------------------


def test_a_handler_answers_with_plain_json(session: acp.Session) -> None:
    @session.agent.on("_x/sum")
    def total(params: Any) -> Any:
        return {"sum": sum(params["numbers"]), "parts": (1, 2)}

    assert total({"numbers": [1], "sessionId": ""}) == {"sum": 1, "parts": (1, 2)}
    assert call(session, "_x/sum", {"numbers": [1, 2]}) == [{"result": {"sum": 3, "parts": [1, 2]}}]
    assert list(session.agent.handlers) == ["_x/sum"]
    assert repr(session.agent.handlers) == "<handlers of _x/sum>"


def test_a_coroutine_answers_as_well(session: acp.Session) -> None:
    @session.agent.on("_x/later")
    async def later(params: Any) -> Any:
        await asyncio.sleep(0)
        return params

    assert call(session, "_x/later", {"n": 1}) == [{"result": {"n": 1}}]


def test_handlers_given_to_connect_answer_before_the_session_is_open() -> None:
    with agent(
        sys.executable, AGENT, "early", handlers={"_x/early": lambda params: params["n"] + 1}
    ) as session:
        assert session.meta == {"from": "session/new", "early": {"result": 2}}
        (entry,) = session.audit.where(kind="extension")
        assert (entry.target, entry.outcome, entry.by) == ("_x/early", "done", "agent")


def test_a_second_handler_replaces_the_first_and_a_deleted_one_is_unknown(session: acp.Session) -> None:
    session.agent.on("_x/one")(lambda params: 1)
    session.agent.on("_x/one")(lambda params: 2)
    assert call(session, "_x/one") == [{"result": 2}]
    del session.agent.handlers["_x/one"]
    ((answer),) = call(session, "_x/one")
    assert answer["error"] == {"code": -32601, "message": "this client has no _x/one"}


def test_a_handler_must_be_a_function(session: acp.Session) -> None:
    with pytest.raises(acp.UsageError, match="the handler of _x/one must be a function, not int"):
        session.agent.on("_x/one")(5)  # type: ignore[type-var]
    with pytest.raises(acp.UsageError, match="handlers must map names of methods to functions, not list"):
        acp.connect("demo", handlers=[print])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("too big"), {"code": -32603, "message": "ValueError: too big"}),
        (KeyError(), {"code": -32603, "message": "KeyError"}),
        (SystemExit(3), {"code": -32603, "message": "SystemExit: 3"}),
        (TimeoutError("mine"), {"code": -32603, "message": "TimeoutError: mine"}),
        (acp.ExtensionError("no such row"), {"code": -32603, "message": "no such row"}),
        (
            acp.ExtensionError("no such row", code=-32602, data={"row": 5}),
            {"code": -32602, "message": "no such row", "data": {"row": 5}},
        ),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_an_error_of_a_handler_is_the_agents_error(
    session: acp.Session, error: BaseException, expected: Any, is_async: bool
) -> None:
    def fails(params: Any) -> Any:
        raise error

    async def fails_later(params: Any) -> Any:
        raise error

    session.agent.handlers["_x/bad"] = fails_later if is_async else fails
    assert call(session, "_x/bad") == [{"error": expected}]
    (entry,) = session.audit.where(kind="extension")
    assert (entry.outcome, entry.reason) == ("failed", expected["message"])


def test_a_result_that_is_not_json_is_a_clear_error(session: acp.Session) -> None:
    session.agent.handlers["_x/frame"] = lambda params: {"rows": [Frame()]}
    message = "the result of _x/frame['rows'][0] is a value of the type Frame, which JSON does not have"
    assert call(session, "_x/frame") == [{"error": {"code": -32603, "message": message}}]

    def odd(params: Any) -> Any:
        raise acp.ExtensionError("odd", data={"x": Frame()})

    session.agent.handlers["_x/odd"] = odd
    ((answer),) = call(session, "_x/odd")
    assert answer["error"]["message"].startswith(
        "odd (the data of the error['x'] is a value of the type Frame"
    )


def test_a_handler_that_hangs_is_an_error_in_time_and_others_still_answer(session: acp.Session) -> None:
    timeouts.replace(extension_handler=0.2)
    over = threading.Event()
    session.agent.handlers["_x/hangs"] = lambda params: over.wait(LIMIT_S)
    session.agent.handlers["_x/fine"] = lambda params: "fine"
    try:
        ((answer),) = call(session, "_x/hangs")
        assert answer["error"] == {
            "code": -32603,
            "message": "the handler of _x/hangs did not answer within 0.2 s",
        }
        assert call(session, "_x/fine") == [{"result": "fine"}]
    finally:
        over.set()


def test_a_coroutine_that_hangs_is_cancelled(session: acp.Session) -> None:
    timeouts.replace(extension_handler=0.2)
    ended = threading.Event()

    @session.agent.on("_x/hangs")
    async def hangs(params: Any) -> None:
        try:
            await asyncio.sleep(LIMIT_S)
        finally:
            ended.set()

    ((answer),) = call(session, "_x/hangs")
    assert "did not answer within 0.2 s" in answer["error"]["message"]
    assert ended.wait(LIMIT_S)


def test_a_withdrawn_request_cancels_its_handler(session: acp.Session) -> None:
    ended = threading.Event()

    @session.agent.on("_x/slow")
    async def slow(params: Any) -> None:
        try:
            await asyncio.sleep(LIMIT_S)
        finally:
            ended.set()

    answer = session.agent.request("_x/withdraw", {"method": "_x/slow"}, timeout=LIMIT_S)
    assert answer["error"]["code"] == -32800


def test_a_handler_may_ask_the_agent_itself(session: acp.Session) -> None:
    @session.agent.on("_x/nested")
    def nested(params: Any) -> Any:
        if params["depth"] == 0:
            return "bottom"
        asked = {"method": "_x/nested", "params": {"depth": params["depth"] - 1}}
        return session.agent.request("_x/call", asked, timeout=LIMIT_S)[0]["result"]

    assert call(session, "_x/nested", {"depth": 5}) == [{"result": "bottom"}]


def test_a_flood_of_requests_runs_few_handlers_at_once(session: acp.Session) -> None:
    lock, running, most = threading.Lock(), 0, 0
    gate = threading.Event()

    @session.agent.on("_x/busy")
    def busy(params: Any) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            if running == handler_threads.HANDLERS_AT_ONCE:
                gate.set()
        gate.wait(LIMIT_S)
        with lock:
            running -= 1
        return 1

    answers = call(session, "_x/busy", times=200)
    assert answers == [{"result": 1}] * 200
    assert most == handler_threads.HANDLERS_AT_ONCE


def test_secrets_reach_the_handler_but_not_the_audit() -> None:
    secret = "correct horse battery staple"
    heard: list[Any] = []
    with agent(sys.executable, AGENT, secrets=[secret], handlers={"_x/take": heard.append}) as session:
        call(session, "_x/take", {"key": secret, "pad": "x" * 5000})
        (entry,) = session.audit.where(kind="extension")
    assert heard[0]["key"] == secret
    assert secret not in json.dumps(session.audit.to_dicts())
    assert "[redacted]" in entry.detail["params"]
    assert len(entry.detail["params"]) == extensions.AUDITED_CHARS


@pytest.mark.parametrize(
    "params",
    [{"all": f"{'correct horse battery staple ' * 20} " * 20}, {"pad": "x" * 1500, "key": "k" * 3000}],
    ids=["many", "long"],
)
def test_no_part_of_a_secret_is_in_the_audit_where_a_request_is_cut(params: Any) -> None:
    secrets = ["correct horse battery staple " * 20, "k" * 3000]
    with agent(sys.executable, AGENT, secrets=secrets, handlers={"_x/take": len}) as session:
        call(session, "_x/take", params)
        (entry,) = session.audit.where(kind="extension")
    assert "horse" not in entry.detail["params"] and "kk" not in entry.detail["params"]


def test_a_request_without_a_handler_is_in_the_audit(session: acp.Session) -> None:
    ((answer),) = call(session, "vendor/thing", {"a": 1})
    assert answer["error"]["code"] == -32601
    (entry,) = session.audit.where(kind="extension")
    assert (entry.target, entry.outcome, entry.reason) == (
        "vendor/thing",
        "failed",
        "this client has no vendor/thing",
    )


# ---- handlers: the agent's notifications --------------------------------------------------------------


def tell(session: acp.Session, method: str, times: int = 1) -> None:
    session.agent.request("_x/tell", {"method": method, "times": times}, timeout=LIMIT_S)


def unknown(session: acp.Session) -> list[str]:
    return [item.what for item in session.transcript.items if isinstance(item, Unknown)]


def test_a_notification_is_heard_in_order_and_not_shown(session: acp.Session) -> None:
    heard: list[int] = []
    done = threading.Event()

    @session.agent.on("_x/told")
    def told(params: Any) -> Any:
        heard.append(params["n"])
        if len(heard) == 50:
            done.set()
        return Frame()  # nobody gets it

    tell(session, "_x/told", times=50)
    assert done.wait(LIMIT_S)
    assert heard == list(range(50))
    assert unknown(session) == []
    assert notices(session) == []


def test_a_notification_without_a_handler_is_shown(session: acp.Session) -> None:
    tell(session, "_x/told")
    assert unknown(session) == ["_x/told"]


def test_a_handler_of_notifications_that_fails_is_reported_once(session: acp.Session) -> None:
    done = threading.Event()

    @session.agent.on("_x/told")
    def told(params: Any) -> None:
        if params["n"] == 2:
            done.set()
        raise ValueError("cannot hear this")

    tell(session, "_x/told", times=3)
    assert done.wait(LIMIT_S)
    wait_until(lambda: notices(session) != [], "the failure is shown")
    (notice,) = notices(session)
    assert notice.startswith("The handler of _x/told failed: ValueError: cannot hear this")


def test_a_flood_of_notifications_is_bounded(session: acp.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extensions, "NOTIFICATIONS_KEPT", 5)
    gate, heard = threading.Event(), threading.Semaphore(0)

    @session.agent.on("_x/told")
    def told(params: Any) -> None:
        gate.wait(LIMIT_S)
        heard.release()

    tell(session, "_x/told", times=100)
    gate.set()
    assert heard.acquire(timeout=LIMIT_S)
    assert any("_x/told (dropped: 5 wait" in line for line in session.agent.stray)


def test_our_notification_reaches_the_agent(session: acp.Session) -> None:
    heard: list[Any] = []
    done = threading.Event()

    @session.agent.on("_x/noted")
    def noted(params: Any) -> None:
        heard.append(params)
        done.set()

    session.agent.notify("_x/note", {"n": 1})
    assert done.wait(LIMIT_S)
    assert heard == [{"n": 1}]


# ---- _meta ------------------------------------------------------------------------------------------


def test_the_agents_meta_is_on_everything(session: acp.Session) -> None:
    updates = [
        said("a", messageId="m", _meta={"n": 1, "first": True}),
        said("b", messageId="m"),
        said("c", messageId="m", _meta={"n": 2}),
        update("tool_call", toolCallId="t", title="T", _meta={"a": 1}),
        update("tool_call_update", toolCallId="t", status="completed", _meta={"b": {"c": 2}}),
        update("plan", entries=[], _meta={"p": 1}),
        update("plan", entries=[], _meta={"p": 2}),
        update("notice", severity="info", title="N", _meta={"n": 1}),
        update("session_info_update", _meta={"topic": "tests"}),
        update("brand_new", _meta={"u": 1}),
        said("plain"),
    ]
    turn = session.prompt(json.dumps(updates), meta={"mine": 1}, timeout=LIMIT_S)
    assert turn.meta == {"from": "prompt", "got": {"mine": 1}}
    metas = [(type(item), item.meta) for item in turn.items[1:]]
    assert metas == [
        (Message, {"n": 2, "first": True}),
        (ToolCall, {"a": 1, "b": {"c": 2}}),
        (Plan, {"p": 2}),
        (Notice, {"n": 1}),
        (Unknown, {"u": 1}),
        (Message, None),
    ]
    assert session.meta == {"from": "session/new", "topic": "tests"}
    assert (session.agent.meta, session.agent.capabilities.meta) == ({"from": "initialize"}, {"x": ["echo"]})


def test_our_meta_and_capabilities_reach_the_agent_also_after_a_restart() -> None:
    options = {"meta": {"traceparent": "00-1"}, "capabilities": {"vendor": {"x": True}}}
    with agent(sys.executable, AGENT, **options) as session:
        seen = session.agent.request("_x/seen")
        assert seen["session/new"][0]["_meta"] == {"traceparent": "00-1"}
        announced = seen["initialize"][0]["clientCapabilities"]["_meta"]
        assert announced == {"terminal_output": True, "vendor": {"x": True}}
        assert "_meta" not in seen["initialize"][0]
        session.agent.new_session(meta={"other": 1}).close()
        session.agent.new_session().close()
        opened = [it["_meta"] for it in session.agent.request("_x/seen")["session/new"]]
        assert opened == [{"traceparent": "00-1"}, {"other": 1}, {"traceparent": "00-1"}]
        with pytest.raises(acp.AgentDied):
            session.agent.request("_x/die")
        assert session.agent.request("_x/seen")["session/resume"][0]["_meta"] == {"traceparent": "00-1"}


def test_a_capability_of_the_user_wins_over_ours() -> None:
    with agent(sys.executable, AGENT, capabilities={"terminal_output": False}) as session:
        announced = session.agent.request("_x/seen")["initialize"][0]["clientCapabilities"]["_meta"]
        assert announced == {"terminal_output": False}


def test_waiting_prompts_keep_their_meta(session: acp.Session) -> None:
    turns = [session.start("[]", meta={"n": number}) for number in range(3)]
    metas = [turn.wait(LIMIT_S).meta for turn in turns]
    assert [meta and meta["got"] for meta in metas] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert list(session.stream("[]", meta={"n": 3}))
    assert session.turns[-1].meta == {"from": "prompt", "got": {"n": 3}}


@pytest.mark.parametrize("meta", [["x"], {"x": math.nan}, {1: 2}, "x"])
def test_meta_is_checked_before_anything_is_sent(session: acp.Session, meta: Any) -> None:
    for refused in (
        lambda: session.prompt("[]", meta=meta),
        lambda: session.start("[]", meta=meta),
        lambda: session.stream("[]", meta=meta),
        lambda: acp.connect("demo", meta=meta),
        lambda: session.agent.new_session(meta=meta),
    ):
        with pytest.raises(acp.UsageError, match=r"^meta"):
            refused()
    assert session.turns == ()


def test_secrets_in_meta_are_not_kept() -> None:
    secret = "correct horse battery staple"
    with agent(sys.executable, AGENT, secrets=[secret]) as session:
        turn = session.prompt(json.dumps([said("a", _meta={"k": f"x {secret}"})]), timeout=LIMIT_S)
        assert turn.items[-1].meta == {"k": "x [redacted]"}


# ---- the demo agent -----------------------------------------------------------------------------------


def test_the_demo_agents_extensions_in_both_directions(demo: Demo) -> None:
    heard: list[str] = []
    session = demo(
        permissions="allow", handlers={"_demo/progress": lambda params: heard.append(params["text"])}
    )
    assert session.agent.request("_demo/echo", {"a": 1}) == {"echo": {"a": 1}}
    turn = session.prompt("/extension", timeout=LIMIT_S)
    assert turn.text == "You answered with the error -32601: this client has no _demo/choose."
    session.agent.on("_demo/choose")(lambda params: params["choices"][1])
    turn = session.prompt("/extension", meta={"run": 7}, timeout=LIMIT_S)
    assert turn.text == 'You answered "green".\n\nYour prompt came with {"run":7}.'
    assert turn.items[-1].meta == {"demo/method": "_demo/choose", "demo/received": {"run": 7}}
    assert turn.meta == {"demo/done": True}
    assert session.agent.capabilities.meta == {"demo": {"methods": ["_demo/echo", "_demo/note"]}}
    wait_until(lambda: heard == ["I call _demo/choose"] * 2, "both notifications were heard")


# ---- recordings ---------------------------------------------------------------------------------------


def test_a_replay_answers_requests_and_calls_handlers_as_recorded(tmp_path: Path) -> None:
    tape = tmp_path / "extensions.jsonl"

    def scenario(session: acp.Session) -> list[Any]:
        results = [session.agent.request("_x/echo", {"token": "s3cr3t-s3cr3t"})]
        results += [call(session, "_x/add", {"n": 1}), call(session, "_x/none")]
        with pytest.raises(acp.AgentError) as raised:
            session.agent.request("_x/fail")
        turn = session.prompt(json.dumps([said("a", _meta={"k": 1})]), meta={"m": 1}, timeout=LIMIT_S)
        session.agent.notify("_x/note", {"n": 1})
        assert noted.wait(LIMIT_S)
        return [*results, raised.value.code, turn.meta, turn.items[-1].meta]

    noted = threading.Event()
    handlers: dict[str, Any] = {
        "_x/add": lambda params: params["n"] + 1,
        "_x/noted": lambda params: noted.set(),
    }
    with agent(sys.executable, AGENT, record=tape, handlers=handlers) as session:
        recorded = scenario(session)
    assert "s3cr3t" not in tape.read_text()
    assert recorded[1:3] == [
        [{"result": 2}],
        [{"error": {"code": -32601, "message": "this client has no _x/none"}}],
    ]

    noted.clear()
    heard: list[Any] = []
    replayed = {"_x/add": heard.append, "_x/noted": handlers["_x/noted"]}
    with acp.connect(cassette=tape, handlers=replayed) as session:
        again = scenario(session)
    assert heard == [{"n": 1}]
    assert again[1:] == recorded[1:]

    noted.clear()
    with acp.connect(cassette=tape, handlers={"_x/noted": handlers["_x/noted"]}) as session:
        assert scenario(session)[1:] == recorded[1:]


def test_a_replay_reports_another_request_and_another_notification(tmp_path: Path) -> None:
    tape = tmp_path / "extensions.jsonl"
    with agent(sys.executable, AGENT, record=tape) as session:
        session.agent.request("_x/echo", {"n": 1})
        session.agent.notify("_x/note", {"n": 1})
        session.agent.request("_x/echo", {"n": 2})
    timeouts.replace(recording_grace=0.1)
    with acp.connect(cassette=tape) as session, pytest.raises(acp.CassetteMismatch, match='"n": 5'):
        session.agent.request("_x/echo", {"n": 5})
    with acp.connect(cassette=tape) as session:
        session.agent.request("_x/echo", {"n": 1})
        with pytest.raises(acp.CassetteMismatch, match="_x/note"):
            session.agent.request("_x/echo", {"n": 2})
