"""What can go wrong between our program and a site's Zabbix, over real connections; the server here is a small one."""

import json
import socket
import struct
import subprocess
import threading
import time
from contextlib import suppress

import pytest

from clusterwright.onhost.notify.settings import NotifySettings
from clusterwright.onhost.notify.zabbix import wire
from clusterwright.onhost.notify.zabbix.figures import Figures
from clusterwright.onhost.notify.zabbix.site import RefusedError, ZabbixSite, fingerprint

MARK = b"ZBXD\x01"
HOSTILE = "<b>x</b>\u202egpj\x1b[31m\nOK\n{HOST.NAME} \\1"


def framed(body):
    """As Zabbix frames it."""
    return MARK + struct.pack("<Q", len(body)) + body


@pytest.fixture
def receiver(trapper, tmp_path):
    """Ours, which speaks to it."""
    return ZabbixSite(settings(tmp_path, trapper.port), "site")


def settings(folder, port, host="lab", **more):
    """Of one Zabbix, whose template knows one alert."""
    reached = {"server": f"127.0.0.1:{port}", "host": host}
    return NotifySettings("c", "control", "en", 0, "", {}, "", "/", zabbix={"site": reached}, alerts=["GpuTooHot"],
                    state=str(folder), **more)  # fmt: skip


def alert(print_="f1", status="firing", name="GpuTooHot", **words):
    """As Alertmanager's webhook has it."""
    return {
        "status": status, "fingerprint": print_,
        "labels": {"alertname": name, "severity": "critical", "node": "n1", "incident": "node n1"},
        "annotations": {"summary": "GPU 0 of n1 has 93 °C", "fix": "See fans.", **words},
    }  # fmt: skip


def refusal(receiver, *alerts):
    """Why it was not taken."""
    with pytest.raises(RefusedError) as caught:
        receiver.notify(alerts or [alert()])
    return str(caught.value)


def test_an_alert_is_a_value_of_its_own_item(receiver, trapper):
    """Seen by what came over the wire."""
    receiver.notify([alert()])

    (value,) = trapper.got
    assert (value["host"], value["key"]) == ("lab", "clusterwright.alert[GpuTooHot]")
    assert value["value"].split("\n")[:5] == ["PROBLEM", "f1", "n1", "node n1", "GPU 0 of n1 has 93 °C"]
    assert abs(value["clock"] - time.time()) < 600


def test_values_are_never_of_the_same_moment(receiver, trapper):
    """Of two of one nanosecond Zabbix takes the first as the last."""
    receiver.notify([alert(f"f{number}") for number in range(200)])

    moments = [(one["clock"], one["ns"]) for one in trapper.got]
    assert len(moments) == 200
    assert moments == sorted(set(moments))


def test_a_thousand_repeats_are_told_once_by_a_program_that_was_started_anew_as_well(
    receiver, trapper, tmp_path
):
    """What is open is in a file."""
    for _ in range(1000):
        receiver.notify([alert()])
    ZabbixSite(settings(tmp_path, trapper.port), "site").notify([alert(), alert("f2")])

    assert [text.split("\n")[1] for text in trapper.texts()] == ["f1", "f2"]


def test_what_is_over_closes_its_own_problem_and_can_come_again(receiver, trapper):
    """By the fingerprint."""
    receiver.notify([alert(), alert("f2")])
    receiver.notify([alert("f1", "resolved")])
    receiver.notify([alert(), alert("f2")])

    assert [tuple(text.split("\n")[:2]) for text in trapper.texts()] == [
        ("PROBLEM", "f1"), ("PROBLEM", "f2"), ("OK", "f1"), ("PROBLEM", "f1"),
    ]  # fmt: skip


def test_an_alert_that_the_template_does_not_know_has_a_place(receiver, trapper):
    """By severity."""
    receiver.notify([alert(name="OfTheSite"), alert("f2", name="Odd") | {"labels": {"severity": "page"}}])

    assert [one["key"] for one in trapper.got] == [
        "clusterwright.other[critical]",
        "clusterwright.other[warning]",
    ]


def test_strangers_text_adds_no_line_and_no_mark(receiver, trapper):
    """A value is eight lines, whatever a job is called."""
    receiver.notify([alert(summary=HOSTILE, description="告" * 100000)])

    lines = trapper.texts()[0].split("\n")
    assert len(lines) == 8
    assert lines[0] == "PROBLEM"
    assert "\u202e" not in lines[4]
    assert "\x1b" not in lines[4]
    assert len(trapper.texts()[0].encode()) < 65536


def test_a_host_that_zabbix_does_not_know_is_named(trapper, tmp_path):
    """With what to make there; and it is told as soon as the host is there."""
    said = refusal(ZabbixSite(settings(tmp_path, trapper.port, host="cluster one"), "site"))
    ZabbixSite(settings(tmp_path, trapper.port), "site").notify([alert()])

    assert "accepted 0 of 1 values" in said
    assert "create host `cluster one` in Zabbix with the template `Clusterwright`" in said
    assert "{$CLUSTERWRIGHT.SENDERS}" in said
    assert len(trapper.got) == 1


def test_what_was_taken_before_a_refusal_is_not_told_again(receiver, trapper):
    """An older template lacks one item; Alertmanager sends the whole group again."""
    trapper.refuses = "clusterwright.other[critical]"
    group = [alert(), alert("f2", name="OfTheSite")]
    said = [refusal(receiver, *group) for _ in range(3)]
    trapper.refuses = ""
    receiver.notify(group)

    assert "`clusterwright.other[critical]`" in said[0]
    assert [text.split("\n")[1] for text in trapper.texts()] == ["f1", "f2"]


def test_a_server_that_is_down_loses_nothing(trappers, tmp_path):
    """An error until it is there."""
    with trappers.trapper_server() as gone:
        port = gone.port
    receiver = ZabbixSite(settings(tmp_path, port), "site")

    assert "Connection refused" in refusal(receiver)
    with trappers.trapper_server() as back:
        receiver.server = f"127.0.0.1:{back.port}"
        receiver.notify([alert()])
        assert len(back.got) == 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"", "the server closed the connection after 0 bytes; check whether its host requires encryption"),
        (MARK + struct.pack("<Q", 90) + b'{"response":"succ', "after 17 bytes"),
        (MARK + struct.pack("<Q", 2**40), "the response has 1099511627776 bytes"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not start with Zabbix's header"),
        (framed(b'{"response": "failed", "info": "no"}'), "the response is not a trapper's"),
        (framed(b"[]"), "the response is not a trapper's"),
        (framed(b'{"response": "success", "info": 7}'), "the response is not a trapper's"),
        (framed(b"\xff{]"), "the response is not a trapper's"),
        (framed(b'{"response": "success", "info": "processed: 0; failed: 0"}'), "accepted 0 of 1"),
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_an_error(receiver, trapper, answer, said):
    """Cut, huge, of another program, or a refusal; the alert stays to be told."""
    trapper.answer = answer
    assert said in refusal(receiver)

    trapper.answer = None
    receiver.notify([alert()])
    assert len(trapper.got) == 1


def test_a_server_that_answers_by_and_by_is_not_waited_for(monkeypatch):
    """The limit is of the whole answer, not of each byte."""
    monkeypatch.setattr(wire, "TIMEOUT_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ended = threading.Event()

        def drip():
            connection = listener.accept()[0]
            with connection, suppress(OSError):
                while not ended.wait(0.1):
                    connection.sendall(MARK[:1])

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        with pytest.raises((TimeoutError, wire.AnswerError)):
            wire.send(f"127.0.0.1:{listener.getsockname()[1]}", [])
        ended.set()
        thread.join(10)


@pytest.mark.parametrize("address", ["9.9.9.9", "2620:fe::fe", "::ffff:9.9.9.9"])
def test_nothing_is_said_to_a_public_address_in_the_clear(address):
    """Looked at when the connection is there, so that a name is seen through; nothing has been sent by then."""
    with pytest.raises(wire.AnswerError, match=rf"{address} is a public address.*set `tls`"):
        wire.refuse_public(address)


def test_an_address_of_the_sites_own_networks_is_spoken_to():
    """Loopback, RFC 1918 and its like of IPv6."""
    private = ("127.0.0.1", "10.0.0.5", "192.168.1.1", "172.16.0.9", "fd00::1", "fe80::1%eth0")

    assert [wire.refuse_public(address) for address in private] == [None] * len(private)


def test_certificates_that_cannot_be_read_are_named(receiver):
    """All three, for OpenSSL does not say which."""
    receiver._tls = {
        "ca": "/nowhere/ca.crt",
        "certificate": "/nowhere/scrape.crt",
        "key": "/nowhere/scrape.key",
    }

    assert "/nowhere/ca.crt, /nowhere/scrape.crt, /nowhere/scrape.key cannot be used" in refusal(receiver)


def test_a_server_that_does_not_speak_tls_is_told_nothing(receiver, trapper, tmp_path):
    """No way back to plain text."""
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=ca"]
    subprocess.run(
        [*made, "-keyout", tmp_path / "k", "-out", tmp_path / "c"], check=True, capture_output=True
    )
    receiver._tls = {
        "ca": str(tmp_path / "c"),
        "certificate": str(tmp_path / "c"),
        "key": str(tmp_path / "k"),
    }

    assert "site: 127.0.0.1:" in refusal(receiver)
    assert trapper.got == []


@pytest.mark.parametrize("text", ["{", "[]", '{"f1": 7}', "\x00"])
def test_a_file_of_what_is_open_that_is_broken_keeps_nobody_silent(trapper, tmp_path, text):
    """It is begun anew; the worst is that something is told twice."""
    (tmp_path / "site.json").write_text(text)
    ZabbixSite(settings(tmp_path, trapper.port), "site").notify([alert()])

    assert len(trapper.got) == 1
    assert json.loads((tmp_path / "site.json").read_text()) == {"f1": "clusterwright.alert[GpuTooHot]"}


def test_who_waits_too_long_is_asked_to_come_again(receiver):
    """Another message is on its way."""
    with receiver.open_problems.lock:
        assert "another message to" in refusal(receiver)


def test_what_ended_while_it_was_muted_is_closed(receiver, trapper):
    """Alertmanager tells nobody; but not before it has had time to learn after a restart."""
    receiver.notify([alert(), alert("f2")])
    receiver.close_missing(["f2"])
    assert len(trapper.got) == 2

    receiver._resolve_timeout_s = 0
    receiver.close_missing(["f2"])
    assert trapper.texts()[2].split("\n")[:2] == ["OK", "f1"]
    assert trapper.got[2]["key"] == "clusterwright.alert[GpuTooHot]"
    assert list(receiver.open_problems.open) == ["f2"]


def test_figures_say_first_that_monitoring_is_alive(receiver, trapper, tmp_path):
    """Also when Prometheus and Alertmanager do not answer, which is an error after it."""
    own = settings(tmp_path, trapper.port, prometheus="http://127.0.0.1:9")
    for alive in (True, False):
        with pytest.raises((OSError, ValueError)):
            Figures(own, receiver, lambda alive=alive: alive).push()

    assert [(one["key"], one["value"]) for one in trapper.got] == [
        ("clusterwright.alive", "1"), ("clusterwright.alive", "0"),
    ]  # fmt: skip


def test_an_alert_without_a_fingerprint_has_one_by_its_labels():
    """The same for the same labels, in any order."""
    first = {"labels": {"alertname": "A", "node": "n1"}}
    again = {"labels": {"node": "n1", "alertname": "A"}}

    assert fingerprint(first) == fingerprint(again)
    assert fingerprint(first) != fingerprint({"labels": {"alertname": "A", "node": "n2"}})
