"""Grants survive any crash, are shared by all kernels, and count only if the user alone can write them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.agent import locked_file
from acp_notebook.agent.permissions.grant_store import FILE_NAME, GrantStore, SessionGrants
from acp_notebook.agent.user_dirs import config_folder
from acp_notebook.core.actions import FileAccess
from acp_notebook.core.grants import Offer

ROOT = Path(acp.__file__).parent.parent
HOME = "/a/proj"
EDIT = FileAccess("edit", f"{HOME}/x.py")
HERE = {"agent": "an agent", "workspace": HOME}


def offer(**fields: Any) -> Offer:
    known: dict[str, Any] = {
        "id": "acp:workspace",
        "name": "",
        "scope": "workspace",
        "kind": "edit",
        "path": HOME,
    }
    return Offer(**known | fields)


def command(line: str) -> Offer:
    return offer(kind="execute", command=line)


@pytest.fixture
def store(tmp_path: Path) -> GrantStore:
    return GrantStore(tmp_path / "config")


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o002)  # a common umask, with which files would be group-writable by default
    yield
    os.umask(before)


def put(store: GrantStore, data: bytes) -> None:
    store.folder.mkdir(mode=0o700, exist_ok=True)
    store.path.write_bytes(data)
    store.path.chmod(0o600)


def file_of(store: GrantStore) -> Any:
    return json.loads(store.path.read_text())


def others(store: GrantStore) -> list[str]:
    return sorted(it.name for it in store.folder.iterdir() if it.name not in (FILE_NAME, f"{FILE_NAME}.lock"))


# ---- remembered ----------------------------------------------------------------------------------


def test_reading_without_a_file_creates_nothing(store: GrantStore) -> None:
    assert store.grants() == () and store.warning is None and store.find("an agent", HOME, EDIT) is None
    assert not store.folder.exists()
    assert store.revoke("g1") is False and store.revoke_all() == 0 and not store.path.exists()


def test_a_grant_is_stored_in_a_file_only_the_user_can_read(store: GrantStore) -> None:
    grant = store.add(offer(), **HERE)
    assert GrantStore(store.folder).grants() == (grant,)
    assert store.find("an agent", HOME, EDIT) == grant
    assert store.find("another", HOME, EDIT) is None
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((store.folder / f"{FILE_NAME}.lock").stat().st_mode) == 0o600
    assert others(store) == []
    assert grant.id.startswith("g") and grant.created.endswith("+00:00")


def test_an_equal_grant_is_stored_once(store: GrantStore) -> None:
    first, second = store.add(offer(), **HERE), store.add(offer(), **HERE)
    assert first == second and len(store.grants()) == 1
    store.add(command("ls"), **HERE)
    store.add(command("ls "), **HERE)
    assert len(store.grants()) == 3


def test_a_revocation_by_another_process_takes_effect_immediately(store: GrantStore) -> None:
    other = GrantStore(store.folder)
    for _ in range(20):  # so fast that the files may have the same time, size and inode
        grant = other.add(offer(), **HERE)
        assert store.find("an agent", HOME, EDIT) == grant
        assert other.revoke(grant.id) is True
        assert store.find("an agent", HOME, EDIT) is None
    assert other.revoke(grant.id) is False


def test_all_are_revoked_together(store: GrantStore) -> None:
    for line in ("a", "b", "c"):
        store.add(command(line), **HERE)
    assert store.revoke_all() == 3 and store.grants() == () and store.revoke_all() == 0


def test_the_scope_always_stores_no_workspace(store: GrantStore) -> None:
    grant = store.add(offer(scope="always"), **HERE)
    assert grant.workspace is None and store.find("an agent", "/elsewhere", EDIT) == grant


@pytest.mark.parametrize(
    "bad",
    [
        offer(scope="once"),
        offer(scope="session"),
        offer(kind="fetch"),
        offer(path="rel"),
        offer(kind="execute"),
    ],
)
def test_temporary_grants_are_not_written(store: GrantStore, bad: Offer) -> None:
    with pytest.raises(acp.UsageError):
        store.add(bad, **HERE)
    assert not store.path.exists()


def test_names_that_are_not_unicode_are_read_back(store: GrantStore) -> None:
    odd = "/a/\udcff\n\u202e"
    store.add(offer(path=odd), **HERE)
    assert GrantStore(store.folder).find("an agent", HOME, FileAccess("edit", f"{odd}/x")) is not None


def test_no_grant_covers_the_grant_file(tmp_path: Path) -> None:
    home = os.path.realpath(tmp_path)
    store, session = GrantStore(tmp_path / "c"), SessionGrants(tmp_path / "c")
    store.add(offer(path=home), agent="an agent", workspace=home)
    session.add(offer(scope="session", path=None), agent="an agent", workspace=home)
    for it in (store, session):
        assert it.find("an agent", home, FileAccess("edit", f"{home}/x")) is not None
        assert it.find("an agent", home, FileAccess("edit", f"{home}/c/{FILE_NAME}")) is None
        assert it.find("an agent", home, FileAccess("edit", f"{home}/c")) is None


def test_the_location_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert config_folder({}) == Path("/home/somebody/.config/acp_notebook")
    assert config_folder({"XDG_CONFIG_HOME": "/x"}) == Path("/x/acp_notebook")
    assert config_folder({"XDG_CONFIG_HOME": "rel"}) == Path("/home/somebody/.config/acp_notebook")
    assert config_folder({"XDG_CONFIG_HOME": "/x", "ACP_NOTEBOOK_CONFIG": "/y"}) == Path("/y")
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(tmp_path))
    assert GrantStore().path == tmp_path / FILE_NAME


# ---- in a session --------------------------------------------------------------------------------


def test_a_sessions_grants_live_in_memory(tmp_path: Path) -> None:
    session, another = SessionGrants(tmp_path), SessionGrants(tmp_path)
    grant = session.add(offer(scope="session", path=None), **HERE)
    assert session.add(offer(scope="session", path=None), **HERE) == grant and list(session) == [grant]
    assert session.find("an agent", HOME, EDIT) == grant and another.find("an agent", HOME, EDIT) is None
    assert session.find("an agent", HOME, FileAccess("edit", "/other/x"), ["/other"]) == grant
    assert session.revoke(grant.id) and not session.revoke(grant.id)
    assert session.find("an agent", HOME, EDIT) is None
    for scope in ("once", "workspace", "always"):
        with pytest.raises(acp.UsageError):
            session.add(offer(scope=scope), **HERE)
    assert list(tmp_path.iterdir()) == []


# ---- damaged, foreign, newer ---------------------------------------------------------------------

DAMAGED = [
    b"",
    b"{",
    b"\0" * 100,
    b"\xff\xfe",
    b"null",
    b"[]",
    b"5",
    b"{}",
    b'{"grants": []}',
    b'{"acp_permissions": 1}',
    b'{"acp_permissions": 1, "grants": {}}',
    b'{"acp_permissions": "1", "grants": []}',
    b'{"acp_permissions": 0, "grants": []}',
    b"[" * 100_000,
    b"9" * 5000,
]


@pytest.mark.parametrize("data", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_file_grants_nothing_is_reported_and_kept(store: GrantStore, data: bytes) -> None:
    put(store, data)
    assert store.grants() == () and "damaged" in str(store.warning)
    assert store.revoke("g1") is False and store.revoke_all() == 0
    assert store.path.read_bytes() == data and others(store) == []
    grant = store.add(offer(), **HERE)
    assert store.grants() == (grant,) and store.warning is None
    [copy] = others(store)
    assert (store.folder / copy).read_bytes() == data and copy.endswith(".damaged")
    assert stat.S_IMODE((store.folder / copy).stat().st_mode) == 0o600


def test_a_truncated_file_grants_only_complete_entries(store: GrantStore) -> None:
    store.add(offer(), **HERE)
    whole = store.path.read_bytes()
    for length in range(len(whole) - 2):
        put(store, whole[:length])
        assert store.grants() == () and store.warning is not None


def test_an_invalid_grant_stays_and_does_not_affect_others(store: GrantStore) -> None:
    good = store.add(offer(), **HERE)
    wrong: list[Any] = [
        5,
        {"id": "w", "kind": "edit"},
        {**file_of(store)["grants"][0], "id": "s", "scope": "session"},
    ]
    put(store, json.dumps({**file_of(store), "grants": [*wrong, *file_of(store)["grants"]]}).encode())
    assert store.grants() == (good,)
    assert str(store.warning).count("grants nothing") == 3
    store.add(command("ls"), **HERE)
    assert file_of(store)["grants"][:3] == wrong
    assert store.revoke("w") is True and len(file_of(store)["grants"]) == 4


def test_unknown_fields_are_kept(store: GrantStore) -> None:
    store.add(offer(), **HERE)
    value = file_of(store)
    value["theme"] = {"a": [1]}
    value["grants"][0]["note"] = "mine"
    put(store, json.dumps(value).encode())
    second = store.add(command("ls"), **HERE)
    store.revoke(second.id)
    assert file_of(store) == value and len(store.grants()) == 1


def untouched(store: GrantStore, why: str) -> None:
    assert store.grants() == () and store.find("an agent", HOME, EDIT) is None
    assert why in str(store.warning)
    for change in (lambda: store.add(command("x"), **HERE), store.revoke_all, lambda: store.revoke("g")):
        with pytest.raises(acp.Error, match="nothing was changed"):
            change()


def test_a_newer_format_is_neither_read_nor_overwritten(store: GrantStore) -> None:
    put(store, b'{"acp_permissions": 2, "grants": []}')
    untouched(store, "newer version")
    assert store.path.read_bytes() == b'{"acp_permissions": 2, "grants": []}'


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o660])
def test_a_file_that_others_can_write_is_not_trusted(store: GrantStore, mode: int) -> None:
    store.add(offer(), **HERE)
    before = store.path.read_bytes()
    store.path.chmod(mode)
    untouched(store, "chmod 600")
    assert store.path.read_bytes() == before
    store.path.chmod(0o600)
    assert len(store.grants()) == 1


@pytest.mark.parametrize("mode", [0o770, 0o777, 0o702])
def test_a_folder_that_others_can_write_is_not_trusted(store: GrantStore, mode: int) -> None:
    store.add(offer(), **HERE)
    store.folder.chmod(mode)
    untouched(store, "chmod 700")


def test_a_file_of_another_user_is_not_trusted(store: GrantStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.add(offer(), **HERE)
    somebody = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: somebody)
    untouched(store, "another user")


def test_links_pipes_folders_and_huge_files_are_not_trusted(store: GrantStore, tmp_path: Path) -> None:
    elsewhere = GrantStore(tmp_path / "elsewhere")
    elsewhere.add(offer(), **HERE)
    store.folder.mkdir(mode=0o700)
    store.path.symlink_to(elsewhere.path)
    untouched(store, "symbolic link")
    store.path.unlink()
    os.mkfifo(store.path, 0o600)
    untouched(store, "not a regular file")
    store.path.unlink()
    store.path.mkdir(0o700)
    untouched(store, "not a regular file")
    store.path.rmdir()
    with store.path.open("wb") as file:
        file.truncate(locked_file.MAX_BYTES + 1)
    store.path.chmod(0o600)
    untouched(store, "bigger than")


def test_a_disk_error_keeps_the_old_file(store: GrantStore, monkeypatch: pytest.MonkeyPatch) -> None:
    grant = store.add(offer(), **HERE)

    def full(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, full)
            with pytest.raises(acp.Error, match="No space left"):
                store.add(command("ls"), **HERE)
        assert store.grants() == (grant,) and others(store) == []


# ---- several kernels, crashes --------------------------------------------------------------------


def script(store: GrantStore, code: str, *args: str, **options: Any) -> subprocess.Popen[str]:
    head = (
        "import json, os, signal, sys\n"
        "from pathlib import Path\n"
        "from acp_notebook.agent import locked_file\n"
        "from acp_notebook.agent.permissions import grant_store\n"
        "from acp_notebook.agent.permissions.grant_store import GrantStore\n"
        "from acp_notebook.core.grants import Offer\n"
        "store = GrantStore(Path(sys.argv[1]))\n"
        "def add(line):\n"
        "    offer = Offer(id='', name='', scope='workspace', kind='execute', path='/a', command=line)\n"
        "    return store.add(offer, agent='an agent', workspace='/a')\n"
    )
    command = [sys.executable, "-c", head + code, str(store.folder), *args]
    return subprocess.Popen(
        command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options
    )


def test_two_kernels_that_add_and_revoke_lose_nothing(store: GrantStore) -> None:
    code = (
        "print('ready', flush=True); sys.stdin.readline()\n"
        "for number in range(40):\n"
        "    grant = add(f'{sys.argv[2]} {number}')\n"
        "    if number % 2: assert store.revoke(grant.id)\n"
    )
    kernels = [script(store, code, name) for name in ("one", "two")]
    for kernel in kernels:
        assert kernel.stdout is not None and kernel.stdout.readline() == "ready\n"
    for kernel in kernels:
        assert kernel.stdin is not None
        kernel.stdin.write("go\n")
        kernel.stdin.flush()
    for kernel in kernels:
        kernel.communicate(timeout=60)
        assert kernel.returncode == 0
    left = {str(grant.command) for grant in store.grants()}
    assert left == {f"{name} {number}" for name in ("one", "two") for number in range(0, 40, 2)}
    assert len({grant.id for grant in store.grants()}) == 40 and others(store) == []


def test_a_kill_at_any_line_leaves_the_old_or_the_new_file(store: GrantStore) -> None:
    """Kill a fork of the process before its n-th line of the store's code, for every n."""
    code = (
        "def killed_at(moment):\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        count = 0\n"
        "        def trace(frame, event, arg):\n"
        "            nonlocal count\n"
        "            files = grant_store.__file__, locked_file.__file__\n"
        "            if frame.f_code.co_filename not in files: return None\n"
        "            count += event == 'line'\n"
        "            if count == moment: os.kill(os.getpid(), signal.SIGKILL)\n"
        "            return trace\n"
        "        sys.settrace(trace)\n"
        "        add('new')\n"
        "        os._exit(0)\n"
        "    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\n"
        "add('old')\n"
        "moment, seen = 0, []\n"
        "while True:\n"
        "    moment += 1\n"
        "    code = killed_at(moment)\n"
        "    lines = [grant.command for grant in store.grants()]\n"
        "    assert store.warning is None and lines in (['old'], ['old', 'new']), (moment, lines)\n"
        "    seen.append(len(lines))\n"
        "    for grant in store.grants()[1:]: assert store.revoke(grant.id)\n"
        "    if code == 0: break\n"
        "    assert code == -signal.SIGKILL\n"
        "add('after')\n"
        "print(json.dumps(seen))\n"
    )
    run = script(store, code)
    output = run.communicate(timeout=100)[0]
    assert run.returncode == 0
    seen = json.loads(output)
    assert len(seen) > 60 and seen[0] == 1 and seen[-1] == 2 and set(seen) == {1, 2}
    assert [grant.command for grant in store.grants()] == ["old", "after"] and others(store) == []


def test_a_kill_at_any_moment_leaves_a_complete_file(store: GrantStore) -> None:
    """Kill a fork, also inside system calls, while it changes the file continuously."""
    code = (
        "import random, select\n"
        "add('stays')\n"
        "for _ in range(60):\n"
        "    here, there = os.pipe()\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        while True:\n"
        "            grant = add('comes and goes' * 200)\n"
        "            os.write(there, b'.')\n"
        "            store.revoke(grant.id)\n"
        "    os.read(here, 1)\n"
        "    select.select([], [], [], random.random() * 0.02)\n"
        "    os.kill(pid, signal.SIGKILL)\n"
        "    os.waitpid(pid, 0); os.close(here); os.close(there)\n"
        "    lines = [grant.command for grant in store.grants()]\n"
        "    assert store.warning is None and lines[0] == 'stays' and len(lines) <= 2, lines\n"
        "for grant in store.grants()[1:]: store.revoke(grant.id)\n"
        "add('after')\n"
    )
    run = script(store, code)
    run.communicate(timeout=100)
    assert run.returncode == 0
    assert [grant.command for grant in store.grants()] == ["stays", "after"] and others(store) == []


def test_a_lock_that_is_never_released_is_an_error_not_a_hang(store: GrantStore) -> None:
    import fcntl

    grant = store.add(offer(), **HERE)
    timeouts.replace(file_lock=0.05)
    with (store.folder / f"{FILE_NAME}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(acp.Error, match="locked by another process"):
            store.add(command("ls"), **HERE)
        assert store.find("an agent", HOME, EDIT) == grant  # reading needs no lock
    store.add(command("ls"), **HERE)
