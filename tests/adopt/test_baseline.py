"""Limits, units of the cluster and firewalls of hosts against their baseline, which `wright adopt` has written."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.adopt.test_firewalls import FIREWALLD, IPTABLES

from clusterwright.adopt.baseline import format_baseline, host_baseline, parse_baseline, site_baseline
from clusterwright.adopt.facts import facts_of
from clusterwright.adopt.recorded import RecordedHost, RecordedSite
from clusterwright.adopt.site import describe
from clusterwright.adopt.watch_hosts import BASELINE_TEXTS, watched_hosts, watched_texts

RECORDED = Path(__file__).parent / "recorded" / "host"
UNITS = """==> /etc/systemd/system/slurmd.service.d/override.conf <==
[Service]
# more files
LimitNOFILE=131072
Environment="STORE_PASSWORD=hunter2"

==> /etc/systemd/system/slurmd.service.d/clusterwright-power.conf <==
[Service]
ExecStartPre=/bin/true

==> /etc/default/slurmd <==
SLURMD_OPTIONS="--conf-server ctl"

==> /etc/systemd/system/munge.service.d/threads.conf <==
[Service]
ExecStart=/usr/sbin/munged --num-threads 10
"""
FIREWALLD_FILES = """==> /etc/firewalld/zones/public.xml <==
<?xml version="1.0" encoding="utf-8"?>
<zone>
  <service name="ssh"/>
</zone>
"""
HOST = replace(
    RecordedHost(**{path.name: path.read_text() for path in RECORDED.iterdir()}),
    cluster_units=UNITS,
    firewalld=FIREWALLD,
    firewall_files=(RECORDED / "firewall_files").read_text() + FIREWALLD_FILES,
)
HOSTS = {"head": HOST, "m1": HOST, "m2": HOST}
CONF = """ClusterName=c
SlurmctldHost=head(10.9.0.1)
NodeName=m[1-2] NodeAddr=10.9.0.[2-3] CPUs=2
PartitionName=p Nodes=m[1-2] Default=YES
"""
ROLES = ("limits", "slurm", "accounting", "munge", "packet_filter", "firewalld")
CHAIN, ZONE = "firewall: chain inet site input", "firewall: zone public"
HOOK = "type filter hook input priority filter;"
DROP_IN = "units: /etc/systemd/system/slurmd.service.d/override.conf"


@pytest.fixture(scope="module")
def cluster():
    """The cluster file of the hosts."""
    site = RecordedSite({"/e/slurm.conf": CONF}, "/e", "24.05.3", "", HOSTS)
    return describe(site.sources(), site.version, "x", facts_of(site)).cluster


@pytest.fixture(scope="module")
def baseline():
    """What `wright adopt` writes of the hosts, read again."""
    return parse_baseline(format_baseline(site_baseline(HOSTS)))


def test_hosts_that_did_not_change_have_no_difference(cluster, baseline):
    """Hosts with the same settings are one entry, without passwords and without files of Clusterwright's roles."""
    text = format_baseline(site_baseline(HOSTS))

    assert list(json.loads(text)) == ["head,m[1-2]"]
    assert "memlock" in text
    assert "hunter2" not in text
    assert "ExecStartPre" not in text
    assert baseline == site_baseline(HOSTS)
    assert watched_hosts(cluster, HOSTS, baseline) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "lines"),
    [
        (
            "limits",
            "* soft memlock unlimited",
            "* soft memlock 64",
            ["limits: /etc/security/limits.d/95-hpc.conf:1: * soft memlock unlimited -> * soft memlock 64"],
        ),
        (
            "limits",
            "* soft memlock unlimited\n",
            "",
            ["limits: /etc/security/limits.d/95-hpc.conf:1: * soft memlock unlimited -> -"],
        ),
        ("limits", "* soft memlock unlimited", "# more\n*  soft\tmemlock unlimited", []),
        ("cluster_units", "=131072", "=1024", [f"{DROP_IN}:3: LimitNOFILE=131072 -> LimitNOFILE=1024"]),
        ("cluster_units", "LimitNOFILE", "LimitCORE=0\nLimitNOFILE", [f"{DROP_IN}:3: - -> LimitCORE=0"]),
        ("cluster_units", "/bin/true", "/bin/false", []),  # of a role
        (
            "cluster_units",
            "--conf-server ctl",
            "--conf-server b",
            [
                'units: /etc/default/slurmd:1: SLURMD_OPTIONS="--conf-server ctl" -> SLURMD_OPTIONS="--conf-server b"'
            ],
        ),
        ("units", f"slurmd.service{' ' * 23}enabled", "slurmd.service masked",
         ["units: slurmd.service: enabled -> masked"]),
        ("units", f"ssh.service{' ' * 26}enabled", "ssh.service masked", []),  # of no unit of Slurm
        ("firewall", "6667 drop", "6668 drop", [f"{CHAIN}: tcp dport 6667 drop -> tcp dport 6668 drop"]),
        ("firewall", "\t\ttcp dport 6667 drop\n", "", [f"{CHAIN}: tcp dport 6667 drop -> -"]),
        ("firewall", "policy accept", "policy drop", [f"{CHAIN}: {HOOK} policy accept; -> {HOOK} policy drop;"]),
        ("firewall", "6667 drop", "6667 counter packets 3 bytes 9 drop",
         [f"{CHAIN}: tcp dport 6667 drop -> tcp dport 6667 counter drop"]),
        ("firewalld", "ports: 6818/tcp", "ports: 7/tcp 6818/tcp",
         [f"{ZONE}: ports: 6818/tcp -> ports: 6818/tcp 7/tcp"]),
        ("firewalld", "services: ssh cockpit", "services: cockpit ssh", []),
        (
            "firewall_files",
            '<service name="ssh"/>',
            '<service name="http"/>',
            ['firewall: /etc/firewalld/zones/public.xml:3: <service name="ssh"/> -> <service name="http"/>'],
        ),
    ],
)  # fmt: skip
def test_a_changed_setting_is_one_line(cluster, baseline, name, old, new, lines):
    """Host, file with line, or chain or zone; and both values."""
    text = getattr(HOST, name)
    assert old in text
    changed = replace(HOST, **{name: text.replace(old, new)})

    assert watched_hosts(cluster, HOSTS | {"m2": changed}, baseline) == [f"m2: {line}" for line in lines]
    assert watched_hosts(cluster, HOSTS | {"m1": changed, "m2": changed}, baseline) == [
        f"m[1-2]: {line}" for line in lines
    ]


def test_rules_of_iptables_are_compared(cluster):
    """The same with iptables: a rule that is added, and a policy."""
    host = replace(HOST, firewall=IPTABLES)
    changed = replace(host, firewall=IPTABLES.replace("INPUT DROP", "INPUT ACCEPT").replace("22", "2222"))
    rule = '-A site -p tcp -m tcp --dport 22 -m comment --comment "ssh in" -j ACCEPT'

    assert watched_hosts(cluster, {"m1": host}, {"m1": host_baseline(host)}) == []
    assert watched_hosts(cluster, {"m1": changed}, {"m1": host_baseline(host)}) == [
        "m1: firewall: chain filter INPUT: policy DROP -> policy ACCEPT",
        f"m1: firewall: chain filter site: {rule} -> {rule.replace('22', '2222')}",
    ]


def test_rules_that_cannot_be_read_are_not_compared(cluster, baseline):
    """A user without sudo: one line instead of a rule that seems to be removed; and none if they never were."""
    unread = replace(HOST, firewall="", firewalld="", firewall_files="")

    (line,) = watched_hosts(cluster, {"m1": unread}, baseline)
    assert "only root may read" in line
    assert watched_hosts(cluster, {"m1": HOST}, {"m1": host_baseline(unread)}) == []


def test_managed_roles_are_not_watched(cluster, baseline):
    """Each role has its own settings; with all of them, no text is read."""
    changed = replace(HOST, limits="", cluster_units="", units="", firewall="\n# read\n", firewalld="")
    subjects = {role: set() for role in ROLES}
    for role in ROLES:
        managed = cluster.model_copy(update={"manage": (role,)})
        lines = watched_hosts(managed, {"m1": changed}, baseline)
        subjects[role] = {line.split(": ")[1] for line in lines}
        assert not any("slurmd" in line for line in lines) or role != "slurm"
        assert not any("munge" in line for line in lines) or role != "munge"
    assert subjects["limits"] == {"units", "firewall"}
    assert subjects["firewalld"] == subjects["packet_filter"] == {"limits", "units"}

    everything = cluster.model_copy(update={"manage": ROLES})
    assert watched_hosts(everything, {"m1": changed}, baseline) == []
    assert set(BASELINE_TEXTS) <= set(watched_texts(cluster, baseline))
    assert not set(BASELINE_TEXTS) & {*watched_texts(everything, baseline), *watched_texts(cluster, None)}


@pytest.mark.parametrize(
    "text", ["", "[]", '{"m1": 1}', '{"m1": {"limits": {"/x": [["a", 1]]}}}', '{"m1": {"rules": 1}}']
)
def test_a_damaged_baseline_is_no_baseline(text):
    """Whoever edits it gets a reason."""
    with pytest.raises(ValueError, match=r".+"):
        parse_baseline(text)
