"""What looks odd and is meant: no rule refuses it. And whatever stands in a file, a rule never breaks."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from clusterwright.config.cluster import Cluster
from clusterwright.config.load import cluster_of
from clusterwright.config.reader import read
from clusterwright.errors import SpecError

GOOD = (Path(__file__).parent / "good.yaml").read_text()
FINE = {
    "a filer that is no host of the file": {"server: head": "server: filer.example.org"},
    "a filer by its address": {"server: head": "server: 10.99.0.5"},
    "time from a pool": {"[ntp1.example]": "[0.de.pool.ntp.org, 192.168.1.1]"},
    "a team shut for a while": {"max_gpus: 16": "max_gpus: 0"},
    "a share of 0 beside others": {"shares: 40": "shares: 0"},
    "a team that only holds others": {"uid: 6003, team: research": "uid: 6003, team: vision"},
    "maintenance over a reservation": {
        '"hgx[1-2]", start: "2027-02-01T06:00"': '"gpu[1-4]", start: "2027-01-15T09:00"'
    },
    "one reservation after another": {
        "\naccounting:": '  later: {hosts: "gpu[1-2]", start: "2027-01-15T16:00", duration: 2h, '
        "users: [bob]}\n\naccounting:"
    },
    "a weekly reservation": {"duration: 8h": "repeat: weekly, duration: 2d"},
    "the 29th of February of a leap year": {"2027-02-01T06:00": "2028-02-29T06:00:59"},
    "kinds of GPU mixed for jobs of one host": {"debug: {nodes: [a100],": "debug: {nodes: [a100, h100], max_nodes: 1,"},
    "a partition of CPU hosts": {
        "    gpus: {model: h100, count: 8, memory: 80GiB, nvlink: true}\n": "",
        ", memory_per_gpu: 200GiB": "",
    },
    "normal as a quality of service of one's own": {"  scavenger:": "  normal: {max_gpus_per_user: 8}\n  scavenger:"},
    "a quality of service that preempts normal": {"preempts: [scavenger]": "preempts: [scavenger, normal]"},
    "a list of teams on every partition": {
        "train: {nodes: [a100]": "train: {teams: [vision, research], nodes: [a100]",
        "debug: {nodes: [a100]": "debug: {teams: [language], nodes: [a100]",
    },
    "no accounting and nothing that needs it": {
        "accounting: {host: head, retention: 730d}": "accounting: {enabled: false}",
        "headroom_percent: 30, ": "", ", qos: [normal, urgent]": "", ", parent: research": "",
        ", max_gpus: 16, max_gpus_per_user: 8": "", "duration: 8h, teams: [vision]": "duration: 8h, users: [bob]",
        "  urgent: {priority: 100, preempts: [scavenger], max_gpus: 8, max_gpus_per_user: 4}\n": "",
        "  scavenger: {grace: 2m, preempt_mode: cancel}\n": "", "\nqos:\n": "\n",
        "  research: {gid: 5000, shares: 60}\n": "  research: {gid: 5000, shares: 60}\n",
    },
    "IP over InfiniBand in connected mode": {"mtu: 4092": "mtu: 65520"},
    "no switch anywhere": {"    switch: leaf1\n": "", "    switch: leaf2\n": ""},
    "switches named and not used": {"  cgroup: v2": "  topology: none", "    switch: leaf2\n": ""},
    "scratch that is mounted by the site": {", mount: /scratch": ""},
    "all hosts may be switched off": {", exclude: [h100]": ""},
    "a user in several teams": {"additional_teams: [vision]": "additional_teams: [vision, research]"},
    "a user named as the team, with its number": {"  carol: {uid: 6003": "  research: {uid: 5000"},
    "an administrator who logs in": {"ssh: {user: root": "ssh: {user: alice"},
    "SSH from public addresses, and from one host": {
        "{firewall: true, password": "{ssh_from: [203.0.113.7/32, 131.130.0.0/16], firewall: true, password"
    },
    "mount options of a filer's maker": {
        "server: head,": "server: filer, options: [vers=3, mdconnect=4, spread_reads],"
    },
    "a driver and a CUDA of the same age": {'driver: "580.95"': 'driver: "525.60"', 'cuda: "12.8"': 'cuda: "12.0.1"'},
    "a CUDA alone": {'driver: "580.95", ': ""},
    "a file server that stays on": {"server: head": "server: hgx1"},
    "a login by an account of the site": {"ssh: {user: root": "ssh: {user: deploy"},
}  # fmt: skip
JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=12), st.lists(st.text(max_size=3), max_size=3),
    st.sampled_from([
        "normal", "vision", "urgent", "a100", "head", "gpu1", "/", "/home", "255.255.255.255", "0s", "1GiB",
        "n[1-65536]", "2027-02-30T08:00", "2099-12-31T29:59", [0, 1], ["vision"], ["urgent", "urgent"], {}, [],
    ]),
)  # fmt: skip


def codes(text):
    """What is said of a file."""
    try:
        cluster_of(read(text, "cluster.yaml"))
    except SpecError as error:
        return [finding.code for finding in error.findings]
    return []


@pytest.mark.parametrize("what", FINE)
def test_it_is_let_pass(what):
    """A rule that refuses what somebody means would be in the way."""
    text = GOOD
    for old, new in FINE[what].items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)

    assert codes(text) == []


def places(node, path=()):
    """Every path of a document."""
    if path:
        yield path
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


DOCUMENT = YAML(typ="safe").load(GOOD)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(list(places(DOCUMENT))), JUNK), min_size=1, max_size=3))
def test_whatever_stands_there_no_rule_breaks(changes):
    """It is a cluster or it is told why not, with places and fixes; nothing else comes out."""
    document = YAML(typ="safe").load(GOOD)
    for path, junk in changes:
        place = document
        for part in path[:-1]:
            place = place[part] if isinstance(place, dict | list) and _holds(place, part) else {}
        if isinstance(place, dict) or (isinstance(place, list) and _holds(place, path[-1])):
            place[path[-1]] = junk
    source = read(GOOD, "cluster.yaml")
    source.values = _frozen(document)
    found = outcome(source)

    assert isinstance(found, Cluster) or all(finding.fix and finding.places for finding in found)


def outcome(source):
    """The cluster, or what is wrong with it."""
    try:
        return cluster_of(source)
    except SpecError as error:
        return error.findings


def _holds(place, part):
    return part in place if isinstance(place, dict) else isinstance(part, int) and part < len(place)


def _frozen(value):
    """As the reader gives values: lists are tuples."""
    if isinstance(value, dict):
        return {key: _frozen(inner) for key, inner in value.items()}
    return tuple(_frozen(inner) for inner in value) if isinstance(value, list) else value
