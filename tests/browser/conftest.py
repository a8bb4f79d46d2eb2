"""Servers for each worker, a browser for each module, notebooks for each test.

A browser lasts for one module only: Playwright's loop runs on the test's thread, and other tests run loops
of their own there.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import count, product
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Error, expect, sync_playwright

from dev import CHROMIUM_CURE, CHROMIUM_NAMES
from tests.browser.pages import LIMIT_S, NotebookPage, launched
from tests.browser.servers import KERNELS, THEMES, Server, started
from tests.notebook.kernels import ROOT, VERSIONS, CannotMake

HOSTS = ("lab", "notebook")

COMMS = ("default", "disabled")
"""How the page sends clicks: to a subshell, if the kernel has them, or like VS Code."""

COMBINED: dict[str, Sequence[Sequence[str]]] = {
    "form_on": (("prompt", "await", "start"), tuple(VERSIONS), COMMS, ("lab", "notebook")),
    "wait_on": (("prompt", "await"), tuple(VERSIONS), COMMS, ("lab", "notebook")),
    "return_on": (("reload", "reopen"), tuple(VERSIONS), COMMS, ("lab", "notebook")),
    "kernel_on": (tuple(VERSIONS), COMMS, ("lab", "notebook")),
}
"""Test arguments that are combinations of these."""

SHOTS = Path(os.environ.get("ACP_TEST_SCREENSHOTS") or ROOT / ".cache" / "screenshots")

EVERY_RUN = {
    "test_question_and_stop",
    "test_two_sessions_at_once",
    "test_interrupt",
    "test_interrupt_of_an_agent_that_ignores_it",
    "test_a_question_is_answered_while_a_cell_blocks",
    "test_a_page_is_reloaded",
    "test_the_kernel_restarts_in_mid_turn",
    "test_nothing_is_lost_and_nothing_reordered",
    "test_saved_in_mid_turn_and_at_its_end",
    "test_saved_after_the_kernel_is_gone",
    "test_a_reloaded_page_is_live_and_clean",
    "test_the_tour",
    "test_hostile_text_stays_text",
    "test_no_violation",
    "test_answer_a_question",
    "test_an_agent_edits_inserts_and_deletes_while_the_user_writes",
    "test_undo_a_hunk_a_file_a_turn_and_redo",
    "test_fill_in_a_form_by_keyboard",
    "test_a_cloned_project_is_reported_and_inert_until_trusted",
    "test_a_location_opens_the_file_at_its_line",
    "test_a_command_answers_no_question_that_is_not_seen",
    "test_a_kernel_without_the_package_says_what_to_install",
    "test_a_question_of_the_inner_agent_is_answered_in_the_card_of_the_call",
    "test_two_agents_in_one_table_are_compared_and_the_best_is_applied_and_undone",
    "test_code_below_a_cell_that_waits_is_asked_about_shown_and_kept",
    "test_the_switch_takes_the_tools_away_and_gives_them_back",
    "test_a_fan_out_is_a_live_table_that_can_be_opened_stopped_and_saved",
    "test_the_search_finds_what_is_not_drawn",
    "test_a_remote_agent_is_reconnected_and_says_what_is_off",
}
"""The combinations of every run; all of them would take too long and are for --full."""

IN_TURN = {"test_saving.py", "test_views.py", "test_streaming.py", "test_slow_page.py"}
"""Modules whose tests run in one host by default, alternating; others mark slow tests themselves."""

FAILED = pytest.StashKey[bool]()

TEST_S = 900.0
"""The timeout of a whole test."""

Open = Callable[..., NotebookPage]


def each_once(parameters: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Combinations in which every value occurs at least once."""
    most = max(map(len, parameters))
    return [tuple(values[at % len(values)] for values in parameters) for at in range(most)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """All combinations; in every run each value occurs once, the others are slow."""
    for argument, parameters in COMBINED.items():
        if argument in metafunc.fixturenames:
            chosen = set(each_once(parameters))
            every = [
                pytest.param(it, id="-".join(it), marks=() if it in chosen else pytest.mark.slow)
                for it in product(*parameters)
            ]
            metafunc.parametrize(argument, every)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


def missing(why: str) -> None:
    """Skip on a user's machine; in CI, everything must run."""
    if os.environ.get("CI") == "true":
        pytest.fail(why, pytrace=False)
    pytest.skip(why)


@pytest.fixture(scope="session")
def chromium() -> str:
    found = os.environ.get("ACP_TEST_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if found is None:
        missing(f"no Chromium here; to install one: {CHROMIUM_CURE}")
    return str(found)


@pytest.fixture(scope="session")
def servers(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Server]]:
    """Returns the server of a host, started on first use."""
    running: dict[str, Server] = {}
    with ExitStack() as stack:

        def server(host: str) -> Server:
            if host not in running:
                running[host] = stack.enter_context(started(host, tmp_path_factory.mktemp(host)))
            return running[host]

        yield server


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[BrowserContext]:
    """One profile for all pages of a module: Jupyter's own code is loaded and compiled once."""
    expect.set_options(timeout=LIMIT_S * 1000)
    with sync_playwright() as playwright:
        browser = launched(playwright, chromium)
        yield browser.new_context()
        browser.close()


@pytest.fixture
def open_notebook(
    browser: BrowserContext, servers: Callable[[str], Server], request: pytest.FixtureRequest
) -> Iterator[Open]:
    """Opens a notebook with these cells; a kernel starts with it."""
    name = re.sub(r"[^\w.]+", "-", request.node.name).strip("-")
    numbers = count(1)
    with ExitStack() as stack:

        def open(
            cells: list[str],
            *,
            host: str = "lab",
            kernel: str = "newest",
            comms: str = "default",
            theme: str = "JupyterLab Light",
            size: tuple[int, int] = (1200, 1400),
        ) -> NotebookPage:
            server = servers(host)
            try:
                path = server.add_notebook(f"{name}-{next(numbers)}", kernel, cells)
            except CannotMake as error:
                missing(f"no kernel to test with: {error}")
            setting = "perCommTarget" if comms == "default" else comms
            server.set(KERNELS, commsOverSubshells=setting)
            server.set(THEMES, theme=theme)
            server.forget_layout()
            stack.callback(server.remove_files)
            stack.callback(server.end_kernels)
            opened = NotebookPage(browser, server, path, setting, size)
            stack.callback(opened.close)
            stack.callback(keep_shot, request.node, opened)
            return opened

        yield open


def keep_shot(item: pytest.Item, opened: NotebookPage) -> None:
    """Save a screenshot of the page when a test has failed."""
    if item.stash.get(FAILED, False):
        SHOTS.mkdir(parents=True, exist_ok=True)
        path = SHOTS / f"{opened.path.stem}.png"
        with suppress(Error):  # the page may be what failed
            opened.page.screenshot(path=path)
            print(f"screenshot: {path}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what is slow, and gives each test its time.

    A page, a server and a kernel take their time on a busy machine; each wait is bounded anyway.
    """
    tests: dict[str, int] = {}
    for item in items:
        if item.path.parent != Path(__file__).parent or not isinstance(item, pytest.Function):
            continue
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TEST_S))
        host = item.callspec.params.get("host") if hasattr(item, "callspec") else None
        number = tests.setdefault(item.originalname, len(tests))
        elsewhere = item.path.name in IN_TURN and host in HOSTS and host != HOSTS[number % 2]
        if elsewhere or item.originalname not in EVERY_RUN:
            item.add_marker(pytest.mark.slow)
