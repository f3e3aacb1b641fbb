"""What a lab consists of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.config.load import load_cluster
from clusterwright.errors import WrightError
from clusterwright.lab.layout import layout, tag


def test_every_port_has_its_address_and_its_share_of_the_rate(planned):
    """Rates are divided by the file's divisor; the interface is named after the network."""
    host = planned.host("gpu-node2")

    assert [(link.network, link.address, link.rate_bits_per_s) for link in host.links] == [
        ("management", "10.231.0.12/24", 10_000_000),
        ("compute", "10.231.1.12/24", 100_000_000),
    ]
    assert host.devices == ("/dev/nvidia0", "/dev/nvidia1")
    assert planned.host("control").devices == ()


def test_this_machine_takes_the_highest_free_management_address(planned, cluster_file):
    """Not one that a host has."""
    path = cluster_file()
    path.write_text(path.read_text().replace("10.231.0.10", "10.231.0.254"))

    assert [bridge.address for bridge in planned.bridges] == ["10.231.0.254/24", ""]
    assert layout(load_cluster(path)).bridges[0].address == "10.231.0.253/24"


def test_every_device_name_is_short_enough_and_its_own(planned):
    """The kernel takes 15 letters."""
    names = [bridge.name for bridge in planned.bridges]
    names += [link.outside for host in planned.hosts for link in host.links]

    assert len(set(names)) == len(names)
    assert max(map(len, names)) <= 15


@given(st.from_regex(r"\A[a-z][a-z0-9-]{0,61}[a-z0-9]\Z"))
def test_a_tag_has_eight_letters_whatever_the_name(name):
    """Names of labs may be longer than the kernel takes."""
    assert len(tag(name)) == 8


def test_a_link_is_never_slower_than_ssh_can_bear(cluster_file):
    """However large the divisor."""
    path = cluster_file()
    path.write_text(path.read_text().replace("rate_divisor: 100", "rate_divisor: 100000"))

    assert {link.rate_bits_per_s for host in layout(load_cluster(path)).hosts for link in host.links} == {
        1_000_000
    }


def test_a_file_of_real_hosts_is_refused_with_the_lines_to_add(cluster_file):
    """Nothing is redirected silently."""
    path = cluster_file()
    path.write_text(path.read_text().split("lab:\n")[0])

    with pytest.raises(WrightError, match="lab-section-missing") as refused:
        layout(load_cluster(path))
    assert "lab:\n  rate_divisor: 100" in str(refused.value)


def test_an_unknown_host_is_told_with_those_that_are_there(planned):
    """Both sides."""
    with pytest.raises(WrightError, match="did you mean `gpu-node1`"):
        planned.host("gpu-node9")
