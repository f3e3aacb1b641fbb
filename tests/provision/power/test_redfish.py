"""Redfish against servers over TLS that answer what is recorded."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from clusterwright.onhost.power.keeper import Keeper
from clusterwright.onhost.power.providers import Refusal
from clusterwright.onhost.power.providers.per_host import PerHostProvider
from clusterwright.onhost.power.records import Records
from clusterwright.onhost.power.settings import PowerSettings
from clusterwright.slurm.nodes import parse_node

RESET = "/redfish/v1/Systems/437XR1138R2/Actions/ComputerSystem.Reset"


def resets(controller):
    """The kinds of reset that it was asked for."""
    return [body["ResetType"] for method, path, body in controller.asked if (method, path) == ("POST", RESET)]


def test_a_host_is_switched_on_and_off(site):
    """In order, and at once; what is there already is not asked for again."""
    switch, (one,), _ = site("well")
    said = [switch.state(["n1"]), switch.on(["n1"]), switch.on(["n1"]), switch.state(["n1"])]
    said += [
        switch.off(["n1"], hard=False),
        switch.on(["n1"]),
        switch.off(["n1"], hard=True),
        switch.state(["n1"]),
    ]

    assert [answer["n1"] for answer in said] == ["off", "", "", "on", "", "", "", "off"]
    assert resets(one) == ["On", "GracefulShutdown", "On", "ForceOff"]


def test_a_task_is_a_yes_and_a_busy_controller_says_when_to_come_again(site):
    """202 with a task of its own; 503 with Retry-After."""
    switch, _, _ = site("task", "busy")
    said = switch.on(["n1", "n2"])

    assert said["n1"] == ""
    assert "responds 503" in said["n2"]
    assert "retry after 30 s" in said["n2"]
    assert not isinstance(said["n2"], Refusal)


def test_a_yes_is_not_a_boot(site):
    """The state tells: it says yes and stays off."""
    switch, _, _ = site("liar")

    assert switch.on(["n1"]) == {"n1": ""}
    assert switch.state(["n1"]) == {"n1": "off"}


def test_a_wrong_password_is_tried_once_at_two_controllers(site):
    """Accounts lock after a few: nobody else is asked, however often we are, until the file changes."""
    switch, all_of_them, file = site(*["well"] * 6, told="wrong")
    hosts = [f"n{number}" for number in range(1, 7)]
    said = [switch.on(hosts) for _ in range(5)] + [switch.state(hosts)]
    tried = sum(one.denied for one in all_of_them)
    file.write_text("secret\n")
    os.utime(file, (1, 1))
    after = switch.on(hosts)

    assert tried == 2
    assert all(isinstance(words, Refusal) for answer in said for words in answer.values())
    assert "rejects the password" in said[0]["n6"]
    assert after == dict.fromkeys(hosts, "")


def test_one_controller_with_another_password_stops_nobody_else(site):
    """It alone is left in peace."""
    switch, (_, other, _), _ = site("well", "well", "well")
    other.password = "another"
    said = [switch.on(["n1", "n2", "n3"]) for _ in range(4)]

    assert other.denied == 1
    assert [words == "" for words in said[-1].values()] == [True, False, True]
    assert isinstance(said[-1]["n2"], Refusal)


def test_an_unknown_certificate_is_refused_before_the_password_is_sent(site):
    """Unless the file says that any will do."""
    switch, (one,), _ = site("well", authority=None)
    said = switch.on(["n1"])["n1"]
    asked = list(one.asked)
    anybody, _, _ = site(authority=None, certificate="any")

    assert "certificate of 127.0.0.1" in said
    assert isinstance(said, Refusal)
    assert asked == []
    assert anybody.on(["n1"]) == {"n1": ""}


def test_a_controller_that_never_answers_holds_up_no_other(site):
    """Named, and worth another try."""
    switch, _, _ = site("well", "silent", "well")
    said = switch.on(["n1", "n2", "n3"])

    assert (said["n1"], said["n3"]) == ("", "")
    assert "does not respond" in said["n2"] or "timed out" in said["n2"]
    assert not isinstance(said["n2"], Refusal)


@pytest.mark.parametrize("mood", ["redirects", "at-another-host"])
def test_a_controller_cannot_send_the_password_elsewhere(site, mood):
    """Neither by a redirect nor by a path that continues the address."""
    switch, (sender, receiver), _ = site(mood, "well")
    sender.elsewhere = f"https://{receiver.address}" if mood == "redirects" else receiver.address
    said = switch.on(["n1"])["n1"]

    assert said
    assert receiver.asked == []


@pytest.mark.parametrize("part", ["handshake", "status", "headers", "body"])
def test_a_controller_that_answers_slowly_without_end_holds_up_no_thread(site, part):
    """One byte after the other, of which each comes in time."""
    switch, (slow,), _ = site(f"slow {part}")
    begun = time.monotonic()
    answer = switch.state(["n1"])["n1"]

    assert answer.startswith("? ")
    assert time.monotonic() - begun < 4
    assert slow.denied == 0


def test_a_controller_cannot_fill_the_memory(site):
    """Its response is cut off, and the next controller has its turn."""
    switch, _, _ = site("endless", "well")
    said = switch.on(["n1", "n2"])

    assert "exceeds" in said["n1"]
    assert said["n2"] == ""


def test_nobody_is_there(site):
    """A port that is closed."""
    switch, (one,), _ = site("well")
    one.close()
    one.close = lambda: None

    assert "does not respond" in switch.on(["n1"])["n1"]


@pytest.mark.parametrize(("mode", "text", "words"), [(0o640, "secret", "chmod 600"), (0o600, "", "is empty")])
def test_a_password_file_that_is_no_good(site, mode, text, words):
    """No controller is asked."""
    switch, (one,), _ = site("well", told=text, mode=mode)
    said = switch.on(["n1"])["n1"]

    assert words in said
    assert isinstance(said, Refusal)
    assert one.asked == []


def test_the_keeper_boots_hosts_whatever_one_silent_controller_does(site, tmp_path):
    """Through the keeper itself: the others have power while it still waits."""
    switch, all_of_them, _ = site("silent", *["well"] * 4)
    of = PowerSettings(
        provider={"kind": "redfish"}, hosts=switch.settings.hosts, resume_timeout=60, suspend_timeout=20,
        spares=0, max_attempts=3, retry_after=10,
    )  # fmt: skip
    nodes = {host: parse_node(f"NodeName={host} State=IDLE+POWERING_UP") for host in of.hosts}
    slurm = SimpleNamespace(nodes=lambda: nodes, update=lambda *_words: "")
    keeper = Keeper(
        of, switch, Records(str(tmp_path / "records.json"), list(of.hosts)), lambda _words: None, slurm
    )
    keeper.poll(1.0)
    for future in set(keeper.busy.values()):
        future.result()
    keeper.pool.shutdown()

    assert [one.power for one in all_of_them] == ["Off", "On", "On", "On", "On"]
    assert len(set(keeper.busy.values())) == 5


def test_a_wrong_password_is_tried_twice_by_threads_too(site):
    """The first ask, and the others wait for their answers."""
    switch, all_of_them, _ = site(*["well"] * 6, told="wrong")
    with ThreadPoolExecutor(6) as pool:
        said = list(pool.map(lambda number: switch.on([f"n{number}"]), range(1, 7)))

    assert sum(one.denied for one in all_of_them) == 2
    assert all(isinstance(words, Refusal) for answer in said for words in answer.values())


def test_a_refusal_that_only_mentions_the_password_file_is_not_one_of_the_password(tmp_path):
    """The file is called as the controllers are; a certificate of one of them keeps no password from the others."""
    file = tmp_path / "bmc"
    file.write_text("secret\n")
    file.chmod(0o600)

    class Switch(PerHostProvider):
        def call_host(self, host, verb):
            return (
                Refusal(f"refused: the certificate of {self.address(host)} is not believed")
                if host == "n1"
                else ""
            )

    hosts = {name: {"bmc": f"bmc-{name}"} for name in ("n1", "n2")}
    said = Switch(SimpleNamespace(provider={"password_file": str(file)}, hosts=hosts)).on(["n1", "n2"])

    assert said["n2"] == ""
