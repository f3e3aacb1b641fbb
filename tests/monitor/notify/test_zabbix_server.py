"""Our program, asked as Alertmanager asks it, with a Zabbix among its receivers."""

import json
import threading
import urllib.error
import urllib.request
from contextlib import closing

import pytest

from clusterwright.onhost.notify.server import AT_ONCE_PER_RECEIVER, Server
from clusterwright.onhost.notify.settings import AUTHORIZATION, NotifySettings

ALERT = {
    "status": "firing", "fingerprint": "f1",
    "labels": {"alertname": "NodeDown", "severity": "critical", "node": "n1", "incident": "node n1"},
    "annotations": {"summary": "n1 does not answer"},
}  # fmt: skip


@pytest.fixture
def program(trapper, receiving, tmp_path):
    """The server with two receivers of Zabbix, one of them with a host that is not there, and a chat room."""
    with receiving.http_receiver() as room:
        (tmp_path / AUTHORIZATION).write_text("secret")
        (tmp_path / "room").write_text(f"http://127.0.0.1:{room.port}/hook")
        there = {"server": f"127.0.0.1:{trapper.port}", "host": "lab"}
        zabbix = {"site": there, "other": {**there, "host": "nobody"}}
        settings = NotifySettings(
            "c", "control", "en", 0, str(tmp_path), {"room": "wecom"}, "", "/", zabbix=zabbix, alerts=["NodeDown"],
            state=str(tmp_path),
        )  # fmt: skip
        with closing(Server(settings)) as server:
            server.close = server.server_close
            thread = threading.Thread(
                target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
            )
            thread.start()
            yield server
            server.shutdown()
            thread.join(10)


def tell(program, name, *alerts):
    """Code and text of the answer."""
    body = json.dumps({"alerts": alerts or [ALERT], "groupLabels": {}}).encode()
    asked = urllib.request.Request(
        f"http://127.0.0.1:{program.server_port}/to/{name}", body, {"Authorization": "Bearer secret"}
    )
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as why:
        return why.code, why.read().decode()


def test_a_message_is_taken_when_zabbix_has_taken_it(program, trapper):
    """And a repeat of it too, without a word to Zabbix."""
    assert [tell(program, "site")[0] for _ in range(2)] == [200, 200]
    assert [one["key"] for one in trapper.got] == ["clusterwright.alert[NodeDown]"]


def test_what_zabbix_refuses_is_an_error_to_alertmanager_with_the_reason(program, trapper, capfd):
    """In the program's log as well."""
    code, said = tell(program, "other")

    assert code == 502
    assert "create host `nobody` in Zabbix" in said
    assert said in capfd.readouterr().out
    assert trapper.got == []
    assert tell(program, "third")[0] == 404


def test_a_zabbix_that_hangs_keeps_no_chat_room_waiting(program, trapper):
    """Each has places of its own, and who finds none is asked to come again."""
    places = program.places_of["site"]
    for _ in range(AT_ONCE_PER_RECEIVER):
        assert places.acquire(blocking=False)
    full, room = tell(program, "site"), tell(program, "room")
    places.release()

    assert full == (503, "too many concurrent requests")
    assert room[0] == 200
    assert trapper.got == []
    assert tell(program, "site")[0] == 200
