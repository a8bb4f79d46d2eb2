"""Agents read the open notebook with its unsaved text, and edit it in place; nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import SHOTS, Open
from tests.browser.live_pages import set_source, sources, type_in, until, valid
from tests.browser.pages import LIMIT_S, NOTEBOOK
from tests.browser.saved_files import saved
from tests.waiting import wait_until

CONNECT = "import acp_notebook as acp\ns = acp.connect('demo', permissions='allow')"
SLEEP = """
import pathlib, time
print("busy")
while not pathlib.Path("go").exists():
    time.sleep(0.02)
pathlib.Path("go").unlink()
print("free")
"""

REPORT = """
import time
while not any("changed on disk" in getattr(item, "title", "") for item in s.transcript.items):
    time.sleep(0.02)
print("reported")
"""

each_host = pytest.mark.parametrize("host", ["lab", pytest.param("notebook", marks=pytest.mark.slow)])


@each_host
def test_an_agent_edits_inserts_and_deletes_while_the_user_writes(open_notebook: Open, host: str) -> None:
    cells = [CONNECT, "agent", "print('kept')", "mine", "old = 1", "gone"]
    notebook = open_notebook(cells, host=host)
    name = notebook.path.name
    prompts = [
        f"/nb edit {name} cell-4 new = 2",
        f"/nb insert {name} cell-4 inserted = 3",
        f"/nb delete {name} cell-5",
    ]
    set_source(notebook, 1, "\n".join(f"print(s.prompt({it!r}).text)" for it in prompts))
    notebook.wait_idle()
    notebook.run(0, 2)
    notebook.says(2, "kept")
    type_in(notebook, 3, " and not saved")
    notebook.run(1)
    kept = [sources(notebook)[0], sources(notebook)[1], "print('kept')", "mine and not saved"]
    until(notebook, [*kept, "new = 2", "inserted = 3"])
    notebook.says(1, "Wrote")
    wait_until(lambda: notebook.output(1).inner_text().count("Wrote `") == 3, "three turns", LIMIT_S)
    SHOTS.mkdir(parents=True, exist_ok=True)
    notebook.page.screenshot(path=SHOTS / f"live-{host}.png")
    saved(notebook)
    content = valid(notebook.path)
    assert [cell["source"] for cell in content.cells] == [*kept, "new = 2", "inserted = 3"]
    assert content.cells[2]["outputs"][0]["text"] == "kept\n"
    assert len({cell["id"] for cell in content.cells}) == 6
    # Undone as the user does, step by step: the deletion, the insertion, then the edit in its cell.
    notebook.page.keyboard.press("Escape")
    for expected in (["new = 2", "inserted = 3", "gone"], ["new = 2", "gone"]):
        notebook.command("notebook:undo-cell-action")
        until(notebook, [*kept, *expected])
    notebook.select(4)
    notebook.page.keyboard.press("Control+z")
    until(notebook, [*kept, "old = 1", "gone"])
    assert "mine and not saved" in sources(notebook)


@each_host
def test_one_write_of_several_changes_is_one_step_to_undo(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "agent", "mine", "old", "kept", "gone"], host=host)
    set_source(notebook, 1, f"s.prompt('/nb mix {notebook.path.name} cell-3 new');")
    type_in(notebook, 2, " and not saved")
    notebook.run(0, 1)
    notebook.has_status(1, "done")
    until(notebook, [*sources(notebook)[:2], "mine and not saved", "new", "inserted", "kept"])
    notebook.page.keyboard.press("Escape")
    notebook.command("notebook:undo-cell-action")
    until(notebook, [*sources(notebook)[:2], "mine and not saved", "old", "kept", "gone"])
    notebook.command("notebook:redo-cell-action")
    until(notebook, [*sources(notebook)[:2], "mine and not saved", "new", "inserted", "kept"])
    saved(notebook)
    content = valid(notebook.path)
    assert [cell["source"] for cell in content.cells] == sources(notebook)


@pytest.mark.slow
@each_host
def test_the_agent_reads_unsaved_text(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "agent", "mine"], host=host)
    type_in(notebook, 2, " + not saved")
    set_source(notebook, 1, f"print(s.prompt('/nb read {notebook.path.name}').text)")
    notebook.run(0, 1)
    notebook.says(1, "mine + not saved")
    assert "not saved" not in notebook.path.read_text()


@each_host
def test_a_prompt_includes_unsaved_text(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "agent", "mine"], host=host)
    name = notebook.path.name
    look = "[it.text for it in s.transcript.items[0].prompt if it.type == 'resource']"
    set_source(notebook, 1, f"from pathlib import Path\ns.prompt('see', Path({name!r}));\nprint({look})")
    type_in(notebook, 2, " and not saved")
    notebook.run(0, 1)
    notebook.says(1, "mine and not saved")
    assert "mine and not saved" not in notebook.path.read_text()


@pytest.mark.slow
@each_host
def test_a_cell_changed_by_both_is_a_conflict(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "agent", "mine"], host=host)
    wait = notebook.path.parent / "nb-wait"
    wait.touch()
    name = notebook.path.name
    try:
        set_source(notebook, 1, f"print(s.prompt('/nb edit {name} cell-2 theirs').text)")
        notebook.run(0, 1)
        wait_until(lambda: wait.read_text() == "read", "the agent has read the notebook", LIMIT_S)
        type_in(notebook, 2, " of the user")
    finally:
        wait.unlink()
    notebook.says(1, "unchanged")
    notebook.says(1, "it was changed since you read it")
    assert sources(notebook)[2] == "mine of the user"


@pytest.mark.parametrize(
    ("kernel", "comms", "host"),
    [
        ("newest", "default", "lab"),
        pytest.param("newest", "default", "notebook", marks=pytest.mark.slow),
        pytest.param("newest", "disabled", "lab", marks=pytest.mark.slow),
        pytest.param("6.29", "default", "lab", marks=pytest.mark.slow),
    ],
)
def test_while_the_users_own_code_blocks_the_kernel(
    open_notebook: Open, kernel: str, comms: str, host: str
) -> None:
    """Where the page's answers arrive all is done at once; elsewhere it is refused, and nothing is lost."""
    connect = CONNECT.replace("permissions", f"audit='{kernel}-{comms}-{host}', permissions")
    cells = [connect, "start", SLEEP, "again", "old = 1", "mine"]
    notebook = open_notebook(cells, kernel=kernel, comms=comms, host=host)
    prompt = f"/nb edit {notebook.path.name} cell-4 new = 2"
    set_source(notebook, 1, f"s.notebook.path; turn = s.start({prompt!r})")
    set_source(notebook, 3, "print(turn.wait().text)")
    saved(notebook)
    wait = notebook.path.parent / "nb-wait"
    wait.touch()
    notebook.run(0, 1, 2)
    notebook.says(2, "busy")
    type_in(notebook, 5, " and not saved")
    wait.unlink()
    reached = kernel == "newest" and comms == "default"
    if reached:
        until(notebook, [*sources(notebook)[:4], "new = 2", "mine and not saved"])
    else:
        audit = notebook.path.parent / f"{kernel}-{comms}-{host}"
        wait_until(lambda: "open and busy" in audit.read_text(), "the write is refused", LIMIT_S)
    Path(notebook.path.parent, "go").touch()
    notebook.says(2, "free")
    notebook.run(3)
    notebook.says(3, "Wrote" if reached else "open and busy")
    expected = "new = 2" if reached else "old = 1"
    assert sources(notebook)[4:] == [expected, "mine and not saved"]
    content = saved(notebook)
    valid(notebook.path)
    assert ["".join(cell["source"]) for cell in content["cells"]] == sources(notebook)


@each_host
def test_session_notebook(open_notebook: Open, host: str) -> None:
    script = """
n = s.notebook
ids = [cell.id for cell in n.cells]
new = n.insert("x = 1", after=ids[-1])
n.replace(ids[2], "b = 22")
n.move(ids[2], after=new)
n.delete(ids[3])
n.save()
print([(cell.id == new, cell.type, cell.source) for cell in n.cells[2:]], n.path, n.dirty)
"""
    notebook = open_notebook([CONNECT, script, "b = 2", "c = 3", "d = 4"], host=host)
    notebook.run(0, 1)
    notebook.says(1, "[(False, 'code', 'd = 4'), (True, 'code', 'x = 1'), (False, 'code', 'b = 22')]")
    assert sources(notebook)[2:] == ["d = 4", "x = 1", "b = 22"]
    content = valid(notebook.path)
    assert [cell["source"] for cell in content.cells][2:] == ["d = 4", "x = 1", "b = 22"]


@pytest.mark.slow
@each_host
def test_an_agents_change_on_disk_appears_in_the_tab(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "first", "second", "theirs", "mine"], host=host)
    name = notebook.path.name
    set_source(notebook, 1, "s.prompt('hello');")
    set_source(notebook, 2, f"print(s.prompt('/nb disk {name} cell-3 from disk').text)")
    saved(notebook)
    notebook.run(0, 1)
    notebook.has_status(1, "done")
    type_in(notebook, 4, " and not saved")
    notebook.run(2)
    until(notebook, [*sources(notebook)[:3], "from disk", "mine and not saved"])
    notebook.says(2, "on disk")
    saved(notebook)  # nobody is asked whether to overwrite: the tab knows the file
    expect(notebook.page.locator(".jp-Dialog")).to_have_count(0)
    assert [cell["source"] for cell in valid(notebook.path).cells][3:] == ["from disk", "mine and not saved"]


@pytest.mark.slow
@each_host
def test_both_changed_the_same_cell_on_disk_and_in_the_tab(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "first", "second", "shared", REPORT], host=host)
    name = notebook.path.name
    set_source(notebook, 1, "s.prompt('hello');")
    set_source(notebook, 2, f"s.prompt('/nb disk {name} cell-3 from disk');")
    saved(notebook)
    notebook.run(0, 1)
    notebook.has_status(1, "done")
    type_in(notebook, 3, " by the user")
    notebook.run(2, 4)
    notebook.says(4, "reported")
    assert sources(notebook)[3] == "shared by the user"
    assert "from disk" in json.dumps(json.loads(notebook.path.read_text()))


@pytest.mark.slow
@each_host
def test_a_code_block_becomes_a_cell_below(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "s.prompt('/markdown');", "after"], host=host)
    notebook.run(0, 1)
    notebook.has_status(1, "done")
    notebook.turn(1).get_by_role("button", name="Insert as cell below").first.click()
    wait_until(lambda: len(sources(notebook)) == 4, "there is a cell more", LIMIT_S)
    assert sources(notebook)[3] == "after"
    assert sources(notebook)[2].strip()
    notebook.page.keyboard.press("Escape")
    notebook.command("notebook:undo-cell-action")
    until(notebook, [CONNECT, "s.prompt('/markdown');", "after"])


@pytest.mark.slow
@each_host
def test_emptying_the_open_notebook_asks_first_despite_any_allow(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([f"{CONNECT}\ns", "mine", "theirs"], host=host)
    before = sources(notebook)
    notebook.run(0)
    panel = notebook.panel(0)
    expect(panel.get_by_role("textbox")).to_be_enabled()
    for kind, expected in (("reject_once", before), ("allow_once", [])):
        notebook.prompt(0, f"/nb clear {notebook.path.name}")
        option = panel.locator(f'[data-acp-option][data-kind="{kind}"]').last
        option.click()
        if expected:
            expect(panel.locator("[data-acp-turn]").last).to_contain_text("is unchanged")
            until(notebook, before)
    # The last cell that goes leaves an empty one, as a notebook without cells cannot be shown.
    wait_until(lambda: not set(before) & set(sources(notebook)), "it is empty", LIMIT_S)
    notebook.command("notebook:undo-cell-action")
    wait_until(lambda: set(before) <= set(sources(notebook)), "all is back", LIMIT_S)


@pytest.mark.slow
@each_host
def test_the_cell_that_asks_cannot_be_deleted(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "agent", "mine"], host=host)
    set_source(notebook, 1, f"print(s.prompt('/nb delete {notebook.path.name} cell-1').text)")
    before = sources(notebook)
    notebook.run(0, 1)
    notebook.says(1, "the cell whose prompt is running cannot be deleted")
    assert sources(notebook) == before


@pytest.mark.slow
@each_host
def test_a_notebook_in_an_old_format_without_cell_ids(open_notebook: Open, host: str) -> None:
    """Two of them say the same: the one that was meant is changed."""
    notebook = open_notebook([CONNECT, "agent", "twin", "between", "twin", "mine"], host=host)
    old = json.loads(notebook.path.read_text())
    for cell in old["cells"]:
        del cell["id"]
    notebook.page.close()
    notebook.path.write_text(json.dumps(old | {"nbformat_minor": 2}))
    notebook.reopen()
    notebook.wait_idle()
    set_source(notebook, 1, f"print(s.prompt('/nb edit {notebook.path.name} 4 changed').text)")
    type_in(notebook, 5, " and not saved")
    notebook.run(0, 1)
    notebook.says(1, "Wrote")
    until(notebook, [*sources(notebook)[:2], "twin", "between", "changed", "mine and not saved"])
    saved(notebook)
    assert [cell["source"] for cell in valid(notebook.path).cells] == sources(notebook)


@pytest.mark.slow
@each_host
def test_a_notebook_with_invalid_cell_ids(open_notebook: Open, host: str) -> None:
    """Hosts keep them as they are: the agent's edits find their cells all the same."""
    notebook = open_notebook([CONNECT, "agent", "long", "number", "mine"], host=host)
    odd = json.loads(notebook.path.read_text())
    odd["cells"][2]["id"], odd["cells"][3]["id"] = "x" * 80, 7
    notebook.page.close()
    notebook.path.write_text(json.dumps(odd))
    notebook.reopen()
    notebook.wait_idle()
    name = notebook.path.name
    prompts = [f"/nb edit {name} {at} {text}" for at, text in ((2, "LONG"), (3, "NUMBER"))]
    set_source(notebook, 1, "\n".join(f"print(s.prompt({it!r}).text)" for it in prompts))
    type_in(notebook, 4, " and not saved")
    notebook.run(0, 1)
    until(notebook, [*sources(notebook)[:2], "LONG", "NUMBER", "mine and not saved"])


RENDERED = f"""() => {NOTEBOOK}.content.widgets.filter((it) => it.model.type === "markdown")
    .map((it) => [it.model.sharedModel.getSource(), it.rendered])"""


@each_host
def test_remote_content_of_a_markdown_cell_waits_for_the_user(open_notebook: Open, host: str) -> None:
    notebook = open_notebook([CONNECT, "agent", "mine"], host=host)
    name, page, asked = notebook.path.name, notebook.page, list[str]()

    def refuse(route: Route) -> None:
        asked.append(route.request.url)
        route.abort()

    page.route("http://evil.example/**", refuse)
    inserted, plain = "New ![x](http://evil.example/a.png)", "# Plain"
    changed = 'Changed <img src="http://evil.example/b.png">'
    prompts = [f"/nb note {name} 1 {inserted}", f"/nb note {name} 2 {plain}"]
    set_source(notebook, 1, "\n".join(f"s.prompt({it!r});" for it in prompts))
    notebook.wait_idle()
    notebook.run(0, 1)
    rendered = {inserted: False, plain: True}
    wait_until(lambda: dict(page.evaluate(RENDERED)) == rendered, f"{rendered}", LIMIT_S)
    notebook.says(1, "a markdown cell with remote content is not rendered")
    expect(page.get_by_role("heading", name="Plain")).to_be_visible()

    set_source(notebook, 1, f"s.prompt({f'/nb edit {name} 3 {changed}'!r});")
    notebook.run(1)
    rendered = {inserted: False, changed: False}
    wait_until(lambda: dict(page.evaluate(RENDERED)) == rendered, f"{rendered}", LIMIT_S)
    notebook.has_status(1, "done")
    assert asked == []

    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"unrendered-{host}.png")
    notebook.run(2, 3)  # now the user does
    both = {f"http://evil.example/{it}.png" for it in "ab"}
    wait_until(lambda: set(asked) == both, "both are loaded", LIMIT_S)
