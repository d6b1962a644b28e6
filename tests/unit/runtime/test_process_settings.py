from typing import Any

import pytest
from pydantic import Field

from remembrancer.runtime import address
from remembrancer.runtime.settings import ProcessSettings, load


class Settings(ProcessSettings):
    listen: str = "127.0.0.1:0"
    ops_listen: str = "127.0.0.1:0"


@pytest.mark.parametrize(
    ("variable", "value", "parts"),
    [
        ("THREADS", "many", ["REMEMBRANCER_THREADS", "'many'", "0..1024"]),
        ("THREADS", "-1", ["REMEMBRANCER_THREADS", "'-1'", "0..1024"]),
        ("GRACE", "nan", ["REMEMBRANCER_GRACE", "'nan'", "0..3600"]),
        ("LOG_FORMAT", "xml", ["REMEMBRANCER_LOG_FORMAT", "'xml'", "auto, json, console"]),
        ("LISTEN", "tcp://10.0.0.1:50051", ["REMEMBRANCER_LISTEN", "host:port"]),
        ("LISTEN", "127.0.0.1:70000", ["REMEMBRANCER_LISTEN", "'127.0.0.1:70000'", "host:port"]),
    ],
)
def test_a_bad_value_is_one_line_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variable: str, value: str, parts: list[str]
) -> None:
    monkeypatch.setenv(f"REMEMBRANCER_{variable}", value)
    with pytest.raises(SystemExit) as caught:
        load(Settings)
    line = capsys.readouterr().err
    assert caught.value.code == 2
    assert line.count("\n") == 1
    assert all(part in line for part in parts), line


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("WORKER_TOKEN", "hunter2"),
        ("WORKER_TOKEN", "schlüssel-schlüssel"),
        ("STORE_URL", "http://user:hunter2@store"),
    ],
)
def test_a_bad_secret_is_never_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variable: str, value: str
) -> None:
    monkeypatch.setenv(f"REMEMBRANCER_{variable}", value)
    with pytest.raises(SystemExit):
        load(Settings)
    line = capsys.readouterr().err
    assert f"REMEMBRANCER_{variable}" in line
    assert value not in line
    assert "hunter2" not in line


def test_g20_an_empty_token_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMEMBRANCER_WORKER_TOKEN", "")
    with pytest.raises(SystemExit):
        load(Settings)


@pytest.mark.parametrize("listen", ["0.0.0.0:1", "[::]:1", "10.1.2.3:1", "example.org:1"])
def test_listening_beyond_loopback_needs_credentials(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], listen: str
) -> None:
    monkeypatch.setenv("REMEMBRANCER_LISTEN", listen)
    with pytest.raises(SystemExit) as caught:
        load(Settings)
    assert caught.value.code == 2
    assert "REMEMBRANCER_WORKER_TOKEN" in capsys.readouterr().err
    monkeypatch.setenv("REMEMBRANCER_WORKER_TOKEN", "0123456789abcdef")
    assert load(Settings).listen == listen


def test_a_process_without_credentials_of_its_own_refuses_whatever_the_worker_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Public(Settings):
        def missing_credentials(self) -> str:
            return "nobody is asked"

    monkeypatch.setenv("REMEMBRANCER_WORKER_TOKEN", "0123456789abcdef")
    monkeypatch.setenv("REMEMBRANCER_LISTEN", "0.0.0.0:1")
    with pytest.raises(SystemExit):
        load(Public)


def test_g17_what_kubernetes_injects_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "REMEMBRANCER_PORT": "tcp://10.0.0.1:50051",
        "REMEMBRANCER_SERVICE_HOST": "10.0.0.1",
        "REMEMBRANCER_PORT_50051_TCP_ADDR": "10.0.0.1",
        "REMEMBRANCER_LISTEN_PORT": "tcp://10.0.0.1:50051",
    }.items():
        monkeypatch.setenv(name, value)
    assert load(Settings).listen == "127.0.0.1:0"


def test_a_setting_that_kubernetes_could_inject_cannot_be_declared() -> None:
    with pytest.raises(TypeError):

        class Wrong(Settings):
            metrics_port: int = Field(default=1, description="x")


def test_settings_are_frozen_and_their_repr_holds_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REMEMBRANCER_STORE_URL", "redis://:hunter2@store:6379/0")
    monkeypatch.setenv("REMEMBRANCER_WORKER_TOKEN", "0123456789abcdef")
    settings: Any = load(Settings)
    with pytest.raises(ValueError, match="frozen"):
        settings.threads = 3
    assert "hunter2" not in repr(settings)
    assert "0123456789abcdef" not in repr(settings)


@pytest.mark.parametrize(
    ("text", "loopback"),
    [("127.0.0.1:1", True), ("localhost:1", True), ("[::1]:1", True), ("127.9.9.9:0", True), ("192.168.0.1:1", False)],
)
def test_addresses_of_this_machine_are_told_from_others(text: str, loopback: bool) -> None:
    assert address.is_loopback(text) is loopback
