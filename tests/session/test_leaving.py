"""However a script ends, its agent and all that the agent started end quietly with it."""

from __future__ import annotations

import os
import signal

import pytest

from tests.patience import code_to_replace
from tests.session.scripts import noise, script
from tests.waiting import gone, wait_until


def nothing_left(pids: list[int]) -> None:
    assert len(pids) == 3
    wait_until(lambda: all(map(gone, pids)), "the agent and its children are gone")


# ---- without close() ------------------------------------------------------------------------------------

CONNECT = """
session = acp.connect("demo")
children(session)
"""

WITH = """
with acp.connect("demo") as session:
    children(session)
    {ending}
"""


@pytest.mark.parametrize(
    ("ending", "code", "last_words"),
    [
        ("pass", 0, ""),
        ("sys.exit(3)", 3, ""),
        ("raise RuntimeError('boom')", 1, "RuntimeError: boom"),
        ("raise KeyboardInterrupt", -signal.SIGINT, "KeyboardInterrupt"),
        ("begun(session.start('/slow 600'))", 0, ""),
        ("begun(session.start('/hang'))", 0, ""),
        ("session.start('/slow 600'), session.start('queued')", 0, ""),
        ("turn = begun(session.start('/hang')); turn.cancel(); session.start('stuck')", 0, ""),
    ],
)
@pytest.mark.parametrize("inside", [False, True], ids=["without close", "inside with"])
def test_a_script_that_ends_ends_its_agent_silently(
    ending: str, code: int, last_words: str, inside: bool
) -> None:
    with script(WITH.format(ending=ending) if inside else CONNECT + ending) as running:
        pids = running.pids()
        ended, out, errors = running.end()
    assert (ended, out) == (code, "")
    assert errors.rstrip().endswith(last_words) if last_words else errors == ""
    assert noise(errors) == []
    nothing_left(pids)


def test_os_exit_ends_the_agent() -> None:
    with script(CONNECT + "begun(session.start('/slow 600')); os._exit(5)") as running:
        pids = running.pids()
        assert running.end() == (5, "", "")
    nothing_left(pids)


def test_a_hanging_policy_function_does_not_delay_the_exit() -> None:
    body = """
asked = threading.Event()
def hanging(request):
    asked.set()
    threading.Event().wait()
session = acp.connect("demo", permissions=hanging)
children(session)
turn = session.start("/ask")
asked.wait()
"""
    with script(body) as running:
        pids = running.pids()
        assert running.end() == (0, "", "")
    nothing_left(pids)


def test_a_users_exit_handler_may_close_a_session_again() -> None:
    body = """
import atexit
def goodbye():
    session.close()
    session.agent.close()
    say("closed", session.status, session.turns[0].done)
    try:
        session.start("once more")
    except acp.Error as error:
        say(type(error).__name__)
    try:
        acp.connect("demo")
    except acp.Error as error:
        say(error)
atexit.register(goodbye)
session = acp.connect("demo")
children(session)
"""
    with script(body) as running:
        pids = running.pids()
        code, out, errors = running.end()
    assert (code, errors) == (0, "")
    assert out == "closed closed True\nSessionClosed\nPython is exiting, and its agents were ended\n"
    nothing_left(pids)


def test_an_interrupted_close_still_closes() -> None:
    body = """
session = acp.connect("demo")
children(session)
pid = session.agent.pid
os.kill(pid, signal.SIGSTOP)  # so that it does not say goodbye
def interrupt():
    while not session._conversation.state.closed:
        threading.Event().wait(0.01)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    session.close()
except KeyboardInterrupt:
    say("interrupted")
os.kill(pid, signal.SIGCONT)
session.close()
try:
    os.kill(pid, 0)
except ProcessLookupError:
    say("gone")
"""
    with script(code_to_replace(agent_eof_grace=60.0) + body) as running:
        pids = running.pids()
        assert running.end() == (0, "interrupted\ngone\n", "")
    nothing_left(pids)


# ---- by signals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_killed_script_ends_its_agent(number: signal.Signals) -> None:
    with script(CONNECT + "session.prompt('/hang')") as running:
        pids = running.pids()
        running.process.send_signal(number)
        assert running.end() == (-number, "", "")
        nothing_left(pids)


def test_an_uncaught_ctrl_c_cancels_the_turn_and_ends_the_script() -> None:
    body = """
def report():
    while len(session.turns) < 2 or not session.turns[1].text:
        threading.Event().wait(0.01)
    say("begun")
threading.Thread(target=report, daemon=True).start()
session.prompt("/slow 600")
"""
    with script(CONNECT + body) as running:
        pids = running.pids()
        assert running.line() == "begun"
        running.process.send_signal(signal.SIGINT)
        code, out, errors = running.end()
    assert (code, out) == (-signal.SIGINT, "")
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert noise(errors) == []
    nothing_left(pids)


# ---- forks ----------------------------------------------------------------------------------------

WORKER = """
worker = os.fork()
if worker == 0:
    for number in (0, 1, 2):
        os.close(number)
    signal.pause()
    os._exit(0)
say(worker)
session.prompt("/hang")
"""


def test_a_forked_worker_survives_the_kill_of_its_parent_and_the_agent_does_not() -> None:
    with script(CONNECT + WORKER) as running:
        pids, (worker,) = running.pids(), running.pids()
        try:
            running.process.kill()
            assert running.end()[0] == -signal.SIGKILL
            nothing_left(pids)
            assert not gone(worker)
        finally:
            if not gone(worker):
                os.kill(worker, signal.SIGKILL)


CHILD = """
worker = os.fork()
if worker == 0:
    {does}
say(os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]))
say(session.prompt("/pid").text)
session.close()
"""


@pytest.mark.parametrize(
    "does",
    [
        "sys.exit(7)",
        "session.close(); session.agent.close(); sys.exit(7)",
        "[it for it in (session.transcript, repr(session), session.turns[0].text)]; sys.exit(7)",
        "turn = session.turns[0].wait(); sys.exit(7)",
        "del session; import gc; gc.collect(); sys.exit(7)",
    ],
)
def test_a_forked_child_exits_without_touching_its_parents_agent(does: str) -> None:
    with script(CONNECT + CHILD.format(does=does)) as running:
        pids = running.pids()
        code, out, errors = running.end()
    assert out == f"7\npid {pids[0]}\n"
    assert (code, noise(errors), errors) == (0, [], "")
    nothing_left(pids)


def test_a_forked_child_may_leave_its_parents_with_block() -> None:
    with script(WITH.format(ending=CHILD.format(does="sys.exit(7)").replace("\n", "\n    "))) as running:
        pids = running.pids()
        assert running.end() == (0, f"7\npid {pids[0]}\n", "")
    nothing_left(pids)


@pytest.mark.parametrize(
    "call",
    [
        "session.prompt('x')",
        "session.start('x')",
        "list(session.stream('x'))",
        "turn.wait()",
        "turn.cancel()",
        "session.cancel()",
        "setattr(session, 'mode', 'plan')",
        "session.config.update(model='demo-max')",
        "session.agent.new_session()",
        "__import__('asyncio').run(turn._wait_async())",
    ],
)
def test_using_the_session_in_a_forked_child_is_a_clear_error(call: str) -> None:
    body = """
turn = begun(session.start("/slow 600"))
worker = os.fork()
if worker == 0:
    try:
        {call}
    except acp.UsageError as error:
        say(error)
    os._exit(0)
say(os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]))
turn.cancel()
say(turn.wait().stop_reason, session.prompt("/pid").text)
session.close()
"""
    with script(CONNECT + body.format(call=call)) as running:
        pids = running.pids()
        code, out, errors = running.end()
    clear = "this belongs to the process that opened it; in a forked copy, acp.connect(...) opens another"
    assert (code, out, errors) == (0, f"{clear}\n0\ncancelled pid {pids[0]}\n", "")
    nothing_left(pids)


def test_a_forked_child_may_have_its_own_agent() -> None:
    does = "own = acp.connect('demo'); say(own.prompt('hello').stop_reason); own.close(); sys.exit(7)"
    with script(CONNECT + CHILD.format(does=does)) as running:
        pids = running.pids()
        assert running.end() == (0, f"end_turn\n7\npid {pids[0]}\n", "")
    nothing_left(pids)


def test_forking_during_a_stream_gives_each_child_a_complete_transcript() -> None:
    body = """
turn = session.start("/stream 30000")
codes = []
while not turn.done or not codes:
    worker = os.fork()
    if worker == 0:
        text = session.turns[1].text
        os._exit(0 if text == "" or text.endswith(" ") else 1)
    codes.append(os.waitpid(worker, 0)[1])
say(set(codes), len(turn.wait().text.split()))
session.close()
"""
    with script(CONNECT + body) as running:
        pids = running.pids()
        assert running.end() == (0, "{0} 30000\n", "")
    nothing_left(pids)


def test_a_pool_of_forked_processes_works_during_a_turn() -> None:
    body = """
import multiprocessing
turn = begun(session.start("/slow 600"))
with multiprocessing.get_context("fork").Pool(2) as pool:
    say(sum(pool.map(abs, range(100))))
turn.cancel()
say(turn.wait().stop_reason, session.prompt("/pid").text)
session.close()
"""
    with script(CONNECT + body) as running:
        pids = running.pids()
        code, out, errors = running.end()
    assert (code, out, noise(errors)) == (0, f"4950\ncancelled pid {pids[0]}\n", [])
    nothing_left(pids)
