"""What each host serves to whom."""

from ipaddress import ip_network

import pytest

from clusterwright.provision.render.firewall_table import (
    lets_in,
    non_management_networks,
    openings,
    single_rail_networks,
)


@pytest.fixture
def rows(cluster):
    """The openings of a host, by service and network."""

    def find(host, of=cluster):
        return {(row.service, row.network, row.protocol): row for row in openings(of, of.host(host))}

    return find


def told(peers):
    """The addresses of some peers, as text."""
    return [f"{first}-{last}" for first, last in peers.ranges]


def test_neighboring_addresses_are_one_range(rows):
    """1,024 hosts in a row are one range of a set."""
    assert told(rows("gpu-node1")["slurmd", "management", "tcp"].peers) == ["10.77.0.10-10.77.0.14"]


def test_trainings_are_between_compute_hosts_on_both_networks(rows):
    """Gradients on the compute network; rendezvous by host name, hence on the management network; no storage."""
    found = rows("gpu-node1")

    assert told(found["trainings", "compute", "tcp"].peers) == ["10.77.1.11-10.77.1.14"]
    assert told(found["trainings", "management", "tcp"].peers) == ["10.77.0.11-10.77.0.14"]
    assert ("trainings", "storage", "tcp") not in found
    assert not [row for row in rows("control") if row[0] == "trainings"]


def test_no_privileged_port_is_open_to_trainings(rows):
    """What a user's process cannot take, no training needs."""
    found = rows("gpu-node1")

    assert {row.ports for key, row in found.items() if key[0] == "trainings"} <= {
        (1024, 65535),
        (1024, 9104),
        (9106, 65535),
    }


def test_many_rails_are_a_subnet(rows, altered):
    """The file names the first rail's address alone, so the whole subnet is let in, and made-up addresses pass."""
    many = altered({"networks.compute.rails": 8})
    row = rows("gpu-node1", many)["trainings", "compute", "tcp"]

    assert (str(row.to), told(row.peers)) == ("10.77.1.0/24", ["10.77.1.0-10.77.1.255"])
    assert ip_network("10.77.1.0/24") not in single_rail_networks(many, many.host("gpu-node1"))


@pytest.mark.parametrize(
    ("host", "serves"),
    [
        ("control", {"ssh", "slurmctld", "slurmdbd", "srun", "time", "node_exporter", "exporter"}),
        ("gpu-node1", {"ssh", "slurmd", "srun", "trainings", "node_exporter", "exporter"}),
    ],
)
def test_a_host_serves_what_its_role_needs(rows, host, serves):
    """And nothing else."""
    assert {service for service, _network, _protocol in rows(host)} == serves


def test_accounting_is_for_those_who_ask_it(rows, altered):
    """Slurmctld and login hosts; no port where it is off."""
    asked = rows("control")["slurmdbd", "management", "tcp"]
    off = altered({"accounting.enabled": False})

    assert told(asked.peers) == ["10.77.0.10-10.77.0.10"]
    assert "slurmdbd" not in {key[0] for key in rows("control", off)}


def test_nfs_is_served_on_the_storage_network_and_to_hosts_that_are_on_it(rows, altered):
    """On the server alone."""
    nfs = altered({"storage.shared": {"kind": "nfs", "path": "/shared", "server": "control"}, "lab": None})
    row = rows("control", nfs)["nfs", "storage", "tcp"]

    assert (row.ports, str(row.to)) == ((2049, 2049), "10.77.2.10")
    assert told(row.peers) == ["10.77.2.10-10.77.2.14"]
    assert "nfs" not in {key[0] for key in rows("gpu-node1", nfs)}


@pytest.mark.parametrize(
    ("folder", "service", "port"),
    [
        ({"kind": "lustre", "path": "/s", "servers": ["mgs1"], "filesystem": "s"}, "lustre", 988),
        ({"kind": "gpfs", "path": "/s", "filesystem": "s"}, "gpfs", 1191),
    ],
)
def test_file_systems_that_call_back_are_let_in_by_the_storage_network(rows, altered, folder, service, port):
    """Lustre's servers and the daemons of GPFS open connections themselves."""
    row = rows("gpu-node1", altered({"storage.shared": folder, "lab": None}))[service, "storage", "tcp"]

    assert (row.ports, told(row.peers)) == ((port, port), ["10.77.2.0-10.77.2.255"])


@pytest.mark.parametrize(
    ("ssh_from", "source", "passes"),
    [
        ([], "192.168.7.7", True),
        ([], "10.77.2.5", False),  # the storage network is for storage
        (["192.168.7.0/24"], "192.168.7.7", True),
        (["192.168.7.0/24"], "192.168.8.7", False),
        (["192.168.7.0/24"], "10.77.0.10", True),  # hosts of the cluster
        (["192.168.7.0/24"], "fe80::1", False),
    ],
)
def test_ssh_comes_from_where_the_file_says(altered, ssh_from, source, passes):
    """From anywhere but the other networks, if it says nothing."""
    cluster = altered({"security": {"ssh_from": ssh_from}})

    assert lets_in(cluster, cluster.host("gpu-node1"), source, 22) is passes


def test_another_port_of_ssh_is_the_one_that_is_open(altered):
    """An sshd that listens elsewhere than the file says would be shut out."""
    cluster = altered({"ssh.port": 2222, "lab": None})

    assert lets_in(cluster, cluster.control, "192.168.7.7", 2222)
    assert not lets_in(cluster, cluster.control, "192.168.7.7", 22)


def test_the_other_networks_are_strangers_to_management(cluster):
    """Two of the three."""
    assert [str(net) for net in non_management_networks(cluster)] == ["10.77.1.0/24", "10.77.2.0/24"]


def test_only_control_hosts_reach_the_exporter(cluster):
    """The ports of trainings between compute hosts are all that users may bind, without the exporter's."""
    host, other = cluster.host("gpu-node1"), cluster.host("gpu-node2")

    assert lets_in(cluster, host, str(cluster.control.management), 9105)
    assert not lets_in(cluster, host, str(other.management), 9105)
    assert lets_in(cluster, host, str(other.management), 9104)
    assert lets_in(cluster, host, str(other.management), 9106)
