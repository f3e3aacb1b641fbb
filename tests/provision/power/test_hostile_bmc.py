"""A BMC that an attacker has taken over: what it answers harms the power control of its own host only."""

import json
import socket
import threading

import pytest

from clusterwright.onhost.lib.clean_text import UNSAFE
from clusterwright.onhost.power.providers import LONGEST, Refusal

LINKS = {"Systems": {"@odata.id": "/redfish/v1/x"}, "Members": [{"@odata.id": "/redfish/v1/y"}]}
OFF = LINKS | {"PowerState": "Off"}
RESET = "#ComputerSystem.Reset"
ANSWERS = {
    "nested lists": b"[" * 200_000,
    "nested objects": b'{"Systems":' * 60_000 + b"1" + b"}" * 60_000,
    "a list": [],
    "a number": 5,
    "a link that is a number": {"Systems": {"@odata.id": 5}},
    "a link that is a list": {"Systems": {"@odata.id": ["/a"]}},
    "members that are an object": LINKS | {"Members": {"a": 1}},
    "a power state that is a list": LINKS | {"PowerState": ["On"]},
    "actions that are a text": OFF | {"Actions": "x"},
    "a reset that is a text": OFF | {"Actions": {RESET: "x"}},
    "a target that is a number": OFF | {"Actions": {RESET: {"target": 5}}},
    "a target with a line end": OFF | {"Actions": {RESET: {"target": "/x HTTP/1.1\r\nHost: b\r\n\r\n"}}},
    "kinds that are a number": OFF
    | {"Actions": {RESET: {"target": "/x", "ResetType@Redfish.AllowableValues": 5}}},
    "a long integer": b'{"Systems": ' + b"9" * 1_000_000 + b"}",
    "UTF-16": json.dumps(LINKS).encode("utf-16"),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_malformed_answer_is_an_error_of_its_host(site, kind):
    """An exception would end the request for all hosts."""
    switch, (bad, _good), _ = site("well", "well")
    bad.answer = lambda *_request: (200, {}, ANSWERS[kind])
    messages = switch.on(["n1", "n2"])

    assert "does not respond as Redfish" in messages["n1"]
    assert messages["n2"] == ""


@pytest.mark.parametrize(
    "answer",
    [
        (200, {}, LINKS | {"PowerState": "a" * 1_000_000}),
        (200, {}, {"Systems": {"@odata.id": "a" * 1_000_000}}),
        (500, {"reason phrase": "a\x0bNodeName=n2 \x1b]52;c;eA==\x07" + "a" * 10_000}, None),
        (503, {"Retry-After": "\x1b[2J\x85" + "a" * 10_000}, None),
    ],
)
def test_a_message_is_one_short_line(site, answer):
    """It goes to the journal, a file, the record of the host and Slurm's reason, at each poll."""
    switch, (bad,), _ = site("well")
    bad.answer = lambda *_request: (answer[0], dict(answer[1]), answer[2])
    message = switch.state(["n1"])["n1"]

    assert message.startswith("? ")
    assert len(message) <= LONGEST + 2
    assert UNSAFE.search(message) is None
    assert "\n" not in message


def test_a_bmc_that_rejects_the_password_first_stops_no_other(site):
    """After a start of the service, or a new password, nobody knows yet whether the password is right."""
    switch, (bad, *_others), _ = site("well", "well", "well")
    bad.password = "another"
    first = switch.on(["n1"])
    messages = switch.on(["n1", "n2", "n3"])

    assert "rejects the password" in first["n1"]
    assert [text == "" for text in messages.values()] == [False, True, True]
    assert bad.denied == 1


def test_a_connection_that_ends_in_the_handshake_is_no_unknown_certificate(site):
    """That would be final: Slurm's node drained for an administrator."""
    switch, _, _ = site()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def close_connections():
            for _ in range(2):
                server.accept()[0].close()

        thread = threading.Thread(target=close_connections)
        thread.start()
        switch.settings.hosts["n1"] = {"bmc": f"127.0.0.1:{server.getsockname()[1]}"}
        message = switch.on(["n1"])["n1"]
        switch.on(["n1"])
        thread.join()

    assert "does not respond" in message
    assert not isinstance(message, Refusal)
