"""Rules of firewalls as programs print them; those of nft 1.0.6 and iptables 1.8.9 were recorded on 2026-11-28."""

from pathlib import Path

from clusterwright.adopt.firewalls import active_zones, chains, firewall_rules, zones
from clusterwright.adopt.recorded import RecordedHost

RECORDED = Path(__file__).parent / "recorded" / "firewall"
NFT, IPTABLES = ((RECORDED / name).read_text() for name in ("nft", "iptables"))
# Not recorded: after the output that firewall-cmd(1) of firewalld 2.1 describes.
FIREWALLD = (RECORDED / "firewalld").read_text()


def test_chains_and_sets_of_nft_have_no_counters_and_no_elements_that_packets_change():
    """The order of rules is theirs; a chain of Docker is Docker's."""
    rules = firewall_rules(RecordedHost(firewall=NFT))

    assert rules == {
        "set inet site banned": ["type ipv4_addr", "flags dynamic,timeout", "timeout 1h"],
        "set inet site admins": ["type ipv4_addr", "elements = { 10.0.0.1, 10.0.0.2,", "10.0.0.3 }"],
        "chain inet site input": [
            "type filter hook input priority filter; policy drop;",
            'iif "lo" counter accept',
            "tcp dport { 22, 6817-6818 } ip saddr @admins accept",
            'limit rate 10/second log prefix "drop: # {"',
        ],
    }


def test_chains_of_iptables_have_their_policies():
    """Counters of a policy are no part of it; a chain of its own has none."""
    assert chains(IPTABLES) == {
        "chain filter INPUT": [
            "policy DROP",
            "-A INPUT -i lo -j ACCEPT",
            "-A INPUT -s 10.0.0.0/8 -p tcp -m tcp --dport 6817:6818 -j ACCEPT",
            "-A INPUT -j site",
        ],
        "chain filter FORWARD": ["policy ACCEPT"],
        "chain filter site": ['-A site -p tcp -m tcp --dport 22 -m comment --comment "ssh in" -j ACCEPT'],
    }


def test_zones_of_firewalld_have_what_is_set():
    """Names are sorted, because firewalld prints a set; the table of nft that it writes itself is not listed again."""
    assert zones(FIREWALLD)["zone public"] == [
        "target: default",
        "ingress-priority: 0",
        "icmp-block-inversion: no",
        "interfaces: eth0 eth1",
        "services: cockpit ssh",
        "ports: 6818/tcp",
        "forward: yes",
        "masquerade: no",
        "port=80:proto=tcp:toport=8080:toaddr=",
        'rule family="ipv4" source address="10.0.0.0/8" accept',
    ]
    assert list(active_zones(FIREWALLD)) == ["zone public"]
    table = "table inet firewalld {\n\tchain filter_INPUT {\n\t\taccept\n\t}\n}\n"
    assert set(firewall_rules(RecordedHost(firewall=table, firewalld=FIREWALLD))) == {
        "zone block",
        "zone public",
    }


def test_rules_that_only_root_may_read_are_not_known():
    """As opposed to a firewall without rules; a firewalld that does not run has no zones."""
    assert firewall_rules(RecordedHost()) is None
    assert firewall_rules(RecordedHost(firewall="\n# read\n")) == {}
    assert firewall_rules(RecordedHost(firewall="\n# read\n", firewalld="FirewallD is not running\n")) == {}
