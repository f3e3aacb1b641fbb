"""The files of a few lines each: gres, cgroup, topology, hosts, chrony."""

import pytest

from clusterwright.provision.render.cgroup_conf import cgroup_conf
from clusterwright.provision.render.chrony_conf import chrony_conf
from clusterwright.provision.render.gres_conf import gres_conf
from clusterwright.provision.render.hosts_file import hosts_file
from clusterwright.provision.render.topology_conf import topology_conf

HEADER = "# header\n"
SECOND = {
    "role": "compute",
    "hosts": "h1",
    "addresses": {"management": "10.77.0.20"},
    "cpus": {"cores_per_socket": 4},
    "memory": "64GiB",
    "gpus": {"model": "h100", "count": 1},
}


@pytest.fixture
def two(altered):
    """A second group of one host with one GPU, on a switch of that name."""
    return lambda switch="leaf2": altered(
        {"nodes.h100": SECOND | {"switch": switch}, "partitions.h100": {"nodes": ["h100"]}}
    )


def test_gpus_are_named_by_their_device_files(altered):
    """Brackets for several, none for one."""
    changes = {"nodes.h100": SECOND | {"switch": "leaf2"}, "nodes.a100.gpus.nvlink": False}
    lines = gres_conf(altered(changes | {"partitions.other": {"nodes": ["h100"]}}), HEADER)

    assert lines.splitlines()[1:] == [
        "NodeName=gpu-node[1-4] Name=gpu Type=a100 File=/dev/nvidia[0-3]",
        "NodeName=h1 Name=gpu Type=h100 File=/dev/nvidia0",
    ]


def test_links_and_cores_are_told_where_the_file_knows_them(altered):
    """NVLink joins all alike; each GPU's cores are those of its socket, as Slurm numbers them."""
    lines = gres_conf(altered({"nodes.a100.gpus.sockets": [0, 0, 1, 1]}), HEADER).splitlines()

    assert lines[2] == "NodeName=gpu-node[1-4] Name=gpu Type=a100 File=/dev/nvidia1 Cores=0-7 Links=1,-1,1,1"
    assert lines[3] == "NodeName=gpu-node[1-4] Name=gpu Type=a100 File=/dev/nvidia2 Cores=8-15 Links=1,1,-1,1"


def test_a_host_alone_has_lines_without_names(altered):
    """So that hosts that come and go change nothing on it."""
    cluster = altered({"nodes.a100.gpus.nvlink": False})

    assert gres_conf(cluster, HEADER, cluster.nodes["a100"]).splitlines()[1:] == [
        "Name=gpu Type=a100 File=/dev/nvidia[0-3]"
    ]
    assert gres_conf(cluster, HEADER, cluster.nodes["control"]) == HEADER


def test_devices_are_always_held_apart(cluster, real):
    """In a lab cores are not, since they are modelled."""
    assert "ConstrainDevices=yes" in cgroup_conf(cluster, HEADER)
    assert "ConstrainCores=no" in cgroup_conf(cluster, HEADER)
    assert "ConstrainCores=yes" in cgroup_conf(real, HEADER)


def test_two_leaves_hang_on_one_switch(two):
    """Slurm refuses a tree that falls apart."""
    assert topology_conf(two(), HEADER).splitlines()[-1] == "SwitchName=spine Switches=leaf1,leaf2"


def test_the_upper_switch_takes_no_name_of_the_file(two):
    """A leaf may be called spine."""
    assert topology_conf(two("spine"), HEADER).splitlines()[-1] == "SwitchName=top Switches=leaf1,spine"


def test_hosts_sharing_a_switch_share_a_line(two):
    """Two groups, one leaf."""
    assert topology_conf(two("leaf1"), HEADER).splitlines()[1:] == ["SwitchName=leaf1 Nodes=gpu-node[1-4],h1"]


def test_no_host_calls_itself_127_0_1_1(cluster):
    """A rank that binds to its own name would listen on loopback."""
    text = hosts_file(cluster, HEADER)

    assert "127.0.1.1" not in text
    assert [line for line in text.splitlines() if "gpu-node2" in line] == [
        "10.77.0.12 gpu-node2",
        "10.77.1.12 gpu-node2-compute",
        "10.77.2.12 gpu-node2-storage",
    ]


def test_hosts_follow_the_control_host(real):
    """And it follows the site's servers."""
    assert "server 10.77.0.10 iburst" in chrony_conf(real, real.host("gpu-node1"), HEADER)
    assert "allow 10.77.0.0/24" in chrony_conf(real, real.control, HEADER)


def test_a_lab_never_sets_the_machines_clock(cluster, real):
    """Virtual hosts have the machine's clock."""
    assert "makestep" in chrony_conf(real, real.control, HEADER)
    assert "makestep" not in chrony_conf(cluster, cluster.control, HEADER)
