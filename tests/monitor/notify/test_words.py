"""What a room reads, whatever strangers have called their jobs."""

import pytest

from clusterwright.onhost.notify.heartbeat import Watch
from clusterwright.onhost.notify.messages import message, truncate
from clusterwright.onhost.notify.send import MOST, refusal, request
from clusterwright.onhost.notify.settings import NotifySettings

HOSTILE = "<b>x</b>\u202egpj\x1b[31m\n@all"


def told(count=1, **labels):
    """As Alertmanager's webhook has it."""
    alert = {
        "status": "firing",
        "labels": {"severity": "critical", **labels},
        "annotations": {"summary": HOSTILE},
    }
    return {"alerts": [alert] * count, "groupLabels": {"cluster": "c", "incident": "node n1"}}


def test_names_of_strangers_do_nothing():
    """No direction mark, no escape, no new line, and nobody is called."""
    _title, text = message(told(), "en")

    assert text == "[CRITICAL] <b>x</b>gpj [31m ＠all"  # noqa: RUF001 (meant)


def test_many_alerts_are_a_few_lines():
    """And the number of the rest, in either language."""
    title, text = message(told(25), "en")

    assert "(firing 25)" in title
    assert text.endswith("and 15 more")
    assert message(told(25), "zh")[1].endswith("另有 15 条")


@pytest.mark.parametrize("kind", ["feishu", "dingtalk", "wecom"])
def test_a_message_is_never_too_long_for_its_room(kind):
    """Chinese letters are three bytes, and none is cut in two."""
    _url, body = request(kind, ("http://a", ""), "t", "告" * 20000, 0)
    text = body["text"]["content"] if kind != "feishu" else body["card"]["elements"][0]["text"]["content"]

    assert MOST[kind] - 3 <= len(text.encode()) <= MOST[kind]
    assert text.endswith("…")
    assert truncate("abc", 3) == "abc"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b'{"code": 0}', None), (b'{"errcode": 0, "errmsg": "ok"}', None), (b'{"StatusCode": 0}', None),
        (b'{"errcode": 310000, "errmsg": "sign not match"}', "310000 sign not match"), (b"<html>", "not JSON"),
        (b"[]", "not a JSON object"), (b"{}", "no code"),
    ],
)  # fmt: skip
def test_a_room_that_says_no_with_200_is_heard(answer, said):
    """They all do."""
    found = refusal(answer)

    assert found is None if said is None else said in found


def test_a_full_disk_of_monitoring_is_said_without_prometheus(receiving, tmp_path):
    """Raised at Alertmanager by the program itself, and taken back when there is room."""
    with receiving.http_receiver() as alertmanager:
        settings = NotifySettings(
            "c", "control", "en", 0, str(tmp_path), {}, f"http://127.0.0.1:{alertmanager.port}", str(tmp_path),
            least_free=2.0,
        )  # fmt: skip
        watch = Watch(settings)
        watch.check()
        watch.settings = NotifySettings(**{**settings.__dict__, "least_free": 0.0})
        watch.check()
        watch.check()

    assert [one["path"] for one in alertmanager.got] == ["/api/v2/alerts"] * 2
    assert alertmanager.got[0]["body"][0]["labels"]["alertname"] == "MonitorDiskFull"
    assert "endsAt" not in alertmanager.got[0]["body"][0]
    assert "endsAt" in alertmanager.got[1]["body"][0]


def test_without_alertmanager_the_rooms_are_told_once(receiving, tmp_path):
    """When it has not answered for long."""
    with receiving.http_receiver() as room:
        (tmp_path / "room").write_text(f"http://127.0.0.1:{room.port}/hook")
        settings = NotifySettings(
            "c", "control", "en", 0, str(tmp_path), {"room": "wecom"}, "http://127.0.0.1:9", "/"
        )
        now = [1000.0]
        watch = Watch(settings, clock=lambda: now[0])
        for _ in range(100):
            now[0] += 5
            watch.check()

    assert len(room.got) == 1
    assert "Monitoring does not work" in room.got[0]["body"]["text"]["content"]
