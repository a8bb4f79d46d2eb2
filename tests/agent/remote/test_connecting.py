"""The way to a server: through a company's proxy, and what a start that takes too long was waiting for."""

from __future__ import annotations

import gc
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from websockets.sync.server import ServerConnection, serve

import acp_notebook as acp
from tests.agent.remote.certificates import Authority
from tests.agent.remote.conftest import Connect
from tests.agent.remote.connect_proxy import ConnectProxy
from tests.agent.remote.fault_proxy import Fault, FaultProxy
from tests.agent.remote.servers import Server, python_server
from tests.session.helpers import LIMIT_S

NAME = "build.invalid"
"""The proxy looks it up: nothing here can."""

KEY = "Zq7-very-secret-key-51d8"
START_S = 1.0


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[Server]:
    """A server with TLS whose certificate is for NAME."""
    server = python_server(tmp_path_factory.mktemp("named"), certificate=authority.issue(NAME), name="named")
    try:
        yield server
    finally:
        server.stop()


def use_proxy(monkeypatch: pytest.MonkeyPatch, proxy: ConnectProxy) -> None:
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, proxy.url)
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


def test_tls_goes_through_a_proxy_that_takes_connect(
    named: Server, authority: Authority, wire: str, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ConnectProxy(named.port) as proxy:
        use_proxy(monkeypatch, proxy)
        session = connect(f"{wire}s://{NAME}/acp", ca=authority.ca, headers={"X-Key": KEY})
        assert session.prompt("hello", timeout=LIMIT_S).text == "You said: hello"
        assert {line.split()[:2] == ["CONNECT", f"{NAME}:443"] for line in proxy.asked} == {True}
        assert KEY.encode() not in proxy.heads, "the proxy sees no header for the server"
        session.agent.close()


@pytest.mark.parametrize("status", [403, 407, 502])
def test_a_proxy_that_refuses_is_named(
    named: Server, authority: Authority, wire: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ConnectProxy(named.port, status) as proxy:
        use_proxy(monkeypatch, proxy)
        with pytest.raises(acp.ConnectionLost, match=f"the proxy refused the connection .{status}.: .*PROXY"):
            acp.connect(f"{wire}s://{NAME}/acp", cwd="/srv", ca=authority.ca)


@pytest.fixture
def full() -> Iterator[int]:
    """A port whose queue is full: a connection to it is neither accepted nor refused."""
    with ExitStack() as stack, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


@pytest.fixture
def mute() -> Iterator[int]:
    """A port that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def waits_for(url: str) -> str:
    """What a start that took too long says that it was doing."""
    with pytest.raises(acp.Timeout, match="did not answer initialize within 1 s") as caught:
        acp.connect(url, cwd="/srv", start_timeout=START_S)
    return str(caught.value).partition("It was still ")[2]


def test_a_start_that_waits_for_the_connection_says_so(full: int, wire: str) -> None:
    assert "connecting to it" in waits_for(f"{wire}://127.0.0.1:{full}/acp")


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_a_start_that_waits_for_tls_says_so(mute: int, wire: str) -> None:
    assert "setting up TLS" in waits_for(f"{wire}s://127.0.0.1:{mute}/acp")
    gc.collect()  # httpcore leaves the socket of a cancelled handshake to it


def test_a_start_that_waits_for_the_websocket_says_so(mute: int) -> None:
    assert waits_for(f"ws://127.0.0.1:{mute}/acp") == "waiting for the server to open the WebSocket."


def test_a_start_that_waits_for_the_answer_says_so(mute: int, python: Server) -> None:
    assert waits_for(f"http://127.0.0.1:{mute}/acp") == "waiting for the answer to initialize."
    with FaultProxy(python.port) as proxy:
        proxy.arm(Fault("half_open", "up", everywhere=False, only=lambda request: request.method == "GET"))
        assert waits_for(proxy.url("http")) == "opening the stream of the connection."


def test_a_start_that_waits_for_an_answer_over_the_websocket_says_so() -> None:
    def read_only(connection: ServerConnection) -> None:
        for _ in connection:
            pass

    with serve(read_only, "127.0.0.1", 0) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        port = server.socket.getsockname()[1]
        assert waits_for(f"ws://127.0.0.1:{port}/acp") == "waiting for the answer to initialize."


PASSWORD = "pr0xy-passw0rd-77a1"


@pytest.fixture
def set_proxy(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Only this variable of the environment names a proxy."""
    for kind in ("HTTP", "HTTPS", "WSS", "WS", "ALL", "SOCKS", "NO"):
        for name in (f"{kind}_PROXY", f"{kind.lower()}_proxy"):
            monkeypatch.delenv(name, raising=False)
    return monkeypatch.setenv


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            f"socks5h://me:{PASSWORD}@127.0.0.1:1",
            "HTTPS_PROXY is for SOCKS, which needs a library: pip",
        ),
        (f"ftp://me:{PASSWORD}@host", "HTTPS_PROXY begins with ftp://"),
        (f"http://me:{PASSWORD}@127.0.0.1:abc", "HTTPS_PROXY cannot be read"),
        (f"http://me:{PASSWORD}@127.0.0.1:1", "the proxy in HTTPS_PROXY refused the connection"),
        (f"http://me:{PASSWORD}@no-such.invalid:1", "the proxy in HTTPS_PROXY's name cannot be resolved"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_named_by_its_variable(
    value: str, said: str, wire: str, set_proxy: Any, caplog: pytest.LogCaptureFixture
) -> None:
    set_proxy("HTTPS_PROXY", value)
    caplog.set_level("DEBUG", logger="acp_notebook")
    with pytest.raises(acp.ConnectionLost) as caught:
        acp.connect(f"{wire}s://{NAME}/acp", cwd="/srv")
    assert said in str(caught.value)
    assert PASSWORD not in f"{caught.value} {caplog.text}"


def test_a_proxy_for_everything_may_be_one_that_http_cannot_use(set_proxy: Any) -> None:
    set_proxy("ALL_PROXY", "socks5://127.0.0.1:1")
    with pytest.raises(acp.ConnectionLost, match="ALL_PROXY is for SOCKS"):
        acp.connect(f"https://{NAME}/acp", cwd="/srv")
    with pytest.raises(acp.ConnectionLost, match="the server's name cannot be resolved"):
        acp.connect(f"wss://{NAME}/acp", cwd="/srv")  # which does not look at it


def test_a_websocket_through_a_proxy_without_its_kind_says_what_is_missing(set_proxy: Any) -> None:
    set_proxy("HTTPS_PROXY", "proxy.company:3128")
    with pytest.raises(acp.ConnectionLost, match="HTTPS_PROXY has no http:// before its name"):
        acp.connect(f"wss://{NAME}/acp", cwd="/srv")


def test_a_file_without_certificates_is_named(wire: str, tmp_path: Path) -> None:
    (tmp_path / "bad.pem").write_text("nothing")
    with pytest.raises(acp.ConnectionLost, match="ca= has no certificate that can be read"):
        acp.connect(f"{wire}s://127.0.0.1:9/acp", cwd="/srv", ca=tmp_path / "bad.pem")
