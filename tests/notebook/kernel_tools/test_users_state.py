"""Nothing of the user's differs after a run but the names that the code assigned: compared field by field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.notebook.kernel_tools.conftest import Tools
from tests.waiting import wait_until

BEFORE = """
import logging, builtins, getpass, traceback, warnings, linecache, gc
import matplotlib, matplotlib.pyplot as plt
from matplotlib._pylab_helpers import Gcf
from matplotlib_inline import backend_inline
ip = get_ipython()
root = logging.getLogger(); root.addHandler(logging.StreamHandler()); root.addHandler(logging.NullHandler())
class Mine(Exception): pass
"""

FIELDS = """
OURS = {"before", "state", "after", "differs", "new", "gone", "changed", "mine"}

def fields():
    "What the user could notice, by name; objects by identity."
    same = lambda *things: [id(it) for it in things]
    manager = ip.history_manager
    return {
        "names": {k: id(v) for k, v in ip.user_ns.items() if not k.startswith("_i") and k not in OURS},
        "hidden": sorted(ip.user_ns_hidden),
        "_": same(*(ip.user_ns.get(k) for k in ("_", "__", "___"))),
        "hook's": same(ip.displayhook._, ip.displayhook.__dict__.get("__"), ip.displayhook.exec_result),
        "Out": {k: id(v) for k, v in ip.user_ns["Out"].items()}, "In": list(ip.user_ns["In"]),
        "count": ip.execution_count,
        "outputs": {k: len(v) for k, v in getattr(manager, "outputs", {}).items()},
        "exceptions": sorted(getattr(manager, "exceptions", {})),
        "reprs": dict(manager.output_hist_reprs),
        "last": same(*(getattr(sys, f"last_{k}", "none") for k in ("type", "value", "traceback", "exc"))),
        "last run": same(ip.last_execution_result, ip.last_execution_succeeded, ip._last_traceback),
        "streams": same(sys.stdout, sys.stderr, sys.stdin, sys.__stdout__, sys.__stderr__),
        "stream's own": [sorted(vars(it)) for it in (sys.stdout, sys.stderr)],
        "hooks": same(sys.displayhook, ip.display_trap.hook, ip.display_pub, ip.displayhook),
        "excepthook": repr(sys.excepthook),  # IPython makes a new one for each statement
        "trap": [ip.display_trap._nested_level, ip.builtin_trap._nested_level],
        "publisher": len(ip.display_pub._hooks),
        "shell's own": sorted(k for k in vars(ip)), "kernel's own": sorted(vars(ip.kernel)),
        "builtins": same(builtins.input, getpass.getpass, builtins.print, builtins.open),
        "allow": ip.kernel._allow_stdin, "keep": ip.keepkernel_on_exit, "exit": ip.exit_now,
        "payload": list(ip.payload_manager._payload),
        "handlers": same(*logging.getLogger().handlers), "level": logging.getLogger().level,
        "streams of handlers": same(*(getattr(it, "stream", None) for it in logging.getLogger().handlers)),
        "cwd": os.getcwd(), "environ": dict(os.environ), "path": list(sys.path),
        "figures": {k: id(v) for k, v in Gcf.figs.items()},
        "drawn": [backend_inline.show._draw_called, same(*backend_inline.show._to_draw)],
        "rc": dict(matplotlib.rcParams), "filters": len(warnings.filters),
        "sigint": id(signal.getsignal(signal.SIGINT)),
        "events": {k: len(v) for k, v in ip.events.callbacks.items()},
        "transformers": [len(ip.ast_transformers), len(ip.input_transformers_cleanup)],
        "numbers of cells": dict(ip.compile._filename_map), "flags": ip.compile.flags,
        "compiler's own": sorted(vars(ip.compile)),
        "threads": threading.active_count(), "fds": [os.readlink(f"/proc/self/fd/{it}") for it in range(3)],
        "loop": id(asyncio.get_running_loop()),
    }
"""

AFTER = """
before = fields()
state = {run}
after = fields()
differs = {{k: [str(before[k])[:500], str(after[k])[:500]] for k in before if before[k] != after[k]}}
new = sorted(set(after["names"]) - set(before["names"]))
gone = sorted(set(before["names"]) - set(after["names"]))
changed = sorted(k for k, v in before["names"].items() if after["names"].get(k, v) != v)
print("@" + json.dumps([state.status, differs, new, gone, changed]))
"""


@pytest.fixture
def user(tools: Tools) -> Tools:
    """A user who has an error, a result, an open figure and a handler."""
    for cell in (
        BEFORE + FIELDS,
        "11", "22",
        "raise Mine('of the user')",
    ):  # fmt: skip
        tools.front.run(cell)
    return tools


CODES: dict[str, tuple[str, list[str], list[str]]] = {
    "a result": ("40 + 2", [], []),
    "assignments": ("fresh = 1; ip = ip", ["fresh"], []),
    "an error": ("1/0", [], []),
    "a syntax error": ("1 +", [], []),
    "a usage error": ("%nosuch", [], []),
    "prints and logs": ("print('x'); root.warning('y'); import sys; print('z', file=sys.stderr)", [], []),
    "a figure": ("plt.figure(); plt.plot([1, 2]); plt.figure()", [], []),
    "figures closed": ("plt.close('all')", [], []),
    "an await": ("import asyncio; await asyncio.sleep(0)", [], []),
    "exit": ("exit()", [], []),
    "input": ("input()", [], []),
    "a pager": ("len?", [], []),
    "a failing await": ("await asyncio.sleep(0); 1/0", [], []),
    "streams replaced": ("import sys, io; sys.stdout = io.StringIO(); print(1)", ["io"], []),
    "stdout closed": ("sys.stdout.close(); print(1)", [], []),
    "a display hook": ("sys.displayhook = print; sys.excepthook = print", [], []),
    "a signal handler": ("signal.signal(signal.SIGINT, lambda *_: None);", [], []),
    "the user's code": ("22", [], []),
}

KNOWN = {"names", "numbers of cells"}
"""What may differ: names are compared on their own, and new code has a name for tracebacks."""


@pytest.mark.parametrize("code", CODES)
def test_only_the_names_that_the_code_assigned_differ(user: Tools, code: str) -> None:
    source, assigned, changed = CODES[code]
    user.front.run("fresh = io = None; del fresh, io")
    user.front.run("mine = plt.figure()\n" + AFTER.format(run="go('2 + 2')"))  # what is made on first use
    result = user.front.run("mine = plt.figure(); plt.plot([3])\n" + AFTER.format(run=f"go({source!r})"))
    assert result.content["status"] == "ok", result.content
    _, differs, new, gone, changes = user.states(result.text)[-1]
    assert {k: v for k, v in differs.items() if k not in KNOWN} == {}
    assert (new, gone, changes) == (assigned, [], changed)


def test_the_users_figure_is_still_shown_below_the_users_cell(user: Tools) -> None:
    result = user.front.run("plt.plot([5]); go('plt.plot([6])');")
    shown: list[Any] = [it for it in result.messages if it["msg_type"] == "display_data"]
    assert len(shown) == 1 and "image/png" in shown[0]["content"]["data"]


def test_the_users_numbers_in_tracebacks_stay(user: Tools) -> None:
    """A cell of the user's and code of the agent's may have the same text."""
    count = user.front.run("def same(): 1/0").content["execution_count"]
    user.run("def same(): 1/0")
    user.front.run("error = None")
    result = user.front.run("same()")
    assert "In[run-" in str(result.content["traceback"]) or f"In[{count}]" in str(result.content["traceback"])
    assert user.value("ip.compile._filename_map[same.__code__.co_filename]") == count


def test_between_cells_nothing_differs_either(user: Tools, tmp_path: Path) -> None:
    ended = tmp_path / "ended"
    user.front.run(
        "async def compared():\n"
        "    while tools.state() != 'idle': await asyncio.sleep(0.01)\n"
        "    await ran('1'); await asyncio.sleep(0.05)\n"
        "    take = lambda: {k: v for k, v in fields().items() if k not in ('loop', 'numbers of cells')}\n"
        "    one, state = take(), await ran('print(1); plt.plot([1]); 1/0')\n"
        "    while id(signal.getsignal(signal.SIGINT)) != one['sigint']: await asyncio.sleep(0.01)\n"
        "    return one, state, take()\n"
        "compared = on_loop(compared())\n"
        f"compared.add_done_callback(lambda _: open({str(ended)!r}, 'w').close())"
    )
    wait_until(ended.exists, "the end of the comparison")
    user.front.read_until(lambda: user.statuses().count("idle") == 2, "the end of both runs")
    user.front.forget("acp_run")
    result = user.front.run(
        "one, state, two = compared.result()\n"
        "print('@' + json.dumps([state.status, {k: [str(one[k])[:300], str(two[k])[:300]]"
        " for k in one if one[k] != two[k] and k != 'names'}]))"
    )
    assert result.content["status"] == "ok", result.content
    assert user.states(result.text)[-1] == ["error", {}]
