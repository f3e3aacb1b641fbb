"""The firewall by firewalld: the same table as zones and sets."""

from xml.etree import ElementTree as ET

import pytest

from clusterwright.provision.render.firewall_table import openings
from clusterwright.provision.render.firewalld import firewalld


@pytest.fixture
def files(cluster):
    """The files of a host by their last name."""

    def find(host, of=cluster):
        return {path.rpartition("/")[2]: text for path, text in firewalld(of, of.host(host)).items()}

    return find


def test_every_zone_drops_what_no_rule_names(files):
    """One zone per network, and one for all else, which is the default."""
    found = files("gpu-node1")
    zones = {name: ET.fromstring(text) for name, text in found.items() if "<zone" in text}

    assert set(zones) == {"cw-management.xml", "cw-compute.xml", "cw-storage.xml", "cw-outside.xml"}
    assert {zone.get("target") for zone in zones.values()} == {"DROP"}
    assert "DefaultZone=cw-outside" in found["firewalld.conf"]


def test_a_zone_has_at_most_17_letters(files):
    """firewalld.zone(5); a longer one is refused by the daemon."""
    assert all(
        len(name.removesuffix(".xml")) <= 17 for name, text in files("control").items() if "<zone" in text
    )


def test_every_opening_is_a_rule_of_the_zone_of_its_network(files, cluster):
    """As many rules as the table has rows, and the two for ICMP."""
    host = cluster.host("gpu-node1")
    found = files("gpu-node1")

    for network in ("management", "compute", "storage"):
        rows = [row for row in openings(cluster, host) if row.network == network]
        assert found[f"cw-{network}.xml"].count("<rule ") == len(rows) + 2


def test_ssh_is_let_in_from_outside_and_from_management_alone(files):
    """Not by the compute network, nor by the one for storage."""
    open_ = {name for name, text in files("gpu-node1").items() if 'port="22"' in text}

    assert open_ == {"cw-management.xml", "cw-outside.xml"}


def test_a_set_holds_the_same_addresses_as_networks(files):
    """Firewalld takes no ranges in rules of zones."""
    entries = ET.fromstring(files("gpu-node1")["cw-hosts_management.xml"]).findall("entry")

    assert [entry.text for entry in entries] == ["10.77.0.10/31", "10.77.0.12/31", "10.77.0.14"]


def test_sets_that_a_rule_names_are_there(files):
    """A rule with a set that is missing makes firewalld refuse the zone."""
    found = files("control")
    named = {
        source.get("ipset")
        for text in found.values()
        if "<zone" in text
        for source in ET.fromstring(text).iter("source")
        if source.get("ipset")
    }

    assert {f"{name}.xml" for name in named} <= set(found)
