"""Checks of links: RDMA ports, their firmware and addresses, error counters, names of interfaces."""

import json
from pathlib import Path

import pytest

from clusterwright.check.checks.link_errors import link_errors
from clusterwright.check.checks.nccl_interface import nccl_interface
from clusterwright.check.checks.rdma_firmware import rdma_firmware
from clusterwright.check.checks.rdma_links import rdma_links
from clusterwright.check.checks.roce_gids import roce_gids
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.addresses import Interface
from clusterwright.check.facts.link_counters import GrownCounter, link_counters
from clusterwright.check.facts.rdma_ports import has_rdma, rdma_ports
from clusterwright.check.verdict import Status
from clusterwright.config.load import load_cluster

ROOT = Path(__file__).parents[2]
FACTS = Path(__file__).parent / "facts"
HERE = {"10.77.1.11": Interface("eth0", True, 1500), "10.77.0.11": Interface("eno1", True, 1500)}


@pytest.fixture
def want(tmp_path):
    """A compute host of the example outside of a lab, with this compute network and these variables."""

    def make(compute="kind: roce, rails: 2", variables="{}"):
        text = (ROOT / "examples/lab/cluster.yaml").read_text().partition("\n# This section makes")[0]
        text = text.replace("kind: roce, fabric: leaf-spine", compute)
        (tmp_path / "cluster.yaml").write_text(f"{text}\njobs: {{variables: {variables}}}\n")
        cluster = load_cluster(tmp_path / "cluster.yaml")
        return HostSpec(cluster, cluster.host("gpu-node1"))

    return make


def ports(case):
    """A recorded host."""
    return rdma_ports.parse((FACTS / "rdma_ports" / f"{case}.txt").read_text())


def worst(found):
    """All verdicts of a judge, and the statuses of them."""
    verdicts = list(found)
    return verdicts, {verdict.status for verdict in verdicts}


@pytest.mark.parametrize(
    ("compute", "case", "status"),
    [
        ("kind: roce, rails: 2", "roce_two", Status.OK),
        ("kind: roce, rails: 4", "roce_two", Status.FAIL),
        ("kind: infiniband, rails: 2", "hdr_two", Status.OK),
        ("kind: infiniband, rails: 2", "hdr_one_polling", Status.FAIL),
        ("kind: infiniband, rails: 1", "hdr_one_polling", Status.OK),
        ("kind: infiniband, rails: 2", "roce_two", Status.FAIL),
        ("kind: infiniband, rails: 2", "none", Status.FAIL),
    ],
)
def test_every_declared_rail_has_a_port_that_is_up(want, compute, case, status):
    """Ports of the other kind do not count, spare ones do no harm."""
    (found,) = rdma_links.judge(want(compute), ports(case))

    assert found.status is status
    assert found.part == "compute"


def test_a_port_that_is_down_is_named_with_what_it_says(want):
    """Polling is a cable; the rate of a port that is down is told as well."""
    (found,) = rdma_links.judge(want("kind: infiniband, rails: 2"), ports("hdr_one_polling"))

    assert found.observed == "1 of 2 RDMA ports active at this rate; mlx5_1:1 is DOWN, Polling, 10 Gbit/s"
    assert found.expected == "infiniband ports active at 100 Gbit/s: 2 (networks.compute)"


def test_ethernet_hosts_are_not_asked(want):
    """No adapters are wanted where the file declares none."""
    assert not has_rdma(want("kind: ethernet"))
    assert has_rdma(want())


@pytest.mark.parametrize(
    ("variables", "status"),
    [("{}", Status.OK), ('{NCCL_IB_GID_INDEX: "3"}', Status.OK), ('{NCCL_IB_GID_INDEX: "1"}', Status.FAIL)],
)
def test_the_gid_that_nccl_will_use_must_be_v2_on_ipv4(want, variables, status):
    """Index 1 is version 2 on a link-local address, which ends in a time-out."""
    verdicts, statuses = worst(roce_gids.judge(want(variables=variables), ports("roce_two")))

    assert len(verdicts) == 2
    assert statuses == {status}
    assert "3 RoCE v2 10.77.1.11" in verdicts[0].observed


def test_one_other_firmware_is_a_warning(want):
    """The host that differs from the most is named."""
    cluster, same = want().cluster, ports("roce_two")
    raw = (FACTS / "rdma_ports" / "roce_two.txt").read_text().replace("20.35.2000", "20.31.1014")
    have = {"gpu-node1": same, "gpu-node2": same, "gpu-node3": rdma_ports.parse(raw)}
    found = {verdict.subject: verdict.status for verdict in rdma_firmware.judge(cluster, have)}

    assert found == {"gpu-node1": Status.OK, "gpu-node2": Status.OK, "gpu-node3": Status.WARN}


def test_counters_that_grow_are_named_with_their_growth_and_meaning(want):
    """A link that went down fails, one with many wrong bits too; old errors are no news."""
    grown = link_counters.parse((FACTS / "link_counters" / "errors_in_five_minutes.txt").read_text())
    found = {verdict.observed.split(" ")[1]: verdict for verdict in link_errors.judge(want(), grown, HERE)}

    assert found["link_downed"].status is Status.FAIL
    assert found["symbol_error"].status is Status.FAIL
    assert (
        found["symbol_error"].observed
        == "mlx5_0/1: symbol_error grew by 9,000 in 5 min: symbol errors on the cable"
    )
    assert set(found) == {"link_downed", "symbol_error"}  # `compute` has no address of ours on this host


@pytest.mark.parametrize(("times", "status"), [(0, Status.OK), (2, Status.OK), (3, Status.WARN)])
def test_a_link_that_flaps_is_told_by_its_network(want, times, status):
    """Twice down and up is a reboot of the switch; the links of containers are not looked at."""
    grown = GrownCounter(300, {"eth0": {"carrier_changes": times}, "veth12": {"carrier_changes": 99}})
    verdicts, statuses = worst(link_errors.judge(want(), grown, HERE))

    assert statuses == {status}
    assert verdicts[0].part == ("compute" if times > 2 else "")


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("eth0", Status.OK),
        ("eth", Status.OK),
        ("=eth", Status.FAIL),
        ("eth0,ib0", Status.FAIL),
        ("ens5", Status.FAIL),
    ],
)
def test_interfaces_that_jobs_are_told_must_exist(want, name, status):
    """A prefix is enough, unless the list begins with =."""
    asked = want(variables=json.dumps({"NCCL_SOCKET_IFNAME": name}))
    (found,) = nccl_interface.judge(asked, HERE)

    assert nccl_interface.when(asked)
    assert found.status is status


def test_interfaces_to_leave_out_need_not_exist(want):
    """`^docker0` names what is not to be used."""
    assert not list(nccl_interface.judge(want(variables='{NCCL_SOCKET_IFNAME: "^docker0"}'), HERE))
