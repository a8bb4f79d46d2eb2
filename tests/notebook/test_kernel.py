"""Where code runs and how it waits: interrupts, timeouts, threads, on several kernel versions."""

from __future__ import annotations

import pytest

from tests.notebook.kernels import Front

BLOCK = "w.announce('go'); wait(w.future('go'), on_interrupt=stopped, grace={grace})"
AWAIT = "print('waiting'); await wait_async(w.future('go'), on_interrupt=stopped, grace={grace})"
MIXED = f"await asyncio.sleep(0); {BLOCK}"
STOPPED = "stops = []\ndef stopped(): stops.append(1); print('stopped')"

FORMS = [(BLOCK, "KeyboardInterrupt"), (AWAIT, "CancelledError"), (MIXED, "KeyboardInterrupt")]
WAITS = pytest.mark.parametrize(("cell", "error"), FORMS, ids=["wait", "await", "wait in an async cell"])

NEVER = 0.2  # a grace that passes while nothing happens
LONG = 600  # a grace that a test would not survive


@pytest.fixture(autouse=True)
def stoppable(kernel: Front, widget: str) -> None:
    assert kernel.run(STOPPED).content["status"] == "ok"


def healthy(kernel: Front) -> bool:
    """It survives an interrupt while it is idle, and runs cells, the async ones, too."""
    kernel.interrupt()
    kernel.run("1")  # which the interrupt may have struck
    return kernel.run("print(await asyncio.sleep(0, 'healthy'))").text == "healthy\n"


# ---- interrupts


@WAITS
def test_an_interrupt_is_reported_and_ends_the_cell(kernel: Front, cell: str, error: str) -> None:
    id = kernel.begin(cell.format(grace=NEVER))
    kernel.wait_for_output(id, "waiting")
    kernel.interrupt()
    result = kernel.result(id)
    assert result.content["ename"] == error
    assert result.text == "waiting\nstopped\n"
    assert healthy(kernel)


@WAITS
def test_clicks_are_still_handled_in_the_grace(kernel: Front, widget: str, cell: str, error: str) -> None:
    id = kernel.begin(cell.format(grace=LONG))
    kernel.wait_for_output(id, "waiting")
    kernel.interrupt()
    kernel.wait_for_output(id, "stopped")
    behind = kernel.begin("print(w.got, stops)")
    kernel.click(widget, "go")
    assert kernel.result(id).content["ename"] == error
    assert kernel.result(behind).text == "['go'] [1]\n"
    assert healthy(kernel)


def test_a_second_interrupt_ends_the_grace(kernel: Front) -> None:
    id = kernel.begin(BLOCK.format(grace=LONG))
    kernel.wait_for_output(id, "waiting")
    kernel.interrupt()
    kernel.wait_for_output(id, "stopped")
    kernel.interrupt()
    result = kernel.result(id)
    assert result.content["ename"] == "KeyboardInterrupt"
    assert result.text == "waiting\nstopped\n"
    assert healthy(kernel)


def test_an_interrupt_stops_each_of_two_gathered_awaits(kernel: Front) -> None:
    one = "wait_async(Future(), on_interrupt=stopped, grace=0)"
    id = kernel.begin(f"print('waiting'); await asyncio.gather({one}, {one})")
    kernel.wait_for_output(id, "waiting")
    kernel.interrupt()
    result = kernel.result(id)
    assert result.content["ename"] == "CancelledError"
    assert result.text == "waiting\nstopped\nstopped\n"
    assert healthy(kernel)


@WAITS
def test_an_interrupt_reaches_a_handler_that_does_not_end(
    kernel: Front, widget: str, cell: str, error: str
) -> None:
    kernel.run(
        "import time\ndef react(data):\n    w.comm.send('handling')\n    while True: time.sleep(0.01)\n"
        "w.react = react"
    )
    id = kernel.begin(cell.format(grace=NEVER))
    kernel.wait_for_output(id, "waiting")
    click = kernel.click(widget, "endless")
    kernel.sent(click, "handling")
    kernel.interrupt()
    assert kernel.result(id).content["ename"] == error
    assert kernel.handled(click).states == ["busy", "idle"]
    assert kernel.run("print(stops)").text == "[1]\n"
    assert healthy(kernel)


@WAITS
def test_an_interrupt_unwinds_a_wait_within_a_wait(kernel: Front, widget: str, cell: str, error: str) -> None:
    kernel.run(
        "def react(data):\n    inner = Announced(lambda: w.comm.send('handling'))\n"
        "    wait(inner, on_interrupt=stopped, grace=0)\n"
        "w.react = react"
    )
    id = kernel.begin(cell.format(grace=NEVER))
    kernel.wait_for_output(id, "waiting")
    click = kernel.click(widget, "nested")
    kernel.sent(click, "handling")
    kernel.interrupt()
    assert kernel.result(id).content["ename"] == error
    assert kernel.run("print(stops)").text == "[1, 1]\n"
    assert healthy(kernel)


def test_waiting_keeps_the_kernels_signal_handler(kernel: Front, widget: str) -> None:
    handler = "signal.getsignal(signal.SIGINT)"
    cell = f"h = {handler}; print('waiting'); wait(w.future('go')); print(h is {handler})"
    id = kernel.begin(cell)
    kernel.wait_for_output(id, "waiting")
    kernel.click(widget, "go")
    assert kernel.result(id).text == "waiting\nTrue\n"


# ---- results and times


@pytest.mark.parametrize("how", ["wait(done)", "await wait_async(done)"])
def test_a_wait_returns_the_futures_result(kernel: Front, how: str) -> None:
    done = "done = Future(); threading.Thread(target=done.{}, args=[{}]).start()"
    assert kernel.run(f"{done.format('set_result', 7)}; print({how})").text == "7\n"
    assert kernel.run(f"{done.format('set_exception', 'KeyError()')}; {how}").content["ename"] == "KeyError"


def test_a_wait_ends_after_its_timeout(kernel: Front) -> None:
    assert kernel.run("wait(Future(), 0.05)").content["ename"] == "TimeoutError"
    assert kernel.run("wait(Future(), 0)").content["ename"] == "TimeoutError"


def test_other_threads_wait_without_pumping(kernel: Front, widget: str) -> None:
    kernel.run(
        "def other():\n    results.append(asyncio.run(wait_async(w.future('go'))))\n"
        "    results.append(wait(w.future('go')))\n"
        "results = []; thread = threading.Thread(target=other); thread.start()"
    )
    assert kernel.run("print(pump_is_off())").text == "True\n"
    kernel.click(widget, "go")
    assert kernel.run("thread.join(60); print(results)").text == "['go', 'go']\n"


# ---- work for the main thread


@pytest.mark.parametrize("how", ["wait(done)", "await wait_async(done)"])
def test_work_for_the_main_thread_is_done_while_it_waits(kernel: Front, how: str) -> None:
    job = "lambda: done.set_result(threading.current_thread() is threading.main_thread())"
    start = f"threading.Thread(target=run_on_main, args=[{job}]).start()"
    assert kernel.run(f"done = Future(); {start}; print({how})").text == "True\n"


def test_work_for_the_main_thread_does_not_wait_for_the_next_look(kernel: Front) -> None:
    kernel.run(
        "from acp_notebook.notebook import kernel as waits\n"
        "pauses = waits.FIRST_PAUSE_S, waits.LONGEST_PAUSE_S\n"
        "waits.FIRST_PAUSE_S = waits.LONGEST_PAUSE_S = 3600\n"
        "def three_in_turn(left):\n"
        "    if left:\n"
        "        threading.Thread(target=run_on_main, args=[lambda: three_in_turn(left - 1)]).start()\n"
        "    else:\n"
        "        done.set_result('done')"
    )
    try:
        assert kernel.run("done = Future(); three_in_turn(3); print(wait(done))").text == "done\n"
    finally:
        kernel.run("waits.FIRST_PAUSE_S, waits.LONGEST_PAUSE_S = pauses")


@pytest.mark.parametrize("how", ["wait(job)", "await wait_async(job)"])
def test_work_for_the_main_thread_is_kept_for_the_next_wait(kernel: Front, how: str) -> None:
    kernel.run("taken_back = run_on_main(lambda: 1 / 0); job = run_on_main(lambda: 'done')")
    kernel.run("taken_back.cancel()")
    assert kernel.run(f"print(job.done()); print({how}, taken_back.cancelled())").text == "False\ndone True\n"


@pytest.mark.parametrize("how", ["wait(done)", "await wait_async(done)"])
def test_the_user_can_be_asked_with_input_while_a_cell_waits(kernel: Front, how: str) -> None:
    ask = "run_on_main(lambda: done.set_result(input('allow? ')))"
    start = f"threading.Thread(target=lambda: {ask}).start()"
    id = kernel.begin(f"done = Future(); {start}; print({how})", allow_stdin=True)
    assert kernel.answer("yes") == "allow? "
    assert kernel.result(id).text == "yes\n"


@WAITS
def test_an_interrupt_ends_the_question_and_the_wait(
    kernel: Front, widget: str, cell: str, error: str
) -> None:
    kernel.run(
        "jobs = []; ask = lambda: jobs.append(run_on_main(lambda: input('allow? ')))\n"
        "w.react = lambda data: threading.Thread(target=ask).start()"
    )
    id = kernel.begin(cell.format(grace=NEVER), allow_stdin=True)
    kernel.wait_for_output(id, "waiting")
    kernel.click(widget, "ask")
    kernel.asked()
    kernel.interrupt()
    assert kernel.result(id).content["ename"] == error
    assert kernel.run("print(jobs[0].cancelled(), stops)").text == "True [1]\n"
    assert healthy(kernel)


FREE = """
def ask(work):
    "From another thread, as all who ask."
    made = Future()
    threading.Thread(target=lambda: made.set_result(run_when_free(work))).start()
    return made.result(60)
on_main = lambda: threading.current_thread() is threading.main_thread()
"""


def test_work_for_a_free_main_thread_is_done_between_cells(kernel: Front) -> None:
    """On the main thread, after the cell has ended, without our wait; never at the same time."""
    kernel.run(f"{FREE}\njob = ask(on_main); taken_back = ask(lambda: 1 / 0); taken_back.cancel()")
    assert kernel.run("print(job.result(60), taken_back.cancelled())").text == "True True\n"
    assert kernel.run("job = ask(on_main); print(job.done())").text == "False\n"


@pytest.mark.parametrize("how", ["wait(job)", "await wait_async(job)"])
def test_work_for_a_free_main_thread_is_done_once_by_a_wait(kernel: Front, how: str) -> None:
    kernel.run(f"{FREE}\ndone = []")
    assert kernel.run(f"job = ask(lambda: done.append(on_main())); {how}; print(done)").text == "[True]\n"
    assert kernel.run("print(done)").text == "[True]\n"


def test_an_interrupt_ends_work_that_keeps_a_free_main_thread(kernel: Front) -> None:
    begun = "lambda: (print('begun', flush=True), threading.Event().wait(60))"
    id = kernel.begin(f"{FREE}\njob = ask({begun})")
    kernel.wait_for_output(id, "begun")
    kernel.result(id)  # ipykernel 7.3 can lose a request that arrives while it sends a reply
    kernel.interrupt()
    assert kernel.run("print(job.cancelled())").text == "True\n"
    assert healthy(kernel)


# ---- where am I

SHOW = "p = where(); print(p.kernel, p.main_thread, p.headless, p.cell_id, p.can_input)"


@pytest.mark.parametrize("before", ["", "await asyncio.sleep(0); "], ids=["plain", "async"])
def test_a_cell_knows_that_it_has_a_page(kernel: Front, before: str) -> None:
    cell = before + SHOW
    assert kernel.run(cell, allow_stdin=True, cell_id="c7").text == "True True False c7 True\n"
    assert kernel.run(cell, allow_stdin=True).text == "True True None None True\n"
    assert kernel.run(cell, allow_stdin=False).text == "True True True None False\n"
    assert kernel.run(cell, allow_stdin=False, cell_id="c7").text == "True True True c7 False\n"


def test_a_thread_belongs_to_the_cell_but_cannot_ask(kernel: Front) -> None:
    thread = f"def other():\n    {SHOW}\nt = threading.Thread(target=other); t.start(); t.join()"
    assert kernel.run(thread, allow_stdin=True, cell_id="c7").text == "True False False c7 False\n"


@pytest.mark.parametrize("how", ["wait(w.future('go'))", "await wait_async(w.future('go'))"])
def test_a_click_handler_knows_that_a_user_is_present(kernel: Front, widget: str, how: str) -> None:
    kernel.run("places = []; w.react = lambda data: places.append(where())")
    kernel.handled(kernel.click(widget, "idle"))
    id = kernel.begin(f"print('waiting'); {how}; {SHOW}")
    kernel.wait_for_output(id, "waiting")
    kernel.click(widget, "go")
    assert kernel.result(id).text == "waiting\nTrue True True None False\n"
    shown = kernel.run("print({(p.headless, p.can_input) for p in places}, len(places))").text
    assert shown == "{(False, False)} 2\n"


def test_the_user_can_override_whether_anyone_is_present(kernel: Front) -> None:
    assert kernel.run("nb.set_headless(False); print(where().headless)").text == "False\n"
    assert kernel.run("os.environ['ACP_NOTEBOOK_HEADLESS'] = '1'; print(where().headless)").text == "False\n"
    page = {"allow_stdin": True, "cell_id": "c7"}
    assert kernel.run("nb.set_headless(None); print(where().headless)", **page).text == "True\n"
    assert (
        kernel.run("del os.environ['ACP_NOTEBOOK_HEADLESS']; print(where().headless)", **page).text
        == "False\n"
    )


def test_a_forked_copy_is_not_a_kernel(kernel: Front) -> None:
    code = (
        "import warnings; warnings.simplefilter('ignore')  # of forks in threaded processes\n"
        "read, write = os.pipe()\n"
        "if not (child := os.fork()):\n"
        "    try: os.write(write, repr((where().kernel, nb.pump_status()[:10])).encode())\n"
        "    finally: os._exit(0)\n"
        "os.waitpid(child, 0); print(os.read(read, 1000).decode())"
    )
    assert kernel.run(code).text == "(False, 'not needed')\n"
